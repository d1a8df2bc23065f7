"""The same promises with the real engine, in a process of its own; and with real servers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from pacelc.clusters import ClusterError
from pacelc.clusters.idle_states import require_idle_states
from pacelc.clusters.sizes.cgroups import NoGroups, find_parents
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pacelc.clusters.sizes.cgroups import Controller

MEMORY = """
name: killed
factors: {consistency: [weak, strong], users: [1, 4]}
settings: {database: memory, measure: 200ms, warm_up: 50ms, cool_down: 0s, records: 100}
repetitions: 2
"""

# Addresses of their own: whoever else runs Redis on this machine is not met.
REDIS = """
name: killed
factors: {consistency: [weak, strong], users: [1, 4]}
settings:
  database: redis
  cluster_options: {first_host: 127.77.3.1}
  measure: 600ms
  warm_up: 100ms
  cool_down: 0s
  records: 100
"""


SIZED = """
name: sized
factors: {cores: [0.3, 1], nodes: [1, 2]}
settings:
  database: redis
  cluster_options: {first_host: 127.77.3.1}
  memory: 200MiB
  users: 8
  measure: 1s
  warm_up: 100ms
  cool_down: 0s
  records: 100
order: listed
"""


@contextmanager
def started(directory: Path, text: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    study = directory / "study.yaml"
    study.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pacelc", "run", str(study)]
    command += ["--out", str(directory / "out"), "--workdir", str(directory), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def until(what: Callable[[], bool], limit_s: float = 60.0) -> None:
    end_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end_s, "time is up"
        time.sleep(0.01)


def stored(directory: Path) -> dict[str, float]:
    """The runs that are there, and when each was written."""
    return {path.name: path.stat().st_mtime for path in (directory / "out/runs").glob("[0-9]*")}


def servers(directory: Path) -> list[int]:
    """Live processes that were started for this test."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"redis-server" in command and (
            str(directory).encode() in command or b"127.77.3." in command
        ):
            found.append(int(process.name))
    return found


def finish(directory: Path, text: str) -> str:
    """Run the same command to its end; return what it said."""
    with started(directory, text) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out == f"{directory / 'out'}\n"
    return err


def test_kill_9_loses_only_the_run_it_hit(tmp_path: Path) -> None:
    with started(tmp_path, MEMORY) as process:
        until(lambda: len(stored(tmp_path)) >= 3)
        process.send_signal(signal.SIGKILL)
    before = stored(tmp_path)
    assert 3 <= len(before) < 8
    err = finish(tmp_path, MEMORY)
    assert f"8 runs, {len(before)} finished before" in err
    after = stored(tmp_path)
    assert {name: after[name] for name in before} == before
    assert len(after) == 8


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_study_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with started(tmp_path, MEMORY) as process:
        until(lambda: len(stored(tmp_path)) >= 1)
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert process.returncode == status
    assert "hint: the same command continues the study" in err
    assert "Traceback" not in err
    finish(tmp_path, MEMORY)


def test_the_recorded_run_can_be_read_back(tmp_path: Path) -> None:
    finish(tmp_path, MEMORY)
    results = load(tmp_path / "out")
    assert results.runs.height == 8
    assert results.runs["throughput_per_s"].max() > 0
    assert set(results.resources["role"]) == {"client", "machine"}
    assert set(results.timeline["what"]) >= {"prepare", "load", "warm-up", "measure", "store"}


def test_operations_are_recorded_where_a_study_asks_for_them(tmp_path: Path) -> None:
    text = MEMORY.replace("records: 100}", "records: 100, record_operations: true}")
    finish(tmp_path, text.replace("repetitions: 2", "repetitions: 1"))
    operations = load(tmp_path / "out").operations
    assert operations is not None
    kinds = operations.select("operation").unique().collect()["operation"].to_list()
    assert sorted(kinds) == ["read", "update"]


@pytest.mark.parametrize("setting", ["observe", "record_operations"])
def test_what_was_kept_of_the_operations_is_said(tmp_path: Path, setting: str) -> None:
    workload = "workload: {records: 100, writers: single, update_all_fields: true}"
    text = MEMORY.replace("records: 100}", f"{workload}, {setting}: true}}")
    finish(tmp_path, text.replace("repetitions: 2", "repetitions: 1"))
    results = load(tmp_path / "out")
    operations = results.operations
    assert operations is not None
    assert set(operations.collect()["read_origin"]) == {"load", "run", "earlier", None}
    for record in results.records:
        observed = record.result.observed
        if setting == "record_operations":
            assert observed is None
            continue
        assert observed is not None
        frame = results.frame_of("out", record.run, "operations.parquet")
        assert frame is not None
        assert observed.logged == frame.height > 0
        assert observed.limit_bytes == 64 * 2**20
        writers = frame.filter(frame["operation"] == "update").group_by("record").n_unique()
        assert writers["user"].max() == 1


