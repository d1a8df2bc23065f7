"""What candidates of a plan come to: the slower percentile over nodes, and the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from pacelc.plots.layout import NothingToDraw, TooMuchToDraw, finish
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from pacelc.planning.answer import Plan

__all__ = ["planned"]

_MS_PER_S = 1e3
_MOST_LINES = 12
_HIGHEST = 4
"""Limits high: what is slower doesn't matter."""


def planned(plan: Plan, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw a line a kind of node, points where simulated, bars where predicted, and the limit.

    Raises
    ------
    NothingToDraw
        No candidate's percentile is anywhere near the limit.
    TooMuchToDraw
        There are more kinds of nodes than colours.
    """
    load = plan.load
    top = load.limit_s * _HIGHEST * _MS_PER_S
    kind_of = {row.cluster: row.cluster.label.partition(" of ")[2] for row in plan.rows}
    solved = [
        (kind_of[row.cluster], row.cluster.nodes, max(row.percentile_s.values()) * _MS_PER_S)
        for row in plan.rows
    ]
    simulated: list[tuple[str, int, float, float | None, float | None]] = []
    for row, found in plan.simulated:
        kind, slow = max(found.percentile_s.items(), key=lambda one: one[1].value or 0.0)
        if slow.value is None:
            continue
        low = high = None
        if row.cluster in plan.predictions:
            # What can't keep up is beyond the figure.
            interval = plan.predictions[row.cluster].percentile_s[kind]
            low, high = (min(s * _MS_PER_S, top) for s in (interval.low, interval.high))
        value = slow.value * _MS_PER_S
        simulated.append((kind_of[row.cluster], row.cluster.nodes, value, low, high))
    schema = {"kind": pl.String, "nodes": pl.Int64, "value": pl.Float64}
    lines = pl.DataFrame(solved, schema=schema, orient="row").filter(
        pl.col("value").is_finite(), pl.col("value") <= top
    )
    if lines.height == 0:
        raise NothingToDraw("no candidate comes near the limit")
    ends = {"low": pl.Float64, "high": pl.Float64}
    points = pl.DataFrame(simulated, schema=schema | ends, orient="row")
    kinds = [kind for kind in dict.fromkeys(kind_of.values()) if kind in set(lines["kind"])]
    if len(kinds) > _MOST_LINES:
        raise TooMuchToDraw(f"{len(kinds)} kinds of nodes are more than a figure can show")
    colour = alt.Color(
        "kind:N", sort=kinds, scale=alt.Scale(domain=kinds, range=style.colours(len(kinds)))
    )
    title = f"p{load.percent:g} of {' and '.join(f'{k}s' for k in load.kinds)}, the slower (ms)"
    x = alt.X("nodes:Q", title="nodes")
    y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[0, top]))
    tooltip = ["kind:N", "nodes:Q", alt.Tooltip("value:Q", format=",.4~g", title="ms")]
    width, height = (2 * side for side in style.panel)
    line = (
        alt.Chart(lines)
        .mark_line(strokeWidth=2, clip=True)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    bar = (
        alt.Chart(points.drop_nulls())
        .mark_rule(strokeWidth=1.5, clip=True)
        .encode(x="nodes:Q", y="low:Q", y2="high:Q", color=colour)
    )
    point = (
        alt.Chart(points)
        .mark_point(filled=True, size=60, opacity=1, clip=True)
        .encode(x="nodes:Q", y="value:Q", color=colour, tooltip=tooltip)
    )
    limit = (
        alt.Chart(pl.DataFrame({"value": [load.limit_s * _MS_PER_S]}))
        .mark_rule(strokeDash=[4, 3])
        .encode(y="value:Q")
    )
    chart = alt.layer(limit, line, bar, point).properties(width=width, height=height)
    note = "Lines are solved, points simulated; bars hold 90 % of predictions; dashed: the limit"
    return finish(chart, style, f"Clusters at {load.rate_per_s:,.6g} operations/s", note)
