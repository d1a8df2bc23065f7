"""The findings of Ferreira et al. 2024, restated.

Where a word of the paper has no number ("converges", "stable"), the number that we test is in the
claim's text.
"""

# ruff: noqa: RUF001 - typography: signs of multiplication and minus

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import Cells, ratio_estimate, resource_use_by_load
from pacelc.papers.claim import Claim, Evidence, Part, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis import Estimate, Group

__all__ = ["CLAIMS"]

_THROUGHPUT: Final = "throughput_per_s"
_RESPONSE_TIME: Final = "latency_ms_mean"
_DATABASES: Final = ("cassandra", "mongodb", "redis")
_READERS: Final = ("cassandra", "mongodb")
_SAME: Final = 0.10
_STABLE: Final = 0.25


def _faster_than_others(
    e: Evidence, winner: str, operation: str, metric: str, *, higher: bool
) -> list[Part]:
    groups = e.groups(_DATABASES, operation)
    if winner not in groups:
        return []
    parts: list[Part] = []
    for name, group in groups.items():
        if name == winner:
            continue
        for level in e.design.levels:
            ratio = e.ratio((groups[winner], level), (group, level), metric)
            text = f"{winner} / {name}, {level}: ×"
            parts += judge(ratio, text, above=1) if higher else judge(ratio, text, below=1)
    return parts


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
    groups = e.groups((loser, *others), operation, deployment)
    if loser not in groups:
        return []
    parts: list[Part] = []
    mine = e.change(groups[loser], metric)
    for name, group in groups.items():
        theirs = e.change(group, metric)
        if name == loser or mine is None or theirs is None:
            continue
        text = f"{loser} {_change(mine)}, {name} {_change(theirs)}"
        worse = mine.value < theirs.value if metric == _THROUGHPUT else mine.value > theirs.value
        apart = (
            mine.low is not None
            and mine.high is not None
            and theirs.low is not None
            and theirs.high is not None
        )
        # Disjoint intervals are a stricter demand than an interval of the difference: fit for a
        # published claim.
        clear = apart and (mine.below(theirs.low or 0.0) or mine.above(theirs.high or 0.0))
        parts.append(Part(text, "can't tell" if not clear else "holds" if worse else "violated"))
    return parts


def _change(estimate: Estimate) -> str:
    return estimate.as_change().text()


def _strong_never_faster(e: Evidence) -> list[Part]:
    return [
        part
        for operation in ("read", "write")
        for name, group in e.groups(_DATABASES, operation).items()
        for part in judge(e.change(group, _THROUGHPUT), f"{name} {operation}: ×", below=1)
    ]


def _writes_faster_than_reads(e: Evidence) -> list[Part]:
    groups = [e.group("cassandra", operation) for operation in ("write", "read")]
    if groups[0] is None or groups[1] is None:
        return []
    return [
        part
        for level in e.design.levels
        for part in judge(
            e.ratio((groups[0], level), (groups[1], level), _THROUGHPUT),
            f"writes / reads, {level}: ×",
            above=1,
        )
    ]


def _redis_converges(e: Evidence) -> list[Part]:
    group = e.group("redis", "write")
    if group is None or len(e.design.loads) <= 1:
        return []
    most = max(e.design.loads)
    ratio = e.change(group, _RESPONSE_TIME, [most])
    text = f"strong / weak response time at {most:g} users: ×"
    return judge(ratio, text, above=1 / (1 + _SAME), below=1 + _SAME)


def _grows_with_users(e: Evidence) -> list[Part]:
    loads = e.design.loads
    if len(loads) <= 1:
        return []
    parts: list[Part] = []
    for name, group in e.groups(_DATABASES, "write").items():
        for level in e.design.levels:
            ratio = _between_loads(e, group, level, _THROUGHPUT)
            parts += judge(ratio, f"{name} {level}, {loads[-1]:g} / {loads[0]:g} users: ×", above=1)
    return parts


def _between_loads(e: Evidence, group: Group, level: str, metric: str) -> Estimate | None:
    """Ratio of the value at the highest load to that at the lowest."""
    top, bottom = e.design.loads[-1], e.design.loads[0]
    cells = e.design.cells(group, level, metric)
    if top not in cells.loads or bottom not in cells.loads:
        return None
    high, low = cells.at([top]), cells.at([bottom])
    # The same load on both sides, so that the two cells are compared with each other.
    return ratio_estimate(Cells((0.0,), low.values), Cells((0.0,), high.values))


