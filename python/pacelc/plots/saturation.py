"""Response time against throughput, as a search or a ladder of rates found it.

latency_by_throughput       one panel a scenario: runs, objective, bracket, knee
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.plots.figures import NothingToDraw
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.saturation.answer import Answer
    from pacelc.saturation.knee import Knee
    from pacelc.saturation.objective import Objective, Outcome

__all__ = ["latency_by_throughput"]

_SIZE: Final = (400, 270)
_COLUMNS: Final = 2
_QUIET: Final = "#666666"
_BAND: Final = "#E69F00"
_ONE_TWO_FIVE: Final = tuple(m * 10.0**e for e in range(-4, 8) for m in (1, 2, 5))
_FINE: Final = tuple(m * 10.0**e for e in range(-4, 8) for m in (1, 1.5, 2, 3, 4, 6, 8))
_TITLES: Final = {"mean": "mean", "p50": "p50 (median)", "p99": "p99", "p999": "p99.9"}
_ROOM_FOR_A_LABEL: Final = 1.6
_FEWEST_TICKS: Final = 4
_MOST_TICKS: Final = 7


def latency_by_throughput(
    answers: Sequence[Answer], objective: Objective, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Draw percentiles of response time by the throughput that was reached, both logarithmic.

    Lines join the means of the rates in ascending order, so that past saturation, where more is
    asked and no more is done, they turn upwards or back. Runs in which the client was the limit say
    nothing of the database, and are in no line.

    Raises
    ------
    NothingToDraw
        There are no runs with latencies.
    """
    shown = [answer for answer in answers if _rows(answer, ["p50"])]
    if not shown:
        raise NothingToDraw("no finished runs")
    series = [name for name in _TITLES if name in {"p50", "p99", *objective.latency_s}]
    panels: list[alt.LayerChart | alt.FacetChart] = []
    for place, answer in enumerate(shown):
        last_row = place + _COLUMNS >= len(shown)
        panels.append(
            _panel(
                answer,
                objective,
                series,
                style,
                x_title="operations answered a second" if last_row else "",
                y_title="response time (ms)" if place % _COLUMNS == 0 else "",
            )
        )
    searched = any(answer.status != "ladder" for answer in shown)
    notes = ["A point is a run"]
    marks = {_mark(rung.verdict.outcome) for answer in shown for rung in answer.rungs}
    if "failed" in marks:
        notes.append(f"a cross: it did not hold {objective}" if searched else _NOT_KEPT)
    if "other" in marks:
        notes.append("hollow: the client was the limit")
    if any(_bracket(answer) for answer in shown):
        notes.append("band: where it ceases to hold")
    grid: Any = alt.concat(*panels, columns=_COLUMNS, spacing={"row": 50, "column": 50})
    finished: alt.TopLevelMixin = grid.properties(
        title=alt.Title("Response time by throughput", subtitle="; ".join(notes))
    ).configure(**style.config())
    return finished


_NOT_KEPT: Final = "a cross: the rate could not be kept"


def _panel(
    answer: Answer,
    objective: Objective,
    series: Sequence[str],
    style: Style,
    *,
    x_title: str,
    y_title: str,
) -> alt.LayerChart | alt.FacetChart:
    runs = pl.DataFrame(_rows(answer, series))
    means = (
        runs.filter(pl.col("outcome") != "other")
        .group_by("series", "rate", maintain_order=True)
        .agg(pl.col("throughput").mean(), pl.col("ms").log().mean().exp())
    )
    limits = [(name, 1000 * s) for name, s in objective.latency_s.items()]
    xs = [*runs.get_column("throughput"), *_bracket(answer)]
    ys = [*runs.get_column("ms"), *(ms for _, ms in limits)]
    x_domain, y_domain = _domain(xs), _domain(ys, room=_ROOM_FOR_A_LABEL)
    x = alt.X(
        "throughput:Q",
        title=x_title,
        scale=alt.Scale(type="log", domain=x_domain, nice=False),
        axis=alt.Axis(values=_ticks(x_domain), format=",~g", grid=False),
    )
    y = alt.Y(
        "ms:Q",
        title=y_title,
        scale=alt.Scale(type="log", domain=y_domain, nice=False),
        axis=alt.Axis(values=_ticks(y_domain), format=",~g"),
    )
    titles = [_TITLES[name] for name in series]
    colour = alt.Color(
        "series:N", sort=titles, scale=alt.Scale(domain=titles, range=style.colours(len(titles)))
    )
    base = alt.Chart(runs, width=_SIZE[0], height=_SIZE[1]).encode(x=x, y=y, color=colour)
    layers: list[Any] = [
        *_band(answer, style),
        *_limits(limits, x_domain[0], style),
        *_knee(answer.knee, y_domain[0], style),
        alt.Chart(means)
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, color=colour, order=alt.Order("rate:Q")),
        base.transform_filter("datum.outcome == 'held'").mark_point(
            filled=True, size=45, opacity=1
        ),
        base.transform_filter("datum.outcome == 'other'").mark_point(
            filled=False, size=45, strokeWidth=1.6, opacity=1
        ),
        base.transform_filter("datum.outcome == 'failed'").mark_point(
            shape="M-0.6,-0.6L0.6,0.6M-0.6,0.6L0.6,-0.6", size=60, strokeWidth=1.8, opacity=1
        ),
    ]
    return alt.layer(*layers).properties(
        title=alt.Title(answer.label, anchor="middle", fontSize=style.font_size + 1, offset=6)
    )


