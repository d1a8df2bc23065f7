"""An estimate: a value that carries its interval and its n.

Start here: :class:`Estimate`, :func:`mean_estimate` (one cell of a design), :class:`Cells` (the
cells of one level, one a load), and :func:`marginal_mean`, :func:`share_estimate`,
:func:`ratio_estimate`, :func:`change_estimate`.

The run is the unit: operations within a run share its cluster, its minute and its neighbours, so a
million of them are still one observation of what the next run would give.

An interval holds only values that can be. Rates, times and bytes are positive: their intervals are
formed on the logarithm (:func:`positive_ends`). Shares of operations lie within 0 and 1: theirs are
binomial (:func:`share_estimate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
    "geometric_mean_estimate",
    "marginal_mean",
    "mean_estimate",
    "none_bound",
    "positive_ends",
    "ratio_estimate",
    "share_estimate",
]

CONFIDENCE: Final = 0.95
_RESAMPLES: Final = 9_999
_NOISE: Final = 1e-9
"""A narrower interval, as a share of its value, is an error of rounding."""
_ALIKE: Final = 2
"""Sides of an interval that differ by less are printed to the same digit."""
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

    def without_interval(self, why: str) -> Estimate:
        """Return the value alone; ``why`` is its method."""
        return replace(self, low=None, high=None, method=why)

    def wider(self, share: float, why: str) -> Estimate:
        """Return the estimate of a positive quantity with ends further out, by a share of each."""
        if self.low is None or self.high is None:
            return self
        low, high = self.low / (1 + share), self.high * (1 + share)
        return replace(self, low=low, high=high, method=f"{self.method}, {why}: ± {share:.0%}")

    def over(self, other: Estimate) -> Estimate:
        """Return the ratio of two positive quantities that were estimated independently.

        On the logarithm, the distances from the estimates to the ends of their intervals add in
        squares (MOVER: Zou and Donner 2008). No interval if either has none.

        Examples
        --------
        >>> print(Estimate(0.5, 0.4, 0.625, n=5).over(Estimate(0.8, 0.64, 1.0, n=5)))
        0.62 [0.46; 0.86] (n=10)
        """
        n = self.n + other.n
        value = self.value / other.value
        ends = (self.low, self.high, other.low, other.high)
        if any(end is None or end <= 0 for end in ends):
            return Estimate(value, None, None, n, self.confidence, "one of both has no interval")
        down, up, down_other, up_other = (
            abs(math.log(end / mid))
            for end, mid in zip(ends, (self.value,) * 2 + (other.value,) * 2, strict=True)
            if end is not None
        )
        low = value / math.exp(math.hypot(down, up_other))
        high = value * math.exp(math.hypot(up, down_other))
        return Estimate(value, low, high, n, self.confidence, "MOVER on the logarithm")

    def as_change(self) -> Estimate:
        """Return a ratio as a change in per cent: 0.82 is -18 %."""
        return self.scaled(100.0, offset=-100.0, unit=" %")

    def text(self) -> str:
        """Value and interval, without n: ``1,234 ± 56`` or ``1,234 [1,180; 1,290]``."""
        if self.low is None or self.high is None:
            return f"{format_number(self.value)}{self.unit}"
        below, above = self.value - self.low, self.high - self.value
        symmetric = math.isclose(
            below, above, rel_tol=1e-6, abs_tol=1e-12 * max(1.0, abs(self.value))
        )
        if symmetric:
            width = max(below, above)
            if width < _NOISE * abs(self.value):
                width = 0.0
            return f"{format_number(self.value, width)} ± {format_number(width, width)}{self.unit}"
        far = max(below, above)
        near = min(below, above) or far
        if far < _ALIKE * near:  # one number of digits for all three
            below = above = near = far
        value = format_number(self.value, near)
        # An end near 0 keeps two figures of its own: 0.0012 must not be read as 0.
        low, high = (
            format_number(end, min(x for x in (distance, abs(end), far) if x > 0))
            for end, distance in ((self.low, below), (self.high, above))
        )
        return f"{value} [{low}; {high}]{self.unit}"

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


def positive_ends(
    value: float, half_width: float, *, most: float = math.inf
) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of a positive quantity's interval, from the half-width of its mean.

    The half-width is carried over to the logarithm by the delta method: value · exp(±half_width /
    value), the usual interval of a positive parameter (Meeker and Escobar 1998, chapter 8). With
    Student's t in the half-width it agrees with the t interval where the spread is small, is never
    negative, and remains an interval of the arithmetic mean, which published tables have. Cox's
    method (Zhou and Gao 1997; Olsson 2005) covers lognormal means better still, but around an
    estimate that isn't the mean of the runs.

    Coverage of a nominal 95 %, by simulation of 40,000 samples of lognormal runs with standard
    deviation s of the logarithm (a test repeats the first two columns), and how often the plain t
    interval reaches below 0:

    ===  ==  ========  =======  =====  =======
    s    n   this one  plain t  Cox    below 0
    ===  ==  ========  =======  =====  =======
    0.1  3   0.950     0.949    0.950  0.000
    0.1  10  0.947     0.947    0.948  0.000
    0.3  3   0.947     0.940    0.949  0.146
    0.3  5   0.945     0.938    0.949  0.000
    0.3  10  0.944     0.939    0.950  0.000
    0.5  3   0.941     0.923    0.945  0.491
    0.5  5   0.937     0.916    0.947  0.038
    0.5  10  0.936     0.923    0.951  0.000
    1.0  3   0.915     0.837    0.930  0.838
    1.0  5   0.890     0.821    0.935  0.501
    1.0  10  0.886     0.841    0.942  0.102
    ===  ==  ========  =======  =====  =======

    Parameters
    ----------
    value, half_width
        The mean, and half of its symmetric interval.
    most
        What the quantity can't exceed, such as 100 per cent of a machine; then the logarithm is
        that of the odds, value / (most - value).

    Returns
    -------
    low, high
        None where the value is 0 or ``most``: there the scale has no place for it.

    Examples
    --------
    >>> low, high = positive_ends(2.1, 2.9)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.53 to 8.36
    """
    if not 0 < value < most:
        return None, None
    if math.isinf(most):
        factor = _exp(half_width / value)
        return value / factor, value * factor
    factor = _exp(half_width * most / (value * (most - value)))
    rest = most - value
    return most * value / (value + rest * factor), most * value / (value + rest / factor)


