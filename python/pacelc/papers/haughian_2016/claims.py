"""The findings of Haughian et al. 2016, restated.

Factors are those of the study: ``database, workload, distribution, nodes, cluster`` (replicated or
not), ``consistency``. MongoDB's clusters of several sets, which are those without replication and
those of more than three nodes, have ``sharding: client``: no request passes a router.
"""

# ruff: noqa: RUF001 - typography: signs of multiplication

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.papers.cells import contrast, runs_where
from pacelc.papers.claim import Claim, Evidence, Part, Verdict, judge

if TYPE_CHECKING:
    from pacelc.analysis import Estimate
    from pacelc.papers.cells import Where

__all__ = ["BASELINE", "CLAIMS", "WORKLOADS", "cost"]

_THROUGHPUT: Final = "throughput_per_s"
WORKLOADS: Final = {"G": "haughian-g", "H": "haughian-h"}
BASELINE: Final = {"cluster": "non-replicated", "distribution": "uniform", "consistency": "ONE"}
_REPLICATED: Final = {"cluster": "replicated"}
_ALIKE: Final = ("database", "workload", "distribution", "nodes", "cluster", "consistency")
_SAME: Final = 0.10
_MOST_NODES_OF_TWO_COPIES: Final = 3
"""Up to these the study has two copies, and QUORUM asks for both: the same as ALL."""


def cost(e: Evidence, where: Where) -> Estimate | None:
    """Return replicated over non-replicated throughput, by the paper's baselines.

    Parameters
    ----------
    where
        Labels of the replicated side, with ``database``, ``workload`` and ``nodes``. The baseline
        has as many nodes, a uniform distribution and one copy.
    """
    same = {name: where[name] for name in ("database", "workload", "nodes")}
    return contrast(e.results, _THROUGHPUT, {**_REPLICATED, **where}, {**same, **BASELINE})


def _over(
    e: Evidence,
    over: Where,
    under: Where,
    text: str,
    *,
    where: Where | None = None,
    **bounds: float,
) -> list[Part]:
    """Compare throughputs of runs that are alike in every other factor."""
    match = [name for name in _ALIKE if name not in over]
    ratio = contrast(e.results, _THROUGHPUT, over, under, match=match, where=where)
    return judge(ratio, text, **bounds)


def _sizes(e: Evidence, where: Where) -> list[int]:
    runs = runs_where(e.results, {**_REPLICATED, **where})
    return sorted(set(runs.get_column("nodes").to_list())) if "nodes" in runs.columns else []


def _writes_lose_more(e: Evidence) -> list[Part]:
    """Compare what replication costs both workloads, at each level and size (uniform)."""
    parts: list[Part] = []
    for database in ("cassandra", "mongodb"):
        for level in ("ONE", "QUORUM", "ALL"):
            for nodes in _sizes(e, {"database": database}):
                shared: Where = {
                    "database": database,
                    "nodes": nodes,
                    "consistency": level,
                    "distribution": "uniform",
                }
                reads, writes = (
                    cost(e, {**shared, "workload": WORKLOADS[name]}) for name in ("G", "H")
                )
                if reads is None or writes is None:
                    continue
                text = f"{database} {level}, {nodes} nodes: H × {writes.text()}, G × {reads.text()}"
                parts.append(Part(text, _lower(writes, reads)))
    return parts


def _lower(one: Estimate, other: Estimate) -> Verdict:
    """Whether one interval lies wholly below another; stricter than one of the difference."""
    if None in (one.low, one.high, other.low, other.high):
        return "can't tell"
    if one.below(other.low or 0.0):
        return "holds"
    return "violated" if one.above(other.high or 0.0) else "can't tell"


