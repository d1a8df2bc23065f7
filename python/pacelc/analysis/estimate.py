"""An estimate: a value that carries its interval and its n.

Start here: :class:`Estimate`, :func:`mean_estimate` (one cell of a design), :class:`Cells` (the
cells of one level, one a load), and :func:`marginal_mean`, :func:`ratio_estimate`,
:func:`change_estimate`.

The run is the unit: operations within a run share its cluster, its minute and its neighbours, so a
million of them are still one observation of what the next run would give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CONFIDENCE",
    "Cells",
    "Estimate",
    "change_estimate",
    "format_number",
    "marginal_mean",
    "mean_estimate",
    "ratio_estimate",
]

CONFIDENCE: Final = 0.95
_RESAMPLES: Final = 9_999
_BOOTSTRAP_DF: Final = 8
"""Below this many degrees of freedom a bootstrap has too few distinct resamples to give an interval
of 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval.

    Attributes
    ----------
    value
        The estimate, in ``unit``.
    low, high
        Ends of the interval; None if there were too few runs to have one.
    n
        Runs (or pairs of runs) behind it.
    confidence
        Of the interval, 0 … 1.
    method
        How the interval was formed, in words fit to publish.
    unit
        Printed after the value, such as ``" %"``.

    Examples
    --------
    >>> print(Estimate(1234.5, 1178.5, 1290.5, n=5))
    1,234 ± 56 (n=5)
    >>> print(Estimate(-17.72, -20.3, -15.6, n=50, unit=" %"))
    -17.7 [-20.3; -15.6] % (n=50)
    >>> print(Estimate(1234.5, None, None, n=1))
    1,234 (n=1, no interval)
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float = CONFIDENCE
    method: str = ""
    unit: str = ""

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly to one side of ``value``; False without an interval."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def below(self, value: float) -> bool:
        """Whether the whole interval is below ``value``."""
        return self.high is not None and self.high < value

    def above(self, value: float) -> bool:
        """Whether the whole interval is above ``value``."""
        return self.low is not None and self.low > value

    def scaled(self, factor: float, *, offset: float = 0.0, unit: str | None = None) -> Estimate:
        """Return the estimate of ``factor * x + offset``."""
        ends = [None if end is None else factor * end + offset for end in (self.low, self.high)]
        low, high = ends if factor >= 0 else ends[::-1]
        value = factor * self.value + offset
        return Estimate(
            value,
            low,
            high,
            self.n,
            self.confidence,
            self.method,
            self.unit if unit is None else unit,
        )

    def as_change(self) -> Estimate:
        """Return a ratio as a change in per cent: 0.82 is -18 %."""
        return self.scaled(100.0, offset=-100.0, unit=" %")

    def text(self) -> str:
        """Value and interval, without n: ``1,234 ± 56`` or ``1,234 [1,180; 1,290]``."""
        if self.low is None or self.high is None:
            return f"{format_number(self.value)}{self.unit}"
        below, above = self.value - self.low, self.high - self.value
        width = max(below, above)
        symmetric = math.isclose(
            below, above, rel_tol=1e-6, abs_tol=1e-12 * max(1.0, abs(self.value))
        )
        if symmetric:
            return f"{format_number(self.value, width)} ± {format_number(width, width)}{self.unit}"
        ends = "; ".join(format_number(end, width) for end in (self.low, self.high))
        return f"{format_number(self.value, width)} [{ends}]{self.unit}"

    def __str__(self) -> str:
        """Value, interval and n."""
        note = f"n={self.n}" if self.has_interval else f"n={self.n}, no interval"
        return f"{self.text()} ({note})"


def format_number(value: float, half_width: float | None = None) -> str:
    """Print a value to the digits that its uncertainty leaves it.

    Two figures of the half-width; without one, three figures of the value.

    Examples
    --------
    >>> format_number(1234.567, 56.3), format_number(0.012345), format_number(1234567.0)
    ('1,235', '0.0123', '1,234,567')
    """
    if not math.isfinite(value):
        return str(value)
    scale = abs(half_width) if half_width else abs(value)
    figures = 2 if half_width else 3
    decimals = 0 if scale == 0 else max(0, min(12, figures - 1 - math.floor(math.log10(scale))))
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if text.strip("-0.,") == "" else text


