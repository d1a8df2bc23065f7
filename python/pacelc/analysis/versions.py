"""Which reads were stale and which acknowledged writes were lost, as a run's log proves it.

A value names the write that it is from, and the log says when each write began and ended, on one
clock. That is enough to prove, of any number of users, that a read came too late for what it
returned:

stale
    A read returned the version of write *v*, although an acknowledged write *w* of the same record
    began after *v* had ended, and had ended before the read began. Whatever order the database put
    concurrent operations in, *w* came after *v* and before the read. One such read is a proof.
lost
    The same, of the record as it was read back after the run: it isn't there, or its version is
    older than an acknowledged write that began after that version had ended.

Where it says so (``read_origin``), versions of this run, of the load and of earlier runs are told
apart; of an earlier run's nothing is told. Older logs don't say, and take it for one of this run's.

A write whose outcome is unknown may take effect at any time, so its version is never too old. Where
a record can hold several versions at a time (updates of one field of several) nothing is told of
updates.

Start here: `stale_reads`, `fates`.
"""

from __future__ import annotations

from typing import Final

import polars as pl

__all__ = ["LOST", "UNREAD", "UNTOLD", "WRITES", "fates", "stale_reads"]

WRITES: Final = ("insert", "update", "read_modify_write")
KEPT, LOST, UNREAD, UNTOLD = "kept", "lost", "unread", "untold"
_NEVER: Final = 2**63 - 1
_BEFORE_ALL: Final = -1


def stale_reads(operations: pl.DataFrame) -> pl.DataFrame:
    """Return the reads that returned something, with whether it was ``stale``.

    Parameters
    ----------
    operations
        ``operation, outcome, record, user, sequence, start_ns, end_ns, read_writer,
        read_sequence``, and ``read_origin`` if there is one, of a run from its first operation on.
        Records hold one version at a time.

    Returns
    -------
    DataFrame
        ``record, start_ns, end_ns, stale``: null where the version's write isn't in the log.
    """
    reads = operations.filter(
        (pl.col("operation") == "read")
        & (pl.col("outcome") == "ok")
        & pl.col("read_writer").is_not_null()
    ).select("record", *_version(operations), *_times())
    newest = (
        _acknowledged(operations)
        .sort("end_ns")
        .select("record", "end_ns", pl.col("start_ns").cum_max().over("record").alias("newest_ns"))
    )
    told = (
        _with_version_end(reads, operations)
        .sort("start_ns")
        .join_asof(
            newest,
            left_on="start_ns",
            right_on="end_ns",
            by="record",
            strategy="backward",
            allow_exact_matches=False,
            check_sortedness=False,
            coalesce=False,
            suffix="_newest",
        )
    )
    return told.select(
        "record",
        "start_ns",
        "end_ns",
        pl.when(pl.col("version_end_ns").is_not_null())
        .then(pl.col("newest_ns").fill_null(_BEFORE_ALL) > pl.col("version_end_ns"))
        .alias("stale"),
    )


def fates(operations: pl.DataFrame, read_back: pl.DataFrame, *, one_version: bool) -> pl.DataFrame:
    """Return the acknowledged writes of a run, with what became of each.

    Parameters
    ----------
    operations
        As `stale_reads` takes them.
    read_back
        ``record, state, read_writer, read_sequence``, and ``read_origin`` if there is one: the
        records as they were after the run.
    one_version
        Whether a record holds one version at a time.

    Returns
    -------
    DataFrame
        ``record, operation, start_ns, end_ns, fate``: ``kept`` (it, or something that may follow
        it, is there), ``lost``, ``unread``, or ``untold`` where the record's version can't tell.
        Records that were deleted are left out.
    """
    deleted = operations.filter(pl.col("operation") == "delete").select("record").unique()
    after = _with_version_end(read_back, operations).select("record", "state", "version_end_ns")
    told = pl.col("version_end_ns").is_not_null() & pl.lit(value=one_version)
    return (
        _acknowledged(operations)
        .join(deleted, on="record", how="anti")
        .join(after, on="record", how="left")
        .select(
            "record",
            "operation",
            "start_ns",
            "end_ns",
            pl.when(pl.col("state") == "missing")
            .then(pl.lit(LOST))
            .when(pl.col("state").fill_null("unread") == "unread")
            .then(pl.lit(UNREAD))
            .when(told & (pl.col("start_ns") > pl.col("version_end_ns")))
            .then(pl.lit(LOST))
            .when(told | (pl.col("operation") == "insert"))
            .then(pl.lit(KEPT))
            .otherwise(pl.lit(UNTOLD))
            .alias("fate"),
        )
        .sort("end_ns", "record")
    )


def _acknowledged(operations: pl.DataFrame) -> pl.DataFrame:
    return operations.filter(
        pl.col("operation").is_in(WRITES) & (pl.col("outcome") == "ok")
    ).select("record", "operation", *_times())


def _times() -> list[pl.Expr]:
    return [pl.col(name).cast(pl.Int64) for name in ("start_ns", "end_ns")]


def _with_version_end(frame: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    """Add ``version_end_ns``: when the write of the version read had ended; null if unknown."""
    writes = operations.filter(pl.col("operation").is_in(WRITES)).select(
        "record",
        # The load is writer 0.
        (pl.col("user").cast(pl.UInt32) + 1).alias("read_writer"),
        pl.col("sequence").cast(pl.UInt64).alias("read_sequence"),
        pl.when(pl.col("outcome") == "ok")
        .then(pl.col("end_ns").cast(pl.Int64))
        .otherwise(_NEVER)
        .alias("version_end_ns"),
    )
    keyed = frame.with_columns(
        pl.col("read_writer").cast(pl.UInt32), pl.col("read_sequence").cast(pl.UInt64)
    )
    told = keyed.join(writes, on=["record", "read_writer", "read_sequence"], how="left")
    end = pl.when(pl.col("read_writer") == 0).then(_BEFORE_ALL).otherwise("version_end_ns")
    if "read_origin" in frame.columns:
        end = pl.when(pl.col("read_origin") != "earlier").then(end)
    return told.with_columns(end.alias("version_end_ns"))


def _version(frame: pl.DataFrame) -> list[str]:
    columns = ("read_writer", "read_sequence", "read_origin")
    return [name for name in columns if name in frame.columns]
