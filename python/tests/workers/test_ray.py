"""With a real Ray: two nodes, each with a worker, on this machine's loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from ray_nodes import HEAD, OTHER, Ray, agents, holders, until

from pacelc.store import load
from pacelc.store.latency_log import read_latency_log

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.cluster

# Addresses of their own: whoever else runs Redis on this machine is not met.
REDIS = """
name: spread
factors: {consistency: [weak]}
settings:
  database: redis
  cluster_options: {first_host: 127.78.3.1}
  users: 5
  think_time: 2ms
  measure: 2s
  warm_up: 300ms
  cool_down: 0s
  records: 200
"""
NOOP = """
name: spread
factors: {users: [4]}
settings: {database: noop, think_time: 1ms, measure: 1s, warm_up: 0s, cool_down: 0s}
"""


@contextmanager
def started(
    directory: Path,
    text: str,
    *options: str,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[subprocess.Popen[str]]:
    study = directory / "study.yaml"
    study.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pacelc", "run", str(study), "--out", str(directory / "out")]
    command += ["--workers-lead", "4s", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=cwd
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_two_nodes_measure_one_run(two_nodes: Ray, tmp_path: Path) -> None:
    env = {**two_nodes.env, "RAY_ADDRESS": two_nodes.address}
    with started(tmp_path, REDIS, "--workers", "ray:auto", env=env) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert out == f"{tmp_path / 'out'}\n"
    results = load(tmp_path / "out")
    (record,) = results.records
    one, other = record.result.workers
    assert [one.node, other.node] == [HEAD, OTHER]
    assert [one.users, other.users] == [(0, 1), (2, 4)]
    kinds = record.result.operations
    assert one.ok > 0
    assert other.ok > 0
    assert one.ok + other.ok == sum(kind.ok for kind in kinds.values())
    (file,) = (tmp_path / "out").glob("runs/*/latency.hdr")
    log = read_latency_log(file.read_text(encoding="utf-8"))
    for name, kind in kinds.items():
        assert log.merged(operation=name, outcome="ok").count == kind.ok == kind.latency_ns.n
    assert one.first_start_skew_ms is not None
    assert other.first_start_skew_ms is not None
    assert abs(one.first_start_skew_ms - other.first_start_skew_ms) < 2_000
    assert one.uncertainty_ms + other.uncertainty_ms < 50
    # The load generator is the workers: this process is none.
    clients = results.resources.filter(results.resources["role"] == "client")
    assert set(clients["node"]) == {"worker 1", "worker 2"}
    assert record.result.client.threads == one.client.threads + other.client.threads


def test_a_killed_worker_fails_its_run_by_name_and_the_study_goes_on(
    two_nodes: Ray, tmp_path: Path
) -> None:
    env = {**two_nodes.env, "RAY_ADDRESS": two_nodes.address}
    text = NOOP.replace("measure: 1s", "measure: 4s") + "repetitions: 2\n"
    with started(tmp_path, text, "--workers", "ray:auto", env=env) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("run 1/2"):
                break
        until(lambda: len(agents(two_nodes.directory)) == 2)
        (pid,) = (pid for pid, node in agents(two_nodes.directory).items() if OTHER in node)
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=100)
    assert process.returncode == 1, err
    assert out == f"{tmp_path / 'out'}\n"
    said = r"failed 1/2 0001-r1 users=4: worker 2 of 2 on node 127\.78\.0\.2 was lost (.*): (.*)"
    (match,) = (found for line in err.splitlines() if (found := re.fullmatch(said, line)))
    assert match[1] == "before the start" or match[1].startswith("at ")
    assert match[2] == "users 2 to 3 were not measured"
    assert "1 run finished, 1 failed" in err
    results = load(tmp_path / "out")
    (record,) = results.records
    assert [worker.users for worker in record.result.workers] == [(0, 1), (2, 3)]
    assert results.failures.height == 1
    until(lambda: not agents(two_nodes.directory))


def test_from_outside_the_cluster_through_its_client_server(two_nodes: Ray, tmp_path: Path) -> None:
    address = f"ray://{two_nodes.client}"
    with started(tmp_path, NOOP, "--workers", address, env=two_nodes.env) as process:
        # Longer than all that pacelc itself waits for, so that it tells what went wrong.
        _, err = process.communicate(timeout=280)
    assert process.returncode == 0, err + logs_of_client_server(two_nodes.directory)
    (record,) = load(tmp_path / "out").records
    assert [worker.node for worker in record.result.workers] == [HEAD, OTHER]


def logs_of_client_server(directory: Path) -> str:
    logs = sorted(directory.glob("session_latest/logs/ray_client_server*"))
    return "".join(f"\n{log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)


def test_operations_are_recorded_where_pacelc_stands_and_as_many_as_asked(tmp_path: Path) -> None:
    text = NOOP.replace("measure: 1s", "measure: 60s, operations: 501, record_operations: true")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path),
    }
    options = ("--workers", "2", "--out", "results/spread")
    with started(tmp_path, text, *options, env=env, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert out == "results/spread\n"
    results = load(tmp_path / "results/spread")
    (record,) = results.records
    assert sum(kind.ok for kind in record.result.operations.values()) == 501
    (file,) = (tmp_path / "results/spread").glob("runs/*/operations.parquet")
    assert pl.read_parquet(file).height >= 501


def test_nothing_is_left_of_our_own_ray_when_we_are_killed(tmp_path: Path) -> None:
    before = set(Path("/tmp").glob("pacelc-cluster-ray-*"))
    text = NOOP.replace("measure: 1s", "measure: 60s")
    with started(tmp_path, text, "--workers", "2") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("run 1/1"):
                break
        mine = [
            d for d in set(Path("/tmp").glob("pacelc-cluster-ray-*")) - before if of(d, process)
        ]
        (directory,) = mine
        until(lambda: len(agents(directory)) == 2)
        process.kill()
    until(lambda: not directory.exists() and holders(directory) == {}, 20)


def of(directory: Path, process: subprocess.Popen[str]) -> bool:
    return f'"pid": {process.pid},' in (directory / "owner.json").read_text()
