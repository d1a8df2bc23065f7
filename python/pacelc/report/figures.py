"""The figures of a report, in the order in which it shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc import plots
from pacelc.plots.observed import FEWEST_READS

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt

    from pacelc.plots import Style
    from pacelc.report.content import Content

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes
    ----------
    name
        Of its files.
    title, caption
        What it shows, and how to read it.
    chart
        Draws it in a style.
    """

    name: str
    title: str
    caption: str
    chart: Callable[[Content, Style], alt.TopLevelMixin]

    def draw(self, content: Content) -> tuple[alt.TopLevelMixin, alt.TopLevelMixin]:
        """Draw it for the screen and for print.

        Raises
        ------
        NothingToDraw
            The results don't hold what it shows.
        """
        return self.chart(content, plots.SCREEN), self.chart(content, plots.PAPER)


FIGURES: Final = (
    Figure(
        "frontier",
        "Consistency and latency of each level",
        "Further right: slower. Further down: more reads were certainly stale. In panels without "
        "stale reads, the axis is the 99.9th percentile of possible staleness.",
        lambda c, style: plots.frontier(c.observed.levels, c.design, style=style),
    ),
    Figure(
        "staleness",
        "How stale reads were",
        "At 100 ms: the share of reads whose value had been replaced at least 100 ms earlier. The "
        "band is uncertain because reads and writes overlapped. A level that waits longer has more "
        "overlap, but isn't staler.",
        lambda c, style: plots.staleness_distribution(c.observed.levels, style=style),
    ),
    Figure(
        "visibility",
        "How soon a write is visible",
        "At 100 ms: the share of reads begun 100 ms after a write's acknowledgement that returned "
        "it or a newer one. All runs of a level together; each point has at least "
        f"{FEWEST_READS} reads. Levels at 100 % overlap.",
        lambda c, style: plots.visibility(c.observed.levels, style=style),
    ),
    Figure(
        "change",
        "What changes with the level",
        "Left of the line: less than at the reference level; right: more. Half and twice are "
        "equally far from the line.",
        lambda c, style: plots.change_between_levels(c.comparisons, style=style),
    ),
    Figure(
        "throughput",
        "Throughput",
        "Ok operations a second. Each panel has its own scale. Bands may overlap where the change "
        "above is clear: that compares runs at the same load.",
        lambda c, style: plots.throughput_by_load(c.design, style=style),
    ),
    Figure(
        "response-time",
        "Mean response time",
        "Of ok operations. In a closed loop, a user waits for an answer before it asks again: "
        "response time and throughput are then two views of one thing.",
        lambda c, style: plots.response_time_by_load(c.design, style=style),
    ),
    Figure(
        "percentiles",
        "Distribution of response time",
        "Read upwards at 99: one operation in a hundred took longer than this.",
        lambda c, style: plots.latency_percentiles(c.results, c.design, style=style),
    ),
    Figure(
        "over-time",
        "Throughput over time",
        "A run that is still climbing right of the dashed line was not warmed up long enough.",
        lambda c, style: plots.throughput_over_time(c.results, c.design, style=style),
    ),
    Figure(
        "faults",
        "Throughput and response time during faults",
        "Ok operations are counted when they ended. Response times are drawn when operations were "
        "due, so a pause shows in every operation that waited.",
        lambda c, style: plots.faults_over_time(c.results, style=style),
    ),
    Figure(
        "partitions",
        "Operations served on each side of a partition",
        "Solid: reads; dashed: writes. Where both sides take writes, no system can keep them "
        "consistent.",
        lambda c, style: plots.served_in_partitions(c.results, c.design, style=style),
    ),
    Figure(
        "cpu",
        "CPU by kind of node",
        "Cores in use, mean over the nodes of a kind.",
        lambda c, style: plots.cpu_by_role(c.results, c.design, style=style),
    ),
    Figure(
        "client",
        "The load generator",
        "A load generator near its limit would count its own queue as the database's.",
        lambda c, style: plots.client_use_by_load(c.results, c.design, style=style),
    ),
)
