"""A Ray of two nodes on this machine's loopback, and what is alive of it."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pacelc.clusters.process import Supervisor, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD, OTHER = "127.78.0.1", "127.78.0.2"


@dataclass(frozen=True)
class Ray:
    address: str
    client: str
    directory: Path
    env: dict[str, str]


def until(what: Callable[[], bool], limit_s: float = 150.0) -> None:
    end_s = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < end_s, "time is up"
        time.sleep(0.02)


def holders(directory: Path) -> dict[int, str]:
    """Processes that have something open below a directory, or name it: pid and command."""
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            opened = [str(link.readlink()) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if str(directory) in command or any(str(directory) in path for path in opened):
            found[int(process.name)] = command.replace("\0", " ")
    found.pop(os.getpid(), None)
    return found


def agents(directory: Path) -> dict[int, str]:
    """The workers' processes, and the command of the node that each belongs to."""
    alive = holders(directory)
    found: dict[int, str] = {}
    for pid, command in alive.items():
        if command.startswith("ray::Agent"):
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            found[pid] = alive.get(parent, "")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HEAD, 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Beginning:
    """Starts nodes. One that Ray gives up after its 30 s, on a machine with other work, anew."""

    keeper: Supervisor
    directory: Path
    env: dict[str, str]

    def node(self, name: str, argv: list[str], attempts: int = 3) -> None:
        for attempt in range(1, attempts + 1):
            process = f"{name}-{attempt}"
            log = self.directory / f"{process}.log"
            self.keeper.start(process, argv, cwd=Path("/"), env=self.env, log=log)
            end_s = time.monotonic() + 150
            while process not in self.keeper.exits() and time.monotonic() < end_s:
                if "Ray runtime started" in log.read_text():
                    return
                time.sleep(0.1)
            self.keeper.signal(process, signal.SIGKILL)
        raise AssertionError(f"{name} doesn't start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Ray]:
    workspace = Workspace(Path("/tmp"), "ray")
    directory = workspace.path / "r"
    env = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        # Else the process that Ray's client server forks for a client sometimes dies of gRPC
        # (ray-project/ray#63202), which Ray notices a minute later.
        "GRPC_ENABLE_FORK_SUPPORT": "0",
        # On a machine with other work Ray is slow to begin.
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "60",
        "PYTHONPATH": os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path),
    }
    client = f"{HEAD}:{free_port()}"
    begin = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    begin += ["--object-store-memory=80000000", "--disable-usage-stats"]
    head = [*begin, "--head", "--port=0", "--include-dashboard=false", f"--temp-dir={directory}"]
    head += [f"--node-ip-address={HEAD}", f"--ray-client-server-port={client.rpartition(':')[2]}"]
    try:
        with Supervisor(workspace) as keeper:
            begun = Beginning(keeper, workspace.path, env)
            begun.node("head", head)
            address = (directory / "ray_current_cluster").read_text().strip()
            begun.node("other", [*begin, f"--address={address}", f"--node-ip-address={OTHER}"])
            yield Ray(address, client, directory, env)
    finally:
        workspace.release()
