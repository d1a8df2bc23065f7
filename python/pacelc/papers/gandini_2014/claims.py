"""The findings of Gandini et al. 2014, restated.

Factors are those of the study: ``database, nodes, cores`` (of each node), ``replication, users``.
Runs of :data:`USERS_BY_CORES` users are the paper's first experiment; those of fewer, its second
(one copy) and its third (several). Where a word of the paper has no number ("almost linearly", "no
significant gain"), the number that we test is in the claim's text. MongoDB's clusters of several
sets have ``sharding: client``: no request passes a router.
"""

# ruff: noqa: RUF001 - typography: signs of multiplication

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pacelc.databases import display_name
from pacelc.papers.cells import contrast, estimates, runs_where
from pacelc.papers.claim import Claim, Evidence, Part, Verdict, judge
from pacelc.papers.gandini_2014.tables import stated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis import Estimate
    from pacelc.papers.cells import Label, Where

__all__ = ["CLAIMS", "DATABASES", "USERS_BY_CORES"]

DATABASES: Final = ("cassandra", "mongodb", "hbase")
USERS_BY_CORES: Final = int(stated("threads_by_cores"))
_PLATEAU: Final = int(stated("mongodb_plateau_cores"))
_THROUGHPUT: Final = "throughput_per_s"
_READ: Final = "read.latency_ms_mean"
_UPDATE: Final = "update.latency_ms_mean"
_ONE_NODE: Final = {"nodes": 1, "replication": 1, "users": USERS_BY_CORES}
_QUARTER: Final = 0.25
_SAME: Final = 0.10
_FAST: Final = 2
_LARGE: Final = {"cassandra": 8, "mongodb": 4}
"""From so many nodes on, the paper's users don't fill the database."""
_LARGEST: Final = (8, 16)
_STEADY_CORES: Final = 3
"""MongoDB's updates are as fast with so many cores as with more."""


def _labels(e: Evidence, factor: str, where: Where) -> list[Label]:
    runs = runs_where(e.results, where)
    return sorted(set(runs.get_column(factor).to_list())) if factor in runs.columns else []


# --- By cores: one node, 50 users ---


def _cores(e: Evidence, database: str) -> list[Label]:
    return _labels(e, "cores", {"database": database, **_ONE_NODE})


def _over_cores(
    e: Evidence, database: str, metric: str, most: Label, least: Label
) -> Estimate | None:
    where: Where = {"database": database, **_ONE_NODE}
    return contrast(e.results, metric, {"cores": most}, {"cores": least}, where=where)


def _between_cores(
    e: Evidence, database: str, metric: str, most: Label, least: Label, **bounds: float
) -> list[Part]:
    ratio = _over_cores(e, database, metric, most, least)
    return judge(ratio, f"{database}, {most} / {least} cores: ×", **bounds)


def _across_cores(e: Evidence, database: str, metric: str, **bounds: float) -> list[Part]:
    """From the fewest to the most."""
    cores = _cores(e, database)
    if len(cores) <= 1:
        return []
    return _between_cores(e, database, metric, cores[-1], cores[0], **bounds)


def _linear_in_cores(e: Evidence, database: str) -> list[Part]:
    cores = _cores(e, database)
    if len(cores) <= 1:
        return []
    gain = float(cores[-1]) / float(cores[0])
    return _across_cores(e, database, _THROUGHPUT, above=(1 - _QUARTER) * gain)


def _hbase_gains_most(e: Evidence) -> list[Part]:
    gains: dict[str, Estimate] = {}
    for database in DATABASES:
        cores = _cores(e, database)
        if cores != _cores(e, "hbase") or len(cores) <= 1:
            continue
        gain = _over_cores(e, database, _THROUGHPUT, cores[-1], cores[0])
        if gain is not None:
            gains[database] = gain
    if "hbase" not in gains:
        return []
    mine = gains.pop("hbase")
    return [
        Part(f"hbase × {mine.text()}, {name} × {gain.text()}", _higher(mine, gain))
        for name, gain in gains.items()
    ]


def _higher(one: Estimate, other: Estimate) -> Verdict:
    """Whether one interval lies wholly above another."""
    if not (one.has_interval and other.has_interval):
        return "can't tell"
    if other.high is not None and one.above(other.high):
        return "holds"
    return "violated" if other.low is not None and one.below(other.low) else "can't tell"


def _mongodb_plateau(e: Evidence) -> list[Part]:
    cores = _cores(e, "mongodb")
    flat = [n for n in cores if float(n) >= _PLATEAU]
    if len(flat) <= 1 or flat == cores:
        return []
    return [
        *_between_cores(e, "mongodb", _THROUGHPUT, flat[0], cores[0], above=1),
        *_between_cores(e, "mongodb", _THROUGHPUT, flat[-1], flat[0], below=1 + _SAME),
    ]


def _mongodb_updates_settle(e: Evidence) -> list[Part]:
    cores = _cores(e, "mongodb")
    settled = [n for n in cores if float(n) >= _STEADY_CORES]
    if len(settled) <= 1 or settled == cores:
        return []
    return [
        *_between_cores(e, "mongodb", _UPDATE, settled[0], cores[0], below=1),
        *_between_cores(
            e, "mongodb", _UPDATE, settled[-1], settled[0], above=1 - _QUARTER, below=1 + _QUARTER
        ),
    ]


