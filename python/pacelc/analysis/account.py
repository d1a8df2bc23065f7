"""Where a study's time went.

Start here: :func:`time_account`. The measuring itself (load, warm-up, measure, cool-down) is what
the study asked for; the rest (clusters up and down, checking, what nobody has timed) is what it
cost to have it done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from pacelc.names import ASKED_FOR, NOT_ACCOUNTED_FOR, overheads

if TYPE_CHECKING:
    from pacelc.store import Results

__all__ = ["TimeAccount", "time_account"]


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
        Share of ``total_s`` outside `pacelc.names.ASKED_FOR`; None if nothing was logged.
    overhead
        What took it, in words.
    """

    activities: pl.DataFrame
    total_s: float
    overhead_share: float | None
    overhead: str = ""


def time_account(results: Results) -> TimeAccount:
    """Add up ``timeline.jsonl``.

    Activities are summed, not laid out on the clock: a study that was stopped and resumed did
    nothing in between. From a cluster's start to the last activity before the next one's, what they
    leave of the clock is not accounted for: a failed attempt, for example.
    """
    logged = results.timeline.select("what", "seconds")
    unknown_s = _unknown_s(results.timeline)
    if unknown_s > 0:
        logged = logged.vstack(
            pl.DataFrame({"what": [NOT_ACCOUNTED_FOR], "seconds": [unknown_s]}, logged.schema)
        )
    total_s = float(logged.get_column("seconds").sum()) if logged.height else 0.0
    activities = (
        logged.group_by("what")
        .agg(pl.len().alias("count"), pl.col("seconds").sum())
        .with_columns((pl.col("seconds") / total_s).alias("share"))
        .sort(["seconds", "what"], descending=[True, False])
    )
    if total_s <= 0:
        return TimeAccount(activities, 0.0, None)
    shares: dict[str, float] = dict(
        activities.filter(~pl.col("what").is_in(ASKED_FOR)).select("what", "share").iter_rows()
    )
    return TimeAccount(activities, total_s, sum(shares.values()), overheads(shares))


def _unknown_s(timeline: pl.DataFrame) -> float:
    end_utc = pl.col("start_utc") + pl.duration(microseconds=pl.col("seconds") * 1e6)
    clusters = (
        timeline.sort("source", "start_utc", maintain_order=True)
        .group_by(
            "source", (pl.col("what") == "cluster-up").cum_sum().over("source").alias("number")
        )
        .agg(
            (end_utc.max() - pl.col("start_utc").min()).dt.total_microseconds().alias("clock_us"),
            pl.col("seconds").sum(),
        )
    )
    unknown_s = clusters.get_column("clock_us") / 1e6 - clusters.get_column("seconds")
    # Clocks are read apart, so that some part of a second may be missing, or be there twice.
    return float(unknown_s.clip(lower_bound=0.0).sum())
