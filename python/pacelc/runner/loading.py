"""A run's records: a fresh data set where the cluster doesn't hold one.

Map
---
needs_load          whether a cluster must be given a fresh data set
load                make the table anew and insert the records, as far as they aren't there
load_after_faults   the same, once more if that goes wrong
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from pacelc.runner import events
from pacelc.runner.engine import data_set_spec, is_engine_error
from pacelc.runner.jobs import begin, drive
from pacelc.runner.load_checkpoint import LoadCheckpoint
from pacelc.runner.record import explain
from pacelc.study.settings import KEEPS_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pacelc.runner.engine import Job
    from pacelc.runner.invocation import Invocation
    from pacelc.runner.lab import RunningCluster
    from pacelc.study import PlannedRun

__all__ = ["load", "load_after_faults", "needs_load"]


def needs_load(run: PlannedRun, loaded: tuple[object, ...] | None) -> bool:
    """Whether the cluster must be given a fresh data set before ``run``.

    It keeps the one it has if that has as many records of the same form, and no run since has
    inserted or deleted: updates leave the number and the size of records as they were. Loading ten
    thousand records before each of five hundred runs would cost more than it would make equal.

    Parameters
    ----------
    loaded
        The data set that the cluster holds; None if it holds none that is fresh.
    """
    return loaded != run.scenario.settings.data_set


def load(invocation: Invocation, run: PlannedRun, cluster: RunningCluster) -> None:
    """Make the table anew and insert its records, but for what an earlier invocation has."""
    if run.scenario.settings.database == KEEPS_NOTHING:
        return
    engine, checkpoint = invocation.lab.engine, LoadCheckpoint.of(run, invocation.store.path)
    if checkpoint.load_from and _goes_on(invocation, run, cluster, checkpoint):
        return
    spec = data_set_spec(run, cluster.target())

    begin_s = time.monotonic()

    def done(start: Callable[[str], Job]) -> str:
        return drive(begin(cluster, start, json.dumps(checkpoint.owned(spec))), cluster)

    with invocation.account.activity("prepare", run):
        if checkpoint.is_external:
            done(engine.clear)
            checkpoint.begin()
        checkpoint.made(json.loads(done(engine.prepare)))
    _insert(invocation, run, cluster, checkpoint)
    # One that went on where an earlier invocation had ended says nothing of a whole one.
    invocation.forecast.load_took(run, time.monotonic() - begin_s)


def load_after_faults(invocation: Invocation, run: PlannedRun, cluster: RunningCluster) -> None:
    """Load; once more if that goes wrong.

    What clients had sent into a network that was cut arrives when it has healed, up to as much
    later as the cut lasted: the kernel sends it again, less and less often. So an insert of the
    last run may find its way into the new table, which then has a record too many.
    """
    try:
        load(invocation, run, cluster)
    except Exception as error:
        if not is_engine_error(error):
            raise
        invocation.warn(f"{run.run_id} is loaded once more: {explain(error).reason}")
        load(invocation, run, cluster)


def _goes_on(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster, checkpoint: LoadCheckpoint
) -> bool:
    """Load what an earlier invocation left to be loaded, and count; whether all is there then.

    Of a server that is away for a moment nothing is concluded: what is there stays there.
    """
    try:
        _insert(invocation, run, cluster, checkpoint)
    except Exception as error:
        if not is_engine_error(error, "RecordsLostError"):
            raise
        invocation.warn(f"{run.run_id} is loaded from the start: {explain(error).reason}")
        return False
    return True


def _insert(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster, checkpoint: LoadCheckpoint
) -> None:
    """Insert the records that aren't there, count all, and keep the checkpoint up to date."""
    spec = json.dumps(checkpoint.owned(data_set_spec(run, cluster.target())))
    records, begin_s = run.scenario.settings.workload.records, time.monotonic()
    before = checkpoint.load_from

    def tell(progress: Mapping[str, Any]) -> None:
        inserted = max(before, int(progress.get("ok", 0)))
        record_s = (
            (time.monotonic() - begin_s) / (inserted - before)
            if inserted > before
            else invocation.forecast.load_s(run) / records
        )
        left = invocation.left_with(run).plus(record_s * (records - inserted))
        invocation.observe(events.Loading(run, records, inserted, left))

    tell({})
    with invocation.account.activity("load", run):
        loading = begin(cluster, invocation.lab.engine.load, spec)
        drive(checkpoint.follow(loading), cluster, tell)
    checkpoint.end()