def _rows(answer: Answer, series: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "series": _TITLES[name],
            "rate": rung.rate_per_s,
            "throughput": rung.throughput_per_s,
            "ms": ms,
            "outcome": _mark(rung.verdict.outcome),
        }
        for rung in answer.rungs
        for name in series
        if (ms := getattr(rung, f"{name}_ms")) is not None and rung.throughput_per_s > 0
    ]


def _mark(outcome: Outcome) -> str:
    """Return what a run says of the database: it held, it failed, or it is not to blame."""
    return outcome if outcome in {"held", "failed"} else "other"


def _bracket(answer: Answer) -> list[int]:
    """Return the two rates between which the objective ceases to hold, if that is known."""
    ends = [rate for rate in (answer.low, answer.high) if rate is not None]
    return ends if answer.status == "found" else []


def _band(answer: Answer, style: Style) -> list[alt.Chart]:
    if not (ends := _bracket(answer)):
        return []
    low, high = ends
    text = f"{low:,} to {high:,}/s"
    data = pl.DataFrame({"low": [low], "high": [high], "text": [text]})
    band = (
        alt.Chart(data)
        .mark_rect(color=_BAND, opacity=0.45)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    )
    label = (
        alt.Chart(data)
        .mark_text(align="right", dx=-6, dy=9, fontSize=style.font_size, fontWeight="bold")
        .encode(x=alt.X("low:Q"), y=alt.value(0), text=alt.Text("text:N"))
    )
    return [band, label]


def _limits(limits: Sequence[tuple[str, float]], left: float, style: Style) -> list[alt.Chart]:
    if not limits:
        return []
    data = pl.DataFrame(
        {
            "ms": [ms for _, ms in limits],
            "left": [left] * len(limits),
            "text": [f"{_TITLES[name].split()[0]} ≤ {ms:g} ms" for name, ms in limits],
        }
    )
    rule = alt.Chart(data).mark_rule(strokeDash=[6, 3], color="#222222").encode(y=alt.Y("ms:Q"))
    label = (
        alt.Chart(data)
        .mark_text(align="left", dx=4, dy=-7, fontSize=style.font_size)
        .encode(x=alt.X("left:Q"), y=alt.Y("ms:Q"), text=alt.Text("text:N"))
    )
    return [rule, label]


def _knee(knee: Knee | str, bottom: float, style: Style) -> list[alt.Chart]:
    if isinstance(knee, str):
        return []
    data = pl.DataFrame(
        {
            "x": [knee.throughput_per_s],
            "bottom": [bottom],
            "text": [f"knee {knee.throughput_per_s:,.0f}/s"],
        }
    )
    rule = alt.Chart(data).mark_rule(strokeDash=[2, 3], color=_QUIET).encode(x=alt.X("x:Q"))
    label = (
        alt.Chart(data)
        .mark_text(align="right", dx=-5, dy=-8, color=_QUIET, fontSize=style.font_size)
        .encode(x=alt.X("x:Q"), y=alt.Y("bottom:Q"), text=alt.Text("text:N"))
    )
    return [rule, label]


def _domain(values: Sequence[float], room: float = 1.0) -> list[float]:
    return [min(values) / 1.25 / room, max(values) * 1.25]


def _ticks(domain: Sequence[float]) -> list[float]:
    ticks = [tick for tick in _ONE_TWO_FIVE if domain[0] <= tick <= domain[1]]
    if len(ticks) < _FEWEST_TICKS:
        return [tick for tick in _FINE if domain[0] <= tick <= domain[1]]
    if len(ticks) <= _MOST_TICKS:
        return ticks
    decades = [tick for tick in ticks if f"{tick:e}".startswith("1.0")]
    return decades if len(decades) > 1 else ticks
