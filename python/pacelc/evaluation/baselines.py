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

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy import linalg, optimize

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
_HYPERPARAMETER_POINTS: Final = 200
_SHARES: Final = 8
"""Mixes within an eighth are one: a measured share scatters about its study's."""


@dataclass(frozen=True)
class Predictor:
    """A fitted baseline: a law of each measure."""

    laws: Mapping[str, Law]

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

        def residuals(at: Floats) -> Floats:
            left = rate(logs, rows[:, 1]) - curves(at, rows)
            return left - span @ (span.T @ left)  # factors are linear: solved for at each step

        at = _least_squares(residuals, counts)
        effects = linalg.lstsq(factors, rate(logs, rows[:, 1]) - curves(at, rows))[0]

        def predicted(row: Floats) -> float:
            return float(rate(curves(at, row[None]) + row[columns] @ effects, row[1])[0])

        return _told(rows, predicted)

    return _of_each(points, law)


def gaussian_process(points: Sequence[Point], *, seed: int = 1) -> Predictor:
    """Return a Gaussian process on each measure's logarithm.

    Of the features of :func:`log_linear`, standardised; a squared exponential with a length scale
    each, times a constant, and noise. These maximise the marginal likelihood of at most 200 points,
    drawn by a seed; given them, all points are taken (Rasmussen and Williams: Gaussian Processes
    for Machine Learning, MIT Press 2006, sections 5.4.1 and 8.3.3). Far from
    all points, a prediction is the mean of all.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - takes a second to import
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel  # noqa: PLC0415

    regressor: Any = GaussianProcessRegressor  # its types are partly unknown

    def law(own: Sequence[Point], name: str) -> Law:
        rows, logs = _data(own, name)
        centre, scale = rows.mean(axis=0), rows.std(axis=0)
        scale[scale < _ROUNDED] = 1.0
        places, values = (rows - centre) / scale, (logs - logs.mean()) / (logs.std() or 1.0)
        some = np.random.default_rng(seed).permutation(len(logs))[:_HYPERPARAMETER_POINTS]
        scales: Any = RBF([3.0] * rows.shape[1], (0.3, 1e3))
        kernel: Any = ConstantKernel(1.0, (1e-2, 1e3)) * scales + WhiteKernel(1e-2, (1e-6, 1.0))
        with warnings.catch_warnings():
            # A length scale at its upper bound is that of a feature without effect.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search = regressor(kernel, n_restarts_optimizer=1, random_state=seed)
            kernel = search.fit(places[some], values[some]).kernel_
        process = regressor(kernel, optimizer=None).fit(places, values)

        def predicted(row: Floats) -> float:
            value = float(process.predict(((row - centre) / scale)[None])[0])
            return float(logs.mean()) + float(logs.std() or 1.0) * value

        return _told(rows, predicted)

    return _of_each(points, law)


BASELINES: Final[Mapping[str, Baseline]] = {
    "nearest": nearest,
    "log-linear": log_linear,
    "USL": usl,
    "Gaussian process": gaussian_process,
}


def _of_each(points: Sequence[Point], law: Callable[[Sequence[Point], str], Law]) -> Predictor:
    """Return a law of each measure, of the configurations that have it."""
    merged = _merged(points)
    own = {name: [one for one in merged if name in one.measured] for name in MEASURES}
    return Predictor({name: law(having, name) for name, having in own.items() if having})


def _row(configuration: Configuration) -> Floats:
    """Return a configuration's features; the first is of the constant."""
    sizes = np.log([configuration.users, configuration.nodes, configuration.replication])
    asked, waited, share = configuration.asked, configuration.waited, configuration.read_share
    return np.array([1.0, *sizes, share, asked, waited, configuration.on_disk])


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


def _merged(points: Sequence[Point]) -> list[Point]:
    """Return one point a configuration: geometric means over the clusters that have it."""
    alike: dict[tuple[object, ...], list[Point]] = {}
    for one in points:
        share = round(_SHARES * one.configuration.read_share) / _SHARES
        rough = one.configuration._replace(read_share=share, cores=0.0)
        alike.setdefault((rough, frozenset(one.measured)), []).append(one)
    found: list[Point] = []
    for own in alike.values():
        shares, cores = ([getattr(one.configuration, name) for one in own] for name in _MEASURED)
        configuration = own[0].configuration._replace(
            read_share=float(np.mean(shares)), cores=float(np.mean(cores))
        )
        logs = {name: [np.log(one.measured[name]) for one in own] for name in own[0].measured}
        means = {name: float(np.exp(np.mean(values))) for name, values in logs.items()}
        found.append(own[0]._replace(configuration=configuration, measured=means))
    return found


_MEASURED: Final = ("read_share", "cores")
"""Of a configuration: they differ a little from run to run."""