def mean_estimate(values: ArrayLike, *, confidence: float = CONFIDENCE, unit: str = "") -> Estimate:
    """Mean of the runs of one cell with Student's t interval.

    Parameters
    ----------
    values : (n,) array_like
        One value a run, n ≥ 1, finite.

    Raises
    ------
    ValueError
        There are no values, or one is not finite.
    """
    x = _finite(values)
    if x.size == 1:
        return Estimate(float(x[0]), None, None, 1, confidence, "one run", unit)
    half = float(stats.t.ppf(0.5 + confidence / 2, x.size - 1) * x.std(ddof=1) / math.sqrt(x.size))
    mean = float(x.mean())
    return Estimate(
        mean, mean - half, mean + half, int(x.size), confidence, "t interval across runs", unit
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """Run values by load, at one level: ``values[i]`` are the runs at ``loads[i]``."""

    loads: tuple[float, ...]
    values: tuple[NDArray[np.float64], ...]

    @property
    def n(self) -> int:
        """Runs in all cells."""
        return sum(int(v.size) for v in self.values)

    @property
    def degrees_of_freedom(self) -> int:
        """Runs beyond the first of each cell."""
        return sum(int(v.size) - 1 for v in self.values)

    def means(self) -> NDArray[np.float64]:
        """Mean of each cell, (loads,)."""
        return np.array([v.mean() for v in self.values], dtype=np.float64)

    def logs(self) -> Cells | None:
        """Cells of the logarithms; None if a value is not positive."""
        if any(bool((v <= 0).any()) for v in self.values):
            return None
        return Cells(self.loads, tuple(np.log(v) for v in self.values))

    def at(self, loads: Sequence[float]) -> Cells:
        """Keep only some loads, in the order given."""
        place = {load: i for i, load in enumerate(self.loads)}
        return Cells(tuple(loads), tuple(self.values[place[load]] for load in loads))

    def square_errors(self) -> NDArray[np.float64]:
        """Squared standard error of each cell's mean, (loads,), from the pooled variance.

        Pooled, because two or three runs say little of one cell's variance; callers bring values to
        a scale (the logarithm) on which the variances of a study's cells are alike.
        """
        df = self.degrees_of_freedom
        spread = sum(float(((v - v.mean()) ** 2).sum()) for v in self.values)
        return np.array([spread / df / v.size for v in self.values], dtype=np.float64)


def shared(reference: Cells, other: Cells) -> tuple[Cells, Cells]:
    """Both restricted to the loads that both have."""
    loads = [load for load in reference.loads if load in other.loads]
    return reference.at(loads), other.at(loads)


def marginal_mean(cells: Cells, *, confidence: float = CONFIDENCE, unit: str = "") -> Estimate:
    """Mean over loads of the cells' means, every load counting the same.

    The interval is across runs at fixed loads. With one run a cell it can only be across loads, and
    says so.

    Raises
    ------
    ValueError
        There are no cells.
    """
    means = cells.means()
    if means.size == 0:
        raise ValueError("no cells to average")
    value = float(means.mean())
    df = cells.degrees_of_freedom
    if df == 0:
        return _across_loads(means, value, cells.n, confidence, unit)
    # Here variances are not pooled: CPU at one user and at ten differ in level and in spread.
    known = [(float(v.var(ddof=1)) if v.size > 1 else float("nan"), v.size) for v in cells.values]
    typical = float(np.nanmean([variance for variance, _ in known]))
    total = sum((typical if math.isnan(variance) else variance) / size for variance, size in known)
    half = float(stats.t.ppf(0.5 + confidence / 2, df)) * math.sqrt(total) / means.size
    return Estimate(
        value,
        value - half,
        value + half,
        cells.n,
        confidence,
        "t interval across runs at each load",
        unit,
    )


def ratio_estimate(
    reference: Cells, other: Cells, *, confidence: float = CONFIDENCE, seed: int = 0
) -> Estimate | None:
    """Geometric mean over loads of ``other / reference``.

    Unlike a mean of changes it treats both directions alike: throughput halved and response time
    doubled are the same finding, 0.5 and 2.

    Parameters
    ----------
    reference, other
        Run values at both levels; loads that only one has are left out.
    seed
        Of the bootstrap, which resamples runs within each cell.

    Returns
    -------
    Estimate or None
        The ratio, without unit; None if no load is shared or a value is not positive.
    """
    reference, other = shared(reference, other)
    before, after = reference.logs(), other.logs()
    if not reference.loads or before is None or after is None:
        return None
    ratios = after.means() - before.means()
    value = float(ratios.mean())
    n = before.n + after.n
    df = before.degrees_of_freedom + after.degrees_of_freedom
    if df == 0:
        log = _across_loads(ratios, value, n, confidence, "")
    elif df < _BOOTSTRAP_DF:
        spread = (
            sum(float(((v - v.mean()) ** 2).sum()) for side in (before, after) for v in side.values)
            / df
        )
        total = sum(spread / v.size for side in (before, after) for v in side.values)
        half = float(stats.t.ppf(0.5 + confidence / 2, df)) * math.sqrt(total) / ratios.size
        log = Estimate(
            value,
            value - half,
            value + half,
            n,
            confidence,
            "t interval on log ratios, across runs",
        )
    else:
        draws = (_resampled_means(after, seed + 1) - _resampled_means(before, seed)).mean(axis=1)
        low, high = _expanded_percentiles(draws, before, after, confidence)
        log = Estimate(value, min(low, value), max(high, value), n, confidence, _bootstrap_name())
    ends = [None if end is None else math.exp(end) for end in (log.low, log.high)]
    return Estimate(math.exp(value), ends[0], ends[1], n, confidence, log.method)


def change_estimate(
    reference: Cells, other: Cells, *, confidence: float = CONFIDENCE, seed: int = 0
) -> Estimate | None:
    """Mean over loads of the change from ``reference`` to ``other``, in per cent.

    Source: Ferreira et al. 2024, table 8. The paper does not say how it averaged over users; that
    throughput and response time of its table don't mirror each other (a loss of 97.54 % would be
    +3,965 %, the table has +6,028 %) fits a mean of the changes at each user count, and not the
    change of the means.

    Returns
    -------
    Estimate or None
        In per cent; None if no load is shared or a reference value is not positive.
    """
    reference, other = shared(reference, other)
    if not reference.loads or any(bool((v <= 0).any()) for v in reference.values):
        return None
    ratios = other.means() / reference.means()
    value = float(ratios.mean())
    n = reference.n + other.n
    df = reference.degrees_of_freedom + other.degrees_of_freedom
    if df == 0:
        return _across_loads(ratios, value, n, confidence, "").as_change()
    if df < _BOOTSTRAP_DF:
        squares = [
            float(ratio) ** 2 * sum(_relative_square_error(side, i) for side in (reference, other))
            for i, ratio in enumerate(ratios)
        ]
        half = float(stats.t.ppf(0.5 + confidence / 2, df)) * math.sqrt(sum(squares)) / ratios.size
        method = "t interval by the delta method, across runs"
        return Estimate(value, value - half, value + half, n, confidence, method).as_change()
    draws = (_resampled_means(other, seed + 1) / _resampled_means(reference, seed)).mean(axis=1)
    low, high = _expanded_percentiles(draws, reference, other, confidence)
    return Estimate(
        value, min(low, value), max(high, value), n, confidence, _bootstrap_name()
    ).as_change()


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64).ravel()
    if x.size == 0:
        raise ValueError("an estimate needs at least one run")
    if not np.isfinite(x).all():
        raise ValueError("an estimate needs finite values")
    return x


