"""Clusters whose nodes share a machine with each other and the load generator; a quick solution.

Map
---
on_one_host     a quorum network → the same with one processor for all nodes
quick           throughput and mean responses of a closed quorum model, in microseconds

:func:`quick` is what calibration searches with, within 12 % of a simulation's throughput; what is
reported is simulated. Customers go round a delay and processors (processor sharing), those of
leaders apart from the others'; what nobody waits for is done on idle processors, if there are any,
and all of it is done, so that saturation is exact. Waiting for k of n copies takes as long as for
the k-th of independent exponential times, those of the coordinator's own copy and of the others.

The product form's normalising constant is summed over logarithms, which is stable for any number
of users (Buzen: Computational algorithms for closed queueing networks, CACM 16(9), 1973).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize, special

from pacelc.models.network import Network

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
    cpu_s: Floats
    """Processor time waited for."""
    visits: Floats
    """The same as a number of requests."""
    behind_s: Floats
    """Processor time that nobody waits for."""


class _Processors(NamedTuple):
    """Of each group: what an operation waits for there, the cores of one that it has, how many."""

    cpu_s: Floats
    cores: Floats
    groups: NDArray[np.int64]


def quick(s: Quorum, *, shared: bool) -> Quick:
    """Solve a closed cluster without disks."""
    groups = _groups(s, shared=shared)
    ways = _ways(s, len(groups))
    delay_s = max(sum(one.share * one.delay_s for one in ways.values()), _LEAST)
    cpu_s = np.maximum(sum(one.share * one.cpu_s for one in ways.values()), _LEAST)
    behind_s = np.asarray(sum(one.share * one.behind_s for one in ways.values()))
    capacity = s.cores * groups

    def left(rate: float) -> _Processors:
        """Return processors as what nobody waits for leaves them: it is done on idle cores."""
        cores = np.maximum(s.cores - rate * behind_s / groups, _LEAST)
        return _Processors(cpu_s, cores, groups)

    def of(rate: float) -> float:
        one_less, all_of_them = _constants(s, delay_s, left(rate))
        return float(np.exp(one_less - all_of_them))

    rate = of(0.0)
    if behind_s.any():
        most = min(rate, float((capacity / (cpu_s + behind_s)).min()))
        rate = float(optimize.brentq(lambda x: of(x) - x, 0.0, most * (1 + 1e-6), rtol=1e-6))
    waited_s = np.maximum(_residence_s(s, delay_s, rate, left(rate)) - cpu_s, 0.0)
    visits = np.maximum(sum(one.share * one.visits for one in ways.values()), _LEAST)

    def waits_s(one: _Way) -> float:
        """Who shares a processor waits in proportion to what he needs, who queues by turns."""
        parts = one.cpu_s / cpu_s if s.discipline == "ps" else one.visits / visits
        return float(waited_s @ parts)

    return Quick(
        rate,
        {kind: one.delay_s + float(one.cpu_s.sum()) + waits_s(one) for kind, one in ways.items()},
    )


def _groups(s: Quorum, *, shared: bool) -> NDArray[np.int64]:
    """Return how many processors are alike: all, or the leaders and the others."""
    if shared:
        return np.array([1])
    if not s.led:
        return np.array([s.nodes])
    sets = s.nodes // s.replication
    return np.array([sets, sets * (s.replication - 1)] if s.replication > 1 else [sets])


def _residence_s(s: Quorum, delay_s: float, rate: float, there: _Processors) -> Floats:
    """Return how long an operation is at each group's processors, by Little's law.

    So many customers are at a group as the constant's logarithm grows with its demand's (Buzen).
    """
    all_s = s.users / rate - delay_s
    if there.groups.size == 1:
        return np.array([all_s])
    more = (there.cpu_s * np.array([1 + step, 1.0]) for step in (_STEP, -_STEP))
    above, below = (_constants(s, delay_s, there._replace(cpu_s=those))[1] for those in more)
    leaders_s = (above - below) / (np.log1p(_STEP) - np.log1p(-_STEP)) / rate
    return np.array([leaders_s, all_s - leaders_s])


def _ways(s: Quorum, groups: int) -> dict[str, _Way]:
    kinds = {
        "read": (s.read_share, s.asked, s.asked, ("record", "digest"), 0.0),
        "write": (1 - s.read_share, s.replication, s.waited, ("own", "written"), s.write_wait_s),
    }
    copy_cpu_s = s.copy_cpu_s
    afar_s = s.node_round_trip_s * (1 - s.own_share), s.node_round_trip_s
    found: dict[str, _Way] = {}
    for kind, (share, to, wait_for, names, log_s) in kinds.items():
        if share > 0:
            delays_s = [link_s + log_s for link_s in afar_s]
            cpus_s = [copy_cpu_s[name] for name in names]
            parts = _parts(delays_s[0] + cpus_s[0], delays_s[1] + cpus_s[1], to, wait_for)
            waited_s = np.array(parts) * cpus_s
            done_s = np.array([cpus_s[0], (to - 1) * cpus_s[1]])
            found[kind] = _Way(
                share,
                delay_s=s.client_round_trip_s + float(np.array(parts) @ delays_s),
                cpu_s=_by_group(s.coordinator_cpu_s, waited_s, groups),
                visits=_by_group(1.0, np.array(parts), groups),
                behind_s=np.maximum(
                    _by_group(s.coordinator_after_cpu_s, done_s - waited_s, groups), 0.0
                ),
            )
    return found


def _by_group(coordinating: float, at_copies: Floats, groups: int) -> Floats:
    """Return what is done at a coordinator, its own copy and others' for each group of nodes."""
    own, others = at_copies.tolist()
    first = coordinating + own
    return np.array([first + others]) if groups == 1 else np.array([first, others])


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
    until = sum(1 / i for i in range(others - before + 1, others + 1))
    return ratio * by_own, until + last - by_own


def _constants(s: Quorum, delay_s: float, there: _Processors) -> tuple[float, float]:
    """Return logarithms of normalising constants for all users but one, and for all.

    Of a delay and of groups of equal processors, among which each group's time is spread, with so
    many cores each, or parts of them.
    """
    n = np.arange(s.users + 1.0)
    queues: list[Floats] = []
    for demand_s, cores, stations in zip(*(part.tolist() for part in there), strict=True):
        busy = np.concatenate([[0.0], np.cumsum(np.log(np.minimum(n[1:], cores)))])
        queues += [n * np.log(demand_s / stations) - busy] * stations
    constants: Floats = n * np.log(delay_s) - special.gammaln(n + 1)
    for queue in queues[:-1]:
        constants = _convolved(constants, queue)
    # Of the last station only the constants of all users, and of all but one, are needed.
    last = queues[-1]
    one_less, all_of_them = (
        float(np.logaddexp.reduce(constants[: s.users + k] + last[: s.users + k][::-1]))
        for k in (0, 1)
    )
    return one_less, all_of_them


def _convolved(one: Floats, other: Floats) -> Floats:
    """Return the convolution of what the logarithms stand for."""
    size = one.size
    at = np.arange(size)
    sums = one[None, :] + np.where(
        at[:, None] >= at[None, :], other[(at[:, None] - at[None, :]) % size], -np.inf
    )
    found: Floats = special.logsumexp(sums, axis=1)
    return found
