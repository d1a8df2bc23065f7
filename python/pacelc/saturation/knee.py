"""The knee of a latency-throughput curve: where power is highest.

Power is throughput over mean response time, and the knee is its maximum: up to there throughput
grows by a larger share than response time does, beyond by a smaller one. For M/M/1 it is at half of
the capacity. Source: Kleinrock, "Power and deterministic rules of thumb for probabilistic problems
in computer communications", ICC 1979. Of the two usual methods it is the one with a meaning:
Kneedle (Satopää et al. 2011) finds where a curve bends most after both axes were scaled to what was
measured, so that adding a higher rate to a ladder moves its knee.

A ladder knows its maximum no better than its rungs are close: the knee lies between the neighbours
of the best rung. Each repetition of the ladder has a best rung; the interval reaches from the rung
below the lowest of these to the rung above the highest. If a best rung is the first or the last,
the ladder does not reach past the knee, and there is none to tell.

Map
---
Point           one run: rate, repetition, throughput, mean response time
Knee            rate, interval, and what was measured there
find_knee       points → Knee, or why not
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Knee", "Point", "find_knee"]

_FEWEST: Final = 3


@dataclass(frozen=True, slots=True)
class Point:
    """One run that the client kept up with."""

    rate_per_s: int
    repetition: int
    throughput_per_s: float
    latency_s: float
    """Mean response time."""


@dataclass(frozen=True, slots=True)
class Knee:
    """Where power is highest.

    Attributes
    ----------
    rate_per_s
        The middle one of the repetitions' best rungs.
    low_per_s, high_per_s
        The rungs between which it lies.
    throughput_per_s, latency_s
        Means at that rung.
    repetitions
        How many repetitions of the ladder the interval is from.
    """

    rate_per_s: int
    low_per_s: int
    high_per_s: int
    throughput_per_s: float
    latency_s: float
    repetitions: int


def find_knee(points: Sequence[Point]) -> Knee | str:
    """Return the knee, or the reason why it can't be told."""
    rates = sorted({point.rate_per_s for point in points})
    if len(rates) < _FEWEST:
        return f"{counted(len(rates), 'rate')} that the client kept up with are too few"
    whole: list[dict[int, Point]] = []
    for repetition in sorted({point.repetition for point in points}):
        by_rate = {p.rate_per_s: p for p in points if p.repetition == repetition}
        if len(by_rate) == len(rates):
            whole.append(by_rate)
    if not whole:
        return "no repetition has every rate"
    best = [max(rates, key=lambda rate, run=run: _power(run[rate])) for run in whole]
    lowest, highest = min(best), max(best)
    if highest == rates[-1]:
        return f"power still grows at {highest:,}/s, the highest rate that the client kept up with"
    if lowest == rates[0]:
        return f"power is highest at {lowest:,}/s, the lowest rate: the knee may lie below"
    # The one in the middle of the repetitions' own: with an even number, the lower.
    rate = sorted(best)[(len(best) - 1) // 2]
    at = [run[rate] for run in whole]
    return Knee(
        rate_per_s=rate,
        low_per_s=rates[rates.index(lowest) - 1],
        high_per_s=rates[rates.index(highest) + 1],
        throughput_per_s=sum(p.throughput_per_s for p in at) / len(at),
        latency_s=sum(p.latency_s for p in at) / len(at),
        repetitions=len(whole),
    )


def _power(point: Point) -> float:
    return point.throughput_per_s / point.latency_s
