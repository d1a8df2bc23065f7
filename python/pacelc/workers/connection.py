"""Ray, found or started: what ``--workers`` may say, and how it becomes a connection.

A Ray of our own is a child of the keeper, as servers are: however pacelc ends, nothing of it
stays. It shows nobody a dashboard and reports no usage. Ray listens on every interface, whatever
address it is given; only who knows the token, which is made anew each time, is heard.

Map
---
Local, Remote   what ``--workers`` asks for
parse           reads it
connected       a context in which Ray is there
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import sys
import time
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelc.clusters.process import Supervisor, Workspace
from pacelc.errors import CannotRun, InputError, one_line
from pacelc.numerals import parse_port

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["Local", "Remote", "connected", "parse"]

_MOST = 1_000
_REACH_S = 3.0
_START_S = 60.0
_ADDRESS = "127.0.0.2"
"""Ray takes 127.0.0.1 for "this machine", and looks for an address that others can reach."""
_OBJECTS_BYTES = 80_000_000
"""For what agents answer: results, of some megabytes each. Ray refuses less than 75 MiB."""


@dataclass(frozen=True, slots=True)
class Local:
    """So many workers on this machine."""

    workers: int


@dataclass(frozen=True, slots=True)
class Remote:
    """A worker on every node of a Ray cluster."""

    said: str
    address: str
    """What Ray connects to: ``ray://HOST:PORT``, or ``HOST:PORT`` from inside the cluster."""


def parse(text: str) -> Local | Remote:
    """Read what ``--workers`` says.

    Raises
    ------
    InputError
        If it is neither a number nor an address.
    CannotRun
        If it is ``ray:auto``, and this machine belongs to no Ray cluster.
    """
    if text == "ray:auto":
        return Remote(text, _own_cluster())
    if text.startswith("ray://"):
        if _host_and_port(text.removeprefix("ray://")) is None:
            raise InputError(f"--workers {text}: no HOST:PORT", "for example ray://10.0.0.1:10001")
        return Remote(text, text)
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST:
        raise InputError(
            f"--workers {text}: should be a number of local workers, ray://HOST:PORT or ray:auto",
            f"a number is at least 1 and at most {_MOST:,}",
        )
    return Local(int(text))


def _own_cluster() -> str:
    address = os.environ.get("RAY_ADDRESS", "")
    if not address:
        # Where `ray start` leaves it.
        file = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"  # noqa: S108
        with contextlib.suppress(OSError):
            address = file.read_text(encoding="utf-8").strip()
    if _host_and_port(address.removeprefix("ray://")) is None:
        raise CannotRun(
            "--workers ray:auto: this machine belongs to no Ray cluster",
            "`ray start` makes it one's node; or name one: --workers ray://HOST:PORT",
        )
    return address


def _host_and_port(text: str) -> tuple[str, int] | None:
    host, _, text = text.rstrip("/").rpartition(":")
    port = parse_port(text)
    return (host.strip("[]"), port) if host and port is not None else None


@contextmanager
def connected(where: Local | Remote) -> Generator[Any]:
    """Yield the module ``ray``, connected.

    Raises
    ------
    CannotRun
        If Ray is not installed, not there, or not to be started.
    """
    # Read when Ray is imported. Only its own default, which takes half a minute, is replaced.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "3")
    if isinstance(where, Local):
        # Ray would write a token into the user's home otherwise.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        ray = _installed()
        with _started(where.workers) as address, _session(ray, str(where.workers), address):
            yield ray
    else:
        ray = _installed()
        _reach(where)
        with _session(ray, where.said, where.address):
            yield ray


def _installed() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        raise CannotRun(
            f"--workers needs Ray, which can't be imported: {one_line(error)}",
            "pip install 'pacelc[ray]'",
        ) from error


def _reach(where: Remote) -> None:
    """Find out in seconds what Ray's own attempts would take a minute for."""
    place = _host_and_port(where.address.removeprefix("ray://"))
    if place is None:
        raise AssertionError("it was parsed")
    try:
        socket.create_connection(place, timeout=_REACH_S).close()
    except OSError as error:
        raise CannotRun(
            f"--workers {where.said}: no Ray answers at {place[0]}:{place[1]}: "
            f"{error.strerror or 'it takes too long'}",
            "`ray start --head` on its head node starts one; ray:// is the port of Ray's client "
            "server, 10001 unless set",
        ) from None


@contextmanager
def _session(ray: Any, said: str, address: str) -> Generator[None]:
    logging.getLogger("ray").setLevel(logging.ERROR)
    more: dict[str, Any] = {}
    if not address.startswith("ray://"):
        more["configure_logging"] = False
        if address.startswith("127."):
            # Nodes on loopback aren't found by the address that Ray would take for ours.
            more["_node_ip_address"] = address.partition(":")[0]
    # Ray prints what its nodes complain of on standard output, which is for results alone.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        _connect(ray, said, address, more)
        try:
            yield
        finally:
            ray.shutdown()


def _connect(ray: Any, said: str, address: str, more: dict[str, Any]) -> None:
    # Ray's client server forks a process for each client while its other threads serve, and gRPC
    # ends some of them before they begin (ray-project/ray#63202).
    for last in (False, True) if address.startswith("ray://") else (True,):
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **more)
        except Exception as error:
            ray.shutdown()
            if not last and isinstance(error, ConnectionError):
                continue
            raise CannotRun(
                f"--workers {said}: Ray can't be connected to: {_last_line(error)}",
                "its version and Python's must be the same there and here, and so must its token "
                "(RAY_AUTH_TOKEN), if it has one",
            ) from error
        return


def _last_line(error: Exception) -> str:
    """Return what went wrong; Ray's client puts the traceback of its server before it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else one_line(error)


@contextmanager
def _started(workers: int) -> Generator[str]:
    """Start a Ray of our own; yield its address."""
    # Not in the user's TMPDIR: the paths of Ray's sockets would grow beyond the kernel's 107 bytes.
    workspace = Workspace(Path("/tmp"), "ray")  # noqa: S108
    try:
        # Ray makes its directory everybody's; the workspace around it is ours alone.
        directory, log = workspace.path / "r", workspace.path / "ray.log"
        command = [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *("--port=0", f"--ray-client-server-port={_free_port()}"),
            f"--node-ip-address={_ADDRESS}",
            *("--include-dashboard=false", "--include-log-monitor=false", "--disable-usage-stats"),
            *(f"--num-cpus={workers}", f"--object-store-memory={_OBJECTS_BYTES}"),
            f"--temp-dir={directory}",
        ]
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        with Supervisor(workspace) as keeper:
            keeper.start("ray", command, cwd=workspace.path, env=environment, log=log)
            yield _address(keeper, directory / "ray_current_cluster", log)
    finally:
        workspace.release()


def _address(keeper: Supervisor, file: Path, log: Path) -> str:
    end_s = time.monotonic() + _START_S
    while time.monotonic() < end_s:
        with contextlib.suppress(OSError):
            if address := file.read_text(encoding="utf-8").strip():
                return address
        if keeper.exits():
            break
        time.sleep(0.05)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise CannotRun(
        f"Ray can't be started here: {lines[-1] if lines else 'it says nothing'}"[:300],
        "`ray start --head` shows why; `ray stop` ends one that is left over",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_ADDRESS, 0))
        return int(probe.getsockname()[1])
