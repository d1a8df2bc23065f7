"""Warm up and measure, in one job of the engine.

Meanwhile the servers are watched and their resources sampled, and faults come and go as scheduled.

Map
---
burn_in         load a cluster that has just started, as its runs will
measure         one run
Measured        what it gave
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from pacelc.clusters.sizes.allowed import throttled_s
from pacelc.runner import events
from pacelc.runner.account import spawn_s
from pacelc.runner.compiling import Compiled, CompilerWatch
from pacelc.runner.engine import EngineResult, new_run_tag, run_spec
from pacelc.runner.faults import FaultFollower
from pacelc.runner.jobs import NotBegun, begin, drive
from pacelc.runner.load_checkpoint import LoadCheckpoint
from pacelc.runner.loading import load
from pacelc.runner.observing import left_open, observed
from pacelc.runner.operations import gather_operations
from pacelc.runner.resources import resources_frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pacelc.runner.account import TimeLeft
    from pacelc.runner.invocation import Invocation
    from pacelc.runner.lab import RunningCluster
    from pacelc.study import PlannedRun

__all__ = ["Measured", "burn_in", "measure"]

_SHORTEST_MEASURE_S = 0.1  # the engine's own
# So that every load comes again after the others, compiled by then.
_LONGEST_TURN_S = 5.0
_AT_ONCE_PER_S = 1000.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run gave."""

    result: EngineResult
    run_tag: int
    """What its writes carry; see `new_run_tag`."""
    resources: pl.DataFrame
    operations: Path | None
    """Single operations, if they were recorded."""
    faults: list[dict[str, Any]]
    """What went wrong meanwhile, by schedule or by hand."""
    sizes_before: Mapping[str, Any]
    """The nodes' sizes, with what the kernel had counted before the run."""
    record_before: Mapping[str, Any]
    """What else there was to say of the cluster before the run."""
    compiled: Compiled | None
    """Used by the servers' just-in-time compilers, warm-up included; None if none has one."""
    earlier_unknown: bool = False
    """Whether writes of unknown outcome may have been left on its data before."""
    left_unknown: bool = False
    """Whether it has left such."""
    settled: bool | None = None
    """Whether the cluster has come to serve again after faults; None if nobody has looked."""
    observed: dict[str, Any] | None = None
    """What its clients observed; None if nobody recorded it, or reads don't say what they saw."""
    read_back: dict[str, Any] | None = None
    """What of the run's writes is there after faults; None if there were none, or no writes."""


def burn_in(invocation: Invocation, runs: Sequence[PlannedRun], cluster: RunningCluster) -> bool:
    """Load a cluster that has just started, so that its first runs aren't its slowest.

    It gets what it will be measured under, each load in turn: a virtual machine compiles what it
    is asked to do most, and after writes alone its reads are still slow. Nodes of part of a core
    have all processors for it, or they would compile for many times as long.

    Parameters
    ----------
    runs
        The cluster's, in order. The first one says for how long, and holds the data set that is
        loaded: others' loads can't be had on it.

    Returns
    -------
    bool
        Whether it left writes of unknown outcome, which may come into a table made anew, too.
    """
    first = runs[0]
    settings = first.scenario.settings
    left_unknown = False
    if settings.burn_in_s == 0:
        return left_unknown
    loads = _loads(runs)
    changed = any(run.scenario.settings.workload.changes_data_set for run in loads)
    if changed:
        LoadCheckpoint.of(first, invocation.store.path).spoil()
    turn_s = max(_SHORTEST_MEASURE_S, min(_LONGEST_TURN_S, settings.burn_in_s / len(loads)))
    with invocation.account.activity("warm-up", first), cluster.unlimited():
        end_s = time.monotonic() + settings.burn_in_s
        while (left_s := end_s - time.monotonic()) >= _SHORTEST_MEASURE_S:
            run = loads.popleft()
            checkpoint = LoadCheckpoint.of(run, invocation.store.path)
            spec = checkpoint.owned(run_spec(run, cluster.target(), None, cluster.clients()))
            spec |= {
                "run": (tag := new_run_tag()),
                "spawn_rate_per_s": _AT_ONCE_PER_S,
                "warm_up_s": 0.0,
                "steady": None,
                "measure_s": (this_turn_s := min(turn_s, left_s)),
                "operations": None,
            }
            try:
                job = begin(cluster, invocation.lab.engine.run, json.dumps(spec))
            except NotBegun:
                if run is first:
                    raise
                continue  # it is told when it is this run's own turn
            invocation.burn_in_s = left_s
            answer = drive(
                job,
                cluster,
                lambda progress, run=run, job=tag, whole_s=this_turn_s: invocation.observe(
                    _progressed(
                        run,
                        job,
                        progress,
                        invocation.left_with(first),
                        whole_s=whole_s,
                        phase="burn-in",
                    )
                ),
            )
            left_unknown |= left_open(json.loads(answer))
            loads.append(run)
    invocation.burn_in_s = 0.0
    if changed:
        load(invocation, first, cluster)
    return left_unknown


