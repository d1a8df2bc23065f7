"""Who was served while a partition was in force: a panel a database and level.

Map
---
served_in_partitions    share of what was due that succeeded, over time, from either side
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis.partitions import served
from pacelc.databases import display_name
from pacelc.plots.facets import repeated
from pacelc.plots.faults import SHADE
from pacelc.plots.layout import NothingToDraw, channels, finish
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from pacelc.analysis import Design
    from pacelc.store import Results

__all__ = ["served_in_partitions"]

HEIGHT: Final = 90
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
    present = [s for s in SIDES if s in data.get_column("client")]
    names = [f"client with the {s}" if s != "both" else "client in reach of all" for s in present]
    data = data.with_columns(
        pl.col("client").replace(dict(zip(present, names, strict=True))),
        pl.col("database").map_elements(display_name, return_dtype=pl.String).alias("down"),
        pl.col("level").alias("across"),
    ).with_columns(pl.concat_str("down", "across", separator=", ").alias("panel"))
    titles = {
        "across": [level for level in design.levels if level in data.get_column("level")],
        "down": data.get_column("down").unique(maintain_order=True).to_list(),
    }
    titles = {
        "panel": [f"{down}, {level}" for down in titles["down"] for level in titles["across"]]
    } | titles
    colour, _, _ = channels(names, style, field="client")
    _, _, dash = channels(["reads", "writes"], style, field="kind", lines=True)
    charts: list[Any] = []
    for partition in data.get_column("partition").unique(maintain_order=True):
        part = data.filter(pl.col("partition") == partition)
        lines = (
            alt.Chart()
            .mark_line(strokeWidth=1.5, clip=True)
            .encode(
                x=alt.X("t_s:Q", title="seconds since measuring began", axis=alt.Axis(grid=False)),
                y=alt.Y(
                    "share:Q",
                    title="succeeded",
                    scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(format="%", tickCount=3),
                ),
                color=colour,
                strokeDash=dash.scale(domain=["reads", "writes"], range=[[1, 0], [4, 2]]),
            )
        )
        band = (
            alt.Chart()
            .mark_rect(color=SHADE, opacity=0.13)
            .encode(x=alt.X("min(begin_s):Q"), x2=alt.X2("max(end_s):Q"))
        )
        panels = repeated(
            titles, replace(style, panel=(style.panel[0], HEIGHT)), [band, lines], part
        )
        title = alt.Title(str(partition), anchor="start", fontSize=style.font_size + 1)
        charts.append(panels.properties(title=title))
    return finish(
        alt.vconcat(*charts, spacing=24),
        style,
        "Operations served on each side of a partition",
        "Share of the operations due in each second that succeeded; shaded: the partition",
    )
