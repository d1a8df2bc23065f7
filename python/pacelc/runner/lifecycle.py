"""The life cycle of a study, from its definition to stored runs.

Map
---
run_study       the numbered steps
run_planned     the same for runs that somebody else planned, and plans on as they finish
Summary         how it went
"""

from __future__ import annotations

import json
import shutil
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self, cast

import polars as pl

from pacelc.clusters.network import emulation as network
from pacelc.clusters.sizes import size as sizes
from pacelc.runner import events
from pacelc.runner.account import Account, Forecast
from pacelc.runner.engine import EngineResult, Job, data_set_spec, is_engine_error, run_spec
from pacelc.runner.faults import FaultFollower
from pacelc.runner.interruption import interruptible
from pacelc.runner.loading import LoadLedger
from pacelc.runner.machine import describe_machine
from pacelc.runner.operations import gather_operations
from pacelc.runner.read_back import (
    LIMIT_S,
    read_back_frame,
    read_back_record,
    records_to_read,
    unread,
)
from pacelc.runner.record import (
    Failure,
    explain,
    notes,
    run_record,
    samples_frame,
    totals,
)
from pacelc.runner.resources import resources_frame
from pacelc.store import Store, StoreError
from pacelc.store.format import READ_BACK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pacelc.runner.lab import Lab, RunningCluster
    from pacelc.study import PlannedRun, Scenario, Study

    _Group = tuple[str, deque[PlannedRun]]

__all__ = ["Summary", "run_planned", "run_study"]

# Often enough for a lively display and to notice a dead server within the second; rarely enough to
# cost the engine, which shares the processor, nothing that can be measured.
_POLL_S = 0.25
# While a schedule of faults waits to hear when measuring begins: the engine renews its answer every
# 0.1 s.
_WAIT_S = 0.02
_SETTLE_S = 120.0
_LET_END_S = 10.0
_SHORTEST_MEASURE_S = 0.1  # the engine's own


@dataclass(frozen=True, slots=True)
class Summary:
    """How an invocation went."""

    finished: int
    """Runs measured and stored now."""
    failed: int
    """Runs that gave no result; the next invocation tries them again."""
    already_there: int
    """Runs that earlier invocations had stored."""
    overhead_share: float | None
    """Share of the time outside load, warm-up, measuring and cool-down; None if nothing was run."""


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
    2. Resume: runs that the store has are never repeated.
    3. Check every cluster, level and workload that is still needed, before anything starts.
    4. For each group of runs that share a cluster: start it. If it never serves, its runs are
       recorded as failed.
    5. For each run: load a fresh data set, if this cluster does not hold one (see
       `_Bench.needs_load`).
    6. Burn in a cluster that has just started, if the study asks for it. Warm up and measure, in
       one job of the engine, while the servers are watched and their resources sampled, and faults
       come and go as scheduled. After faults, wait until the cluster serves again, and read back
       what was written.
    7. Store the run: it is there whole, or not at all.
    8. If anything failed, record it, and replace the cluster: of a cluster that failed nothing is
       known. (Not if the engine would not begin, since then nothing happened to the cluster.)
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
    for run in missing:
        lab.check(run)
    with interruptible():
        bench = _Bench(
            study,
            store,
            lab,
            observe,
            sleep,
            planned=len(planned),
            missing=missing,
            follow=follow,
        )
        before = len(planned) - len(missing)
        observe(events.StudyStarted(study, len(planned), before, bench.left_s()))
        groups = deque(
            (key, deque(group)) for key, group in groupby(missing, key=lambda run: run.cluster_key)
        )
        while groups and (keep_going or not bench.failed):
            bench.run_group(*groups.popleft(), groups, keep_going=keep_going)
    summary = bench.summary()
    observe(
        events.StudyFinished(
            summary.finished,
            summary.failed,
            summary.already_there,
            bench.account.elapsed_s,
            summary.overhead_share,
        )
    )
    return summary