def _loads(runs: Sequence[PlannedRun]) -> deque[PlannedRun]:
    """Return a run of each scenario that can be run on what is loaded for the first."""
    loads: dict[int, PlannedRun] = {}
    for run in runs:
        if run.scenario.settings.data_set == runs[0].scenario.settings.data_set:
            loads.setdefault(run.scenario.number, run)
    return deque(loads.values())


def measure(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster, *, earlier_unknown: bool
) -> Measured:
    """Warm up and measure.

    Parameters
    ----------
    earlier_unknown
        Whether writes of unknown outcome were left on its data before.
    """
    settings, engine = run.scenario.settings, invocation.lab.engine
    operations = None
    if settings.keeps_operations:
        operations = invocation.store.scratch(run.run_id) / "operations.parquet"
    checkpoint = LoadCheckpoint.of(run, invocation.store.path)
    run_tag = new_run_tag()
    told = run_spec(run, cluster.target(), operations, cluster.clients())
    spec = json.dumps(checkpoint.owned(told) | {"run": run_tag})
    sizes_before, record_before = cluster.sizes(), cluster.record()
    # Once a second, but no run is so short that it would have no reading.
    sampler = invocation.lab.sampler(cluster.processes, min(1.0, settings.measure_s / 5))
    follower = _follower(invocation, run, cluster)
    sampler.start()
    throttled_before_s = throttled_s()
    compilers = CompilerWatch(process.pid for process in cluster.processes)
    if cluster.injector is not None:
        cluster.injector.on_restart = sampler.follow
    try:
        job = begin(cluster, engine.run, spec)
        whole_s = (
            spawn_s(settings) + settings.warm_up_s + settings.measure_s
            if settings.operations is None
            else None
        )
        answer = drive(
            job,
            cluster,
            lambda progress: invocation.observe(
                _progressed(run, run_tag, progress, invocation.left_with(run), whole_s=whole_s)
            ),
            follower,
        )
        compiled = compilers.used()
    finally:
        if follower is not None:
            follower.stop()
        readings = sampler.stop()
    result = cast("EngineResult", json.loads(answer))
    if (stopped_s := throttled_s() - throttled_before_s) > 0:
        result["warnings"].append(
            f"pacelc's control group stopped its processes for {stopped_s:.3g} s, summed over "
            "processors, because its quota of processor time was used up: give it more"
        )
    start_unix_s, measured_s = result["started_unix_s"], result["measured_s"]
    invocation.account.add_phases(
        run, start_unix_s, result["before_measure_s"], result["warm_up_s"], measured_s
    )
    resources = resources_frame(readings, start_unix_s, measured_s, result["warm_up_s"])
    faults = [] if follower is None else [record.as_record() for record in follower.records]
    seen = None
    if operations is not None:
        sample = result.get("observed")
        shifts = [worker["log_shift_ns"] for worker in result.get("workers", [])]
        gather_operations(operations, sample, shifts)
        if sample is not None:
            sample["logged"] = pl.scan_parquet(operations).select(pl.len()).collect().item()
        with invocation.account.activity("check", run):
            seen = observed(run, operations, result, earlier_unknown=earlier_unknown)
    return Measured(
        result,
        run_tag,
        resources,
        operations,
        faults,
        sizes_before,
        record_before,
        compiled,
        observed=seen,
        earlier_unknown=earlier_unknown,
        left_unknown=left_open(result, operations),
    )


def _progressed(
    run: PlannedRun,
    job: int,
    progress: Mapping[str, Any],
    left_with: TimeLeft,
    *,
    whole_s: float | None,
    phase: str | None = None,
) -> events.Progressed:
    p99_ns = progress.get("p99_ns")
    elapsed_s = float(progress.get("elapsed_s", 0.0))
    return events.Progressed(
        run=run,
        job=job,
        phase=phase or str(progress.get("phase", "")),
        elapsed_s=elapsed_s,
        whole_s=whole_s,
        users=int(progress.get("users", 0)),
        ok=int(progress.get("ok", 0)),
        fail=int(progress.get("fail", 0)),
        unknown=int(progress.get("unknown", 0)),
        throughput_per_s=float(progress.get("throughput_per_s", 0.0)),
        p99_ms=None if p99_ns is None else float(p99_ns) / 1e6,
        time_left=left_with.plus(-elapsed_s),
        operations=progress.get("operations", {}),
    )


def _follower(
    invocation: Invocation, run: PlannedRun, cluster: RunningCluster
) -> FaultFollower | None:
    """Return who follows the run's schedule of faults, and hears of those by hand."""
    if cluster.injector is None:
        return None
    settings = run.scenario.settings
    return FaultFollower(
        cluster.injector,
        settings.faults,
        measure_s=settings.measure_s,
        seed=run.seed,
        warn=lambda text: invocation.warn(f"{run.run_id}: {text}"),
    )
