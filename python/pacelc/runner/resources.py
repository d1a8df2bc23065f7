"""The kernel's accounting of servers, load generator and machine, while a run is measured.

Map
---
Sampler         reads once an interval between ``start`` and ``stop``
resources_frame readings → the store's frame, on the run's own clock
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from pacelc.clusters.resources import ResourceRow, ResourceSampler
from pacelc.runner.reading import CLIENT, Reading, read_machine, read_self
from pacelc.store import RESOURCES_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CLIENT",
    "NodeProcess",
    "ProcessSampler",
    "Reading",
    "Sampler",
    "read_self",
    "resources_frame",
]


_GRACE_S = 0.1


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A server process to be accounted for."""

    name: str
    role: str
    pid: int


class Sampler(Protocol):
    """Reads the kernel's accounting once an interval."""

    def start(self) -> None:
        """Begin."""
        ...

    def follow(self, node: str, pid: int) -> None:
        """Read another process for a node: it was started again."""
        ...

    def stop(self) -> list[Reading]:
        """End, and return the readings."""
        ...


class ProcessSampler:
    """Servers by their process trees, the load generator by its own process, and the machine.

    The servers are this process's grandchildren, so its tree would count them twice.

    Parameters
    ----------
    processes
        The servers.
    interval_s
        Seconds from one reading to the next.
    """

    def __init__(self, processes: Sequence[NodeProcess], interval_s: float) -> None:
        self._roles = {process.name: process.role for process in processes}
        self._servers = ResourceSampler(
            {process.name: process.pid for process in processes}, interval_s
        )
        self._interval_s = interval_s
        self._own: list[Reading] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow_self, name="pacelc-self", daemon=True)
        self._begin_unix_s = 0.0

    def start(self) -> None:
        """Begin."""
        self._begin_unix_s = time.time()
        self._servers.start()
        self._read()
        self._thread.start()

    def follow(self, node: str, pid: int) -> None:
        """Read another process for a node: it was started again."""
        self._servers.follow(node, pid)

    def stop(self) -> list[Reading]:
        """End, and return the readings in the order of time."""
        self._ended.set()
        self._thread.join()
        self._read()
        return sorted(
            [*map(self._reading, self._servers.stop()), *self._own],
            key=lambda reading: reading.unix_s,
        )

    def _follow_self(self) -> None:
        while not self._ended.wait(self._interval_s):
            self._read()

    def _read(self) -> None:
        self._own.append(read_self())
        if (machine := read_machine()) is not None:
            self._own.append(machine)

    def _reading(self, row: ResourceRow) -> Reading:
        return Reading(
            unix_s=self._begin_unix_s + row["t_s"],
            node=row["node"],
            role=self._roles[row["node"]],
            cpu_user_s=row["cpu_user_s"],
            cpu_system_s=row["cpu_system_s"],
            rss_bytes=row["rss_bytes"],
            disk_read_bytes=row["disk_read_bytes"],
            disk_write_bytes=row["disk_write_bytes"],
            net_rx_bytes=row["net_rx_bytes"],
            net_tx_bytes=row["net_tx_bytes"],
        )


def resources_frame(
    readings: Sequence[Reading], measure_start_unix_s: float, measured_s: float, warm_up_s: float
) -> pl.DataFrame:
    """Return the readings of warm-up and measuring, ``t_s`` counted from the start of measuring.

    A reading shortly after the end still belongs to the measured phase: the last one is as near to
    the end as the sampler came, and what happened since the one before would be lost without it.
    """
    kept: list[dict[str, Any]] = []
    for reading in readings:
        t_s = reading.unix_s - measure_start_unix_s
        if -warm_up_s <= t_s <= measured_s + _GRACE_S:
            row = asdict(reading)
            del row["unix_s"]
            kept.append({"t_s": t_s, "phase": "measure" if t_s >= 0 else "warm-up", **row})
    return pl.DataFrame(kept, schema=RESOURCES_SCHEMA, orient="row")
