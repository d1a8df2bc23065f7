"""The findings of Gandini et al. 2014, restated.

Factors are those of the study: ``database, nodes, cores`` (of each node), ``replication, users``.
Runs of :data:`USERS_BY_CORES` users are the paper's first experiment; those of fewer, its second
(one copy) and its third (several). Where a word of the paper has no number ("almost linearly", "no
significant gain"), the number that we test is in the claim's text. MongoDB's clusters of several
sets have ``sharding: client``: no request passes a router.
"""

# ruff: noqa: RUF001 - typography: the apostrophe in names

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.databases import display_name
from pacelc.papers.cells import words
from pacelc.papers.claim import Claim, Evidence, Missing, Part, judge, over
from pacelc.papers.gandini_2014.tables import stated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pacelc.analysis import Estimate
    from pacelc.papers.cells import Label, Where

__all__ = ["CLAIMS", "DATABASES", "USERS_BY_CORES"]

DATABASES: Final = ("cassandra", "mongodb", "hbase")
USERS_BY_CORES: Final = int(stated("threads_by_cores"))
_PLATEAU: Final = int(stated("mongodb_plateau_cores"))
_MOST_CORES: Final = int(stated("cores_at_most"))
_THROUGHPUT: Final = "throughput_per_s"
_READ: Final = "read.latency_ms_mean"
_UPDATE: Final = "update.latency_ms_mean"
_READ_OVER_UPDATE: Final = "read over update"
_ONE_NODE: Final = {"nodes": 1, "replication": 1, "users": USERS_BY_CORES}
_QUARTER: Final = 0.25
_SAME: Final = 0.10
_FAST: Final = 2
_LARGE: Final = {"cassandra": (8, 16), "mongodb": (4, 8)}
"""Nodes that the paper's users don't fill."""
_LARGEST: Final = (8, 16)
_STEADY_CORES: Final = 3
"""MongoDB's updates are as fast with so many cores as with more."""


# --- By cores: one node, 50 users ---


def _over_cores(
    e: Evidence, database: str, metric: str, ends: tuple[Label, Label]
) -> Estimate | Missing:
    least, most = ends
    return e.ratio(
        metric, {"cores": most}, {"cores": least}, where={"database": database, **_ONE_NODE}
    )


def _by_cores(
    e: Evidence,
    database: str,
    metric: str,
    ends: tuple[Label, Label] | None = None,
    **bounds: float,
) -> Part:
    """From the fewest to the most cores, or between two numbers of them."""
    ends = ends or e.ends("cores")
    text = f"{ends[1]} / {ends[0]} cores, {display_name(database)}"
    return judge(_over_cores(e, database, metric, ends), text, **bounds)


def _linear_in_cores(e: Evidence, database: str) -> list[Part]:
    least, most = e.ends("cores")
    ratio = _over_cores(e, database, _THROUGHPUT, (least, most))
    gain = 1.0 if isinstance(ratio, Missing) else float(most) / float(least)
    return [judge(ratio, f"{most} / {least} cores", above=(1 - _QUARTER) * gain)]


def _hbase_gains_most(e: Evidence) -> list[Part]:
    least, most = ends = e.ends("cores")
    mine = _over_cores(e, "hbase", _THROUGHPUT, ends)
    return [
        judge(
            over(mine, _over_cores(e, other, _THROUGHPUT, ends)),
            f"{most} / {least} cores, HBase / {display_name(other)}",
            above=1,
        )
        for other in DATABASES
        if other != "hbase"
    ]


def _mongodb_plateau(e: Evidence) -> list[Part]:
    least, _ = e.ends("cores")
    return [
        _by_cores(e, "mongodb", _THROUGHPUT, (least, _PLATEAU), above=1),
        _by_cores(e, "mongodb", _THROUGHPUT, (_PLATEAU, _MOST_CORES), below=1 + _SAME),
    ]


def _mongodb_updates_settle(e: Evidence) -> list[Part]:
    least, _ = e.ends("cores")
    steady = {"above": 1 - _QUARTER, "below": 1 + _QUARTER}
    return [
        _by_cores(e, "mongodb", _UPDATE, (least, _STEADY_CORES), below=1),
        _by_cores(e, "mongodb", _UPDATE, (_STEADY_CORES, _MOST_CORES), **steady),
    ]


def _than_others(
    e: Evidence, database: str, others: Sequence[str], metric: str, where: Where, **bounds: float
) -> list[Part]:
    """Compare a database with others on equal nodes, cores, copies and users."""
    return [
        judge(
            e.ratio(
                metric,
                {"database": database},
                {"database": other},
                match=("nodes", "cores", "replication", "users"),
                where=where,
            ),
            f"{display_name(database)} / {display_name(other)}",
            **bounds,
        )
        for other in others
    ]


