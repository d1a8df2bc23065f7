"""The findings of Vyas and Jat 2022, restated.

The paper calls a setting best where its latencies are lowest, without saying how a read's and a
write's make one; here it is the mean over both, by their shares of the operations.
"""

# ruff: noqa: RUF001 - typography: signs of multiplication

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import Cells, ratio_estimate
from pacelc.analysis.records import Naming, runs_frame
from pacelc.papers.claim import Claim, Evidence, Part, judge
from pacelc.papers.vyas_2022.tables import individual, mixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pacelc.store import Results

__all__ = ["CLAIMS", "published_readings", "readings_of_runs"]

_STRONG: Final = ("1R-3W", "2R-2W", "3R-1W")
_SCHEMA: Final = pl.Schema(
    {
        "load": pl.Float64,
        "read_share": pl.Float64,
        "setting": pl.String,
        "level": pl.String,
        "latency": pl.Float64,
        "throughput": pl.Float64,
    }
)


def published_readings() -> pl.DataFrame:
    """Return the paper's own readings, as the claims look at runs.

    Returns
    -------
    DataFrame
        ``load, read_share``; ``setting`` (mixed loads) or ``level`` (operations of one kind);
        ``latency``, ``throughput`` (null in mixed loads: not published).
    """
    alone = individual().select(
        pl.col("threads").alias("load"),
        (pl.col("operation") == "read").alias("read_share"),
        "level",
        pl.col("latency_us").alias("latency"),
        pl.col("throughput_per_s").alias("throughput"),
    )
    both = mixed().select(
        pl.col("threads").alias("load"),
        "read_share",
        "setting",
        pl.col("latency_us").alias("latency"),
    )
    return _conform(pl.concat([alone, both], how="diagonal_relaxed"))


