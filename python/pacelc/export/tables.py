"""Runs and samples as tables of plain columns, for pandas, R, a spreadsheet or a database.

Map
---
runs_table      one row a run: factors, throughput, latencies, outcomes, levels in force
samples_table   one row an interval, phase and kind of operation
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pacelc.store import Results, RunRecord

__all__ = ["runs_table", "samples_table"]


def runs_table(results: Results) -> pl.DataFrame:
    """Return one row a run.

    The columns of ``results.runs``; the warnings as one text, since CSV has no lists; then, for
    each kind of operation, its level in force and its errors by kind.
    """
    more = [_by_kind(record) for record in results.records]
    names = sorted({name for row in more for name in row})
    counts = [name for name in names if not name.endswith(".consistency")]
    frame = results.runs.with_columns(pl.col("warnings").list.join("; "))
    return frame.with_columns(
        pl.Series(name, [row.get(name) for row in more], pl.Int64 if name in counts else pl.String)
        for name in names
    ).with_columns(pl.col(counts).fill_null(0))


def _by_kind(record: RunRecord) -> dict[str, Any]:
    row: dict[str, Any] = {
        f"{kind}.consistency": level for kind, level in record.consistency.items()
    }
    for kind, stats in record.result.operations.items():
        row |= {f"{kind}.fail.{error}": count for error, count in stats.fail.items()}
        row |= {f"{kind}.unknown.{error}": count for error, count in stats.unknown.items()}
    return row


def samples_table(results: Results) -> pl.DataFrame:
    """Return one row an interval, phase and kind of operation; ``source`` and ``run`` name the run.

    The run's factors aren't repeated: a study may call one of them ``operation``, too.
    """
    return results.samples
