"""The findings of Vyas and Jat 2022, restated.

The paper calls a setting best where its latencies are lowest, without saying how a read's and a
write's make one; here it is the mean over both, by their shares of the operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import Cells, ratio_estimate
from pacelc.analysis.records import Naming, runs_frame
from pacelc.papers.claim import Claim, Evidence, Missing, Part, judge
from pacelc.papers.vyas_2022.tables import individual, mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.analysis import Estimate
    from pacelc.store import Results

__all__ = ["CLAIMS", "published_readings", "readings_of_runs"]

_STRONG: Final = ("1R-3W", "2R-2W", "3R-1W")
_ROUNDING: Final = 1e-9
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


def _ratio(
    readings: pl.DataFrame, by: str, sides: tuple[str, str], metric: str, of: str
) -> Estimate | Missing:
    """Return one side over the other by equal loads; ``of`` is what all these readings share."""
    if readings.height == 0:
        return Missing((of,))
    top, bottom = (_cells(readings.filter(pl.col(by) == side), metric) for side in sides)
    absent = [f"{of}, {side}" for side, x in zip(sides, (top, bottom), strict=True) if not x.n]
    ratio = None if absent else ratio_estimate(bottom, top)
    return Missing(tuple(absent or [f"{of}, both with equal users"])) if ratio is None else ratio


def _all_is(frame: pl.DataFrame, metric: str, **bounds: float) -> list[Part]:
    """Compare ALL with ONE and QUORUM, over all loads, for reads and for writes alone."""
    parts: list[Part] = []
    for share, kind in ((1.0, "only reads"), (0.0, "only writes")):
        alone = frame.filter(pl.col("read_share") == share)
        for other in ("ONE", "QUORUM"):
            ratio = _ratio(alone, "level", ("ALL", other), metric, kind)
            parts.append(judge(ratio, f"{kind}, ALL / {other}", **bounds))
    return parts


def _latencies(
    frame: pl.DataFrame,
    setting: str,
    others: Sequence[str],
    share: float,
    *,
    least_load: int = 0,
    **bounds: float,
) -> list[Part]:
    """Compare a setting's latency with others' in one mix, over the loads."""
    mix = frame.filter(
        (pl.col("read_share") - share).abs() < _ROUNDING, pl.col("load") >= least_load
    )
    of = f"{100 * share:g} % reads" + (f" and {least_load} users or more" if least_load else "")
    parts: list[Part] = []
    for other in others:
        ratio = _ratio(mix, "setting", (setting, other), "latency", of)
        parts.append(judge(ratio, f"{of}, {setting} / {other}", **bounds))
    return parts


def _fastest(
    frame: pl.DataFrame, winner: str, shares: Sequence[float], *, least_load: int = 0
) -> list[Part]:
    """Compare a setting's latency with the other two's, mix by mix."""
    others = [name for name in _STRONG if name != winner]
    return [
        part
        for share in shares
        for part in _latencies(frame, winner, others, share, least_load=least_load, below=1)
    ]


def _on_runs(test: Callable[[pl.DataFrame], list[Part]]) -> Callable[[Evidence], list[Part]]:
    return lambda evidence: test(readings_of_runs(evidence.results))


TESTS: Final[dict[str, Callable[[pl.DataFrame], list[Part]]]] = {
    "all-is-slowest": lambda f: _all_is(f, "latency", above=1),
    "all-has-least-throughput": lambda f: _all_is(f, "throughput", below=1),
    "read-one-write-all-fastest": lambda f: _fastest(f, "1R-3W", (0.5, 0.7, 0.9)),
    "read-all-write-one-fastest-for-writes": lambda f: _fastest(f, "3R-1W", (0.1,), least_load=200),
    "quorum-fastest-for-reads-under-load": lambda f: _fastest(f, "2R-2W", (0.9,), least_load=600),
    "read-all-wasteful-for-reads": lambda f: [
        part for share in (0.7, 0.9) for part in _latencies(f, "3R-1W", ("1R-3W",), share, above=1)
    ],
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
        "With 50, 70 and 90 % reads, 1R-3W has the lowest latency.",
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
        "With 70 and with 90 % reads, 3R-1W takes longer than 1R-3W.",
        "tables 9 and 10",
        _on_runs(TESTS["read-all-wasteful-for-reads"]),
    ),
)