def _than_others(
    e: Evidence, database: str, others: Sequence[str], metric: str, where: Where, **bounds: float
) -> list[Part]:
    """Compare a database with others on equal nodes, cores, copies and users."""
    return [
        part
        for other in others
        for part in judge(
            contrast(
                e.results,
                metric,
                {"database": database},
                {"database": other},
                match=("nodes", "cores", "replication", "users"),
                where=where,
            ),
            f"{database} / {other}: ×",
            **bounds,
        )
    ]


def _slow_on_few_cores(e: Evidence) -> list[Part]:
    cores = _cores(e, "cassandra")
    if not cores:
        return []
    where: Where = {**_ONE_NODE, "cores": cores[0]}
    return _than_others(e, "cassandra", ("mongodb", "hbase"), _READ, where, above=1)


def _reads_over_updates(e: Evidence) -> list[Part]:
    where: Where = {"database": "hbase", **_ONE_NODE}
    reads, updates = (
        estimates(e.results, ("cores",), metric, where) for metric in (_READ, _UPDATE)
    )
    return [
        Part(
            f"{cores} cores: reads {read.text()} ms, updates {updates[cores,].text()} ms",
            _higher(read, updates[cores,]),
        )
        for (cores,), read in sorted(reads.items())
        if (cores,) in updates
    ]


# --- By nodes and by copies: fewer users ---


def _users(e: Evidence, where: Where) -> list[Label]:
    return [n for n in _labels(e, "users", where) if float(n) < USERS_BY_CORES]


def _grows_with_nodes(e: Evidence) -> list[Part]:
    parts: list[Part] = []
    for database in DATABASES:
        where: Where = {"database": database, "replication": 1}
        users = _users(e, where)
        for fewer, more in pairwise(_labels(e, "nodes", where)):
            ratio = contrast(
                e.results,
                _THROUGHPUT,
                {"nodes": more},
                {"nodes": fewer},
                match=("cores",),
                where={**where, "users": users[-1:]},
            )
            parts += judge(ratio, f"{database}, {more} / {fewer} nodes: ×", above=1)
    return parts


def _unfilled(e: Evidence, database: str) -> list[Part]:
    where: Where = {"database": database, "replication": 1}
    users = _users(e, where)
    if len(users) <= 1:
        return []
    parts: list[Part] = []
    for nodes in _labels(e, "nodes", where):
        if float(nodes) >= _LARGE[database]:
            ratio = contrast(
                e.results,
                _THROUGHPUT,
                {"users": users[-1]},
                {"users": users[-2]},
                match=("cores",),
                where={**where, "nodes": nodes},
            )
            parts += judge(ratio, f"{nodes} nodes, {users[-1]} / {users[-2]} users: ×", above=1)
    return parts


def _no_gain_in_latency(e: Evidence) -> list[Part]:
    fewer, more = _LARGEST
    return [
        part
        for kind, metric in (("reads", _READ), ("updates", _UPDATE))
        for part in judge(
            contrast(
                e.results,
                metric,
                {"nodes": more},
                {"nodes": fewer},
                match=("cores", "users"),
                where={"database": "cassandra", "replication": 1},
            ),
            f"{kind}, {more} / {fewer} nodes: ×",
            above=1 - _QUARTER,
        )
    ]


def _between_copies(
    e: Evidence, database: str, pairs: Sequence[tuple[Label, Label]], **bounds: float
) -> list[Part]:
    """Compare throughputs with more and with fewer copies on as many nodes, by equal users."""
    return [
        part
        for fewer, more in pairs
        for part in judge(
            contrast(
                e.results,
                _THROUGHPUT,
                {"replication": more},
                {"replication": fewer},
                match=("nodes", "cores", "users"),
                where={"database": database},
            ),
            f"{database}, {more} copies / {fewer}: ×",
            **bounds,
        )
    ]


def _copies(e: Evidence, database: str) -> list[Label]:
    return _labels(e, "replication", {"database": database})


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
            part
            for database in ("cassandra", "hbase")
            for part in _across_cores(e, database, _UPDATE, above=1 - _QUARTER, below=1 + _QUARTER)
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
        lambda e: [
            part for database in DATABASES for part in _across_cores(e, database, _READ, below=1)
        ],
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
            f"{database}-unfilled-from-{_LARGE[database]}-nodes",
            f"{display_name(database)} isn’t saturated on {_LARGE[database]} nodes and more: "
            "its throughput still grows from the second most to the most users.",
            "section 4.2, figure 3",
            lambda e, database=database: _unfilled(e, database),
        )
        for database in ("cassandra", "mongodb")
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
            {"replication": 1, "users": _users(e, {"replication": 1})},
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
        lambda e: _between_copies(e, "cassandra", list(pairwise(_copies(e, "cassandra"))), below=1),
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
        f"MongoDB’s throughput with more than two copies is at most {_SAME:.0%} below that with "
        "two.",
        "section 4.3, figure 5b",
        lambda e: _between_copies(
            e,
            "mongodb",
            [(2, copies) for copies in _copies(e, "mongodb") if float(copies) > 2],  # noqa: PLR2004 - as the text says
            above=1 - _SAME,
        ),
    ),
    Claim(
        "hbase-copies-free",
        f"HBase’s throughput with several copies is at most {_SAME:.0%} below that with one (here "
        "replicas of regions; the paper’s were HDFS’s).",
        "section 4.3, figure 5c",
        lambda e: _between_copies(
            e,
            "hbase",
            [(1, copies) for copies in _copies(e, "hbase") if copies != 1],
            above=1 - _SAME,
        ),
    ),
)
