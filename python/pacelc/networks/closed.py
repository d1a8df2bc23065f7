"""A closed quorum cluster solved in microseconds: what calibrations search and predict with.

Customers go round a delay and processors (processor sharing; means are the same in random order
where service is exponential), those of leaders apart from the others'. What nobody waits for is
done on idle processors, if there are any, and all of it is done, so that saturation is exact.
Waiting for k of n copies takes as long as for the k-th of independent exponential times, that of
the coordinator's own copy and those of the others. That cycle is solved by the engine
(``crates/queueing/src/cycle.rs``), as Buzen's convolution does (CACM 16(9), 1973).

Start here: :func:`solve_closed`. A simulation of :func:`~pacelc.networks.quorum.quorum` is within
12 % of its throughput.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from pacelc import _engine

if TYPE_CHECKING:
    from pacelc.networks.quorum import Quorum

__all__ = ["Closed", "solve_closed"]

_LEAST_S: Final = 1e-12
"""0 has no logarithm, and is no part of anything."""


class Closed(NamedTuple):
    """Throughput, and mean responses of ``read`` and ``write``, as far as there are any."""

    throughput_per_s: float
    response_s: dict[str, float]


class _Way(NamedTuple):
    """Of a kind of operation: its share, its delay, and what it does on each group of nodes."""

    share: float
    delay_s: float
    cpu_s: tuple[float, ...]
    """Processor time that it waits for."""
    visits: tuple[float, ...]
    """The same as a number of requests."""
    late_s: tuple[float, ...]
    """Processor time of copies that it doesn't wait for."""


def solve_closed(s: Quorum) -> Closed:
    """Solve a closed cluster; disks aren't in it."""
    processors = _processors(s)
    groups = range(len(processors))
    by_kind = _ways(s, len(processors))
    ways = by_kind.values()
    delay_s = max(sum(one.share * one.delay_s for one in ways), _LEAST_S)
    cpu_s = [max(sum(one.share * one.cpu_s[g] for one in ways), _LEAST_S) for g in groups]
    late_s = [sum(one.share * one.late_s[g] for one in ways) for g in groups]
    visits = [max(sum(one.share * one.visits[g] for one in ways), _LEAST_S) for g in groups]
    rate, there_s = _engine.closed_cycle(
        s.users, delay_s, s.cores, list(zip(cpu_s, late_s, processors, strict=True))
    )
    waited_s = [max(there_s[g] - cpu_s[g], 0.0) for g in groups]

    def waits_s(one: _Way) -> float:
        """Return its waits: by processor time where processors are shared, else by visits."""
        its, everyone = (one.cpu_s, cpu_s) if s.discipline == "ps" else (one.visits, visits)
        return sum(waited_s[g] * its[g] / everyone[g] for g in groups)

    return Closed(
        rate,
        {kind: one.delay_s + sum(one.cpu_s) + waits_s(one) for kind, one in by_kind.items()},
    )


def _processors(s: Quorum) -> list[int]:
    """Return how many processors are alike: all, or the leaders' and the others'."""
    if s.shared:
        return [1]
    if not s.led:
        return [s.nodes]
    sets = s.nodes // s.replication
    return [sets, sets * (s.replication - 1)] if s.replication > 1 else [sets]


def _ways(s: Quorum, groups: int) -> dict[str, _Way]:
    afar = 1 - s.own_share
    kinds = {
        "read": (s.read_share, s.asked, s.asked, 0.0),
        "write": (1 - s.read_share, s.replication, s.waited, s.write_wait_s),
    }
    found: dict[str, _Way] = {}
    for kind, (share, copies, waited, log_s) in kinds.items():
        if share == 0:
            continue
        home_s, copy_s = s.coordinator_cpu_s[kind], s.copy_cpu_s[kind]
        own_delay_s, other_delay_s = afar * s.node_round_trip_s + log_s, s.node_round_trip_s + log_s
        own, others = _parts(own_delay_s + afar * copy_s, other_delay_s + copy_s, copies, waited)
        own_s = own * afar * copy_s
        found[kind] = _Way(
            share,
            s.client_round_trip_s + own * own_delay_s + others * other_delay_s,
            cpu_s=_by_group(home_s + own_s, others * copy_s, groups),
            visits=_by_group(1.0 + own * afar, others, groups),
            late_s=tuple(
                max(one, 0.0)
                for one in _by_group(afar * copy_s - own_s, (copies - 1 - others) * copy_s, groups)
            ),
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


def _one_of(copies: int, waited: int) -> float:
    """Return how long waiting for some of equal copies takes, in exponential times of one."""
    return sum(1 / i for i in range(copies - waited + 1, copies + 1))
