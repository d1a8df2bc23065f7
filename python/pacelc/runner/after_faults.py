"""After a run's faults: the cluster is waited for, and what the run has written is read back.

Map
---
settles         whether the cluster comes to serve again
read_back       what of the run's writes is there
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from pacelc.runner.engine import data_set_spec
from pacelc.runner.jobs import begin, drive
from pacelc.runner.read_back import (
    LIMIT_S,
    read_back_frame,
    read_back_record,
    records_to_read,
    unread,
)
from pacelc.runner.record import explain
from pacelc.store.format import READ_BACK_FILE

if TYPE_CHECKING:
    from pacelc.runner.invocation import Invocation
    from pacelc.runner.lab import RunningCluster
    from pacelc.runner.measuring import Measured
    from pacelc.study import PlannedRun

__all__ = ["read_back", "settles"]

_SETTLE_S = 120.0


def settles(invocation: Invocation, run: PlannedRun, cluster: RunningCluster) -> bool:
    """Whether the cluster comes to serve again after faults; if not, it is to be replaced."""
    if cluster.injector is None:
        return True
    try:
        with invocation.account.activity("settle", run):
            cluster.injector.settle(_SETTLE_S, invocation.tell)
    except Exception as error:  # noqa: BLE001 - whatever it is, another cluster is to be had
        invocation.warn(
            f"the cluster doesn't serve after the faults of {run.run_id} and is replaced: "
            f"{explain(error).reason}"
        )
        return False
    return True


def read_back(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster, measured: Measured
) -> Measured:
    """Read what a run with faults has written; a file beside the operations has every record.

    Whatever goes wrong here costs the answer, not the run.
    """
    workload, operations = run.scenario.settings.workload, measured.operations
    one_version = workload.update_all_fields or workload.fields == 1
    records = [] if operations is None else records_to_read(operations, updates=one_version)
    if operations is None or not records:
        return measured
    settled = settles(invocation, run, cluster)
    found = unread(records)
    error = None if settled else "the cluster didn't come to serve again"
    if settled:
        try:
            with invocation.account.activity("read-back", run):
                spec = json.dumps(data_set_spec(run, cluster.target()) | {"run": measured.run_tag})
                job = begin(
                    cluster,
                    lambda text: invocation.lab.engine.read_back(text, records, LIMIT_S),
                    spec,
                )
                found = json.loads(drive(job, cluster))
        except Exception as problem:  # noqa: BLE001 - see above
            error = explain(problem).reason
            invocation.warn(f"{run.run_id} could not be read back: {error}")
    states = read_back_frame(found)
    states.write_parquet(operations.with_name(READ_BACK_FILE), compression="zstd")
    kept = read_back_record(
        pl.read_parquet(operations),
        states,
        before_measure_s=measured.result["before_measure_s"],
        errors=found["errors"],
        level=found["level"],
        error=error,
    )
    return replace(measured, settled=settled, read_back=kept)
