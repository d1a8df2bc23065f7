"""How far another machine's clock is ahead of ours, by Cristian's algorithm.

We ask for the time and note our own before and after. The other clock was read somewhere between,
so the middle is wrong by half the round trip at most: the quickest round trip tells most.

Map
---
Offset          how far ahead, and how certain that is
offset_of       asks until a round trip was quick enough, or long enough
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Offset", "offset_of"]

_ROUND_TRIPS = 20
_FEWEST = 5
_LONG_ENOUGH_S = 1.0


@dataclass(frozen=True, slots=True)
class Offset:
    """Another clock minus ours; the truth is within ``uncertainty_s`` of ``offset_s``."""

    offset_s: float
    uncertainty_s: float

    def there(self, here_unix_s: float) -> float:
        """Return what the other clock shows at a moment of ours."""
        return here_unix_s + self.offset_s

    def here(self, there_unix_s: float) -> float:
        """Return what our clock shows at a moment of the other's."""
        return there_unix_s - self.offset_s


def offset_of(
    ask: Callable[[], float],
    clock: Callable[[], float] = time.time,
    stopwatch: Callable[[], float] = time.perf_counter,
) -> Offset:
    """Return the offset of the clock that ``ask`` reads, by the quickest of several round trips."""
    best: Offset | None = None
    begin_s = stopwatch()
    for trip in range(_ROUND_TRIPS):
        if trip >= _FEWEST and stopwatch() - begin_s > _LONG_ENOUGH_S:
            break
        sent_unix_s, sent_s = clock(), stopwatch()
        there_unix_s = ask()
        # The stopwatch: our clock may be set while we wait.
        half_s = (stopwatch() - sent_s) / 2
        if best is None or half_s < best.uncertainty_s:
            best = Offset(there_unix_s - (sent_unix_s + half_s), half_s)
    if best is None:
        raise AssertionError("at least one round trip is made")
    return best
