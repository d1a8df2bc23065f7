"""What is kept of a run, stored: there whole, or not at all; and of one that gave no result.

Map
---
keep            store a run that was measured
keep_failure    record an attempt that gave no run
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.clusters.network import emulation as network
from pacelc.clusters.sizes import size as sizes
from pacelc.runner import events
from pacelc.runner.record import Failure, explain, notes, run_record, samples_frame, totals
from pacelc.store import StoreError
from pacelc.store.format import READ_BACK_FILE, StorageError

if TYPE_CHECKING:
    from typing import Any

    from pacelc.runner.invocation import Invocation
    from pacelc.runner.measuring import Measured
    from pacelc.runner.serving import Serving
    from pacelc.study import PlannedRun

__all__ = ["keep", "keep_failure"]


def keep(invocation: Invocation, run: PlannedRun, serving: Serving, measured: Measured) -> None:
    """Store a run that was measured; if that can't be, it has failed.

    Raises
    ------
    StorageError
        The disk takes no more: every further run would be lost, too.
    """
    operations, read_back = measured.operations, None
    if operations is not None and measured.read_back is not None:
        read_back = operations.with_name(READ_BACK_FILE)
    record = _record(invocation, run, serving, measured)
    try:
        with invocation.account.activity("store", run):
            invocation.store.write_run(
                run.run_id,
                record,
                samples_frame(measured.result),
                measured.resources,
                measured.result["latency_log"],
                operations,
                read_back,
                measured.observed,
            )
    except StoreError as error:
        keep_failure(invocation, run, explain(error))
        if isinstance(error, StorageError):
            raise
        return
    invocation.finished += 1
    sums = totals(measured.result)
    invocation.observe(
        events.RunFinished(
            run=run,
            position=invocation.position,
            runs=invocation.planned,
            ok=sums.ok,
            fail=sums.fail,
            unknown=sums.unknown,
            throughput_per_s=sums.throughput_per_s,
            p99_ms=sums.p99_ms,
            warnings=notes(measured.result),
        )
    )


def keep_failure(
    invocation: Invocation, run: PlannedRun, failure: Failure, *, cluster_failed: bool = False
) -> None:
    """Record an attempt that gave no run."""
    invocation.failed += 1
    invocation.observe(
        events.RunFailed(
            run,
            invocation.position,
            invocation.planned,
            failure.reason,
            failure.hint,
            cluster_failed,
        )
    )
    # If not even this can be written (the disk is full), the study ends here: every further run
    # would be lost too.
    invocation.store.write_failure(
        run.run_id,
        reason=failure.reason,
        hint=failure.hint,
        log_tail=failure.log_tail,
        scenario=run.scenario.as_record(),
    )


def _record(
    invocation: Invocation, run: PlannedRun, serving: Serving, measured: Measured
) -> dict[str, Any]:
    """Return ``run.json``; what kernel and network count is counted from the run's start."""
    cluster, version = serving.cluster, invocation.lab.engine.version()
    record = run_record(
        invocation.study,
        run,
        measured.result,
        cluster.target(),
        {"pacelc-engine": version, **cluster.versions},
        invocation.machine,
        version,
        cluster.record(),
        measured.faults,
    )
    record["cluster_started_utc"] = serving.started_utc
    if "network" in record:
        record["network"] = network.in_a_run(measured.record_before["network"], record["network"])
    if in_force := sizes.in_a_run(measured.sizes_before, cluster.sizes()):
        record["sizes"] = in_force
    if (compiled := measured.compiled) is not None:
        record["compiler_cores"] = round(compiled.cores, 4)
        if compiled.share is not None:
            record["compiler_share"] = round(compiled.share, 4)
    record["earlier_unknown"] = measured.earlier_unknown
    if measured.read_back is not None:
        record["read_back"] = measured.read_back
    if serving.nodes_before:
        record["resized_from_nodes"] = list(serving.nodes_before)
    return record
