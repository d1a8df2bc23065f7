"""Which reads were stale and which acknowledged writes were lost, as a run's log proves it.

What can be proved is the engine's to say (`pacelc.history`): a read was stale if it returned a
version that had certainly been replaced before the read began; an acknowledged write is lost if
its record isn't there after the run, or is of a version that was certainly written before it.

Start here: `stale_reads`, `fates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.history import Reading, staleness
from pacelc.history import fates as fates_of

if TYPE_CHECKING:
    from pacelc.store.format import RunRecord

__all__ = ["LOST", "UNREAD", "UNTOLD", "WRITES", "fates", "stale_reads"]

WRITES: Final = ("insert", "update", "read_modify_write")
LOST, UNREAD, UNTOLD = "lost", "unread", "untold"


def stale_reads(operations: pl.DataFrame, record: RunRecord) -> pl.DataFrame | None:
    """Return the reads of a run of which it can be told, with whether each was ``stale``.

    Returns
    -------
    DataFrame or None
        ``record, start_ns, end_ns, stale``. None where reads don't say what they saw.
    """
    reading = Reading.of_run(record, operations.columns)
    if reading is None:
        return None
    return staleness(operations, reading).select(
        "record", "start_ns", "end_ns", (pl.col("least_ns") > 0).alias("stale")
    )


def fates(operations: pl.DataFrame, read_back: pl.DataFrame, record: RunRecord) -> pl.DataFrame:
    """Return the acknowledged writes of a run, with what became of each: see `history.fates`."""
    reading = Reading.of_run(record, operations.columns)
    one_version = reading is not None and reading.fields == 0
    return fates_of(
        operations, read_back, reading or Reading(loaded=(0, 0)), one_version=one_version
    )
