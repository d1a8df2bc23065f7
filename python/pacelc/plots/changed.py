"""Throughput and response over time, while something changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.plots.faults import HEIGHT, LINE_PX, SHADE
from pacelc.plots.layout import NothingToDraw, finish, reach
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.plots.layout import Panel

__all__ = ["changed"]

_MS_PER_S: Final = 1e3
_ENDS: Final = ("", "_low", "_high")
WIDTH: Final = 620
LETTER_PX: Final = 6
ASIDE_PX: Final = 4
"""How long a label is: of its letters, and its distance from the rule."""


def changed(
    data: pl.DataFrame,
    events: Sequence[tuple[float, str]],
    *,
    title: str,
    note: str,
    style: Style = SCREEN,
) -> alt.TopLevelMixin:
    """Draw a line and a band of intervals a chain of classes, throughput above response.

    Parameters
    ----------
    data
        As :meth:`pacelc.networks.changes.Changed.frame` makes it.
    events
        Seconds, and what changes then; each is a labelled line.
    title, note
        Above the figure.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        There are no intervals.
    """
    if data.height == 0:
        raise NothingToDraw("no time has gone by")
    data = data.with_columns(
        # The middle of each: a line through beginnings would fall before the change does.
        ((pl.col("from_s") + pl.col("to_s")) / 2).alias("t_s"),
        *((pl.col(f"response_s{end}") * _MS_PER_S).alias(f"response_ms{end}") for end in _ENDS),
    )
    until_s = max(data.get_column("to_s").to_list())
    chains = data.get_column("chain").unique(maintain_order=True).to_list()
    colour = alt.Color(
        "chain:N",
        sort=chains,
        scale=alt.Scale(domain=chains, range=style.colours(len(chains))),
        legend=alt.Legend() if len(chains) > 1 else None,
    )
    marks = _labelled(events, until_s)

    def panel(column: str, y_title: str, *, top: bool) -> Panel:
        x = alt.X(
            "t_s:Q",
            scale=alt.Scale(domain=[0, until_s], nice=False),
            title="" if top else "seconds",
            axis=alt.Axis(grid=False, tickCount=12, labels=not top),
        )
        mean, high = (max(data[name].drop_nulls(), default=0.0) for name in _both(column))
        highest = reach(mean, [high]) or 1.0
        # Room for labels above the line.
        lines = marks.get_column("line").n_unique() if top else 0
        room = LINE_PX * lines + 6 * (lines > 0)
        scale = alt.Scale(domain=[0, 1.03 * highest * HEIGHT / (HEIGHT - room)], nice=False)
        y = alt.Y(f"{column}:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=4))
        base = alt.Chart(data, width=WIDTH, height=HEIGHT).encode(x=x, color=colour)
        tooltip = [
            alt.Tooltip("from_s:Q"),
            alt.Tooltip("to_s:Q"),
            alt.Tooltip("chain:N"),
            alt.Tooltip(f"{column}:Q", format=",.4~g"),
        ]
        return alt.layer(
            *_lines(marks, labelled=top),
            # A mean belongs to its whole interval.
            base.mark_area(opacity=0.2, interpolate="step", clip=True).encode(
                y=alt.Y(f"{column}_low:Q", title=""), y2=f"{column}_high:Q"
            ),
            base.mark_line(strokeWidth=1.8, interpolate="step", clip=True).encode(y=y),
            base.mark_point(filled=True, size=18, opacity=1).encode(y=y, tooltip=tooltip),
        )

    chart: Any = alt.vconcat(
        panel("throughput_per_s", "throughput (/s)", top=True),
        panel("response_ms", "mean response (ms)", top=False),
        spacing=14,
    )
    return finish(chart.resolve_scale(color="shared"), style, title, note)


def _both(column: str) -> tuple[str, str]:
    return column, f"{column}_high"


def _labelled(events: Sequence[tuple[float, str]], until_s: float) -> pl.DataFrame:
    """Return ``at_s, label, side, line``: on which line a label stands, so that none hides another.

    A label is right of its rule, or left where it would leave the figure.
    """
    together: dict[float, list[str]] = {}
    for at_s, label in sorted(events):
        together.setdefault(at_s, []).append(label)
    rows: list[tuple[float, str, str, int]] = []
    taken: list[tuple[float, float, int]] = []
    for at_s, labels in together.items():
        text = ", ".join(labels)
        begin_px, long_px = at_s / until_s * WIDTH, LETTER_PX * len(text) + 2 * ASIDE_PX
        side = "left" if begin_px + long_px > WIDTH else "right"
        from_px = begin_px - long_px if side == "left" else begin_px
        used = {line for begin, end, line in taken if begin < from_px + long_px and from_px < end}
        free = next(line for line in range(len(taken) + 1) if line not in used)
        taken.append((from_px, from_px + long_px, free))
        rows.append((at_s, text, side, free))
    schema = {"at_s": pl.Float64, "label": pl.String, "side": pl.String, "line": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _lines(marks: pl.DataFrame, *, labelled: bool) -> list[alt.Chart]:
    rules = alt.Chart(marks).mark_rule(color=SHADE, strokeWidth=1).encode(x=alt.X("at_s:Q"))
    if not labelled:
        return [rules]
    places = marks.select("side", "line").unique(maintain_order=True)
    texts = [
        alt.Chart(marks.filter(side=side, line=line))
        .mark_text(
            align="right" if side == "left" else "left",
            baseline="top",
            dx=-ASIDE_PX if side == "left" else ASIDE_PX,
            dy=3 + LINE_PX * line,
            fontSize=11,
        )
        .encode(x=alt.X("at_s:Q"), y=alt.value(0), text=alt.Text("label:N"))
        for side, line in places.iter_rows()
    ]
    return [rules, *texts]