def mean_estimate(
    values: ArrayLike, *, most: float = math.inf, confidence: float = CONFIDENCE, unit: str = ""
) -> Estimate:
    """Mean of the runs of one cell of a positive quantity, with a t interval on its logarithm.

    Without an interval where there is one run, or the mean is 0: see :func:`positive_ends`.

    Parameters
    ----------
    values : (n,) array_like
        One value a run, n ≥ 1, finite.
    most
        What the quantity can't exceed.

    Raises
    ------
    ValueError
        There are no values, or one is not finite.
    """
    cell = Cells((0.0,), (_finite(values),))
    return marginal_mean(cell, most=most, confidence=confidence, unit=unit)


def geometric_mean_estimate(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Estimate:
    """Geometric mean of positive values, such as ratios of pairs, with t on their logarithms.

    Raises
    ------
    ValueError
        There are no values, or one is not finite or not positive.
    """
    x = _finite(values)
    if (x <= 0).any():
        raise ValueError("an estimate of a geometric mean needs positive values")
    logs = np.log(x)
    value, n = float(logs.mean()), int(x.size)
    if n == 1:
        return Estimate(math.exp(value), None, None, 1, confidence, "one value")
    half = _quantile(confidence, n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
    method = "t interval of the mean logarithm"
    return Estimate(math.exp(value), _exp(value - half), _exp(value + half), n, confidence, method)


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


def marginal_mean(
    cells: Cells, *, most: float = math.inf, confidence: float = CONFIDENCE, unit: str = ""
) -> Estimate:
    """Mean of a positive quantity over loads of the cells' means, every load counting the same.

    The interval is across runs at fixed loads, on the logarithm of the mean (see
    :func:`positive_ends`). With one run a cell it can only be across loads, and says so.

    Raises
    ------
    ValueError
        There are no cells.
    """
    value, spread = _mean(cells)
    if spread.error is None:
        return Estimate(value, None, None, cells.n, confidence, spread.method, unit)
    half = _quantile(confidence, spread.df) * spread.error
    low, high = positive_ends(value, half, most=most)
    method = f"t interval on the logarithm, {spread.method}"
    if low is None:
        method = "no interval: " + ("0 in every run" if value <= 0 else "at its limit")
    return Estimate(value, low, high, cells.n, confidence, method, unit)


def share_estimate(shares: Cells, trials: Cells, *, confidence: float = CONFIDENCE) -> Estimate:
    """Share of operations, mean over loads of the runs' shares, with a binomial interval.

    A run's operations aren't independent: shares are taken for beta-binomial, with a correlation
    (rho) within a run. The variance of the mean is that between runs, or the binomial one if that
    is larger: the moment estimate of rho, not below 0 (Kleinman 1973). From it comes the number of
    independent operations that would know the share as well, less for the few degrees of freedom;
    with these the interval is Clopper's and Pearson's (Korn and Graubard 1998, as for surveys: runs
    are the clusters, loads the strata).

    If no operation of any run is one (or all are), nothing tells rho. Then it is taken to be 1, the
    worst: every run counts as one trial, and the end is 1 - (1 - confidence)^(1/runs), one-sided.
    It is the largest share that the runs don't exclude, whatever rho is; were operations
    independent, the rule of three, 3/operations, would do.

    Coverage of a nominal 95 % in simulations (10,000 samples each; shares of 0.3, 0.01 and 0.001;
    rho from 0 to 0.1; 3, 5 and 10 runs of 1,000 and of 100,000 operations): 93 to 100 % while rho
    is at most the share. Where it is 10 or 100 times the share, so that most of the events come
    from few runs, it falls to 69 %, and that of a plain t interval to 12 %.

    Parameters
    ----------
    shares, trials
        Of each run, at the same loads: the share, 0 … 1, and of how many operations it is.

    Raises
    ------
    ValueError
        There are no cells, or a share is outside 0 and 1.
    """
    if any(bool(((v < 0) | (v > 1)).any()) for v in shares.values):
        raise ValueError("a share is from 0 to 1")
    value, spread = _mean(shares)
    n = shares.n
    if n == 1:
        return Estimate(value, None, None, n, confidence, spread.method)
    if value in (0.0, 1.0):
        bound = none_bound(n, confidence=confidence)
        low, high = (0.0, bound) if value == 0 else (1 - bound, 1.0)
        which = "no operation" if value == 0 else "every operation"
        method = f"{which} of any run: one-sided binomial bound, each run one trial (rho = 1)"
        return Estimate(value, low, high, n, confidence, method)
    if spread.error is None:
        return Estimate(value, None, None, n, confidence, spread.method)
    each = value * (1 - value)
    binomial = sum(float((each / v).sum()) / v.size**2 for v in trials.values)
    variance = max(spread.error**2, binomial / len(trials.loads) ** 2)
    certain = float(stats.norm.ppf(0.5 + confidence / 2)) / _quantile(confidence, spread.df)
    independent = each / variance * certain**2
    events, others = value * independent, (1 - value) * independent
    tail = (1 - confidence) / 2
    low = float(stats.beta.ppf(tail, events, others + 1))
    high = float(stats.beta.isf(tail, events + 1, others))
    method = f"beta-binomial interval, effective sample size, {spread.method}"
    return Estimate(value, min(low, value), max(high, value), n, confidence, method)


def none_bound(trials: int, *, confidence: float = CONFIDENCE) -> float:
    """Return the largest probability of which none in so many trials is no surprise.

    One-sided and exact: 63 % after three, 26 % after ten, about 3/trials after many.
    """
    return 1 - (1 - confidence) ** (1 / trials)


@dataclass(frozen=True)
class _Spread:
    """Standard error of a mean, None where it can't be known, and by what."""

    error: float | None
    df: int
    method: str


def _mean(cells: Cells) -> tuple[float, _Spread]:
    """Mean over loads of the cells' means, and how far it may be off."""
    means = cells.means()
    if means.size == 0:
        raise ValueError("no cells to average")
    value = float(means.mean())
    df = cells.degrees_of_freedom
    if df == 0:
        return value, _across_loads(means)
    # Here variances are not pooled: CPU at one user and at ten differ in level and in spread.
    known = [(float(v.var(ddof=1)) if v.size > 1 else float("nan"), v.size) for v in cells.values]
    typical = float(np.nanmean([variance for variance, _ in known]))
    total = sum((typical if math.isnan(variance) else variance) / size for variance, size in known)
    method = "across runs" if means.size == 1 else "across runs at each load"
    return value, _Spread(math.sqrt(total) / means.size, df, method)


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
        log = _around(value, _across_loads(ratios), n, confidence)
    elif df < _BOOTSTRAP_DF:
        squares = sum(
            float(((v - v.mean()) ** 2).sum()) for side in (before, after) for v in side.values
        )
        total = sum(squares / df / v.size for side in (before, after) for v in side.values)
        spread = _Spread(math.sqrt(total) / ratios.size, df, "across runs")
        log = _around(value, spread, n, confidence)
    else:
        draws = (_resampled_means(after, seed + 1) - _resampled_means(before, seed)).mean(axis=1)
        low, high = _expanded_percentiles(draws, before, after, confidence)
        log = Estimate(value, min(low, value), max(high, value), n, confidence, _bootstrap_name())
    ends = [None if end is None else _exp(end) for end in (log.low, log.high)]
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
    if df < _BOOTSTRAP_DF:
        spread = _across_loads(ratios)
        if df:
            squares = sum(
                float(ratio) ** 2
                * sum(_relative_square_error(side, i) for side in (reference, other))
                for i, ratio in enumerate(ratios)
            )
            spread = _Spread(math.sqrt(squares) / ratios.size, df, "across runs")
        if spread.error is None:
            return Estimate(value, None, None, n, confidence, spread.method).as_change()
        # A ratio is positive: no change is a loss of more than 100 %.
        low, high = positive_ends(value, _quantile(confidence, spread.df) * spread.error)
        method = f"t interval on the logarithm of the mean ratio, {spread.method}"
        if low is None:
            method = "no interval: 0 in every run"
        return Estimate(value, low, high, n, confidence, method).as_change()
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


def _quantile(confidence: float, df: int) -> float:
    return float(stats.t.ppf(0.5 + confidence / 2, df))


def _exp(x: float) -> float:
    """Return e^x, not beyond 1e304: few runs far apart make no error."""
    return float(np.exp(np.minimum(x, 700.0)))


def _across_loads(values: NDArray[np.float64]) -> _Spread:
    if values.size <= 2:  # noqa: PLR2004 - one degree of freedom makes no interval worth printing
        return _Spread(None, 0, "one run a scenario")
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    method = "across loads (one run a scenario: runs can't be told from chance)"
    return _Spread(error, values.size - 1, method)


def _around(value: float, spread: _Spread, n: int, confidence: float) -> Estimate:
    """Return a mean of log ratios with its symmetric interval."""
    if spread.error is None:
        return Estimate(value, None, None, n, confidence, spread.method)
    half = _quantile(confidence, spread.df) * spread.error
    method = f"t interval on log ratios, {spread.method}"
    return Estimate(value, value - half, value + half, n, confidence, method)


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
