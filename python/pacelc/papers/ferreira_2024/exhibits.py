"""The tables of Ferreira et al. 2024 that are made again from runs.

Their figures 2 to 6 and table 5 are those of every report (:mod:`pacelc.plots.figures`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.analysis import change_estimate
from pacelc.papers.exhibit import Exhibit, Table, TableExhibit, beside
from pacelc.papers.ferreira_2024.tables import table

if TYPE_CHECKING:
    from pacelc.analysis import Estimate, Group
    from pacelc.papers.claim import Evidence

__all__ = ["EXHIBITS"]

_COLUMNS: Final = {
    "throughput": ("throughput_per_s", "throughput_change_percent"),
    "response time": ("latency_ms_mean", "response_time_change_percent"),
}


_LABELS: Final = ("deployment", "database", "operation")


def _labels(group: Group) -> tuple[str, ...]:
    """Return those of a row; a study without a factor for the deployment is a single-region one."""
    return tuple(group.get(name, "single") for name in _LABELS)


def _table_8(e: Evidence) -> Table | None:
    published: dict[tuple[tuple[str, ...], str], float] = {}
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    rows: list[tuple[str, ...]] = []
    for printed in table("table8").iter_rows(named=True):
        row = tuple(printed[name] for name in _LABELS)
        rows.append(row)
        group = next((g for g in e.design.groups if _labels(g) == row), None)
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
    return beside(_LABELS, rows, tuple(_COLUMNS), published, measured)


EXHIBITS: Final[tuple[Exhibit, ...]] = (
    TableExhibit(
        "ferreira-table-8",
        "Change from weak to strong, in per cent",
        "table 8",
        "Mean of the changes at each number of users. The paper gives no intervals.",
        _table_8,
    ),
)
