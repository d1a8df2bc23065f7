"""How a figure is put together: panels side by side, titles where a reader looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import altair as alt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.plots.style import Style

    Panel: TypeAlias = alt.LayerChart | alt.FacetChart

__all__ = ["PANEL", "NothingToDraw", "TooMuchToDraw", "channels", "finish", "grid"]

PANEL: Final = (230, 170)
"""Width and height of one panel."""


class NothingToDraw(ValueError):  # noqa: N818 - it is a reason, not a fault
    """The results don't hold what this figure shows."""


class TooMuchToDraw(NothingToDraw):
    """There is more than one figure can show; the tables have it."""


MOST_PANELS: Final = 24
"""More can't be taken in at once."""


def grid(
    data: pl.DataFrame,
    panel: Callable[[pl.DataFrame, str, str], Panel],
    x_title: str,
    y_title: str,
    panels: Sequence[str] | None = None,
) -> alt.ConcatChart:
    """One chart a panel, three a row, each with its own scales.

    A concatenation, not a facet: a facet of five panels in three columns leaves an axis dangling
    under the sixth. Titles of axes stand where a reader looks for them: on the left, and under the
    lowest panel of a column.

    Raises
    ------
    TooMuchToDraw
        There are more panels than :data:`MOST_PANELS`.
    """
    present = data.get_column("panel").unique(maintain_order=True).to_list()
    order = [p for p in panels if p in present] if panels is not None else present
    if len(order) > MOST_PANELS:
        raise TooMuchToDraw(f"{len(order)} panels are more than a figure can show")
    columns = 2 if len(order) == 4 else min(3, len(order))  # noqa: PLR2004 - two by two
    charts: list[Panel] = []
    for place, name in enumerate(order):
        x = x_title if place + columns >= len(order) else ""
        y = y_title if place % columns == 0 else ""
        title = alt.Title(name, anchor="middle", fontSize=13, offset=6)
        charts.append(panel(data.filter(pl.col("panel") == name), x, y).properties(title=title))
    return alt.concat(
        *charts, columns=columns, spacing={"row": 62, "column": 62}, bounds="flush", align="all"
    )


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
    finished: alt.TopLevelMixin = chart.properties(
        title=alt.Title(title, subtitle=subtitle)
    ).configure(**style.config())
    return finished
