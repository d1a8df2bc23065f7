"""How a figure is put together: panels side by side, titles where a reader looks for them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import altair as alt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pacelc.plots.style import Style

    Panel: TypeAlias = alt.LayerChart | alt.FacetChart

__all__ = [
    "MOST_PANELS",
    "SEVERAL_ROWS",
    "NothingToDraw",
    "TooMuchToDraw",
    "amounts",
    "channels",
    "finish",
    "grid",
    "legend",
    "lines_of",
    "lying",
    "reach",
    "shared_scale",
    "upright",
    "width_px",
]


_HIGHEST: Final = 2.0
"""Heights of the highest mean that a panel shows: the interval of two runs may have twenty."""
_WIDE: Final = 20
"""From this ratio of the highest mean to the lowest on, an axis is logarithmic."""
_DECADES: Final = tuple(10.0**e for e in range(-6, 9))
_ONE_TWO_FIVE: Final = tuple(m * decade for decade in _DECADES for m in (1, 2, 5))


class NothingToDraw(ValueError):  # noqa: N818 - it is a reason, not a fault
    """The results don't hold what this figure shows."""


class TooMuchToDraw(NothingToDraw):
    """There is more than one figure can show; the tables have it."""


_LETTER: Final = 0.56
"""Mean width of a letter, over its height."""
_DASHED_PX: Final = 28
"""Length of a line in a legend, so that its dashes can be told."""
SEVERAL_ROWS: Final = 3
"""Panels side by side where there are several rows of them, in a study's order."""
MOST_PANELS: Final = 24
"""More can't be taken in at once."""


