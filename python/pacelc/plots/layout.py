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
    "NothingToDraw",
    "TooMuchToDraw",
    "amounts",
    "channels",
    "finish",
    "grid",
    "lines_of",
    "reach",
    "shared_scale",
    "upright",
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
_WIDTH: Final = 560
"""Room for a figure's title: two panels and their axes."""
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
    columns = 2 if len(order) == 4 else min(3, len(order))  # noqa: PLR2004 - two by two
    size = style.font_size + 1
    titles = [lines_of(name, style.panel[0] + style.gap, size) for name in order]
    lines = max(len(title) for title in titles)
    across = lines_of(x_title, style.panel[0] + style.gap, style.font_size)
    charts: list[Panel] = []
    for place, (name, broken) in enumerate(zip(order, titles, strict=True)):
        x = across if place + columns >= len(order) else ""
        y = upright(y_title, style) if place % columns == 0 else ""
        title = alt.Title(broken, anchor="middle", fontSize=size, offset=6)
        charts.append(panel(data.filter(pl.col("panel") == name), x, y).properties(title=title))
    spacing = {"row": style.gap + (lines - 1) * (size + 3), "column": style.gap}
    return alt.concat(*charts, columns=columns, spacing=spacing, bounds="flush", align="all")


def upright(title: str, style: Style) -> list[str]:
    """Break the title of a vertical axis that is longer than the axis."""
    return lines_of(title, 1.1 * style.panel[1], style.font_size)


def lines_of(text: str, room_px: float, font_size: int) -> list[str]:
    """Break a text so that each line fits."""
    return textwrap.wrap(text, max(8, int(room_px / (_LETTER * font_size)))) or [""]


def reach(highest: float, ends: Iterable[float]) -> float:
    """Return up to where a panel shows intervals; ``highest`` is the highest mean of them."""
    return min(max((highest, *ends)), _HIGHEST * highest)


def shared_scale(frame: pl.DataFrame) -> tuple[alt.Scale, str]:
    """Return one scale for all panels, and what to say of it.

    From 0; logarithmic where the least value couldn't be told from 0.

    Parameters
    ----------
    frame
        ``value, low, high`` of all panels, in all figures of a kind.
    """
    values = frame.get_column("value").drop_nulls()
    least, most = float(values.min() or 0.0), float(values.max() or 0.0)  # pyright: ignore[reportArgumentType]
    ends = frame.get_column("high").drop_nulls().to_list()
    top = reach(most, ends) or 1.0
    if least > 0 and most > _WIDE * least:
        low = frame.filter(pl.col("low") > 0).get_column("low").to_list()
        bottom = max(min((least, *low)), least / _HIGHEST)
        return alt.Scale(
            type="log", domain=[bottom / 1.1, top * 1.1], nice=False
        ), "; logarithmic axis"
    return alt.Scale(domain=[0, 1.03 * top], nice=False), ""


def amounts(scale: alt.Scale, *, most: int = 6) -> alt.Axis:
    """Plain numbers, and few: at most so many on a logarithmic axis, where decades allow it."""
    if scale.to_dict().get("type") != "log":
        return alt.Axis(tickCount=min(5, most), format=",~f")
    low, high = scale.to_dict()["domain"]
    ticks = [t for t in _ONE_TWO_FIVE if low <= t <= high]
    decades = [t for t in _DECADES if low <= t <= high]
    if len(ticks) > most and len(decades) > 1:
        ticks = decades
    return alt.Axis(values=ticks, format=",~r")


def channels(names: Sequence[str], style: Style) -> tuple[alt.Color, alt.Shape]:
    """Return what tells series apart, in the order of their names; of one there is no legend."""
    colours, shapes = style.colours(len(names)), style.shapes(len(names))
    colour = alt.Color("series:N", sort=names, scale=alt.Scale(domain=names, range=colours))
    shape = alt.Shape("series:N", sort=names, scale=alt.Scale(domain=names, range=shapes))
    if len(names) <= 1:
        return colour.legend(None), shape.legend(None)
    return colour, shape


def finish(chart: Any, style: Style, title: str, subtitle: str | list[str]) -> alt.TopLevelMixin:
    """Put title and style on a chart."""
    notes = [subtitle] if isinstance(subtitle, str) else subtitle
    if style.titled:
        size = style.font_size
        head = alt.Title(
            lines_of(title, _WIDTH, size + 3),
            subtitle=[line for note in notes for line in lines_of(note, _WIDTH, size)],
        )
        chart = chart.properties(title=head)
    # Read aloud, and kept where the title isn't drawn.
    chart = chart.properties(description=f"{title}. {'. '.join(notes)}")
    finished: alt.TopLevelMixin = chart.configure(**style.config())
    return finished
