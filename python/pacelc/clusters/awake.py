"""Processors that are kept from sleeping while a cluster serves.

A virtual machine's processor that sleeps wakes when its host lets it: what is measured is its
neighbours. The kernel lets no processor sleep that would wake later than anybody bears. Whoever
holds ``/dev/cpu_dma_latency`` open says how late that is; when they end, it is forgotten. With 0,
idle processors wait awake, and are idle to the scheduler all the same. (One on which something
spins isn't: it fetches no work that waits beside another.)

Map
---
require_awake   refuses where the kernel offers no such thing
keep_awake      starts who holds it
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pacelc.clusters.engine import engine_command
from pacelc.clusters.errors import ClusterError
from pacelc.names import AWAKE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.clusters.process import Supervisor

HOW_LATE: Final = Path("/dev/cpu_dma_latency")
_DRIVER: Final = Path("/sys/devices/system/cpu/cpuidle/current_driver")
"""Of idle processors: without one they sleep however late they wake."""


def require_awake() -> None:
    """Refuse where processors can't be kept awake.

    Raises
    ------
    ClusterError
        The kernel has nobody who could, or doesn't let this user.
    """
    try:
        driver = _DRIVER.read_text(encoding="ascii").strip()
    except OSError:
        driver = "none"
    if driver == "none":
        raise ClusterError(
            "processors can't be kept awake here: the kernel has no cpuidle driver",
            hint="in a virtual machine: modprobe cpuidle_haltpoll force=1",
        )
    if not os.access(HOW_LATE, os.W_OK):
        what = "can't be written" if HOW_LATE.exists() else "isn't there"
        raise ClusterError(
            f"processors can't be kept awake here: {HOW_LATE} {what}",
            hint="run as root, and not in a container; or let this user write it",
        )


def keep_awake(supervisor: Supervisor, directory: Path, env: Mapping[str, str]) -> int:
    """Start who keeps processors awake, as a child of the keeper; return its pid."""
    return supervisor.start(
        AWAKE,
        engine_command("engine.keep_awake()"),
        cwd=directory,
        env=env,
        log=directory / f"{AWAKE}.log",
    )
