"""The size of a node: how many processors and how much memory it has, and what has it so.

A size is enforced by control groups where they may be made. Where not, whole cores are enforced by
processor affinity, which gives a node processors of its own as far as there are enough, and what
can't be enforced is refused: a size that is only believed would be worse than none.

Servers on one address are one node and share its size: HBase's master and ZooKeeper have that of
the first region server.

What a database sets by its memory, unless its own option says otherwise, is in its own file; Java's
heap is in `pacelc.clusters.software.java`.

Groups limit processors when a cluster serves, and not while it is burnt in.

Map
---
require         refuses a size that can't be had here
Sizes           a cluster's sizes: made, entered by servers, read back, counted
in_a_run        two records of them as one of the time between
"""

from __future__ import annotations

import contextlib
import math
import os
from typing import TYPE_CHECKING, Any

from pacelc.clusters.errors import ClusterError, SpecError
from pacelc.clusters.sizes.allowed import allowed
from pacelc.clusters.sizes.cgroups import (
    TO_ENABLE,
    Controller,
    Groups,
    NoGroups,
    Parents,
    find_parents,
)
from pacelc.clusters.spec import DATA_ROLES
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from pacelc.clusters.process import Workspace
    from pacelc.clusters.spec import ClusterSpec, NodePlan

MIB = 1 << 20
GIB = 1 << 30

LEAST_CORES = 0.01
LEAST_MEMORY_BYTES = 16 * MIB
"""Less than any server here starts with."""

_COUNTERS = ("throttled", "throttled_s", "limit_hits")


def validate(cores: float | None, memory_bytes: int | None) -> None:
    """Refuse what is no size of any node.

    Raises
    ------
    SpecError
        Too little, or no number.
    """
    if cores is not None and not (math.isfinite(cores) and cores >= LEAST_CORES):
        raise SpecError(f"a node needs at least {LEAST_CORES} cores, not {cores:g}")
    if memory_bytes is not None and memory_bytes < LEAST_MEMORY_BYTES:
        raise SpecError(
            f"a node needs at least {LEAST_MEMORY_BYTES // MIB} MiB of memory, not {memory_bytes} "
            "bytes",
            hint="write the unit: 512MiB, 2GiB",
        )


def require(spec: ClusterSpec) -> Parents | None:
    """Make sure that the nodes can have their size on this machine.

    Returns
    -------
    Where their control groups can be made; None where affinity serves, or there is nothing to do.

    Raises
    ------
    SpecError
        The machine is smaller than one of its nodes.
    ClusterError
        Nothing here can enforce it.
    """
    here = allowed()
    if spec.cores is not None and spec.cores > here.cores:
        raise SpecError(
            f"a node can't have {counted(spec.cores, 'core')}: this machine has "
            f"{here.cores:g} for pacelc",
            hint=f"set cores to {here.cores:g} or less, or leave it out: nodes then share them all",
        )
    if spec.memory_bytes is not None and spec.memory_bytes > here.memory_bytes:
        raise SpecError(
            f"a node can't have {spec.memory_bytes / GIB:.2f} GiB of memory: this machine has "
            f"{here.memory_bytes / GIB:.2f} GiB for pacelc",
            hint="set memory to less, or leave it out",
        )
    wanted = _controllers(spec)
    if not wanted:
        return None
    try:
        return find_parents(wanted)
    except NoGroups as reason:
        if spec.memory_bytes is not None:
            raise ClusterError(
                f"a node's memory can't be limited here: {reason}", hint=TO_ENABLE
            ) from None
        if spec.cores is not None and spec.cores != int(spec.cores):
            raise ClusterError(
                f"a node can't have {counted(spec.cores, 'core')} here, whole ones only: {reason}",
                hint=TO_ENABLE,
            ) from None
        return None


def _controllers(spec: ClusterSpec) -> frozenset[Controller]:
    wanted: list[Controller] = []
    if spec.cores is not None:
        wanted.append("cpu")
    if spec.memory_bytes is not None:
        wanted.append("memory")
    return frozenset(wanted)


