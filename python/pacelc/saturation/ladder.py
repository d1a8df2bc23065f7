"""A ladder of rates: every rung as often as every other, and nothing looked for.

Map
---
Ladder          given rates
AutoLadder      rates that it finds: doubled until they can't be kept, then close steps to there
parse_ladder    ``1000,2000``, ``1000..16000x2``, ``auto``
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.errors import InputError
from pacelc.numerals import MOST
from pacelc.saturation.search import tallies, whole_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.saturation.search import Trial

__all__ = ["AutoLadder", "Ladder", "parse_ladder", "parse_rate"]

_RATE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(k?)\s*(?:/s)?\s*")
_RANGE: Final = re.compile(r"(.+)\.\.(.+)x\s*([0-9]+(?:\.[0-9]+)?)\s*")
_MOST_RUNGS: Final = 100
_CLOSE_STEPS: Final = 8
"""From a quarter of the first rate that wasn't kept, four to an octave: a knee lies there."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Given rates; each once, in their order, before any a second time."""

    rates: tuple[int, ...]
    repeats: int

    def next_rate(self, trials: Sequence[Trial]) -> int | None:
        """Return the next rung; None when all are done."""
        done = tallies(trials)
        runs = {rate: done[rate].runs if rate in done else 0 for rate in self.rates}
        fewest = min(self.rates, key=lambda rate: runs[rate])
        return fewest if runs[fewest] < self.repeats else None


@dataclass(frozen=True, slots=True)
class AutoLadder:
    """Rates doubled from the first until one isn't kept, and close steps up to that."""

    first: int
    lowest: int
    highest: int
    repeats: int

    def next_rate(self, trials: Sequence[Trial]) -> int | None:
        """Return the next rung; None when all are done."""
        firsts: dict[int, bool] = {}
        for trial in trials:
            firsts.setdefault(trial.rate_per_s, trial.held)
        doubled = [self.first]
        while doubled[-1] in firsts:
            rate = doubled[-1]
            if firsts[rate] and rate < self.highest:
                doubled.append(min(self.highest, 2 * rate))
            elif not any(firsts[other] for other in doubled) and rate > self.lowest:
                doubled.append(max(self.lowest, whole_rate(rate / 2)))
            else:
                break
        if doubled[-1] not in firsts:
            return doubled[-1]
        not_kept = [rate for rate in doubled if not firsts[rate]]
        top = min(not_kept, default=max(doubled))
        steps = [whole_rate(top * 2 ** (-step / 4)) for step in range(_CLOSE_STEPS + 1)]
        rates = sorted({*doubled, *(rate for rate in steps if rate >= self.lowest)})
        return Ladder(tuple(rates), self.repeats).next_rate(trials)


def parse_rate(text: str, option: str) -> int:
    """Return a rate in operations a second: ``4000``, ``4k``, ``4k/s``.

    Raises
    ------
    InputError
        If it is none, or below 1.
    """
    match = _RATE.fullmatch(text)
    exact = float(match[1]) * (1000 if match[2] else 1) if match else 0.0
    rate = round(min(exact, 2.0 * MOST))
    if not 1 <= rate <= MOST:
        raise InputError(
            f"{option} {text}: should be a rate, in operations a second", "for example 4000 or 4k"
        )
    return rate


def parse_ladder(text: str, option: str = "--ladder") -> tuple[int, ...] | None:
    """Return the rates of a ladder in ascending order; None for ``auto``.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> parse_ladder("1000..8000x2"), parse_ladder("500,4k")
    ((1000, 2000, 4000, 8000), (500, 4000))
    """
    if text.strip() == "auto":
        return None
    match = _RANGE.fullmatch(text)
    if match is None:
        return tuple(sorted({parse_rate(part, option) for part in text.split(",")}))
    rate, last, factor = parse_rate(match[1], option), parse_rate(match[2], option), float(match[3])
    rates: list[int] = []
    exact = float(rate)
    while factor > 1 and exact <= last * (1 + 1e-9) and len(rates) <= _MOST_RUNGS:
        rates.append(whole_rate(exact))
        exact *= factor
    if not 1 < len(set(rates)) <= _MOST_RUNGS:
        raise InputError(
            f"{option} {text}: should go upwards, in at most {_MOST_RUNGS} steps",
            "for example 1000..16000x2: from 1,000 to 16,000, each twice the last",
        )
    return tuple(sorted(set(rates)))