def _cassandra_reads_slow_with_users(e: Evidence) -> list[Part]:
    group = e.group("cassandra", "read")
    loads = e.design.loads
    if group is None or len(loads) <= 1 or len(e.design.levels) <= 1:
        return []
    ratio = _between_loads(e, group, e.design.levels[-1], _RESPONSE_TIME)
    # In proportion would be loads[-1] / loads[0]; half of that still rules out a flat response
    # time.
    bound = loads[-1] / loads[0] / 2
    return judge(ratio, f"strong, {loads[-1]:g} / {loads[0]:g} users: ×", above=bound)


def _share_below(e: Evidence, role: str, bound: float) -> list[Part]:
    frame = resource_use_by_load(e.results, e.design)
    if frame.height == 0:
        return []
    frame = frame.filter(
        (pl.col("role") == role) & (pl.col("resource") == "cpu") & pl.col("value").is_not_null()
    )
    if frame.height == 0:
        return []
    worst = frame.sort("value", descending=True).row(0, named=True)
    share = f"{worst['value']:.1f} % of the machine's cores (n={worst['n']})"
    text = f"highest mean CPU of the {role}: {share}"
    low, high = (
        worst[end] if worst[end] is not None else worst["value"] for end in ("low", "high")
    )
    return [Part(text, "holds" if high < bound else "violated" if low > bound else "can't tell")]


def _memory_stable(e: Evidence) -> list[Part]:
    frame = resource_use_by_load(e.results, e.design)
    if frame.height == 0:
        return []
    frame = frame.filter((pl.col("role") != "client") & (pl.col("resource") == "memory"))
    names = [
        c
        for c in ("source", "deployment", "database", "operation", "level", "role")
        if c in frame.columns
    ]
    spread = (
        frame.group_by(names, maintain_order=True)
        .agg(
            (pl.col("value").max() / pl.col("value").min()).alias("ratio"), pl.len().alias("loads")
        )
        .filter(pl.col("loads") > 1)
        .sort("ratio", descending=True)
    )
    if spread.height == 0:
        return []
    worst = spread.row(0, named=True)
    where = " ".join(str(worst[name]) for name in names)
    text = f"largest over smallest mean memory across users: {worst['ratio']:.2f} ({where})"
    return [Part(text, "holds" if worst["ratio"] <= 1 + _STABLE else "violated")]


def _lose_over_ninety(e: Evidence) -> list[Part]:
    return [
        part
        for name, group in e.groups(_DATABASES, "write", "multi").items()
        for load in e.design.loads
        for part in judge(
            e.change(group, _THROUGHPUT, [load]), f"{name}, {load:g} users: ×", below=0.10
        )
    ]


def _multi_all_differ(e: Evidence) -> list[Part]:
    return [
        part
        for operation in ("read", "write")
        for name, group in e.groups(_DATABASES, operation, "multi").items()
        for part in judge(e.change(group, _THROUGHPUT), f"{name} {operation}: ×", below=1)
    ]


def _no_change(e: Evidence, database: str, operation: str) -> list[Part]:
    """Restate "not significant" as a size, within 10 %: not to find a difference shows nothing."""
    group = e.group(database, operation)
    ratio = e.change(group, _THROUGHPUT) if group else None
    text = "strong / weak throughput: ×"
    return judge(ratio, text, above=1 / (1 + _SAME), below=1 + _SAME)


CLAIMS: Final = (
    Claim(
        "redis-writes-fastest",
        "Redis writes more per second than Cassandra and MongoDB, at both levels (single region).",
        "figure 2",
        lambda e: _faster_than_others(e, "redis", "write", _THROUGHPUT, higher=True),
    ),
    Claim(
        "mongodb-writes-slowest",
        "MongoDB writes less per second than Cassandra and Redis, at both levels (single region).",
        "figure 2",
        lambda e: _faster_than_others(e, "mongodb", "write", _THROUGHPUT, higher=False),
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
        _strong_never_faster,
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
        lambda e: _faster_than_others(e, "mongodb", "read", _RESPONSE_TIME, higher=False),
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
        "At the most users, Redis writes take as long with strong as with weak consistency: "
        f"within {_SAME:.0%}.",
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
        lambda e: _share_below(e, "client", 30.0),
    ),
    Claim(
        "primary-below-70",
        "The node that serves the requests uses less than 70 % of its machine's CPU in every "
        "scenario.",
        "table 5",
        lambda e: _share_below(e, "primary", 70.0) + _share_below(e, "node", 70.0),
    ),
    Claim(
        "memory-stable",
        "The servers' memory hardly depends on the users: largest and smallest mean within "
        f"{_STABLE:.0%}.",
        "table 5",
        _memory_stable,
    ),
    Claim(
        "multi-writes-lose-90",
        "Across regions, strong consistency costs every database over 90 % of its writes per "
        "second, at all users.",
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
        _multi_all_differ,
    ),
)
