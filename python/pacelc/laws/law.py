"""Laws of scalability: throughput over nodes, cores or users.

The Universal Scalability Law (Gunther: Guerrilla Capacity Planning, Springer 2007, chapter 4)::

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

``lambda`` is the throughput of one, ``sigma`` what is done one after the other (contention),
``kappa`` what each pair has to tell each other (coherency). Amdahl's law has no ``kappa``, linear
scaling neither. With ``kappa`` throughput has a peak at ``sqrt((1 - sigma) / kappa)``, and falls
after it.

How it is fitted
----------------
Least squares on the logarithm of throughput, a run a row: runs scatter in proportion to what they
measure. ``sigma`` is 0 to 1, ``kappa`` 0 or more. Intervals are profiles: all values of a
coefficient that an F test at 5 % doesn't refuse, the others being fitted anew at each; they know
the bounds, and need no symmetry. The law is chosen by F tests from the fullest down: a coefficient
whose absence isn't refused at 5 % is left out. At the bound of 0 such a test is cautious: it
refuses less often than 5 %.

What can't be identified is said, not printed as if it were known: too few sizes, an interval that
reaches 0, a peak that lies beyond what was measured, runs that no law of these describes.

Map
---
fit_law         sizes and throughputs → :class:`Law`
Law             the chosen law, its coefficients with intervals, tests, cautions
capacity        the law itself
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
from scipy import optimize, stats

from pacelc.analysis.estimate import CONFIDENCE, Estimate
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["LAWS", "Law", "LawName", "LawTest", "capacity", "fit_law"]

LawName: TypeAlias = Literal["linear", "amdahl", "usl"]
LAWS: Final[dict[LawName, str]] = {
    "linear": "linear scaling",
    "amdahl": "Amdahl's law",
    "usl": "the Universal Scalability Law",
}
_PARAMETERS: Final[dict[LawName, int]] = {"linear": 1, "amdahl": 2, "usl": 3}
_LEVEL: Final = 1 - CONFIDENCE
_METHOD: Final = "profile of least squares on logarithms"
_MOST: Final = (1.0, np.inf)
"""Of sigma, which is a share of the work, and of kappa."""
_ROUNDS: Final = 60
_FLAT: Final = 1e-13
"""Change of the sum of squares, relative to all there is to explain, below which a fit is done."""


def capacity(size: ArrayLike, throughput_of_one: float, sigma: float, kappa: float) -> Floats:
    """Return the throughput at each size.

    Examples
    --------
    >>> capacity([1, 4], 100, 0.1, 0.01)
    array([100.        , 281.69014085])
    """
    n = np.asarray(size, dtype=float)
    return throughput_of_one * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


@dataclass(frozen=True)
class LawTest:
    """An F test of a law against a fuller one.

    Attributes
    ----------
    law, against
        The one that is tested, and the fuller one.
    f, df
        The statistic, and its degrees of freedom.
    p
        Its probability if ``law`` holds.
    """

    law: LawName
    against: LawName
    f: float
    df: tuple[int, int]
    p: float


@dataclass(frozen=True)
class Law:
    """A law fitted to runs.

    Attributes
    ----------
    over
        What the size is: nodes, cores, users.
    chosen
        The simplest law that the tests don't refuse.
    throughput_of_one, sigma, kappa
        Of the Universal Scalability Law, whatever was chosen; None where the sizes are too few.
    coefficients
        Of the chosen law: throughput of one, sigma, kappa; 0 where it has none.
    peak_size
        Where throughput is highest; None unless its law was chosen.
    tests
        Of the laws against each other, the fullest first.
    lack_of_fit_p
        Where sizes were repeated: how likely runs are to miss the fullest law by as much, if it
        holds.
    cautions
        What can't be identified, and why.
    sizes, throughputs_per_s
        What was fitted, a run each.
    unit
        What counts as one: 1, or the smallest size where that is less, such as half a core.
    """

    over: str
    chosen: LawName
    throughput_of_one: Estimate | None
    sigma: Estimate | None
    kappa: Estimate | None
    coefficients: tuple[float, float, float]
    peak_size: Estimate | None
    tests: tuple[LawTest, ...]
    lack_of_fit_p: float | None
    cautions: tuple[str, ...]
    sizes: tuple[float, ...]
    throughputs_per_s: tuple[float, ...]
    unit: float = 1.0

    def at(self, size: ArrayLike) -> Floats:
        """Return the chosen law's throughput at each size."""
        return capacity(np.asarray(size, dtype=float) / self.unit, *self.coefficients)

    @property
    def measured(self) -> tuple[float, float]:
        """The range of sizes in which the law was fitted."""
        return min(self.sizes), max(self.sizes)


