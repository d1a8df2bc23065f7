"""Single operations, which the engine writes as fixed rows in a file a thread, made Parquet.

Map
---
gather_operations       the threads' files → Parquet, in the order of their starts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from pacelc.history import ERRORS, KINDS, NO_SEQUENCE, ORIGINS, OUTCOMES, ROW

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["gather_operations"]


def gather_operations(path: Path) -> Path:
    """Gather ``path.0``, ``path.1``, … into the Parquet file ``path``, and remove them.

    Returns
    -------
    Path
        ``path``. Columns: ``due_ns``, ``start_ns``, ``end_ns`` since the run's origin; ``user``;
        ``operation``; ``outcome``; ``error`` (null for none); ``record``; ``sequence``, with
        ``user`` the operation's identity; ``read_writer``, ``read_sequence``: the writer of the
        newest value read (null for none, writer 0 the load, else the user's number plus 1);
        ``read_origin``: ``run``, ``load``, ``earlier``, or ``none`` where there was no record
        (null where nothing was read, or values are too short to tell); ``torn``: whether the row
        read has fields of several writes, though each writes them all; ``field``: the one that
        was written, or by a read or scan read; ``read_field``: the one that a read-modify-write
        read; null for all.
    """
    parts = sorted(path.parent.glob(f"{path.name}.*"))
    frames = [_frame(np.fromfile(part, dtype=ROW)) for part in parts]
    empty = _frame(np.empty(0, dtype=ROW))
    pl.concat([empty, *frames]).sort("start_ns", "user", "sequence").write_parquet(
        path, compression="zstd"
    )
    for part in parts:
        part.unlink()
    return path


def _frame(rows: np.ndarray) -> pl.DataFrame:
    columns = {
        name: pl.Series(name, np.ascontiguousarray(rows[name]))
        for name in ROW.names or ()
        if name != "fields"
    }
    low, middle, high = (rows["fields"][:, byte].astype(np.uint16) for byte in range(3))
    columns["field"] = pl.Series("field", low | (middle & 0xF) << 8)
    columns["read_field"] = pl.Series("read_field", middle >> 4 | high << 4)
    read = pl.col("read_sequence") != NO_SEQUENCE
    return pl.DataFrame(columns).select(
        "due_ns",
        "start_ns",
        "end_ns",
        "user",
        _word("operation", KINDS),
        _word("outcome", OUTCOMES),
        _word("error", ERRORS),
        "record",
        "sequence",
        pl.when(read).then("read_writer").alias("read_writer"),
        pl.when(read).then("read_sequence").alias("read_sequence"),
        _word("read_origin", ORIGINS),
        pl.col("torn") != 0,
        *(
            pl.when(pl.col(name) > 0).then(pl.col(name) - 1).alias(name)
            for name in ("field", "read_field")
        ),
    )


def _word(column: str, words: tuple[str, ...]) -> pl.Expr:
    numbers = pl.col(column).cast(pl.UInt32)
    return numbers.replace_strict(
        dict(enumerate(words)), default=None, return_dtype=pl.String
    ).alias(column)
