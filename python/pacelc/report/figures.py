"""The figures of a report, in the order in which it shows them."""

# ruff: noqa: RUF001 - typography: apostrophes

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc import plots
from pacelc.plots.observed import FEWEST_READS

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

    from pacelc.analysis import Design
    from pacelc.analysis.observed import Level
    from pacelc.plots import Facets, Style
    from pacelc.report.content import Content

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True)
class Figure:
    """One figure, or one of each combination of the factors for which it has no room.

    Attributes
    ----------
    name
        Of its files.
    title
        What it shows, in short.
    caption
        What it shows of these results, then what to look for.
    chart
        Draws what the facets say in a style; raises ``NothingToDraw`` if the results don't hold it.
    alone
        Whether it shows all groups at once.
    """

    name: str
    title: str
    caption: Callable[[Content, Facets], str]
    chart: Callable[[Content, Facets, Style], alt.TopLevelMixin]
    alone: bool = False


def _levels(content: Content, facets: Facets) -> list[Level]:
    return [level for level in content.observed.levels if facets.shows(level.group)]


def _of(facets: Facets) -> str:
    """Name what all panels have in common."""
    return f" ({', '.join(facets.labels)})" if facets.labels else ""


def _by(design: Design) -> str:
    several = design.load_factor is not None and len(design.loads) > 1
    names = [design.load_factor] * several + [design.level_factor] * (len(design.levels) > 1)
    return f" by {' and '.join(map(str, names))}" if names else ""


def _at(design: Design) -> str:
    return f" at {max(design.loads):g} {design.load_factor}" if design.load_factor else ""


def _change(content: Content, facets: Facets) -> str:
    of = [c for c in content.comparisons if c.group in facets.groups and c.ratio is not None]
    levels = list(dict.fromkeys(c.level for c in of))
    to = levels[0] if len(levels) == 1 else "each other level"
    bars = any(c.ratio.low is not None for c in of if c.ratio)
    doubt = "Where a bar crosses" if bars else "Of one run a scenario there are no bars: near"
    return (
        f"Change from {content.design.reference} to {to}{_of(facets)}. Left of 0\u00a0%: less than "
        f"at {content.design.reference}; right: more. {doubt} 0\u00a0%, the runs can’t tell."
    )


def _throughput(content: Content, facets: Facets) -> str:
    text = f"Successful operations per second{_by(content.design)}{_of(facets)}. Higher is better."
    compared = any(c.group in facets.groups and c.ratio for c in content.comparisons)
    if compared and len(content.design.loads) > 1:
        text += (
            " Intervals that overlap don’t rule out a difference: the change above compares runs "
            "at the same load."
        )
    return text


def _cpu(content: Content, facets: Facets) -> str:
    over = (
        f", over the {content.design.load_factor} at which every level has readings"
        if len(content.design.loads) > 1
        else ""
    )
    return (
        f"Processor cores in use, mean of the nodes of each kind{over}{_of(facets)}. A kind that "
        "uses all of its cores limits throughput."
    )


def _client(content: Content, facets: Facets) -> str:
    use = content.tables["resources_by_load"]
    mine = facets.of(use).placed(use.filter(pl.col("role") == "client"))
    cpu, memory = (name in mine.get_column("resource") for name in ("cpu", "memory"))
    what = " and ".join(["CPU"] * cpu + ["memory"] * memory)
    text = f"{what[:1].upper()}{what[1:]} that the load generator used{_by(content.design)}"
    text += f"{_of(facets)}."
    if cpu:
        text += " Near 100\u00a0% of its CPU, it measures its own delay, not the database’s."
    return text


FIGURES: Final = (
    Figure(
        "frontier",
        "Consistency and latency of each level",
        lambda _, f: (
            f"Each point is a level{_of(f)}: its 99th percentile of response time, and the share "
            "of its reads that weren’t stale for certain. Panels without stale reads show how "
            "stale they may have been. Upper left is best: fast and fresh."
        ),
        lambda c, f, style: plots.frontier(_levels(c, f), c.design, style=style),
    ),
    Figure(
        "staleness",
        "How stale reads were",
        lambda _, f: (
            f"Share of reads{_of(f)} whose value had been replaced at least the given time before. "
            "Between a level’s solid and dotted lines the share is uncertain, because reads and "
            "writes overlapped."
        ),
        lambda c, f, style: plots.staleness_distribution(
            _levels(c, f), of=c.design.levels, style=style
        ),
    ),
    Figure(
        "visibility",
        "How soon a write is visible",
        lambda _, f: (
            f"Share of reads{_of(f)} that returned the newest acknowledged write or a newer one, "
            "by the time since its acknowledgement. Where a line reaches 100\u00a0% late, writes "
            f"take long to be seen. Each point has at least {FEWEST_READS} reads."
        ),
        lambda c, f, style: plots.visibility(_levels(c, f), of=c.design.levels, style=style),
    ),
    Figure(
        "change",
        "What changes with the level",
        _change,
        lambda c, f, style: plots.change_between_levels(
            c.comparisons, levels=c.design.levels, facets=f, style=style
        ),
    ),
    Figure(
        "throughput",
        "Throughput",
        _throughput,
        lambda c, f, style: plots.metric_by_load(
            c.design, "throughput_per_s", facets=f, style=style, means=c.tables["by_load"]
        ),
    ),
    Figure(
        "response-time",
        "Mean response time",
        lambda c, f: (
            f"Mean time until a successful answer{_by(c.design)}{_of(f)}. Lower is better."
        ),
        lambda c, f, style: plots.metric_by_load(
            c.design, "latency_ms_mean", facets=f, style=style, means=c.tables["by_load"]
        ),
    ),
    Figure(
        "percentiles",
        "Distribution of response time",
        lambda c, f: (
            f"Response time within which the given per cent of operations succeeded"
            f"{_at(c.design)}{_of(f)}. At 90: one operation in ten took longer."
        ),
        lambda c, f, style: plots.latency_percentiles(c.results, c.design, facets=f, style=style),
    ),
    Figure(
        "over-time",
        "Throughput over time",
        lambda c, f: (
            f"Throughput of each run over time{_at(c.design)}{_of(f)}. Where a line still climbs "
            "right of the dashed line, the warm-up was too short."
        ),
        lambda c, f, style: plots.throughput_over_time(c.results, c.design, facets=f, style=style),
    ),
    Figure(
        "faults",
        "Throughput and response time during faults",
        lambda _c, _f: (
            "Successful operations per second, and the 99th percentile of their response time, by "
            "when operations ended and when they were due. A pause shows in both: nothing ends, "
            "and all that was due waits."
        ),
        lambda c, _, style: plots.faults_over_time(c.results, style=style),
        alone=True,
    ),
    Figure(
        "partitions",
        "Operations served on each side of a partition",
        lambda _c, _f: (
            "Share of the operations due in each second that succeeded, for clients on either side "
            "of a partition. Where both sides take writes, no system can keep them consistent."
        ),
        lambda c, _, style: plots.served_in_partitions(c.results, c.design, style=style),
        alone=True,
    ),
    Figure(
        "cpu",
        "CPU by kind of node",
        _cpu,
        lambda c, f, style: plots.cpu_by_role(
            c.results, c.design, facets=f, style=style, use=c.tables["resources"]
        ),
    ),
    Figure(
        "client",
        "The load generator",
        _client,
        lambda c, f, style: plots.client_use_by_load(
            c.results, c.design, facets=f, style=style, use=c.tables["resources_by_load"]
        ),
    ),
)
