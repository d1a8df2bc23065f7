"""The kernel's accounting of the servers and of the load generator, while a run is measured.

Map
---
Sampler         reads once an interval between ``start`` and ``stop``
resources_frame readings → the store's frame, on the run's own clock
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from pacelc.store import RESOURCES_SCHEMA

__all__ = ["NodeProcess", "ProcessSampler", "Sampler", "resources_frame"]


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

    def stop(self) -> list[dict[str, Any]]:
        """End, and return the readings."""
        ...


class ProcessSampler:
    def __init__(self, processes: Sequence[NodeProcess], interval_s: float) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> list[dict[str, Any]]:
        return []


def resources_frame(
    rows: Sequence[dict[str, Any]], measure_start_unix_s: float, measured_s: float, warm_up_s: float
) -> pl.DataFrame:
    return pl.DataFrame(schema=RESOURCES_SCHEMA)
