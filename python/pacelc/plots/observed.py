"""What clients observed, beside its price: a panel a database.

Map
---
frontier                a level is a point: its p99 latency, and how fresh its reads were
staleness_distribution  share of reads that were staler than t
visibility              probability that a read sees the newest write, by the time since then
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis.estimate import Estimate, marginal_mean
from pacelc.analysis.observed import price_group
from pacelc.plots.layout import (
    NothingToDraw,
    amounts,
    channels,
    finish,
    grid,
    shared_scale,
    upright,
)
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis import Design
    from pacelc.analysis.observed import Level
    from pacelc.plots.layout import Panel

__all__ = ["frontier", "staleness_distribution", "visibility"]

FEWEST_READS: Final = 20
"""Of fewer, a share is chance."""
FRESH: Final = "reads not stale for certain"
TAIL: Final = "p99.9 of staleness, at most (ms)"
DECADES: Final = [10.0**power for power in range(-6, 7)]
_HALF_A_BIN: Final = 10 ** (1 / 8)


def frontier(
    levels: Sequence[Level], design: Design, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw p99 latency across and freshness up, with intervals across runs.

    Freshness is the share of reads that weren't stale for certain. Where no level of a panel had
    any that was, it is the 99.9th percentile of how stale they may have been.

    Raises
    ------
    NothingToDraw
        No level has both.
    """
    rows = [row for level in levels if (row := _point(level, design)) is not None]
    if not rows:
        raise NothingToDraw("no level has both a latency and observed reads")
    data = pl.DataFrame(rows, infer_schema_length=None)
    colour, shape, _ = channels(_names(levels), style, of=design.levels)
    x_scale, about = shared_scale(
        data.select(pl.col("p99").alias("value"), pl.col("^p99_.*$").name.map(lambda c: c[4:]))
    )
    # After no stale read at all the interval is of runs: it goes on below the panel.
    stale = data.filter(pl.col("fresh") < 1).select(pl.min_horizontal("fresh", "fresh_low"))
    worst = min(stale.to_series().to_list(), default=1.0)
    longest = max((t for t in data.get_column("tail").to_list() if t is not None), default=0.0)

    def panel(part: pl.DataFrame, x_title: str | list[str], _: str | list[str]) -> Panel:
        some_stale = part.get_column("fresh").min() != 1
        measure = "fresh" if some_stale else "tail"
        part = part.with_columns(
            pl.col(measure).alias("y"),
            pl.col(f"{measure}_low").alias("y_low"),
            pl.col(f"{measure}_high").alias("y_high"),
        )
        x = alt.X("p99:Q", title=x_title, scale=x_scale, axis=amounts(x_scale, most=4))
        if some_stale:
            scale = alt.Scale(domain=[1 - 1.1 * (1 - worst), 1], nice=False)
        else:
            scale = alt.Scale(domain=[1.1 * longest or 1.0, 0], nice=False)
        axis = alt.Axis(tickCount=5, format=".3~p" if some_stale else ",~f")
        y = alt.Y(
            "y:Q", title=upright(FRESH if some_stale else TAIL, style), scale=scale, axis=axis
        )
        base = alt.Chart(part).encode(color=colour)
        return alt.layer(
            base.mark_rule(strokeWidth=1.4, clip=True).encode(
                x=x, y=alt.Y("y_low:Q", scale=scale), y2=alt.Y2("y_high:Q")
            ),
            base.mark_rule(strokeWidth=1.4, clip=True).encode(
                x=alt.X("p99_low:Q", scale=x_scale), x2=alt.X2("p99_high:Q"), y=y
            ),
            base.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, shape=shape),
        )

    return finish(
        grid(data, panel, "p99 latency (ms)", "", style),
        style,
        "Consistency and latency of each level",
        "One point per level, with 95 % intervals across runs; upper left is best: fast and "
        f"fresh{about}",
    )


def _point(level: Level, design: Design) -> dict[str, Any] | None:
    group = price_group(level, design)
    if level.stale is None or group is None:
        return None
    cells = design.cells(group, level.level, "latency_ms_p99")
    if cells.n == 0:
        return None
    fresh = level.stale.certainly.scaled(-1.0, offset=1.0)
    return {
        "panel": level.panel,
        "series": level.level,
        **_ends("p99", marginal_mean(cells)),
        **_ends("fresh", fresh),
        **_ends("tail", level.stale.most_ms),
    }


