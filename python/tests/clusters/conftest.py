"""What the tests of clusters share.

Tests marked ``cluster`` start real servers, which are fetched when they are not there: ``-m "not
cluster"`` leaves them out.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.resources import TICKS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "cluster: starts real servers, fetched when missing")


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (
            b"Z",
            b"X",
        )
    except OSError:
        return False


def identities(pid: int) -> set[tuple[int, int]]:
    """Return the users and groups that a process is or can become, in pairs."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
    groups = [*fields["Gid"], *fields["Groups"]]
    return {(int(user), int(group)) for user in fields["Uid"] for group in groups}


def owners(*paths: Path) -> set[int]:
    """Return whose files and directories are, and all that is in them."""
    found: set[int] = set()
    for path in paths:
        for one in (path, *path.rglob("*")):
            with suppress(FileNotFoundError):  # servers remove some meanwhile
                found.add(one.stat().st_uid)
    return found


def processor_s(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def eventually(claim: Callable[[], bool], within_s: float = 10.0) -> bool:
    """Tell whether a claim comes true in time."""
    end_s = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


def listening(pids: set[int]) -> set[tuple[str, int]]:
    """Return address and port of everything that these processes listen on."""
    inodes: set[str] = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(str(file.readlink()))
            except OSError:
                continue
    found: set[tuple[str, int]] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, port = fields[1].split(":")
                found.add((address, int(port, 16)))
    return found
