"""What pacelc, its servers included, may use of the machine: processors, memory, open files.

Processors are limited by affinity and by a quota of the control groups that this process is in,
memory by these groups, too. A group is limited by those above it as well; of these only the ones
that are mounted here can be seen.

Map
---
Allowed, allowed        processors and memory
memory_available_bytes  what can be had of it without swapping
throttled_s             how long the quota has stopped processes so far
allow_open_files        raises the limit on open files, and refuses what is above it
"""

from __future__ import annotations

import contextlib
import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.errors import ClusterError
from pacelc.clusters.sizes.cgroups import Controller, counters, mounts, own_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC = Path("/proc/self")
MEMINFO = Path("/proc/meminfo")

FILES_BESIDE_CONNECTIONS = 256
"""HBase's servers have their 170 jars open."""


@dataclass(frozen=True)
class Allowed:
    """What a process may use of its machine."""

    processors: int
    """That it may run on."""
    cpu_quota_cores: float | None
    """Processor time by its control groups' quota; None where there is none."""
    machine_memory_bytes: int
    memory_limit_bytes: int | None
    """By its control groups; None where they have none."""

    @property
    def cores(self) -> float:
        """Processor time that it can have."""
        return min(self.processors, self.cpu_quota_cores or self.processors)

    @property
    def memory_bytes(self) -> int:
        """Memory that it can have."""
        return self.memory_limit_bytes or self.machine_memory_bytes


def allowed(proc: Path = PROC) -> Allowed:
    """Return what this process may use.

    Parameters
    ----------
    proc
        The kernel's account of it.
    """
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    quotas = [quota for group in _groups("cpu", proc) if (quota := _quota(group)) is not None]
    limits = [limit for group in _groups("memory", proc) for limit in _limits(group)]
    return Allowed(
        processors=len(os.sched_getaffinity(0)),
        cpu_quota_cores=min(quotas, default=None),
        machine_memory_bytes=memory_bytes,
        # Version 1 has a number for no limit, and it is a large one.
        memory_limit_bytes=min((one for one in limits if one < memory_bytes), default=None),
    )


def memory_available_bytes(meminfo: Path = MEMINFO, proc: Path = PROC) -> int:
    """Return how much memory can be had without swapping, by the machine and by each group."""
    lines = (line.partition(":") for line in meminfo.read_text(encoding="ascii").splitlines())
    available = next(
        int(rest.split()[0]) * 1024 for name, _, rest in lines if name == "MemAvailable"
    )
    for group in _groups("memory", proc):
        for limit in _limits(group):
            counts = counters(group / "memory.stat")
            # Of version 1, those with the groups below.
            files = sum(
                counts.get(f"total_{name}", counts.get(name, 0))
                for name in ("active_file", "inactive_file")
            )
            used = _first(group, "memory.current", "memory.usage_in_bytes") or 0
            available = min(available, max(0, limit - used + files))
    return available


def throttled_s(proc: Path = PROC) -> float:
    """Return for how long quotas have stopped this process's groups, summed over processors."""
    counts = [counters(group / "cpu.stat") for group in _groups("cpu", proc)]
    return sum(
        one.get("throttled_usec", 0) / 1e6 + one.get("throttled_time", 0) / 1e9 for one in counts
    )


def allow_open_files(connections: int, what: str) -> None:
    """Raise the limit on open files to what the system allows; servers inherit it.

    Parameters
    ----------
    connections
        That one process will have.
    what
        Who makes them.

    Raises
    ------
    ClusterError
        The system allows less.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    needed = connections + FILES_BESIDE_CONNECTIONS
    if soft != resource.RLIM_INFINITY and needed > soft:
        raise ClusterError(
            f"{what} would open about {needed:,} files, and a process may have {soft:,} here",
            hint="raise the limit (as root: `ulimit -n`; of a service: LimitNOFILE), or take fewer "
            "users",
        )


def _groups(controller: Controller, proc: Path) -> Iterator[Path]:
    """Give the directories of this process's group and of those above, as far as is mounted."""
    try:
        there = list(mounts((proc / "mountinfo").read_text(encoding="utf-8")))
        own = dict(own_groups((proc / "cgroup").read_text(encoding="utf-8")))
    except OSError:
        return
    # A controller is version 1's or version 2's, never both's.
    for mount in there:
        if mount.kind == "cgroup2" or controller in mount.options:
            name = "" if mount.kind == "cgroup2" else controller
            directory = mount.place(own.get(name, "/"))
            while True:
                yield directory
                if directory in (mount.point, directory.parent):
                    break
                directory = directory.parent


def _quota(group: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    quota_us = _first(group, "cpu.cfs_quota_us")
    period_us = _first(group, "cpu.cfs_period_us")
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else None


def _limits(group: Path) -> Iterator[int]:
    # Above `high`, processes are slowed down until they are below it again.
    for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
        if (limit := _first(group, name)) is not None:
            yield limit


def _first(group: Path, *names: str) -> int | None:
    """Return the number in the first of these files that has one."""
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            return int((group / name).read_text(encoding="ascii"))
    return None
