"""Which strongly consistent setting is fastest for a mix and a load, and how sure that is.

Start here: :func:`readings`, then :func:`advise`.

Strongly consistent means that a read's nodes and a write's overlap: R + W > N. Settings are
compared by the logarithm of one metric; the mean latency of a mix is that over all its operations,
so reads and writes count by their shares. What a setting would give comes from

``measured``       the runs at that very mix and load, if every setting has several there;
``interpolation``  else from the cells around it, linear in the logarithm of the load and in the
                   share of reads;
``regression``     or from a second-degree surface in both, fitted to each setting's cells.

Of the last two, the one that misses left-out cells by less is taken. How far it missed, for all
settings at once (their errors at a cell are related), is how far it may be off here. For
``measured`` it is how far repetitions differ, pooled over all cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from scipy import stats

from pacelc.analysis.expectation import (
    measured_expectation,
    modelled_expectation,
    rows_at,
    try_methods,
)
from pacelc.analysis.regression import Caution, plain
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.analysis.expectation import Expectation, Method, Point
    from pacelc.analysis.records import Records

    _Array = NDArray[np.float64]

__all__ = ["METRICS", "Advice", "Candidate", "Metric", "advise", "readings"]

_DRAWS: Final = 20_000
_SEED: Final = 0
_FEWEST_CELLS: Final = 6
"""Left-out cells below which their errors say too little of how far a prediction may be off."""
_MAYBE: Final = 0.025


@dataclass(frozen=True)
class Metric:
    """What is compared: the columns that may hold it, and the factor that makes each ``unit``."""

    name: str
    title: str
    unit: str
    columns: tuple[tuple[str, float], ...]
    higher_is_better: bool


METRICS: Final = {
    m.name: m
    for m in (
        Metric(
            "mean",
            "mean latency",
            "ms",
            (("latency_ms_mean", 1.0), ("latency_ms", 1.0), ("latency_us", 1e-3)),
            higher_is_better=False,
        ),
        Metric(
            "p99",
            "99th percentile of latency",
            "ms",
            (("latency_ms_p99", 1.0), ("p99_ms", 1.0)),
            higher_is_better=False,
        ),
        Metric(
            "throughput",
            "throughput",
            "operations/s",
            (("throughput_per_s", 1.0),),
            higher_is_better=True,
        ),
    )
}


@dataclass(frozen=True)
class Candidate:
    """One setting: what it would give, against the first, and how likely it is the fastest.

    ``value, low, high`` in the metric's unit; ``ratio, ratio_low, ratio_high`` over the first
    candidate's (None for the first); ``measured``: mean of the runs at that very mix and load, of
    which there are ``runs``.
    """

    setting: str
    value: float
    low: float
    high: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    probability: float
    measured: float | None
    runs: int


@dataclass(frozen=True)
class Advice:
    """An answer, or why there is none.

    Attributes
    ----------
    fastest
        The setting; None if it can't be told.
    reason
        Why it can't; empty if it can.
    candidates
        Settings, the fastest expected first.
    method
        What the values come from.
    errors, compared
        Of each method that could be tried, by how much it typically missed left-out cells (0.2 is
        20 %), on those that all could predict; their number.
    error, tested, right
        Of the method that was taken, on all left-out cells that it could predict: by how much it
        missed them, how many there were, and in how many its first was the fastest. None and 0 for
        ``measured``.
    """

    load: float
    read_share: float
    metric: str
    unit: str
    confidence: float
    fastest: str | None
    reason: str
    candidates: tuple[Candidate, ...]
    method: Method
    errors: dict[str, float]
    compared: int
    error: float | None
    tested: int
    right: int
    cautions: tuple[Caution, ...]

    def as_document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            **{k: v for k, v in vars(self).items() if k not in {"candidates", "cautions"}},
            "candidates": [plain(c) for c in self.candidates],
            "cautions": [plain(c) for c in self.cautions],
        }


def readings(
    records: Records, metric: str, *, load: str = "users", only: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the rows of strongly consistent settings.

    Parameters
    ----------
    records
        With ``read_share, read_replicas, write_replicas, replication`` and the load.
    metric
        One of :data:`METRICS`.
    load
        Its column; ``threads`` is taken where it is absent.
    only
        Other columns and the value to keep, such as ``{"nodes": "3"}``.

    Returns
    -------
    DataFrame
        ``load, read_share, setting, value``, one row a run.

    Raises
    ------
    InputError
        Something that is needed isn't there, or rows differ in more than mix, load and setting.
    """
    frame, what = records.frame, METRICS[metric]
    for name, value in (only or {}).items():
        frame = _kept(frame, name, value)
    load = load if load in frame.columns else "threads"
    _need(records, frame, load)
    column = next(((c, f) for c, f in what.columns if c in frame.columns), None)
    if column is None:
        have = [m.name for m in METRICS.values() if any(c in frame.columns for c, _ in m.columns)]
        raise InputError(
            f"{records.source}: there is no {what.title}", f"there is {', '.join(have) or 'none'}"
        )
    strong = frame.filter(
        pl.col("read_replicas") + pl.col("write_replicas") > pl.col("replication")
    )
    for name in (*records.others, "replication"):
        values = strong.get_column(name).drop_nulls().unique().sort()
        if values.len() > 1:
            raise InputError(
                f"the runs differ in {name}: {', '.join(str(v) for v in values)}",
                f"choose one: --only {name}={values[0]}",
            )
    rows = strong.select(
        pl.col(load).cast(pl.Float64).alias("load"),
        "read_share",
        pl.format("{}R-{}W", "read_replicas", "write_replicas").alias("setting"),
        (pl.col(column[0]).cast(pl.Float64) * column[1]).alias("value"),
    ).filter(pl.col("value").is_finite() & (pl.col("value") > 0) & (pl.col("load") > 0))
    rows = rows.drop_nulls().with_columns(pl.col("read_share").round(9))
    settings = sorted(rows.get_column("setting").unique())
    if len(settings) < 2:  # noqa: PLR2004 - a comparison
        found = f"only {settings[0]}" if settings else "none"
        raise InputError(
            f"{records.source}: there is nothing to compare: of the strongly consistent settings "
            f"(R + W > N) there is {found}",
            "measure 1R-3W, 2R-2W and 3R-1W: `pacelc run vyas-2022`",
        )
    return rows


