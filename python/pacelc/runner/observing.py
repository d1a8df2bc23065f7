"""Right after a run, its log is given to the checkers: what the clients observed.

Not while it runs: on a small machine that would take processors from the servers.

Map
---
observed            what ``observed.json`` says of a run
left_open           whether a run left writes of unknown outcome on its data
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from pacelc.history import Reading, observe

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.runner.engine import EngineResult
    from pacelc.study import PlannedRun

__all__ = ["left_open", "observed"]


def observed(
    run: PlannedRun, operations: Path, result: EngineResult, *, earlier_unknown: bool
) -> dict[str, Any] | None:
    """Return what the clients of a run observed; None where the log can't say it.

    It can't where a read returns fields that were written one by one, where values are too short to
    name their write, and where operations were lost on the way to the disk.

    Parameters
    ----------
    operations
        Its log.
    earlier_unknown
        Whether runs before it left writes of unknown outcome on its data.
    """
    begin_ns = round(result["before_measure_s"] * 1e9)
    kept = result.get("observed")
    # Of a record in the sample all operations are there, so that what is said of it holds.
    sample = None if kept is None else {name: kept[name] for name in ("threshold", "hot_records")}
    uncertain_ms = (worker["uncertainty_ms"] for worker in result.get("workers", []))
    reading = Reading.of(
        run.scenario.settings.workload.model_dump(),
        counted_ns=(begin_ns, begin_ns + round(result["measured_s"] * 1e9)),
        earlier_unknown=earlier_unknown,
        clock_uncertainty_ns=round(max(uncertain_ms, default=0.0) * 1e6),
        sample=sample,
    )
    if reading is None or (kept is not None and kept["lost_operations"] > 0):
        return None
    return observe(pl.read_parquet(operations), reading)


def left_open(result: EngineResult, operations: Path | None = None) -> bool:
    """Whether the run left writes of which nobody knows whether they have taken effect.

    Those of the warm-up are in the samples alone, and the slow last ones in the totals alone; what
    users did while others were still coming in is in neither, but in the log, if there is one.
    """
    if operations is not None:
        unknown = pl.scan_parquet(operations).filter(pl.col("outcome") == "unknown")
        return unknown.select(pl.len()).collect().item() > 0
    totals = (sum(kind["unknown"].values()) for kind in result["operations"].values())
    return sum(result["samples"]["unknown"]) > 0 or any(totals)
