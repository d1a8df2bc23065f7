# ruff: noqa: E501 - what is written and printed stands here word for word
"""What the runner promises, on a fake lab: no servers, no engine, every failure on cue."""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import polars as pl
import pytest
from fake_lab import FakeLab, Script

from pacelc import _engine
from pacelc.clusters import NodeDied, StartError
from pacelc.errors import CannotRun, InputError
from pacelc.files import write_atomically
from pacelc.runner import Summary, events, run_study
from pacelc.runner.interruption import Interrupted
from pacelc.store import Store, StoreError, load
from pacelc.study import Scenario, Settings, Study
from pacelc.workers.crew import WorkerLost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from pacelc.study import PlannedRun

STUDY = """
name: fake
factors: {database: [memory, redis], users: [1, 2]}
settings: {measure: 1s, warm_up: 0s, cool_down: 5s, workload: {mix: {read: 1}}}
repetitions: 2
order: listed
"""


def study(more: str = "") -> Study:
    return Study.parse(STUDY + more)


def run(
    definition: Study,
    directory: Path,
    lab: FakeLab,
    *,
    only: Callable[[Scenario], bool] = lambda _: True,
    keep_going: bool = True,
    heard: list[events.Event] | None = None,
    slept: list[float] | None = None,
) -> Summary:
    with Store.open(directory, create=definition.as_document()) as store:
        return run_study(
            definition,
            store,
            lab,
            only=only,
            keep_going=keep_going,
            observe=(heard if heard is not None else []).append,
            sleep=(slept if slept is not None else []).append,
        )


