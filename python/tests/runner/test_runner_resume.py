"""A study killed at any moment resumes with what is missing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pacelc.store import Store, load

# Sleeps where a run would measure, so that the kill may come at any moment of a run.
ON_A_FAKE_LAB = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pacelc.runner import run_study
from fake_lab import FakeLab, Script
from pacelc.store import Store
from pacelc.study import Study

study = Study.parse('''
name: killed
factors: {{users: [1, 2, 3]}}
settings: {{database: memory, measure: 1s, warm_up: 0s, cool_down: 0s}}
repetitions: 4
''')
with Store.open(sys.argv[1], create=study.as_document()) as store:
    lab = FakeLab(Script(on_run=lambda _spec: time.sleep(0.1)))
    print("started", flush=True)
    summary = run_study(study, store, lab)
    print(lab.diary.count("run"), summary.already_there, flush=True)
"""


def start(directory: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", ON_A_FAKE_LAB, str(directory)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def kill_after(delay_s: float, directory: Path, runs: int = 0) -> None:
    """Kill it so long after as many runs are there."""
    with start(directory) as process:
        deadline = time.monotonic() + 30
        while len(stored(directory)) < runs and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)


def finish(directory: Path) -> str:
    with start(directory) as process:
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out


def stored(directory: Path) -> dict[str, float]:
    """The runs that are there, and when each was written."""
    return {path.name: path.stat().st_mtime for path in (directory / "runs").glob("[0-9]*")}


@pytest.mark.parametrize("delay_s", [0.0, 0.11, 0.23, 0.37])
def test_kill_9_at_any_moment_loses_only_the_run_it_hit(tmp_path: Path, delay_s: float) -> None:
    kill_after(delay_s, tmp_path)
    before = stored(tmp_path)

    out = finish(tmp_path)
    assert out.split() == [str(12 - len(before)), str(len(before))]
    assert {name: when for name, when in stored(tmp_path).items() if name in before} == before
    assert load(tmp_path).runs.height == 12


def test_many_kills_in_a_row_still_end_with_every_run_once(tmp_path: Path) -> None:
    for kills in range(1, 5):
        kill_after(0.05, tmp_path, runs=kills)
    out = finish(tmp_path)
    assert int(out.split()[0]) <= 8
    runs = load(tmp_path).runs
    assert runs.height == runs["run"].n_unique() == 12


def test_two_runners_never_share_a_directory(tmp_path: Path) -> None:
    with Store.open(tmp_path, create={"name": "killed"}):
        second = subprocess.run(
            [sys.executable, "-c", ON_A_FAKE_LAB, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert second.returncode != 0
    assert "another runner is writing" in second.stderr
