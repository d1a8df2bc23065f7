"""A plan with a real Ray: two nodes, each with a worker, on this machine's loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from ray_nodes import HEAD, OTHER, Ray, holders, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

# More than two parts to be solved, and several clusters to be simulated.
PLAN = [
    *("--rate", "30000", "--mix", "70/30", "--p99", "12ms", "--json"),
    *("--nodes", "3..600", "--cores", "1,2,3,4,6,8"),
]


def planned(
    directory: Path, *options: str, env: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pacelc", "plan", *PLAN, *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd=directory,
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    with planned(tmp_path_factory.mktemp("alone")) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["candidates"] > 3 * 1024
    return out


def test_two_nodes_find_what_one_machine_finds(two_nodes: Ray, alone: str, tmp_path: Path) -> None:
    """To the last bit: JSON has every digit."""
    env = {**two_nodes.env, "RAY_ADDRESS": two_nodes.address}
    with planned(tmp_path, "--workers", "ray:auto", env=env) as process:
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert err == f"workers: 2 on {HEAD}, {OTHER}\n"
    assert out == alone


def test_from_outside_the_cluster_it_is_the_same(
    two_nodes: Ray, alone: str, tmp_path: Path
) -> None:
    address = f"ray://{two_nodes.client}"
    with planned(tmp_path, "--workers", address, env=two_nodes.env) as process:
        out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err
    assert out == alone


def test_a_lost_worker_loses_nothing(two_nodes: Ray, alone: str, tmp_path: Path) -> None:
    env = {**two_nodes.env, "RAY_ADDRESS": two_nodes.address}
    with planned(tmp_path, "--workers", "ray:auto", env=env) as process:
        busy: list[int] = []

        def working() -> bool:
            commands = holders(two_nodes.directory).items()
            busy[:] = [pid for pid, command in commands if command.startswith("ray::Caller.call")]
            return bool(busy)

        until(working)
        os.kill(busy[0], signal.SIGKILL)
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    said = err.splitlines()
    assert said[0].startswith("workers: 2 on ")
    assert "was lost, and its part is done again by the 1 left: " in said[1]
    assert len(said) == 2
    assert out == alone


def test_processes_of_this_machine_find_the_same(alone: str, tmp_path: Path) -> None:
    with planned(tmp_path, "--workers", "2") as process:
        out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert err.startswith("workers: 2 on ")
    assert out == alone
