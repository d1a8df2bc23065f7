"""The findings of Kumarasinghe et al. 2015, restated.

Where a word of the paper has no number ("twice", "close to unchanged"), the number that we test is
in the claim's text. Factors are those of the study: ``database, workload, records, users``; runs of
100,000 records are the second experiment.
"""

# ruff: noqa: RUF001 - typography: signs of multiplication

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.papers.cells import contrast, runs_where
from pacelc.papers.claim import Claim, Evidence, Part, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.papers.cells import Where

__all__ = ["CLAIMS", "RECORDS", "RECORDS_BY_THREADS"]

_THROUGHPUT: Final = "throughput_per_s"
RECORDS: Final = (1000, 5000, 10000)
RECORDS_BY_THREADS: Final = 100_000
_OTHERS: Final = ("cassandra", "mongodb")
_THIRD: Final = 4 / 3
_SAME: Final = 0.10
_UNCHANGED: Final = 0.25
_STEP: Final = 40
_SLOW: Final = 1.5


def _faster(
    e: Evidence, winner: str, others: Sequence[str], where: Where, **bounds: float
) -> list[Part]:
    return [
        part
        for other in others
        for part in judge(
            contrast(
                e.results,
                _THROUGHPUT,
                {"database": winner},
                {"database": other},
                match=("records", "users"),
                where={"records": RECORDS, **where},
            ),
            f"{winner} / {other}: ×",
            **bounds,
        )
    ]


def _users(e: Evidence, database: str) -> list[int]:
    runs = runs_where(
        e.results,
        {"database": database, "workload": "ycsb-a", "records": RECORDS_BY_THREADS},
    )
    return sorted(set(runs.get_column("users").to_list())) if "users" in runs.columns else []


def _between_users(
    e: Evidence, database: str, most: int, least: int, **bounds: float
) -> list[Part]:
    ratio = contrast(
        e.results,
        _THROUGHPUT,
        {"users": most},
        {"users": least},
        where={"database": database, "workload": "ycsb-a", "records": RECORDS_BY_THREADS},
    )
    return judge(ratio, f"{database}, {most} / {least} users: ×", **bounds)


def _with_threads(e: Evidence, database: str, **bounds: float) -> list[Part]:
    users = _users(e, database)
    return _between_users(e, database, users[-1], users[0], **bounds) if len(users) > 1 else []


def _flat_to_forty(e: Evidence) -> list[Part]:
    users = [n for n in _users(e, "mongodb") if n <= _STEP]
    bounds = {"above": 1 / (1 + _UNCHANGED), "below": 1 + _UNCHANGED}
    return _between_users(e, "mongodb", users[-1], users[0], **bounds) if len(users) > 1 else []


def _steps_down(e: Evidence) -> list[Part]:
    users = _users(e, "mongodb")
    before = [n for n in users if n <= _STEP]
    if not before or users[-1] <= _STEP:
        return []
    return _between_users(e, "mongodb", users[-1], before[-1], below=1)


def _little_from_four_to_eight(e: Evidence) -> list[Part]:
    return [
        part
        for database in ("cassandra", "mongodb", "redis")
        for part in judge(
            contrast(
                e.results,
                _THROUGHPUT,
                {"users": 8},
                {"users": 4},
                match=("records",),
                where={"database": database, "workload": "ycsb-a", "records": RECORDS},
            ),
            f"{database}, 8 / 4 users: ×",
            below=_SLOW,
        )
    ]


def _reads_slower(e: Evidence) -> list[Part]:
    ratio = contrast(
        e.results,
        "read.latency_ms_mean",
        {"database": "cassandra"},
        {"database": "mongodb"},
        match=("users",),
        where={"workload": "ycsb-a", "records": RECORDS_BY_THREADS},
    )
    return judge(ratio, "cassandra / mongodb: ×", above=1)


CLAIMS: Final = (
    Claim(
        "redis-twice-in-a",
        "In A, Redis has about twice the throughput of Cassandra and of MongoDB: 1.5 to 2.7 times.",
        "section V.A, figures 4 to 6",
        lambda e: _faster(
            e, "redis", _OTHERS, {"workload": "ycsb-a"}, above=2 / _THIRD, below=2 * _THIRD
        ),
    ),
    Claim(
        "redis-four-times-in-f",
        "In F, Redis has almost four times the throughput of Cassandra and of MongoDB: 3 to 5.3 "
        "times.",
        "section V.F, figures 19 to 21",
        lambda e: _faster(
            e, "redis", _OTHERS, {"workload": "ycsb-f"}, above=4 / _THIRD, below=4 * _THIRD
        ),
    ),
    Claim(
        "redis-reads-fastest",
        "In C, which only reads, Redis has a higher throughput than Cassandra and MongoDB.",
        "section V.C, figures 10 to 12",
        lambda e: _faster(e, "redis", _OTHERS, {"workload": "ycsb-c"}, above=1),
    ),
    Claim(
        "mongodb-scans-fastest",
        "In E, MongoDB has a higher throughput than Cassandra and Redis.",
        "section V.E, figures 16 to 18",
        lambda e: _faster(e, "mongodb", ("cassandra", "redis"), {"workload": "ycsb-e"}, above=1),
    ),
    Claim(
        "redis-scans-as-cassandra",
        "In E, Redis has a throughput similar to Cassandra’s: within a third.",
        "section V.E, figures 16 to 18",
        lambda e: _faster(
            e, "redis", ("cassandra",), {"workload": "ycsb-e"}, above=1 / _THIRD, below=_THIRD
        ),
    ),
    Claim(
        "equal-at-eight-in-b",
        f"In B, with 8 users, MongoDB and Cassandra have the same throughput: within {_SAME:.0%}.",
        "section V.B, figures 7 to 9",
        lambda e: _faster(
            e,
            "mongodb",
            ("cassandra",),
            {"workload": "ycsb-b", "users": 8},
            above=1 / (1 + _SAME),
            below=1 + _SAME,
        ),
    ),
    Claim(
        "little-gain-beyond-four",
        "In A, going from 4 to 8 users gains little: less than half.",
        "section V.A, figures 4 to 6",
        _little_from_four_to_eight,
    ),
    Claim(
        "cassandra-gains-with-threads",
        "Cassandra’s throughput rises from the fewest to the most users (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: _with_threads(e, "cassandra", above=1),
    ),
    Claim(
        "redis-loses-with-threads",
        "Redis’s throughput falls from the fewest to the most users (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: _with_threads(e, "redis", below=1),
    ),
    Claim(
        "mongodb-flat-to-forty",
        f"MongoDB’s throughput is nearly unchanged up to {_STEP} users: within {_UNCHANGED:.0%} "
        "(A, 100,000 records).",
        "section V.G, figure 24",
        _flat_to_forty,
    ),
    Claim(
        "mongodb-steps-down",
        f"MongoDB’s throughput is lower beyond {_STEP} users than at {_STEP} (A, 100,000 records).",
        "section V.G, figure 24",
        _steps_down,
    ),
    Claim(
        "cassandra-reads-slower",
        "Cassandra’s reads take longer than MongoDB’s (A, 100,000 records).",
        "section V.G, figure 22",
        _reads_slower,
    ),
)