class Sizes:
    """The sizes of a cluster's nodes.

    Parameters
    ----------
    spec
        Says how large each is to be.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        self._spec = spec
        self._workspace: Workspace | None = None
        self._groups: Groups | None = None
        self._bound: dict[str, list[int]] = {}
        self._node_of: dict[str, str] = {}

    def keep(self, workspace: Workspace) -> None:
        """Say who sees to the removal of what `make` makes."""
        self._workspace = workspace

    def make(self, plans: Sequence[NodePlan]) -> None:
        """Make what the servers enter when they start; again, for those that have come since.

        Raises
        ------
        SpecError, ClusterError
            See `require`; or the kernel refuses.
        """
        if not _controllers(self._spec):
            return
        parents = require(self._spec)
        self._node_of = nodes_of(plans)
        nodes = list(dict.fromkeys(self._node_of.values()))
        if parents is None:
            self._bound = shared_out(
                nodes, int(self._spec.cores or 1), sorted(os.sched_getaffinity(0))
            )
            return
        groups = self._groups or Groups(parents)
        if self._workspace is not None:
            self._workspace.names_groups(groups.directories)
        try:
            for node in nodes:
                groups.make(node, self._spec.cores, self._spec.memory_bytes)
        except OSError as error:
            raise ClusterError(
                f"the control group of {node} can't be made: {error.filename}: {error.strerror}",  # pyright: ignore[reportPossiblyUnboundVariable] -- an error has a node
                hint=TO_ENABLE,
            ) from error
        self._groups = groups

    @contextlib.contextmanager
    def lifted(self) -> Generator[None]:
        """Let groups have all processors for a while; memory stays limited.

        A virtual machine on a part of a core would start, and compile, for many times as long.
        """
        groups, cores = self._groups, self._spec.cores
        if groups is None or cores is None:
            yield
            return
        nodes = set(self._node_of.values())
        try:
            for node in nodes:
                groups.limit_cores(node, None)
            yield
        finally:
            for node in nodes:
                # Of a cluster that was ended meanwhile there are no groups any more.
                with contextlib.suppress(FileNotFoundError):
                    groups.limit_cores(node, cores)

    def placement(self, server: str) -> dict[str, object]:
        """Return what the keeper is told when it starts a server."""
        node = self._node_of.get(server)
        if node is None:
            return {}
        if self._groups is not None:
            return {"cgroup": self._groups.procs(node)}
        return {"affinity": self._bound[node]}

    def memory_ran_out(self, server: str) -> bool:
        """Tell whether the kernel has killed a process of this server's node for its memory."""
        node = self._node_of.get(server)
        if node is None or self._groups is None:
            return False
        return bool(self._groups.used(node).get("oom_kills"))

    def record(self, pids: Mapping[str, int]) -> dict[str, Any]:
        """Return what is in force and what was counted; empty where no size was asked for.

        Parameters
        ----------
        pids
            Of each server.
        """
        if not self._node_of:
            return {}
        groups = self._groups
        servers: dict[str, list[str]] = {}
        for server, node in self._node_of.items():
            servers.setdefault(node, []).append(server)
        return {
            "mechanism": "affinity" if groups is None else f"cgroup v{groups.version}",
            "cores": self._spec.cores,
            "memory_bytes": self._spec.memory_bytes,
            "nodes": {
                node: {
                    "servers": names,
                    **(
                        {"cpus": _affinity(pids[names[0]])}
                        if groups is None
                        else {**groups.in_force(node), **groups.used(node)}
                    ),
                }
                for node, names in servers.items()
            },
        }


def _affinity(pid: int) -> list[int] | None:
    try:
        return sorted(os.sched_getaffinity(pid))
    except ProcessLookupError:
        return None


def nodes_of(plans: Sequence[NodePlan]) -> dict[str, str]:
    """Return the node that each server belongs to: on each address, the one that holds records."""
    node_at: dict[str, str] = {}
    for plan in sorted(plans, key=lambda plan: plan.role not in DATA_ROLES):
        node_at.setdefault(plan.host, plan.name)
    return {plan.name: node_at[plan.host] for plan in plans}


def shared_out(nodes: Sequence[str], cores: int, cpus: Sequence[int]) -> dict[str, list[int]]:
    """Return processors for each node: its own as far as there are enough, else in turn.

    Examples
    --------
    >>> shared_out(["a", "b", "c"], 2, [0, 1, 2, 3])
    {'a': [0, 1], 'b': [2, 3], 'c': [0, 1]}
    """
    return {
        node: sorted(cpus[(index * cores + offset) % len(cpus)] for offset in range(cores))
        for index, node in enumerate(nodes)
    }


def in_a_run(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the later record with the counts of the time between; peaks are of all time.

    Examples
    --------
    >>> in_a_run({"nodes": {"a": {"throttled": 2}}}, {"nodes": {"a": {"throttled": 5}}})
    {'nodes': {'a': {'throttled': 3}}}
    """

    def between(node: str, name: str, value: Any) -> Any:
        earlier = before.get("nodes", {}).get(node, {}).get(name)
        return value - earlier if name in _COUNTERS and earlier is not None else value

    nodes = {
        node: {name: between(node, name, value) for name, value in counts.items()}
        for node, counts in after.get("nodes", {}).items()
    }
    return {**after, "nodes": nodes} if after else {}
