"""What models predict over users: the solution as lines, the simulation as points on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pacelc.plots.layout import NothingToDraw, channels, finish, grid
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pacelc.plots.layout import Panel

__all__ = ["predicted"]


def predicted(
    data: pl.DataFrame, *, title: str, series: Sequence[str], style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw one line and its points a series, one panel a measure.

    Parameters
    ----------
    data
        As :func:`pacelc.networks.predictions.predictions` makes it.
    title
        Of the figure.
    series
        Names in the order of their colours.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        There are no points.
    """
    if data.height == 0:
        raise NothingToDraw("nothing was predicted")
    names = [name for name in series if name in set(data.get_column("series"))]
    colour, shape, _ = channels(names, style, of=series)
    last = max(data.get_column("x").to_list())

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        unit = part.get_column("panel")[0]
        ends = part.get_column("high").drop_nulls().to_list()
        top = 1.05 * max((*part.get_column("value").to_list(), *ends))
        x = alt.X("x:Q", title=x_title, scale=alt.Scale(domain=[0, last * 1.04], nice=False))
        y = alt.Y(
            "value:Q",
            title=y_title,
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(tickCount=5),
        )
        base = alt.Chart(part).encode(x=x, color=colour)
        solved = base.transform_filter(alt.datum.source == "solver")
        simulated = base.transform_filter(alt.datum.source == "simulation")
        tooltip = [
            alt.Tooltip("series:N"),
            alt.Tooltip("source:N"),
            alt.Tooltip("x:Q"),
            alt.Tooltip("value:Q", format=",.4~g", title=str(unit)),
        ]
        return alt.layer(
            solved.mark_line(strokeWidth=2).encode(y=y, tooltip=tooltip),
            simulated.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
                y=alt.Y("low:Q", title=""), y2=alt.Y2("high:Q")
            ),
            simulated.mark_point(filled=True, size=40, opacity=1).encode(
                y=y, shape=shape, tooltip=tooltip
            ),
        )

    sources = set(data.get_column("source"))
    note = {
        frozenset({"solver"}): "Solved",
        frozenset({"simulation"}): "Simulated; bars are 95 % intervals",
    }.get(frozenset(sources), "Lines are solved, points simulated; bars are 95 % intervals")
    if len(names) == 1:
        note = f"{names[0]}. {note}"
    return finish(grid(data, panel, "users", "", style), style, title, note)
