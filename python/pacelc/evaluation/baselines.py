"""Baselines: what a model of queues has to beat.

Each is a function: points → :class:`Predictor`. None of them knows what a database does. All
predict each measure on its own, and its logarithm, so that a prediction is a median. Clusters with
the same configuration are one point.

A regression tells a configuration only if its main effects are estimable: its row is a linear
combination of the measured ones (Searle: Linear Models, Wiley 1971, section 5.4). Where all sizes
have as many nodes, for example, it tells nothing of other numbers of nodes.

Map
---
nearest             the nearest measured configuration, scaled in proportion
log_linear          least squares of logarithms: power laws
usl                 the Universal Scalability Law in users and in nodes
gaussian_process    a Gaussian process on logarithms
BASELINES           all of them, by name
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy import linalg, optimize

from pacelc.calibration import residuals
from pacelc.laws.law import capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.runs import Configuration, Point

    Floats: TypeAlias = NDArray[np.float64]
    Law: TypeAlias = Callable[[Configuration], float | None]
    """Configuration → the median of a measure; None: can't tell."""
    Baseline: TypeAlias = Callable[[Sequence[Point]], "Predictor"]

__all__ = [
    "BASELINES",
    "MEASURES",
    "Predictor",
    "gaussian_process",
    "log_linear",
    "nearest",
    "usl",
]

MEASURES: Final = (
    "throughput_per_s",
    "read.latency_s",
    "write.latency_s",
    "read.p99_s",
    "write.p99_s",
)
_ROUNDED: Final = 1e-6


@dataclass(frozen=True)
class Predictor:
    """A fitted baseline: a law of each measure."""

    laws: Mapping[str, Law]
    kernels: Mapping[str, residuals.Kernel] = field(default_factory=dict[str, residuals.Kernel])
    """Of a Gaussian process, by measure."""

    def predict(self, configuration: Configuration) -> dict[str, float | None]:
        """Return the median of each measure that the configuration has; None: can't tell."""
        absent = {0.0: "read", 1.0: "write"}.get(configuration.read_share, "none")
        return {
            name: self.laws[name](configuration) if name in self.laws else None
            for name in MEASURES
            if not name.startswith(absent)
        }


def nearest(points: Sequence[Point]) -> Predictor:
    """Return what the nearest measured configuration did, scaled in proportion.

    A distance of 1 is twice the nodes, copies or users, one more copy that reads or writes wait
    for, half of all operations being reads in place of writes, or a wait for the disk; distances
    add up as in space. Throughput goes by the cores of all nodes: where they share a machine,
    nodes add none. Latencies go by Little's law, in proportion to users over throughput
    (Lazowska et al.: Quantitative System Performance, Prentice-Hall 1984, section 3.2).
    """
    log2 = 1 / np.log(2)
    units = np.array([0.0, log2, log2, log2, 2.0, 1.0, 1.0, 1.0])

    def law(own: Sequence[Point], name: str) -> Law:
        places = np.array([_row(one.configuration) for one in own]) * units

        def predicted(configuration: Configuration) -> float:
            away = linalg.norm(places - _row(configuration) * units, axis=1)
            known = own[int(np.argmin(away))]
            faster = _all_cores(configuration) / _all_cores(known.configuration)
            slower = configuration.users / known.configuration.users / faster
            return known.measured[name] * (faster if name == "throughput_per_s" else slower)

        return predicted

    return _of_each(points, law)


def log_linear(points: Sequence[Point]) -> Predictor:
    """Return a least-squares fit of each measure's logarithm.

    The main effects: logarithms of users, nodes and copies; share of reads, copies that reads and
    writes wait for, whether writes wait for the disk. So throughput is a power of users, without
    saturation, and a level costs the same factor at every load.
    """

    def law(own: Sequence[Point], name: str) -> Law:
        rows, logs = _data(own, name)
        effects = linalg.lstsq(rows, logs)[0]
        return _told(rows, lambda row: float(row @ effects))

    return _of_each(points, law)