def _slow_on_few_cores(e: Evidence) -> list[Part]:
    where: Where = {**_ONE_NODE, "cores": e.ends("cores")[0]}
    return _than_others(e, "cassandra", ("mongodb", "hbase"), _READ, where, above=1)


def _reads_over_updates(e: Evidence) -> list[Part]:
    runs = e.results.runs
    if {_READ, _UPDATE} <= set(runs.columns):
        runs = runs.with_columns((pl.col(_READ) / pl.col(_UPDATE)).alias(_READ_OVER_UPDATE))
    both = replace(e, results=replace(e.results, runs=runs))
    return [
        judge(
            both.mean(_READ_OVER_UPDATE, {"database": "hbase", **_ONE_NODE, "cores": cores}),
            f"reads / updates, {words({'cores': cores})}",
            above=1,
        )
        for cores in e.asked("cores")
    ]


# --- By nodes and by copies: fewer users ---


def _users(e: Evidence) -> list[Label]:
    return [n for n in e.asked("users") if float(n) < USERS_BY_CORES]


def _grows_with_nodes(e: Evidence) -> list[Part]:
    where: Where = {"replication": 1, "users": _users(e)[-1:]}
    return [
        judge(
            e.ratio(
                _THROUGHPUT,
                {"nodes": more},
                {"nodes": fewer},
                match=("cores",),
                where={"database": database, **where},
            ),
            f"{more} / {fewer} nodes, {display_name(database)}",
            above=1,
        )
        for database in DATABASES
        for fewer, more in pairwise(e.asked("nodes"))
    ]


def _unfilled(e: Evidence, database: str) -> list[Part]:
    fewer, more = (_users(e) or ["fewer", "most"])[-2:]
    return [
        judge(
            e.ratio(
                _THROUGHPUT,
                {"users": more},
                {"users": fewer},
                match=("cores",),
                where={"database": database, "replication": 1, "nodes": nodes},
            ),
            f"{more} / {fewer} users, {words({'nodes': nodes})}",
            above=1,
        )
        for nodes in _LARGE[database]
    ]


def _no_gain_in_latency(e: Evidence) -> list[Part]:
    fewer, more = _LARGEST
    return [
        judge(
            e.ratio(
                metric,
                {"nodes": more},
                {"nodes": fewer},
                match=("cores", "users"),
                where={"database": "cassandra", "replication": 1},
            ),
            f"{kind}, {more} / {fewer} nodes",
            above=1 - _QUARTER,
        )
        for kind, metric in (("reads", _READ), ("updates", _UPDATE))
    ]


def _between_copies(
    e: Evidence, database: str, pairs: Iterable[tuple[Label, Label]], **bounds: float
) -> list[Part]:
    """Compare throughputs with more and with fewer copies on as many nodes, by equal users."""
    return [
        judge(
            e.ratio(
                _THROUGHPUT,
                {"replication": more},
                {"replication": fewer},
                match=("nodes", "cores", "users"),
                where={"database": database},
            ),
            f"{more} / {words({'replication': fewer})}",
            **bounds,
        )
        for fewer, more in pairs
    ]


