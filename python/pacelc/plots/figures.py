"""One function a figure.

Each returns an Altair chart whose data are inside it, so that a saved figure carries its numbers. A
figure that the results can't give (no second level, no resource readings) raises
:class:`NothingToDraw`, and says what is missing.

throughput_by_load      throughput by users and level; figures 2 and 4 of Ferreira et al. 2024
response_time_by_load   mean response time by users and level; their figures 3 and 5
change_between_levels   the change from the reference level; their table 8
client_use_by_load      the load generator's CPU and memory; their figure 6
cpu_by_role             CPU of each kind of node; their table 5
throughput_over_time    every run's throughput, warm-up included
latency_percentiles     the whole distribution of response time
"""

# ruff: noqa: RUF001 - typography: signs of multiplication and minus

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis import (
    METRICS,
    Comparison,
    Design,
    Group,
    by_load,
    resource_use,
    resource_use_by_load,
)
from pacelc.analysis.unavailability import faults_frame
from pacelc.names import counted
from pacelc.plots.curves import cut_at_top, top_of
from pacelc.plots.faults import fault_bands
from pacelc.plots.layout import PANEL, NothingToDraw, TooMuchToDraw, finish, grid
from pacelc.plots.style import SCREEN, Style
from pacelc.store import Histogram, read_latency_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.store import Results

    _Panel = alt.LayerChart | alt.FacetChart

__all__ = [
    "NothingToDraw",
    "change_between_levels",
    "client_use_by_load",
    "cpu_by_role",
    "latency_percentiles",
    "metric_by_load",
    "response_time_by_load",
    "throughput_by_load",
    "throughput_over_time",
]


