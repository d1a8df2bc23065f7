"""What operations wait for besides processors: by least squares on mean latencies.

All configurations are fitted at once, on the logarithms of their latencies. The quick solution is
searched (:func:`pacelc.models.host.quick`); by how much the simulation differs from it is found out
where the search ends, and taken into a second one, and where that ends into a third.

Start here: :func:`fit_delays`.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize, stats

from pacelc.analysis.estimate import CONFIDENCE
from pacelc.models.configuration import Ready, Waits, built, network_of, settled, simulated
from pacelc.models.host import quick
from pacelc.models.work import LEAST_USERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.configuration import Configuration
    from pacelc.models.observations import Cluster
    from pacelc.models.quorum import Discipline
    from pacelc.models.work import Work

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Delays", "fit_delays"]

_LEAST_S: Final = 1e-7
"""Delays below a tenth of a microsecond are no network's."""
_LONGEST_S: Final = 100.0
_STILL: Final = 1e-4
"""Change of logarithms, as a share: far less than a simulation tells."""
_LEFT: Final = 1e-4
"""Change of squares, as a share: far less than what runs scatter by makes of it."""
_MOST: Final = 10.0
"""Of a half-width, in logarithms: it says that nothing is known."""
_DISCIPLINES: Final[Mapping[Discipline, tuple[Discipline, ...]]] = {
    "ps": ("ps",),
    "fcfs": ("siro", "fcfs"),
}
"""Of processors, and those whose means are the same: tails tell them apart. The likelier first:
tails of what can't be best any more aren't looked at to the end."""
_AS_GOOD: Final = 1.1
"""Times the least misfit: one discipline isn't told from the other by means."""
_LEAST_SCV, _MOST_SCV = 0.03, 10.0
"""Squared coefficients of variation."""
_FIRST_STEP, _LAST_STEP = 10**0.5, 1.2
"""Of them, as factors."""
_TAILS: Final = 32
"""Configurations whose tails are simulated for it; so that chance doesn't choose, many."""
_ABOVE: Final = 1.05
"""What goes on in the background leaves something."""
_STARTS: Final = {
    "client_round_trip_s": 0.3,
    "node_round_trip_s": 0.1,
    "write_wait_s": 0.1,
    "journal_wait_s": 0.1,
}
"""Field of the quorum model → where the search begins, as a share of the shortest latency."""
_LIKELY: Final = 0.5
_SHARES: Final = {
    "woken_beside": (1e-3, 1.0),
    "written_later": (1e-3, 1.0),
    "scattered": (1e-3, 10.0),
}
"""What is searched like the delays, and between which ends."""
_BEGINNINGS: Final = (0.0, 0.5, 1.0)
"""Where between its ends what a machine has available begins: there are several flat valleys."""


@dataclass(frozen=True)
class Delays:
    """What is waited for, and the ends of the delays' intervals."""

    waits: Waits
    ends_s: Mapping[str, tuple[float, float]]


def fit_delays(fitted: Sequence[Configuration], work: Work) -> Delays:
    """Return the delays that come nearest to the latencies of some configurations.

    Looked for as well, each for all of them: of a machine that all share, which part of its cores
    threads can use, between what half of the runs used and all; which shares of waking up and of
    writing nobody waits for; whether processors are shared, taken in turn or in random order; and
    how variable times are, which 99th percentiles tell.
    """
    ways = [_Search(fitted, work, discipline) for discipline in _DISCIPLINES]
    least = min(way.misfit for way in ways)
    good = [way for way in ways if way.misfit <= _AS_GOOD * least]
    alike = [way.under(other) for way in good for other in _DISCIPLINES[way.waits.discipline]]
    best, variable, left = alike[0], 1.0, math.inf
    for way in alike:
        scv, tails = _variability(way, left - way.misfit)
        if way.misfit + tails < left:
            best, variable, left = way, scv, way.misfit + tails
    return best.delays(variable)


def _variability(way: _Search, most: float) -> tuple[float, float]:
    """Return how variable times are, and what is left of tails; exponential if none were measured.

    Looked for on either side of the best so far, in steps that get smaller. More than ``most`` is
    infinity.
    """
    best, step = 1.0, _FIRST_STEP
    left = {best: way.tail(best, most)}
    while step > _LAST_STEP:
        for scv in (best / step, best * step):
            if _LEAST_SCV <= scv <= _MOST_SCV and scv not in left:
                left[scv] = way.tail(scv, min(most, *left.values()))
        nearest = min(left, key=lambda scv: left[scv])
        if nearest == best:
            step **= 0.5
        best = nearest
    return float(f"{best:.2g}"), left[best]


