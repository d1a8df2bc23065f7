"""A run's schedule of faults: followed from when measuring begins, undone however the run ends."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from clusters.conftest import eventually
from clusters.diary import Diary, every_pair
from fake_lab import FakeCluster, FakeLab, Script

from pacelc.clusters import StartError
from pacelc.clusters.faults.injection import Injector
from pacelc.clusters.faults.rules import FaultSpec
from pacelc.errors import InputError
from pacelc.history.log import KINDS, NO_SEQUENCE, OUTCOMES, ROW
from pacelc.runner import events, run_study
from pacelc.runner.faults import FaultFollower
from pacelc.runner.lab import LocalLab
from pacelc.store import Store, load
from pacelc.study import Study
from pacelc.study.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from pacelc.study import Settings


def follower(diary: Diary, *faults: dict[str, Any], measure_s: float = 0.6) -> FaultFollower:
    return FaultFollower(
        Injector(diary),  # pyright: ignore[reportArgumentType]
        [Fault.model_validate(fault) for fault in faults],
        measure_s=measure_s,
        seed=7,
        warn=diary.entries.append,
    )


def test_nothing_happens_before_measuring_begins() -> None:
    diary = Diary()
    follows = follower(diary, {"at": 0, "fault": "pause", "target": "n1"}, measure_s=60)
    follows.hear({"phase": "warm-up", "measure_start_unix_s": None})
    assert follows.waits
    measure_start_s = time.time() + 1
    follows.hear({"phase": "warm-up", "measure_start_unix_s": measure_start_s})
    assert not follows.waits
    time.sleep(0.1)
    assert diary.entries == [] or time.time() >= measure_start_s
    assert eventually(lambda: diary.entries == ["pause n1"])
    follows.stop()
    assert diary.entries == ["pause n1", "resume n1"]
    [record] = follows.records
    assert record.begin_unix_us is not None
    # A busy machine is late; none is early.
    assert -0.001 < record.begin_unix_us / 1e6 - measure_start_s < 10


def test_faults_begin_and_end_in_their_time_and_the_rest_with_measuring() -> None:
    diary = Diary()
    follows = follower(
        diary,
        {"at": "200ms", "fault": "pause", "target": "n2", "for": "200ms"},
        {"at": "100ms", "fault": "kill", "target": "n1", "for": "100ms"},
        {"at": "300ms", "fault": "isolate", "target": "n3"},
        {"at": "300ms", "fault": "kill", "target": "n3"},
        measure_s=3.0,
    )
    begun_s = time.time()
    follows.hear({"measure_start_unix_s": begun_s})
    assert eventually(lambda: len(diary.now_cut) > 0)
    # Measuring is over: what has no end of its own ends, but a killed node stays dead.
    assert eventually(lambda: not diary.now_cut)
    order = ["kill n1", "start n1", "pause n2", "kill n3", "resume n2"]
    assert diary.entries == order
    follows.stop()
    assert diary.entries == [*order, "start n3"]
    records = follows.records
    assert [(r.fault, r.planned_at_s) for r in records] == [
        ("kill", 0.1),
        ("pause", 0.2),
        ("isolate", 0.3),
        ("kill", 0.3),
    ]
    for record in records:
        assert record.by == "schedule"
        assert record.error is None
        assert record.end_unix_us is not None
    kill, pause = records[0], records[1]
    assert kill.begin_unix_us is not None
    assert kill.end_unix_us is not None
    # Each has its own moment: one that begins late ends when it should.
    assert kill.end_unix_us / 1e6 >= begun_s + 0.199
    assert kill.begin_unix_us / 1e6 >= begun_s + 0.099
    assert pause.begin_unix_us is not None
    assert kill.end_unix_us <= pause.begin_unix_us


def test_a_run_that_ends_early_is_healed_too() -> None:
    diary = Diary()
    follows = follower(
        diary,
        {"at": 0, "fault": "split", "target": "n1", "for": "50s"},
        {"at": "40s", "fault": "kill", "target": "n1"},
        measure_s=60,
    )
    follows.hear({"measure_start_unix_s": time.time()})
    assert eventually(
        lambda: diary.now_cut == {p for p in every_pair(["n1", "n2", "n3"]) if "n1" in p}
    )
    begin_s = time.monotonic()
    follows.stop()
    assert time.monotonic() - begin_s < 5
    assert diary.now_cut == set()
    assert diary.entries == []


def test_a_fault_that_hits_nobody_is_kept_and_said_and_the_others_come() -> None:
    diary = Diary()
    follows = follower(
        diary,
        {"at": 0, "fault": "pause", "target": "region:nowhere", "for": "100ms"},
        {"at": "50ms", "fault": "pause", "target": "n1"},
    )
    follows.hear({"measure_start_unix_s": time.time()})
    assert eventually(lambda: "pause n1" in diary.entries)
    follows.stop()
    failed, fine = follows.records
    assert failed.error == "region:nowhere: there is no such node now"
    assert failed.begin_unix_us is None
    assert fine.error is None
    assert "could not be carried out" in diary.entries[0]


def test_the_same_seed_hits_the_same_node() -> None:
    hit: set[tuple[str, ...]] = set()
    for _ in range(3):
        diary = Diary()
        follows = follower(diary, {"at": 0, "fault": "pause", "target": "one"})
        follows.hear({"measure_start_unix_s": time.time()})
        assert eventually(lambda d=diary: bool(d.entries))
        follows.stop()
        hit.add(follows.records[0].nodes)
    assert len(hit) == 1


# --- In a study, on a fake lab ---

STUDY = """
name: faulty
settings:
  database: cassandra
  measure: 1s
  warm_up: 0s
  cool_down: 0s
  faults: [{at: 0s, fault: kill, target: n1, for: 100ms}]