def _ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Return an estimate as columns."""
    if estimate is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    return {name: estimate.value, f"{name}_low": low, f"{name}_high": high}


def _names(levels: Sequence[Level]) -> list[str]:
    return list(dict.fromkeys(level.level for level in levels))


def staleness_distribution(
    levels: Sequence[Level], *, of: Sequence[str] = (), style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw the share of reads that were staler than t: a band from the least to the most.

    ``of`` has all levels of the design, in the order of their colours.

    Raises
    ------
    NothingToDraw
        No read's staleness is known.
    """
    frames = [_staler(level) for level in levels if level.stale is not None]
    if not frames:
        raise NothingToDraw("no read's staleness is known")
    data = pl.concat(frames)
    # A level all of whose reads were fresh has no row.
    if data.is_empty() or data.get_column("most").max() == 0:
        raise NothingToDraw("every read was fresh for certain")
    reads = max(level.stale.reads for level in levels if level.stale is not None)
    # One read of all is the least that a share can be.
    floor = 10.0 ** -len(str(reads))
    data = data.with_columns(
        pl.col("least").clip(lower_bound=floor).alias("least_"),
        pl.col("most").clip(lower_bound=floor).alias("most_"),
        pl.when(pl.col("least") > 0).then("least").alias("certain"),
        (pl.col("least").max().over("panel", "series") > 0).alias("bounded"),
    )
    domain_x = _times(data)
    colour, _, _ = channels(_names(levels), style, of=of)

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        x = alt.X(
            "t_ms:Q",
            title=x_title,
            scale=alt.Scale(type="log", domain=domain_x, nice=False),
            axis=alt.Axis(values=DECADES, format=",~r", grid=True, labelOverlap="greedy"),
        )
        scale = alt.Scale(type="log", domain=[floor, 1], nice=False)
        axis = alt.Axis(values=DECADES, format="~p", grid=True)
        base = alt.Chart(part).encode(x=x, color=colour)
        y = alt.Y("least_:Q", title=y_title, scale=scale, axis=axis)
        band = base.mark_area(opacity=0.16, clip=True).encode(y=y, y2=alt.Y2("most_:Q"))
        edge = base.mark_line(strokeWidth=1, strokeDash=[2, 2], clip=True)
        line = base.mark_line(strokeWidth=2.2, clip=True)
        # Only a band with a solid edge says more than its dotted one.
        band = band.transform_filter("datum.bounded")
        return alt.layer(
            band,
            edge.encode(y=alt.Y("most_:Q", scale=scale)),
            line.encode(y=alt.Y("certain:Q", scale=scale)),
        )

    return finish(
        grid(
            data,
            panel,
            "t: time since the value was replaced (ms)",
            "reads staler than t",
            style,
        ),
        style,
        "How stale reads were",
        "Solid: certainly stale; dotted: possibly stale; band: uncertain. No solid line: no read "
        "was certainly stale",
    )


def _times(data: pl.DataFrame) -> tuple[float, float]:
    """Return from which time on shares change, and until when a share is left."""
    same = (
        data.with_columns(
            (pl.col(name) == pl.col(name).first().over("panel", "series")).alias(f"{name}_same")
            for name in ("least", "most")
        )
        .group_by("t_ms")
        .agg(pl.col("least_same", "most_same").all())
        .filter(pl.col("least_same") & pl.col("most_same"))
    )
    left = data.filter(pl.col("most") > 0)
    first, last = (max(of.get_column("t_ms").to_list()) for of in (same, left))
    return first, last


def _staler(level: Level) -> pl.DataFrame:
    """Return ``t_ms, least, most``: shares of the reads of all runs that were as stale, or more."""
    bins = pl.concat(
        pl.DataFrame([b.model_dump() for b in seen.staleness.bins], infer_schema_length=None)
        for seen in level.each
        if seen.staleness.bins
    )
    summed = bins.group_by("from_ns").agg(pl.col("least", "most").sum()).sort("from_ns")
    beyond = [pl.col(name).cum_sum(reverse=True) / pl.col(name).sum() for name in ("least", "most")]
    return (
        summed.with_columns(*beyond)
        .filter(pl.col("from_ns") >= 1e3)  # noqa: PLR2004 - a microsecond
        .select(
            (pl.col("from_ns") / 1e6).alias("t_ms"),
            "least",
            "most",
            pl.lit(level.panel).alias("panel"),
            pl.lit(level.level).alias("series"),
        )
    )


