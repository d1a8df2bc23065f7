"""Clusters whose nodes share a machine with each other and the load generator; a quick solution.

Map
---
on_one_host     a quorum network → the same with one processor for all nodes
quick           throughput and mean responses of a closed quorum model, in microseconds

:func:`quick` is what calibration searches with, within 12 % of a simulation's throughput; what is
reported is simulated. Customers go round a delay and processors (processor sharing), those of
leaders apart from the others'; what nobody waits for is done on idle processors, if there are any,
and all of it is done, so that saturation is exact. Waiting for k of n copies takes as long as for
the k-th of independent exponential times, those of the coordinator's own copy and of the others;
where the own one is first, for it and then the k - 1-th of the others.

The product form's normalising constant is a convolution (Buzen: Computational algorithms for closed
queueing networks, CACM 16(9), 1973) of numbers that are scaled to be near 1 where they count.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize, special

from pacelc.models.network import Network
from pacelc.models.quorum import cores_busy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pacelc.models.network import Route
    from pacelc.models.quorum import Quorum

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Quick", "on_one_host", "quick"]

_STEP: Final = 1e-4
"""Of a demand, by which it is found how many customers are there."""
_LEAST: Final = 1e-12
"""Seconds, or cores: 0 has no logarithm, and is no part of anything."""


def on_one_host(network: Network) -> Network:
    """Return the network of a cluster with the processor of its first node for all of them."""
    names = {one.name for one in network.stations if one.name.startswith("cpu")}

    def place(route: Route) -> Route:
        if isinstance(route, str):
            return "cpu" if route in names else route
        if not isinstance(route, dict):
            return route
        shares: dict[str, float] = {}
        for name, share in route.items():
            to = "cpu" if name in names else name
            shares[to] = shares.get(to, 0.0) + share
        return next(iter(shares)) if len(shares) == 1 else shares

    first = network.station("cpu1")
    return Network(
        name=f"{network.name}, on one host",
        classes=network.classes,
        stations=(
            *(one for one in network.stations if one.name not in names),
            first.model_copy(update={"name": "cpu"}),
        ),
        routers=network.routers,
        forks=network.forks,
        routing={
            "cpu" if node == "cpu1" else node: {key: place(route) for key, route in routes.items()}
            for node, routes in network.routing.items()
            if node == "cpu1" or node not in names
        },
    )


class Quick(NamedTuple):
    """Throughput, and mean responses by ``read`` and ``write``."""

    throughput_per_s: float
    response_s: dict[str, float]


class _Way(NamedTuple):
    """Of a kind of operation: its share, its delay, and what it does on each group of nodes."""

    share: float
    delay_s: float
    cpu_s: tuple[float, ...]
    """Processor time waited for."""
    visits: tuple[float, ...]
    """The same as a number of requests."""
    behind_s: tuple[float, ...]
    """Processor time that nobody waits for."""


class _Group(NamedTuple):
    """Equal processors: what an operation waits for at all of them, the cores of each, how many."""

    cpu_s: float
    cores: float
    processors: int


def quick(s: Quorum, *, shared: bool) -> Quick:
    """Solve a closed cluster without disks."""
    processors = _processors(s, shared=shared)
    groups = range(len(processors))
    by_kind = _ways(s, len(processors))
    ways = by_kind.values()
    delay_s = max(sum(one.share * one.delay_s for one in ways), _LEAST)
    cpu_s = [max(sum(one.share * one.cpu_s[g] for one in ways), _LEAST) for g in groups]
    behind_s = [sum(one.share * one.behind_s[g] for one in ways) for g in groups]
    visits = [max(sum(one.share * one.visits[g] for one in ways), _LEAST) for g in groups]

    def left(rate: float) -> list[_Group]:
        """Return processors as what nobody waits for leaves them: it is done on idle cores."""
        cores = [max(s.cores - rate * behind_s[g] / processors[g], _LEAST) for g in groups]
        return [_Group(cpu_s[g], cores[g], processors[g]) for g in groups]

    def of(rate: float) -> float:
        one_less, all_of_them = _constants(s, delay_s, left(rate))
        return math.exp(one_less - all_of_them)

    rate = of(0.0)
    if any(behind_s):
        most = min(rate, *(s.cores * processors[g] / (cpu_s[g] + behind_s[g]) for g in groups))
        rate = float(optimize.brentq(lambda x: of(x) - x, 0.0, most * (1 + 1e-6), rtol=1e-6))
    there_s = _residence_s(s, delay_s, rate, left(rate))
    waited_s = [max(there_s[g] - cpu_s[g], 0.0) for g in groups]

    def waits_s(one: _Way) -> float:
        """Who shares a processor waits in proportion to what he needs, who queues by turns."""
        its, everyone = (one.cpu_s, cpu_s) if s.discipline == "ps" else (one.visits, visits)
        return sum(waited_s[g] * its[g] / everyone[g] for g in groups)

    return Quick(
        rate,
        {kind: one.delay_s + sum(one.cpu_s) + waits_s(one) for kind, one in by_kind.items()},
    )


def _processors(s: Quorum, *, shared: bool) -> list[int]:
    """Return how many processors are alike: all, or the leaders and the others."""
    if shared:
        return [1]
    if not s.led:
        return [s.nodes]
    sets = s.nodes // s.replication
    return [sets, sets * (s.replication - 1)] if s.replication > 1 else [sets]


def _residence_s(s: Quorum, delay_s: float, rate: float, there: list[_Group]) -> list[float]:
    """Return how long an operation is at each group's processors, by Little's law.

    So many customers are at a group as the constant's logarithm grows with its demand's (Buzen).
    """
    all_s = s.users / rate - delay_s
    if len(there) == 1:
        return [all_s]
    leaders, others = there
    above, below = (
        _constants(s, delay_s, [leaders._replace(cpu_s=leaders.cpu_s * (1 + step)), others])[1]
        for step in (_STEP, -_STEP)
    )
    leaders_s = (above - below) / (math.log1p(_STEP) - math.log1p(-_STEP)) / rate
    return [leaders_s, all_s - leaders_s]


def _ways(s: Quorum, groups: int) -> dict[str, _Way]:
    kinds = {
        "read": (s.read_share, s.asked, s.asked, ("record", "digest"), (0.0, 0.0)),
        "write": (
            *(1 - s.read_share, s.replication, s.waited, ("own", "written")),
            (s.own_wait_s, s.written_wait_s),
        ),
    }
    copy_cpu_s = s.copy_cpu_s
    own_afar_s = s.node_round_trip_s * (1 - s.own_share)
    found: dict[str, _Way] = {}
    for kind, (share, to, wait_for, names, logs_s) in kinds.items():
        if share > 0:
            own_delay_s, other_delay_s = own_afar_s + logs_s[0], s.node_round_trip_s + logs_s[1]
            own_s, other_s = (copy_cpu_s[name] for name in names)
            if s.own_first and kind == "write":
                own, others = 1.0, _one_of(to - 1, wait_for - 1)
            else:
                own, others = _parts(own_delay_s + own_s, other_delay_s + other_s, to, wait_for)
            after_s = s.coordinator_after_cpu_s
            copy_s = s.write_after_cpu_s if kind == "write" else 0.0
            behind_s = (
                after_s + copy_s + own_s - own * own_s,
                (to - 1) * (copy_s + other_s) - others * other_s,
            )
            found[kind] = _Way(
                share,
                s.client_round_trip_s + own * own_delay_s + others * other_delay_s,
                cpu_s=_by_group(s.coordinator_cpu_s + own * own_s, others * other_s, groups),
                visits=_by_group(1.0 + own, others, groups),
                behind_s=tuple(max(one, 0.0) for one in _by_group(*behind_s, groups)),
            )
    return found


def _by_group(leading: float, following: float, groups: int) -> tuple[float, ...]:
    """Return what is done at a coordinator, with its own copy, and at others, by group of nodes."""
    return (leading + following,) if groups == 1 else (leading, following)


def _parts(own_s: float, other_s: float, copies: int, waited: int) -> tuple[float, float]:
    """Return how the wait for some of the copies grows with the own's time, and the others'.

    Both times, each by its part, are the mean of the k-th of independent exponential times, one of
    which differs: k - 1 of the others are back, and then, if the own isn't, it or another.
    """
    others, before = copies - 1, waited - 1
    ratio = max(other_s, _LEAST) / max(own_s, _LEAST)
    steps = [ratio + others - before + i for i in range(waited)]
    last = math.perm(others, before) / math.prod(steps)
    by_own = ratio * last * sum(1 / step for step in steps)
    return ratio * by_own, _one_of(others, before) + last - by_own


def _one_of(copies: int, waited: int) -> float:
    """Return how long waiting for some of equal copies takes, in exponential times of one."""
    return sum(1 / i for i in range(copies - waited + 1, copies + 1))


def _constants(s: Quorum, delay_s: float, there: list[_Group]) -> tuple[float, float]:
    """Return logarithms of normalising constants for all users but one, and for all.

    Of a delay and of groups of equal processors, among which each group's time is spread, with so
    many cores each, or parts of them.
    """
    # What counts is near 1 if it is multiplied by powers of the throughput, or of its bound.
    cycle_s = (delay_s + sum(one.cpu_s for one in there)) / s.users
    busiest_s = max(one.cpu_s / (one.cores * one.processors) for one in there)
    tilt = -math.log(max(cycle_s, busiest_s))
    n, one_or_more, log_factorials = _counts(s.users)
    sums, height = _from_logs(n * (math.log(delay_s) + tilt) - log_factorials)
    queues: list[Floats] = []
    for one in there:
        busy = np.cumsum(np.log(cores_busy(one_or_more, one.cores, s.scattered)))
        work = n * (math.log(one.cpu_s / one.processors) + tilt)
        queue, its_height = _from_logs(work - (busy - busy[0]))
        queues += [queue] * one.processors
        height += its_height * one.processors
    for queue in queues[:-1]:
        sums = np.convolve(sums, queue)[: n.size]
    # Of the last station only the constants of all users, and of all but one, are needed.
    last = queues[-1][::-1]
    one_less, all_of_them = float(sums[:-1] @ last[1:]), float(sums @ last)
    height -= s.users * tilt
    return math.log(one_less) + height + tilt, math.log(all_of_them) + height


@lru_cache
def _counts(users: int) -> tuple[Floats, Floats, Floats]:
    """Return 0, 1, … users, the same but 1 of 0, and the logarithms of their factorials."""
    n = np.arange(users + 1.0)
    return n, np.maximum(n, 1), special.gammaln(n + 1)


def _from_logs(logs: Floats) -> tuple[Floats, float]:
    """Return what logarithms stand for, as shares of the greatest, and that one's logarithm."""
    height = float(logs.max())
    return np.exp(logs - height), height