def advise(
    rows: pl.DataFrame,
    load: float,
    read_share: float,
    metric: str,
    *,
    confidence: float = 0.95,
    cautions: Sequence[Caution] = (),
) -> Advice:
    """Say which setting is fastest at a mix and a load.

    Parameters
    ----------
    rows
        What :func:`readings` returned.
    load, read_share
        Where; the share of reads is 0 to 1.
    metric
        The one that ``rows`` hold.
    confidence
        Of the intervals, and how likely a setting must be the fastest to be named.
    cautions
        What is known to weaken it already.
    """
    point = (load, round(read_share, 9))
    what = METRICS[metric]
    cells = _cells(rows)
    outside = _outside(rows, point)
    trial = try_methods(cells, higher_is_better=what.higher_is_better)
    measured = measured_expectation(rows, tuple(cells), point)
    method, expected = (
        ("measured", measured) if measured else modelled_expectation(cells, point, trial)
    )
    settings = tuple(cells)
    sign = -1.0 if what.higher_is_better else 1.0
    probability = (
        _probabilities(expected, sign)
        if expected is not None and expected.df > 0
        else np.full(len(settings), math.nan)
    )
    here = {
        s: part.get_column("value").to_list()
        for s in settings
        if (part := rows_at(rows, s, point)).height
    }
    found = [*cautions]
    reason = ""
    tested = trial.tested(method)
    if expected is None or (method != "measured" and tested < _FEWEST_CELLS):
        reason = (
            f"too few cells were measured with every setting to estimate the prediction error "
            f"({tested} can be left out and predicted, {_FEWEST_CELLS} are needed)"
        )
        candidates = _asmeasured_expectation(settings, here, sign)
        if outside:
            found.append(Caution("extrapolation", f"{outside}: nothing was measured there"))
    else:
        candidates = _candidates(
            settings, expected, probability, here, sign=sign, confidence=confidence
        )
        if outside:
            reason = f"{outside}, where nothing was measured"
        elif candidates[0].probability < confidence:
            likely = [
                c.setting for i, c in enumerate(candidates) if i <= 1 or c.probability >= _MAYBE
            ]
            names = f"{', '.join(likely[:-1])} or {likely[-1]}"
            reason = f"it may be {names}: the difference is within the prediction error"
            if method == "measured":
                reason = f"it may be {names}: the difference is within the variation of repetitions"
    return Advice(
        load,
        read_share,
        metric,
        what.unit,
        confidence,
        None if reason else candidates[0].setting,
        reason,
        candidates,
        method,
        {str(name): error for name, error in trial.missed.items()},
        trial.common,
        trial.error(method),
        tested,
        trial.right.get(method, 0),
        tuple(found),
    )


# --- What there is
# -----------------------------------------------------------------------------------------------


