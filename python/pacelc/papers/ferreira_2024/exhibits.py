"""The tables of Ferreira et al. 2024 that are made again from runs.

Their figures 2 to 6 and table 5 are those of every report (:mod:`pacelc.plots.figures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.analysis import change_estimate
from pacelc.papers.exhibit import Exhibit, Table, TableExhibit, beside
from pacelc.papers.ferreira_2024.tables import table

if TYPE_CHECKING:
    from pacelc.analysis import Estimate
    from pacelc.papers.claim import Evidence

__all__ = ["EXHIBITS"]

_COLUMNS: Final = {
    "throughput": ("throughput_per_s", "throughput_change_percent"),
    "response time": ("latency_ms_mean", "response_time_change_percent"),
}


def _table_8(e: Evidence) -> Table | None:
    labels = ("deployment", "database", "operation")
    published: dict[tuple[tuple[str, ...], str], float] = {}
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    rows: list[tuple[str, ...]] = []
    for printed in table("table8").iter_rows(named=True):
        row = tuple(printed[name] for name in labels)
        rows.append(row)
        group = e.group(printed["database"], printed["operation"], printed["deployment"])
        for title, (metric, column) in _COLUMNS.items():
            published[row, title] = printed[column]
            if group is None or len(e.design.levels) <= 1:
                continue
            weak, strong = (
                e.design.cells(group, level, metric)
                for level in (e.design.levels[0], e.design.levels[-1])
            )
            change = change_estimate(weak, strong)
            if change is not None:
                measured[row, title] = change
    return beside(labels, rows, tuple(_COLUMNS), published, measured)


EXHIBITS: Final[tuple[Exhibit, ...]] = (
    TableExhibit(
        "ferreira-table-8",
        "Change from weak to strong, in per cent",
        "table 8",
        "Mean of the changes at each number of users. The paper gives no intervals.",
        _table_8,
    ),
)