def grid(
    data: pl.DataFrame,
    panel: Callable[[pl.DataFrame, str | list[str], str | list[str]], Panel],
    x_title: str,
    y_title: str,
    style: Style,
) -> alt.ConcatChart:
    """One chart a panel, three a row, each with its own scales.

    A concatenation, not a facet: a facet of five panels in three columns leaves an axis dangling
    under the sixth. Titles of axes stand where a reader looks for them: on the left, and under the
    lowest panel of a column. Titles longer than their panel are broken.

    Raises
    ------
    TooMuchToDraw
        There are more panels than :data:`MOST_PANELS`.
    """
    order = data.get_column("panel").unique(maintain_order=True).to_list()
    if len(order) > MOST_PANELS:
        raise TooMuchToDraw(f"{len(order)} panels are more than a figure can show")
    most = max(1, style.columns - 1)
    columns = 2 if len(order) == 4 and most > 1 else min(most, len(order))  # noqa: PLR2004 - two by two
    width, height = style.panel_of(columns, between=style.gap)
    size = style.font_size + 1
    titles = [lines_of(name, width + style.gap // 2, size) for name in order]
    lines = max(len(title) for title in titles)
    across = lines_of(x_title, width + style.gap // 2, style.font_size)
    charts: list[Panel] = []
    for place, (name, broken) in enumerate(zip(order, titles, strict=True)):
        x = across if place + columns >= len(order) else ""
        y = upright(y_title, style) if place % columns == 0 else ""
        title = alt.Title(broken, anchor="middle", fontSize=size, offset=6)
        chart = panel(data.filter(pl.col("panel") == name), x, y)
        chart.title, chart.width, chart.height = title, width, height
        charts.append(chart)
    spacing = {"row": style.gap + lines * (size + 3), "column": style.gap}
    return alt.concat(*charts, columns=columns, spacing=spacing, bounds="flush", align="all")


def lying(title: str, style: Style) -> list[str]:
    """Break the title of a horizontal axis that is longer than a panel beside others."""
    columns = min(style.columns, SEVERAL_ROWS)
    width, _ = style.panel_of(columns, between=style.gap // 4)
    return lines_of(title, width, style.font_size)


def upright(title: str, style: Style) -> list[str]:
    """Break the title of a vertical axis that is longer than the axis."""
    return lines_of(title, 1.1 * style.panel[1], style.font_size)


def width_px(texts: Iterable[str], font_size: int) -> int:
    """Return how wide the longest of some texts is, about."""
    return round(_LETTER * font_size * max(map(len, texts)))


def lines_of(text: str, room_px: float, font_size: int) -> list[str]:
    """Break a text so that each line fits."""
    return textwrap.wrap(text, max(8, int(room_px / (_LETTER * font_size)))) or [""]


def reach(highest: float, ends: Iterable[float]) -> float:
    """Return up to where a panel shows intervals; ``highest`` is the highest mean of them."""
    return min(max((highest, *ends)), _HIGHEST * highest)


def shared_scale(frame: pl.DataFrame, *, bars: bool = False) -> tuple[alt.Scale, str]:
    """Return one scale for all panels, and what to say of it.

    From 0; logarithmic where the least value couldn't be told from 0. The length of a bar is its
    value: of ``bars``, the scale is never logarithmic.

    Parameters
    ----------
    frame
        ``value, low, high`` of all panels, in all figures of a kind.
    """
    values = frame.get_column("value").drop_nulls()
    least, most = float(values.min() or 0.0), float(values.max() or 0.0)  # pyright: ignore[reportArgumentType]
    ends = frame.get_column("high").drop_nulls().to_list()
    top = reach(most, ends) or 1.0
    if not bars and least > 0 and most > _WIDE * least:
        low = frame.filter(pl.col("low") > 0).get_column("low").to_list()
        bottom = max(min((least, *low)), least / _HIGHEST)
        return alt.Scale(
            type="log", domain=[bottom / 1.1, top * 1.1], nice=False
        ), "; logarithmic axis"
    return alt.Scale(domain=[0, 1.03 * top], nice=False), ""


def amounts(scale: alt.Scale, *, most: int = 6, flush: bool = False) -> alt.Axis:
    """Plain numbers, and few: at most so many on a logarithmic axis, where decades allow it.

    Where they are ``flush``, the first and last don't reach into the next panel.
    """
    if scale.to_dict(validate=False).get("type") != "log":
        return alt.Axis(tickCount=min(5, most), format=",~f", labelFlush=flush)
    low, high = scale.to_dict(validate=False)["domain"]
    ticks = [t for t in _ONE_TWO_FIVE if low <= t <= high]
    decades = [t for t in _DECADES if low <= t <= high]
    if len(ticks) > most and len(decades) > 1:
        ticks = decades
    return alt.Axis(values=ticks, format=",~r", labelFlush=flush)


def channels(
    names: Sequence[str],
    style: Style,
    *,
    of: Sequence[str] = (),
    field: str = "series",
    lines: bool = False,
) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """Return what tells series apart, in the order of their names; of one there is no legend.

    Parameters
    ----------
    names
        Those that the figure shows.
    style
        Colours, shapes and dashes.
    of
        All of the report, in their order: a name has the same colour in every figure.
    field
        The column that has them.
    lines
        Whether they are lines without points: the legend then shows their dashes.
    """
    every = list(of) if set(names) <= set(of) and len(of) <= len(style.palette) else list(names)
    shown = [name for name in every if name in names]
    number = len(every)
    field = f"{field}:N"
    colour = alt.Color(
        field, sort=every, scale=alt.Scale(domain=every, range=style.colours(number))
    )
    shape = alt.Shape(field, sort=every, scale=alt.Scale(domain=every, range=style.shapes(number)))
    dash = alt.StrokeDash(
        field, sort=every, scale=alt.Scale(domain=every, range=style.dashes(number))
    )
    if len(shown) <= 1:
        return colour.legend(None), shape.legend(None), dash.legend(None)
    entries = legend(shown, style, lines=lines)
    return colour.legend(entries), shape.legend(entries), dash.legend(entries)


def legend(names: Sequence[str], style: Style, *, lines: bool = False) -> alt.Legend:
    """Return a legend of these names, as many side by side as there is room for."""
    symbol_px = 3 * style.font_size + (_DASHED_PX if lines else 0)
    entry_px = symbol_px + width_px(names, style.font_size)
    symbol: dict[str, Any] = {"symbolType": "stroke", "symbolSize": _DASHED_PX**2} if lines else {}
    columns = max(1, min(len(names), style.alone // entry_px))
    return alt.Legend(values=list(names), columns=columns, **symbol)


def finish(chart: Any, style: Style, title: str, subtitle: str | list[str]) -> alt.TopLevelMixin:
    """Put title and style on a chart, which is a new one."""
    notes = [subtitle] if isinstance(subtitle, str) else subtitle
    # In place: each of Altair's methods copies all of a chart.
    if style.titled:
        size = style.font_size
        chart.title = alt.Title(
            lines_of(title, style.room, size + 3),
            subtitle=[line for note in notes for line in lines_of(note, style.room, size)],
        )
    # Read aloud, and kept where the title isn't drawn.
    chart.description = f"{title}. {'. '.join(notes)}"
    chart.config = alt.Config(**style.config())
    finished: alt.TopLevelMixin = chart
    return finished