@dataclass(frozen=True, slots=True)
class _Measured:
    """What one run gave."""

    result: EngineResult
    resources: pl.DataFrame
    operations: Path | None
    """Single operations, if they were recorded."""
    faults: list[dict[str, Any]]
    """What went wrong meanwhile, by schedule or by hand."""
    settled: bool | None
    """Whether the cluster has come to serve again after them; None if nobody has looked."""
    read_back: dict[str, Any] | None
    """What of the run's writes is there after faults; None if there were none, or no writes."""


class _Bench:
    """One invocation: what steps 4 to 10 share."""

    def __init__(
        self,
        study: str,
        store: Store,
        lab: Lab,
        observe: events.Observer,
        sleep: Callable[[float], None],
        *,
        planned: int,
        missing: Sequence[PlannedRun],
        follow: Callable[[PlannedRun], PlannedRun | None],
    ) -> None:
        self.study = study
        self.store = store
        self.lab = lab
        self.observe = observe
        self.sleep = sleep
        self.follow = follow
        self.planned = planned
        self.pending = deque(missing)
        self.account = Account(self._log_activity)
        self.forecast = Forecast()
        self.machine = describe_machine()
        self.finished = 0
        self.failed = 0
        self.already_there = planned - len(missing)
        self._log_is_broken = False
        self._sizes_before: Mapping[str, Any] = {}
        self._record_before: Mapping[str, Any] = {}
        self._nodes = 0
        self._nodes_before: list[int] = []

    # --- Steps 4, 8, 9, 10: clusters ---

    def run_group(
        self, key: str, group: deque[PlannedRun], later: deque[_Group], *, keep_going: bool
    ) -> None:
        """Run a group on one cluster, or on its successors if it fails.

        The groups that come next are run too, for as long as the cluster can grow or shrink into
        theirs.
        """
        while group and (keep_going or not self.failed):
            settings = group[0].scenario.settings
            with ExitStack() as stack:
                # Registered first, so that it is heard last, when the servers are gone.
                down = stack.enter_context(_Announced(self, key))
                self.observe(events.ClusterStarting(key, settings.database, settings.nodes))
                self._nodes, self._nodes_before = settings.nodes, []
                begin_s = time.monotonic()
                try:
                    with self.account.activity("cluster-up"):
                        opened = self.lab.open_cluster(
                            settings, lambda text: self.observe(events.ClusterStep(text))
                        )
                        cluster: RunningCluster = stack.enter_context(opened)
                except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                    down.dismiss()
                    self._give_up(key, group, explain(error))
                    return
                seconds = time.monotonic() - begin_s
                self.forecast.cluster_took(settings.database, seconds)
                self.observe(
                    events.ClusterUp(key, settings.database, seconds, dict(cluster.versions))
                )
                stack.callback(down.begins)
                while self._run_on(cluster, group) and later and (keep_going or not self.failed):
                    if not self._resized(cluster, *later[0]):
                        break
                    key, group = later.popleft()
                    down.key = key

    def _resized(self, cluster: RunningCluster, key: str, group: Sequence[PlannedRun]) -> bool:
        """Whether the cluster has become the one that a group needs."""
        settings = group[0].scenario.settings
        start_utc, begin_s = datetime.now(UTC), time.monotonic()
        try:
            if not cluster.resize(settings, lambda text: self.observe(events.ClusterStep(text))):
                return False
        except Exception as error:  # noqa: BLE001 - whatever it is, a new cluster is started
            self.observe(events.Warned(f"the cluster can't be resized: {explain(error).reason}"))
            return False
        seconds = time.monotonic() - begin_s
        self.account.add("cluster-up", start_utc, seconds)
        self.observe(events.ClusterStarting(key, settings.database, settings.nodes))
        self.observe(events.ClusterUp(key, settings.database, seconds, dict(cluster.versions)))
        self._nodes_before.append(self._nodes)
        self._nodes = settings.nodes
        return True

    def _run_on(self, cluster: RunningCluster, group: deque[PlannedRun]) -> bool:
        """Run a group; whether all was run, and the cluster is as good as before."""
        loaded: tuple[object, ...] | None = None
        burnt_in = faulty = False
        while group:
            run = group.popleft()
            self.pending.popleft()
            self.observe(events.RunStarted(run, self._position, self.planned, self._left_with(run)))
            begin_s = time.monotonic()
            try:
                if self.needs_load(run, loaded):
                    (self._load_after_faults if faulty else self._load)(run, cluster)
                    loaded = run.scenario.settings.data_set
                if run.scenario.settings.workload.changes_data_set:
                    LoadLedger.of(run, self.store.path).spoil()
                if not burnt_in:
                    self._burn_in(run, cluster)
                    burnt_in = True
                measured = self._measure(run, cluster)
            except _NotBegun as error:
                self._record_failure(run, explain(error.cause))
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
                self._record_failure(run, explain(error, cluster.log_tail()))
                return False
            self.forecast.run_took(run, time.monotonic() - begin_s)
            self._keep(run, cluster, measured)
            self._add_following(run, group)
            faulty = bool(measured.faults)
            if run.scenario.settings.next_needs_fresh_data or faulty:
                loaded = None
            if run.scenario.settings.fresh == "cluster" or not self._rests(
                run, cluster, measured, group
            ):
                return False
        return True

    def _add_following(self, run: PlannedRun, group: deque[PlannedRun]) -> None:
        following = self.follow(run)
        if following is not None:
            group.appendleft(following)
            self.pending.appendleft(following)
            self.planned += 1

    @staticmethod
    def needs_load(run: PlannedRun, loaded: tuple[object, ...] | None) -> bool:
        """Whether the cluster must be given a fresh data set before ``run``.

        It keeps the one it has if that has as many records of the same form, and no run since has
        inserted or deleted: updates leave the number and the size of records as they were. Loading
        ten thousand records before each of five hundred runs would cost more than it would make
        equal.
        """
        return loaded != run.scenario.settings.data_set

    def _give_up(self, key: str, group: deque[PlannedRun], failure: Failure) -> None:
        self.observe(events.ClusterFailed(key, failure.reason, failure.hint, len(group)))
        while group:
            run = group.popleft()
            self.pending.popleft()
            self._record_failure(run, failure, cluster_failed=True)

    def _rests(
        self,
        run: PlannedRun,
        cluster: RunningCluster,
        measured: _Measured,
        group: deque[PlannedRun],
    ) -> bool:
        """Rest until the group's next run; False if the cluster is no longer fit for one."""
        settled = measured.settled
        if not group:
            # After faults that nobody looked after, it may not serve as before.
            return not measured.faults or settled is True
        if measured.faults and settled is None:
            settled = self._settles(run, cluster)
        if settled is False:
            return False
        self._cool_down(run)
        return True

    def _cool_down(self, run: PlannedRun) -> None:
        seconds = run.scenario.settings.cool_down_s
        if seconds > 0:
            self.observe(events.Cooling(seconds, self.left_s(run.cluster_key) + seconds))
            with self.account.activity("cool-down", run):
                self.sleep(seconds)

    # --- Step 5: data ---

    def _load(self, run: PlannedRun, cluster: RunningCluster) -> None:
        ledger = LoadLedger.of(run, self.store.path)
        if ledger.is_loaded and self._is_still_there(run, cluster, ledger):
            return
        spec = data_set_spec(run, cluster.target())
        if not ledger.load_from:
            with self.account.activity("prepare", run):
                prepare = json.dumps(ledger.permitted(spec))
                self._drive(_begin(cluster, self.lab.engine.prepare, prepare), cluster)
            ledger.begin()
        self.observe(events.Loading(run, run.scenario.settings.workload.records))
        with self.account.activity("load", run):
            load = _begin(cluster, self.lab.engine.load, json.dumps(ledger.continued(spec)))
            self._drive(ledger.follow(load), cluster)
        ledger.end()

    def _load_after_faults(self, run: PlannedRun, cluster: RunningCluster) -> None:
        """Load; once more if that goes wrong.

        What clients had sent into a network that was cut arrives when it has healed, up to as much
        later as the cut lasted: the kernel sends it again, less and less often. So an insert of the
        last run may find its way into the new table, which then has a record too many.
        """
        try:
            self._load(run, cluster)
        except Exception as error:
            if not is_engine_error(error):
                raise
            self.observe(
                events.Warned(f"{run.run_id} is loaded once more: {explain(error).reason}")
            )
            self._load(run, cluster)

    def _is_still_there(self, run: PlannedRun, cluster: RunningCluster, ledger: LoadLedger) -> bool:
        """Whether what an earlier invocation loaded into a cluster of the user's can be counted."""
        spec = json.dumps(ledger.continued(data_set_spec(run, cluster.target())))
        with self.account.activity("load", run):
            try:
                self._drive(_begin(cluster, self.lab.engine.load, spec), cluster)
            except Exception as error:
                if not is_engine_error(error):
                    raise
                ledger.begin()
                return False
        return True

    # --- Step 6: measuring ---

    def _burn_in(self, run: PlannedRun, cluster: RunningCluster) -> None:
        """Load a cluster that has just started, so that its first run isn't its slowest."""
        settings = run.scenario.settings
        if settings.burn_in_s == 0:
            return
        spec = run_spec(run, cluster.target(), record_operations=None)
        spec |= {
            "warm_up_s": 0.0,
            "steady": None,
            "measure_s": max(settings.burn_in_s, _SHORTEST_MEASURE_S),
            "operations": None,
        }
        with self.account.activity("warm-up", run):
            self._drive(_begin(cluster, self.lab.engine.run, json.dumps(spec)), cluster, run)
        if settings.workload.changes_data_set:
            self._load(run, cluster)

    def _measure(self, run: PlannedRun, cluster: RunningCluster) -> _Measured:
        settings = run.scenario.settings
        operations = None
        if settings.keeps_operations:
            # Beside the run it will be part of, under a name that the next start cleans up.
            scratch = self.store.path / "runs" / f".{run.run_id}.operations"
            scratch.mkdir(exist_ok=True)
            operations = scratch / "operations.parquet"
        spec = json.dumps(run_spec(run, cluster.target(), operations))
        self._sizes_before, self._record_before = cluster.sizes(), cluster.record()
        # Once a second, but no run is so short that it would have no reading.
        sampler = self.lab.sampler(cluster.processes, min(1.0, settings.measure_s / 5))
        follower = self._follower(run, cluster)
        sampler.start()
        if cluster.injector is not None:
            cluster.injector.on_restart = sampler.follow
        try:
            job = _begin(cluster, self.lab.engine.run, spec)
            answer = self._drive(job, cluster, run, follower)
        finally:
            if follower is not None:
                follower.stop()
            readings = sampler.stop()
        result = cast("EngineResult", json.loads(answer))
        self.account.add_phases(
            run,
            result["started_unix_s"],
            result["before_measure_s"],
            result["warm_up_s"],
            result["measured_s"],
        )
        resources = resources_frame(
            readings, result["started_unix_s"], result["measured_s"], result["warm_up_s"]
        )
        faults = [] if follower is None else [record.as_record() for record in follower.records]
        if operations is not None:
            gather_operations(operations)
        measured = _Measured(result, resources, operations, faults, None, None)
        return self._read_back(run, cluster, measured) if faults else measured

    def _read_back(
        self, run: PlannedRun, cluster: RunningCluster, measured: _Measured
    ) -> _Measured:
        """Read what a run with faults has written; a file beside the operations has every record.

        Whatever goes wrong here costs the answer, not the run.
        """
        workload, operations = run.scenario.settings.workload, measured.operations
        one_version = workload.update_all_fields or workload.fields == 1
        records = [] if operations is None else records_to_read(operations, updates=one_version)
        if operations is None or not records:
            return measured
        settled = self._settles(run, cluster)
        found = unread(records)
        error = None if settled else "the cluster didn't come to serve again"
        if settled:
            try:
                with self.account.activity("read-back", run):
                    spec = json.dumps(data_set_spec(run, cluster.target()))
                    job = _begin(
                        cluster,
                        lambda text: self.lab.engine.read_back(text, records, LIMIT_S),
                        spec,
                    )
                    found = json.loads(self._drive(job, cluster))
            except Exception as problem:  # noqa: BLE001 - see above
                error = explain(problem).reason
                self.observe(events.Warned(f"{run.run_id} could not be read back: {error}"))
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

    def _drive(
        self,
        job: Job,
        cluster: RunningCluster,
        run: PlannedRun | None = None,
        follower: FaultFollower | None = None,
    ) -> str:
        """Wait for a job while its servers are watched; whatever ends the waiting ends the job."""
        try:
            while not _wait(job, follower):
                (cluster if follower is None else follower).check()
                if run is not None:
                    self._progressed(run, job.progress())
        except BaseException:
            _end(job)
            raise
        (cluster if follower is None else follower).check()
        return job.result()

    def _progressed(self, run: PlannedRun, progress: Mapping[str, Any]) -> None:
        p99_ns = progress.get("p99_ns")
        elapsed_s = float(progress.get("elapsed_s", 0.0))
        self.observe(
            events.Progressed(
                run=run,
                phase=str(progress.get("phase", "")),
                elapsed_s=elapsed_s,
                users=int(progress.get("users", 0)),
                ok=int(progress.get("ok", 0)),
                fail=int(progress.get("fail", 0)),
                unknown=int(progress.get("unknown", 0)),
                throughput_per_s=float(progress.get("throughput_per_s", 0.0)),
                p99_ms=None if p99_ns is None else float(p99_ns) / 1e6,
                time_left_s=max(0.0, self._left_with(run) - elapsed_s),
                operations=progress.get("operations", {}),
            )
        )

    def _follower(self, run: PlannedRun, cluster: RunningCluster) -> FaultFollower | None:
        """Return who follows the run's schedule of faults, and hears of those by hand."""
        if cluster.injector is None:
            return None
        settings = run.scenario.settings
        return FaultFollower(
            cluster.injector,
            settings.faults,
            measure_s=settings.measure_s,
            seed=run.seed,
            warn=lambda text: self.observe(events.Warned(f"{run.run_id}: {text}")),
        )

    def _settles(self, run: PlannedRun, cluster: RunningCluster) -> bool:
        """Whether the cluster comes to serve again after faults; if not, it is to be replaced."""
        if cluster.injector is None:
            return True
        try:
            with self.account.activity("settle", run):
                cluster.injector.settle(
                    _SETTLE_S, lambda text: self.observe(events.ClusterStep(text))
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, another cluster is to be had
            self.observe(
                events.Warned(
                    f"after the faults of {run.run_id} the cluster doesn't serve, so another one "
                    f"takes its place: {explain(error).reason}"
                )
            )
            return False
        return True

    # --- Step 7: keeping ---

    def _keep(self, run: PlannedRun, cluster: RunningCluster, measured: _Measured) -> None:
        result, operations = measured.result, measured.operations
        record = run_record(
            self.study,
            run,
            result,
            cluster.target(),
            {"pacelc-engine": self.lab.engine.version(), **cluster.versions},
            self.machine,
            self.lab.engine.version(),
            cluster.record(),
            measured.faults,
        )
        if "network" in record:
            packets = network.in_a_run(self._record_before["network"], record["network"])
            record["network"] = packets
        if in_force := sizes.in_a_run(self._sizes_before, cluster.sizes()):
            record["sizes"] = in_force
        if measured.read_back is not None:
            record["read_back"] = measured.read_back
        if self._nodes_before:
            record["resized_from_nodes"] = list(self._nodes_before)
        try:
            with self.account.activity("store", run):
                self.store.write_run(
                    run.run_id,
                    record,
                    samples_frame(result),
                    measured.resources,
                    result["latency_log"],
                    operations,
                    None
                    if operations is None or measured.read_back is None
                    else operations.with_name(READ_BACK_FILE),
                )
        except StoreError as error:
            self._record_failure(run, explain(error))
            return
        finally:
            if operations is not None:
                shutil.rmtree(operations.parent, ignore_errors=True)
        self.finished += 1
        sums = totals(result)
        self.observe(
            events.RunFinished(
                run=run,
                position=self._position,
                runs=self.planned,
                ok=sums.ok,
                fail=sums.fail,
                unknown=sums.unknown,
                throughput_per_s=sums.throughput_per_s,
                p99_ms=sums.p99_ms,
                warnings=notes(result),
            )
        )

    def _record_failure(
        self, run: PlannedRun, failure: Failure, *, cluster_failed: bool = False
    ) -> None:
        self.failed += 1
        self.observe(
            events.RunFailed(
                run, self._position, self.planned, failure.reason, failure.hint, cluster_failed
            )
        )
        # If not even this can be written (the disk is full), the study ends here: every further run
        # would be lost too.
        self.store.write_failure(
            run.run_id,
            reason=failure.reason,
            hint=failure.hint,
            log_tail=failure.log_tail,
            scenario=run.scenario.as_record(),
        )

    # --- The account ---

    def _log_activity(
        self,
        what: str,
        *,
        start_utc: datetime,
        seconds: float,
        scenario: int | None = None,
        run: str | None = None,
    ) -> None:
        try:
            self.store.log_activity(
                what, start_utc=start_utc, seconds=seconds, scenario=scenario, run=run
            )
        except StoreError as error:
            # The account is not worth a run: said once, and the study goes on.
            if not self._log_is_broken:
                self._log_is_broken = True
                self.observe(events.Warned(f"the time account can't be written: {error.message}"))

    @property
    def _position(self) -> int:
        return self.planned - len(self.pending)

    def left_s(self, running_key: str | None = None) -> float:
        """Seconds that the pending runs are expected to take."""
        return self.forecast.left_s(self.pending, running_key)

    def _left_with(self, run: PlannedRun) -> float:
        return self.forecast.run_s(run) + self.left_s(run.cluster_key)

    def summary(self) -> Summary:
        """How it went."""
        ran = self.finished + self.failed > 0
        return Summary(
            self.finished,
            self.failed,
            self.already_there,
            self.account.overhead_share if ran else None,
        )


class _Announced:
    """Tells when the servers are gone, and logs how long that took."""

    def __init__(self, bench: _Bench, key: str) -> None:
        self._bench = bench
        self.key = key
        self._begin: tuple[datetime, float] | None = None

    def begins(self) -> None:
        self._begin = (datetime.now(UTC), time.monotonic())

    def dismiss(self) -> None:
        self._begin = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._begin is not None:
            start_utc, begin_s = self._begin
            seconds = time.monotonic() - begin_s
            self._bench.account.add("cluster-down", start_utc, seconds)
            self._bench.observe(events.ClusterDown(self.key, seconds))


class _NotBegun(Exception):  # noqa: N818 - it never leaves this module
    """The engine would not even begin, so the cluster is as it was."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _begin(cluster: RunningCluster, start: Callable[[str], Job], spec: str) -> Job:
    """Start a job of the engine, whose threads stay where this one is: on the client's host."""
    try:
        return cluster.call(lambda: start(spec))
    except Exception as error:
        raise _NotBegun(error) from error


def _wait(job: Job, follower: FaultFollower | None) -> bool:
    """Wait for a job until it is time to look after its servers; True when it is done."""
    until_s = time.monotonic() + _POLL_S
    while follower is not None and follower.waits and time.monotonic() < until_s:
        if job.wait(_WAIT_S):
            return True
        follower.hear(job.progress())
    return job.wait(max(0.0, until_s - time.monotonic()))


def _end(job: Job) -> None:
    job.stop()
    try:
        job.wait(_LET_END_S)
    except Exception:  # noqa: BLE001 - what is already being raised explains more
        return
