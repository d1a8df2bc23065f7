"""Where a study's time went.

Start here: :func:`time_account`. The measuring itself (load, warm-up, measure, cool-down) is what
the study asked for; the rest (clusters up and down, fetching, checking) is what it cost to have it
done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

if TYPE_CHECKING:
    from pacelc.store import Results

__all__ = ["ASKED_FOR", "TimeAccount", "time_account"]

ASKED_FOR: Final = ("load", "warm-up", "measure", "cool-down")


@dataclass(frozen=True)
class TimeAccount:
    """Seconds by activity.

    Attributes
    ----------
    activities
        ``what, count, seconds, share``, largest first.
    total_s
        Of all activities.
    overhead_share
        Share of ``total_s`` outside :data:`ASKED_FOR`; None if nothing was logged.
    """

    activities: pl.DataFrame
    total_s: float
    overhead_share: float | None


def time_account(results: Results) -> TimeAccount:
    """Add up ``timeline.jsonl``.

    Activities are summed, not laid out on the clock: a study that was stopped and resumed did
    nothing in between.
    """
    total = float(results.timeline.get_column("seconds").sum()) if results.timeline.height else 0.0
    activities = (
        results.timeline.group_by("what")
        .agg(pl.len().alias("count"), pl.col("seconds").sum())
        .with_columns((pl.col("seconds") / total).alias("share"))
        .sort(["seconds", "what"], descending=[True, False])
    )
    if total <= 0:
        return TimeAccount(activities, 0.0, None)
    asked = activities.filter(pl.col("what").is_in(ASKED_FOR)).get_column("seconds").sum()
    return TimeAccount(activities, total, 1.0 - float(asked) / total)
