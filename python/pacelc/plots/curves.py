"""Series over a number, in small multiples: what the papers' own figures are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt
import polars as pl

from pacelc.plots.layout import NothingToDraw, channels, finish, grid, reach
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.plots.layout import Panel

__all__ = ["POINTS", "curves", "cut_at_top", "top_of"]

POINTS: Final = pl.Schema(
    {
        "panel": pl.String,
        "series": pl.String,
        "x": pl.Float64,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
    }
)
"""What is drawn, one row a point; null ends where there is no interval."""

_FEW: Final = 5
"""Values of x up to which intervals are bars, and series are set apart: none hides another."""
_APART: Final = 0.02
"""By which share of the axis they are."""
_MANY: Final = 15
"""Points of a series from which each is drawn small."""


def curves(
    data: pl.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    series: Sequence[str],
    note: str = "",
    shared_y: bool = False,
    style: Style = SCREEN,
) -> alt.TopLevelMixin:
    """Draw one line a series over ``x``, one panel each.

    Parameters
    ----------
    data
        ``panel, series, x, value, low, high, n``, one row a point; null ends where there is no
        interval. Panels come in the order of their first rows.
    title, x_title, y_title
        What is shown; titles of axes end with the unit.
    series
        Names in the order of their colours; those without points are left out.
    note
        Put before what the bands are.
    shared_y
        Whether panels share the vertical scale, so that heights can be compared across them.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        There are no points.
    """
    if data.height == 0:
        raise NothingToDraw("no finished runs")
    data = data.with_columns(pl.col("x", "value", "low", "high").cast(pl.Float64))
    names = [name for name in series if name in set(data.get_column("series"))]
    colour, shape, _ = channels(names, style, of=series)
    place = {name: i - (len(names) - 1) / 2 for i, name in enumerate(names)}
    shift = pl.col("series").replace_strict(place, return_dtype=pl.Float64)

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        own = sorted(set(part.get_column("x").to_list()))
        few = len(own) <= _FEW
        size = 18 if len(own) > _MANY else 45
        part = part.with_columns((pl.col("x") + few * _APART * own[-1] * shift).alias("at"))
        x = alt.X(
            "at:Q",
            title=x_title,
            scale=alt.Scale(domain=[0, own[-1] * 1.04], nice=False),
            axis=alt.Axis(values=own, grid=False, labelOverlap="greedy", labelSeparation=6),
        )
        top = top_of(data if shared_y else part)
        y = alt.Y(
            "value:Q",
            title=y_title,
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(tickCount=5),
        )
        base = alt.Chart(part).encode(x=x, color=colour)
        low = alt.Y("low:Q", title="")
        interval = (
            base.mark_rule(opacity=0.6, strokeWidth=1.5, clip=True)
            if few
            else base.mark_area(opacity=0.18, clip=True)
        )
        # A line between two points would say what nobody measured.
        lines = [base.mark_line(strokeWidth=2).encode(y=y)] if len(own) > 2 else []  # noqa: PLR2004
        return alt.layer(
            interval.encode(y=low, y2=alt.Y2("high:Q")),
            *lines,
            base.mark_point(filled=True, size=size, opacity=1).encode(
                y=y,
                shape=shape,
                tooltip=[
                    alt.Tooltip("panel:N"),
                    alt.Tooltip("series:N"),
                    alt.Tooltip("x:Q"),
                    *(alt.Tooltip(f"{c}:Q", format=",.4~g") for c in ("value", "low", "high")),
                    alt.Tooltip("n:Q"),
                ],
            ),
        )

    intervals = data.get_column("low").drop_nulls().len()
    spans = data.filter(pl.col("low").is_not_null()).group_by("panel").agg(pl.col("x").n_unique())
    marks = {"bars" if n <= _FEW else "bands" for n in spans.get_column("x").to_list()}
    about = f"{' and '.join(sorted(marks))} are 95 % intervals across runs"
    if not intervals:
        about = "one run a point: no intervals"
    about += cut_at_top([data] if shared_y else data.partition_by("panel"))
    note = f"{note}; {about}" if note else about
    note = note[:1].upper() + note[1:]
    return finish(grid(data, panel, x_title, y_title, style), style, title, note)


def top_of(data: pl.DataFrame) -> float:
    """Return the upper end of the vertical axis: an interval much longer than its curve goes on."""
    highest = max(data.get_column("value").drop_nulls().to_list(), default=0.0)
    ends = data.get_column("high").drop_nulls().to_list()
    return 1.03 * reach(highest, ends) or 1.0


def cut_at_top(panels: Sequence[pl.DataFrame]) -> str:
    """Return what a note says where intervals reach beyond the axis of :func:`top_of`."""
    cut = any((part.get_column("high") > top_of(part)).any() for part in panels)
    return ", and go on where they reach the top" if cut else ""
