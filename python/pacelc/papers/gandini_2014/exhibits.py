"""Figures 2 to 5 of Gandini et al. 2014, and what can be measured of tables 2 to 4, from runs.

The paper's figures have no numbers; the published side of the table is made of its tables 2 to 4.
"""

# ruff: noqa: RUF001 - typography: the apostrophe in captions

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import mean_estimate
from pacelc.databases import display_name
from pacelc.papers.cells import estimates, runs_where
from pacelc.papers.exhibit import Exhibit, FigureExhibit, Table, TableExhibit, beside
from pacelc.papers.gandini_2014.claims import DATABASES, USERS_BY_CORES
from pacelc.papers.gandini_2014.demands import CONFIGURATIONS, demands
from pacelc.plots import POINTS, curves

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import altair as alt

    from pacelc.analysis import Estimate
    from pacelc.papers.cells import Label, Where
    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

__all__ = ["EXHIBITS"]

_NAMES: Final = {database: display_name(database) for database in DATABASES}
_THROUGHPUT: Final = "throughput (operations/s)"
_MEASURES: Final = {
    "throughput_per_s": _THROUGHPUT,
    "update.latency_ms_mean": "mean update latency (ms)",
    "read.latency_ms_mean": "mean read latency (ms)",
}
_SERVES: Final = ("node", "primary", "replica", "regionserver")
"""Roles of the servers that hold records."""
_CPU_TIME: Final = "CPU time (ms)"
_MS_PER_S: Final = 1000


def _row(panel: str, series: str, x: object, estimate: Estimate) -> tuple[object, ...]:
    return (panel, series, x, estimate.value, estimate.low, estimate.high, estimate.n)


def _alone(series: Collection[str], note: str = "") -> str:
    """Name the one series in the note, since a figure of one has no legend."""
    return "; ".join(text for text in (*(series if len(series) == 1 else ()), note) if text)


def _frame(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=POINTS, orient="row")


def _by_cores(e: Evidence, style: Style) -> alt.TopLevelMixin:
    where = {"nodes": 1, "replication": 1, "users": USERS_BY_CORES}
    rows = [
        _row(title, _NAMES.get(str(database), str(database)), cores, estimate)
        for metric, title in _MEASURES.items()
        for (database, cores), estimate in sorted(
            estimates(e.results, ("database", "cores"), metric, where).items()
        )
    ]
    return curves(
        _frame(rows),
        title=f"One node, {USERS_BY_CORES} users: throughput and latencies by cores",
        x_title="cores",
        y_title="",
        series=tuple(_NAMES.values()),
        note=_alone({str(series) for _, series, *_ in rows}),
        style=style,
    )


def _by_users(
    e: Evidence,
    style: Style,
    factors: tuple[str, ...],
    where: Where,
    name: Callable[..., str],
    *,
    metrics: Mapping[str, str],
    title: str,
    y_title: str,
    note: str,
) -> alt.TopLevelMixin:
    """One panel a metric and database, one line a combination of ``factors``.

    Only of runs with fewer users than the experiment with cores has.
    """
    rows: list[tuple[object, ...]] = []
    series: dict[tuple[Label, ...], str] = {}
    for metric, word in metrics.items():
        found = estimates(e.results, ("database", *factors, "users"), metric, where)
        for database, panel in _NAMES.items():
            for (of, *labels, users), estimate in sorted(found.items()):
                if of == database and float(users) < USERS_BY_CORES:
                    line = series.setdefault(tuple(labels), name(*labels))
                    rows.append(_row(f"{panel}{word}", line, users, estimate))
    return curves(
        _frame(rows),
        title=title,
        x_title="users",
        y_title=y_title,
        series=[series[labels] for labels in sorted(series)],
        note=_alone(series.values(), note),
        style=style,
    )


def _size(nodes: int, cores: float) -> str:
    return f"{nodes} × {cores:g} {'core' if cores == 1 else 'cores'}"


def _copies(copies: int) -> str:
    return f"{copies} {'copy' if copies == 1 else 'copies'}"


def _throughput_by_nodes(e: Evidence, style: Style) -> alt.TopLevelMixin:
    return _by_users(
        e,
        style,
        ("nodes", "cores"),
        {"replication": 1},
        _size,
        metrics={"throughput_per_s": ""},
        title="Throughput by users and size of the cluster",
        y_title=_THROUGHPUT,
        note="nodes × cores of each; each panel has its own scale",
    )


def _latency_by_nodes(e: Evidence, style: Style) -> alt.TopLevelMixin:
    return _by_users(
        e,
        style,
        ("nodes", "cores"),
        {"replication": 1},
        _size,
        metrics={"read.latency_ms_mean": ", reads", "update.latency_ms_mean": ", updates"},
        title="Latency of reads and updates by users and size of the cluster",
        y_title="mean latency (ms)",
        note="nodes × cores of each; each panel has its own scale",
    )


