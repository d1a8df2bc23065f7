"""What a command does where its output goes nowhere, and when it is told to ignore a signal."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: s
settings:
  database: memory
  warm_up: 0s
  measure: 0.2s
  cool_down: 0s
  workload: {records: 10}
"""
RUN = "run s.yaml --out results"


def shell(command: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run `PACELC` of a shell command."""
    (where / "s.yaml").write_text(STUDY, encoding="utf-8")
    return subprocess.run(
        ["sh", "-c", command.replace("PACELC", f"{sys.executable} -m pacelc")],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("nowhere", ["2>&-", "2>/dev/full", "2>&1 >path | true; cat path"])
def test_a_study_goes_on_where_nobody_hears_of_it(nowhere: str, tmp_path: Path) -> None:
    done = shell(f"PACELC {RUN} {nowhere}", tmp_path)
    assert (done.returncode, done.stdout) == (0, "results\n")
    assert (tmp_path / "results" / "runs" / "0001-r1" / "run.json").is_file()


def test_a_study_goes_on_where_a_pipe_is_full_and_writing_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(STUDY, encoding="utf-8")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    done = subprocess.run(
        [sys.executable, "-m", "pacelc", *RUN.split()],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=writer,
        check=False,
    )
    os.close(reader)
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"results\n")


def test_an_answer_waits_for_a_slow_reader(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filled = 0
    with suppress(BlockingIOError):
        while True:
            filled += os.write(writer, bytes(4096))
    command = subprocess.Popen(
        [sys.executable, "-m", "pacelc", "studies"], cwd=tmp_path, stdout=writer
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        with pytest.raises(subprocess.TimeoutExpired):
            command.wait(timeout=5)
        assert b"quickstart" in answers.read()[filled:]
    assert command.wait() == 0


def test_the_status_of_bad_input_is_the_same_where_nobody_hears_of_it(tmp_path: Path) -> None:
    assert shell("PACELC run nothing.yaml 2>&-", tmp_path).returncode == 2


@pytest.mark.parametrize("nowhere", [">&-", ">/dev/full"])
@pytest.mark.parametrize("command", ["studies", "--help", "--version", RUN])
def test_an_answer_that_nobody_gets_is_an_error(command: str, nowhere: str, tmp_path: Path) -> None:
    done = shell(f"PACELC {command} {nowhere}", tmp_path)
    assert done.returncode == 3
    assert "error: standard output can't be written: " in done.stderr
    assert "Exception" not in done.stderr
    assert "bug" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_success_and_no_error(tmp_path: Path) -> None:
    done = shell("{ sleep 1; PACELC studies; echo $? >&2; } | true", tmp_path)
    assert done.stderr == "141\n"


def test_a_command_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    program = (
        "import os, signal\n"
        "from pacelc.runner.interruption import Interrupted, interruptible\n"
        "with interruptible():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    print('goes on')\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    except Interrupted as interrupted:\n"
        "        print(interrupted)\n"
    )
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = shell(f"nohup {sys.executable} program.py", tmp_path)
    assert done.stdout == "goes on\nSIGTERM\n"
