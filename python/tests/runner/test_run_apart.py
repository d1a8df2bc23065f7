"""A study in a process of its own is told, interrupted and refused as one in this process is."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from clusters.conftest import eventually

import pacelc
from pacelc.clusters import NodeDied
from pacelc.runner import Interrupted, apart, events

STUDY = pacelc.Study.parse("""
name: apart
factors: {users: [1, 2]}
settings: {database: memory, warm_up: 0s, measure: 1s, cool_down: 0s, records: 10}
""")


@pytest.fixture(autouse=True)
def nobody_becomes_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "rooted", list[str])


def test_every_event_is_heard_in_its_order_and_the_results_are_kept(tmp_path: Path) -> None:
    heard: list[events.Event] = []
    apart.run_apart(STUDY, tmp_path, heard.append)
    kinds = [type(event) for event in heard]
    assert kinds[0] == events.StudyStarted
    assert kinds[-1] == events.StudyFinished
    assert kinds.count(events.RunFinished) == 2
    assert pacelc.load(tmp_path).runs["users"].to_list() == [1, 2]


def test_what_is_refused_there_is_refused_here(tmp_path: Path) -> None:
    apart.run_apart(STUDY, tmp_path, lambda _event: None)
    other = pacelc.Study.parse("name: other\nsettings: {database: memory}\n")
    with pytest.raises(pacelc.PacelcError, match="another study") as refused:
        apart.run_apart(other, tmp_path, lambda _event: None)
    assert "--out" in (refused.value.hint or "")


def test_an_interrupt_ends_the_run_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.RunStarted) and event.position == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as interrupted:
        apart.run_apart(STUDY, tmp_path, interrupt)
    assert interrupted.value.exit_status == 130
    assert pacelc.load(tmp_path).runs["users"].to_list() == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_before_the_child_hears_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def early(command: list[str]) -> list[str]:
        os.kill(os.getpid(), signal.SIGINT)
        return command

    monkeypatch.setattr(apart, "rooted", early)
    with pytest.raises(Interrupted):
        apart.run_apart(STUDY, tmp_path, lambda _event: None)
    assert not (tmp_path / "runs").exists()


def test_what_an_observer_raises_ends_the_study_and_is_raised(tmp_path: Path) -> None:
    class Enough(Exception):  # noqa: N818 - a test's
        pass

    def observe(event: events.Event) -> None:
        if isinstance(event, events.RunFinished):
            raise Enough

    with pytest.raises(Enough):
        apart.run_apart(STUDY, tmp_path, observe)
    assert pacelc.load(tmp_path).runs.height == 1


def test_a_child_that_is_killed_is_said_to_be(tmp_path: Path) -> None:
    def kill(event: events.Event) -> None:
        if isinstance(event, events.RunStarted):
            (child,) = children_of(os.getpid())
            os.kill(child, signal.SIGKILL)

    with pytest.raises(pacelc.CannotRun, match="ended with status -9"):
        apart.run_apart(STUDY, tmp_path, kill)


def test_it_works_outside_the_main_thread(tmp_path: Path) -> None:
    thread = threading.Thread(target=apart.run_apart, args=[STUDY, tmp_path, lambda _event: None])
    thread.start()
    thread.join()
    assert pacelc.load(tmp_path).runs.height == 2


def test_the_child_ends_with_its_caller(tmp_path: Path) -> None:
    code = f"""
import pacelc
from pathlib import Path
from pacelc.runner import apart
apart.rooted = list
study = pacelc.Study.parse("name: long\\nsettings: {{database: memory, measure: 99s}}")
apart.run_apart(study, Path({str(tmp_path)!r}), lambda event: print(type(event), flush=True))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        assert b"StudyStarted" in caller.stdout.readline()
        (child,) = children_of(caller.pid)
        caller.kill()
    assert eventually(lambda: not Path("/proc", str(child)).exists())


def children_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in children.split()]


def test_errors_are_the_same_when_they_have_passed_between_processes() -> None:
    for error in (
        NodeDied("n1", -6, "its log", disk_full=True),
        pacelc.InputError("no", "yes"),
        Interrupted(signal.SIGTERM),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)