@pytest.mark.cluster
def test_every_version_that_is_read_of_a_real_server_is_attributed(tmp_path: Path) -> None:
    mix = "mix: {read: 5, update: 4, read_modify_write: 1}"
    workload = f"workload: {{records: 500, update_all_fields: true, {mix}}}"
    text = REDIS.replace("  records: 100\n", f"  {workload}\n  observe: true\n")
    finish(tmp_path, text.replace("settings:", "repetitions: 2\nsettings:"))
    results = load(tmp_path / "out")
    origins: set[str] = set()
    for record in results.records:
        observed = record.result.observed
        assert observed is not None
        assert observed.is_whole
        log = results.frame_of("out", record.run, "operations.parquet")
        assert log is not None
        assert log.height == observed.logged == observed.operations > 1_000
        assert (log["outcome"] == "ok").all()
        assert not log["torn"].any()
        reads = log.filter(log["operation"] != "update")
        assert reads["read_origin"].null_count() == 0
        origins |= set(reads["read_origin"])
        own = reads.filter(reads["read_origin"] == "run").select(
            "record", user=pl.col("read_writer") - 1, sequence="read_sequence"
        )
        writes = log.filter(log["operation"] != "read")
        assert own.join(writes, on=["record", "user", "sequence"], how="anti").is_empty()
        assert record.result.operations["read"].missed == 0
    assert origins == {"run", "load", "earlier"}


@pytest.mark.cluster
def test_kill_9_takes_real_servers_along_and_the_study_resumes(tmp_path: Path) -> None:
    with started(tmp_path, REDIS) as process:
        until(lambda: len(stored(tmp_path)) >= 2)
        assert servers(tmp_path)
        process.send_signal(signal.SIGKILL)
    until(lambda: not servers(tmp_path), 10)
    before = stored(tmp_path)
    finish(tmp_path, REDIS)
    after = stored(tmp_path)
    assert {name: after[name] for name in before} == before
    assert len(after) == 4
    assert not servers(tmp_path)


@pytest.mark.cluster
def test_a_study_keeps_and_says_nothing_of_its_servers_passwords(tmp_path: Path) -> None:
    with started(tmp_path, REDIS) as process:
        until(lambda: len(stored(tmp_path)) >= 1)
        files = list(tmp_path.glob("pacelc-cluster-*/*.password"))
        passwords = {path.read_text() for path in files}
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert {path.name for path in files} == {"admin.password", "load.password"}
    kept = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for password in passwords:
        assert password not in out + err
        assert not any(password.encode() in content for content in kept)
    [record, *_] = [path.read_text() for path in (tmp_path / "out").rglob("run.json")]
    assert json.loads(record)["target"]["security"]["user"] == "load"


