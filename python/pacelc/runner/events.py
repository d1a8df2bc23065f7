"""What a running study tells: one small type an event; a terminal, a log, a test make it theirs.

Map
---
Event           everything that `Observer` may hear
Observer        hears events; the runner knows nothing else of who watches
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pacelc.runner.account import TimeLeft
    from pacelc.study import PlannedRun

__all__ = [
    "ClusterDown",
    "ClusterFailed",
    "ClusterStarting",
    "ClusterStep",
    "ClusterUp",
    "Cooling",
    "Event",
    "Loading",
    "Observer",
    "Progressed",
    "RunFailed",
    "RunFinished",
    "RunStarted",
    "StudyFinished",
    "StudyStarted",
    "Warned",
]


@dataclass(frozen=True, slots=True)
class StudyStarted:
    """The schedule is known and everything in it was checked."""

    name: str
    runs: int
    """Runs of the whole study, or of the part that was asked for."""
    finished: int
    """Of these, how many there were before."""
    time_left: TimeLeft


@dataclass(frozen=True, slots=True)
class ClusterStarting:
    """Servers are being started."""

    key: str
    database: str
    nodes: int


@dataclass(frozen=True, slots=True)
class ClusterStep:
    """One step of a cluster's start or end, in its own words."""

    message: str


@dataclass(frozen=True, slots=True)
class ClusterUp:
    """The cluster serves."""

    key: str
    database: str
    seconds: float
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClusterFailed:
    """The cluster never came to serve; ``runs`` can't be run."""

    key: str
    reason: str
    hint: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class ClusterDown:
    """The servers are gone."""

    key: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins; ``position`` of ``runs`` in the whole schedule."""

    run: PlannedRun
    position: int
    runs: int
    time_left: TimeLeft


@dataclass(frozen=True, slots=True)
class Loading:
    """The run's records are being inserted."""

    run: PlannedRun
    records: int
    inserted: int
    time_left: TimeLeft


@dataclass(frozen=True, slots=True)
class Progressed:
    """The latest second of a run."""

    run: PlannedRun
    job: int
    """The engine's job, each of which counts from nothing: the tag of its writes."""
    phase: str
    elapsed_s: float
    whole_s: float | None
    """How long users start, warm up and measure; of a burn-in, the turn of this load. None where a
    number of operations ends it."""
    users: int
    ok: int
    fail: int
    unknown: int
    throughput_per_s: float
    p99_ms: float | None
    time_left: TimeLeft
    operations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    """By kind: ``ok``, ``fail``, ``unknown`` and ``latency_sum_ns`` so far, warm-up included;
    ``p50_ns`` and ``p99_ns`` of the latest second."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run is measured and stored."""

    run: PlannedRun
    position: int
    runs: int
    ok: int
    fail: int
    unknown: int
    throughput_per_s: float
    p99_ms: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunFailed:
    """An attempt gave no run."""

    run: PlannedRun
    position: int
    runs: int
    reason: str
    hint: str | None
    cluster_failed: bool = False
    """Whether it is one of the runs that `ClusterFailed` spoke of."""


@dataclass(frozen=True, slots=True)
class Cooling:
    """The cluster rests before the next run."""

    seconds: float
    time_left: TimeLeft


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that does not stop the study."""

    message: str


@dataclass(frozen=True, slots=True)
class StudyFinished:
    """Everything was tried."""

    finished: int
    failed: int
    already_there: int
    seconds: float
    overhead: Mapping[str, float] | None
    """Shares of the time outside load, warm-up, measuring and cool-down, by activity; None if
    nothing was run."""


Event: TypeAlias = (
    StudyStarted
    | ClusterStarting
    | ClusterStep
    | ClusterUp
    | ClusterFailed
    | ClusterDown
    | RunStarted
    | Loading
    | Progressed
    | RunFinished
    | RunFailed
    | Cooling
    | Warned
    | StudyFinished
)
Observer: TypeAlias = Callable[[Event], None]
