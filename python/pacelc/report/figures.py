"""The figures of a report, in the order in which it shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc import plots
from pacelc.plots.observed import FEWEST_READS

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

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
    title, caption
        What it shows, and how to read it.
    chart
        Draws what the facets say in a style; raises ``NothingToDraw`` if the results don't hold it.
    alone
        Whether it shows all groups at once.
    """

    name: str
    title: str
    caption: str
    chart: Callable[[Content, Facets, Style], alt.TopLevelMixin]
    alone: bool = False


def _levels(content: Content, facets: Facets) -> list[Level]:
    return [level for level in content.observed.levels if facets.shows(level.group)]


FIGURES: Final = (
    Figure(
        "frontier",
        "Consistency and latency of each level",
        "Further right: slower. Further down: more reads were certainly stale. In panels without "
        "stale reads, the axis is the 99.9th percentile of possible staleness.",
        lambda c, f, style: plots.frontier(_levels(c, f), c.design, style=style),
    ),
    Figure(
        "staleness",
        "How stale reads were",
        "At 100 ms: the share of reads whose value had been replaced at least 100 ms earlier. The "
        "band is uncertain because reads and writes overlapped. A level that waits longer has more "
        "overlap, but isn't staler.",
        lambda c, f, style: plots.staleness_distribution(_levels(c, f), style=style),
    ),
    Figure(
        "visibility",
        "How soon a write is visible",
        "At 100 ms: the share of reads begun 100 ms after a write's acknowledgement that returned "
        "it or a newer one. All runs of a level together; each point has at least "
        f"{FEWEST_READS} reads. Levels at 100 % overlap.",
        lambda c, f, style: plots.visibility(_levels(c, f), style=style),
    ),
    Figure(
        "change",
        "What changes with the level",
        "Left of the line: less than at the reference level; right: more. Half and twice are "
        "equally far from the line.",
        lambda c, f, style: plots.change_between_levels(c.comparisons, facets=f, style=style),
    ),
    Figure(
        "throughput",
        "Throughput",
        "Successful operations a second. All panels have the same scale. Intervals may overlap "
        "where the change above is clear: that compares runs at the same load.",
        lambda c, f, style: plots.metric_by_load(
            c.design, "throughput_per_s", facets=f, style=style, means=c.tables["by_load"]
        ),
    ),
    Figure(
        "response-time",
        "Mean response time",
        "Of ok operations. In a closed loop, a user waits for an answer before it asks again: "
        "response time and throughput are then two views of one thing.",
        lambda c, f, style: plots.metric_by_load(
            c.design, "latency_ms_mean", facets=f, style=style, means=c.tables["by_load"]
        ),
    ),
    Figure(
        "percentiles",
        "Distribution of response time",
        "Read upwards at 99: one operation in a hundred took longer than this.",
        lambda c, f, style: plots.latency_percentiles(c.results, c.design, facets=f, style=style),
    ),
    Figure(
        "over-time",
        "Throughput over time",
        "A run that is still climbing right of the dashed line was not warmed up long enough.",
        lambda c, f, style: plots.throughput_over_time(c.results, c.design, facets=f, style=style),
    ),
    Figure(
        "faults",
        "Throughput and response time during faults",
        "Ok operations are counted when they ended. Response times are drawn when operations were "
        "due, so a pause shows in every operation that waited.",
        lambda c, _, style: plots.faults_over_time(c.results, style=style),
        alone=True,
    ),
    Figure(
        "partitions",
        "Operations served on each side of a partition",
        "Solid: reads; dashed: writes. Where both sides take writes, no system can keep them "
        "consistent.",
        lambda c, _, style: plots.served_in_partitions(c.results, c.design, style=style),
        alone=True,
    ),
    Figure(
        "cpu",
        "CPU by kind of node",
        "Cores in use, mean over the nodes of a kind.",
        lambda c, f, style: plots.cpu_by_role(
            c.results, c.design, facets=f, style=style, use=c.tables["resources"]
        ),
    ),
    Figure(
        "client",
        "The load generator",
        "A load generator near its limit would count its own queue as the database's.",
        lambda c, f, style: plots.client_use_by_load(
            c.results, c.design, facets=f, style=style, use=c.tables["resources_by_load"]
        ),
    ),
)
