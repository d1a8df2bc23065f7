"""Control groups: where one may be made, what limits its processes, and what they have used.

Both of the kernel's interfaces. Version 1 has a tree of directories for each controller, and groups
are made below this process's own. Version 2 has one tree, in which a group that holds processes
can't have limited groups below it (the "no internal processes" rule), so the nearest group above is
taken that may: its owner's, such as the slice of a user's session.

A group's quota is counted in periods of 10 ms and not the kernel's 100: a node that has used up its
share stands still until the period ends, and 90 ms of that would be the 99th percentile of
everything.

Map
---
find_parents    where groups may be made here; `NoGroups` says why not
mounts, own_groups, counters    what the kernel tells of groups
Groups          a cluster's groups, one a node: made, read back, counted
quota_us        cores as quota and period
"""

from __future__ import annotations

import contextlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "pacelc-"
PERIOD_US = 10_000
LEAST_QUOTA_US = 1_000
"""The kernel's own least."""
LONGEST_PERIOD_US = 1_000_000

Controller = Literal["cpu", "memory"]

TO_ENABLE = (
    "run as root, or as `systemd-run --user --scope -p Delegate=yes pacelc …`: its groups are the "
    "user's"
)


class NoGroups(Exception):  # noqa: N818 -- its catcher turns it into an error with a hint
    """No group may be made here; the message says why."""


@dataclass(frozen=True)
class Parents:
    """Directories below which this process may make groups: of each controller that was asked."""

    version: Literal[1, 2]
    directories: Mapping[Controller, Path]


class Mount(NamedTuple):
    """A tree of control groups."""

    root: str
    point: Path
    kind: str
    options: frozenset[str]

    def place(self, group: str) -> Path:
        """Return the directory of a group; the mount's own, where the group lies outside it."""
        inside = os.path.relpath(group, self.root)
        place = self.point if inside.startswith("..") else self.point / inside
        return place if place.is_dir() else self.point


def quota_us(cores: float) -> tuple[int, int]:
    """Return the microseconds of processor time that `cores` are, and of what period.

    Examples
    --------
    >>> quota_us(0.5), quota_us(2), quota_us(0.02)
    ((5000, 10000), (20000, 10000), (1000, 50000))
    """
    quota = round(cores * PERIOD_US)
    if quota >= LEAST_QUOTA_US:
        return quota, PERIOD_US
    return LEAST_QUOTA_US, min(LONGEST_PERIOD_US, round(LEAST_QUOTA_US / cores))


def find_parents(controllers: frozenset[Controller], proc: Path = Path("/proc/self")) -> Parents:
    """Return where groups with these controllers may be made.

    Parameters
    ----------
    controllers
        What is to be limited.
    proc
        The kernel's account of this process.

    Raises
    ------
    NoGroups
        Nowhere.
    """
    try:
        trees = list(mounts((proc / "mountinfo").read_text(encoding="utf-8")))
        own = dict(own_groups((proc / "cgroup").read_text(encoding="utf-8")))
    except OSError as error:
        raise NoGroups(f"this system tells of no control groups ({error.strerror})") from None
    first: dict[Controller, Path] = {}
    for controller in sorted(controllers):
        for mount in trees:
            if mount.kind == "cgroup" and controller in mount.options:
                first[controller] = mount.place(own.get(controller, "/"))
    if len(first) == len(controllers):
        for directory in first.values():
            _try_group(directory)
        return Parents(1, first)
    unified = next((mount for mount in trees if mount.kind == "cgroup2"), None)
    if unified is None or first:
        missing = ", ".join(sorted(controllers - set(first)))
        raise NoGroups(f"no control groups for {missing} are mounted")
    directory = _unified_parent(unified, own.get("", "/"), controllers)
    return Parents(2, dict.fromkeys(sorted(controllers), directory))


def mounts(text: str) -> Iterator[Mount]:
    """Give the trees of control groups in a ``mountinfo``."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _source, options) = before.split(), after.split()[:3]
        if kind.startswith("cgroup"):
            yield Mount(fields[3], Path(fields[4]), kind, frozenset(options.split(",")))


def own_groups(text: str) -> Iterator[tuple[str, str]]:
    """Give each controller with this process's group; version 2's is the one without a name."""
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, group


def _unified_parent(mount: Mount, group: str, wanted: frozenset[Controller]) -> Path:
    """Return the nearest group from this process's own upwards that may have limited ones below."""
    own = mount.place(group)
    reasons: list[str] = []
    directory = own
    while True:
        try:
            # Only of what is ours: another's group keeps the controllers that it was given.
            _enable(directory, wanted, ours=directory in (own, mount.point))
            _try_group(directory)
        except OSError as error:
            reasons.append(f"{directory}: {error.strerror}")
        except NoGroups as error:
            reasons.append(str(error))
        else:
            return directory
        if directory in (mount.point, directory.parent):
            raise NoGroups(f"no control group may be made: {reasons[0]}")
        directory = directory.parent


def _enable(directory: Path, wanted: frozenset[Controller], *, ours: bool) -> None:
    """Make sure that groups below can be limited and entered."""
    if not wanted <= _words(directory / "cgroup.subtree_control"):
        if not ours:
            raise NoGroups(f"{directory} gives its groups no {' and '.join(sorted(wanted))}")
        _write(directory / "cgroup.subtree_control", _enabling(wanted))
    # A process is moved by whoever may write to the group above both places.
    if not os.access(directory / "cgroup.procs", os.W_OK):
        raise NoGroups(f"{directory} is not this user's")


