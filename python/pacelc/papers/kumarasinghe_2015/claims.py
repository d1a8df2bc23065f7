"""The findings of Kumarasinghe et al. 2015, restated.

Where a word of the paper has no number ("twice", "close to unchanged"), the number that we test is
in the claim's text. Factors are those of the study: ``database, workload, records, users``; runs of
100,000 records are the second experiment.
"""

# ruff: noqa: RUF001 - typography: the apostrophe in names

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.databases import display_name
from pacelc.names import counted
from pacelc.papers.claim import Claim, Evidence, Part, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.papers.cells import Where

__all__ = ["CLAIMS", "RECORDS", "RECORDS_BY_THREADS"]

_THROUGHPUT: Final = "throughput_per_s"
RECORDS: Final = (1000, 5000, 10000)
RECORDS_BY_THREADS: Final = 100_000
_BY_THREADS: Final[Where] = {"workload": "ycsb-a", "records": RECORDS_BY_THREADS}
_OTHERS: Final = ("cassandra", "mongodb")
_THIRD: Final = 4 / 3
_SAME: Final = 0.10
_UNCHANGED: Final = 0.25
_FEWEST: Final = 1
_STEP: Final = 40
_MOST: Final = 50
_SLOW: Final = 1.5


def _faster(
    e: Evidence, winner: str, others: Sequence[str], where: Where, **bounds: float
) -> list[Part]:
    return [
        judge(
            e.ratio(
                _THROUGHPUT,
                {"database": winner},
                {"database": other},
                match=("records", "users"),
                where={"records": RECORDS, **where},
            ),
            f"{display_name(winner)} / {display_name(other)}",
            **bounds,
        )
        for other in others
    ]


def _between_users(
    e: Evidence, database: str, most: int, least: int, where: Where, **bounds: float
) -> Part:
    ratio = e.ratio(
        _THROUGHPUT,
        {"users": most},
        {"users": least},
        match=("records",),
        where={"database": database, **where},
    )
    text = f"{most} / {counted(least, 'user')}, {display_name(database)}"
    return judge(ratio, text, **bounds)


def _little_from_four_to_eight(e: Evidence) -> list[Part]:
    where: Where = {"workload": "ycsb-a", "records": RECORDS}
    return [
        _between_users(e, database, 8, 4, where, below=_SLOW)
        for database in ("cassandra", "mongodb", "redis")
    ]


def _reads_slower(e: Evidence) -> list[Part]:
    ratio = e.ratio(
        "read.latency_ms_mean",
        {"database": "cassandra"},
        {"database": "mongodb"},
        match=("users",),
        where=_BY_THREADS,
    )
    return [judge(ratio, "Cassandra / MongoDB", above=1)]


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
        "Cassandra’s throughput rises from 1 to 50 users (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: [_between_users(e, "cassandra", _MOST, _FEWEST, _BY_THREADS, above=1)],
    ),
    Claim(
        "redis-loses-with-threads",
        "Redis’s throughput falls from 1 to 50 users (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: [_between_users(e, "redis", _MOST, _FEWEST, _BY_THREADS, below=1)],
    ),
    Claim(
        "mongodb-flat-to-forty",
        f"MongoDB’s throughput is nearly unchanged from 1 to {_STEP} users: within "
        f"{_UNCHANGED:.0%} (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: [
            _between_users(
                e,
                "mongodb",
                _STEP,
                _FEWEST,
                _BY_THREADS,
                above=1 / (1 + _UNCHANGED),
                below=1 + _UNCHANGED,
            )
        ],
    ),
    Claim(
        "mongodb-steps-down",
        f"MongoDB’s throughput is lower with {_MOST} users than with {_STEP} (A, 100,000 records).",
        "section V.G, figure 24",
        lambda e: [_between_users(e, "mongodb", _MOST, _STEP, _BY_THREADS, below=1)],
    ),
    Claim(
        "cassandra-reads-slower",
        "Cassandra’s reads take longer than MongoDB’s (A, 100,000 records).",
        "section V.G, figure 22",
        _reads_slower,
    ),
)
