"""What is still there after the faults of a run: every record that it wrote, read back.

Read by the engine, at the database's strongest level, once the cluster is healed and has settled.
An insert that was acknowledged and isn't there is a lost write. A record that could not be read is
neither there nor lost, and is counted apart. One whose insert was not acknowledged may be there:
that is what `unknown` says, and no fault of the database's.

Map
---
records_to_read     of the operations of a run: which records
read_back_frame     what the engine found, a row a record
read_back_record    both together, as ``run.json`` keeps them
unread              the answer where the engine found nothing out
LIMIT_S             how long the reading may take
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "LIMIT_S",
    "READ_BACK_SCHEMA",
    "read_back_frame",
    "read_back_record",
    "records_to_read",
    "unread",
]

LIMIT_S: Final = 60.0
_EXAMPLES: Final = 20
_UPDATES: Final = ("update", "read_modify_write")
READ_BACK_SCHEMA: Final = pl.Schema(
    {
        "record": pl.UInt64,
        "state": pl.String,
        "read_writer": pl.UInt32,
        "read_sequence": pl.UInt64,
        "read_origin": pl.String,
    }
)


def records_to_read(operations: Path, *, updates: bool) -> list[int]:
    """Return the records that the operations of a run inserted, or tried to, in order.

    Parameters
    ----------
    updates
        Whether those that were updated, too. Where an update writes one field of several, a record
        has as many versions as fields, and can't tell.
    """
    wanted = pl.col("operation") == "insert"
    if updates:
        wanted |= pl.col("operation").is_in(_UPDATES) & (pl.col("outcome") == "ok")
    found = pl.scan_parquet(operations).filter(wanted).select(pl.col("record").unique().sort())
    return found.collect().get_column("record").to_list()


def unread(records: Sequence[int]) -> dict[str, Any]:
    """Return the answer of an engine that could not read anything."""
    columns = ("found", "writer", "sequence", "origin", "missing")
    nothing: dict[str, Any] = {name: [] for name in columns}
    return nothing | {"unread": list(records), "errors": {}, "level": None}


def read_back_frame(answer: Mapping[str, Any]) -> pl.DataFrame:
    """Return what the engine found: ``record``, ``state``, and the version's columns.

    ``state`` is ``found``, ``missing`` or ``unread``; ``read_writer``, ``read_sequence`` and
    ``read_origin`` are those of the newest value, as in the operations, null where there is none.
    """
    columns = {
        "record": answer["found"],
        "read_writer": answer["writer"],
        "read_sequence": answer["sequence"],
        "read_origin": answer["origin"],
    }
    parts = [_part(columns, "found")]
    for state in ("missing", "unread"):
        columns = {name: [None] * len(answer[state]) for name in columns}
        columns["record"] = answer[state]
        parts.append(_part(columns, state))
    return pl.concat(parts).sort("record")


def _part(columns: Mapping[str, Sequence[int | None]], state: str) -> pl.DataFrame:
    frame = pl.DataFrame(
        dict(columns), schema={k: v for k, v in READ_BACK_SCHEMA.items() if k != "state"}
    )
    return frame.with_columns(pl.lit(state).alias("state")).select(READ_BACK_SCHEMA.names())


def read_back_record(
    operations: pl.DataFrame,
    states: pl.DataFrame,
    *,
    before_measure_s: float,
    errors: Mapping[str, int],
    level: str | None,
    error: str | None,
) -> dict[str, Any]:
    """Return ``read_back`` of a run's record.

    Parameters
    ----------
    operations
        All of the run.
    states
        As `read_back_frame` returns them; a record that isn't in it is unread.
    before_measure_s
        Where on the operations' clock measuring began.
    errors
        Why records are unread: how many by kind of error.
    level
        Of the reads.
    error
        Why nothing could be read, in a line.
    """
    deleted = operations.filter(pl.col("operation") == "delete").select("record").unique()
    inserts = (
        operations.filter(pl.col("operation") == "insert")
        .join(deleted, on="record", how="anti")
        .join(states.select("record", "state"), on="record", how="left")
        .with_columns(pl.col("state").fill_null("unread"))
        .sort("end_ns", "record")
    )
    acknowledged = inserts.filter(pl.col("outcome") == "ok")
    others = inserts.filter(pl.col("outcome") != "ok")
    missing = acknowledged.filter(pl.col("state") == "missing")
    times_s = (missing.get_column("end_ns").cast(pl.Float64) / 1e9 - before_measure_s).to_list()
    return {
        "level": level,
        "error": error,
        "errors": dict(errors),
        "inserts": {
            "acknowledged": acknowledged.height,
            **_counts(acknowledged, "state", ("found", "missing", "unread")),
            "first_missing_s": times_s[0] if times_s else None,
            "last_missing_s": times_s[-1] if times_s else None,
            "examples": missing.get_column("record").head(_EXAMPLES).to_list(),
        },
        "unacknowledged": {
            **_counts(others, "outcome", ("fail", "unknown")),
            **_counts(others, "state", ("found",)),
        },
    }


def _counts(frame: pl.DataFrame, column: str, words: tuple[str, ...]) -> dict[str, int]:
    return {word: int((frame.get_column(column) == word).sum()) for word in words}
