"""The search for the highest rate that holds an objective: which rate to try next.

A pure function of the trials so far: nothing is remembered beside them, so a search that was killed
goes on from what is stored. There is no closed-loop pilot: its throughput is that of so many users,
not a rate at which an objective holds, and growing costs a few short runs only.

1. *Grow*: from the first rate by a factor of 4, up while the objective holds or down while it
   doesn't, until one rate held and a higher one did not. (4 makes growing and halving together
   shortest where the capacity is one to two orders of magnitude from the first rate.)
2. *Halve*: between a rate that held and the next higher one that did not, try their geometric mean,
   until they are no further apart than the precision.
3. *Confirm*: repeat both ends, each an odd number of times. A rate's verdict is its majority's.

The world is noisy, so at any time: a tie is broken by another run; and where a rate failed below
one that held, one of them was luck, and both are repeated before anything else is tried. If the
majorities still contradict each other, that is what there is: the interval is then from the highest
rate below all that failed to the lowest above all that held.

A single run decides in steps 1 and 2, which is cheap; step 3 undoes a wrong decision, since an end
that turns out otherwise makes new ends, which are halved and confirmed in turn.

Without noise there are ⌈log₄(capacity / first)⌉ + 1 runs of growing,
⌈log₂(ln 4 / ln(1 + precision))⌉ of halving and two times (repeats less one) of confirming.

Map
---
Trial           one run: rate, held or not
Search          the rules above; ``next_rate``
Bracket         what the trials say when there is nothing left to try
whole_rate      rates are whole numbers of four digits
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bracket", "Search", "Tally", "Trial", "tallies", "whole_rate"]

_GROWTH: Final = 4
_DIGITS: Final = 4

MOST_RUNS: Final = 48
"""Of one search: a world in which this does not settle it has no such rate."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    rate_per_s: int
    held: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """The runs at one rate."""

    held: int
    runs: int

    @property
    def tied(self) -> bool:
        """Whether as many held as not."""
        return 2 * self.held == self.runs

    @property
    def majority_held(self) -> bool:
        """Whether more held than not."""
        return 2 * self.held > self.runs


def tallies(trials: Sequence[Trial]) -> dict[int, Tally]:
    """Return the runs at each rate, in ascending order of rates."""
    rates = sorted({trial.rate_per_s for trial in trials})
    outcomes = {rate: [t.held for t in trials if t.rate_per_s == rate] for rate in rates}
    return {rate: Tally(sum(held), len(held)) for rate, held in outcomes.items()}


def whole_rate(rate_per_s: float) -> int:
    """Return a rate as a whole number of at most four digits that aren't 0, at least 1.

    Examples
    --------
    >>> whole_rate(12345.6), whole_rate(0.3)
    (12350, 1)
    """
    if rate_per_s < 1:
        return 1
    unit = 10 ** max(0, math.floor(math.log10(rate_per_s)) + 1 - _DIGITS)
    return round(rate_per_s / unit) * unit


@dataclass(frozen=True, slots=True)
class Bracket:
    """Between which rates the objective ceases to hold.

    Attributes
    ----------
    low
        Highest rate that held, below all that did not; None if the lowest tried did not.
    high
        Lowest rate that did not hold, above all that held; None if the highest tried held.
    """

    low: int | None
    high: int | None

    @classmethod
    def of(cls, tally: Mapping[int, Tally]) -> Bracket:
        """Return the bracket of trials."""
        held = [rate for rate, runs in tally.items() if runs.majority_held]
        bad = [rate for rate, runs in tally.items() if not runs.majority_held]
        return cls(
            max((rate for rate in held if rate < min(bad, default=math.inf)), default=None),
            min((rate for rate in bad if rate > max(held, default=0)), default=None),
        )


@dataclass(frozen=True, slots=True)
class Search:
    """The rules of a search.

    Attributes
    ----------
    first, lowest, highest
        Rate tried first, and the range that is searched.
    precision
        The ends may be apart by this share of the lower one.
    repeats
        Runs at each end; odd.
    """

    first: int
    lowest: int
    highest: int
    precision: float = 0.05
    repeats: int = 3

    def next_rate(self, trials: Sequence[Trial]) -> int | None:
        """Return the rate to try next; None when the search is over."""
        if not trials:
            return self.first
        tally = tallies(trials)
        if len(trials) >= MOST_RUNS:
            return None
        doubtful = _doubtful(tally)
        repeatable = [rate for rate in doubtful if tally[rate].runs < self.repeats]
        if repeatable:
            return min(repeatable, key=lambda rate: (tally[rate].runs, rate))
        lowest, highest = min(tally), max(tally)
        if not tally[lowest].majority_held and lowest > self.lowest:
            return max(self.lowest, whole_rate(lowest / _GROWTH))
        if tally[highest].majority_held and highest < self.highest:
            return min(self.highest, _GROWTH * highest)
        return self._between(tally) or self._to_confirm(tally)

    def _between(self, tally: Mapping[int, Tally]) -> int | None:
        for below, above in pairwise(tally):
            ends_here = tally[below].majority_held and not tally[above].majority_held
            if ends_here and above > below * (1 + self.precision):
                middle = whole_rate(math.sqrt(below * above))
                if below < middle < above:
                    return middle
        return None

    def _to_confirm(self, tally: Mapping[int, Tally]) -> int | None:
        bracket = Bracket.of(tally)
        ends = [rate for rate in (bracket.low, bracket.high) if rate is not None]
        short = [rate for rate in ends if tally[rate].runs < self.repeats]
        return min(short, key=lambda rate: tally[rate].runs, default=None)


def _doubtful(tally: Mapping[int, Tally]) -> list[int]:
    """Rates with a tie; or else those that failed below one that held, and those that held above.

    Ties come first: a rate without a verdict contradicts nobody.
    """
    tied = [rate for rate, runs in tally.items() if runs.tied]
    if tied:
        return tied
    held = [rate for rate, runs in tally.items() if runs.majority_held]
    bad = [rate for rate, runs in tally.items() if not runs.majority_held]
    return [
        *(rate for rate in bad if rate < max(held, default=0)),
        *(rate for rate in held if rate > min(bad, default=math.inf)),
    ]
