"""The evaluation: what is left out, how predictions of it are scored.

Targets are as they were measured: nothing is taken off them. Whole clusters are assigned to fitting
or to evaluation by a seed, in each group (database and regime) and size on its own. So no run
of a cluster that evaluates was fitted.

What is left out (schemes)
--------------------------
clusters    nothing but the evaluation's clusters
sizes       a size: nodes and copies
levels      a consistency level, where a size has several
users       the largest number of users

A part is evaluated on its evaluation clusters; at a size that has none, on the left-out points of
its fitting clusters, which weren't fitted either.

Map
---
assigned        points → those to fit, those that evaluate
parts           what is left out, one after the other
Method          points → a forecaster: networks; with_intervals makes one of a baseline
scores          errors, coverage, interval scores, as a frame
scores_of_new   the same of new runs, by models of all stored ones
compared        which method predicts throughput of left-out sizes best
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy import stats

from pacelc.calibration.demands import NotIdentified
from pacelc.calibration.fit import Interval, fit
from pacelc.errors import InputError
from pacelc.evaluation.baselines import MEASURES, gaussian_process
from pacelc.former_names import SETTINGS
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pacelc.calibration.fit import Fit
    from pacelc.calibration.runs import Configuration, Point
    from pacelc.evaluation.baselines import Baseline, Predictor

    Forecaster: TypeAlias = Callable[[Configuration], Mapping[str, Interval | None]]
    """Configuration → each measure's prediction; None: can't tell."""
    Method: TypeAlias = Callable[[Sequence[Point]], Forecaster]

__all__ = [
    "SEED",
    "Part",
    "assigned",
    "compared",
    "group_text",
    "interval_score",
    "networks",
    "parts",
    "scores",
    "scores_of_new",
    "with_intervals",
]

SEED: Final = 50
_NAMES_OF_DRAWS: Final = {name: former for former, name in SETTINGS.items()}
ALPHA: Final = 0.1
"""One less the intervals' level."""


class Part(NamedTuple):
    """What was left out, what is fitted, and what is predicted then."""

    scheme: str
    left_out: str
    train: Sequence[Point]
    test: Sequence[Point]


def assigned(points: Sequence[Point], seed: int = SEED) -> tuple[list[Point], list[Point]]:
    """Return the points to fit, and those that evaluate.

    Of k clusters with one group and size a third evaluates, rounded; at least one of two, and
    none of one. Neither order nor names of files matter: clusters are in the order of time.
    """
    started: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for one in points:
        first = min(run.started_unix_s for run in one.runs)
        clusters = started[_stratum(one)]
        clusters[one.cluster] = min(first, clusters.get(one.cluster, first))
    evaluating: set[tuple[str, tuple[str, str]]] = set()
    for stratum, clusters in started.items():
        in_order = [cluster for _, cluster in sorted((at, one) for one, at in clusters.items())]
        # A stratum of its own draws: others that come later don't change them.
        draws = np.random.default_rng([seed, zlib.crc32(stratum.encode())]).permutation(
            len(in_order)
        )
        count = max(1, round(len(in_order) / 3)) if len(in_order) > 1 else 0
        evaluating |= {(stratum, in_order[int(i)]) for i in draws[:count]}
    fitting: list[Point] = []
    evaluation: list[Point] = []
    for one in points:
        (evaluation if (_stratum(one), one.cluster) in evaluating else fitting).append(one)
    return fitting, evaluation


def parts(points: Sequence[Point], seed: int = SEED) -> Iterator[Part]:
    """Yield what is left out of one group's points."""
    fitting, evaluation = assigned(points, seed)
    evaluated = {_size(one) for one in evaluation}
    tested = [*evaluation, *(one for one in fitting if _size(one) not in evaluated)]
    for size in sorted(evaluated):
        yield Part("clusters", size, fitting, [one for one in evaluation if _size(one) == size])
    for scheme, name, out in _left_out(points):
        train = [one for one in fitting if not out(one)]
        test = [one for one in tested if out(one)]
        if scheme == "levels":
            # Levels may mean the same, as those of writes do without writes.
            fitted = {_waits(one) for one in train}
            test = [one for one in test if _waits(one) not in fitted]
        if train and test:
            yield Part(scheme, name, train, test)


