"""Faults over the time series: what users got while something was wrong.

Map
---
faults_over_time    throughput and response time of every scenario with faults, the faults shaded
fault_bands         the shading, for any chart over seconds of a run
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis import Group
from pacelc.analysis.unavailability import faults_frame, operations_by_run
from pacelc.names import counted
from pacelc.plots.layout import NothingToDraw, TooMuchToDraw, channels, finish
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from pacelc.store import Results
    from pacelc.store.format import RunRecord

    _Panel = alt.LayerChart | alt.FacetChart

__all__ = ["fault_bands", "faults_over_time"]

INTERVAL_S: Final = 0.25
MOST_SCENARIOS: Final = 12
HEIGHT: Final = 100
BEFORE_S: Final = 3.0
"""Of the warm-up, so much is shown."""
LINE_PX: Final = 13
SHADE: Final = "#8a8a8a"
DECADES_MS: Final = [10.0**power for power in range(-3, 6)]


def fault_bands(faults: pl.DataFrame | None, *, labelled: bool = True) -> list[alt.Chart]:
    """Return the layers that shade faults.

    Parameters
    ----------
    faults
        ``begin_s``, ``end_s``, ``label``, ``number``: one row a band; None where the chart's own
        data have them.
    labelled
        Whether each says what it is.
    """
    base = alt.Chart(faults) if faults is not None else alt.Chart()
    base = base.transform_filter("isValid(datum.begin_s)")
    bands = base.mark_rect(color=SHADE, opacity=0.18).encode(
        x=alt.X("begin_s:Q"), x2=alt.X2("end_s:Q")
    )
    begin = base.mark_rule(color=SHADE, strokeWidth=1).encode(x=alt.X("begin_s:Q"))
    if faults is None or not labelled:
        return [bands, begin]
    # Beneath one another, so that two faults at a time can both be read.
    labels = [
        alt.Chart(faults.filter(pl.col("number") == number))
        .mark_text(align="left", baseline="top", dx=4, dy=3 + LINE_PX * place, fontSize=11)
        .encode(x=alt.X("begin_s:Q"), y=alt.value(0), text=alt.Text("label:N"))
        for place, number in enumerate(sorted(faults.get_column("number").unique()))
    ]
    return [bands, begin, *labels]


def faults_over_time(results: Results, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw, for each scenario with faults, ok operations a second and their response time.

    An operation counts in the throughput when it ended, and in the response time when it was due:
    so both show when users went without.

    Raises
    ------
    NothingToDraw
        No run had a fault and recorded its operations.
    """
    faults = faults_frame(results).filter(pl.col("begin_s").is_not_null())
    runs = {
        (source, record.run): (record, operations)
        for source, record, operations in operations_by_run(results)
    }
    if faults.height == 0 or not runs:
        raise NothingToDraw("no run with faults has recorded its operations")
    scenarios: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for (source, run), (record, _) in runs.items():
        scenarios.setdefault((source, record.scenario.number), []).append((source, run))
    if len(scenarios) > MOST_SCENARIOS:
        raise TooMuchToDraw(
            f"{counted(len(scenarios), 'scenario')} with faults are more than can be shown"
        )
    kinds = sorted({k for _, ops in runs.values() for k in ops.get_column("operation").unique()})
    colour, _, dash = channels(kinds, style, field="operation", lines=True)
    columns = 2 if style.name == "screen" and len(scenarios) > 1 else 1
    width, _ = style.panel_of(columns, between=style.gap // 2, axes=columns)
    width = style.alone if columns == 1 else width
    charts: list[alt.VConcatChart] = []
    for place, ((source, scenario), names) in enumerate(scenarios.items(), 1):
        series = [_series(run, *runs[source, run]) for source, run in names]
        measured_s = max(runs[name][0].result.measured_s for name in names)
        record = runs[names[0]][0]
        factors = record.scenario.factors
        title = str(Group(tuple(factors), tuple(map(str, factors.values()))))
        own = faults.filter((pl.col("source") == source) & (pl.col("scenario") == scenario))
        bands = _bands(own, measured_s)
        last = place + columns > len(scenarios)
        data = pl.concat(series)
        pair = _pair(data, bands, title, (colour, dash), width, until_s=measured_s, last=last)
        charts.append(alt.vconcat(*pair, spacing=14))
    chart: Any = alt.concat(
        *charts, columns=columns, spacing={"row": 0, "column": style.gap // 2}, align="all"
    )
    chart = chart.resolve_scale(color="shared")
    return finish(
        chart,
        style,
        "Throughput and response time during faults",
        f"One line a run and kind of operation, in intervals of {INTERVAL_S:g} s; shaded: a fault",
    )


def _series(run: str, record: RunRecord, operations: pl.DataFrame) -> pl.DataFrame:
    """Return a run's intervals: ``run, operation, t_s, rate, latency_ms``."""
    until_s = record.result.measured_s
    number = int((until_s + BEFORE_S) / INTERVAL_S)
    every = pl.DataFrame({"interval": range(number)}, schema={"interval": pl.Int64}).join(
        operations.select(pl.col("operation").unique()), how="cross"
    )

    def interval(column: str) -> pl.Expr:
        return ((pl.col(column) + BEFORE_S) / INTERVAL_S).floor().cast(pl.Int64).alias("interval")

    ok = operations.filter(pl.col("outcome") == "ok")
    ended = ok.group_by(interval("end_s"), "operation").agg((pl.len() / INTERVAL_S).alias("rate"))
    took = ok.group_by(interval("due_s"), "operation").agg(
        ((pl.col("end_s") - pl.col("due_s")) * 1e3).quantile(0.99).alias("latency_ms")
    )
    return (
        every.join(ended, on=["interval", "operation"], how="left")
        .join(took, on=["interval", "operation"], how="left")
        .with_columns(
            pl.col("rate").fill_null(0.0),
            pl.lit(run).alias("run"),
            # The middle of each: a line through beginnings would fall before the fault does.
            ((pl.col("interval") + 0.5) * INTERVAL_S - BEFORE_S).alias("t_s"),
        )
        .filter(pl.col("t_s") > operations.get_column("due_s").min())
        .select("run", "operation", "t_s", "rate", pl.col("latency_ms").round(3))
        .sort("run", "operation", "t_s")
    )


def _bands(faults: pl.DataFrame, measured_s: float) -> pl.DataFrame:
    """One band a fault of the scenario: from its first beginning in any run to its last end."""
    return (
        faults.with_columns(
            pl.concat_str("fault", "target", separator=" ").alias("label"),
            pl.col("end_s").fill_null(measured_s).clip(upper_bound=measured_s),
        )
        .group_by("number", "label", maintain_order=True)
        .agg(pl.col("begin_s").min(), pl.col("end_s").max())
        .sort("number")
    )


def _pair(
    data: pl.DataFrame,
    bands: pl.DataFrame,
    title: str,
    of_kinds: tuple[alt.Color, alt.StrokeDash],
    width: int,
    *,
    until_s: float,
    last: bool,
) -> list[_Panel]:
    scale = alt.Scale(domain=[-BEFORE_S, until_s], nice=False)
    colour, dash = of_kinds

    def panel(column: str, y_title: str, y_scale: alt.Scale, *, labelled: bool) -> _Panel:
        x = alt.X(
            "t_s:Q",
            scale=scale,
            title="seconds since measuring began" if last and not labelled else "",
            axis=alt.Axis(grid=False, tickCount=width // 50, labels=not labelled),
        )
        # Of a logarithmic axis, the powers of ten.
        ticks = alt.Axis(tickCount=4) if labelled else alt.Axis(values=DECADES_MS)
        y = alt.Y(f"{column}:Q", title=y_title, scale=y_scale, axis=ticks)
        lines = (
            alt.Chart(data, width=width, height=HEIGHT)
            .mark_line(strokeWidth=1.4, opacity=0.85, clip=True)
            .encode(x=x, y=y, color=colour, strokeDash=dash, detail=alt.Detail("run:N"))
        )
        return alt.layer(*fault_bands(bands, labelled=labelled), lines)

    top = panel("rate", "ok operations/s", alt.Scale(zero=True), labelled=True)
    bottom = panel("latency_ms", "p99 (ms)", alt.Scale(type="log"), labelled=False)
    head = alt.Title(title, anchor="start", frame="group", fontSize=13, offset=6)
    return [top.properties(title=head), bottom]
