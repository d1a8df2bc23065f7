"""A run's log of operations as operations on registers, as the engine's checkers see them.

A record is a register, or where updates write one field of several, a field. A read-modify-write is
a read and a write. A delete writes `ABSENT`, and a read that finds nothing has read it. Scans are
left out: they are of many registers.

Map
---
run_log     a run's ``operations.parquet``, and how it is read
of_run      the same → operations on registers, a row each
packed      these as bytes, as the engine reads them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from pacelc.errors import InputError
from pacelc.history.log import Reading, pack
from pacelc.names import counted
from pacelc.store.format import RunRecord, read_record

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ABSENT", "EARLIER", "LOADED", "of_run", "packed", "run_log"]

ABSENT: Final = 2**64 - 1
"""The version of a record that isn't there."""
LOADED: Final = 2**64 - 2
"""The version of a record as it was loaded."""
EARLIER: Final = 2**63
"""From here on versions were there before the run; this one and those after it an earlier run's."""

_MAGIC: Final = b"pacelch1"
# The engine's `formats/native.rs`, byte by byte.
_ROW: Final = np.dtype(
    [
        ("key", "<u8"),
        ("version", "<u8"),
        ("expected", "<u8"),
        ("start_ns", "<i8"),
        ("end_ns", "<i8"),
        ("session", "<u4"),
        ("action", "u1"),
        ("fate", "u1"),
        ("_zero", "V2"),
    ]
)
_FATES: Final = ("ok", "fail", "unknown")


def run_log(path: Path) -> tuple[pl.DataFrame, Reading]:
    """Return a run's ``operations.parquet``, and how it is read.

    Without the run's ``run.json`` beside it, all its records are taken to have been loaded, and
    earlier runs to have left writes of unknown outcome.

    Raises
    ------
    InputError
        The log doesn't tell which version a read returned.
    """
    log = pl.read_parquet(path)
    if "read_writer" not in log.columns:
        raise InputError(
            f"{path} doesn't say which versions were read", "measure again with this pacelc"
        )
    run = path.parent / "run.json"
    reading: Reading | None = Reading(loaded=(0, 2**62), earlier_unknown=True)
    if run.is_file():
        reading = Reading.of_run(read_record(RunRecord, run), log.columns)
    if reading is None:
        raise InputError(
            f"{path} can't tell what reads saw: updates write one of several fields and a read "
            "returns all of them, or operations could not be written in time",
            "set workload.update_all_fields: true, or read_all_fields: false",
        )
    untold = (
        (pl.col("operation") == "read")
        & (pl.col("outcome") == "ok")
        & pl.col("read_writer").is_null()
    )
    if "read_origin" in log.columns:
        untold &= pl.col("read_origin").is_null()
    if (reads := log.filter(untold).height) > 0:
        raise InputError(
            f"{counted(reads, 'read')} returned values without a stamp, which tell no version",
            "fields of at least 32 bytes have one",
        )
    return log, reading


def of_run(path: Path) -> pl.DataFrame:
    """Return the operations on registers of a run's ``operations.parquet``.

    Returns
    -------
    DataFrame
        ``session, is_write, outcome, key, version, start_ns, end_ns``, in the order of the starts;
        ``of_rmw`` where it is the write of a read-modify-write. ``version`` is `ABSENT`, `LOADED`,
        from `EARLIER` on what an earlier run has left, else its user and count.
    """
    rows = np.frombuffer(pack(*run_log(path))[len(_MAGIC) :], dtype=_ROW)
    columns = {name: rows[name] for name in ("session", "key", "version", "start_ns", "end_ns")}
    frame = pl.DataFrame(
        {name: np.ascontiguousarray(column) for name, column in columns.items()}
        | {"is_write": rows["action"] == 1, "fate": rows["fate"].astype(np.uint32)}
    )
    outcome = pl.col("fate").replace_strict(dict(enumerate(_FATES)), return_dtype=pl.String)
    same = pl.all_horizontal(
        pl.col(name) == pl.col(name).shift() for name in ("session", "start_ns", "end_ns")
    )
    of_rmw = (pl.col("is_write") & ~pl.col("is_write").shift() & same).fill_null(value=False)
    return (
        frame.with_columns(outcome.alias("outcome"), of_rmw.alias("of_rmw"))
        .sort("start_ns", "session", "of_rmw", maintain_order=True)
        .select("session", "is_write", "outcome", "key", "version", "start_ns", "end_ns", "of_rmw")
    )


def packed(operations: pl.DataFrame) -> bytes:
    """Return operations on registers as rows that the engine reads."""
    rows = np.zeros(operations.height, dtype=_ROW)
    for name in ("key", "version", "start_ns", "end_ns", "session"):
        rows[name] = operations[name].to_numpy()
    rows["action"] = operations["is_write"].cast(pl.UInt8).to_numpy()
    codes = {word: code for code, word in enumerate(_FATES)}
    rows["fate"] = operations["outcome"].replace_strict(codes, return_dtype=pl.UInt8).to_numpy()
    return _MAGIC + rows.tobytes()