def _left_out(points: Sequence[Point]) -> Iterator[tuple[str, str, Callable[[Point], bool]]]:
    """Yield schemes, what each leaves out, and whether it has a point."""
    for size in sorted({_size(one) for one in points}):
        yield "sizes", size, lambda one, size=size: _size(one) == size
    levels: dict[str, set[str]] = defaultdict(set)
    for one in points:
        levels[_size(one)].add(_level(one))
    several = {size: own for size, own in levels.items() if len(own) > 1}
    for level in sorted({level for own in several.values() for level in own}):
        yield (
            "levels",
            level,
            lambda one, level=level: _size(one) in several and _level(one) == level,
        )
    most = max(one.configuration.users for one in points)
    yield "users", f"{counted(most, 'user')}", lambda one: one.configuration.users == most


def networks() -> dict[str, Method]:
    """Return the calibrated network as methods, with residuals and alone, with own intervals."""
    fitted: dict[frozenset[int], tuple[Sequence[Point], Fit | None]] = {}

    def method(*, corrected: bool) -> Method:
        def forecaster(points: Sequence[Point]) -> Forecaster:
            # Points are held, so that their ids stay theirs.
            key = frozenset(id(one) for one in points)
            if key not in fitted:
                fitted[key] = points, _fit_or_none(points)
            found = fitted[key][1]
            if found is None:
                return lambda _: {}
            return lambda one: found.predict([one], corrected=corrected)[0]

        return forecaster

    return {"network, residuals": method(corrected=True), "network": method(corrected=False)}


def _fit_or_none(points: Sequence[Point]) -> Fit | None:
    try:
        return fit(points)
    except NotIdentified:
        return None


def with_intervals(baseline: Baseline) -> Method:
    """Return a baseline as a method: its intervals come from sizes that it left out itself.

    Within the points that it is given, each size is predicted from the others. The mean over sizes
    of the mean squared residuals of logarithms is its variance; an interval is Student's, with one
    degree of freedom less than sizes. With fewer than two it can't be told.
    """

    def method(points: Sequence[Point]) -> Forecaster:
        predictor = baseline(points)
        squares: dict[str, list[float]] = defaultdict(list)
        for size in sorted({_size(one) for one in points}):
            others = [one for one in points if _size(one) != size]
            left = [one for one in points if _size(one) == size]
            if others:
                for name, residuals in _residuals(
                    _refitted(baseline, others, predictor), left
                ).items():
                    squares[name].append(float(np.mean(np.square(residuals))))
        factors = {
            name: float(np.exp(stats.t.ppf(1 - ALPHA / 2, len(own) - 1) * np.sqrt(np.mean(own))))
            for name, own in squares.items()
            if len(own) > 1
        }

        def forecast(configuration: Configuration) -> dict[str, Interval | None]:
            return {
                name: None if value is None else _interval(value, factors.get(name))
                for name, value in predictor.predict(configuration).items()
            }

        return forecast

    return method


def _refitted(baseline: Baseline, points: Sequence[Point], like: Predictor) -> Predictor:
    """Return a baseline of other points; a Gaussian process keeps its kernels, as the network's."""
    if like.kernels:
        return gaussian_process(points, like.kernels)
    return baseline(points)


def scores(
    methods: Mapping[str, Method], points: Sequence[Point], seed: int = SEED
) -> pl.DataFrame:
    """Return how far off methods are, a row for each group, left-out part, method and measure.

    Columns
    -------
    group, scheme, left_out, method, measure
        Which.
    configurations, cant_tell
        How many were predicted, and how many couldn't be.
    error
        Mean of ``|predicted / measured - 1|``.
    intervals, covered
        How many had a 90 % interval, and in how many of these the measured value lay.
    winkler
        Mean interval score of logarithms: :func:`interval_score`.
    """
    own = [
        part
        for group in dict.fromkeys(one.runs[0].group for one in points)
        for part in parts([one for one in points if one.runs[0].group == group], seed)
    ]
    return _frame(methods, own)


def scores_of_new(
    methods: Mapping[str, Method], points: Sequence[Point], new: Sequence[Point]
) -> pl.DataFrame:
    """Return scores of all points' models on new ones, by group and size; columns as of scores.

    Raises
    ------
    InputError
        No points are of the same database and regime.
    """
    own: list[Part] = []
    for group in dict.fromkeys(one.runs[0].group for one in new):
        train = [one for one in points if one.runs[0].group == group]
        later = [one for one in new if one.runs[0].group == group]
        for size in sorted({_size(one) for one in later}) if train else ():
            test = [one for one in later if _size(one) == size]
            own.append(Part("test", size, train, test))
    if not own:
        raise InputError("no stored runs are of the same database and regime", "see their groups")
    return _frame(methods, own)


