"""What this machine can do for clusters: found by trying and looking, nothing is fetched.

Map
---
Finding     one thing, whether it is there, and what would enable it
examine     all of them
"""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import ClusterError
from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.server_user import server_user
from pacelc.clusters.sizes.allowed import allowed, memory_available_bytes
from pacelc.clusters.software.java import installed, java_version
from pacelc.clusters.spec import ClusterSpec

__all__ = ["Finding", "examine"]

TUN = Path("/dev/net/tun")
CGROUPS = Path("/sys/fs/cgroup")
GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One thing that this machine has, or has not.

    Parameters
    ----------
    what
        Its name.
    there
        Whether it can be used.
    detail
        In which form, or why not.
    hint
        What would enable it; empty where nothing is missing.
    """

    what: str
    there: bool
    detail: str
    hint: str = ""


def examine() -> list[Finding]:
    """Return what there is: for servers' user, the network, sizes, servers."""
    return [
        _user(),
        _namespaces(),
        _tun(),
        *_cgroups(),
        *_size(),
        _java(),
        *map(_server, DATABASES),
    ]


def _user() -> Finding:
    try:
        user = server_user()
    except ClusterError as error:
        return Finding("servers' user", there=False, detail=error.message, hint=error.hint or "")
    return Finding("servers' user", there=True, detail=user.name if user else "who pacelc runs as")


def _namespaces() -> Finding:
    able = capability()
    ways = {
        "root": "every node can be a host of its own: regions, links and partitions",
        "user namespace": "in a user namespace, as an ordinary user: regions, links and partitions",
        None: f"nodes share the loopback network, so no regions: {able.reason}",
    }
    return Finding("network namespaces", able.is_there, ways[able.how], able.hint)


def _tun() -> Finding:
    try:
        os.close(os.open(TUN, os.O_RDWR))
    except OSError as error:
        return Finding(str(TUN), there=False, detail=error.strerror or str(error))
    return Finding(str(TUN), there=True, detail="can be opened")


def _cgroups() -> list[Finding]:
    """Say which controllers there are, and whether this user may make groups of them."""
    if (CGROUPS / "cgroup.controllers").is_file():
        own = Path("/proc/self/cgroup").read_text(encoding="ascii").strip().rpartition("::/")[2]
        controllers = (CGROUPS / "cgroup.controllers").read_text(encoding="ascii").split()
        places = dict.fromkeys(controllers, CGROUPS / own)
        version = "v2"
    else:
        places = {path.name: path for path in CGROUPS.glob("*") if (path / "tasks").is_file()}
        version = "v1"
    findings: list[Finding] = []
    for name in ("cpu", "memory", "cpuset"):
        there = name in places
        may = there and os.access(places[name], os.W_OK)
        detail = "this user may make groups" if may else "groups can't be made by this user"
        findings.append(
            Finding(
                f"cgroup {name}", may, f"{version}: {detail}" if there else "no such controller"
            )
        )
    return findings


def _size() -> list[Finding]:
    here = allowed()
    cores, memory = f"{here.cores:g}", f"{here.memory_bytes / GIB:.1f} GiB"
    if here.cores < here.processors:
        cores += f" of {here.processors}, by its control group's quota"
    memory += f", {memory_available_bytes() / GIB:.1f} GiB available"
    if here.memory_bytes < here.machine_memory_bytes:
        memory += f", by its control group's limit: {here.machine_memory_bytes / GIB:.1f} GiB"
        memory += " are installed"
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = files == resource.RLIM_INFINITY
    return [
        Finding("cores", there=True, detail=cores),
        Finding("memory", there=True, detail=memory),
        Finding(
            "open files", there=True, detail="no limit" if unlimited else f"{files:,} a process"
        ),
    ]


def _java() -> Finding:
    for program in installed():
        try:
            return Finding("java", there=True, detail=f"{java_version(program)} ({program})")
        except ClusterError:
            continue
    return Finding("java", there=False, detail="none of the user's own: a packaged one is used")


class _NotHereError(Exception):
    """It would have to be fetched."""


def _server(database: str) -> Finding:
    def refuse(message: str) -> None:
        raise _NotHereError(message)

    try:
        versions = DATABASES[database].software(ClusterSpec(database), refuse).versions
    except _NotHereError:
        return Finding(database, there=False, detail="fetched when it is first needed")
    except ClusterError as error:
        return Finding(database, there=False, detail=error.message, hint=error.hint or "")
    return Finding(database, there=True, detail=f"{versions[database]} ({versions['source']})")
