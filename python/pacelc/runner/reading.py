"""One reading of the kernel's accounting: our own process's, and the whole machine's.

Apart from the sampling, so that a worker on another machine imports no data frames.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

from pacelc.names import MACHINE

__all__ = ["CLIENT", "Reading", "read_machine", "read_self"]

CLIENT = "client"
"""Name and role of the load generator."""
_SYSTEM = (2, 5, 6, 7)
"""Of a line of ``/proc/stat``: system, interrupts, soft interrupts, stolen by a hypervisor."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A process tree's account at one moment; counts are cumulative, None where unknown."""

    unix_s: float
    node: str
    role: str
    cpu_user_s: float
    cpu_system_s: float
    rss_bytes: int | None
    disk_read_bytes: int | None
    disk_write_bytes: int | None
    net_rx_bytes: int | None
    net_tx_bytes: int | None


def read_self() -> Reading:
    """Return this process's account at this moment, as the load generator's."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        io = {name: int(count) for name, _, count in (line.partition(":") for line in lines)}
    except OSError:  # a container may hide it
        io = {}
    return Reading(
        unix_s=time.time(),
        node=CLIENT,
        role=CLIENT,
        cpu_user_s=usage.ru_utime,
        cpu_system_s=usage.ru_stime,
        rss_bytes=pages * resource.getpagesize(),
        disk_read_bytes=io.get("read_bytes"),
        disk_write_bytes=io.get("write_bytes"),
        net_rx_bytes=None,
        net_tx_bytes=None,
    )


def read_machine() -> Reading | None:
    """Return what all processes have used; None where it can't be read.

    Time that a hypervisor gave to another machine counts as the system's: it wasn't ours.
    """
    try:
        line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:  # a container may hide it
        return None
    ticks = [int(count) for count in line.split()[1:]]
    second = os.sysconf("SC_CLK_TCK")
    return Reading(
        unix_s=time.time(),
        node=MACHINE,
        role=MACHINE,
        cpu_user_s=(ticks[0] + ticks[1]) / second,
        cpu_system_s=sum(ticks[i] for i in _SYSTEM) / second,
        rss_bytes=None,
        disk_read_bytes=None,
        disk_write_bytes=None,
        net_rx_bytes=None,
        net_tx_bytes=None,
    )