def _levels_cost(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for name, workload in WORKLOADS.items():
        where: Where = {"database": "cassandra", "workload": workload, **_REPLICATED}
        parts += _over(
            e,
            {"consistency": "QUORUM"},
            {"consistency": "ONE"},
            f"{name}, QUORUM / ONE: ×",
            where=where,
            below=1,
        )
        larger = [n for n in _sizes(e, where) if n > _MOST_NODES_OF_TWO_COPIES]
        if larger:
            parts += _over(
                e,
                {"consistency": "ALL"},
                {"consistency": "QUORUM"},
                f"{name}, ALL / QUORUM: ×",
                where={**where, "nodes": larger},
                below=1,
            )
    return parts


def _all_costs_most(e: Evidence) -> list[Part]:
    return [
        part
        for name, workload in WORKLOADS.items()
        for part in _over(
            e,
            {"consistency": "ALL"},
            {"consistency": "ONE"},
            f"{name}, ALL / ONE: ×",
            where={"database": "cassandra", "workload": workload, **_REPLICATED},
            below=1,
        )
    ]


def _write_heavy_over_read_heavy(e: Evidence, where: Where, **bounds: float) -> list[Part]:
    over, under = ({"workload": WORKLOADS[name]} for name in ("H", "G"))
    return _over(e, over, under, "H / G: ×", where=where, **bounds)


def _turned_round(e: Evidence) -> list[Part]:
    where = {"database": "cassandra"}
    plain = _write_heavy_over_read_heavy(e, {**where, "cluster": "non-replicated"}, above=1)
    copies = _write_heavy_over_read_heavy(e, {**where, **_REPLICATED}, below=1)
    return [
        *(Part(f"without replication, {part.text}", part.verdict) for part in plain),
        *(Part(f"with, {part.text}", part.verdict) for part in copies),
    ]


def _best_distribution(
    e: Evidence, database: str, workload: str, best: str, others: tuple[str, ...]
) -> list[Part]:
    return [
        part
        for other in others
        for part in _over(
            e,
            {"distribution": best},
            {"distribution": other},
            f"{workload}, {best} / {other}: ×",
            where={"database": database, "workload": WORKLOADS[workload], **_REPLICATED},
            above=1,
        )
    ]


def _drop_from_one_to_three(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for name, workload in WORKLOADS.items():
        alike: Where = {"database": "mongodb", "workload": workload, **BASELINE}
        ratio = contrast(
            e.results, _THROUGHPUT, {**alike, **_REPLICATED, "nodes": 3}, {**alike, "nodes": 1}
        )
        parts += judge(ratio, f"{name}, 3 nodes / 1: ×", below=1)
    return parts


def _levels_hardly_matter(e: Evidence) -> list[Part]:
    return [
        part
        for name, workload in WORKLOADS.items()
        for level in ("QUORUM", "ALL")
        for part in _over(
            e,
            {"consistency": level},
            {"consistency": "ONE"},
            f"{name}, {level} / ONE: ×",
            where={"database": "mongodb", "workload": workload, **_REPLICATED},
            above=1 / (1 + _SAME),
            below=1 + _SAME,
        )
    ]


CLAIMS: Final = (
    Claim(
        "replication-costs-writes-more",
        "Replication costs the write-heavy workload a larger share of throughput than the "
        "read-heavy one (uniform, at every level and size; several sets of MongoDB are sharding: "
        "client).",
        "tables 2 and 3",
        _writes_lose_more,
    ),
    Claim(
        "cassandra-levels-cost",
        "Cassandra, replicated: QUORUM does fewer operations per second than ONE, and ALL fewer "
        "than QUORUM (where there are more than two copies: of two, QUORUM asks for both).",
        "table 2, figure 2",
        _levels_cost,
    ),
    Claim(
        "cassandra-all-costs-most",
        "Cassandra, replicated: ALL does fewer operations per second than ONE, in both workloads.",
        "section 5.1",
        _all_costs_most,
    ),
    Claim(
        "cassandra-writes-turn-round",
        "Cassandra does more operations per second of the write-heavy workload than of the "
        "read-heavy one without replication, and fewer with it.",
        "figure 2",
        _turned_round,
    ),
    Claim(
        "cassandra-latest-best-for-writes",
        "Cassandra, write-heavy: latest does more operations per second than uniform and zipfian.",
        "section 5.1",
        lambda e: _best_distribution(e, "cassandra", "H", "latest", ("uniform", "zipfian")),
    ),
    Claim(
        "cassandra-uniform-best-for-reads",
        "Cassandra, read-heavy: uniform does more operations per second than zipfian and latest.",
        "section 5.1",
        lambda e: _best_distribution(e, "cassandra", "G", "uniform", ("zipfian", "latest")),
    ),
    Claim(
        "mongodb-reads-faster",
        "MongoDB, replicated, does more operations per second of the read-heavy workload than of "
        "the write-heavy one.",
        "section 5.2, figure 3",
        lambda e: _write_heavy_over_read_heavy(e, {"database": "mongodb", **_REPLICATED}, below=1),
    ),
    Claim(
        "mongodb-latest-best",
        "MongoDB does more operations per second with latest than with zipfian and uniform, in "
        "both workloads.",
        "section 5.2",
        lambda e: [
            part
            for workload in WORKLOADS
            for part in _best_distribution(e, "mongodb", workload, "latest", ("zipfian", "uniform"))
        ],
    ),
    Claim(
        "mongodb-drops-with-first-copies",
        "MongoDB does fewer operations per second on a set of three members than on one node, in "
        "both workloads.",
        "section 5.2, figure 3",
        _drop_from_one_to_three,
    ),
    Claim(
        "mongodb-levels-hardly-matter",
        f"MongoDB: the level changes throughput by less than {_SAME:.0%} (the paper: 5 % on "
        "average), in both workloads.",
        "section 6",
        _levels_hardly_matter,
    ),
    Claim(
        "cassandra-writes-faster-than-mongodb",
        "Replicated, Cassandra does more operations per second of the write-heavy workload than "
        "MongoDB.",
        "section 6",
        lambda e: _over(
            e,
            {"database": "cassandra"},
            {"database": "mongodb"},
            "cassandra / mongodb, H: ×",
            where={"workload": WORKLOADS["H"], **_REPLICATED},
            above=1,
        ),
    ),
)