@pytest.mark.cluster
def test_ctrl_c_takes_real_servers_down(tmp_path: Path) -> None:
    # Long enough that a busy machine isn't done before it is told.
    with started(tmp_path, REDIS.replace("measure: 600ms", "measure: 4s")) as process:
        until(lambda: len(stored(tmp_path)) >= 1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert not servers(tmp_path)


@pytest.mark.cluster
def test_a_server_killed_in_the_middle_costs_one_run_and_the_others_go_on(tmp_path: Path) -> None:
    with started(tmp_path, REDIS) as process:
        until(lambda: len(stored(tmp_path)) >= 1)
        os.kill(max(servers(tmp_path)), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "was ended by signal 9" in err
    assert "3 runs finished, 1 failed" in err
    failures = load(tmp_path / "out").failures
    assert failures.height == 1
    assert failures["log_tail"][0]
    assert "1 run finished" in finish(tmp_path, REDIS)


@pytest.mark.cluster
def test_a_port_in_use_fails_the_cluster_in_one_line_with_a_hint(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.77.3.1", 16379))
        listener.listen()
        with started(tmp_path, REDIS) as process:
            _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    (line,) = [line for line in err.splitlines() if line.startswith("failed cluster")]
    assert "port in use: 127.77.3.1:16379" in line
    assert "Traceback" not in err
    assert load(tmp_path / "out").failures.height == 4


@pytest.mark.cluster
def test_up_prints_endpoints_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pacelc", "up", "redis", "--workdir", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--option", "first_host=127.77.3.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline().split() for _ in range(4)]
            assert [line[:3] for line in lines] == [
                ["node", "role", "endpoint"],
                ["primary", "primary", "127.77.3.1:16379"],
                ["replica1", "replica", "127.77.3.2:16379"],
                ["replica2", "replica", "127.77.3.3:16379"],
            ]
            assert process.stderr is not None
            said = list(iter(process.stderr.readline, "serving; Ctrl-C ends it\n"))
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert not servers(tmp_path)
    (login,) = [line.strip() for line in said if line.startswith("to get in")]
    assert login.startswith(f"to get in: REDISCLI_AUTH=$(cat {tmp_path}/pacelc-cluster-redis-")
    assert login.endswith("/load.password) redis-cli --user load -h 127.77.3.1 -p 16379")


def test_a_cluster_is_burnt_in_once_and_a_run_that_inserts_gets_fresh_data(tmp_path: Path) -> None:
    text = MEMORY.replace("records: 100", "records: 100, burn_in: 300ms, mix: {insert: 1}")
    with started(tmp_path, text.replace("warm_up: 50ms", "warm_up: 0s")) as process:
        assert process.wait(60) == 0
    timeline = load(tmp_path / "out").timeline
    burnt_in = timeline.filter(timeline["what"] == "warm-up")
    (seconds,) = burnt_in["seconds"].to_list()
    assert 0.2 <= seconds < 30
    # Eight runs that insert, and one load after the burn-in.
    assert timeline.filter(timeline["what"] == "load").height == 9


def needs_groups(*controllers: Controller) -> None:
    try:
        find_parents(frozenset(controllers))
    except NoGroups as reason:
        pytest.skip(str(reason))


@pytest.mark.cluster
def test_the_process_that_disables_idle_states_is_recorded_and_is_no_load(tmp_path: Path) -> None:
    try:
        require_idle_states()
    except ClusterError as reason:
        pytest.skip(str(reason))
    text = REDIS.replace("measure: 600ms", "measure: 3s\n  no_idle_states: true")
    finish(tmp_path, text.replace("users: [1, 4]", "users: [1]"))
    results = load(tmp_path / "out")
    own = results.resources.filter(results.resources["role"] == "no_idle_states")
    assert own.height > 0
    assert "no_idle_states" not in results.nodes["role"]
    # It sleeps, and processors that poll for work aren't counted as used by others.
    assert own["cpu_user_s"].max() < 1
    used = results.nodes.group_by("run").agg(used=pl.col("cpu_cores").sum())
    parts = results.runs.select("run", "others_cores").join(used, on="run")
    whole = parts.select(pl.sum_horizontal("others_cores", "used")).to_series()
    assert whole.max() < 1.1 * (os.cpu_count() or 1)


@pytest.mark.cluster
def test_the_size_of_nodes_is_in_force_and_recorded_with_every_run(tmp_path: Path) -> None:
    needs_groups("cpu", "memory")
    with started(tmp_path, SIZED) as process:
        out, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    assert "of memory will be taken" in told
    assert told.count("starting primary") == 2, "the second cluster of each size grew"
    records = load(Path(out.strip())).records
    assert [record.resized_from_nodes for record in records] == [[], [1], [], [1]]
    for record in records:
        sizes, nodes = record.sizes, int(record.scenario.settings["nodes"])
        assert sizes is not None
        assert sizes.cores == record.scenario.factors["cores"]
        assert list(sizes.nodes) == ["primary", "replica1"][:nodes]
        for node in sizes.nodes.values():
            assert node.cpu_quota_us is not None
            assert node.cpu_period_us is not None
            assert node.cpu_quota_us / node.cpu_period_us == pytest.approx(sizes.cores)
            assert node.memory_limit_bytes == 200 << 20
            assert node.oom_kills == 0
    assert servers(tmp_path) == []


def test_records_that_no_node_has_memory_for_are_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    with started(tmp_path, SIZED, "--set", "records=1000000") as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "holds every record in memory" in told
    assert "set memory to" in told
    assert "starting" not in told
