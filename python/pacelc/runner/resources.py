"""The kernel's accounting of the servers and of the load generator, while a run is measured.

Map
---
Sampler         reads once an interval between ``start`` and ``stop``
resources_frame readings → the store's frame, on the run's own clock
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import polars as pl

from pacelc.store import RESOURCES_SCHEMA

__all__ = ["NodeProcess", "ProcessSampler", "Reading", "Sampler", "resources_frame"]


_GRACE_S = 0.1


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A server process to be accounted for."""

    name: str
    role: str
    pid: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The kernel's accounting of one process tree at one moment; counts are cumulative, None where there are none."""

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


class Sampler(Protocol):
    """Reads the kernel's accounting once an interval."""

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> list[Reading]:
        """End, and return the readings."""
        ...


class ProcessSampler:
    def __init__(self, processes: Sequence[NodeProcess], interval_s: float) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> list[Reading]:
        return []


def resources_frame(
    readings: Sequence[Reading], measure_start_unix_s: float, measured_s: float, warm_up_s: float
) -> pl.DataFrame:
    """Return the readings of warm-up and measuring, ``t_s`` counted from the start of measuring.

    A reading shortly after the end still belongs to the measured phase: the last one is as near to the end as the
    sampler came, and what happened since the one before would be lost without it.
    """
    kept: list[dict[str, Any]] = []
    for reading in readings:
        t_s = reading.unix_s - measure_start_unix_s
        if -warm_up_s <= t_s <= measured_s + _GRACE_S:
            row = asdict(reading)
            del row["unix_s"]
            kept.append({"t_s": t_s, "phase": "measure" if t_s >= 0 else "warm-up", **row})
    return pl.DataFrame(kept, schema=RESOURCES_SCHEMA, orient="row")
