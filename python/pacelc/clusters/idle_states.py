"""Processors' idle states, disabled while a cluster serves.

A virtual machine's idle processor wakes up when its host schedules it, so that a measurement
depends on the machine's neighbours. A process that holds ``/dev/cpu_dma_latency`` open at 0 bars
the kernel from idle states that take time to leave; the effect ends with the process. Idle
processors then poll, and still count as idle for the scheduler. (A processor on which a loop spins
doesn't: it takes over no work that waits at another.)

Map
---
require_idle_states     refuses where the kernel doesn't let them be disabled
disable_idle_states     starts the process that holds the device open
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pacelc.clusters.engine import engine_command
from pacelc.clusters.errors import ClusterError
from pacelc.names import NO_IDLE_STATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.clusters.process import Supervisor

DMA_LATENCY: Final = Path("/dev/cpu_dma_latency")
_DRIVER: Final = Path("/sys/devices/system/cpu/cpuidle/current_driver")
"""Without a driver, the limit on latency has no effect."""


def require_idle_states() -> None:
    """Refuse where idle states can't be disabled.

    Raises
    ------
    ClusterError
        The kernel has no driver for them, or this user may not write the device.
    """
    try:
        driver = _DRIVER.read_text(encoding="ascii").strip()
    except OSError:
        driver = "none"
    if driver == "none":
        raise ClusterError(
            "idle states can't be disabled here: the kernel has no cpuidle driver",
            hint="in a virtual machine: modprobe cpuidle_haltpoll force=1",
        )
    if not os.access(DMA_LATENCY, os.W_OK):
        what = "can't be written" if DMA_LATENCY.exists() else "isn't there"
        raise ClusterError(
            f"idle states can't be disabled here: {DMA_LATENCY} {what}",
            hint="run as root, and not in a container; or let this user write it",
        )


def disable_idle_states(supervisor: Supervisor, directory: Path, env: Mapping[str, str]) -> int:
    """Start the process that disables idle states, as a child of the keeper; return its pid."""
    return supervisor.start(
        NO_IDLE_STATES,
        engine_command("engine.disable_idle_states()"),
        cwd=directory,
        env=env,
        log=directory / f"{NO_IDLE_STATES}.log",
    )