def _try_group(parent: Path) -> None:
    trial = parent / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        raise NoGroups(f"no control group may be made in {parent} ({error.strerror})") from None


class Groups:
    """A cluster's control groups, one a node, below one directory a controller.

    Parameters
    ----------
    parents
        Where they are made.
    """

    def __init__(self, parents: Parents) -> None:
        self.version = parents.version
        name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._tops: dict[Controller, Path] = {
            controller: directory / name for controller, directory in parents.directories.items()
        }

    @property
    def directories(self) -> list[Path]:
        """What has to be removed in the end; each holds the nodes' groups."""
        return list(dict.fromkeys(self._tops.values()))

    def make(self, node: str, cores: float | None, memory_bytes: int | None) -> None:
        """Make a node's group, if there is none yet, and set its limits."""
        for top in self.directories:
            if not top.exists():
                top.mkdir()
                if self.version == 2:  # noqa: PLR2004 -- the kernel's own number
                    _write(top / "cgroup.subtree_control", _enabling(self._tops))
            (top / node).mkdir(exist_ok=True)
        if cores is not None:
            self.limit_cores(node, cores)
        if memory_bytes is not None:
            group = self._tops["memory"] / node
            # A server that is swapped out is slow in a way that no machine of this size would be.
            # (Not by version 1's limit on memory and swap: where that is met, no counter tells.)
            limit, swap = (
                ("memory.limit_in_bytes", "memory.swappiness")
                if self.version == 1
                else ("memory.max", "memory.swap.max")
            )
            _write(group / limit, str(memory_bytes))
            if (group / swap).exists():
                _write(group / swap, "0")

    def limit_cores(self, node: str, cores: float | None) -> None:
        """Limit a node's processor time to that of so many cores; or not at all."""
        group = self._tops["cpu"] / node
        quota, period = (None, PERIOD_US) if cores is None else quota_us(cores)
        if self.version == 1:
            _write(group / "cpu.cfs_period_us", str(period))
            _write(group / "cpu.cfs_quota_us", "-1" if quota is None else str(quota))
        else:
            _write(group / "cpu.max", f"{'max' if quota is None else quota} {period}")

    def procs(self, node: str) -> list[str]:
        """Return the files that a process writes itself into to enter a node's group."""
        return [str(top / node / "cgroup.procs") for top in self.directories]

    def in_force(self, node: str) -> dict[str, int]:
        """Return the limits, as the kernel has them; a quota of -1 is none."""
        limits: dict[str, int] = {}
        if (top := self._tops.get("cpu")) is not None:
            group = top / node
            quota, period = (
                (_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us"))
                if self.version == 1
                else _text(group / "cpu.max").split()
            )
            quota = "-1" if quota == "max" else quota
            limits |= {"cpu_quota_us": int(quota), "cpu_period_us": int(period)}
        if (top := self._tops.get("memory")) is not None:
            file = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
            limits["memory_limit_bytes"] = int(_text(top / node / file))
        return limits

    def used(self, node: str) -> dict[str, int | float | None]:
        """Return what the kernel has counted since the group was made.

        ``throttled`` counts the periods at whose end processes stood still, ``throttled_s`` for how
        long, summed over processors; ``limit_hits`` how often memory had to be reclaimed for more
        to be had, the page cache of files included.
        """
        counts: dict[str, int | float | None] = {}
        if (top := self._tops.get("cpu")) is not None:
            cpu = counters(top / node / "cpu.stat")
            counts["throttled"] = cpu.get("nr_throttled", 0)
            counts["throttled_s"] = (
                cpu.get("throttled_time", 0) / 1e9
                if self.version == 1
                else cpu.get("throttled_usec", 0) / 1e6
            )
        if (top := self._tops.get("memory")) is not None:
            group = top / node
            if self.version == 1:
                counts["peak_memory_bytes"] = _number(group / "memory.max_usage_in_bytes")
                counts["limit_hits"] = _number(group / "memory.failcnt")
                counts["oom_kills"] = counters(group / "memory.oom_control").get("oom_kill", 0)
            else:
                happened = counters(group / "memory.events")
                counts["peak_memory_bytes"] = _number(group / "memory.peak")
                counts["limit_hits"] = happened.get("max", 0)
                counts["oom_kills"] = happened.get("oom_kill", 0)
        return counts


def _enabling(controllers: frozenset[Controller] | Mapping[Controller, Path]) -> str:
    return " ".join(f"+{controller}" for controller in sorted(controllers))


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="ascii")


def _text(file: Path) -> str:
    return file.read_text(encoding="ascii").strip()


def _words(file: Path) -> frozenset[str]:
    return frozenset(_text(file).split())


def _number(file: Path) -> int | None:
    """Return a counter; None where this kernel doesn't keep it."""
    with contextlib.suppress(OSError):
        return int(_text(file))
    return None


def counters(file: Path) -> dict[str, int]:
    """Read lines of a name and a number; none where this kernel doesn't keep them."""
    with contextlib.suppress(OSError):
        pairs = (line.split() for line in _text(file).splitlines())
        return {pair[0]: int(pair[1]) for pair in pairs}
    return {}