repetitions: 2
order: listed
"""


class FaultyLab(FakeLab):
    """A fake lab whose cluster has an injector, and a diary."""

    def __init__(self, diary: Diary, script: Script) -> None:
        super().__init__(script)
        self.cluster = diary
        self.injector: Any = None

    def break_by_hand(self) -> None:
        self.injector.begin(FaultSpec("pause", "n2"), by="hand", seed=1)

    def open_cluster(self, settings: Settings, tell: Callable[[str], None]) -> Any:
        @contextmanager
        def opened() -> Generator[FakeCluster]:
            with FakeLab.open_cluster(self, settings, tell) as cluster:
                self.injector = Injector(self.cluster)  # pyright: ignore[reportArgumentType]
                cluster.injector = self.injector
                yield cluster

        return opened()


def run_fake(
    diary: Diary, directory: Path, script: Script | None = None
) -> tuple[FaultyLab, list[events.Event], Any]:
    study, heard = Study.parse(STUDY), list[events.Event]()
    lab = FaultyLab(diary, script or Script())
    with Store.open(directory, create=study.as_document()) as store:
        summary = run_study(study, store, lab, observe=heard.append)
    return lab, heard, summary


def test_data_are_loaded_anew_after_faults_once_the_cluster_serves(tmp_path: Path) -> None:
    diary = Diary()
    lab, _, summary = run_fake(diary, tmp_path)
    assert (summary.finished, summary.failed) == (2, 0)
    words = [entry.split()[0] for entry in lab.diary]
    assert words == ["open", "prepare", "load", "run", "prepare", "load", "run", "close"]
    # The fake's engine is done at once: no fault came about, but the schedule stands.
    assert [r.faults for r in load(tmp_path).records] == [[], []]


def test_a_cluster_that_does_not_settle_is_replaced(tmp_path: Path) -> None:
    class Broken(Diary):
        def settle(self, timeout_s: float, tell: Any) -> None:  # noqa: ARG002
            raise StartError("time is up")

    diary = Broken()
    lab = FaultyLab(diary, Script())
    # A fault by hand, in the midst of each run.
    lab.script.on_run = lambda _spec: lab.break_by_hand()
    study, heard = Study.parse(STUDY), list[events.Event]()
    with Store.open(tmp_path, create=study.as_document()) as store:
        summary = run_study(study, store, lab, observe=heard.append)
    assert (summary.finished, summary.failed) == (2, 0)
    words = [entry.split()[0] for entry in lab.diary]
    assert words.count("open") == 2, "the first run is kept, the second has a cluster of its own"
    assert any(isinstance(e, events.Warned) and "time is up" in e.message for e in heard)
    for record in load(tmp_path).records:
        [fault] = record.faults
        assert (fault.by, fault.fault, fault.nodes) == ("hand", "pause", ["n2"])
        assert fault.end_unix_us is not None, "a run ends healed"


def test_faults_on_nodes_that_are_not_there_are_refused_before_anything_starts() -> None:
    for faults, message in (
        ("[{at: 0s, fault: kill, target: node9}]", "no node 'node9'"),
        ("[{at: 0s, fault: isolate, target: primary}]", "isolate needs an emulated network"),
    ):
        text = STUDY.replace("[{at: 0s, fault: kill, target: n1, for: 100ms}]", faults)
        text = text.replace("settings:\n", "settings:\n  network: loopback\n", 1)
        run = Study.parse(text).schedule()[0]
        with pytest.raises(InputError, match=message):
            LocalLab().check(run)


def writing(lab: FaultyLab) -> Callable[[Any], None]:
    """A run of three inserts, of records 5, 6, 7, the last unknown, and of a fault."""

    def on_run(spec: Any) -> None:
        rows = np.zeros(3, dtype=ROW)
        rows["record"], rows["read_sequence"] = [5, 6, 7], NO_SEQUENCE
        rows["operation"], rows["error"], rows["read_origin"] = KINDS.index("insert"), 255, 255
        rows["outcome"][2] = OUTCOMES.index("unknown")
        rows.tofile(f"{spec['record_operations']}.0")
        lab.break_by_hand()

    return on_run


def test_what_was_written_is_read_back_after_faults(tmp_path: Path) -> None:
    lab = FaultyLab(Diary(), Script())
    lab.script.on_run = writing(lab)
    study = Study.parse(STUDY)
    with Store.open(tmp_path, create=study.as_document()) as store:
        run_study(study, store, lab)
    words = [entry.split()[0] for entry in lab.diary]
    assert words[:5] == ["open", "prepare", "load", "run", "read"]
    results = load(tmp_path)
    kept = results.records[0].read_back
    assert kept is not None
    assert (kept.inserts.acknowledged, kept.inserts.found, kept.unacknowledged.found) == (2, 2, 1)
    assert results.read_back is not None
    assert results.read_back.collect()["record"].to_list() == [5, 6, 7] * 2
    assert {"settle", "read-back"} <= set(results.timeline["what"])


def test_what_could_not_be_read_back_costs_no_run(tmp_path: Path) -> None:
    class Broken(Diary):
        def settle(self, timeout_s: float, tell: Any) -> None:  # noqa: ARG002
            raise StartError("time is up")

    lab = FaultyLab(Broken(), Script())
    lab.script.on_run = writing(lab)
    study = Study.parse(STUDY)
    with Store.open(tmp_path, create=study.as_document()) as store:
        assert run_study(study, store, lab).finished == 2
    for record in load(tmp_path).records:
        assert record.read_back is not None
        assert record.read_back.error == "the cluster didn't come to serve again"
        assert (record.read_back.inserts.unread, record.read_back.inserts.missing) == (2, 0)


def test_a_record_too_many_after_faults_is_loaded_away(tmp_path: Path) -> None:
    class EngineError(Exception):
        message = "201 records are there, not 200"

    loads = 0

    def on_load(_spec: Any) -> None:
        nonlocal loads
        loads += 1
        if loads == 2:
            raise EngineError(EngineError.message)

    lab = FaultyLab(Diary(), Script(on_load=on_load))
    lab.script.on_run = lambda _spec: lab.break_by_hand()
    study, heard = Study.parse(STUDY), list[events.Event]()
    with Store.open(tmp_path, create=study.as_document()) as store:
        assert run_study(study, store, lab, observe=heard.append).failed == 0
    words = [entry.split()[0] for entry in lab.diary]
    once = ["prepare", "load"]
    assert words == ["open", *once, "run", *once, *once, "run", "close"]
    assert any(isinstance(e, events.Warned) and "201 records" in e.message for e in heard)


def test_a_server_that_ends_without_a_fault_is_still_a_failure(tmp_path: Path) -> None:
    diary = Diary(dead=["n2"])
    _, heard, summary = run_fake(diary, tmp_path)
    assert summary.failed == 2
    assert any(isinstance(e, events.RunFailed) and "n2" in e.reason for e in heard)
