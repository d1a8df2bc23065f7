"""Figures 4 to 24 of Kumarasinghe et al. 2015, made again from runs."""

# ruff: noqa: RUF001 - typography: the apostrophe in captions

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.databases import display_name
from pacelc.papers.cells import estimates
from pacelc.papers.exhibit import Exhibit, FigureExhibit
from pacelc.papers.kumarasinghe_2015.claims import RECORDS_BY_THREADS
from pacelc.plots import POINTS, curves

if TYPE_CHECKING:
    import altair as alt

    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

__all__ = ["EXHIBITS"]

_NAMES: Final = {database: display_name(database) for database in ("cassandra", "mongodb", "redis")}
_FIGURES: Final = {
    "ycsb-a": ("A", "half reads, half updates", 4),
    "ycsb-b": ("B", "95 % reads, 5 % updates", 7),
    "ycsb-c": ("C", "reads", 10),
    "ycsb-d": ("D", "95 % reads of the latest, 5 % inserts", 13),
    "ycsb-e": ("E", "95 % short scans, 5 % inserts", 16),
    "ycsb-f": ("F", "half reads, half read-modify-writes", 19),
}
_BY_THREADS: Final = {
    "read.latency_ms_mean": "mean read latency (ms)",
    "update.latency_ms_mean": "mean update latency (ms)",
    "throughput_per_s": "throughput (operations/s)",
}


def _points(e: Evidence, metric: str, where: dict[str, str | int]) -> pl.DataFrame:
    """Points by records, database and users, in the order of a figure's panels."""
    found = estimates(e.results, ("records", "database", "users"), metric, where)
    rows = [
        (records, _NAMES.get(str(database), str(database)), users, x.value, x.low, x.high, x.n)
        for (records, database, users), x in found.items()
    ]
    data = pl.DataFrame(rows, schema={**POINTS, "panel": pl.Int64}, orient="row").sort(
        "panel", "series", "x"
    )
    return data.with_columns(
        pl.col("panel").map_elements(lambda n: f"{n:,} records", return_dtype=pl.String)
    )


def _by_records(workload: str, e: Evidence, style: Style) -> alt.TopLevelMixin:
    letter, what, _ = _FIGURES[workload]
    data = _points(e, "throughput_per_s", {"workload": workload}).filter(
        pl.col("panel") != f"{RECORDS_BY_THREADS:,} records"
    )
    return curves(
        data,
        title=f"Workload {letter} ({what}): throughput by users",
        x_title="users",
        y_title="throughput (operations/s)",
        series=tuple(_NAMES.values()),
        shared_y=True,
        style=style,
    )


def _by_threads(e: Evidence, style: Style) -> alt.TopLevelMixin:
    where: dict[str, str | int] = {"workload": "ycsb-a", "records": RECORDS_BY_THREADS}
    return curves(
        pl.concat(
            _points(e, metric, where).with_columns(pl.lit(title).alias("panel"))
            for metric, title in _BY_THREADS.items()
        ),
        title=f"Workload A on {RECORDS_BY_THREADS:,} records: latencies and throughput by users",
        x_title="users",
        y_title="",
        series=tuple(_NAMES.values()),
        style=style,
    )


EXHIBITS: Final[tuple[Exhibit, ...]] = (
    *(
        FigureExhibit(
            f"kumarasinghe-figures-{first}-{first + 2}",
            f"Workload {letter}: throughput by users",
            f"figures {first} to {first + 2}",
            "Panels share their scale. The paper’s threads are users here.",
            lambda e, style, workload=workload: _by_records(workload, e, style),
        )
        for workload, (letter, _, first) in _FIGURES.items()
    ),
    FigureExhibit(
        "kumarasinghe-figures-22-24",
        "Workload A on 100,000 records: latencies and throughput by users",
        "figures 22 to 24",
        "A throughput that rises with users, at a latency that hardly does, has room left.",
        _by_threads,
    ),
)
