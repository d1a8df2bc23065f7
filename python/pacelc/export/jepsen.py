"""A run's operations as a history of Jepsen's, for Knossos and other checkers.

A map for each start and each end, in the order of time. Values are ``[record version]``, as with
``jepsen.independent``: each record is a register. A process that a time-out leaves in doubt does
nothing more, so a user goes on as another process: its number plus the number of processes.
What was there before the run is written first, so that registers that held nothing will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import polars as pl

from pacelc.errors import InputError
from pacelc.history.registers import ABSENT, EARLIER, LOADED, of_run, run_log

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.history.log import Reading

__all__ = ["as_edn", "with_processes"]

_TYPES: Final = {"ok": "ok", "fail": "fail", "unknown": "info"}


def as_edn(folder: Path) -> bytes:
    """Return the history of the run in ``folder``.

    Raises
    ------
    InputError
        The run recorded no operations, or its records are no registers.
    """
    path = folder / "operations.parquet"
    if not path.is_file():
        raise InputError(
            f"{folder.name} has no operations one by one",
            "a study records them with observe: true",
        )
    operations = with_processes(of_run(path))
    before = _before(operations, run_log(path)[1])
    lines = _events(pl.concat([before, operations], how="diagonal"))["event"]
    return "".join(f"{line}\n" for line in lines).encode()


def with_processes(operations: pl.DataFrame) -> pl.DataFrame:
    """Add ``process``: who does it for Jepsen, one operation at a time.

    The write of a read-modify-write overlaps its read, so another process does it.
    """
    users = 1 + (cast("int | None", operations["session"].max()) or 0)
    doers = 2 * users if operations["of_rmw"].any() else users
    doer = pl.col("session").cast(pl.Int64) + pl.col("of_rmw").cast(pl.Int64) * users
    in_doubt = (pl.col("outcome") == "unknown").cast(pl.Int64)
    before = in_doubt.cum_sum().over(doer) - in_doubt
    return operations.with_columns((doer + before * doers).alias("process"))


def _before(operations: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Return writes of what was there before the run: what was loaded, then what was left later.

    Each is by a process of its own, and acknowledged before the first operation begins.
    """
    first, end = (edge * max(reading.fields, 1) for edge in reading.loaded)
    is_loaded = (pl.col("key") >= first) & (pl.col("key") < end)
    loaded = operations.filter(is_loaded).select(
        "key", pl.lit(LOADED, pl.UInt64).alias("version"), pl.lit(-4, pl.Int64).alias("start_ns")
    )
    is_earlier = (pl.col("version") >= EARLIER) & (pl.col("version") < LOADED)
    is_read = ~pl.col("is_write") & (pl.col("outcome") == "ok")
    left = operations.filter(is_read & is_earlier).select(
        "key", "version", pl.lit(-2, pl.Int64).alias("start_ns")
    )
    start_ns = pl.col("start_ns") + operations["start_ns"].min()
    return (
        pl.concat([loaded, left])
        .unique()
        .sort("start_ns", "key", "version")
        .with_columns(
            start_ns,
            (start_ns + 1).alias("end_ns"),
            pl.lit(value=True).alias("is_write"),
            pl.lit("ok").alias("outcome"),
            (pl.int_range(pl.len()) + operations["process"].max() + 1).alias("process"),
        )
    )


def _events(operations: pl.DataFrame) -> pl.DataFrame:
    version = pl.col("version")
    value = (
        pl.when(version == ABSENT)
        .then(pl.lit("nil"))
        .when(version == LOADED)
        .then(pl.lit("0"))
        # What an earlier run has left is no number of this one's.
        .when(version >= EARLIER)
        .then(pl.lit("-") + (version - EARLIER + 1).cast(pl.String))
        .otherwise((version + 1).cast(pl.String))
    )
    is_read = ~pl.col("is_write")
    is_answered_read = is_read & (pl.col("outcome") == "ok")
    # At one time starts come before ends, since such operations overlap, but for those of one
    # process, which come one after the other.
    told = (
        operations.sort("process", "start_ns", "end_ns")
        .with_columns(
            pl.when(is_read).then(pl.lit(":read")).otherwise(pl.lit(":write")).alias("f"),
            value.alias("value"),
            (pl.col("start_ns") == pl.col("end_ns").shift().over("process"))
            .fill_null(value=False)
            .alias("follows"),
        )
        .with_columns(
            pl.int_range(pl.len()).over("process", "start_ns").alias("place"),
            pl.col("follows").first().over("process", "start_ns").cast(pl.Int64),
        )
        .with_columns((2 * (pl.col("place") + pl.col("follows"))).alias("round"))
    )
    starts = told.select(
        pl.col("start_ns").alias("time"),
        "round",
        _event(
            pl.lit("invoke"),
            pl.when(is_read).then(pl.lit("nil")).otherwise(pl.col("value")),
            "start_ns",
        ),
    )
    ends = told.select(
        pl.col("end_ns").alias("time"),
        pl.when(pl.col("start_ns") == pl.col("end_ns"))
        .then(pl.col("round") + 1)
        .otherwise(1)
        .alias("round"),
        _event(
            pl.col("outcome").replace_strict(_TYPES, return_dtype=pl.String),
            pl.when(~is_read | is_answered_read).then(pl.col("value")).otherwise(pl.lit("nil")),
            "end_ns",
        ),
    )
    return pl.concat([starts, ends]).sort("time", "round", maintain_order=True)


def _event(kind: pl.Expr, value: pl.Expr, time: str) -> pl.Expr:
    parts = {
        "{:process ": pl.col("process"),
        ", :type :": kind,
        ", :f ": pl.col("f"),
        ", :value [": pl.col("key"),
        " ": value,
        "], :time ": pl.col(time),
        "}": pl.lit(""),
    }
    return pl.concat_str(
        [piece for text, of in parts.items() for piece in (pl.lit(text), of)]
    ).alias("event")
