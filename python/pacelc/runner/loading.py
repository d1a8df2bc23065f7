"""A run's records: a fresh data set where the cluster doesn't hold one.

Map
---
needs_load          whether a cluster must be given a fresh data set
load                make the table anew and insert the records, as far as they aren't there
load_after_faults   the same, once more if that goes wrong
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pacelc.runner import events
from pacelc.runner.engine import data_set_spec, is_engine_error
from pacelc.runner.jobs import begin, drive
from pacelc.runner.ledger import LoadLedger
from pacelc.runner.record import explain

if TYPE_CHECKING:
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
    engine, ledger = invocation.lab.engine, LoadLedger.of(run, invocation.store.path)
    if ledger.is_loaded and _is_still_there(invocation, run, cluster, ledger):
        return
    spec = data_set_spec(run, cluster.target())
    if not ledger.load_from:
        with invocation.account.activity("prepare", run):
            prepared = begin(cluster, engine.prepare, json.dumps(ledger.permitted(spec)))
            drive(invocation, prepared, cluster)
        ledger.begin()
    invocation.observe(events.Loading(run, run.scenario.settings.workload.records))
    with invocation.account.activity("load", run):
        loading = begin(cluster, engine.load, json.dumps(ledger.continued(spec)))
        drive(invocation, ledger.follow(loading), cluster)
    ledger.end()


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


def _is_still_there(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster, ledger: LoadLedger
) -> bool:
    """Whether what an earlier invocation loaded into a cluster of the user's can be counted."""
    spec = json.dumps(ledger.continued(data_set_spec(run, cluster.target())))
    with invocation.account.activity("load", run):
        try:
            drive(invocation, begin(cluster, invocation.lab.engine.load, spec), cluster)
        except Exception as error:
            if not is_engine_error(error):
                raise
            ledger.begin()
            return False
    return True
