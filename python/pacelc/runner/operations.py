"""Single operations, which the engine writes as fixed rows, made Parquet.

Map
---
gather_operations       the engines' files → Parquet, in the order of their starts
OBSERVE_LIMIT_BYTES     how much an observed run keeps
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pacelc.history.log import ERRORS, KINDS, NO_SEQUENCE, ORIGINS, OUTCOMES, ROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["OBSERVE_LIMIT_BYTES", "gather_operations"]

OBSERVE_LIMIT_BYTES = 64 * 2**20
"""Of a run that is observed, what the engine writes at most; Parquet takes about a third of it."""


def gather_operations(
    path: Path,
    observed: Mapping[str, Any] | None = None,
    shifts_ns: Sequence[int] = (),
) -> Path:
    """Gather ``path.0``, ``path.1``, … into the Parquet file ``path``, and remove them.

    Parameters
    ----------
    observed
        The run's sample, as the engine tells of it; None where every operation was recorded.
        Workers have thresholds of their own: some of what they wrote is of no record in it.
    shifts_ns
        Of each worker, what makes its times the run's; its files are ``path.<worker>.0``, ….

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
    rows = (_shifted(np.fromfile(part, dtype=ROW), part, shifts_ns) for part in parts)
    frames = [_frame(part if observed is None else _sampled(part, observed)) for part in rows]
    empty = _frame(np.empty(0, dtype=ROW))
    pl.concat([empty, *frames]).sort("start_ns", "user", "sequence").write_parquet(
        path, compression="zstd"
    )
    for part in parts:
        part.unlink()
    return path


def _shifted(rows: np.ndarray, part: Path, shifts_ns: Sequence[int]) -> np.ndarray:
    if shifts_ns:
        worker = int(part.suffixes[-2].removeprefix("."))
        for name in ("due_ns", "start_ns", "end_ns"):
            rows[name] += np.uint64(shifts_ns[worker])
    return rows


def _sampled(rows: np.ndarray, observed: Mapping[str, Any]) -> np.ndarray:
    """Return the rows of records whose hash is below the threshold, or which are hot."""
    halvings = round(-math.log2(observed["threshold"]))
    if halvings == 0:
        return rows
    records = rows["record"]
    is_below = _mix(records) >> np.uint64(64 - halvings) == 0
    hot = np.array(observed["hot_records"], dtype=np.uint64)
    return rows[is_below | np.isin(records, hot)]


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the engine's hashes of numbers: SplitMix64's finaliser (`pacelc_core::seed::mix`)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


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
