"""How many repetitions a comparison takes, judged by runs that there are.

Start here: :func:`power`.

Of few pairs, nothing is told from chance (`pacelc.study.outlook`). Of more, what can be told
depends on the spread between pairs: the power of the paired test, at the level of Holm's first
step.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from pacelc.analysis.comparison import compared_pairs
from pacelc.analysis.design import METRICS
from pacelc.study.outlook import ALPHA, LEAST_PAIRS, TESTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pacelc.analysis.comparison import Unit
    from pacelc.analysis.design import Design, Group, Metric

__all__ = ["EFFECT", "POWER", "Needed", "pairs_for", "power"]

EFFECT: Final = 0.10
"""The smallest change that matters, where nobody says another."""
POWER: Final = 0.8
_CONFIDENCE: Final = 0.8
"""Of the range of repetitions: a spread estimated from few pairs is itself uncertain."""
_MOST: Final = 100_000


@dataclass(frozen=True)
class Needed:
    """What one test needs.

    Attributes
    ----------
    group, reference, level, metric
        What is tested.
    unit, pairs
        The pairs that there are, of runs or of clusters.
    spread
        Standard deviation of their log ratios; None if there are fewer than two.
    detectable
        The change that these pairs would show with the power asked for, as a share; None if no
        change would be shown.
    repetitions, low, high
        Repetitions that the effect needs, and the range that the uncertainty of ``spread`` leaves
        (80 %); None if the spread isn't known, or more than 100,000 pairs were needed.
    """

    group: Group
    reference: str
    level: str
    metric: Metric
    unit: Unit
    pairs: int
    spread: float | None
    detectable: float | None
    repetitions: int | None
    low: int | None
    high: int | None


def pairs_for(effect: float, spread: float, tests: int, *, power: float = POWER) -> int | None:
    """Pairs with which an effect is shown with some probability.

    Parameters
    ----------
    effect
        As a share: 0.1 for a change by 10 %, either way on the logarithm.
    spread
        Standard deviation of the pairs' log ratios.
    tests
        In the family that Holm's method adjusts for.

    Returns
    -------
    int or None
        None if more than 100,000 are needed.
    """
    low = high = LEAST_PAIRS
    while _shown(high, spread, tests, power) > effect:
        low, high = high + 1, 2 * high
        if high > _MOST:
            return None
    while low < high:
        middle = (low + high) // 2
        if _shown(middle, spread, tests, power) > effect:
            low = middle + 1
        else:
            high = middle
    return high


def power(design: Design, *, effect: float = EFFECT, power: float = POWER) -> list[Needed]:
    """Return what each test of a report needs, judged by the runs that there are.

    Parameters
    ----------
    design
        The runs.
    effect
        The smallest change of interest, as a share.
    power
        The probability with which it is to be shown.
    """
    asked = itertools.product(design.whole_groups, design.pairs(), TESTED)
    tests = [
        test
        for group, (reference, level), metric in asked
        if (pairs := compared_pairs(design, ((group, reference), (group, level)), metric))
        and (test := _Test(group, (reference, level), metric, *pairs)).n > 0
    ]
    goal = _Goal(effect, power, len(tests))
    return [_needed(design, test, goal) for test in tests]


@dataclass(frozen=True)
class _Goal:
    effect: float
    power: float
    tests: int


@dataclass(frozen=True, eq=False)
class _Test:
    group: Group
    levels: tuple[str, str]
    metric: str
    unit: Unit
    pairs: NDArray[np.float64]

    @property
    def n(self) -> int:
        return int(self.pairs.shape[0])

    @property
    def spread(self) -> float | None:
        if self.n <= 1 or bool((self.pairs <= 0).any()):
            return None
        return float(np.log(self.pairs[:, 1] / self.pairs[:, 0]).std(ddof=1))


def _shown(pairs: int, spread: float, tests: int, power: float) -> float:
    """Return the least change that the t test shows with some probability, as a share.

    From the normal approximation to the noncentral t: Abramowitz and Stegun 1964, 26.7.10. SciPy's
    own is NaN far from the centre.
    """
    df = pairs - 1
    critical = float(stats.t.ppf(1 - ALPHA / tests / 2, df))
    width = math.sqrt(1 + critical**2 / (2 * df))
    distance = critical * (1 - 1 / (4 * df)) + float(stats.norm.ppf(power)) * width
    return math.expm1(distance * spread / math.sqrt(pairs))


def _needed(design: Design, test: _Test, goal: _Goal) -> Needed:
    found: list[int | None] = [None, None, None]
    detectable: float | None = None
    if test.spread is not None:
        repetitions = design.of_group(test.group).get_column("repetition").n_unique()
        for place, spread in enumerate((test.spread, *_range(test.spread, test.n))):
            enough = pairs_for(goal.effect, spread, goal.tests, power=goal.power)
            found[place] = None if enough is None else math.ceil(enough * repetitions / test.n)
        if test.n >= LEAST_PAIRS:
            detectable = _shown(test.n, test.spread, goal.tests, goal.power)
    return Needed(
        test.group,
        *test.levels,
        METRICS[test.metric],
        test.unit,
        test.n,
        test.spread,
        detectable,
        *found,
    )


def _range(spread: float, n: int) -> tuple[float, float]:
    """Return the ends of the interval of a standard deviation that n normal values estimate."""
    tail = (1 - _CONFIDENCE) / 2
    low, high = (math.sqrt((n - 1) / stats.chi2.ppf(p, n - 1)) for p in (1 - tail, tail))
    return spread * low, spread * high
