"""What a model predicts beside what was measured: one panel a measure, the model as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt

from pacelc.plots.layout import NothingToDraw, finish, grid, reach
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    import polars as pl

    from pacelc.plots.layout import Panel

__all__ = ["MEASURED", "SIMULATED", "SOLVED", "checked"]

SOLVED: Final = "model, solved"
SIMULATED: Final = "model, simulated"
MEASURED: Final = "measured"
_SHAPES: Final = {SOLVED: "stroke", SIMULATED: "diamond", MEASURED: "circle"}


def checked(
    data: pl.DataFrame, *, title: str, note: str = "", style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw the solved model as a line, the simulated one and what was measured as points.

    Parameters
    ----------
    data
        ``panel, source, x, value, low, high``; ``source`` is :data:`SOLVED`, :data:`SIMULATED` or
        :data:`MEASURED`. Panels come in the order of their first rows, three a row.
    title
        Of the figure.
    note
        Put before what the bars are.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        Nothing was measured.
    """
    sources = [name for name in _SHAPES if name in set(data.get_column("source"))]
    if MEASURED not in sources:
        raise NothingToDraw("no finished runs")
    dark, light = style.colours(2)[::-1] if style.name == "paper" else style.colours(2)
    colours = [light if name == MEASURED else dark for name in sources]
    colour = alt.Color("source:N", sort=sources, scale=alt.Scale(domain=sources, range=colours))
    shapes = [_SHAPES[name] for name in sources]
    shape = alt.Shape("source:N", sort=sources, scale=alt.Scale(domain=sources, range=shapes))
    last = max(data.get_column("x").to_list())

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        highest = max(part.get_column("value").to_list())
        ends = part.get_column("high").drop_nulls().to_list()
        top = 1.05 * reach(highest, ends)
        x = alt.X(
            "x:Q",
            title=x_title,
            scale=alt.Scale(domain=[0, last * 1.04], nice=False),
            axis=alt.Axis(grid=False),
        )
        y = alt.Y(
            "value:Q",
            title=y_title,
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(tickCount=5),
        )
        base = alt.Chart(part).encode(x=x, color=colour)
        tooltip = [
            alt.Tooltip("source:N"),
            alt.Tooltip("x:Q"),
            alt.Tooltip("value:Q", format=",.4~g"),
        ]
        points = base.transform_filter(alt.datum.source != SOLVED)
        return alt.layer(
            base.transform_filter(alt.datum.source == SOLVED)
            .mark_line(strokeWidth=2)
            .encode(y=y, tooltip=tooltip),
            points.mark_rule(strokeWidth=1.5, opacity=0.6, clip=True).encode(
                y=alt.Y("low:Q", title=""), y2=alt.Y2("high:Q")
            ),
            points.mark_point(filled=True, size=45, opacity=1).encode(
                y=y, shape=shape, tooltip=tooltip
            ),
        )

    about = "bars are 95 % intervals; each panel has its own scale"
    note = f"{note}; {about}" if note else about
    note = note[:1].upper() + note[1:]
    return finish(grid(data, panel, "users", "", style), style, title, note)
