"""Calibrations of runs: a model of each group, and how far off it was on sizes left out.

1. *Demands* by the utilisation law (:mod:`pacelc.calibration.demands`), then delays and variation
   (:mod:`pacelc.calibration.model`), from all runs of a group.
2. *Errors*: each size (nodes and copies) is left out once and predicted by a model of the others.
   What is left of the logarithms gives the variance of predictions of sizes that weren't fitted.
3. *Prediction intervals*: the variances of the parameters, between clusters, and of such errors
   together; Student's t with sizes - 1 degrees of freedom, since there are too few clusters of a
   size to resample (Meeker, Hahn and Escobar: Statistical Intervals, Wiley 2017, section 2.3).

Start here: :func:`fit`.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import stats

from pacelc.calibration.demands import NotIdentified
from pacelc.calibration.model import fit_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.calibration.model import Model
    from pacelc.calibration.runs import Configuration, Point

__all__ = ["Fit", "Interval", "Residuals", "fit"]

_COVERAGE: Final = 0.9
_Tails: TypeAlias = "dict[Configuration, Mapping[str, float]]"
"""Configuration → kind → 99th percentile over mean."""


class Interval(NamedTuple):
    """A prediction: its median, and the ends of its 90 % interval; None: can't tell."""

    value: float
    low: float | None
    high: float | None


class Residuals(NamedTuple):
    """What predictions of sizes left out were off by.

    Attributes
    ----------
    sizes
        How many were left out, one after the other.
    variance
        Measure → mean square of the logarithm of measured over predicted: the mean over sizes.
    by_size
        Size → configurations, and mean relative errors without sign: ``throughput``, ``mean``,
        ``p99``.
    """

    sizes: int
    variance: Mapping[str, float]
    by_size: Mapping[str, tuple[int, Mapping[str, float]]]


@dataclass(frozen=True, eq=False)
class Fit:
    """A model, and how far off it is.

    Attributes
    ----------
    model
        Of all points.
    residuals
        Of sizes left out; None where there are fewer than two.
    tails
        What was simulated.
    """

    model: Model
    residuals: Residuals | None
    tails: _Tails

    def predict(self, configurations: Sequence[Configuration]) -> list[dict[str, Interval]]:
        """Return each measure with its interval; nothing where the runs can't tell."""
        self.tails.update(
            _tails(self.model, [one for one in configurations if _rounded(one) not in self.tails])
        )
        found: list[dict[str, Interval]] = []
        for one in configurations:
            values = _values(self.model, one, self.tails)
            widths = self._widths(one) if values else {}
            found.append({name: _within(value, widths.get(name)) for name, value in values.items()})
        return found

    def _widths(self, one: Configuration) -> dict[str, float]:
        """Return by which factor each interval reaches beyond its middle."""
        if self.residuals is None:
            return {}
        t = float(stats.t.ppf((1 + _COVERAGE) / 2, self.residuals.sizes - 1))
        own = self.model.variances(one)
        # A tail grows with its mean.
        own |= {name.replace("latency", "p99"): value for name, value in own.items()}
        between = self.model.demands.between**2
        return {
            name: math.exp(t * math.sqrt(own[name] + between + left))
            for name, left in self.residuals.variance.items()
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
    tails = _tails(model, [one.configuration for one in points])
    return Fit(model, _residuals(points, tails), tails)


def _residuals(points: Sequence[Point], tails: _Tails) -> Residuals | None:
    """Return what models are off by on sizes that they weren't fitted to."""
    squares: dict[str, list[float]] = {}
    by_size: dict[str, tuple[int, Mapping[str, float]]] = {}
    for size in dict.fromkeys(one.configuration.size for one in points):
        try:
            model = fit_model([one for one in points if one.configuration.size != size])
        except NotIdentified:
            continue
        logs: dict[str, list[float]] = {}
        for one in points:
            if one.configuration.size == size:
                values = _values(model, one.configuration, tails)
                for name in values.keys() & one.measured.keys():
                    logs.setdefault(name, []).append(math.log(one.measured[name] / values[name]))
        for name, own in logs.items():
            squares.setdefault(name, []).append(float(np.mean(np.square(own))))
        if logs:
            by_size[size] = len(logs["throughput_per_s"]), _errors(logs)
    if len(by_size) < 2:  # noqa: PLR2004 - of one no deviation is known
        return None
    variance = {name: float(np.mean(each)) for name, each in squares.items()}
    return Residuals(len(by_size), variance, by_size)


def _errors(logs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return mean errors of throughput, means and tails: |predicted / measured - 1|."""
    return {
        what: float(np.mean(np.abs(np.expm1(-np.array(own)))))
        for what, end in (("throughput", "throughput_per_s"), ("mean", "latency_s"), ("p99", "p99_s"))
        if (own := [log for name, each in logs.items() if name.endswith(end) for log in each])
    }


def _tails(model: Model, configurations: Sequence[Configuration]) -> _Tails:
    """Return simulated tails over means of configurations, alike ones once."""
    distinct = list(dict.fromkeys(map(_rounded, configurations)))
    told = [one for one in distinct if model.demands.unknown(one) is None]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(told, threads.map(model.tails, told), strict=True))


def _rounded(one: Configuration) -> Configuration:
    return one._replace(read_share=round(one.read_share, 2), cores=float(max(round(one.cores), 1)))


def _values(model: Model, one: Configuration, tails: _Tails) -> dict[str, float]:
    """Return what a model says of a configuration; nothing where its runs can't tell."""
    if model.demands.unknown(one) is not None:
        return {}
    values = model.solved(one)
    for kind, ratio in tails.get(_rounded(one), {}).items():
        values[f"{kind}.p99_s"] = values[f"{kind}.latency_s"] * ratio
    return values
