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
    """Return what the clients of a run observed; None where its reads don't say what they saw.

    Parameters
    ----------
    operations
        Its log.
    earlier_unknown
        Whether runs before it left writes of unknown outcome on its data.
    """
    begin_ns = round(result["before_measure_s"] * 1e9)
    reading = Reading.of(
        run.scenario.settings.workload.model_dump(),
        counted_ns=(begin_ns, begin_ns + round(result["measured_s"] * 1e9)),
        earlier_unknown=earlier_unknown,
    )
    return None if reading is None else observe(pl.read_parquet(operations), reading)


def left_open(result: EngineResult) -> bool:
    """Whether the run left writes of which nobody knows whether they have taken effect."""
    return any(sum(kind["unknown"].values()) > 0 for kind in result["operations"].values())