def visibility(
    levels: Sequence[Level], *, of: Sequence[str] = (), style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw the probability that a read sees the newest acknowledged write, or something newer.

    What a model predicts is dashed. ``of`` has all levels of the design, in the order of their
    colours.

    Raises
    ------
    NothingToDraw
        No read began after an acknowledged write of its record.
    """
    frames = [_seen(level) for level in levels if any(seen.visibility for seen in level.each)]
    data = pl.concat(frames) if frames else pl.DataFrame()
    if data.height == 0:
        raise NothingToDraw("no read began after an acknowledged write of its record")
    models = [
        _said(level, level.predicted) for level in levels if not isinstance(level.predicted, str)
    ]
    predicted = pl.concat(models) if models else None
    lowest = float(data.select(pl.min_horizontal("low", "seen").min()).item())
    times_ms = data.get_column("t_ms").to_list()
    domain_x = (min(times_ms), max(times_ms))
    colour, _, _ = channels(_names(levels), style, of=of)

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        x = alt.X(
            "t_ms:Q",
            title=x_title,
            scale=alt.Scale(type="log", domain=domain_x, nice=False),
            axis=alt.Axis(values=DECADES, format=",~r", grid=True, labelOverlap="greedy"),
        )
        scale = alt.Scale(domain=[min(0.9, lowest), 1], nice=True)
        y_axis = alt.Axis(format="~p", tickCount=5)
        base = alt.Chart(part).encode(x=x, color=colour)
        y = alt.Y("seen:Q", title=y_title, scale=scale, axis=y_axis)
        layers: list[alt.Chart] = [
            base.mark_area(opacity=0.16, clip=True).encode(
                y=alt.Y("low:Q", scale=scale),
                y2=alt.Y2("high:Q"),
            ),
            base.mark_line(strokeWidth=2).encode(y=y),
        ]
        name = part.get_column("panel")[0]
        if predicted is not None:
            said = predicted.filter(pl.col("panel") == name)
            line = alt.Chart(said).mark_line(strokeWidth=1.6, strokeDash=[5, 3], clip=True)
            layers.append(line.encode(x=x, y=alt.Y("probability:Q", scale=scale), color=colour))
        return alt.layer(*layers)

    note = "" if predicted is None else "; dashed: predicted"
    return finish(
        grid(
            data,
            panel,
            "time since it was acknowledged (ms)",
            "reads that see the write",
            style,
        ),
        style,
        "How soon a write is visible",
        "Share of reads that see a record's newest acknowledged write, by the time since its "
        f"acknowledgement; band: uncertain{note}",
    )


def _said(level: Level, predicted: pl.DataFrame) -> pl.DataFrame:
    return predicted.filter(pl.col("from_ns") > 0).select(
        (pl.col("from_ns") / 1e6 * _HALF_A_BIN).alias("t_ms"),
        "probability",
        pl.lit(level.panel).alias("panel"),
        pl.lit(level.level).alias("series"),
    )


def _seen(level: Level) -> pl.DataFrame:
    """Return ``t_ms, seen, low, high`` of all runs: by the time since the newest write."""
    bins = pl.concat(
        pl.DataFrame([b.model_dump() for b in seen.visibility], infer_schema_length=None)
        for seen in level.each
        if seen.visibility
    )
    total = pl.sum_horizontal("seen", "unseen", "untold")
    told = pl.col("seen") + pl.col("unseen")
    return (
        bins.group_by("from_ns")
        .agg(pl.col("seen", "unseen", "untold").sum())
        .sort("from_ns")
        .filter((total >= FEWEST_READS) & (told > 0) & (pl.col("from_ns") > 0))
        .select(
            (pl.col("from_ns") / 1e6 * _HALF_A_BIN).alias("t_ms"),
            (pl.col("seen") / told).alias("seen"),
            (pl.col("seen") / total).alias("low"),
            (1 - pl.col("unseen") / total).alias("high"),
            pl.lit(level.panel).alias("panel"),
            pl.lit(level.level).alias("series"),
        )
    )
