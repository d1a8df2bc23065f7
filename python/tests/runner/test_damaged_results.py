"""A damaged run is named and left out, measured again, and never deleted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from stored_runs import forget_sums

from pacelc.analysis import weaknesses
from pacelc.analysis.records import records_of_runs
from pacelc.names import counted
from pacelc.report import write_report
from pacelc.store import Store, StoreError, load

if TYPE_CHECKING:
    from collections.abc import Callable

STUDY = """
name: damaged
factors: {users: [1, 2]}
settings:
  {database: memory, measure: 200ms, warm_up: 0s, cool_down: 0s, records: 100, observe: true}
order: listed
repetitions: 1
"""
WHOLE, HURT = "0001-r1", "0002-r1"


def pacelc_run(
    directory: Path, *before: str, more: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run the study; ``before`` is a command that runs the command after it."""
    study = directory.parent / "study.yaml"
    study.write_text(STUDY, encoding="utf-8")
    command = [sys.executable, "-m", "pacelc", "run", str(study), "--out", str(directory), *more]
    return subprocess.run(
        [*before, *command], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("measured") / "out"
    done = pacelc_run(directory)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def results(measured: Path, tmp_path: Path) -> Path:
    return shutil.copytree(measured, tmp_path / "out")


def emptied(run: Path) -> None:
    (run / "run.json").write_bytes(b"")


def without_record(run: Path) -> None:
    (run / "run.json").unlink()


def nested(run: Path) -> None:
    (run / "run.json").write_text("[" * 200_000)


def another_number(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    record["result"]["operations"]["read"]["ok"] += 1
    (run / "run.json").write_text(json.dumps(record))


def cut_samples(run: Path) -> None:
    data = (run / "samples.parquet").read_bytes()
    (run / "samples.parquet").write_bytes(data[: len(data) // 2])


def cut_latencies(run: Path) -> None:
    lines = (run / "latency.hdr").read_text().splitlines(keepends=True)
    (run / "latency.hdr").write_text("".join(lines[:-1]))


def flipped_operations(run: Path) -> None:
    data = bytearray((run / "operations.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (run / "operations.parquet").write_bytes(data)


def lost_operations(run: Path) -> None:
    (run / "operations.parquet").unlink()


def directory_for_file(run: Path) -> None:
    (run / "resources.parquet").unlink()
    (run / "resources.parquet").mkdir()


def endless(run: Path) -> None:
    (run / "run.json").unlink()
    (run / "run.json").symlink_to("/dev/zero")


def never_written(run: Path) -> None:
    (run / "latency.hdr").unlink()
    os.mkfifo(run / "latency.hdr")


def copied(run: Path) -> None:
    shutil.rmtree(run)
    shutil.copytree(run.with_name(WHOLE), run)


def a_file(run: Path) -> None:
    shutil.rmtree(run)
    run.write_text("mine")


DAMAGE: dict[Callable[[Path], None], str] = {
    emptied: "run.json:1: is not JSON",
    without_record: "run.json can't be read: No such file",
    nested: "run.json: is nested more than 200 deep",
    another_number: "run.json has changed since the run was stored",
    cut_samples: "samples.parquet has changed",
    cut_latencies: "latency.hdr has changed",
    flipped_operations: "operations.parquet has changed",
    lost_operations: "operations.parquet is missing",
    directory_for_file: "resources.parquet is missing",
    endless: "run.json is no file, but a device or a pipe",
    never_written: "latency.hdr is no file, but a device or a pipe",
    copied: "0002-r1 is a copy of run 0001-r1",
    a_file: "run.json can't be read: Not a directory",
}


def content(path: Path) -> dict[str, bytes]:
    """What is in a directory or a file."""
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


@pytest.mark.parametrize(("damage", "words"), DAMAGE.items())
def test_a_damaged_run_is_named_and_left_out(
    damage: Callable[[Path], None], words: str, results: Path
) -> None:
    damage(results / "runs" / HURT)
    found = load(results)
    assert found.runs.get_column("run").to_list() == [WHOLE]
    assert words in found.damaged["out", HURT]
    (named,) = [weak for weak in weaknesses(found) if weak.kind == "damaged"]
    assert named.runs == (HURT,)
    with pytest.raises(StoreError, match=HURT):
        found.whole()
    with Store.open(results) as store:
        assert store.finished() == {WHOLE}
        assert words in store.damaged[HURT]


def test_a_report_says_what_it_leaves_out(results: Path) -> None:
    emptied(results / "runs" / HURT)
    assert f"run {HURT} is left out" in write_report(results).html.read_text()


def test_a_regression_says_what_it_leaves_out(results: Path) -> None:
    emptied(results / "runs" / HURT)
    texts = [caution.text for caution in records_of_runs(results).cautions]
    assert f"damaged runs are left out: {HURT}" in texts


@pytest.mark.parametrize("damage", [emptied, without_record, copied, cut_latencies, a_file])
def test_a_damaged_run_is_measured_again_and_kept(
    damage: Callable[[Path], None], results: Path
) -> None:
    damage(results / "runs" / HURT)
    hurt, whole = content(results / "runs" / HURT), content(results / "runs" / WHOLE)
    done = pacelc_run(results)
    assert done.returncode == 0, done.stderr
    assert f"warning: run {HURT} is damaged, so it is measured again: " in done.stderr
    assert "1 run finished, 1 finished before" in done.stderr
    assert load(results).whole().runs.height == 2
    assert content(results / "damaged" / f"{HURT}.1") == hurt
    assert content(results / "runs" / WHOLE) == whole
    again = pacelc_run(results)
    assert "0 runs finished, 2 finished before" in again.stderr
    assert "warning" not in again.stderr


def test_every_damaged_one_of_a_run_is_kept(results: Path) -> None:
    for _ in range(2):
        emptied(results / "runs" / HURT)
        assert pacelc_run(results).returncode == 0
    assert sorted(path.name for path in (results / "damaged").iterdir()) == [
        f"{HURT}.1",
        f"{HURT}.2",
    ]


def test_a_copy_under_a_name_that_no_run_has_is_left_where_it_is(results: Path) -> None:
    copy = shutil.copytree(results / "runs" / HURT, results / "runs" / "0002-r9")
    done = pacelc_run(results)
    assert done.returncode == 0
    assert "warning: run 0002-r9 is damaged, so it isn't used: " in done.stderr
    assert copy.is_dir()
    assert load(results).runs.height == 2


def test_what_is_not_pacelcs_in_a_results_directory_stays(results: Path) -> None:
    (results / "runs/.git").mkdir()
    (results / "runs/.git/HEAD").write_text("mine")
    for name in ("runs/.DS_Store", "runs/notes.txt", "failures/.mine.tmp", ".mine.tmp"):
        (results / name).write_text("mine")
    for name in (f"runs/.{HURT}.4711", f"runs/.{HURT}.operations"):
        (results / name).mkdir()
    half = (".study.json.tmp", f"failures/.{HURT}.1.json.tmp")
    for name in half:
        (results / name).write_text("{")
    before = content(results)
    done = pacelc_run(results)
    assert done.returncode == 0, done.stderr
    after = content(results)
    assert before.keys() - after.keys() == set(half)
    assert not list((results / "runs").glob(f".{HURT}.*"))
    assert load(results).runs.height == 2


def test_damaged_failures_and_lines_of_the_timeline_are_named_and_left_out(results: Path) -> None:
    with Store.open(results) as store:
        store.write_failure(WHOLE, reason="r")
        store.write_failure(HURT, reason="r").write_text("{}")
    with (results / "timeline.jsonl").open("ab") as stream:
        stream.write(b"\xff\n{}\n")
    found = load(results)
    assert found.failures.get_column("run").to_list() == [WHOLE]
    assert found.timeline.height == load(results).timeline.height > 0
    failure, line = found.problems
    assert f"{HURT}.1.json: format: Field required" in failure
    assert "timeline.jsonl, line " in line
    assert "(and 1 line more)" in line


def test_runs_whose_study_was_lost_are_not_taken_for_another_studys(results: Path) -> None:
    (results / "study.json").unlink()
    done = pacelc_run(results)
    assert done.returncode == 3
    assert "no study.json but holds" in done.stderr
    assert "runs/0001-r1" in done.stderr


def test_runs_of_before_there_were_checksums_are_read(results: Path) -> None:
    forget_sums(results)
    assert load(results).whole().runs.height == 2
    cut_samples(results / "runs" / HURT)
    assert "samples.parquet can't be read" in load(results).damaged["out", HURT]
    assert "0 runs finished" not in pacelc_run(results).stderr


def without_an_operation(run: Path) -> None:
    log = pl.read_parquet(run / "operations.parquet")
    log.head(log.height - 1).write_parquet(run / "operations.parquet")


def with_one_operation_and_no_sample(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    del record["result"]["observed"]
    (run / "run.json").write_text(json.dumps(record))
    log = pl.read_parquet(run / "operations.parquet")
    log.head(1).write_parquet(run / "operations.parquet")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lost_operations, "operations.parquet is missing"),
        (without_an_operation, "rows, and should have "),
        (with_one_operation_and_no_sample, " or more"),
    ],
)
def test_without_checksums_a_run_has_as_many_operations_as_it_says(
    damage: Callable[[Path], None], words: str, results: Path
) -> None:
    forget_sums(results)
    damage(results / "runs" / HURT)
    assert words in load(results).damaged["out", HURT]


def test_a_run_that_may_not_be_read_is_not_measured_again(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_bytes

    def shut(path: Path) -> bytes:
        if path.parent.name == HURT:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", shut)
    assert "Permission denied" in load(results).damaged["out", HURT]
    with Store.open(results) as store, pytest.raises(StoreError, match="Permission denied"):
        store.finished()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_changed_byte_of_a_run_changes_results_unseen(
    data: st.DataObject, measured: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = shutil.copytree(measured, tmp_path_factory.mktemp("byte") / "out")
    files = sorted((directory / "runs" / HURT).iterdir())
    path = data.draw(st.sampled_from(files))
    old = path.read_bytes()
    place = data.draw(st.integers(0, len(old) - 1))
    new = data.draw(st.binary(max_size=3))
    path.write_bytes(old[:place] + new + old[place + 1 :])
    found = load(directory)
    if found.damaged:
        assert set(found.damaged) == {("out", HURT)}
        assert found.runs.height == 1
    else:
        assert_frame_equal(found.runs, load(measured).runs)
    shutil.rmtree(directory.parent)


def on_a_small_disk(directory: Path, size: str) -> list[str]:
    """Return a command that runs another one with its results on a disk of that size."""
    kept = directory.parent / "kept"
    kept.mkdir(exist_ok=True)
    directory.mkdir(exist_ok=True)
    script = (
        f'mount -t tmpfs -o size={size} none "{directory}" && cp -a "{kept}/." "{directory}"'
        f' && {{ "$@"; status=$?; cp -a "{directory}/." "{kept}"; exit $status; }}'
    )
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes disks of its own")
@pytest.mark.parametrize(("observe", "size"), [("true", "600k"), ("false", "200k")])
def test_a_full_disk_ends_the_study_and_finished_runs_are_kept(
    observe: str, size: str, tmp_path: Path
) -> None:
    directory, kept = tmp_path / "out", tmp_path / "kept"
    more = ("--set", f"observe={observe}", "--set", "repetitions=4")
    full = pacelc_run(directory, *on_a_small_disk(directory, size), more=more)
    assert full.returncode == 3, full.stderr
    assert "no space left" in full.stderr.lower()
    assert "hint: free some space and start the study again: finished runs are kept" in full.stderr
    assert full.stderr.count("\nfailed ") <= 1
    before = content(kept / "runs")
    finished = full.stderr.count("\ndone ")
    assert finished == len({name.split("/")[0] for name in before if not name.startswith(".")})
    assert finished < 8
    done = pacelc_run(directory, *on_a_small_disk(directory, "200m"), more=more)
    assert done.returncode == 0, done.stderr
    assert f"{counted(8 - finished, 'run')} finished" in done.stderr
    assert load(kept).whole().runs.height == 8
    assert {name for name in before if not name.startswith(".")} <= content(kept / "runs").keys()
