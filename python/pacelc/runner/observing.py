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
    reading = Reading.of_log(
        run.scenario.settings.workload.model_dump(),
        before_measure_s=result["before_measure_s"],
        measured_s=result["measured_s"],
        kept=result.get("observed"),
        uncertainties_ms=(worker["uncertainty_ms"] for worker in result.get("workers", [])),
        earlier_unknown=earlier_unknown,
    )
    return None if reading is None else observe(pl.read_parquet(operations), reading)


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