def fit_law(sizes: Sequence[float], throughputs_per_s: Sequence[float], over: str) -> Law:
    """Fit the laws to runs, and choose one.

    Parameters
    ----------
    sizes
        Nodes, cores or users of each run: more than 0.
    throughputs_per_s
        What each run did.
    over
        What the sizes are, for people.

    Raises
    ------
    InputError
        There are fewer than two sizes, or values that aren't above 0.
    """
    n, x = np.asarray(sizes, dtype=float), np.asarray(throughputs_per_s, dtype=float)
    if n.shape != x.shape:
        raise ValueError("there should be a throughput for each size")
    if not (np.isfinite(n) & np.isfinite(x) & (n > 0) & (x > 0)).all():
        raise InputError("sizes and throughputs should be numbers above 0")
    distinct = np.unique(n).size
    if distinct < 2:  # noqa: PLR2004 - a line needs two
        raise InputError(
            f"all runs have the same {over}: scaling needs at least two sizes, and three to tell "
            "contention from coherency",
            f"measure with {over} of 1, 2, 4 and 8, for example",
        )
    return _Fit(n, x, over, distinct).law()


class _Fit:
    """Least squares on the logarithm of throughput, with sigma and kappa of 0 or more."""

    def __init__(self, sizes: Floats, throughputs: Floats, over: str, distinct: int) -> None:
        self.sizes, self.x, self.over, self.distinct = sizes, throughputs, over, distinct
        # Below 1 the law's terms would change their sign.
        self.unit = min(1.0, float(sizes.min()))
        self.n = sizes / self.unit
        self.y = np.log(throughputs) - np.log(self.n)
        self.pairs = np.column_stack([self.n - 1, self.n * (self.n - 1)])
        self.floor = _FLAT * max(float(np.sum((self.y - self.y.mean()) ** 2)), 1.0)

    def squares(self, sigma: float, kappa: float, log_one: float | None = None) -> float:
        """Return the sum of squares; the throughput of one is fitted unless it is given."""
        residuals = self.y + np.log1p(self.pairs @ np.array([sigma, kappa]))
        centre = residuals.mean() if log_one is None else log_one
        return float(np.sum((residuals - centre) ** 2))

    def best(
        self, law: LawName, log_one: float | None = None, start: tuple[float, float] = (0.05, 0.001)
    ) -> tuple[float, float]:
        """Return sigma and kappa of the best fit."""
        free = {"linear": [], "amdahl": [0], "usl": [0, 1]}[law]
        values = np.zeros(2)
        values[free] = np.asarray(start)[free]
        return self._descend(values, free, log_one)

    def _descend(
        self, values: Floats, free: list[int], log_one: float | None
    ) -> tuple[float, float]:
        """Gauss and Newton's steps with bounds at 0, halved until they improve."""
        now = self.squares(values[0], values[1], log_one)
        for _ in range(_ROUNDS):
            step = self._step(values, free, log_one)
            scale = 1.0
            while scale > 1e-6:  # noqa: PLR2004 - a step that no longer moves
                tried = np.clip(values + scale * step, 0.0, _MOST)
                then = self.squares(tried[0], tried[1], log_one)
                if then < now:
                    break
                scale /= 2
            else:
                break
            done, values, now = now - then < self.floor, tried, then
            if done:
                break
        return float(values[0]), float(values[1])

    def _step(self, values: Floats, free: list[int], log_one: float | None) -> Floats:
        inside = 1 + self.pairs @ values
        slope = self.pairs / inside[:, None]
        residuals = self.y + np.log(inside)
        if log_one is None:
            residuals = residuals - residuals.mean()
            slope = slope - slope.mean(axis=0)
        else:
            residuals = residuals - log_one
        step = np.zeros(2)
        gradient = slope.T @ residuals
        # What lies at its bound and wants to go beyond it stays there.
        moving = [
            i
            for i in free
            if (values[i] > 0 or gradient[i] < 0) and (values[i] < _MOST[i] or gradient[i] > 0)
        ]
        if moving:
            step[moving] = -np.linalg.lstsq(slope[:, moving], residuals, rcond=None)[0]
        return step

    def law(self) -> Law:
        # A law that goes through every run leaves nothing to judge it by.
        possible: list[LawName] = [
            name
            for name, count in _PARAMETERS.items()
            if count <= self.distinct and count < self.n.size
        ]
        fullest = possible[-1]
        fits: dict[LawName, tuple[float, float]] = {name: self._better(name) for name in possible}
        tests = self._tests(fits, possible)
        chosen = fullest
        for test in tests:
            if test.against != chosen:
                break
            if test.p >= _LEVEL:
                chosen = test.law
        sigma, kappa = fits[chosen]
        df = self.n.size - _PARAMETERS[fullest]
        limit = self._limit(self.squares(*fits[fullest]), df)
        one = self._one(fullest, fits[fullest], limit)
        sigma_estimate = (
            self._profile(0, fullest, fits[fullest], limit) if fullest != "linear" else None
        )
        kappa_estimate = (
            self._profile(1, fullest, fits[fullest], limit) if fullest == "usl" else None
        )
        peak = self._peak(fits["usl"], limit) if chosen == "usl" else None
        lack = self._lack_of_fit(fits[fullest], fullest)
        log_one = float(np.mean(self.y + np.log1p(self.pairs @ np.array([sigma, kappa]))))
        law = Law(
            over=self.over,
            chosen=chosen,
            throughput_of_one=one,
            sigma=sigma_estimate,
            kappa=kappa_estimate,
            coefficients=(float(np.exp(log_one)), sigma, kappa),
            peak_size=peak,
            tests=tuple(tests),
            lack_of_fit_p=lack,
            cautions=(),
            sizes=tuple(self.sizes.tolist()),
            throughputs_per_s=tuple(self.x.tolist()),
            unit=self.unit,
        )
        return replace(law, cautions=tuple(self._cautions(law, fullest)))

    def _better(self, law: LawName) -> tuple[float, float]:
        """Return the best of fits from several starts: the sum of squares may have two valleys."""
        starts = [(0.05, 0.001), (0.5, 0.0), (0.0, 0.05)] if law == "usl" else [(0.05, 0.0)]
        found = [self.best(law, start=start) for start in starts]
        return min(found, key=lambda pair: self.squares(*pair))

    def _tests(
        self, fits: dict[LawName, tuple[float, float]], possible: list[LawName]
    ) -> list[LawTest]:
        tests: list[LawTest] = []
        for law, against in reversed(list(itertools.pairwise(possible))):
            df = self.n.size - _PARAMETERS[against]
            full, less = self.squares(*fits[against]), self.squares(*fits[law])
            f = max(less - full, 0.0) / max(full / df, self.floor)
            tests.append(LawTest(law, against, f, (1, df), float(stats.f.sf(f, 1, df))))
        return tests

    def _limit(self, squares: float, df: int) -> float:
        """Return the sum of squares above which an F test refuses a value."""
        return squares + max(squares, df * self.floor) / df * float(stats.f.isf(_LEVEL, 1, df))

    def _profile(
        self, which: int, law: LawName, best: tuple[float, float], limit: float
    ) -> Estimate:
        """Return sigma (0) or kappa (1): the values at which the others can still fit."""
        other = 1 - which
        free = [other] if law == "usl" else []

        def lowest(value: float) -> float:
            values = np.array(best)
            values[which] = value
            return self.squares(*self._descend(values, free, None))

        scale = max(best[which], 1e-6)
        return self._interval(lowest, best[which], limit, scale, most=_MOST[which])

    def _one(self, law: LawName, best: tuple[float, float], limit: float) -> Estimate:
        value = float(np.mean(self.y + np.log1p(self.pairs @ np.array(best))))

        def lowest(log_one: float) -> float:
            fit = self.best(law, log_one, start=(max(best[0], 1e-3), max(best[1], 1e-5)))
            return self.squares(*fit, log_one)

        # Logarithms may be below 0: the search is over what is added to the best.
        shifted = self._interval(lambda d: lowest(value + d), 0.0, limit, 0.01, bounded=False)
        low, high = (
            None if end is None else float(np.exp(value + end))
            for end in (shifted.low, shifted.high)
        )
        return Estimate(float(np.exp(value)), low, high, self.n.size, method=_METHOD)

    def _peak(self, best: tuple[float, float], limit: float) -> Estimate | None:
        """Return the size of the highest throughput: kappa is (1 - sigma) over its square."""
        sigma, kappa = best
        if kappa == 0 or sigma >= 1:
            return None
        size = float(np.sqrt((1 - sigma) / kappa))

        def lowest(at: float) -> float:
            # Over kappa, with sigma as the peak asks for it: a peak at 0 is a sigma of 1.
            most = 100 * kappa if at == 0 else min(100 * kappa, at**-2)
            found = optimize.minimize_scalar(
                lambda k: self.squares(1 - k * at**2, k),
                bounds=(0, most),
                method="bounded",
                options={"xatol": 1e-6 * most},
            )
            return float(found.fun)

        return self._interval(lowest, size, limit, scale=size).scaled(self.unit)

    def _interval(
        self,
        lowest: Callable[[float], float],
        value: float,
        limit: float,
        scale: float,
        *,
        bounded: bool = True,
        most: float = np.inf,
    ) -> Estimate:
        """Return where ``lowest`` crosses the limit on both sides of the best value."""

        def excess(at: float) -> float:
            return lowest(at) - limit

        if excess(value) >= 0:  # runs without scatter: what is left is rounding
            return Estimate(value, value, value, self.n.size, method=_METHOD)

        def crossing(direction: int) -> float | None:
            inner, step = value, scale / 16
            for _ in range(_ROUNDS):
                outer = value + direction * step
                if bounded and outer <= 0:
                    if excess(0.0) <= 0:
                        return 0.0
                    return float(optimize.brentq(excess, 0.0, inner, rtol=1e-4))
                if outer >= most:
                    if excess(most) <= 0:
                        return most
                    outer = most
                if excess(outer) > 0:
                    ends = sorted((inner, outer))
                    return float(optimize.brentq(excess, ends[0], ends[1], rtol=1e-4))
                inner, step = outer, 2 * step
            return None

        return Estimate(value, crossing(-1), crossing(1), self.n.size, method=_METHOD)

    def _lack_of_fit(self, best: tuple[float, float], law: LawName) -> float | None:
        """Return how probable so bad a fit is, from how runs of one size differ."""
        within = sum(
            float(np.sum((self.y[self.n == size] - self.y[self.n == size].mean()) ** 2))
            for size in np.unique(self.n)
        )
        df_within = self.n.size - self.distinct
        df_lack = self.distinct - _PARAMETERS[law]
        if df_within < 1 or df_lack < 1:
            return None
        lack = max(self.squares(*best) - within, 0.0) / df_lack
        f = lack / max(within / df_within, self.floor)
        return float(stats.f.sf(f, df_lack, df_within))

    def _cautions(self, law: Law, fullest: LawName) -> list[str]:
        low, high = law.measured
        found: list[str] = []
        if self.unit < 1:
            found.append(
                f"one is {self.unit:g} {self.over}, the smallest size, in all coefficients"
            )
        if fullest != "usl":
            few = (
                f"{counted(self.distinct, 'size')}"
                if self.distinct < _PARAMETERS["usl"]
                else f"{counted(self.n.size, 'run')}"
            )
            found.append(
                f"{few} can't tell contention from coherency: kappa needs three sizes and four runs"
            )
        if law.kappa is not None and law.kappa.low == 0:
            found.append(
                "kappa's interval reaches 0: whether throughput has a peak can't be told from "
                "these runs"
            )
        if law.sigma is not None and law.sigma.low == 0:
            found.append("sigma's interval reaches 0: no contention was shown")
        if law.peak_size is not None and law.peak_size.value > high:
            found.append(
                f"the peak at {law.peak_size.value:.3g} {self.over} lies beyond the measured "
                f"{low:g} to {high:g}: it is an extrapolation"
            )
        if law.lack_of_fit_p is not None and law.lack_of_fit_p < _LEVEL:
            found.append(
                "the law's residuals exceed the variation between runs of one size "
                f"(p = {law.lack_of_fit_p:.2g}): none of these laws describes them"
            )
        elif law.sigma is not None and law.sigma.value == 0 and self._superlinear():
            found.append(
                f"throughput grows faster than {self.over}, which none of these laws describes; a "
                "larger cluster may hold more data in memory"
            )
        return found

    def _superlinear(self) -> bool:
        slope = stats.linregress(np.log(self.n), self.y)
        return bool(slope.slope > 0 and self.n.size > 2 and slope.pvalue < _LEVEL)  # noqa: PLR2004
