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

import json
import math
from functools import lru_cache
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
from pacelc.plots.facets import in_panels, one_figure
from pacelc.plots.faults import fault_bands
from pacelc.plots.layout import (
    NothingToDraw,
    TooMuchToDraw,
    amounts,
    channels,
    finish,
    lines_of,
    lying,
    shared_scale,
    upright,
    width_px,
)
from pacelc.plots.style import SCREEN, Style
from pacelc.store import Histogram, read_latency_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.plots.facets import Facets
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


def throughput_by_load(
    design: Design, *, facets: Facets | None = None, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Throughput by load and level; source: Ferreira et al. 2024, figures 2 and 4."""
    return metric_by_load(design, "throughput_per_s", facets=facets, style=style)


def response_time_by_load(
    design: Design, *, facets: Facets | None = None, style: Style = SCREEN
) -> alt.TopLevelMixin:
    """Mean response time by load and level; source: Ferreira et al. 2024, figures 3 and 5."""
    return metric_by_load(design, "latency_ms_mean", facets=facets, style=style)


def metric_by_load(
    design: Design,
    metric: str,
    *,
    facets: Facets | None = None,
    style: Style = SCREEN,
    means: pl.DataFrame | None = None,
) -> alt.TopLevelMixin:
    """Draw any metric by load and level.

    Two loads have no line between them: it would say what nobody measured. One load has none at
    all, and levels are rows.

    Parameters
    ----------
    metric
        A name in :data:`pacelc.analysis.METRICS`.
    facets
        One of :func:`pacelc.plots.facets_of`, where one figure isn't enough.
    style
        Colours and type.
    means
        What :func:`pacelc.analysis.by_load` returned, if it is there already.

    Raises
    ------
    NothingToDraw
        There are no runs.
    """
    what = METRICS[metric]
    frame = by_load(design, [metric]) if means is None else means.filter(metric=metric)
    if frame.height == 0:
        raise NothingToDraw("no finished runs")
    facets = one_figure(design, facets)
    chart, note = _by_load(design, facets, style, frame, f"{what.title} ({what.unit})")
    by = _load_title(design) if len(design.loads) > 1 else (design.level_factor or "level")
    return finish(chart, style, _of(f"{_upper(what.title)} by {by}", facets), note)


def _by_load(
    design: Design, facets: Facets, style: Style, frame: pl.DataFrame, title: str
) -> tuple[Any, str]:
    """Draw estimates by load and level, and say how to read them."""
    data = facets.placed(frame)
    if data.height == 0:
        raise NothingToDraw("no finished runs")
    scale, about = shared_scale(facets.of_all(frame))
    several = len(design.loads) > 1
    layers = (
        _over_loads(design, style, data, title, scale)
        if several
        else _over_levels(design, style, data, title, scale)
    )
    chart = in_panels(facets, style, layers, data, size=several)
    if data.get_column("low").drop_nulls().is_empty():
        return chart, f"One run a scenario: no intervals{about}"
    bands = data.get_column("load").n_unique() > _FEW_LOADS
    marks = "bands" if bands else "bars"
    return chart, f"Means of runs; {marks} are 95 % intervals across runs{about}"


def _over_loads(
    design: Design, style: Style, data: pl.DataFrame, title: str, scale: alt.Scale
) -> list[alt.Chart]:
    """Lines and bands; of two loads, dots and bars."""
    colour, shape, _ = _level_channels(design, style, data)
    loads = sorted(data.get_column("load").unique())
    # Where titles of layers differ, all are drawn.
    broken = upright(title, style)
    y = alt.Y("value:Q", title=broken, scale=scale, axis=amounts(scale))
    low = alt.Y("low:Q", title=broken, scale=scale)
    if len(loads) <= _FEW_LOADS:
        offset = alt.XOffset("level:N", sort=list(design.levels))
        base = alt.Chart().encode(
            x=alt.X(
                "load:O",
                title=_load_title(design),
                axis=alt.Axis(labelAngle=0, format="~g"),
                scale=alt.Scale(paddingInner=0.35),
            ),
            xOffset=offset,
            color=colour,
        )
        return [
            base.mark_rule(strokeWidth=2, opacity=0.6, clip=True).encode(
                y=low, y2=alt.Y2("high:Q")
            ),
            base.mark_point(filled=True, size=45, opacity=1).encode(
                y=y, shape=shape, tooltip=_TOOLTIP
            ),
        ]
    base = alt.Chart().encode(
        x=alt.X(
            "load:Q",
            title=_load_title(design),
            scale=alt.Scale(domain=[0, max(design.loads) * 1.04], nice=False),
            axis=alt.Axis(values=loads, grid=False, labelOverlap="greedy", labelSeparation=4),
        ),
        color=colour,
    )
    return [
        base.mark_area(opacity=0.18, clip=True).encode(y=low, y2=alt.Y2("high:Q")),
        # Points tell levels apart: in one symbol of the legend, a point and a dash can't be told.
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=45 if len(loads) < _MANY else 18, opacity=1).encode(
            y=y, shape=shape, tooltip=_TOOLTIP
        ),
    ]


def _over_levels(
    design: Design, style: Style, data: pl.DataFrame, title: str, scale: alt.Scale
) -> list[alt.Chart]:
    """Draw a dot and a bar a level: names are read without turning the head."""
    colour, shape, _ = _level_channels(design, style, data)
    colour, shape = colour.legend(None), shape.legend(None)
    broken = lying(title, style)
    x = alt.X("value:Q", title=broken, scale=scale, axis=amounts(scale, most=4, flush=True))
    # A study that compares no levels has no names for them.
    axis = alt.Axis(grid=True) if design.level_factor else None
    base = alt.Chart(height=alt.Step(round(1.8 * style.font_size))).encode(
        y=alt.Y("level:N", title=None, sort=list(design.levels), axis=axis),
        color=colour,
    )
    return [
        base.mark_rule(strokeWidth=2, opacity=0.6, clip=True).encode(
            x=alt.X("low:Q", title=broken, scale=scale), x2=alt.X2("high:Q")
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, shape=shape, tooltip=_TOOLTIP),
    ]


def change_between_levels(
    comparisons: Sequence[Comparison],
    *,
    levels: Sequence[str] = (),
    metrics: Sequence[str] = ("throughput_per_s", "latency_ms_mean"),
    facets: Facets | None = None,
    style: Style = SCREEN,
) -> alt.TopLevelMixin:
    """Draw the change from the reference level in every group: geometric mean ratios.

    On a logarithmic axis, so that half and twice are equally far from "no change". Numbers stand in
    a column beside the axis, where no bar or line goes through them.

    Parameters
    ----------
    comparisons
        What is drawn.
    levels
        All of the design, in the order of their colours; by default those that are compared.
    metrics
        A panel each.
    facets
        Which groups are shown; by default all.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        No two levels can be compared.
    """
    rows: list[dict[str, Any]] = []
    for c in comparisons:
        if facets is not None and c.group not in facets.groups:
            continue
        if c.metric.name in metrics and c.ratio is not None:
            rows.append(
                {
                    "group": facets.name(c.group) if facets else str(c.group),
                    "metric": c.metric.title,
                    "level": c.level,
                    "ratio": c.ratio.value,
                    "low": c.ratio.low,
                    "high": c.ratio.high,
                    "n": c.ratio.n,
                    "label": _signed(c.ratio.as_change().value),
                }
            )
    if not rows:
        raise NothingToDraw("no two levels to compare")
    data = pl.DataFrame(
        rows, infer_schema_length=None, schema_overrides={"low": pl.Float64, "high": pl.Float64}
    )
    references = dict.fromkeys(c.reference for c in comparisons)
    compared = data.get_column("level").unique(maintain_order=True).to_list()
    shown = [level for level in levels if level in compared] or compared
    # A level is in the rows of those groups alone that have it.
    places = data.select("group", "level").unique(maintain_order=True)
    if places.height > _MOST_ROWS:
        raise TooMuchToDraw(f"{counted(places.height, 'row')} are more than a figure can show")
    heads, tops, tall_px = _rows_of(places, shown, style)
    data = data.join(tops, on=["group", "level"], how="left", maintain_order="left")
    # Where nothing was ok at a level, there is no response time to compare.
    present = data.get_column("metric").unique().to_list()
    titles = [METRICS[m].title for m in metrics if METRICS[m].title in present]
    colour, _, _ = channels(shown, style, of=levels or (*references, *shown), field="level")
    # Neither a printed column nor a phone is wide enough for two.
    beside = style.name == "screen"
    room = style.room if style.name != "paper" else _COLUMN_PX
    across = len(titles) if beside else 1
    names_px = width_px((line for _, name in heads for line in name), style.font_size) + 12
    labels_px = width_px(data.get_column("label").to_list(), style.font_size) + 8
    width = (room - names_px) // across - labels_px
    charts: list[_Panel] = []
    for place, title in enumerate(titles):
        part = data.filter(pl.col("metric") == title)
        low, high, ticks = _ratio_axis(part, apart=4.5 * style.font_size / width)
        x = alt.X(
            "ratio:Q",
            title="",
            scale=alt.Scale(type="log", domain=[low, high], nice=False),
            axis=alt.Axis(values=ticks, labelExpr=_PERCENT_OF_RATIO, labelOverlap=True, grid=True),
        )
        y = alt.Y(
            "at:Q",
            title=None,
            scale=alt.Scale(domain=[tall_px, 0], nice=False),
            axis=alt.Axis(
                values=[at for at, _ in heads],
                labelExpr=f"({json.dumps({f'{at:g}': name for at, name in heads})})[datum.value]",
                labels=place == 0 or not beside,
                ticks=False,
                domain=False,
                grid=False,
                labelLimit=names_px,
                labelPadding=8,
            ),
        )
        base = alt.Chart(part, width=width, height=tall_px).encode(y=y)
        zero = (
            alt.Chart(pl.DataFrame({"one": [1.0]}))
            .mark_rule(color="#222222")
            .encode(x=alt.X("one:Q"))
        )
        layers = alt.layer(
            zero,
            base.mark_rule(strokeWidth=3, opacity=0.55, clip=True).encode(
                x=alt.X("low:Q", title=""), x2=alt.X2("high:Q"), color=colour
            ),
            base.mark_point(filled=True, size=60, opacity=1).encode(
                x=x,
                color=colour,
                tooltip=[
                    alt.Tooltip("group:N"),
                    alt.Tooltip("level:N"),
                    alt.Tooltip("ratio:Q"),
                    alt.Tooltip("low:Q"),
                    alt.Tooltip("high:Q"),
                    alt.Tooltip("n:Q"),
                ],
            ),
            base.mark_text(align="right", fontSize=style.font_size).encode(
                x=alt.value(width + labels_px), text=alt.Text("label:N")
            ),
        )
        layers.title = alt.Title(title, fontSize=style.font_size + 1, anchor="middle", offset=6)
        charts.append(layers)
    to = shown[0] if len(shown) == 1 else "the others"
    known = data.get_column("low").is_not_null().any()
    bars = "bars are 95 % intervals across runs" if known else "one run a scenario: no intervals"
    return finish(
        (alt.hconcat if beside else alt.vconcat)(*charts, spacing=16),
        style,
        _of(f"What changes from {next(iter(references))} to {to}", facets),
        f"Geometric means; {bars}; logarithmic axis",
    )


def _signed(change: float) -> str:
    """Print a change in per cent with its sign: one decimal where it is below ten."""
    decimals = int(abs(change) < _ONE_DECIMAL)
    text = f"{change:+,.{decimals}f} %".replace("-", "−")
    return "0 %" if text in {"+0.0 %", "−0.0 %"} else text


def _rows_of(
    places: pl.DataFrame, levels: Sequence[str], style: Style
) -> tuple[list[tuple[float, list[str]]], pl.DataFrame, int]:
    """Return where groups' names stand, where each row is, and how tall all are, in pixels."""
    row_px, line_px = round(1.5 * style.font_size), style.font_size + 2
    heads: list[tuple[float, list[str]]] = []
    tops: list[tuple[str, str, float]] = []
    y = 0.0
    for (group,), of in places.group_by("group", maintain_order=True):
        own = [level for level in levels if level in of.get_column("level")]
        name = lines_of(str(group), _NAMES * style.room, style.font_size)
        tall = max(row_px * len(own), line_px * len(name)) + row_px // 2
        # Of several lines, the first stands at the mark.
        heads.append((y + (tall - line_px * (len(name) - 1)) / 2, name))
        first = y + (tall - row_px * (len(own) - 1)) / 2
        tops += [(str(group), level, first + row_px * i) for i, level in enumerate(own)]
        y += tall
    schema = {"group": pl.String, "level": pl.String, "at": pl.Float64}
    return heads, pl.DataFrame(tops, schema=schema, orient="row"), round(y)


def client_use_by_load(
    results: Results,
    design: Design,
    *,
    facets: Facets | None = None,
    style: Style = SCREEN,
    use: pl.DataFrame | None = None,
) -> alt.TopLevelMixin:
    """CPU and memory of the load generator by load; source: Ferreira et al. 2024, figure 6.

    ``use`` is what :func:`pacelc.analysis.resource_use_by_load` returned, if it is there already.

    Raises
    ------
    NothingToDraw
        No readings of the client.
    """
    frame = resource_use_by_load(results, design) if use is None else use
    frame = (
        frame.filter((pl.col("role") == "client") & pl.col("resource").is_in(["cpu", "memory"]))
        if frame.height
        else frame
    )
    if frame.height == 0:
        raise NothingToDraw("no resource readings of the client")
    facets = one_figure(design, facets).of(frame)
    mebibyte = 1 << 20
    charts: list[Any] = []
    for resource, title, unit in (
        ("cpu", "CPU (% of all cores)", 1),
        ("memory", "memory (MiB)", mebibyte),
    ):
        part = frame.filter(resource=resource).with_columns(pl.col("value", "low", "high") / unit)
        if part.height:
            charts.append(_by_load(design, facets, style, part, title)[0])
    return finish(
        alt.vconcat(*charts, spacing=style.gap // 2),
        style,
        _of("What the load generator itself used", facets),
        "Means of runs; 95 % intervals across runs",
    )


def cpu_by_role(
    results: Results,
    design: Design,
    *,
    facets: Facets | None = None,
    style: Style = SCREEN,
    use: pl.DataFrame | None = None,
) -> alt.TopLevelMixin:
    """CPU of each role of node by level, averaged over loads.

    Source: Ferreira et al. 2024, table 5. ``use`` is what :func:`pacelc.analysis.resource_use`
    returned, if it is there already.

    Raises
    ------
    NothingToDraw
        No resource readings.
    """
    frame = resource_use(results, design) if use is None else use
    if frame.height:
        frame = frame.filter(pl.col("resource") == "cpu_cores", pl.col("value").is_not_null())
    if frame.height == 0:
        raise NothingToDraw("no resource readings")
    facets = one_figure(design, facets).of(frame)
    data = facets.placed(frame)
    roles = sorted(data.get_column("role").unique().to_list(), key=lambda r: (r == "client", r))
    levels = list(design.levels)
    colour, _, _ = _level_channels(design, style, data)
    scale, _ = shared_scale(facets.of_all(frame), bars=True)
    # Rows, so that names of kinds are read, each panel with its own: databases differ in them.
    base = alt.Chart(height=alt.Step(style.font_size)).encode(
        y=alt.Y("role:N", sort=roles, title=None, axis=alt.Axis(ticks=False)),
        yOffset=alt.YOffset("level:N", sort=levels),
    )
    x_title = lying("CPU (cores in use)", style)
    axis = alt.Axis(tickCount=4, labelFlush=True)
    layers = [
        base.mark_bar(clip=True).encode(
            x=alt.X("value:Q", title=x_title, scale=scale, axis=axis), color=colour
        ),
        base.mark_rule(strokeWidth=1.5, color="#222222", clip=True).encode(
            x=alt.X("low:Q", title=x_title, scale=scale), x2=alt.X2("high:Q")
        ),
    ]
    over = f"over {design.load_factor}" if len(design.loads) > 1 else "of runs"
    return finish(
        in_panels(facets, style, layers, data, size=False, own_y=True),
        style,
        _of("CPU by kind of node", facets),
        f"Means {over}; thin lines are 95 % intervals",
    )


def throughput_over_time(
    results: Results, design: Design, *, facets: Facets | None = None, style: Style = SCREEN
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
    facets = one_figure(design, facets)
    if "operation" not in results.factors:
        facets = facets.without("operation")
    names = facets.groups[0].names
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
    data = data.select(
        *names,
        "level",
        pl.concat_str("source_", "run", separator="/").alias("run"),
        "t_s",
        pl.col("rate").round(3),
    )
    data = facets.placed(data)
    measured = data.filter(pl.col("t_s") >= 0).group_by("run").agg(pl.len())
    if measured.filter(pl.col("len") >= _FEWEST_SAMPLES).is_empty():
        raise NothingToDraw("no run has samples enough for a line")
    # The slowest panel's lines would lie on the axis of the fastest: here shapes are compared.
    highest = data.group_by("panel").agg(pl.col("rate").max()).get_column("rate").to_list()
    own_y = max(highest) > _FLAT * min(highest)
    domain = alt.Undefined if own_y else [0, max(highest) or 1.0]
    scale = alt.Scale(nice=False, domain=domain)
    # Bands are rows of the same frame: a chart in panels has one.
    faults = _faults_by_run(results).join(
        data.select("run", *_PLACES).unique(maintain_order=True),
        on="run",
        how="inner",
        maintain_order="left",
    )
    data = pl.concat([data.select(*_PLACES, "level", "run", "t_s", "rate"), faults], how="diagonal")
    colour, _, dash = _level_channels(design, style, data, lines=True)
    lines = alt.Chart().transform_filter("isValid(datum.t_s)")
    y_title = upright("throughput (operations/s)", style)
    layers = [
        *(fault_bands(None, labelled=False) if faults.height else []),
        lines.mark_line(strokeWidth=1.3, opacity=0.8).encode(
            x=alt.X(
                "t_s:Q",
                title="time (s)",
                axis=alt.Axis(grid=False, tickCount=5, labelFlush=True),
                scale=alt.Scale(nice=False),
            ),
            y=alt.Y("rate:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=4, format=",~f")),
            color=colour,
            strokeDash=dash,
            detail=alt.Detail("run:N"),
        ),
        alt.Chart().mark_rule(strokeDash=[3, 3], color="#666666").encode(x=alt.X(datum=0)),
    ]
    return finish(
        in_panels(facets, style, layers, data, own_y=own_y),
        style,
        _of(f"Throughput over time{_at(design)}", facets),
        "One line a run; left of the dashed line is warm-up"
        + ("; shaded: faults" if faults.height else "")
        + ("; each panel has its own scale" if own_y else ""),
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
    results: Results, design: Design, *, facets: Facets | None = None, style: Style = SCREEN
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
    facets = one_figure(design, facets)
    curves = _percentile_curves(results, design, facets.groups)
    if curves.is_empty():
        raise NothingToDraw("no histograms with enough observations")
    data = facets.placed(curves)
    colour, _, dash = _level_channels(design, style, data, lines=True)
    furthest = max(data.get_column("beyond").to_list())
    x_ticks = [t for t in (2, 10, 100, 1_000, 10_000, 100_000) if t <= furthest]
    times = data.get_column("ms").to_list()
    scale = alt.Scale(type="log", nice=False, domain=[min(times) / 1.2, max(times) * 1.2])
    line = (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "beyond:Q",
                title="percentile",
                scale=alt.Scale(type="log", nice=False, domain=[1, furthest]),
                axis=alt.Axis(values=x_ticks, labelExpr=_PERCENTILE_OF_BEYOND, labelOverlap=True),
            ),
            y=alt.Y(
                "ms:Q", title=upright("response time (ms)", style), scale=scale, axis=amounts(scale)
            ),
            color=colour,
            strokeDash=dash,
        )
    )
    title = _of(f"Distribution of response time{_at(design)}", facets)
    note = "All repetitions; logarithmic axes; a curve ends where ten observations are left"
    return finish(in_panels(facets, style, [line], data), style, title, note)


@lru_cache(maxsize=1)
def _percentile_curves(results: Results, design: Design, groups: tuple[Group, ...]) -> pl.DataFrame:
    """Read the histograms once for all styles of a figure."""
    return pl.DataFrame(
        {**dict(zip(group.names, group.labels, strict=True)), "level": level, "beyond": b, "ms": ms}
        for group in groups
        for level in design.levels
        for b, ms in _percentile_curve(_merged_latency(results, design, group, level))
    )


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
    alt.Tooltip("across:N"),
    alt.Tooltip("down:N"),
    alt.Tooltip("level:N"),
    alt.Tooltip("load:Q"),
    *(alt.Tooltip(f"{c}:Q", format=",.4~g") for c in ("value", "low", "high")),
    alt.Tooltip("n:Q"),
]


def _ratio_axis(part: pl.DataFrame, *, apart: float) -> tuple[float, float, list[float]]:
    """Domain of a ratio axis, with 1 on it, and ticks that are so far ``apart``, as a share."""
    ends = [
        x
        for column in ("ratio", "low", "high")
        for x in part.get_column(column).drop_nulls().to_list()
    ]
    low, high = min(0.95, *ends) / 1.05, max(1.05, *ends) * 1.05
    ticks: list[float] = []
    for tick in _TICKS:
        far = all(abs(math.log(tick / t)) >= apart * math.log(high / low) for t in ticks)
        if low <= tick <= high and far:
            ticks.append(tick)
    return low, high, sorted(ticks)


_FEW_LOADS: Final = 2
_FEWEST_SAMPLES: Final = 3
"""Of the measured part of a run: two are no line from which a trend is read."""
_FLAT: Final = 4
"""From this ratio of two panels' highest throughputs on, each has a scale of its own."""
_PLACES: Final = ("panel", "across", "down")
_MANY: Final = 15
_MOST_ROWS: Final = 40
_TICKS: Final = (
    *(1.0, 0.1, 10.0, 0.01, 100.0, 0.001, 1000.0, 2.0, 0.5, 5.0, 0.2, 20.0, 0.05, 50.0, 0.02),
    *(1.5, 0.7, 3.0, 0.3, 1.2, 0.8, 1.4, 0.6, 1.1, 0.9, 1.05, 0.95),
)
"""Ratios of a scale, the roundest first."""
_ONE_DECIMAL: Final = 9.95
_NAMES: Final = 0.36
"""Of a figure's width, names of rows take at most so much a line."""
_COLUMN_PX: Final = 317
"""A printed column of 3.3 inches."""
_PERCENT_OF_RATIO: Final = (
    "datum.value == 1 ? '0 %' : (datum.value > 1 ? '+' : '−')"
    " + format(abs(datum.value - 1) * 100, ',.3~r') + ' %'"
)
_PERCENTILE_OF_BEYOND: Final = "format(100 - 100 / datum.value, '.6~g')"


def _level_channels(
    design: Design, style: Style, data: pl.DataFrame, *, lines: bool = False
) -> tuple[alt.Color, alt.Shape, alt.StrokeDash]:
    """Give a level the same colour in all figures of a design; the legend has those of ``data``."""
    shown = data.get_column("level").unique().to_list()
    names = [level for level in design.levels if level in shown]
    return channels(names, style, of=design.levels, field="level", lines=lines)


def _load_title(design: Design) -> str:
    return (design.load_factor or "load").replace("_per_s", " (operations/s)")


def _of(title: str, facets: Facets | None) -> str:
    """Put the labels that hold for all of a figure into its title."""
    return f"{title}: {', '.join(facets.labels)}" if facets and facets.labels else title


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _at(design: Design) -> str:
    return f" at {max(design.loads):g} {_load_title(design)}" if design.load_factor else ""
