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
where the own one is first, for it and then the k - 1-th of the others. Those who fetch are all as
quick. That cycle is solved by the engine (``crates/queueing/src/cycle.rs``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from pacelc import _engine
from pacelc.models.network import Network

if TYPE_CHECKING:
    from pacelc.models.network import Route
    from pacelc.models.quorum import Quorum

__all__ = ["Quick", "on_one_host", "quick"]

_LEAST_S: Final = 1e-12
"""0 has no logarithm, and is no part of anything."""


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


def quick(s: Quorum, *, shared: bool) -> Quick:
    """Solve a closed cluster without disks."""
    processors = _processors(s, shared=shared)
    groups = range(len(processors))
    by_kind = _ways(s, len(processors))
    ways = by_kind.values()
    delay_s = max(sum(one.share * one.delay_s for one in ways), _LEAST_S)
    cpu_s = [max(sum(one.share * one.cpu_s[g] for one in ways), _LEAST_S) for g in groups]
    behind_s = [sum(one.share * one.behind_s[g] for one in ways) for g in groups]
    visits = [max(sum(one.share * one.visits[g] for one in ways), _LEAST_S) for g in groups]
    rate, there_s = _engine.closed_cycle(
        *(s.users, delay_s, s.cores, s.scattered),
        list(zip(cpu_s, behind_s, processors, strict=True)),
    )
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
                own, others = 1.0, _others_waited(s, to - 1, wait_for - 1)
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
    ratio = max(other_s, _LEAST_S) / max(own_s, _LEAST_S)
    steps = [ratio + others - before + i for i in range(waited)]
    last = math.perm(others, before) / math.prod(steps)
    by_own = ratio * last * sum(1 / step for step in steps)
    return ratio * by_own, _one_of(others, before) + last - by_own


def _others_waited(s: Quorum, copies: int, waited: int) -> float:
    """Return how long waiting for some of the others' copies takes, in mean times of one."""
    return float(waited > 0) if s.fetched else _one_of(copies, waited)


def _one_of(copies: int, waited: int) -> float:
    """Return how long waiting for some of equal copies takes, in exponential times of one."""
    return sum(1 / i for i in range(copies - waited + 1, copies + 1))
