"""Figures 2 and 3 and tables 2 and 3 of Haughian et al. 2016, made again from runs."""

# ruff: noqa: RUF001 - typography: dashes in captions

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.databases import display_name
from pacelc.papers.cells import estimates
from pacelc.papers.claim import Missing
from pacelc.papers.exhibit import Exhibit, FigureExhibit, Table, TableExhibit, beside
from pacelc.papers.haughian_2016.claims import WORKLOADS, cost
from pacelc.papers.haughian_2016.tables import difference_estimate, table
from pacelc.plots import POINTS, curves

if TYPE_CHECKING:
    import altair as alt

    from pacelc.analysis import Estimate
    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

__all__ = ["EXHIBITS"]

_LEVELS: Final = ("ONE", "QUORUM", "ALL")
_DISTRIBUTIONS: Final = ("uniform", "zipfian", "latest")
_BASELINE: Final = "without replication (uniform)"
_SERIES: Final = (*_DISTRIBUTIONS, _BASELINE)


def _throughput(database: str, e: Evidence, style: Style) -> alt.TopLevelMixin:
    """One panel a workload and level; the baselines, which have one copy, in each of them."""
    found = estimates(
        e.results,
        ("workload", "consistency", "cluster", "distribution", "nodes"),
        "throughput_per_s",
        {"database": database},
    )
    rows: list[dict[str, object]] = []
    for name, workload in WORKLOADS.items():
        for level in _LEVELS:
            if not any(key[:3] == (workload, level, "replicated") for key in found):
                continue
            for (of, at, cluster, distribution, nodes), estimate in found.items():
                plain = cluster == "non-replicated"
                if of == workload and (plain or at == level):
                    rows.append(
                        {
                            "panel": f"{name}, {level}",
                            "series": _BASELINE if plain else distribution,
                            "x": nodes,
                            "value": estimate.value,
                            "low": estimate.low,
                            "high": estimate.high,
                            "n": estimate.n,
                        }
                    )
    data = pl.DataFrame(rows, schema=POINTS, orient="row").sort("x", maintain_order=True)
    data = data.sort(
        pl.col("panel").replace_strict(
            {f"{n}, {v}": i for i, (n, v) in enumerate((n, v) for n in WORKLOADS for v in _LEVELS)}
        ),
        maintain_order=True,
    )
    return curves(
        data,
        title=f"{display_name(database)}: throughput by size of the cluster, workload and level",
        x_title="nodes",
        y_title="throughput (operations/s)",
        series=_SERIES,
        note="G: 95 % reads, H: 95 % updates",
        shared_y=True,
        style=style,
    )


def _differences(database: str, name: str, e: Evidence) -> Table | None:
    published: dict[tuple[tuple[str, ...], str], float] = {}
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    rows: dict[tuple[str, ...], None] = {}
    columns: dict[str, None] = {}
    for printed in table(name).iter_rows(named=True):
        row = (printed["distribution"], printed["level"])
        column = f"{printed['workload']}, {printed['nodes']} nodes"
        rows[row] = columns[column] = None
        published[row, column] = printed["difference_percent"]
        ratio = cost(
            e,
            {
                "database": database,
                "workload": WORKLOADS[printed["workload"]],
                "nodes": printed["nodes"],
                "distribution": printed["distribution"],
                "consistency": printed["level"],
            },
        )
        if not isinstance(ratio, Missing):
            measured[row, column] = difference_estimate(ratio)
    return beside(("distribution", "level"), list(rows), list(columns), published, measured)


_FORMULA: Final = (
    "As a share of the mean of both, 200 (a − b) / (a + b), which is what the paper’s numbers are: "
    "100 % is a third of the throughput, and negative is a gain. The baseline is uniform."
)

EXHIBITS: Final[tuple[Exhibit, ...]] = (
    FigureExhibit(
        "haughian-figure-2",
        "Cassandra: throughput by size of the cluster, workload and level",
        "figure 2",
        "Falling lines beside a rising baseline are what the paper found. Copies grow with the "
        "cluster: 2 of 3 nodes, 4 of 6, 6 of 9, 8 of 12.",
        lambda e, style: _throughput("cassandra", e, style),
    ),
    TableExhibit(
        "haughian-table-2",
        "Cassandra: difference in throughput between clusters with and without replication, in per "
        "cent",
        "table 2",
        f"{_FORMULA} Of two copies, on three nodes, QUORUM asks for both, as ALL does.",
        lambda e: _differences("cassandra", "table2", e),
    ),
    FigureExhibit(
        "haughian-figure-3",
        "MongoDB: throughput by size of the cluster, workload and level",
        "figure 3",
        "With replication: sets of three members. Without: sets of one. Several sets are sharding: "
        "client, keys hashed over them by the load generator; the paper’s were behind mongos.",
        lambda e, style: _throughput("mongodb", e, style),
    ),
    TableExhibit(
        "haughian-table-3",
        "MongoDB: difference in throughput between clusters with and without replication, in per "
        "cent",
        "table 3",
        f"{_FORMULA} Several sets are sharding: client, keys hashed over them by the load "
        "generator; the paper’s were behind mongos. The published values of latest, ALL, H are "
        "those of the paper’s other table.",
        lambda e: _differences("mongodb", "table3", e),
    ),
)