def throughput_by_load(design: Design, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Throughput by load and level; source: Ferreira et al. 2024, figures 2 and 4."""
    return metric_by_load(design, "throughput_per_s", style=style)


def response_time_by_load(design: Design, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Mean response time by load and level; source: Ferreira et al. 2024, figures 3 and 5."""
    return metric_by_load(design, "latency_ms_mean", style=style)


def metric_by_load(design: Design, metric: str, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw any metric by load and level, one panel a group, each with its own scale.

    Parameters
    ----------
    metric
        A name in :data:`pacelc.analysis.METRICS`.

    Raises
    ------
    NothingToDraw
        There are no runs.
    """
    what = METRICS[metric]
    frame = by_load(design, [metric])
    if frame.height == 0:
        raise NothingToDraw("no finished runs")
    data = _panels(frame, design.groups)
    colour, shape, _ = _level_channels(design, style)
    low, high = alt.Y("low:Q", title=""), alt.Y2("high:Q")
    several = len(design.loads) > 1

    def panel(part: pl.DataFrame, x_title: str, y_title: str) -> _Panel:
        scale = alt.Scale(domain=[0, top_of(part)], nice=False)
        y = alt.Y("value:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=5))
        if several:
            x = alt.X(
                "load:Q",
                title=x_title,
                scale=alt.Scale(domain=[0, max(design.loads) * 1.04], nice=False),
                axis=alt.Axis(values=list(design.loads), grid=False),
            )
            base = alt.Chart(part, width=PANEL[0], height=PANEL[1]).encode(x=x)
            return alt.layer(
                base.mark_area(opacity=0.18, clip=True).encode(y=low, y2=high, color=colour),
                base.mark_line(strokeWidth=2).encode(y=y, color=colour),
                base.mark_point(filled=True, size=45, opacity=1).encode(
                    y=y, color=colour, shape=shape, tooltip=_TOOLTIP
                ),
            )
        x = alt.X("level:N", title=x_title, sort=list(design.levels), axis=alt.Axis(labelAngle=0))
        base = alt.Chart(part, width=max(110, 62 * len(design.levels)), height=PANEL[1]).encode(x=x)
        return alt.layer(
            base.mark_rule(strokeWidth=2, clip=True).encode(
                y=low, y2=high, color=colour.legend(None)
            ),
            base.mark_point(filled=True, size=70, opacity=1).encode(
                y=y, color=colour.legend(None), shape=shape.legend(None), tooltip=_TOOLTIP
            ),
        )

    note = "Means of runs; " + ("bands" if several else "bars") + " are 95 % intervals across runs"
    note += cut_at_top(data.partition_by("panel"))
    if data.get_column("low").drop_nulls().is_empty():
        note = "One run a scenario: no intervals"
    chart = grid(data, panel, _load_title(design) if several else "", f"{what.title} ({what.unit})")
    by = _load_title(design) if several else (design.level_factor or "level")
    return finish(chart, style, f"{_upper(what.title)} by {by}", note)


def change_between_levels(
    comparisons: Sequence[Comparison],
    *,
    metrics: Sequence[str] = ("throughput_per_s", "latency_ms_mean"),
    style: Style = SCREEN,
) -> alt.TopLevelMixin:
    """Draw the change from the reference level in every group: geometric mean ratios.

    On a logarithmic axis, so that half and twice are equally far from "no change".

    Raises
    ------
    NothingToDraw
        No two levels can be compared.
    """
    rows: list[dict[str, Any]] = []
    for c in comparisons:
        if c.metric.name in metrics and c.ratio is not None:
            change = c.ratio.as_change()
            rows.append(
                {
                    "group": str(c.group),
                    "metric": c.metric.title,
                    "level": c.level,
                    "ratio": c.ratio.value,
                    "low": c.ratio.low,
                    "high": c.ratio.high,
                    "n": c.ratio.n,
                    "label": f"{change.value:+,.0f} %".replace("-", "−"),
                }
            )
    if not rows:
        raise NothingToDraw("no two levels to compare")
    data = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"low": pl.Float64, "high": pl.Float64}
    )
    groups = data.get_column("group").unique(maintain_order=True).to_list()
    if len(groups) > _MOST_ROWS:
        raise TooMuchToDraw(f"{counted(len(groups), 'row')} are more than a figure can show")
    levels = data.get_column("level").unique(maintain_order=True).to_list()
    # Where nothing was ok at a level, there is no response time to compare.
    present = data.get_column("metric").unique().to_list()
    titles = [METRICS[m].title for m in metrics if METRICS[m].title in present]
    colours = style.colours(len(levels) + 1)[1:]
    colour = alt.Color("level:N", sort=levels, scale=alt.Scale(domain=levels, range=colours))
    if len(levels) == 1:
        colour = colour.legend(None)
    offset = alt.YOffset("level:N", sort=levels)
    charts: list[_Panel] = []
    for place, title in enumerate(titles):
        part = data.filter(pl.col("metric") == title).with_columns(
            pl.coalesce("high", "ratio").alias("end"),
        )
        low, high, ticks = _ratio_axis(part)
        x = alt.X(
            "ratio:Q",
            title="",
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            axis=alt.Axis(values=ticks, labelExpr=_PERCENT_OF_RATIO, labelOverlap=True, grid=True),
        )
        y = alt.Y(
            "group:N",
            sort=groups,
            title=None,
            axis=alt.Axis(labels=place == 0, ticks=False, domain=False, labelLimit=320),
        )
        base = alt.Chart(part, width=300, height=alt.Step(26 if len(levels) == 1 else 18)).encode(
            y=y, yOffset=offset
        )
        zero = (
            alt.Chart(pl.DataFrame({"one": [1.0]}))
            .mark_rule(color="#222222")
            .encode(x=alt.X("one:Q"))
        )
        layers = alt.layer(
            zero,
            base.mark_rule(strokeWidth=3, opacity=0.55).encode(
                x=alt.X("low:Q", title=""), x2="high:Q", color=colour
            ),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                x=x,
                color=colour,
                tooltip=["group:N", "level:N", "ratio:Q", "low:Q", "high:Q", "n:Q"],
            ),
            base.mark_text(dx=8, align="left", fontSize=style.font_size - 1).encode(
                x=alt.X("end:Q", title=""), text="label:N"
            ),
        )
        charts.append(
            layers.properties(
                title=alt.Title(title, fontSize=style.font_size + 1, anchor="middle", offset=6)
            )
        )
    reference = comparisons[0].reference
    to = levels[0] if len(levels) == 1 else "the stronger levels"
    return finish(
        alt.hconcat(*charts, spacing=16),
        style,
        f"What changes from {reference} to {to}",
        "Geometric mean over loads; bars are 95 % intervals across runs; logarithmic axis",
    )


def client_use_by_load(
    results: Results, design: Design, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """CPU and memory of the load generator by load; source: Ferreira et al. 2024, figure 6.

    Raises
    ------
    NothingToDraw
        No readings of the client.
    """
    frame = resource_use_by_load(results, design)
    frame = (
        frame.filter((pl.col("role") == "client") & pl.col("resource").is_in(["cpu", "memory"]))
        if frame.height
        else frame
    )
    if frame.height == 0:
        raise NothingToDraw("no resource readings of the client")
    mebibytes = pl.when(pl.col("resource") == "memory").then(1 / (1 << 20)).otherwise(1.0)
    names = _group_names(frame, ("level", "role", "resource", "unit", "load"))
    data = frame.with_columns(
        *(pl.col(c) * mebibytes for c in ("value", "low", "high")),
        _titles(names).alias("series"),
        pl.when(pl.col("resource") == "cpu")
        .then(pl.lit("CPU, % of the machine's cores"))
        .otherwise(pl.lit("memory, MiB"))
        .alias("panel"),
    )
    series = data.get_column("series").unique(maintain_order=True).to_list()
    if len(series) > _MOST_LINES:
        raise TooMuchToDraw(f"{counted(len(series), 'line')} are more than can be told apart")
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
    if style.name == "paper":
        colours = ["#000000", "#8c8c8c", "#4d4d4d", "#b3b3b3"]
    colour = alt.Color(
        "series:N",
        sort=series,
        scale=alt.Scale(
            domain=series, range=[colours[i % len(colours)] for i in range(len(series))]
        ),
    )
    dash = _dash(design, style)
    charts: list[_Panel] = []
    for panel in ("CPU, % of the machine's cores", "memory, MiB"):
        part = data.filter(pl.col("panel") == panel)
        base = alt.Chart(part, width=PANEL[0] + 70, height=PANEL[1]).encode(
            x=alt.X(
                "load:Q",
                title=_load_title(design),
                axis=alt.Axis(values=list(design.loads), grid=False),
                scale=alt.Scale(zero=True),
            ),
            color=colour,
        )
        scale = alt.Scale(domain=[0, top_of(part)], nice=False)
        y = alt.Y("value:Q", title=panel, scale=scale, axis=alt.Axis(tickCount=5))
        charts.append(
            alt.layer(
                base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash),
                base.mark_point(filled=True, size=35, opacity=1).encode(
                    y=y, shape=_shape(design, style)
                ),
                base.mark_rule(opacity=0.5, clip=True).encode(
                    y=alt.Y("low:Q", title=""), y2="high:Q"
                ),
            )
        )
    return finish(
        alt.hconcat(*charts, spacing=30),
        style,
        "What the load generator itself used",
        "Means of runs; bars are 95 % intervals" + cut_at_top(data.partition_by("panel")),
    )


def cpu_by_role(results: Results, design: Design, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """CPU of each role of node by level, averaged over loads.

    Source: Ferreira et al. 2024, table 5.

    Raises
    ------
    NothingToDraw
        No resource readings.
    """
    frame = resource_use(results, design)
    frame = frame.filter(pl.col("resource") == "cpu_cores") if frame.height else frame
    if frame.height == 0:
        raise NothingToDraw("no resource readings")
    names = _group_names(frame, ("level", "role", "resource", "unit"))
    data = frame.with_columns(_titles(names).alias("panel"))
    roles = sorted(data.get_column("role").unique().to_list(), key=lambda r: (r == "client", r))
    levels = list(design.levels)
    colour, _, _ = _level_channels(design, style)

    def panel(part: pl.DataFrame, x_title: str, y_title: str) -> _Panel:
        scale = alt.Scale(domain=[0, top_of(data)], nice=False)
        y = alt.Y("value:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=5))
        base = alt.Chart(
            part, width=alt.Step(max(22, _ROLE // len(levels))), height=PANEL[1]
        ).encode(
            x=alt.X("role:N", sort=roles, title=x_title or None, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("level:N", sort=levels),
        )
        return alt.layer(
            base.mark_bar().encode(y=y, color=colour),
            base.mark_rule(strokeWidth=1.5, color="#222222", clip=True).encode(
                y=alt.Y("low:Q", title=""), y2="high:Q"
            ),
        )

    chart: Any = grid(data, panel, "", "CPU (cores in use, mean a node)")
    chart = chart.resolve_scale(y="shared")
    note = "Means over loads; bars are 95 % intervals" + cut_at_top([data])
    return finish(chart, style, "CPU by kind of node", note)


def throughput_over_time(
    results: Results, design: Design, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Throughput of every run at the highest load, interval by interval, warm-up included.

    Raises
    ------
    NothingToDraw
        No samples.
    """
    if results.samples.height == 0 or not design.groups:
        raise NothingToDraw("no samples")
    load = max(design.loads)
    # All of a run's operations together: a run has one warm-up, however many kinds it mixes.
    derived = "operation" in design.groups[0].names and "operation" not in results.factors
    groups = list(dict.fromkeys(g.without("operation") if derived else g for g in design.groups))
    names = groups[0].names
    runs = (
        design.observations.filter(pl.col("load") == load)
        .select("source_", "run", *names, "level")
        .unique(maintain_order=True)
    )
    ends = results.runs.select("source", "run", "measured_s")
    # What ends later is the drain of operations that started in time: no throughput.
    inside = results.samples.join(ends, on=["source", "run"], how="inner").filter(
        pl.col("t_s") < pl.col("measured_s")
    )
    rates = (
        inside.group_by("source", "run", "t_s", maintain_order=True)
        .agg((pl.col("ok").sum() / pl.col("interval_s").max()).alias("rate"))
        .rename({"source": "source_"})
    )
    data = runs.join(rates, on=["source_", "run"], how="inner", maintain_order="left").sort(
        "source_", "run", "t_s"
    )
    panels = [_title(group) for group in groups]
    data = data.with_columns(_titles(names).alias("panel"))
    data = data.select(
        "panel",
        "level",
        pl.concat_str("source_", "run", separator="/").alias("run"),
        "t_s",
        pl.col("rate").round(3),
    )
    colour, _, _ = _level_channels(design, style)
    faults = _faults_by_run(results)

    def panel(part: pl.DataFrame, x_title: str, y_title: str) -> _Panel:
        base = alt.Chart(part, width=PANEL[0], height=PANEL[1] - 30)
        bands = faults.join(part.select("run").unique(), on="run", how="semi")
        return alt.layer(
            *(fault_bands(bands, labelled=False) if bands.height else []),
            base.mark_line(strokeWidth=1.3, opacity=0.8).encode(
                x=alt.X(
                    "t_s:Q",
                    title=x_title,
                    axis=alt.Axis(grid=False, tickCount=6),
                    scale=alt.Scale(nice=False),
                ),
                y=alt.Y(
                    "rate:Q", title=y_title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4)
                ),
                color=colour,
                detail="run:N",
            ),
            base.mark_rule(strokeDash=[3, 3], color="#666666").encode(x=alt.X(datum=0)),
        )

    chart = grid(data, panel, "seconds since measuring began", "throughput (operations/s)", panels)
    return finish(
        chart,
        style,
        f"Throughput over time{_at(design)}",
        "One line a run; left of the dashed line is warm-up"
        + ("; shaded: faults" if faults.height else ""),
    )


def _faults_by_run(results: Results) -> pl.DataFrame:
    """Return the bands that shade the faults of each run."""
    ends = results.runs.select("source", "run", "measured_s")
    return (
        faults_frame(results)
        .filter(pl.col("begin_s").is_not_null())
        .join(ends, on=["source", "run"], maintain_order="left")
        .select(
            pl.concat_str("source", "run", separator="/").alias("run"),
            "begin_s",
            pl.min_horizontal(pl.col("end_s").fill_null(float("inf")), "measured_s").alias("end_s"),
        )
    )


def latency_percentiles(
    results: Results, design: Design, *, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Response time at every percentile, at the highest load, the repetitions' histograms merged.

    A curve ends where fewer than ten observations are left beyond it.

    Raises
    ------
    NothingToDraw
        No histograms.
    """
    if not design.groups:
        raise NothingToDraw("no finished runs")
    panels = [_title(group) for group in design.groups]
    rows = [
        {"panel": name, "level": level, "beyond": beyond, "ms": ms}
        for name, group in zip(panels, design.groups, strict=True)
        for level in design.levels
        for beyond, ms in _percentile_curve(_merged_latency(results, design, group, level))
    ]
    if not rows:
        raise NothingToDraw("no histograms with enough observations")
    data = pl.DataFrame(rows)
    colour, _, dash = _level_channels(design, style)
    furthest = max(data.get_column("beyond").to_list())
    x_ticks = [t for t in (1, 2, 10, 100, 1_000, 10_000, 100_000) if t <= furthest]

    def panel(part: pl.DataFrame, x_title: str, y_title: str) -> _Panel:
        low, high = min(part.get_column("ms").to_list()), max(part.get_column("ms").to_list())
        y_ticks = [t for t in _ONE_TWO_FIVE if low / 1.2 <= t <= high * 1.2]
        return alt.layer(
            alt.Chart(part, width=PANEL[0], height=PANEL[1])
            .mark_line(strokeWidth=2)
            .encode(
                x=alt.X(
                    "beyond:Q",
                    title=x_title,
                    scale=alt.Scale(type="log", nice=False, domain=[1, furthest]),
                    axis=alt.Axis(values=x_ticks, labelExpr=_PERCENTILE_OF_BEYOND),
                ),
                y=alt.Y(
                    "ms:Q",
                    title=y_title,
                    scale=alt.Scale(type="log", nice=False, domain=[low / 1.2, high * 1.2]),
                    axis=alt.Axis(values=y_ticks, format=",~g"),
                ),
                color=colour,
                strokeDash=dash,
            )
        )

    chart = grid(data, panel, "percentile", "response time (ms)", panels)
    note = "All repetitions; logarithmic axes; a curve ends where ten observations are left"
    return finish(chart, style, f"Distribution of response time{_at(design)}", note)


def _merged_latency(results: Results, design: Design, group: Group, level: str) -> Histogram:
    """Merge the ok operations of a group and level at the highest load."""
    kind: str | None = group.get("operation")
    if "operation" in results.factors or kind not in {
        k for r in results.records for k in r.result.operations
    }:
        kind = None
    chosen = design.of_group(group).filter(
        (pl.col("level") == level) & (pl.col("load") == max(design.loads))
    )
    merged = Histogram.empty()
    for source, run in chosen.select("source_", "run").iter_rows():
        try:
            log = read_latency_log(results.latency_log(source, run))
            merged = merged.plus(log.merged(operation=kind, outcome="ok"))
        except ValueError as error:
            raise NothingToDraw(f"histograms of run {run}: {error}") from error
    return merged


def _percentile_curve(histogram: Histogram) -> list[tuple[float, float]]:
    """Points (1 / share beyond, ms), twenty a decade, while ten observations are beyond."""
    beyond = [10 ** (step / 20) for step in range(121)]
    count = histogram.count
    return [(b, histogram.percentile(100 * (1 - 1 / b)) / 1e6) for b in beyond if count >= 10 * b]


_TOOLTIP: Final = [
    "panel:N",
    "level:N",
    "load:Q",
    *(alt.Tooltip(f"{c}:Q", format=",.4~g") for c in ("value", "low", "high")),
    "n:Q",
]


def _ratio_axis(part: pl.DataFrame) -> tuple[float, float, list[float]]:
    """Domain and ticks of a ratio axis, with 1 on it and room for a label on the right."""
    ends = [
        x
        for column in ("ratio", "low", "high")
        for x in part.get_column(column).drop_nulls().to_list()
    ]
    low, high = min(0.95, *ends), max(1.05, *ends)
    low, high = low / 1.1, high * (high / low) ** 0.25 * 1.05
    span = high / low
    known = (
        _FINE_TICKS
        if span < _FINE_SPAN
        else _MIDDLE_TICKS
        if span < _MIDDLE_SPAN
        else _COARSE_TICKS
    )
    return low, high, [t for t in known if low <= t <= high]


_MOST_ROWS: Final = 40
_MOST_LINES: Final = 12
_ROLE: Final = 66
"""Room for the name of a role under its bars."""
_ONE_TWO_FIVE: Final = tuple(m * 10.0**e for e in range(-4, 6) for m in (1, 2, 5))
_FINE_TICKS: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8, 2.0)
_MIDDLE_TICKS: Final = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
_FINE_SPAN: Final = 2.5
_MIDDLE_SPAN: Final = 12
_COARSE_TICKS: Final = (
    0.001,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
    1000.0,
)
_PERCENT_OF_RATIO: Final = (
    "datum.value == 1 ? '0 %' : (datum.value > 1 ? '+' : '−')"
    " + format(abs(datum.value - 1) * 100, ',.3~r') + ' %'"
)
_PERCENTILE_OF_BEYOND: Final = (
    "datum.value == 1 ? 'min' : datum.value == 2 ? '50' : format(100 - 100 / datum.value, '.6~g')"
)


def _level_channels(design: Design, style: Style) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    levels = list(design.levels)
    colour = alt.Color(
        "level:N", sort=levels, scale=alt.Scale(domain=levels, range=style.colours(len(levels)))
    )
    if len(levels) <= 1:
        colour = colour.legend(None)
    return colour, _shape(design, style), _dash(design, style)


def _shape(design: Design, style: Style) -> alt.Shape:
    levels = list(design.levels)
    channel = alt.Shape(
        "level:N", sort=levels, scale=alt.Scale(domain=levels, range=style.shapes(len(levels)))
    )
    return channel.legend(None) if len(levels) <= 1 else channel


def _dash(design: Design, style: Style) -> alt.StrokeDash:
    levels = list(design.levels)
    channel = alt.StrokeDash(
        "level:N", sort=levels, scale=alt.Scale(domain=levels, range=style.dashes(len(levels)))
    )
    return channel.legend(None) if len(levels) <= 1 else channel


def _panels(frame: pl.DataFrame, groups: Sequence[Group]) -> pl.DataFrame:
    names = list(groups[0].names)
    return frame.select(_titles(names).alias("panel"), "level", "load", "value", "low", "high", "n")


def _title(group: Group) -> str:
    return " · ".join(group.words()) or "all runs"


def _titles(names: Sequence[str]) -> pl.Expr:
    """Title of each row's group; ``names`` are its columns."""
    if not names:
        return pl.lit("all runs")

    def title(row: dict[str, object]) -> str:
        return _title(Group(tuple(row), tuple(str(label) for label in row.values())))

    return pl.struct(names).map_elements(title, return_dtype=pl.String)


def _load_title(design: Design) -> str:
    return (design.load_factor or "load").replace("_per_s", " (operations/s)")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _at(design: Design) -> str:
    return f" at {max(design.loads):g} {_load_title(design)}" if design.load_factor else ""


def _group_names(frame: pl.DataFrame, others: Sequence[str]) -> list[str]:
    estimate = ("value", "low", "high", "n", "method")
    return [c for c in frame.columns if c not in (*others, *estimate)]
