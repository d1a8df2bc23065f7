"""Calibrations of runs: a model of each group, and how far off it was on sizes left out.

1. *Demands* by the utilisation law (:mod:`pacelc.calibration.demands`), then delays and variation
   (:mod:`pacelc.calibration.model`), from all runs of a group.
2. *Residuals* of throughput by a Gaussian process (:mod:`pacelc.calibration.residuals`). They are
   of this machine and its clusters: a plan, which is of others, does without.
3. *Errors*: each size (nodes and copies) is left out once and predicted by a model of the others.
   What is left of the logarithms gives the variance of predictions of sizes that weren't fitted.
   (Tails over means, and the kernel of the residuals, are those of all points.)
4. *Prediction intervals*: the variances of the parameters, between clusters, and of such errors
   together; Student's t with sizes - 1 degrees of freedom, since there are too few clusters of a
   size to resample (Meeker, Hahn and Escobar: Statistical Intervals, Wiley 2017, section 2.3).

Rejected: residuals of fitted runs, and splits of one cluster's runs, which are alike. Both make
intervals too narrow.

Start here: :func:`fit`.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import stats

from pacelc.calibration.demands import NotIdentified
from pacelc.calibration.model import fit_model
from pacelc.calibration.residuals import Kernel, features, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    from pacelc.calibration.model import Model
    from pacelc.calibration.runs import Configuration, Point

__all__ = ["Errors", "Fit", "Interval", "fit"]

_COVERAGE: Final = 0.9
_THROUGHPUT: Final = "throughput_per_s"
_Tails: TypeAlias = "dict[Configuration, Mapping[str, float]]"
"""Configuration → kind → 99th percentile over mean."""


class Interval(NamedTuple):
    """A prediction: its median, and the ends of its 90 % interval; None: can't tell."""

    value: float
    low: float | None
    high: float | None


class Errors(NamedTuple):
    """What predictions of sizes left out were off by.

    Attributes
    ----------
    sizes
        Measure → how many were left out and told, one after the other.
    variance
        Measure → mean square of the logarithm of measured over predicted: the mean over sizes.
    by_size
        Size → configurations, and mean relative errors without sign: ``throughput``, ``mean``,
        ``p99``.
    """

    sizes: Mapping[str, int]
    variance: Mapping[str, float]
    by_size: Mapping[str, tuple[int, Mapping[str, float]]]


@dataclass(frozen=True, eq=False)
class Fit:
    """A model, and how far off it is.

    Attributes
    ----------
    model
        The network, of all points.
    residual
        The logarithm of what its throughput is to be multiplied by, by features.
    tails
        What was simulated.
    network, corrected
        Errors of sizes left out, by the network alone, and with residuals; None where fewer than
        two sizes can be told from the others.
    """

    model: Model
    residual: Callable[[Floats], float]
    tails: _Tails
    network: Errors | None = None
    corrected: Errors | None = None

    def predict(
        self, configurations: Sequence[Configuration], *, corrected: bool = True
    ) -> list[dict[str, Interval]]:
        """Return each measure with its interval; nothing where the runs can't tell."""
        new = [one for one in configurations if one.rounded() not in self.tails]
        self.tails.update(_tails(self.model, new))
        found: list[dict[str, Interval]] = []
        for one in configurations:
            values = self.values(one, corrected=corrected)
            errors = self.corrected if corrected else self.network
            widths = self._widths(one, errors) if values and errors is not None else {}
            found.append({name: _within(value, widths.get(name)) for name, value in values.items()})
        return found

    def values(self, one: Configuration, *, corrected: bool = True) -> dict[str, float]:
        """Return each measure without interval; nothing where the runs can't tell."""
        if self.model.unknown(one) is not None:
            return {}
        values = self.model.solved(one)
        for kind, ratio in self.tails.get(one.rounded(), {}).items():
            values[f"{kind}.p99_s"] = values[f"{kind}.latency_s"] * ratio
        if not corrected:
            return values
        faster = math.exp(self.residual(features(one)))
        return {
            name: value * faster if name == _THROUGHPUT else value / faster
            for name, value in values.items()
        }

    def _widths(self, one: Configuration, errors: Errors) -> dict[str, float]:
        """Return by which factor each interval reaches beyond its middle."""
        own = self.model.variances(one)
        # A tail grows with its mean.
        own |= {name.replace("latency", "p99"): value for name, value in own.items()}
        between = self.model.demands.between**2
        return {
            name: math.exp(
                float(stats.t.ppf((1 + _COVERAGE) / 2, errors.sizes[name] - 1))
                * math.sqrt(own[name] + between + left)
            )
            for name, left in errors.variance.items()
            if name in own
        }


