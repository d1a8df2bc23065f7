"""The findings of Haughian et al. 2016, restated.

Factors are those of the study: ``database, workload, distribution, nodes, cluster`` (replicated or
not), ``consistency``. MongoDB's clusters of several sets, which are those without replication and
those of more than three nodes, have ``sharding: client``: no request passes a router.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.papers.cells import words
from pacelc.papers.claim import Claim, Evidence, Missing, Part, judge, over

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
_MORE_COPIES: Final = (6, 9, 12)
"""Nodes of which Cassandra has more than two copies: of two, QUORUM asks for both, as ALL does."""


def cost(e: Evidence, where: Where) -> Estimate | Missing:
    """Return replicated over non-replicated throughput, by the paper's baselines.

    Parameters
    ----------
    where
        Labels of the replicated side, with ``database``, ``workload`` and ``nodes``. The baseline
        has as many nodes, a uniform distribution and one copy.
    """
    same = {name: where[name] for name in ("database", "workload", "nodes")}
    return e.ratio(_THROUGHPUT, {**where, **_REPLICATED}, {**same, **BASELINE})


def _over(
    e: Evidence,
    top: Where,
    bottom: Where,
    *,
    where: Where,
    of: str = "",
    **bounds: float,
) -> Part:
    """Compare throughputs of runs that are alike in every other factor."""
    match = [name for name in _ALIKE if name not in top]
    ratio = e.ratio(_THROUGHPUT, top, bottom, match=match, where=where)
    return judge(ratio, f"{of}{words(top)} / {words(bottom)}", **bounds)


def _writes_lose_more(e: Evidence) -> list[Part]:
    """Compare what replication costs both workloads, at each level and size (uniform)."""
    parts: list[Part] = []
    for database in ("cassandra", "mongodb"):
        for level in ("ONE", "QUORUM", "ALL"):
            for nodes in e.asked("nodes"):
                if nodes == 1:
                    continue
                shared: Where = {"database": database, "nodes": nodes, "consistency": level}
                reads, writes = (
                    cost(e, {**shared, "distribution": "uniform", "workload": workload})
                    for workload in WORKLOADS.values()
                )
                parts.append(judge(over(writes, reads), f"H / G, {words(shared)}", below=1))
    return parts


def _levels_cost(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for name, workload in WORKLOADS.items():
        where: Where = {"database": "cassandra", "workload": workload, **_REPLICATED}
        for more, fewer, sizes in (
            ("QUORUM", "ONE", {}),
            ("ALL", "QUORUM", {"nodes": _MORE_COPIES}),
        ):
            parts.append(
                _over(
                    e,
                    {"consistency": more},
                    {"consistency": fewer},
                    where={**where, **sizes},
                    of=f"{name}, ",
                    below=1,
                )
            )
    return parts


def _level_over_one(e: Evidence, database: str, level: str, **bounds: float) -> list[Part]:
    """Compare a level with ONE, in both workloads."""
    return [
        _over(
            e,
            {"consistency": level},
            {"consistency": "ONE"},
            where={"database": database, "workload": workload, **_REPLICATED},
            of=f"{name}, ",
            **bounds,
        )
        for name, workload in WORKLOADS.items()
    ]


def _write_heavy_over_read_heavy(e: Evidence, where: Where, of: str = "", **bounds: float) -> Part:
    h, g = ({"workload": WORKLOADS[name]} for name in ("H", "G"))
    return _over(e, h, g, where=where, of=of, **bounds)


def _turned_round(e: Evidence) -> list[Part]:
    where = {"database": "cassandra"}
    alone: Where = {**where, "cluster": "non-replicated"}
    copies: Where = {**where, **_REPLICATED}
    return [
        _write_heavy_over_read_heavy(e, alone, "without replication, ", above=1),
        _write_heavy_over_read_heavy(e, copies, "with replication, ", below=1),
    ]


def _best_distribution(
    e: Evidence, database: str, workload: str, best: str, others: tuple[str, ...]
) -> list[Part]:
    return [
        _over(
            e,
            {"distribution": best},
            {"distribution": other},
            where={"database": database, "workload": WORKLOADS[workload], **_REPLICATED},
            of=f"{workload}, ",
            above=1,
        )
        for other in others
    ]


def _drop_from_one_to_three(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for name, workload in WORKLOADS.items():
        alike: Where = {"database": "mongodb", "workload": workload, **BASELINE}
        ratio = e.ratio(_THROUGHPUT, {**alike, **_REPLICATED, "nodes": 3}, {**alike, "nodes": 1})
        parts.append(judge(ratio, f"{name}, 3 nodes / 1", below=1))
    return parts


CLAIMS: Final = (
    Claim(
        "replication-costs-writes-more",
        "Replication costs the write-heavy workload a larger share of throughput than the "
        "read-heavy one (uniform, at every level and each number of nodes; several sets of MongoDB "
        "are sharding: client).",
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
        lambda e: _level_over_one(e, "cassandra", "ALL", below=1),
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
        lambda e: [
            _write_heavy_over_read_heavy(e, {"database": "mongodb", **_REPLICATED}, below=1)
        ],
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
        lambda e: [
            part
            for level in ("QUORUM", "ALL")
            for part in _level_over_one(e, "mongodb", level, above=1 / (1 + _SAME), below=1 + _SAME)
        ],
    ),
    Claim(
        "cassandra-writes-faster-than-mongodb",
        "Replicated, Cassandra does more operations per second of the write-heavy workload than "
        "MongoDB.",
        "section 6",
        lambda e: [
            _over(
                e,
                {"database": "cassandra"},
                {"database": "mongodb"},
                where={"workload": WORKLOADS["H"], **_REPLICATED},
                of="H, ",
                above=1,
            )
        ],
    ),
)