def failing_run(number: int, error: Exception) -> Script:
    """A script in which the run of that number, counted from 1, goes wrong."""
    seen = 0

    def on_run(_spec: Mapping[str, Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise error

    return Script(on_run=on_run)


def test_every_run_is_stored_once(tmp_path: Path) -> None:
    assert run(study(), tmp_path, FakeLab()) == Summary(8, 0, 0, ANY)
    assert load(tmp_path).runs.height == 8


def test_a_cluster_is_shared_and_loaded_data_reused(tmp_path: Path) -> None:
    lab = FakeLab()
    run(study(), tmp_path, lab)
    one = ["prepare", "load", "run", "run", "run", "run"]
    assert lab.diary == ["open memory", *one, "close memory", "open redis", *one, "close redis"]


def test_a_run_that_inserts_is_followed_by_a_fresh_data_set(tmp_path: Path) -> None:
    definition = Study.parse(
        STUDY.replace("mix: {read: 1}", "mix: {read: 1, insert: 1}"), ["database=memory"]
    )
    lab = FakeLab()
    run(definition, tmp_path, lab)
    assert lab.diary == ["open memory", *["prepare", "load", "run"] * 4, "close memory"]


def test_a_study_may_ask_for_fresh_data_or_a_fresh_cluster_for_every_run(tmp_path: Path) -> None:
    data, cluster = FakeLab(), FakeLab()
    run(Study.parse(STUDY, ["database=memory", "fresh=data"]), tmp_path / "data", data)
    assert data.diary == ["open memory", *["prepare", "load", "run"] * 4, "close memory"]
    run(Study.parse(STUDY, ["database=memory", "fresh=cluster"]), tmp_path / "cluster", cluster)
    assert cluster.diary == ["open memory", "prepare", "load", "run", "close memory"] * 4


def test_a_new_cluster_is_burnt_in_with_all_that_its_runs_will_ask_for(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []
    begun = time.monotonic()
    done: list[float] = []

    def on_run(spec: Mapping[str, Any]) -> None:
        if spec["measure_s"] < 1:
            time.sleep(spec["measure_s"])
            asked.append((",".join(spec["workload"]["mix"]), spec["users"]))
        else:
            done.append(time.monotonic() - begun)

    more = "burn_in: 1.9s, mix: {read: 1}"
    definition = Study.parse(
        STUDY.replace("workload: {mix: {read: 1}}", more).replace(
            "users: [1, 2]",
            "load: {r: {users: 1}, w: {users: 2, mix: {update: 1}}, other: {records: 5}}",
        ),
        ["database=memory"],
    )
    heard: list[events.Event] = []
    run(definition, tmp_path, FakeLab(Script(on_run=on_run)), heard=heard)
    # Turns of two thirds of a second: what can't be done on this data set is left out.
    assert set(asked) == {("read", 1), ("update", 2)}
    assert len(asked) == pytest.approx(3, abs=1)
    assert 1.8 <= done[0] < 30
    assert len(done) == 6
    # Five rests of 5 s; the burn-in is left before the first, and no part of what others take.
    left_s = [event.time_left.seconds for event in heard if isinstance(event, events.RunStarted)]
    assert left_s[0] > 5 * 5 + 1.9
    assert left_s[1] < 4 * 5 + 5 * 1.5


def test_a_database_that_keeps_nothing_is_loaded_with_nothing(tmp_path: Path) -> None:
    lab = FakeLab()
    run(Study.parse(STUDY, ["database=noop", f"records={10**10}"]), tmp_path, lab)
    assert lab.diary == ["open noop", *["run"] * 4, "close noop"]


def test_another_number_of_records_is_another_data_set(tmp_path: Path) -> None:
    text = "name: r\nfactors: {records: [10, 20]}\nsettings: {database: memory, measure: 1s}\norder: listed\n"
    lab = FakeLab()
    run(Study.parse(text), tmp_path, lab)
    assert lab.diary == ["open memory", *["prepare", "load", "run"] * 2, "close memory"]


def test_the_cluster_rests_between_runs_and_not_after_the_last(tmp_path: Path) -> None:
    slept: list[float] = []
    run(study(), tmp_path, FakeLab(), slept=slept)
    assert slept == [5.0] * 6


def test_a_finished_study_starts_nothing(tmp_path: Path) -> None:
    run(study(), tmp_path, FakeLab())
    again = FakeLab()
    assert run(study(), tmp_path, again) == Summary(0, 0, 8, None)
    assert again.diary == []


def test_an_interrupted_study_keeps_what_is_finished_and_runs_only_the_rest(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(study(), tmp_path, FakeLab(failing_run(3, Interrupted(15))))  # type: ignore[arg-type]
    assert len(load(tmp_path).runs) == 2
    lab = FakeLab()
    assert run(study(), tmp_path, lab).finished == 6
    assert lab.diary.count("run") == 6


def test_an_interruption_takes_the_cluster_down(tmp_path: Path) -> None:
    lab = FakeLab(failing_run(1, Interrupted(2)))  # type: ignore[arg-type]
    with pytest.raises(Interrupted):
        run(study(), tmp_path, lab)
    assert lab.diary[-1] == "close memory"


def test_a_server_that_dies_costs_its_run_and_is_replaced_for_the_next(tmp_path: Path) -> None:
    lab = FakeLab(failing_run(2, NodeDied("replica1", -9, "out of memory")))
    assert run(study(), tmp_path, lab).failed == 1
    memory = ["open memory", "prepare", "load", "run", "run", "close memory"]
    assert lab.diary[: len(memory) + 3] == [*memory, "open memory", "prepare", "load"]
    failures = load(tmp_path).failures
    assert failures["reason"].to_list() == ["replica1 was ended by signal 9"]
    assert failures["log_tail"].to_list() == ["out of memory"]


def beginning_fails(
    lab: FakeLab, error: Exception, monkeypatch: pytest.MonkeyPatch, *, what: str = "run"
) -> None:
    """Have the engine's first job of a kind not even begin."""
    begin, calls = getattr(type(lab.engine), what), 0

    def fail_once(self: Any, spec_json: str) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise error
        return begin(self, spec_json)

    monkeypatch.setattr(type(lab.engine), what, fail_once)


REFUSALS = [_engine.Refused("unknown field"), InputError("worker 1 can't reach it")]
UNKNOWN_STATES = [
    _engine.ConnectError("connection refused"),
    _engine.EngineError("the engine panicked"),
    OSError(errno.EAGAIN, "no thread"),
    CannotRun("worker 2 was lost"),
]


@pytest.mark.parametrize("error", REFUSALS)
def test_a_specification_that_is_refused_leaves_the_cluster_as_it_was(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = FakeLab()
    beginning_fails(lab, error, monkeypatch)
    assert run(study(), tmp_path, lab).failed == 1
    assert lab.diary.count("open memory") == 1


@pytest.mark.parametrize("error", UNKNOWN_STATES)
@pytest.mark.parametrize("what", ["prepare", "load", "run"])
def test_a_cluster_on_which_nothing_could_be_begun_is_replaced(
    what: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = FakeLab()
    beginning_fails(lab, error, monkeypatch, what=what)
    assert run(study(), tmp_path, lab).failed == 1
    assert lab.diary.count("open memory") == 2


@pytest.mark.parametrize("error", [*REFUSALS, *UNKNOWN_STATES])
def test_fail_fast_counts_a_run_that_could_not_be_begun(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = FakeLab()
    beginning_fails(lab, error, monkeypatch)
    summary = run(study(), tmp_path, lab, keep_going=False)
    assert (summary.finished, summary.failed) == (0, 1)
    assert "run" not in lab.diary


def test_a_server_that_dies_is_noticed_even_when_the_job_ends_well(tmp_path: Path) -> None:
    seen = 0

    def on_check() -> None:
        nonlocal seen
        seen += 1
        if seen == 3:  # after prepare and load
            raise NodeDied("primary", 1, "")

    assert run(study(), tmp_path, FakeLab(Script(on_check=on_check))).failed == 1


def test_a_cluster_that_never_comes_up_fails_its_runs_and_no_others(tmp_path: Path) -> None:
    def on_open(settings: Settings) -> None:
        if settings.database == "memory":
            raise StartError("time is up", hint="more time", log_tail="no quorum")

    heard: list[events.Event] = []
    lab = FakeLab(Script(on_open=on_open))
    summary = run(study(), tmp_path, lab, heard=heard)
    assert (summary.finished, summary.failed) == (4, 4)
    assert set(load(tmp_path).failures["log_tail"]) == {"no quorum"}
    assert lab.diary.count("open memory") == 1
    assert any(isinstance(event, events.ClusterFailed) and event.runs == 4 for event in heard)


RESIZING = """
name: resizing
factors: {database: [redis], nodes: [1, 2, 3]}
settings: {measure: 1s, warm_up: 0s, cool_down: 0s, workload: {mix: {read: 1}}}
order: listed
"""


def test_a_cluster_that_can_grow_is_kept_and_loaded_anew(tmp_path: Path) -> None:
    heard: list[events.Event] = []
    lab = FakeLab(Script(on_resize=lambda _settings: True))
    assert run(Study.parse(RESIZING), tmp_path, lab, heard=heard).finished == 3
    assert lab.diary == ["open redis", *["prepare", "load", "run"] * 3, "close redis"]
    up = [event.key for event in heard if isinstance(event, events.ClusterUp)]
    assert up == ["redis-n1-rf1", "redis-n2-rf2", "redis-n3-rf3"]
    down = [event.key for event in heard if isinstance(event, events.ClusterDown)]
    assert down == ["redis-n3-rf3"]
    before = [record.resized_from_nodes for record in load(tmp_path).records]
    assert before == [[], [1], [1, 2]]


def test_a_cluster_that_failed_is_not_resized(tmp_path: Path) -> None:
    asked: list[int] = []

    def on_resize(settings: Settings) -> bool:
        asked.append(settings.nodes)
        return True

    script = failing_run(2, NodeDied("replica1", -9, ""))
    script.on_resize = on_resize
    lab = FakeLab(script)
    assert run(Study.parse(RESIZING), tmp_path, lab).failed == 1
    assert asked == [2]
    assert lab.diary.count("open redis") == 2
    assert load(tmp_path).records[-1].resized_from_nodes == []


def test_a_cluster_that_fails_while_it_grows_is_replaced(tmp_path: Path) -> None:
    def on_resize(_settings: Settings) -> bool:
        raise StartError("time is up")

    heard: list[events.Event] = []
    lab = FakeLab(Script(on_resize=on_resize))
    assert run(Study.parse(RESIZING), tmp_path, lab, heard=heard).finished == 3
    assert lab.diary.count("open redis") == 3
    told = [event.message for event in heard if isinstance(event, events.Warned)]
    assert told == ["the cluster can't be resized: time is up"] * 2


def test_failed_runs_are_tried_again_by_the_next_invocation(tmp_path: Path) -> None:
    run(study(), tmp_path, FakeLab(failing_run(1, NodeDied("primary", 1, ""))))
    assert run(study(), tmp_path, FakeLab()) == Summary(1, 0, 7, ANY)


def test_fail_fast_leaves_the_others_missing(tmp_path: Path) -> None:
    lab = FakeLab(failing_run(1, NodeDied("primary", 1, "")))
    summary = run(study(), tmp_path, lab, keep_going=False)
    assert (summary.finished, summary.failed) == (0, 1)
    assert lab.diary.count("run") == 1


def test_a_bug_is_recorded_with_its_traceback_and_the_study_goes_on(tmp_path: Path) -> None:
    assert run(study(), tmp_path, FakeLab(failing_run(1, ZeroDivisionError("oh")))).finished == 7
    (reason,) = load(tmp_path).failures["reason"]
    assert reason == "internal error: ZeroDivisionError: oh"
    assert "Traceback" in load(tmp_path).failures["log_tail"][0]


def test_a_run_that_cannot_be_stored_is_recorded_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run, calls = Store.write_run, 0

    def full_once(*args: Any, **kwargs: Any) -> Path:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise StoreError("samples: t_s has nulls")
        return write_run(*args, **kwargs)

    monkeypatch.setattr(Store, "write_run", full_once)
    summary = run(study(), tmp_path, FakeLab())
    assert (summary.finished, summary.failed) == (7, 1)
    assert load(tmp_path).failures["reason"].to_list() == ["samples: t_s has nulls"]
    slept: list[float] = []
    calls = 0
    hasty = run(study(), tmp_path / "hasty", FakeLab(), keep_going=False, slept=slept)
    assert (hasty.finished, hasty.failed, slept) == (0, 1, [])


def test_a_study_ends_with_the_first_run_that_the_disk_does_not_take(
    tmp_path: Path, no_file_above: Callable[[int], AbstractContextManager[None]]
) -> None:
    lab = FakeLab()
    with no_file_above(2000), pytest.raises(StoreError, match=r"0001-r1 can't be written: File"):
        run(study(), tmp_path, lab)
    assert lab.diary.count("run") == 1
    assert lab.diary[-1] == "close memory"
    assert load(tmp_path).failures["run"].to_list() == ["0001-r1"]
    assert run(study(), tmp_path, FakeLab()).finished == 8


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "load.json"),
        pl.exceptions.ComputeError("parquet: IO error: No space left on device (os error 28)"),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
    ],
)
def test_a_study_ends_where_a_run_finds_a_disk_full(tmp_path: Path, error: Exception) -> None:
    lab = FakeLab(failing_run(2, error))
    with pytest.raises(CannotRun, match="a disk is full: ") as caught:
        run(study(), tmp_path, lab)
    assert "finished runs are kept" in (caught.value.hint or "")
    assert lab.diary.count("run") == 2
    assert load(tmp_path).runs.height == 1
    (reason,) = load(tmp_path).failures["reason"]
    assert not reason.startswith("internal error")


@pytest.mark.parametrize(
    "error",
    [
        NodeDied("primary", -6, f'"error_str":"{os.strerror(errno.ENOSPC)}"', disk_full=True),
        CannotRun("redis: MISCONF Errors writing to the AOF file: No space left on device"),
    ],
)
def test_a_study_goes_on_after_a_server_whose_own_disk_was_full(
    tmp_path: Path, error: CannotRun
) -> None:
    summary = run(study(), tmp_path, FakeLab(failing_run(2, error)))
    assert (summary.finished, summary.failed) == (7, 1)
    assert load(tmp_path).failures["reason"].to_list() == [error.message]


def test_a_study_that_was_refused_may_be_corrected_in_its_directory(tmp_path: Path) -> None:
    class Refusing(FakeLab):
        def check(self, run: PlannedRun) -> None:  # noqa: ARG002 - it refuses all
            raise CannotRun("too many users")

    with pytest.raises(CannotRun, match="too many"):
        run(study(), tmp_path, Refusing())
    changed = study("seed: 7\n")
    assert run(changed, tmp_path, FakeLab()).finished == 8
    with pytest.raises(StoreError, match="another study"):
        run(study(), tmp_path, FakeLab())


def test_a_study_of_before_a_default_changed_goes_on_and_says_so(tmp_path: Path) -> None:
    run(study(), tmp_path, FakeLab(), only=lambda scenario: scenario.number == 1)
    for file in (tmp_path / "runs").glob("*/run.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["scenario"]["settings"]["operation_timeout_s"] = 60.0
        del record["scenario"]["settings"]["think"], record["sha256"]
        file.write_text(json.dumps(record), encoding="utf-8")
    heard: list[events.Event] = []
    run(study(), tmp_path, FakeLab(), heard=heard)
    warned = [event.message for event in heard if isinstance(event, events.Warned)]
    assert len(warned) == 1
    assert "operation_timeout_s was 60.0 and is 10.0 now" in warned[0]


def test_a_study_ends_where_not_even_a_failure_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: Any, **_kwargs: Any) -> Path:
        raise StoreError("no space left", "free some space") from OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Store, "write_run", full)
    monkeypatch.setattr(Store, "write_failure", full)
    lab = FakeLab()
    with pytest.raises(StoreError, match="no space left"):
        run(study(), tmp_path, lab)
    assert lab.diary[-1] == "close memory"


# The checkers aren't asked where an update writes one field of several that a read returns.
RECORDED = [
    "record_operations=true",
    "mix={read: 1, update: 1}",
    "fields=2",
    "users=1",
    "repetitions=1",
]


def logging(end: BaseException) -> Script:
    """A script in which each run logs its operations, and then goes wrong."""

    def on_run(spec: Mapping[str, Any]) -> None:
        Path(spec["record_operations"] + ".0").write_bytes(bytes(4096))
        raise end

    return Script(on_run=on_run)


@pytest.mark.parametrize(
    "error",
    [
        NodeDied("primary", -9, "out of memory"),
        WorkerLost("worker-1 was lost", "it ended", "its last words"),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    ],
)
def test_the_log_of_a_failed_run_makes_room_for_its_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    left: list[Path] = []

    def write(path: Path, data: bytes) -> None:
        if path.parent.name == "failures":
            left.extend((tmp_path / "runs").iterdir())
        write_atomically(path, data)

    monkeypatch.setattr("pacelc.store.writer.write_atomically", write)
    with suppress(CannotRun):
        run(Study.parse(STUDY, RECORDED), tmp_path, FakeLab(logging(error)))
    assert load(tmp_path).failures.height > 0
    assert left == []


def test_a_run_that_can_not_be_stored_makes_room_for_its_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pacelc.store.writer.move_in", full)
    write_failure, left = Store.write_failure, list[Path]()

    def write(store: Store, run_id: str, **what: Any) -> Path:
        path = write_failure(store, run_id, **what)
        left.extend((tmp_path / "runs").iterdir())
        return path

    monkeypatch.setattr(Store, "write_failure", write)
    with pytest.raises(StoreError, match="no space left"):
        run(Study.parse(STUDY, RECORDED), tmp_path, FakeLab())
    assert left == []


def test_the_log_of_an_interrupted_run_is_gone_with_its_study(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(Study.parse(STUDY, RECORDED), tmp_path, FakeLab(logging(Interrupted(2))))
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_that_is_stored_leaves_no_scratch_directory(tmp_path: Path) -> None:
    definition = Study.parse(STUDY, RECORDED)
    with Store.open(tmp_path, create=definition.as_document()) as store:
        assert run_study(definition, store, FakeLab(), sleep=lambda _s: None).finished == 2
        found = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert found == ["0001-r1", "0002-r1"]


def test_only_runs_what_was_chosen_under_the_numbers_of_the_whole(tmp_path: Path) -> None:
    summary = run(study(), tmp_path, FakeLab(), only=lambda scenario: scenario.settings.users == 2)
    assert summary.finished == 4
    assert sorted(load(tmp_path).runs["run"]) == ["0002-r1", "0002-r2", "0004-r1", "0004-r2"]
    assert run(study(), tmp_path, FakeLab()).finished == 4


def test_the_time_account_names_every_activity(tmp_path: Path) -> None:
    run(study(), tmp_path, FakeLab())
    timeline = load(tmp_path).timeline
    assert set(timeline["what"]) == {
        "cluster-up",
        "prepare",
        "load",
        "measure",
        "store",
        "cool-down",
        "cluster-down",
    }


def test_who_watches_hears_a_run_from_start_to_end(tmp_path: Path) -> None:
    heard: list[events.Event] = []
    run(
        Study.parse(STUDY, ["database=memory", "users=1", "repetitions=1"]),
        tmp_path,
        FakeLab(),
        heard=heard,
    )
    assert [type(event).__name__ for event in heard] == [
        "StudyStarted",
        "ClusterStarting",
        "ClusterStep",
        "ClusterUp",
        "RunStarted",
        "Loading",
        "RunFinished",
        "ClusterDown",
        "StudyFinished",
    ]
