"""The life cycle of a study, from its definition to stored runs.

Map
---
run_study       the numbered steps
run_planned     the same for runs that somebody else planned, and plans on as they finish
"""

from __future__ import annotations

import time
from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING

from pacelc.runner import events
from pacelc.runner.after_faults import read_back, settles
from pacelc.runner.interruption import interruptible
from pacelc.runner.invocation import Invocation, Summary
from pacelc.runner.jobs import NotBegun
from pacelc.runner.keeping import keep, keep_failure
from pacelc.runner.load_checkpoint import LoadCheckpoint
from pacelc.runner.loading import load, load_after_faults, needs_load
from pacelc.runner.measuring import burn_in, measure
from pacelc.runner.record import explain, full_disk
from pacelc.runner.serving import NeverServed, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.runner.lab import Lab, RunningCluster
    from pacelc.runner.measuring import Measured
    from pacelc.runner.serving import Serving
    from pacelc.store import Store
    from pacelc.study import PlannedRun, Scenario, Study

    _Group = tuple[str, deque[PlannedRun]]

__all__ = ["run_planned", "run_study"]


def run_study(
    study: Study,
    store: Store,
    lab: Lab,
    *,
    only: Callable[[Scenario], bool] = lambda _scenario: True,
    keep_going: bool = True,
    observe: events.Observer = lambda _event: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Summary:
    """Run what is missing of a study.

    1. Plan: the schedule follows from the study alone, so every invocation has the same.
    2. Resume: runs that the store has are never repeated. Damaged ones are, and are kept.
    3. Check every cluster, level and workload that is still needed, before anything starts.
    4. For each group of runs that share a cluster: start it. If it never serves, its runs are
       recorded as failed.
    5. For each run: load a fresh data set, if this cluster does not hold one (see
       `pacelc.runner.loading.needs_load`).
    6. Burn in a cluster that has just started, if the study asks for it. Warm up and measure, in
       one job of the engine, while the servers are watched and their resources sampled, and faults
       come and go as scheduled. After faults, wait until the cluster serves again, and read back
       what was written.
    7. Store the run: it is there whole, or not at all.
    8. If anything failed, record it, and replace the cluster: of a cluster that failed nothing is
       known. (Not if the engine refused what it was told, since then nothing happened to it.)
    9. If another run follows on this cluster: after faults, wait until it serves again, or replace
       it; cool down.
    10. Cluster down, in every case, unless it can grow or shrink into the one that comes next.

    Parameters
    ----------
    study
        The definition.
    store
        Where its runs are kept.
    lab
        Engine and clusters.
    only
        Which scenarios this invocation runs.
    keep_going
        Whether the others go on after a run that failed.
    observe
        Hears what happens.
    sleep
        Passes the cool-down's time.

    Raises
    ------
    PacelcError
        If the study can't be run here, or results can no longer be written.
    Interrupted
        On Ctrl-C or SIGTERM, after everything was torn down.
    """
    planned = [run for run in study.schedule() if only(run.scenario)]
    return run_planned(
        study.name, planned, store, lab, keep_going=keep_going, observe=observe, sleep=sleep
    )


def run_planned(
    study: str,
    planned: Sequence[PlannedRun],
    store: Store,
    lab: Lab,
    *,
    follow: Callable[[PlannedRun], PlannedRun | None] = lambda _run: None,
    keep_going: bool = True,
    observe: events.Observer = lambda _event: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Summary:
    """Run what is missing of ``planned``, step by step as `run_study` says.

    Parameters
    ----------
    study
        The study's name.
    planned
        Runs that share a cluster follow one another.
    follow
        Asked after every run that was measured: the run to do next, on the same cluster, such as a
        search's next rate; None to go on as planned.
    """
    finished = store.finished()
    missing = [run for run in planned if run.run_id not in finished]
    todo = {run.run_id for run in missing}
    try:
        for run in missing:
            lab.check(run)
    except BaseException:
        store.withdraw()
        raise
    with interruptible():
        invocation = Invocation(study, store, lab, observe, planned=len(planned), missing=missing)
        observe(
            events.StudyStarted(study, len(planned), invocation.already_there, invocation.left())
        )
        for run_id, what in store.damaged.items():
            then = "it is measured again" if run_id in todo else "it isn't used"
            invocation.warn(f"run {run_id} is damaged, so {then}: {what}")
        if missing and (changed := _changed_settings(store, planned, finished)):
            invocation.warn(
                f"finished runs had other settings, by an earlier pacelc's defaults: {changed}; "
                "where that matters, run the whole study anew with --out DIRECTORY"
            )
        groups = deque(
            (key, deque(group)) for key, group in groupby(missing, key=lambda run: run.cluster_key)
        )
        cycle = _LifeCycle(invocation, groups, follow=follow, keep_going=keep_going, sleep=sleep)
        while groups and cycle.goes_on:
            cycle.run_groups()
    summary = invocation.summary()
    observe(
        events.StudyFinished(
            summary.finished,
            summary.failed,
            summary.already_there,
            invocation.account.elapsed_s,
            summary.overhead,
        )
    )
    return summary


def _changed_settings(store: Store, planned: Sequence[PlannedRun], finished: set[str]) -> str:
    """Return which settings finished runs had otherwise; a study's file leaves its defaults out."""
    changed: dict[str, str] = {}
    for run in planned:
        if run.run_id in finished:
            was, now = store.settings(run.run_id), run.scenario.as_record()["settings"]
            changed |= {
                name: f"{name} was {was[name]} and is {setting} now"
                for name, setting in now.items()
                # Mappings hold addresses, which may change.
                if isinstance(setting, str | int | float) and was.get(name, setting) != setting
            }
    return ", ".join(changed[name] for name in sorted(changed))


class _LifeCycle:
    """Steps 4 to 10 of one invocation."""

    def __init__(
        self,
        invocation: Invocation,
        groups: deque[_Group],
        *,
        follow: Callable[[PlannedRun], PlannedRun | None],
        keep_going: bool,
        sleep: Callable[[float], None],
    ) -> None:
        self.invocation = invocation
        self.groups = groups
        self.follow = follow
        self.keep_going = keep_going
        self.sleep = sleep

    @property
    def goes_on(self) -> bool:
        """Whether runs that are left are to be run."""
        return self.keep_going or not self.invocation.failed

    # --- Steps 4, 10: clusters ---

    def run_groups(self) -> None:
        """Run the first group on one cluster, or on its successors if it fails.

        The groups that come next are run too, for as long as the cluster can grow or shrink into
        theirs.
        """
        key, group = self.groups.popleft()
        while group and self.goes_on:
            try:
                with serving(self.invocation, key, group[0].scenario.settings) as cluster:
                    while self._run_on(cluster, group) and self.groups and self.goes_on:
                        next_key, next_group = self.groups[0]
                        if next_group[0].takes_turns:
                            break
                        if not cluster.becomes(next_key, next_group[0].scenario.settings):
                            break
                        key, group = self.groups.popleft()
            except NeverServed as error:
                self._give_up(key, group, error.cause)

    def _give_up(self, key: str, group: deque[PlannedRun], error: Exception) -> None:
        failure = explain(error)
        self.invocation.observe(events.ClusterFailed(key, failure.reason, failure.hint, len(group)))
        while group:
            run = group.popleft()
            self.invocation.take()
            keep_failure(self.invocation, run, failure, cluster_failed=True)
        self._end_if_full(error)

    # --- Steps 5 to 9: runs ---

    def _run_on(self, serving: Serving, group: deque[PlannedRun]) -> bool:
        """Run a group; whether all was run, and the cluster is as good as before."""
        invocation, cluster = self.invocation, serving.cluster
        loaded: tuple[object, ...] | None = None
        burnt_in = faulty = False
        # Whether writes of unknown outcome may still take effect on what is loaded.
        unknown = False
        while group and self.goes_on:
            run = group.popleft()
            settings = run.scenario.settings
            invocation.take()
            invocation.burn_in_s = 0.0 if burnt_in else settings.burn_in_s
            to_load = needs_load(run, loaded)
            load_s = invocation.forecast.load_s(run) if to_load else 0.0
            left = invocation.left_with(run).plus(load_s)
            invocation.observe(
                events.RunStarted(run, invocation.position, invocation.planned, left)
            )
            try:
                if to_load:
                    (load_after_faults if faulty else load)(invocation, run, cluster)
                    loaded = settings.data_set
                    # What a table of the user's cluster holds already, an earlier invocation wrote;
                    # and what a fault held up may come into a table made anew.
                    unknown = faulty or LoadCheckpoint.of(run, invocation.store.path).is_external
                if not burnt_in:
                    unknown |= burn_in(invocation, [run, *group], cluster)
                    burnt_in = True
                # The forecast has load and burn-in where they are needed: no run's own time.
                begin_s = time.monotonic()
                if settings.workload.changes_data_set:
                    LoadCheckpoint.of(run, invocation.store.path).spoil()
                measured = measure(invocation, run, cluster, earlier_unknown=unknown)
                unknown |= measured.left_unknown
                if measured.faults:
                    measured = read_back(invocation, run, cluster, measured)
            except NotBegun as error:
                keep_failure(invocation, run, explain(error.cause))
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                keep_failure(invocation, run, explain(error, cluster.log_tail()))
                self._end_if_full(error)
                return False
            invocation.forecast.run_took(run, time.monotonic() - begin_s)
            keep(invocation, run, serving, measured)
            self._add_following(run, group)
            faulty = bool(measured.faults)
            if settings.next_needs_fresh_data or faulty:
                loaded = None
                LoadCheckpoint.of(run, invocation.store.path).spoil()
            if settings.fresh == "cluster" or not self._rests(run, cluster, measured, group):
                return False
        return True

    @staticmethod
    def _end_if_full(error: Exception) -> None:
        if (end := full_disk(error)) is not None:
            raise end from error

    def _add_following(self, run: PlannedRun, group: deque[PlannedRun]) -> None:
        following = self.follow(run)
        if following is not None:
            group.appendleft(following)
            self.invocation.add(following)

    def _rests(
        self,
        run: PlannedRun,
        cluster: RunningCluster,
        measured: Measured,
        group: deque[PlannedRun],
    ) -> bool:
        """Rest until the group's next run; False if the cluster is no longer fit for one."""
        settled = measured.settled
        if not (group and self.goes_on):
            # After faults that nobody looked after, it may not serve as before.
            return not measured.faults or settled is True
        if measured.faults and settled is None:
            settled = settles(self.invocation, run, cluster)
        if settled is False:
            return False
        self._cool_down(run)
        return True

    def _cool_down(self, run: PlannedRun) -> None:
        seconds = run.scenario.settings.cool_down_s
        if seconds > 0:
            self.invocation.observe(events.Cooling(seconds, self.invocation.left(run)))
            with self.invocation.account.activity("cool-down", run):
                self.sleep(seconds)