def _throughput_by_copies(e: Evidence, style: Style) -> alt.TopLevelMixin:
    """Only of clusters that differ in their copies: one copy on others is figure 3's."""
    runs = e.results.runs
    several: list[Label] = []
    if {"replication", "nodes"} <= set(runs.columns):
        kinds = runs.group_by("nodes").agg(pl.col("replication").n_unique().alias("kinds"))
        several = kinds.filter(pl.col("kinds") > 1).get_column("nodes").to_list()
    return _by_users(
        e,
        style,
        ("replication",),
        {"nodes": several},
        _copies,
        metrics={"throughput_per_s": ""},
        title="Throughput by users and copies",
        y_title=_THROUGHPUT,
        note="each panel has its own scale",
    )


def _cpu_time(e: Evidence) -> Table | None:
    """Processor time of an operation: cores in use over throughput, at the most users."""
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    published: dict[tuple[tuple[str, ...], str], float] = {}
    rows: list[tuple[str, ...]] = []
    for database, nodes, copies in CONFIGURATIONS:
        row = (_NAMES[database], str(nodes), str(copies))
        rows.append(row)
        published[row, _CPU_TIME] = demands(database, nodes, copies).cpu_of_all_nodes_s * _MS_PER_S
        where = {"database": database, "nodes": nodes, "replication": copies}
        here = _cpu_times_ms(e, runs_where(e.results, where))
        if here is not None:
            measured[row, _CPU_TIME] = here
    return beside(
        ("database", "nodes", "copies"), rows, (_CPU_TIME,), published, measured, ratio=True
    )


def _cpu_times_ms(e: Evidence, runs: pl.DataFrame) -> Estimate | None:
    """Of the runs with the most users below the experiment with cores, on the most cores."""
    if not {"users", "cores"} <= set(runs.columns):
        return None
    used = e.results.nodes.filter(pl.col("role").is_in(_SERVES))
    used = used.group_by("source", "run").agg(pl.col("cpu_cores").sum())
    runs = (
        runs.filter((pl.col("users") < USERS_BY_CORES) & (pl.col("throughput_per_s") > 0))
        .filter(pl.col("users") == pl.col("users").max())
        .filter(pl.col("cores") == pl.col("cores").max())
        .join(used.filter(pl.col("cpu_cores") > 0), on=["source", "run"])
    )
    if runs.is_empty():
        return None
    times = runs.select(pl.col("cpu_cores") / pl.col("throughput_per_s") * _MS_PER_S).to_series()
    return mean_estimate(times.to_numpy())


EXHIBITS: Final[tuple[Exhibit, ...]] = (
    FigureExhibit(
        "gandini-figure-2",
        "One node: throughput and latencies by cores",
        "figure 2",
        "The paper: HBase and Cassandra grow almost linearly, MongoDB levels off at about six "
        "cores; updates of HBase and Cassandra hardly change, reads get faster, MongoDB’s being "
        "the fastest. Its HBase kept updates in the client; here each is sent.",
        _by_cores,
    ),
    FigureExhibit(
        "gandini-figure-3",
        "Throughput by users and size of the cluster",
        "figure 3",
        "The paper: throughput grows with the nodes; from 8 nodes on 30 users don’t fill "
        "Cassandra, from 4 on MongoDB. Several nodes of MongoDB are sharding: client, keys hashed "
        "over them by the load generator; the paper’s were behind mongos.",
        _throughput_by_nodes,
    ),
    FigureExhibit(
        "gandini-figure-4",
        "Latency of reads and updates by users and size of the cluster",
        "figure 4",
        "The paper: Cassandra gains little from 8 to 16 nodes. A latency that grows in step with "
        "the users is a cluster that is full.",
        _latency_by_nodes,
    ),
    FigureExhibit(
        "gandini-figure-5",
        "Throughput by users and copies",
        "figure 5",
        "The paper: each further copy costs Cassandra, the second alone costs MongoDB, none costs "
        "HBase. Here HBase’s are replicas of regions, the paper’s were HDFS’s; several sets of "
        "MongoDB are sharding: client.",
        _throughput_by_copies,
    ),
    TableExhibit(
        "gandini-tables-2-4",
        "Processor time of an operation, in all nodes, in milliseconds",
        "tables 2 to 4",
        "Published: the models’ CPU demands, read as milliseconds, mean of reads and writes as "
        "they reach a node; with four copies, of all four, to which the models send reads, too. "
        "Here: processor time of the servers that hold records over operations, with most users, "
        "and so with all that they do beside. A node of two cores is full at 2 over its time: "
        "3,265 operations a second at 0.6125 ms.",
        _cpu_time,
    ),
)