def _frame(methods: Mapping[str, Method], own: Sequence[Part]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for method_name, method in methods.items():
        forecasters: dict[int, Forecaster] = {}
        for part in own:
            forecaster = forecasters.get(id(part.train)) or method(part.train)
            forecasters[id(part.train)] = forecaster
            which = {
                "group": group_text(part.test[0].runs[0].group),
                "scheme": part.scheme,
                "left_out": part.left_out,
                "method": method_name,
            }
            rows += [which | row for row in _scored(forecaster, part.test)]
    return pl.DataFrame(rows, infer_schema_length=None)


def compared(found: pl.DataFrame) -> dict[str, float]:
    """Return each method's error of throughput at left-out sizes, the least first.

    Over the sizes that all of them told, of those methods that told any.
    """
    of_sizes = (pl.col("scheme") == "sizes") & (pl.col("measure") == MEASURES[0])
    told = found.filter(of_sizes & pl.col("error").is_not_null() & (pl.col("cant_tell") == 0))
    by_all = pl.len().over("group", "left_out") == told["method"].n_unique()
    means = told.filter(by_all).group_by("method").agg(pl.col("error").mean())
    return dict(means.sort("error", "method").iter_rows())


def interval_score(low: float, high: float, value: float) -> float:
    """Return a 90 % interval's score: its width, and a penalty for a value outside; less is better.

    Of Winkler; Gneiting and Raftery: Strictly Proper Scoring Rules, JASA 102 (2007), equation 43.

    Examples
    --------
    >>> interval_score(1, 3, 2), interval_score(1, 3, 3.5)
    (2.0, 12.0)
    """
    outside = max(low - value, 0.0) + max(value - high, 0.0)
    return high - low + 2 / ALPHA * outside


def group_text(group: Sequence[tuple[str, object]]) -> str:
    """Return a group for people.

    Examples
    --------
    >>> group_text([("database", "redis"), ("no_idle_states", True)])
    'redis, no_idle_states'
    """
    return ", ".join(
        name if value is True else str(value) if name == "database" else f"{name}={value}"
        for name, value in group
    )


def _scored(forecaster: Forecaster, test: Sequence[Point]) -> Iterator[dict[str, Any]]:
    forecasts = [(forecaster(one.configuration), one.measured) for one in test]
    for name in MEASURES:
        own = [(found.get(name), known[name]) for found, known in forecasts if name in known]
        told = [(found, known) for found, known in own if found is not None]
        logs = [
            np.log([found.low, found.high, known])
            for found, known in told
            if found.low is not None and found.high is not None
        ]
        if own:
            errors = [abs(found.value / known - 1) for found, known in told]
            yield {
                "measure": name,
                "configurations": len(told),
                "cant_tell": len(own) - len(told),
                "error": float(np.mean(errors)) if errors else None,
                "intervals": len(logs),
                "covered": sum(bool(low <= known <= high) for low, high, known in logs),
                "winkler": float(np.mean([interval_score(*one) for one in logs])) if logs else None,
            }


def _residuals(predictor: Predictor, points: Sequence[Point]) -> dict[str, list[float]]:
    """Return logarithms of predicted over measured values, of each measure that can be told."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in points:
        for name, value in predictor.predict(one.configuration).items():
            if value is not None and name in one.measured:
                found[name].append(float(np.log(value / one.measured[name])))
    return found


def _interval(value: float, factor: float | None) -> Interval:
    if factor is None:
        return Interval(value, None, None)
    return Interval(value, value / factor, value * factor)


def _size(point: Point) -> str:
    return point.configuration.size


def _stratum(point: Point) -> str:
    # Assignments are drawn by this text: it has the names that it had when the seed was committed.
    group = [(_NAMES_OF_DRAWS.get(name, name), value) for name, value in point.runs[0].group]
    return f"{group_text(group)}: {_size(point)}"


def _level(point: Point) -> str:
    return point.runs[0].factors.get("consistency", "")


def _waits(point: Point) -> tuple[object, ...]:
    """Return what a point's operations wait for, and which there are."""
    configuration = point.configuration
    waits = configuration.asked, configuration.waited, configuration.on_disk
    return _size(point), waits, frozenset(point.measured)
