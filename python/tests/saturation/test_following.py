"""Runs that are planned while others finish, on a fake lab: no servers, no engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fake_lab import FakeLab, Script
from stored_runs import forget_sums

from pacelc.runner import events, run_planned
from pacelc.saturation import Objective
from pacelc.saturation.rung import read_rung
from pacelc.store import Store
from pacelc.study import PlannedRun, Study

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

STUDY = Study.parse("""
name: following
factors: {database: [memory, redis], users: [1, 2]}
settings: {measure: 1s, warm_up: 0s, cool_down: 0s, workload: {mix: {read: 1}}}
repetitions: 3
order: listed
""")
RUNS = {run.run_id: run for run in STUDY.schedule()}
FIRSTS = [RUNS["0001-r1"], RUNS["0003-r1"]]


def again(run: PlannedRun) -> PlannedRun | None:
    """Every scenario three times."""
    return RUNS.get(f"{run.scenario.number:04d}-r{run.repetition + 1}")


def measured(directory: Path, lab: FakeLab, **how: Any) -> tuple[Any, list[str]]:
    heard: list[events.Event] = []
    with Store.open(directory, create=STUDY.as_document()) as store:
        summary = run_planned(
            STUDY.name, FIRSTS, store, lab, follow=again, observe=heard.append, **how
        )
    started = [event.run.run_id for event in heard if isinstance(event, events.RunStarted)]
    return summary, started


def test_what_follows_a_run_is_run_next_and_on_its_cluster(tmp_path: Path) -> None:
    lab = FakeLab()
    summary, started = measured(tmp_path, lab)
    assert started == [f"{number}-r{n}" for number in ("0001", "0003") for n in (1, 2, 3)]
    assert (summary.finished, summary.failed) == (6, 0)
    one = ["prepare", "load", "run", "run", "run"]
    assert lab.diary == ["open memory", *one, "close memory", "open redis", *one, "close redis"]


def test_nothing_follows_a_run_that_failed(tmp_path: Path) -> None:
    runs = 0

    def on_run(_spec: Mapping[str, Any]) -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise RuntimeError

    summary, started = measured(tmp_path, FakeLab(Script(on_run=on_run)))
    assert started == ["0001-r1", "0001-r2", "0003-r1", "0003-r2", "0003-r3"]
    assert (summary.finished, summary.failed) == (4, 1)


def test_the_cool_down_is_kept_before_what_follows(tmp_path: Path) -> None:
    slept: list[float] = []
    cool = Study.parse("name: c\nsettings: {database: memory, measure: 1s, cool_down: 7s}\n")
    (run,) = cool.schedule()
    follows = iter([PlannedRun("0001-r2", run.scenario, 2, 1, run.cluster_key)])
    with Store.open(tmp_path, create=cool.as_document()) as store:
        run_planned(
            "c",
            [run],
            store,
            FakeLab(),
            follow=lambda _run: next(follows, None),
            sleep=slept.append,
        )
    assert slept == [7]


def test_a_read_that_timed_out_took_longer_than_any_limit_and_other_failures_were_answered(
    tmp_path: Path,
) -> None:
    measured(tmp_path, FakeLab())
    folder = tmp_path / "runs" / "0001-r1"
    forget_sums(tmp_path)
    record = json.loads((folder / "run.json").read_text())
    record["result"]["schedule"] = {
        "rate_per_s": 100.0, "spread": "constant", "schedule": "shared",
        "due": 100, "not_started": 0, "waited": 0,
    }  # fmt: skip
    read = record["result"]["operations"]["read"]
    read |= {"ok": 60, "fail": {"timeout": 30, "rejected": 8}, "unknown": {"other": 2}}
    (folder / "run.json").write_text(json.dumps(record))
    seen = read_rung(folder, Objective({"p99": 0.02}, 0.5)).seen
    assert (seen.ok, seen.fail, seen.unknown) == (60, 8, 32)
