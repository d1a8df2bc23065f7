"""The published numbers, as Polars frames."""

from __future__ import annotations

from typing import Final

import polars as pl

from pacelc.papers.published import published_table

__all__ = ["TABLES", "coefficients", "individual", "mixed", "table"]

TABLES: Final = (*(f"table{number}" for number in range(4, 11)), "coefficients")
LATENCY_DECIMALS: Final = 4
"""Of a second: what the paper's regressions were made with (its printed digits tell)."""
_REPLICATION: Final = 3
_LEVEL: Final = {1: "ONE", 2: "QUORUM", 3: "ALL"}


def table(name: str) -> pl.DataFrame:
    """Return a published table as it is printed, one row a reading.

    Parameters
    ----------
    name
        One of :data:`TABLES`.

    Raises
    ------
    ValueError
        There is no such table.
    """
    # Printed figures keep their digits: 0.1 and 0.1000 are not the same statement.
    printed: dict[str, pl.DataType] = dict.fromkeys(
        ("coefficient", "standard_error", "p_value"), pl.String()
    )
    types = printed if name == "coefficients" else None
    return published_table("pacelc.papers.vyas_2022", TABLES, name, types)


def individual() -> pl.DataFrame:
    """Tables 4 and 5: operations of one kind alone.

    Returns
    -------
    DataFrame
        72 rows: ``operation`` (read, write), ``threads, level, latency_us, throughput_per_s``.
    """
    return pl.concat(
        table(name).select(pl.lit(kind).alias("operation"), pl.all())
        for name, kind in (("table4", "read"), ("table5", "write"))
    )


def mixed() -> pl.DataFrame:
    """Tables 6 to 10: reads and writes mixed.

    Returns
    -------
    DataFrame
        180 rows: ``table, threads, mix, read_share, write_share, setting, read_level, write_level,
        read_replicas, write_replicas, replication, read_latency_us, write_latency_us``,
        ``latency_us`` (mean over both, by their shares); and as the paper's regressions have them
        ``read_latency_s, write_latency_s`` (to four decimals), ``thousand_threads,
        write_consistency`` (0, ½, 1).
    """
    rows = pl.concat(
        table(f"table{number}").select(pl.lit(f"table{number}").alias("table"), pl.all())
        for number in range(6, 11)
    )
    read, write = (
        pl.col("setting").str.extract(pattern).cast(pl.Int64) for pattern in (r"^(\d)R", r"(\d)W$")
    )
    share = pl.col("read_percent") / 100
    return rows.select(
        "table",
        "threads",
        pl.format("{}/{}", "read_percent", 100 - pl.col("read_percent")).alias("mix"),
        share.alias("read_share"),
        ((100 - pl.col("read_percent")) / 100).alias("write_share"),
        "setting",
        read.replace_strict(_LEVEL).alias("read_level"),
        write.replace_strict(_LEVEL).alias("write_level"),
        read.alias("read_replicas"),
        write.alias("write_replicas"),
        pl.lit(_REPLICATION).cast(pl.Int64).alias("replication"),
        "read_latency_us",
        "write_latency_us",
        (share * pl.col("read_latency_us") + (1 - share) * pl.col("write_latency_us")).alias(
            "latency_us"
        ),
        (pl.col("read_latency_us") / 1e6).round(LATENCY_DECIMALS).alias("read_latency_s"),
        (pl.col("write_latency_us") / 1e6).round(LATENCY_DECIMALS).alias("write_latency_s"),
        (pl.col("threads") / 1000).alias("thousand_threads"),
        ((write - 1) / (_REPLICATION - 1)).alias("write_consistency"),
    )


def coefficients(equation: int | None = None) -> pl.DataFrame:
    """Tables 11 to 13.

    Parameters
    ----------
    equation
        2, 3 or 4; by default all.

    Returns
    -------
    DataFrame
        ``table, equation, explains, term`` (as printed: X1 …), ``variable`` (what it is here),
        ``coefficient, standard_error, p_value`` as printed, in text.
    """
    rows = table("coefficients")
    return rows if equation is None else rows.filter(pl.col("equation") == equation)