def _kept(frame: pl.DataFrame, name: str, value: str) -> pl.DataFrame:
    from pacelc.analysis.terms import no_such_column  # noqa: PLC0415 - one error, one place

    if name not in frame.columns:
        raise no_such_column(name, frame.columns)
    kept = frame.filter(pl.col(name).cast(pl.String) == value)
    if kept.height == 0:
        values = frame.get_column(name).drop_nulls().unique().sort()
        raise InputError(
            f"nothing was measured with {name}={value}",
            f"{name} is {', '.join(str(v) for v in values) or 'not known'}",
        )
    return kept


def _need(records: Records, frame: pl.DataFrame, load: str) -> None:
    causes = {
        load: "--load-factor names the factor with the users",
        "read_share": "--mix-factor names the factor with mixes such as 70/30",
        "read_replicas": "--setting-factor names the factor with settings such as 1R-3W",
        "write_replicas": "--setting-factor names the factor with settings such as 1R-3W",
        "replication": "the number of copies must be known: R + W > N",
    }
    for name, hint in causes.items():
        if name not in frame.columns or frame.get_column(name).null_count() == frame.height:
            raise InputError(f"{records.source}: {name} isn't known", hint)


def _cells(rows: pl.DataFrame) -> dict[str, dict[Point, float]]:
    """Return the mean logarithm of each cell, by setting."""
    means = rows.group_by("setting", "load", "read_share").agg(pl.col("value").log().mean())
    cells: dict[str, dict[Point, float]] = {}
    for setting, load, share, value in means.sort("setting", "load", "read_share").iter_rows():
        cells.setdefault(setting, {})[load, share] = value
    return cells


def _outside(rows: pl.DataFrame, point: Point) -> str:
    parts: list[str] = []
    for name, value, text in (
        ("load", point[0], counted(point[0], "user")),
        ("read_share", point[1], f"{100 * point[1]:g} % reads"),
    ):
        column = rows.get_column(name).to_list()
        low, high = min(column), max(column)
        scale = 100 if name == "read_share" else 1
        if not low <= value <= high:
            parts.append(f"{text} is outside {scale * low:g} … {scale * high:g}")
    return "; ".join(parts)


# --- From expectations to candidates
# -----------------------------------------------------------------------------------------------


def _probabilities(expected: Expectation, sign: float) -> _Array:
    """How likely each setting is the fastest, by draws of a multivariate t (a fixed seed)."""
    rng = np.random.default_rng(_SEED)
    k = expected.log.size
    values, vectors = np.linalg.eigh(expected.covariance)
    root = vectors * np.sqrt(np.clip(values, 0.0, None))
    draws = rng.standard_normal((_DRAWS, k)) @ root.T
    draws /= np.sqrt(rng.chisquare(expected.df, (_DRAWS, 1)) / expected.df)
    first = np.argmin(sign * (expected.log + draws), axis=1)
    return np.bincount(first, minlength=k) / _DRAWS


def _candidates(
    settings: Sequence[str],
    expected: Expectation,
    probability: _Array,
    here: Mapping[str, list[float]],
    *,
    sign: float,
    confidence: float,
) -> tuple[Candidate, ...]:
    order = [int(i) for i in np.argsort(sign * expected.log, kind="stable")]
    best = order[0]
    quantile = float(stats.t.ppf(0.5 + confidence / 2, expected.df))
    found: list[Candidate] = []
    for i in order:
        contrast = np.zeros(len(settings))
        contrast[i] += 1
        contrast[best] -= 1
        half = quantile * math.sqrt(max(0.0, float(contrast @ expected.covariance @ contrast)))
        own = quantile * math.sqrt(max(0.0, float(expected.covariance[i, i])))
        value, gap = float(expected.log[i]), float(expected.log[i] - expected.log[best])
        measured = here.get(settings[i], [])
        found.append(
            Candidate(
                settings[i],
                math.exp(value),
                math.exp(value - own),
                math.exp(value + own),
                None if i == best else math.exp(gap),
                None if i == best else math.exp(gap - half),
                None if i == best else math.exp(gap + half),
                float(probability[i]),
                sum(measured) / len(measured) if measured else None,
                len(measured),
            )
        )
    return tuple(found)


def _asmeasured_expectation(
    settings: Sequence[str], here: Mapping[str, list[float]], sign: float
) -> tuple[Candidate, ...]:
    """Without a prediction: what was measured there, if anything."""
    means = {s: sum(here[s]) / len(here[s]) for s in settings if s in here}
    order = sorted(means, key=lambda s: sign * means[s])
    return tuple(
        Candidate(
            s,
            means[s],
            math.nan,
            math.nan,
            None if s == order[0] else means[s] / means[order[0]],
            None,
            None,
            math.nan,
            means[s],
            len(here[s]),
        )
        for s in order
    )
