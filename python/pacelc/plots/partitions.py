"""Who was served while a partition was in force: a panel a database and level.

Map
---
served_in_partitions    share of what was due that succeeded, over time, from either side
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis.partitions import served
from pacelc.plots.layout import NothingToDraw, TooMuchToDraw, finish
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from pacelc.analysis import Design
    from pacelc.store import Results

__all__ = ["served_in_partitions"]

WIDTH: Final = 210
HEIGHT: Final = 90
MOST_PANELS: Final = 24
SIDES: Final = ("minority", "majority", "both")


def served_in_partitions(
    results: Results, design: Design, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw the share of what was due that succeeded, second by second, runs together.

    Raises
    ------
    NothingToDraw
        No run had a partition.
    """
    data = served(results, design)
    if data.height == 0:
        raise NothingToDraw("no run had a partition")
    panels = data.select("partition", "database", "level").unique().height
    if panels > MOST_PANELS:
        raise TooMuchToDraw(f"{panels} panels are more than a figure can show")
    present = [s for s in SIDES if s in data.get_column("client")]
    names = [f"client with the {s}" if s != "both" else "client in reach of all" for s in present]
    data = data.with_columns(pl.col("client").replace(dict(zip(present, names, strict=True))))
    levels = [level for level in design.levels if level in data.get_column("level")]
    databases = data.get_column("database").unique(maintain_order=True).to_list()
    charts: list[Any] = []
    for partition in data.get_column("partition").unique(maintain_order=True):
        part = data.filter(pl.col("partition") == partition)
        lines = (
            alt.Chart(width=WIDTH, height=HEIGHT)
            .mark_line(strokeWidth=1.5, clip=True)
            .encode(
                x=alt.X("t_s:Q", title="seconds since measuring began", axis=alt.Axis(grid=False)),
                y=alt.Y(
                    "share:Q",
                    title="served",
                    scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(format="%", tickCount=3),
                ),
                color=alt.Color(
                    "client:N", scale=alt.Scale(domain=names, range=style.colours(len(names)))
                ),
                strokeDash=alt.StrokeDash(
                    "kind:N", scale=alt.Scale(domain=["reads", "writes"], range=[[1, 0], [4, 2]])
                ),
            )
        )
        band = (
            alt.Chart()
            .mark_rect(color="#8a8a8a", opacity=0.13)
            .encode(x="min(begin_s):Q", x2="max(end_s):Q")
        )
        layers: Any = alt.layer(band, lines, data=part)
        panels_of_it = layers.facet(
            row=alt.Row("database:N", sort=databases, title=None),
            column=alt.Column("level:N", sort=levels, title=None),
            spacing=14,
        )
        title = alt.Title(str(partition), anchor="start", fontSize=13)
        charts.append(panels_of_it.properties(title=title))
    return finish(
        alt.vconcat(*charts, spacing=24),
        style,
        "Operations served on each side of a partition",
        "Share of the operations due in each second that succeeded; shaded: the partition",
    )