def usl(points: Sequence[Point]) -> Predictor:
    """Return the Universal Scalability Law (:mod:`pacelc.laws.law`), in users and in nodes.

    The product of both laws and of a factor for each of mix, levels and copies; least squares of
    logarithms. A latency's rate is users over latency, by Little's law, and has laws of its own;
    p99 as well. Two sizes identify one coefficient: ``sigma``, or, where the second is slower than
    the first, ``kappa`` beside a ``sigma`` of 1. ``kappa`` is 1 at most: two of a size do at least
    half of what one does. Copies have a factor only if they differ between sizes with as many
    nodes.
    """

    def law(own: Sequence[Point], name: str) -> Law:
        rows, logs = _data(own, name)
        counts = [min(len(np.unique(rows[:, size])) - 1, 2) for size in (1, 2)]
        has_copies = len(np.unique(rows[:, 2:4], axis=0)) > len(np.unique(rows[:, 2]))
        factors = rows[:, (columns := [0, *([3] if has_copies else []), 4, 5, 6, 7])]
        span = linalg.orth(factors)

        def rate(logs: Floats, log_users: Floats) -> Floats:  # its own inverse
            return logs if name == "throughput_per_s" else log_users - logs

        def curves(at: Floats, rows: Floats) -> Floats:
            users, nodes = np.split(at, counts[:1])
            return _curve(users, rows[:, 1]) + _curve(nodes, rows[:, 2])

        def left_by(at: Floats) -> Floats:
            left = rate(logs, rows[:, 1]) - curves(at, rows)
            return left - span @ (span.T @ left)  # factors are linear: solved for at each step

        at = _least_squares(left_by, counts)
        effects = linalg.lstsq(factors, rate(logs, rows[:, 1]) - curves(at, rows))[0]

        def predicted(row: Floats) -> float:
            return float(rate(curves(at, row[None]) + row[columns] @ effects, row[1])[0])

        return _told(rows, predicted)

    return _of_each(points, law)


def gaussian_process(
    points: Sequence[Point], kernels: Mapping[str, residuals.Kernel] | None = None
) -> Predictor:
    """Return a Gaussian process on each measure's logarithm.

    That of :mod:`pacelc.calibration.residuals`, without a network: far from all points a prediction
    is the mean of all. Kernels are chosen, or those given.
    """
    chosen = dict(kernels or {})

    def law(own: Sequence[Point], name: str) -> Law:
        rows, logs = _data(own, name)
        centre = float(logs.mean())
        if name not in chosen:
            chosen[name] = residuals.Kernel.chosen(rows[:, 1:], logs - centre)
        process = chosen[name].process(rows[:, 1:], logs - centre)
        return _told(rows, lambda row: centre + process(row[1:]))

    return replace(_of_each(points, law), kernels=chosen)


BASELINES: Final[Mapping[str, Baseline]] = {
    "nearest": nearest,
    "log-linear": log_linear,
    "USL": usl,
    "Gaussian process": gaussian_process,
}


def _of_each(points: Sequence[Point], law: Callable[[Sequence[Point], str], Law]) -> Predictor:
    """Return a law of each measure, of the configurations that have it."""
    merged = residuals.merged(points)
    own = {name: [one for one in merged if name in one.measured] for name in MEASURES}
    return Predictor({name: law(having, name) for name, having in own.items() if having})


def _row(configuration: Configuration) -> Floats:
    """Return a configuration's features; the first is of the constant."""
    return np.array([1.0, *residuals.features(configuration)])


def _data(points: Sequence[Point], name: str) -> tuple[Floats, Floats]:
    """Return features (points, features), and logarithms of a measure (points,)."""
    rows = np.array([_row(one.configuration) for one in points])
    return rows, np.log([one.measured[name] for one in points])


def _told(rows: Floats, predicted: Callable[[Floats], float]) -> Law:
    """Return a law that tells what the measured rows make estimable, of the logarithm's."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0.0] = 1.0
    span = np.asarray(linalg.orth((rows / scale).T, rcond=_ROUNDED), dtype=float)

    def law(configuration: Configuration) -> float | None:
        row = _row(configuration)
        outside = row / scale - span @ (span.T @ (row / scale))
        return float(np.exp(predicted(row))) if linalg.norm(outside) < _ROUNDED else None

    return law


def _curve(coefficients: Floats, log_size: Floats) -> Floats:
    """Return the logarithm of the law's relative capacity at each size."""
    if len(coefficients) == 0:
        return np.zeros(len(log_size))
    # One coefficient is sigma, as far as 1; what is beyond is kappa.
    one = len(coefficients) == 1
    sigma = min(coefficients[0], 1.0)
    kappa = max(coefficients[0] - 1.0, 0.0) if one else coefficients[1]
    return np.log(capacity(np.exp(log_size), 1.0, sigma, kappa))


def _least_squares(residuals: Callable[[Floats], Floats], counts: Sequence[int]) -> Floats:
    """Return the coefficients of users' and nodes' laws, the best from several starts."""
    starts = [[()], [(0.5,), (1.5,)], [(0.1, 1e-4), (0.9, 1e-2)]]
    most = [(), (2.0,), (1.0, 1.0)]
    if not any(counts):
        return np.zeros(0)
    within = (0.0, [one for count in counts for one in most[count]])
    exact = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-12)
    found = [
        optimize.least_squares(residuals, sum(start, ()), bounds=within, x_scale="jac", **exact)
        for start in product(*(starts[count] for count in counts))
    ]
    return min(found, key=lambda one: one.cost).x


def _all_cores(configuration: Configuration) -> float:
    """Return the cores of all nodes, relatively: those that share a machine have the same."""
    return 1.0 if configuration.shared else configuration.cores * configuration.nodes
