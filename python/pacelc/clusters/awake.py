"""Processors that are kept from sleeping while a cluster serves.

A virtual machine's processor that sleeps wakes when its host lets it: what is measured is its
neighbours. So something spins on each. It has to give way to everybody, at once, and the kernel's
idle policy is a thread's among those of its own group only; each session is a group to the kernel
(``sched_autogroup``), and each container. What spun in a session of its own took half of a
machine's time. So it is in a control group that is idle as a whole (``cpu.idle``; Linux 5.15).

Map
---
require_awake   refuses where there can't be such a group
keep_awake      starts it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.clusters.engine import engine_command
from pacelc.clusters.errors import ClusterError
from pacelc.clusters.sizes.cgroups import TO_ENABLE, Groups, NoGroups, Parents, find_parents
from pacelc.names import AWAKE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pacelc.clusters.process import Supervisor, Workspace


def require_awake() -> Parents:
    """Return where the group of what spins can be made.

    Raises
    ------
    ClusterError
        Nowhere.
    """
    try:
        return find_parents(frozenset({"cpu"}))
    except NoGroups as reason:
        raise ClusterError(
            f"processors can't be kept awake here: {reason}", hint=TO_ENABLE
        ) from None


def keep_awake(
    supervisor: Supervisor, workspace: Workspace, directory: Path, env: Mapping[str, str]
) -> int:
    """Start what spins, as a child of the keeper; return its pid.

    Raises
    ------
    ClusterError
        There is no engine, or no idle group to be had.
    """
    groups = Groups(require_awake())
    workspace.names_groups(groups.directories)
    try:
        groups.make(AWAKE, cores=None, memory_bytes=None)
        groups.be_idle()
    except OSError as error:
        raise ClusterError(
            f"processors can't be kept awake here: {error.filename}: {error.strerror}",
            hint="groups of processes can be idle since Linux 5.15",
        ) from error
    return supervisor.start(
        AWAKE,
        engine_command("engine.keep_awake()"),
        cwd=directory,
        env=env,
        log=directory / f"{AWAKE}.log",
        placement={"cgroup": groups.procs(AWAKE)},
    )