def readings_of_runs(results: Results) -> pl.DataFrame:
    """Return runs in the form of :func:`published_readings`, one row a run."""
    frame = runs_frame(results, Naming())
    if frame.height == 0 or not {"users", "read_share"} <= set(frame.columns):
        return pl.DataFrame(schema=_SCHEMA)
    reads, writes, copies = (
        pl.col(name) if name in frame.columns else pl.lit(None, dtype=pl.Int64)
        for name in ("read_replicas", "write_replicas", "replication")
    )
    own = pl.when(pl.col("read_share") == 1).then(reads).otherwise(writes)
    level = (
        pl.when(own == copies)
        .then(pl.lit("ALL"))
        .when(own == 1)
        .then(pl.lit("ONE"))
        .when(own == copies // 2 + 1)
        .then(pl.lit("QUORUM"))
    )
    alone = pl.col("read_share").is_in([0.0, 1.0])
    return _conform(
        frame.select(
            pl.col("users").alias("load"),
            "read_share",
            pl.when(~alone).then(pl.format("{}R-{}W", reads, writes)).alias("setting"),
            pl.when(alone).then(level).alias("level"),
            pl.col("latency_ms_mean").alias("latency"),
            pl.col("throughput_per_s").alias("throughput"),
        )
    )


def _conform(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())


def _cells(frame: pl.DataFrame, metric: str) -> Cells:
    rows = (
        frame.filter(pl.col(metric).is_not_null())
        .sort("load")
        .group_by("load", maintain_order=True)
        .agg(pl.col(metric))
    )
    return Cells(
        tuple(float(x) for x in rows.get_column("load")),
        tuple(v.to_numpy().astype("float64") for v in rows.get_column(metric)),
    )


def _ratio_part(
    over: pl.DataFrame, under: pl.DataFrame, metric: str, text: str, *, below: bool
) -> list[Part]:
    if over.height == 0 or under.height == 0:
        return []
    ratio = ratio_estimate(_cells(under, metric), _cells(over, metric))
    return judge(ratio, text, below=1) if below else judge(ratio, text, above=1)


def _all_is(frame: pl.DataFrame, metric: str, *, below: bool) -> list[Part]:
    """Compare ALL with ONE and QUORUM, over all loads, for reads and for writes alone."""
    parts: list[Part] = []
    for share, kind in ((1.0, "reads"), (0.0, "writes")):
        alone = frame.filter(pl.col("read_share") == share)
        mine = alone.filter(pl.col("level") == "ALL")
        for other in ("ONE", "QUORUM"):
            theirs = alone.filter(pl.col("level") == other)
            parts += _ratio_part(mine, theirs, metric, f"{kind}, ALL / {other}: ×", below=below)
    return parts


def _fastest(
    frame: pl.DataFrame,
    winner: str,
    *,
    least_reads: float = 0.0,
    most_reads: float = 1.0,
    least_load: float = 0.0,
) -> list[Part]:
    """Compare a setting's latency with the other two's, mix by mix, over the loads."""
    parts: list[Part] = []
    chosen = frame.filter(
        pl.col("read_share").is_between(least_reads - 1e-9, most_reads + 1e-9)
        & (pl.col("load") >= least_load)
        & pl.col("setting").is_in(_STRONG)
    )
    for share in sorted(chosen.get_column("read_share").unique().to_list()):
        mine = chosen.filter(pl.col("read_share") == share)
        for other in (name for name in _STRONG if name != winner):
            parts += _ratio_part(
                mine.filter(pl.col("setting") == winner),
                mine.filter(pl.col("setting") == other),
                "latency",
                f"{100 * share:g} % reads, {winner} / {other}: ×",
                below=True,
            )
    return parts


def _strong_reads_wasteful(frame: pl.DataFrame) -> list[Part]:
    parts: list[Part] = []
    for share in (0.7, 0.9):
        mine = frame.filter((pl.col("read_share") - share).abs() < 1e-9)  # noqa: PLR2004
        parts += _ratio_part(
            mine.filter(pl.col("setting") == "3R-1W"),
            mine.filter(pl.col("setting") == "1R-3W"),
            "latency",
            f"{100 * share:g} % reads, 3R-1W / 1R-3W: ×",
            below=False,
        )
    return parts


def _on_runs(test: Callable[[pl.DataFrame], list[Part]]) -> Callable[[Evidence], list[Part]]:
    return lambda evidence: test(readings_of_runs(evidence.results))


TESTS: Final[dict[str, Callable[[pl.DataFrame], list[Part]]]] = {
    "all-is-slowest": lambda f: _all_is(f, "latency", below=False),
    "all-has-least-throughput": lambda f: _all_is(f, "throughput", below=True),
    "read-one-write-all-fastest": lambda f: _fastest(f, "1R-3W", least_reads=0.5),
    "read-all-write-one-fastest-for-writes": lambda f: _fastest(
        f, "3R-1W", most_reads=0.1, least_load=200
    ),
    "quorum-fastest-for-reads-under-load": lambda f: _fastest(
        f, "2R-2W", least_reads=0.9, least_load=600
    ),
    "read-all-wasteful-for-reads": _strong_reads_wasteful,
}
"""What each claim asks of readings; the paper's own can be asked too."""

CLAIMS: Final = (
    Claim(
        "all-is-slowest",
        "Reads alone and writes alone take longer at ALL than at ONE and at QUORUM.",
        "tables 4 and 5, figures 1 and 2",
        _on_runs(TESTS["all-is-slowest"]),
    ),
    Claim(
        "all-has-least-throughput",
        "Reads alone and writes alone are fewer per second at ALL than at ONE and at QUORUM.",
        "tables 4 and 5, figures 3 and 4",
        _on_runs(TESTS["all-has-least-throughput"]),
    ),
    Claim(
        "read-one-write-all-fastest",
        "Where at least half of the operations are reads, 1R-3W has the lowest latency.",
        "tables 8 to 10",
        _on_runs(TESTS["read-one-write-all-fastest"]),
    ),
    Claim(
        "read-all-write-one-fastest-for-writes",
        "With 10 % reads and from 200 users, 3R-1W has the lowest latency.",
        "table 6",
        _on_runs(TESTS["read-all-write-one-fastest-for-writes"]),
    ),
    Claim(
        "quorum-fastest-for-reads-under-load",
        "With 90 % reads and many users (from 600, as we read it), 2R-2W has the lowest latency.",
        "table 10",
        _on_runs(TESTS["quorum-fastest-for-reads-under-load"]),
    ),
    Claim(
        "read-all-wasteful-for-reads",
        "With 70 % reads and more, 3R-1W takes longer than 1R-3W.",
        "tables 9 and 10",
        _on_runs(TESTS["read-all-wasteful-for-reads"]),
    ),
)
