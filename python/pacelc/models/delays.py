"""What operations wait for besides processors: by least squares on mean latencies.

All configurations are fitted at once, on the logarithms of their latencies. The quick solution is
searched (:func:`pacelc.models.host.quick`); by how much the simulation differs from it is found out
where the search ends, and taken into a second one.

Start here: :func:`fit_delays`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy import optimize, stats

from pacelc.analysis.estimate import CONFIDENCE
from pacelc.models.configuration import ROUGH, network_of, settings_of, simulated
from pacelc.models.host import quick

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.configuration import Configuration
    from pacelc.models.observations import Cluster
    from pacelc.models.work import Work

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Delays", "fit_delays"]

_LEAST_S: Final = 1e-7
"""Delays below a tenth of a microsecond are no network's."""
_LONGEST_S: Final = 100.0
_MOST: Final = 10.0
"""Of a half-width, in logarithms: it says that nothing is known."""
_CAPACITIES: Final = 7
"""Of a shared machine, that are tried."""
_ABOVE: Final = 1.05
"""What goes on in the background leaves something."""
_STARTS: Final = {
    "client_round_trip_s": 0.3,
    "node_round_trip_s": 0.1,
    "write_wait_s": 0.1,
}
"""Field of the quorum model → where the search begins, as a share of the shortest latency."""


@dataclass(frozen=True)
class Delays:
    """Field of the quorum model → seconds, with the ends of its interval."""

    values_s: Mapping[str, float]
    ends_s: Mapping[str, tuple[float, float]]
    available_cores: float | None = None
    """Of a machine that all share."""

    def placed(self, cluster: Cluster) -> Cluster:
        """Return the cluster on the processors that it had."""
        return cluster if self.available_cores is None else on_cores(cluster, self.available_cores)


def on_cores(cluster: Cluster, cores: float) -> Cluster:
    """Return the cluster on so many cores."""
    return cluster._replace(cores=cores)


def fit_delays(fitted: Sequence[Configuration], work: Work) -> Delays:
    """Return the delays that come nearest to the latencies of some configurations.

    Of a machine that all share, others may have used a part, and threads can't always use the rest:
    how many cores were there for it is looked for, too, between what half of the runs used and what
    there is. A run that others left more to isn't described by it.
    """
    if not fitted[0].cluster.shared:
        return _Search(fitted, work).delays()
    most = fitted[0].cluster.cores
    idle = work.seconds("background") * max(one.cluster.nodes for one in fitted)
    least = min(max(idle * _ABOVE, float(np.median([one.cores_used for one in fitted]))), most)
    searches = [
        _Search([replace(one, cluster=on_cores(one.cluster, cores)) for one in fitted], work)
        for cores in np.linspace(least, most, _CAPACITIES).tolist()
    ]
    best = min(searches, key=lambda one: one.misfit())
    return replace(best.delays(), available_cores=best.fitted[0].cluster.cores)


class _Search:
    """A search: its latencies, and the delays that they tell apart."""

    def __init__(self, fitted: Sequence[Configuration], work: Work) -> None:
        self.fitted, self.work = fitted, work
        self.pairs = [
            (i, kind)
            for i, one in enumerate(fitted)
            for kind in ("read", "write")
            if f"{kind}.latency_s" in one.measured
        ]
        self.measured: Floats = np.log(
            [fitted[i].measured[f"{kind}.latency_s"] for i, kind in self.pairs]
        )
        waits = {_waits(fitted[i].cluster, kind) for i, kind in self.pairs}
        kinds = {kind for _, kind in self.pairs}
        told = {"client_round_trip_s": True, "node_round_trip_s": len(waits) > 1}
        told["write_wait_s"] = len(kinds) > 1
        self.names = [name for name, can in told.items() if can]

    def misfit(self) -> float:
        """Return how far off the quick solution is, at its best."""
        return float(np.sum(self.quickest()[1] ** 2))

    def quickest(self) -> tuple[Floats, Floats, Floats]:
        shortest = float(np.exp(self.measured.min()))
        start = np.log([max(shortest * _STARTS[name], 10 * _LEAST_S) for name in self.names])
        return self.nearest(start, np.zeros(self.measured.size))

    def delays(self) -> Delays:
        first, _, _ = self.quickest()
        best, rest, slopes = self.nearest(first, self.bias(first))
        ends: dict[str, tuple[float, float]] = {}
        df = rest.size - len(self.names)
        if df > 0:
            spread = np.sqrt(float(rest @ rest) / df * np.diag(np.linalg.pinv(slopes.T @ slopes)))
            half = np.minimum(spread * stats.t.isf((1 - CONFIDENCE) / 2, df), _MOST)
            low, high = np.exp(best - half), np.exp(best + half)
            ends = {
                name: (float(low[i]), float(high[i]))
                for i, name in enumerate(self.names)
                # What has come down to nothing isn't known any better than that.
                if best[i] > np.log(2 * _LEAST_S)
            }
        values = self.seconds(best).items()
        return Delays({name: s if s > 2 * _LEAST_S else 0.0 for name, s in values}, ends)

    def nearest(self, start: Floats, bias: Floats) -> tuple[Floats, Floats, Floats]:
        """Return logarithms of delays, what they leave, and how that changes with them."""

        def rest(logs: Floats) -> Floats:
            return self.solved(logs) + bias - self.measured

        ends = (np.log(_LEAST_S), np.log(_LONGEST_S))
        low, high = (np.full(start.size, end) for end in ends)
        step = np.full(start.size, 1e-3)
        best = optimize.least_squares(rest, start, bounds=(low, high), diff_step=step)
        return best.x, best.fun, np.asarray(best.jac, dtype=float)

    def seconds(self, logs: Floats) -> dict[str, float]:
        return dict.fromkeys(_STARTS, 0.0) | dict(
            zip(self.names, np.exp(logs).tolist(), strict=True)
        )

    def solved(self, logs: Floats) -> Floats:
        delays_s = self.seconds(logs)
        answers = [
            quick(settings_of(one.cluster, self.work, delays_s), shared=one.cluster.shared)
            for one in self.fitted
        ]
        return np.log([answers[i].response_s[kind] for i, kind in self.pairs])

    def bias(self, logs: Floats) -> Floats:
        """Return by how much simulations are above the quick solution, in logarithms."""
        delays_s = self.seconds(logs)
        found = [
            simulated(network_of(one.cluster, self.work, delays_s), ROUGH) for one in self.fitted
        ]
        times = [found[i].get(f"{kind}.latency_s") for i, kind in self.pairs]
        known = self.solved(logs).tolist()
        return np.array(
            [0.0 if t is None else float(np.log(t)) - k for t, k in zip(times, known, strict=True)]
        )


def _waits(cluster: Cluster, kind: str) -> tuple[int, int]:
    """Return how many copies of how many a kind of operation waits for."""
    if kind == "read":
        return cluster.asked, cluster.asked
    return cluster.waited, cluster.replication
