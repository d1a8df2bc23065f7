"""Searches that run: in the engine's own database, and on a real Redis."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl
import pytest
from real_servers import first_host

from pacelc.analysis import Design
from pacelc.report import write_report
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A median of a second always holds, and two hundred operations are enough to say so.
HOLDS = ["memory", "--p50", "1s", "--errors", "50%", "--from", "500", "--to", "2000"]
SHORT = ["--measure", "500ms", "--measure-ceiling", "1s", "--warm-up", "50ms"]
STUDY = """
name: two
factors: {consistency: [weak, strong], users: [1, 4]}
settings: {database: memory, records: 100, rate: 10, arrivals: poisson}
"""


@contextmanager
def started(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "pacelc", "saturate", *arguments]
    command += ["--out", str(directory / "out"), "--workdir", str(directory)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(directory: Path, *arguments: str, status: int | None = 0) -> tuple[str, str]:
    with started(directory, *arguments) as process:
        out, err = process.communicate(timeout=200)
    assert status is None or process.returncode == status, err
    assert "Traceback" not in err
    return out, err


def stored(directory: Path) -> dict[str, float]:
    """The runs that are there, and when each was written."""
    return {path.name: path.stat().st_mtime for path in (directory / "out/runs").glob("[0-9]*")}


def until(directory: Path, runs: int) -> None:
    end_s = time.monotonic() + 60
    while len(stored(directory)) < runs:
        assert time.monotonic() < end_s, "time is up"
        time.sleep(0.01)


def test_a_range_that_holds_is_answered_and_its_rungs_are_ordinary_runs(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(STUDY)
    out, _ = finish(tmp_path, str(tmp_path / "two.yaml"), *HOLDS[1:], *SHORT, "--json")
    document = json.loads(out)
    assert document == json.loads((tmp_path / "out/saturation.json").read_text())
    # The factor `users` is the search's own: two scenarios are left of four.
    assert [answer["label"] for answer in document["scenarios"]] == ["weak", "strong"]
    for answer in document["scenarios"]:
        assert (answer["status"], answer["limit"]) == ("at-least", "range")
        assert (answer["held"]["rate_per_s"], answer["held"]["runs"]) == (2000, 3)
        assert [rung["rate_per_s"] for rung in answer["rungs"]] == [500, 2000, 2000, 2000]
    results = load(tmp_path / "out")
    assert set(stored(tmp_path)) == set(results.runs["run"])
    assert set(stored(tmp_path)) >= {"1001-r1", "1002-r3", "2001-r1", "2002-r3"}
    rates = results.runs.group_by("rate").agg(pl.col("throughput_per_s").mean()).sort("rate")
    assert rates["throughput_per_s"].to_list() == pytest.approx([500, 2000], rel=0.6)
    design = Design.of(results)
    assert (design.level_factor, design.load_factor) == ("consistency", "rate")
    assert write_report(tmp_path / "out").html.is_file()
    assert (tmp_path / "out/saturation.png").read_bytes()[:4] == b"\x89PNG"


def test_a_part_is_searched_now_and_the_rest_stays_unfinished(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(STUDY)
    arguments = [str(tmp_path / "two.yaml"), *HOLDS[1:], *SHORT]
    out, _ = finish(tmp_path, *arguments, "--only", "consistency=strong")
    assert set(stored(tmp_path)) == {"2001-r1", "2002-r1", "2002-r2", "2002-r3"}
    assert "weak" not in out
    answers = json.loads((tmp_path / "out/saturation.json").read_text())["scenarios"]
    assert [answer["status"] for answer in answers] == ["unfinished", "at-least"]


def test_an_objective_that_nothing_holds_is_not_found(tmp_path: Path) -> None:
    impossible = ["memory", "--p50", "0.0001ms", "--errors", "50%"]
    out, _ = finish(tmp_path, *impossible, "--from", "1000", *SHORT, status=1)
    (answer,) = json.loads((tmp_path / "out/saturation.json").read_text())["scenarios"]
    assert answer["held"] is None
    assert answer["not_held"]["held"] == 0
    assert answer["not_held"]["runs"] == 3
    assert "the lowest rate tried" in out


def test_a_search_that_was_killed_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    with started(tmp_path, *HOLDS, *SHORT) as process:
        until(tmp_path, 2)
        process.send_signal(signal.SIGKILL)
    before = stored(tmp_path)
    assert 2 <= len(before) < 4
    finish(tmp_path, *HOLDS, *SHORT)
    after = stored(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) == {"1001-r1", "1002-r1", "1002-r2", "1002-r3"}
    _, err = finish(tmp_path, *HOLDS, *SHORT)
    assert stored(tmp_path) == after
    assert "op/s" not in err


def test_another_question_needs_another_directory(tmp_path: Path) -> None:
    finish(tmp_path, *HOLDS, *SHORT)
    other = [*HOLDS[:2], "2s", *HOLDS[3:]]
    _, err = finish(tmp_path, *other, *SHORT, status=3)
    assert "saturation.objective.latency_ms.p50 is 1000.0 there, 2000.0 here" in err


def test_a_mix_is_stored_as_it_always_was(tmp_path: Path) -> None:
    finish(tmp_path, "memory", "--ladder", "400,800", "--repeats", "1", *SHORT, "--mix", "95/5")
    study = json.loads((tmp_path / "out/study.json").read_text(encoding="utf-8"))["study"]
    assert study["overrides"][0] == {"set": {"workload.mix": {"read": 95, "update": 5}}}


def test_a_ladder_has_every_rung_as_often(tmp_path: Path) -> None:
    arguments = ["memory", "--ladder", "400..1600x2", "--repeats", "2", *SHORT]
    out, _ = finish(tmp_path, *arguments)
    (answer,) = json.loads((tmp_path / "out/saturation.json").read_text())["scenarios"]
    assert answer["status"] == "ladder"
    assert [rung["rate_per_s"] for rung in answer["rungs"]] == [400, 800, 1600] * 2
    assert "1,600/s" in out


@pytest.mark.cluster
def test_redis_is_searched_killed_in_the_middle_and_searched_on(tmp_path: Path) -> None:
    arguments = ["redis", "--set", "nodes=1", "--set", "records=100", "--p50", "20ms"]
    arguments += ["--set", f"cluster_options.first_host={first_host(10)}", "--from", "2000"]
    arguments += ["--errors", "5%", "--precision", "50%", *SHORT]
    with started(tmp_path, *arguments) as process:
        until(tmp_path, 3)
        process.send_signal(signal.SIGKILL)
    before = stored(tmp_path)
    # Whether Redis or the client is the limit is the machine's business.
    finish(tmp_path, *arguments, status=None)
    after = stored(tmp_path)
    assert {name: after[name] for name in before} == before
    (answer,) = json.loads((tmp_path / "out/saturation.json").read_text())["scenarios"]
    assert answer["status"] in ("found", "at-least")
    low, high = answer["held"], answer["not_held"]
    assert low["rate_per_s"] < high["rate_per_s"]
    assert low["runs"] == high["runs"] == 3
    assert low["held"] >= 2 > high["held"]
    assert {rung["run"] for rung in answer["rungs"]} == set(after) == set(load_runs(tmp_path))


def load_runs(directory: Path) -> list[str]:
    return load(directory / "out").runs["run"].to_list()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            "regions: [iowa, tokyo], clients: {iowa: 1, tokyo: 1}",
            "a search chooses the users",
        ),
        ("users: 4}\nlisted: [{number: 1, levels: {a: b}}]\n#", "lists its scenarios one by one"),
    ],
)
def test_a_study_that_leaves_a_search_no_place_is_refused(
    tmp_path: Path, settings: str, says: str
) -> None:
    (tmp_path / "s.yaml").write_text(
        f"name: s\nsettings: {{database: redis, nodes: 2, {settings}}}\n"
    )
    _, err = finish(tmp_path, str(tmp_path / "s.yaml"), "--p99", "10ms", status=2)
    assert says in err
    assert not (tmp_path / "out").exists()
