"""The findings of Ferreira et al. 2024, restated.

Where a word of the paper has no number ("converges", "stable"), the number that we test is in the
claim's text. A study without a factor for the deployment is a single-region one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.databases import display_name
from pacelc.papers.cells import words
from pacelc.papers.claim import Claim, Evidence, Missing, Part, judge, over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis import Estimate
    from pacelc.papers.cells import Label, Where

__all__ = ["CLAIMS"]

_THROUGHPUT: Final = "throughput_per_s"
_RESPONSE_TIME: Final = "latency_ms_mean"
_DATABASES: Final = ("cassandra", "mongodb", "redis")
_LEVELS: Final = ("weak", "strong")
_WEAK, _STRONG = ({"consistency": level} for level in _LEVELS)
_OPERATIONS: Final = {
    "cassandra": ("read", "write"),
    "mongodb": ("read", "write"),
    "redis": ("write",),
}
_SERVES: Final = {"cassandra": "node", "mongodb": "primary", "redis": "primary"}
"""The role of the node that requests are sent to."""
_MOST_USERS: Final = 10
_SAME: Final = 0.10
_STABLE: Final = 0.25


def _runs(
    e: Evidence, database: str, operation: str, deployment: str = "single", **more: Label
) -> Where:
    where: Where = {"database": database, "operation": operation, **more}
    if deployment == "single" and "deployment" not in e.results.factors:
        return where
    return {"deployment": deployment, **where}


def _change(
    e: Evidence, where: Where, metric: str = _THROUGHPUT, *, users: Label | None = None
) -> Estimate | Missing:
    """Ratio of the strong to the weak level, by equal users or at some."""
    at: Where = {} if users is None else {"users": users}
    return e.ratio(metric, _STRONG, _WEAK, match=("users",), where={**where, **at})


def _than_others(
    e: Evidence, database: str, operation: str, metric: str, **bounds: float
) -> list[Part]:
    return [
        judge(
            e.ratio(
                metric,
                _runs(e, database, operation, consistency=level),
                _runs(e, other, operation, consistency=level),
                match=("users",),
            ),
            f"{display_name(database)} / {display_name(other)}, {level}",
            **bounds,
        )
        for other, operations in _OPERATIONS.items()
        if other != database and operation in operations
        for level in _LEVELS
    ]


def _loses_more(
    e: Evidence,
    loser: str,
    others: Sequence[str],
    operation: str,
    *,
    deployment: str,
    metric: str = _THROUGHPUT,
) -> list[Part]:
    """Compare the loser's change from weak to strong with each of the others'."""
    mine = _change(e, _runs(e, loser, operation, deployment), metric)
    bounds = {"below": 1.0} if metric == _THROUGHPUT else {"above": 1.0}
    return [
        judge(
            over(mine, _change(e, _runs(e, other, operation, deployment), metric)),
            f"strong / weak, {display_name(loser)} / {display_name(other)}",
            **bounds,
        )
        for other in others
    ]


def _strong_costs(e: Evidence, deployment: str) -> list[Part]:
    return [
        judge(
            _change(e, _runs(e, database, operation, deployment)),
            f"strong / weak, {words({'database': database, 'operation': operation})}",
            below=1,
        )
        for database, operations in _OPERATIONS.items()
        for operation in operations
    ]


def _writes_faster_than_reads(e: Evidence) -> list[Part]:
    return [
        judge(
            e.ratio(
                _THROUGHPUT,
                _runs(e, "cassandra", "write", consistency=level),
                _runs(e, "cassandra", "read", consistency=level),
                match=("users",),
            ),
            f"writes / reads, {level}",
            above=1,
        )
        for level in _LEVELS
    ]


def _redis_converges(e: Evidence) -> list[Part]:
    ratio = _change(e, _runs(e, "redis", "write"), _RESPONSE_TIME, users=_MOST_USERS)
    text = f"strong / weak response time, {_MOST_USERS} users"
    return [judge(ratio, text, above=1 / (1 + _SAME), below=1 + _SAME)]


def _grows_with_users(e: Evidence) -> list[Part]:
    return [
        judge(
            _between_users(e, _THROUGHPUT, _runs(e, database, "write", consistency=level)),
            f"{_ends(e)} users, {display_name(database)}, {level}",
            above=1,
        )
        for database in _DATABASES
        for level in _LEVELS
    ]


def _between_users(e: Evidence, metric: str, where: Where) -> Estimate | Missing:
    """Ratio of the value with the most users to that with the fewest."""
    fewest, most = e.ends("users")
    return e.ratio(metric, {"users": most}, {"users": fewest}, where=where)


def _ends(e: Evidence) -> str:
    return " / ".join(f"{users}" for users in reversed(e.ends("users")))


def _cassandra_reads_slow_with_users(e: Evidence) -> list[Part]:
    fewest, most = e.ends("users")
    ratio = _between_users(e, _RESPONSE_TIME, _runs(e, "cassandra", "read", consistency="strong"))
    if isinstance(ratio, Missing):
        return [judge(ratio, "", above=1)]
    # In proportion would be most / fewest; half of that still rules out a flat response time.
    bound = float(most) / float(fewest) / 2
    return [judge(ratio, f"{_ends(e)} users, strong", above=bound)]


def _scenarios(e: Evidence) -> list[Where]:
    """All but for the number of users."""
    return [
        _runs(e, database, operation, deployment, consistency=level)
        for deployment in ("single", "multi")
        for database, operations in _OPERATIONS.items()
        for operation in operations
        for level in _LEVELS
    ]


def _share_below(e: Evidence, bound: float, role: str | None = None) -> list[Part]:
    """Compare the CPU of a role, by default of the node that requests are sent to."""
    parts: list[Part] = []
    for scenario in _scenarios(e):
        for users in e.asked("users"):
            where: Where = {**scenario, "users": users}
            metric = f"cpu_share.{role or _SERVES[str(scenario['database'])]}"
            share = e.mean(metric, where, most=1)
            if not isinstance(share, Missing):
                share = share.scaled(100, unit=" %")
            parts.append(judge(share, words(where), below=bound))
    return parts


def _memory_stable(e: Evidence) -> list[Part]:
    return [
        judge(
            _between_users(e, f"memory_bytes.{_SERVES[str(where['database'])]}", where),
            f"{_ends(e)} users, {words(where)}",
            above=1 / (1 + _STABLE),
            below=1 + _STABLE,
        )
        for where in _scenarios(e)
    ]


def _lose_over_ninety(e: Evidence) -> list[Part]:
    return [
        judge(
            _change(e, _runs(e, database, "write", "multi"), users=users),
            f"strong / weak, {words({'database': database, 'users': users})}",
            below=0.10,
        )
        for database in _DATABASES
        for users in e.asked("users")
    ]


def _no_change(e: Evidence, database: str, operation: str) -> list[Part]:
    """Restate "not significant" as a size, within 10 %: not to find a difference shows nothing."""
    ratio = _change(e, _runs(e, database, operation))
    return [judge(ratio, "strong / weak throughput", above=1 / (1 + _SAME), below=1 + _SAME)]


CLAIMS: Final = (
    Claim(
        "redis-writes-fastest",
        "Redis writes more per second than Cassandra and MongoDB, at both levels (single region).",
        "figure 2",
        lambda e: _than_others(e, "redis", "write", _THROUGHPUT, above=1),
    ),
    Claim(
        "mongodb-writes-slowest",
        "MongoDB writes less per second than Cassandra and Redis, at both levels (single region).",
        "figure 2",
        lambda e: _than_others(e, "mongodb", "write", _THROUGHPUT, below=1),
    ),
    Claim(
        "mongodb-writes-lose-most",
        "Of writes, strong consistency costs MongoDB's the largest share of throughput (single "
        "region).",
        "table 8",
        lambda e: _loses_more(e, "mongodb", ("cassandra", "redis"), "write", deployment="single"),
    ),
    Claim(
        "strong-costs-throughput",
        "Strong consistency lowers the throughput of every database and operation (single region).",
        "table 8",
        lambda e: _strong_costs(e, "single"),
    ),
    Claim(
        "cassandra-reads-lose-more",
        "Strong consistency costs Cassandra's reads a larger share of throughput than MongoDB's "
        "(single region).",
        "table 8, figure 2",
        lambda e: _loses_more(e, "cassandra", ("mongodb",), "read", deployment="single"),
    ),
    Claim(
        "mongodb-reads-faster",
        "MongoDB's reads take less time than Cassandra's, at both levels (single region).",
        "figure 3",
        lambda e: _than_others(e, "mongodb", "read", _RESPONSE_TIME, below=1),
    ),
    Claim(
        "cassandra-reads-slower-than-writes",
        "Cassandra does fewer reads of 1,000 rows than writes per second, at both levels (single "
        "region).",
        "figure 2",
        _writes_faster_than_reads,
    ),
    Claim(
        "redis-levels-converge",
        f"With {_MOST_USERS} users, Redis writes take as long with strong as with weak "
        f"consistency: within {_SAME:.0%}.",
        "figure 3",
        _redis_converges,
    ),
    Claim(
        "writes-scale-with-users",
        "Every database writes more per second with the most users than with the fewest (single "
        "region).",
        "figure 2",
        _grows_with_users,
    ),
    Claim(
        "cassandra-strong-reads-linear",
        "The response time of Cassandra's strong reads grows about in proportion to the users: at "
        "least half of that.",
        "figure 3",
        _cassandra_reads_slow_with_users,
    ),
    Claim(
        "cassandra-writes-unchanged",
        "Strong consistency does not change the throughput of Cassandra's writes: within "
        f"{_SAME:.0%} (single region).",
        "table 6: p = 0.16",
        lambda e: _no_change(e, "cassandra", "write"),
    ),
    Claim(
        "redis-writes-unchanged",
        f"Strong consistency does not change the throughput of Redis writes: within {_SAME:.0%} "
        "(single region).",
        "table 6: p = 0.40",
        lambda e: _no_change(e, "redis", "write"),
    ),
    Claim(
        "client-below-30",
        "The load generator uses less than 30 % of its machine's CPU in every scenario.",
        "figure 6",
        lambda e: _share_below(e, 30, "client"),
    ),
    Claim(
        "primary-below-70",
        "The node that serves the requests uses less than 70 % of its machine's CPU in every "
        "scenario.",
        "table 5",
        lambda e: _share_below(e, 70),
    ),
    Claim(
        "memory-stable",
        "The memory of the node that serves the requests hardly depends on the users: with the "
        f"most it is that with the fewest, within {_STABLE:.0%}, in every scenario.",
        "table 5",
        _memory_stable,
    ),
    Claim(
        "multi-writes-lose-90",
        "Across regions, strong consistency costs every database over 90 % of its writes per "
        "second, at each number of users.",
        "figure 4",
        _lose_over_ninety,
    ),
    Claim(
        "multi-cassandra-writes-lose-most",
        "Across regions, strong consistency lengthens Cassandra's writes by a larger factor than "
        "the others'.",
        "table 8",
        lambda e: _loses_more(
            e, "cassandra", ("mongodb", "redis"), "write", deployment="multi", metric=_RESPONSE_TIME
        ),
    ),
    Claim(
        "multi-mongodb-reads-lose-more",
        "Across regions, strong consistency lengthens MongoDB's reads by a larger factor than "
        "Cassandra's.",
        "table 8",
        lambda e: _loses_more(
            e, "mongodb", ("cassandra",), "read", deployment="multi", metric=_RESPONSE_TIME
        ),
    ),
    Claim(
        "multi-all-differ",
        "Across regions, strong consistency lowers the throughput of every database and operation.",
        "table 7",
        lambda e: _strong_costs(e, "multi"),
    ),
)