def _within(value: float, width: float | None) -> Interval:
    return Interval(value, *(None, None) if width is None else (value / width, value * width))


def fit(points: Sequence[Point]) -> Fit:
    """Fit a model to the runs of a group.

    Raises
    ------
    NotIdentified
        There are too few runs, or all have the same load.
    """
    model = fit_model(points)
    kernel = Kernel.chosen(*_residuals(model, points))
    tails = _tails(model, [one.configuration for one in points])
    left_out: list[tuple[Fit, list[Point]]] = []
    for size in dict.fromkeys(one.configuration.size for one in points):
        others = [one for one in points if one.configuration.size != size]
        own = [one for one in points if one.configuration.size == size]
        with suppress(NotIdentified):
            left_out.append((_fitted(others, fit_model(others), kernel, tails), own))
    network, corrected = (_errors(left_out, corrected=which) for which in (False, True))
    found = _fitted(points, model, kernel, tails)
    return replace(found, network=network, corrected=corrected)


def _fitted(points: Sequence[Point], model: Model, kernel: Kernel, tails: _Tails) -> Fit:
    return Fit(model, kernel.process(*_residuals(model, points)), tails)


def _residuals(model: Model, points: Sequence[Point]) -> tuple[Floats, Floats]:
    """Return features and logarithms of what throughputs were more than a model says."""
    known = merged(points)
    rows = np.array([features(one.configuration) for one in known])
    logs = [
        math.log(one.measured[_THROUGHPUT] / model.solved(one.configuration)[_THROUGHPUT])
        for one in known
    ]
    return rows, np.array(logs)


def _errors(left_out: Sequence[tuple[Fit, Sequence[Point]]], *, corrected: bool) -> Errors | None:
    """Return what models are off by on sizes that they weren't fitted to."""
    squares: dict[str, list[float]] = {}
    by_size: dict[str, tuple[int, Mapping[str, float]]] = {}
    for found, own in left_out:
        logs: dict[str, list[float]] = {}
        for one in own:
            values = found.values(one.configuration, corrected=corrected)
            for name in values.keys() & one.measured.keys():
                logs.setdefault(name, []).append(math.log(one.measured[name] / values[name]))
        for name, each in logs.items():
            squares.setdefault(name, []).append(float(np.mean(np.square(each))))
        if logs:
            size = own[0].configuration.size
            by_size[size] = len(logs[_THROUGHPUT]), _relative(logs)
    # Of one size no deviation is known.
    several = {name: each for name, each in squares.items() if len(each) > 1}
    if _THROUGHPUT not in several:
        return None
    variance = {name: float(np.mean(each)) for name, each in several.items()}
    return Errors({name: len(each) for name, each in several.items()}, variance, by_size)


def _relative(logs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return mean errors of throughput, means and tails: |predicted / measured - 1|."""
    ends = {"throughput": _THROUGHPUT, "mean": "latency_s", "p99": "p99_s"}
    return {
        what: float(np.mean(np.abs(np.expm1(-np.array(own)))))
        for what, end in ends.items()
        if (own := [log for name, each in logs.items() if name.endswith(end) for log in each])
    }


def _tails(model: Model, configurations: Sequence[Configuration]) -> _Tails:
    """Return simulated tails over means of configurations, alike ones once."""
    distinct = list(dict.fromkeys(one.rounded() for one in configurations))
    told = [one for one in distinct if model.unknown(one) is None]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return dict(zip(told, threads.map(model.tails, told), strict=True))