CLAIMS: Final = (
    *(
        Claim(
            f"{database}-linear-in-cores",
            f"{name}’s throughput grows almost linearly with the cores of one node: from the "
            f"fewest to the most by at least {1 - _QUARTER:.0%} of the factor between them.",
            "section 4.1, figure 2a",
            lambda e, database=database: _linear_in_cores(e, database),
        )
        for database, name in (("hbase", "HBase"), ("cassandra", "Cassandra"))
    ),
    Claim(
        "hbase-gains-most-from-cores",
        "From the fewest to the most cores HBase’s throughput grows by a larger factor than "
        "Cassandra’s and MongoDB’s.",
        "section 4.1, figure 2a",
        _hbase_gains_most,
    ),
    Claim(
        "mongodb-plateau",
        f"MongoDB’s throughput grows with the cores up to {_PLATEAU}, and by less than "
        f"{_SAME:.0%} beyond.",
        "section 4.1, figure 2a",
        _mongodb_plateau,
    ),
    Claim(
        "cassandra-slower-than-hbase",
        f"On one node, with {USERS_BY_CORES} users, HBase does at least {_FAST} times as many "
        "operations per second as Cassandra.",
        "section 4.1, figure 2a",
        lambda e: _than_others(e, "hbase", ("cassandra",), _THROUGHPUT, _ONE_NODE, above=_FAST),
    ),
    Claim(
        "updates-constant-in-cores",
        "Update latency of Cassandra and of HBase hardly changes with the cores: from the fewest "
        f"to the most by less than {_QUARTER:.0%}.",
        "section 4.1, figure 2b",
        lambda e: [
            _by_cores(e, database, _UPDATE, above=1 - _QUARTER, below=1 + _QUARTER)
            for database in ("cassandra", "hbase")
        ],
    ),
    Claim(
        "hbase-updates-fastest",
        f"HBase’s updates take less than 1/{_FAST} of Cassandra’s and MongoDB’s time (the paper’s "
        "client kept them in a buffer; here each is sent).",
        "section 4.1, figure 2b",
        lambda e: _than_others(
            e, "hbase", ("cassandra", "mongodb"), _UPDATE, _ONE_NODE, below=1 / _FAST
        ),
    ),
    Claim(
        "mongodb-updates-settle",
        f"MongoDB’s update latency falls up to {_STEADY_CORES} cores, and changes by less than "
        f"{_QUARTER:.0%} beyond.",
        "section 4.1, figure 2b",
        _mongodb_updates_settle,
    ),
    Claim(
        "reads-gain-from-cores",
        "Read latency of each database falls from the fewest to the most cores.",
        "section 4.1, figure 2c",
        lambda e: [_by_cores(e, database, _READ, below=1) for database in DATABASES],
    ),
    Claim(
        "mongodb-reads-fastest",
        f"On one node, with {USERS_BY_CORES} users, MongoDB’s reads are faster than Cassandra’s "
        "and HBase’s.",
        "section 4.1, figure 2c",
        lambda e: _than_others(e, "mongodb", ("cassandra", "hbase"), _READ, _ONE_NODE, below=1),
    ),
    Claim(
        "cassandra-reads-slowest-on-few-cores",
        "On the fewest cores Cassandra’s reads are slower than MongoDB’s and HBase’s.",
        "section 4.1, figure 2c",
        _slow_on_few_cores,
    ),
    Claim(
        "hbase-reads-slower-than-updates",
        "HBase’s reads take longer than its updates, at each number of cores (the paper’s client "
        "kept updates in a buffer; here each is sent).",
        "section 4.1, figures 2b and 2c",
        _reads_over_updates,
    ),
    Claim(
        "throughput-grows-with-nodes",
        "With the most users, each larger cluster does more operations per second than the next "
        "smaller one, in each database.",
        "section 4.2, figure 3",
        _grows_with_nodes,
    ),
    *(
        Claim(
            f"{database}-unfilled-from-{nodes[0]}-nodes",
            f"{display_name(database)} isn’t saturated on {nodes[0]} and on {nodes[1]} nodes: its "
            "throughput still grows from the second most to the most users.",
            "section 4.2, figure 3",
            lambda e, database=database: _unfilled(e, database),
        )
        for database, nodes in _LARGE.items()
    ),
    Claim(
        "hbase-highest-throughput",
        "HBase does more operations per second than Cassandra and MongoDB on as many nodes, with "
        "as many users.",
        "section 4.2, figure 3",
        lambda e: _than_others(
            e,
            "hbase",
            ("cassandra", "mongodb"),
            _THROUGHPUT,
            {"replication": 1, "users": _users(e)},
            above=1,
        ),
    ),
    Claim(
        "cassandra-no-gain-from-16-nodes",
        "Cassandra’s read and update latencies on {1} nodes are no more than {2:.0%} below those "
        "on {0}.".format(*_LARGEST, _QUARTER),
        "section 4.2, figure 4",
        _no_gain_in_latency,
    ),
    Claim(
        "cassandra-copies-cost",
        "Cassandra’s throughput falls with each step to more copies.",
        "section 4.3, figure 5a",
        lambda e: _between_copies(e, "cassandra", pairwise(e.asked("replication")), below=1),
    ),
    Claim(
        "mongodb-first-copy-costs",
        "MongoDB’s throughput is lower with two copies than with one (several sets are sharding: "
        "client).",
        "section 4.3, figure 5b",
        lambda e: _between_copies(e, "mongodb", [(1, 2)], below=1),
    ),
    Claim(
        "mongodb-further-copies-free",
        f"MongoDB’s throughput with four copies is at most {_SAME:.0%} below that with two.",
        "section 4.3, figure 5b",
        lambda e: _between_copies(e, "mongodb", [(2, 4)], above=1 - _SAME),
    ),
    Claim(
        "hbase-copies-free",
        f"HBase’s throughput with several copies is at most {_SAME:.0%} below that with one (here "
        "replicas of regions; the paper’s were HDFS’s).",
        "section 4.3, figure 5c",
        lambda e: _between_copies(
            e,
            "hbase",
            [(1, copies) for copies in e.asked("replication") if copies != 1],
            above=1 - _SAME,
        ),
    ),
)