def _least_available(fitted: Sequence[Configuration], work: Work) -> float:
    """Return the share of a machine's cores that half of its runs used, or its background."""
    used = [one.cores_used / one.cluster.cores for one in fitted]
    idle = max(work.background_cores(one.cluster) / one.cluster.cores for one in fitted)
    return min(max(idle * _ABOVE, float(np.median(used))), 1.0)


class _Search:
    """A search: its latencies, and the delays that they tell apart."""

    def __init__(self, fitted: Sequence[Configuration], work: Work, discipline: Discipline) -> None:
        self.fitted, self.work, self.waits = fitted, work, Waits({}, discipline)
        self.pairs = [
            (i, kind)
            for i, one in enumerate(fitted)
            for kind in ("read", "write")
            if f"{kind}.latency_s" in one.measured
        ]
        self.measured: Floats = np.log(
            [fitted[i].measured[f"{kind}.latency_s"] for i, kind in self.pairs]
        )
        ways = {_way(fitted[i].cluster, kind) for i, kind in self.pairs}
        kinds = {kind for _, kind in self.pairs}
        users = {one.cluster.users for one in fitted}
        journaled = {fitted[i].cluster.journaled for i, kind in self.pairs if kind == "write"}
        self.ready = [Ready(one.cluster, work) for one in fitted]
        self.shared = fitted[0].cluster.shared
        self.least_available = _least_available(fitted, work) if self.shared else 1.0
        told = {
            "client_round_trip_s": True,
            # Where all have what they wait for at hand, others may take as long as they like.
            "node_round_trip_s": len(ways) > 1
            and any(way.waited > 1 or way.own < 1 for way in ways),
            "write_wait_s": len(kinds) > 1,
            "journal_wait_s": len(journaled) > 1,
            # Few users wake processors, many don't.
            "woken_beside": len(users) >= LEAST_USERS
            and any(_woken_s(one.cluster, work) for one in fitted),
            # It loads processors, and is no part of what writes take more than reads.
            "written_later": len(users) >= LEAST_USERS and len(kinds) > 1,
            # Few threads wait, many keep all cores busy.
            "scattered": len(users) >= LEAST_USERS and self.shared,
            "available": self.least_available < 1,
        }
        self.names = [name for name, can in told.items() if can]
        shares = _SHARES | {"available": (self.least_available, 1.0)}
        self.ends = [shares.get(name, (_LEAST_S, _LONGEST_S)) for name in self.names]

        unbiased = np.zeros(self.measured.size)
        found = [self.nearest(start, unbiased) for start in self.starts()]
        self.quickest, rest, _ = min(found, key=lambda one: float(one[1] @ one[1]))
        self.misfit = float(np.mean(rest**2))

    def starts(self) -> list[Floats]:
        """Return where the search begins: with the least available, with all, and between."""
        shortest = float(np.exp(self.measured.min()))
        likely = {name: max(shortest * share, 10 * _LEAST_S) for name, share in _STARTS.items()}
        spare = 1 - self.least_available
        several: list[Floats] = []
        for part in _BEGINNINGS if spare > 0 else (0.0,):
            likely["available"] = self.least_available + part * spare
            several.append(np.log([likely.get(name, _LIKELY) for name in self.names]))
        return several

    def under(self, discipline: Discipline) -> _Search:
        """Return the same search under a discipline that has the same means."""
        other = copy(self)
        other.waits = replace(self.waits, discipline=discipline)
        return other

    def delays(self, scv: float) -> Delays:
        self.waits = replace(self.waits, scv=scv)
        best, rest, slopes = self.nearest(self.quickest, self.bias(self.quickest))
        # Simulations differ by something else there.
        best, rest, slopes = self.nearest(best, self.bias(best))
        ends: dict[str, tuple[float, float]] = {}
        df = rest.size - len(self.names)
        if df > 0:
            inverse = np.linalg.pinv(slopes)
            spread = np.sqrt(float(rest @ rest) / df * np.sum(inverse**2, axis=1))
            half = np.minimum(spread * stats.t.isf((1 - CONFIDENCE) / 2, df), _MOST)
            low, high = np.exp(best - half), np.exp(best + half)
            ends = {
                name: (float(low[i]), float(high[i]))
                for i, name in enumerate(self.names)
                # What has come down to nothing isn't known any better than that.
                if best[i] > np.log(2 * _LEAST_S)
            }
        found = self.at(best)
        delays_s = {name: s if s > 2 * _LEAST_S else 0.0 for name, s in found.delays_s.items()}
        return Delays(replace(found, delays_s=delays_s), ends)

    def nearest(self, start: Floats, bias: Floats) -> tuple[Floats, Floats, Floats]:
        """Return logarithms of what is searched, what they leave, how that changes with them."""

        def rest(logs: Floats) -> Floats:
            return self.solved(logs) + bias - self.measured

        low, high = np.log(self.ends).T
        step = np.full(start.size, 1e-3)
        best = optimize.least_squares(
            *(rest, start), bounds=(low, high), diff_step=step, xtol=_STILL, ftol=_LEFT
        )
        return best.x, best.fun, np.asarray(best.jac, dtype=float)

    def at(self, logs: Floats) -> Waits:
        """Return what is waited for, of logarithms of what is searched."""
        values: list[float] = np.exp(logs).tolist()
        known = {
            name: min(value, most)
            for name, value, (_, most) in zip(self.names, values, self.ends, strict=True)
        }
        delays_s = {name: known.pop(name, 0.0) for name in _STARTS}
        return replace(self.waits, delays_s=delays_s, **known)

    def solved(self, logs: Floats) -> Floats:
        waits = self.at(logs)
        answers = [quick(one.settings(waits), shared=self.shared) for one in self.ready]
        return np.log([answers[i].response_s[kind] for i, kind in self.pairs])

    def bias(self, logs: Floats) -> Floats:
        """Return by how much simulations are above the quick solution, in logarithms."""
        waits = self.at(logs)
        networks = [network_of(one.cluster, self.work, waits) for one in self.fitted]
        found = [simulated(network, tails=False) for network in networks]
        times = [found[i].get(f"{kind}.latency_s") for i, kind in self.pairs]
        known = self.solved(logs).tolist()
        return np.array(
            [0.0 if t is None else float(np.log(t)) - k for t, k in zip(times, known, strict=True)]
        )

    @cached_property
    def tailed(self) -> list[tuple[Configuration, Cluster]]:
        """Some whose tails are known, and their settled clusters."""
        known = [one for one in self.fitted if any(_is_tail(name) for name in one.measured)]
        # By chance: scenarios come in an order.
        some: list[int] = np.random.default_rng(1).permutation(len(known))[:_TAILS].tolist()
        waits = self.at(self.quickest)
        return [(known[i], settled(known[i].cluster, self.work, waits)) for i in some]

    def tail(self, scv: float, most: float) -> float:
        """Return how unlike those measured the tails are, against their means, of some.

        Of what is more than ``most`` that isn't found out: it is infinity.
        """
        waits = replace(self.at(self.quickest), scv=scv)
        tails = sum(_is_tail(name) for one, _ in self.tailed for name in one.measured)
        off: list[float] = []
        for one, cluster in self.tailed:
            found = simulated(built(cluster, self.work, waits))
            for kind in ("read", "write"):
                names = (f"{kind}.p99_s", f"{kind}.latency_s")
                p99, mean = (found.get(name) for name in names)
                if p99 is not None and mean is not None and names[0] in one.measured:
                    measured = one.measured[names[0]] / one.measured[names[1]]
                    off.append(abs(float(np.log(p99 / mean / measured))))
            if (sum(off) / tails) ** 2 > most:
                return math.inf
        # A stall in one run makes a tail of its own: not by squares, which it would rule.
        return float(np.mean(off)) ** 2 if off else 0.0


def _woken_s(cluster: Cluster, work: Work) -> float:
    """Return what waking up takes of an operation."""
    found = work.demands_s(cluster, beside=1.0)
    return found["coordinator_after_cpu_s"] + found["write_after_cpu_s"]


def _is_tail(name: str) -> bool:
    return name.endswith(".p99_s")


class _Way(NamedTuple):
    """How many copies of how many are waited for; how often the coordinator holds one."""

    waited: int
    copies: int
    own: float


def _way(cluster: Cluster, kind: str) -> _Way:
    if kind == "read":
        return _Way(cluster.asked, cluster.asked, cluster.own_share)
    return _Way(cluster.waited, cluster.replication, cluster.own_share)