def _across_loads(
    values: NDArray[np.float64], value: float, n: int, confidence: float, unit: str
) -> Estimate:
    if values.size <= 2:  # noqa: PLR2004 - one degree of freedom makes no interval worth printing
        return Estimate(value, None, None, n, confidence, "one run a scenario", unit)
    half = float(
        stats.t.ppf(0.5 + confidence / 2, values.size - 1)
        * values.std(ddof=1)
        / math.sqrt(values.size)
    )
    method = "t interval across loads (one run a scenario: runs can't be told from chance)"
    return Estimate(value, value - half, value + half, n, confidence, method, unit)


def _relative_square_error(cells: Cells, i: int) -> float:
    v = cells.values[i]
    mean = float(v.mean())
    if mean == 0:
        return 0.0
    pooled = [
        float(w.var(ddof=1)) / float(w.mean()) ** 2
        for w in cells.values
        if w.size > 1 and w.mean() != 0
    ]
    own = (
        float(v.var(ddof=1)) / mean**2 if v.size > 1 else float(np.mean(pooled)) if pooled else 0.0
    )
    return own / v.size


def _resampled_means(cells: Cells, seed: int) -> NDArray[np.float64]:
    """Means of cells whose runs were drawn again with replacement, (resamples, loads).

    Each load has its own stream, so that adding a load to a study leaves the others' intervals as
    they were.
    """
    columns: list[NDArray[np.float64]] = []
    for load, v in zip(cells.loads, cells.values, strict=True):
        stream = np.random.default_rng([seed, abs(hash(float(load))) % (1 << 32)])
        columns.append(
            np.sort(v)[stream.integers(0, v.size, size=(_RESAMPLES, v.size))].mean(axis=1)
        )
    return np.column_stack(columns)


def _expanded_percentiles(
    draws: NDArray[np.float64], reference: Cells, other: Cells, confidence: float
) -> tuple[float, float]:
    """Percentile interval, widened for small cells (Hesterberg 2015, "expanded percentile").

    A resample's variance is (n-1)/n of the cell's, a quarter too small in a cell of four runs, and
    its normal quantile ignores that the variance is itself estimated.
    """
    df = reference.degrees_of_freedom + other.degrees_of_freedom
    sizes = [v.size for side in (reference, other) for v in side.values if v.size > 1]
    size = len(sizes) / sum(1 / s for s in sizes)
    quantile = float(stats.t.ppf(0.5 + confidence / 2, df)) * math.sqrt(size / (size - 1))
    tail = float(stats.norm.cdf(-quantile))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def _bootstrap_name() -> str:
    return f"bootstrap of runs within each load, {_RESAMPLES:,} resamples, expanded percentiles"
