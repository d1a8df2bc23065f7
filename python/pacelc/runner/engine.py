"""The load engine as the runner sees it, and what it is told.

Map
---
Engine, Job     the interface of ``pacelc._engine``, so that a test can stand in for it
load_engine     the compiled engine, or one clear line
run_spec        a planned run and a target → what `Engine.run` is given
new_run_tag     what tells a run's writes from those of others on the same data
engine_target   the target in it
EngineResult    what a run answers with
is_refusal      whether an error is of the specification itself
"""

from __future__ import annotations

import secrets
from importlib import import_module
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict, cast

from pacelc.errors import CannotRun, InputError
from pacelc.runner.operations import OBSERVE_LIMIT_BYTES
from pacelc.study.distributions import engine_distribution
from pacelc.study.external import as_sent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pacelc.clusters.cluster import ClientHost
    from pacelc.study import PlannedRun, Settings, Workload

__all__ = [
    "Engine",
    "EngineResult",
    "Job",
    "Progress",
    "data_set_spec",
    "engine_target",
    "is_engine_error",
    "is_refusal",
    "load_engine",
    "new_run_tag",
    "run_spec",
]

_TARGET_FIELDS = frozenset(
    {
        "database",
        "datacenters",
        "endpoints",
        "local_datacenter",
        "nodes",
        "owner",
        "primary",
        "region_replicas",
        "region_servers",
        "replica_set",
        "replicas",
        "replication",
        "security",
        "sets",
        "sharding",
    }
)
_ADDRESSES = frozenset({"endpoints", "region_servers", "replicas"})


class Progress(TypedDict, total=False):
    """A running job's latest second."""

    phase: str
    elapsed_s: float
    measure_start_unix_s: float | None
    """When measuring begins; None until that is known."""
    users: int
    ok: int
    fail: int
    unknown: int
    throughput_per_s: float
    p99_ns: float | None
    operations: dict[str, dict[str, Any]]
    """See `pacelc.runner.events.Progressed`."""


class EngineResult(TypedDict):
    """What a run measured; times in seconds, latencies in nanoseconds."""

    measured_s: float
    warm_up_s: float
    steady: bool | None
    """Whether throughput and latency were steady at the warm-up's end; None if nobody looked."""
    before_measure_s: float
    """From the run's origin to the start of measuring: opening, spawn, warm-up."""
    started_unix_s: float
    consistency: dict[str, str]
    operations: dict[str, dict[str, Any]]
    samples: dict[str, list[Any]]
    latency_log: str
    schedule: dict[str, Any] | None
    """How the schedule was kept; None for a closed loop."""
    client: dict[str, Any]
    machine_speed: NotRequired[dict[str, Any] | None]
    """How fast the load generator's machine was; see `pacelc.store.format.MachineSpeed`."""
    observed: NotRequired[dict[str, Any] | None]
    """Which operations were kept, if not all; see `pacelc.store.observed.Observed`."""
    warnings: list[str]
    groups: NotRequired[list[dict[str, Any]]]
    """What the users of each place did; see `pacelc.store.format.GroupStats`."""
    workers: NotRequired[list[dict[str, Any]]]
    """Who measured which part, if several machines did; see `pacelc.store.format.WorkerStats`."""


class Job(Protocol):
    """Work that the engine does in its own threads."""

    def wait(self, timeout_s: float) -> bool:
        """Wait; True when the job is done. Raises what made it fail."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """See `Progress`."""
        ...

    def stop(self) -> None:
        """End it soon."""
        ...

    def result(self) -> str:
        """Its result as JSON."""
        ...


class Engine(Protocol):
    """The functions of ``pacelc._engine`` that runner and command line call."""

    def version(self) -> str:
        """Its version."""
        ...

    def check(self, spec_json: str) -> None:
        """Refuse what `run` would refuse."""
        ...

    def probe(self, target_json: str) -> Job:
        """Connect to a target and ask for its version."""
        ...

    def prepare(self, spec_json: str) -> Job:
        """Create the table anew; the result has its id, and whether its container was made."""
        ...

    def clear(self, spec_json: str, container: bool = False) -> Job:
        """Drop the table, if it is this study's, and its container, if nothing else is in it."""
        ...

    def load(self, spec_json: str) -> Job:
        """Insert the records and count them."""
        ...

    def run(self, spec_json: str) -> Job:
        """Warm up and measure."""
        ...

    def read_back(self, spec_json: str, records: Sequence[int], limit_s: float) -> Job:
        """Read records by number at the strongest level, for at most so many seconds."""
        ...


def load_engine() -> Engine:
    """Return the compiled engine.

    Raises
    ------
    CannotRun
        If this installation has none.
    """
    try:
        engine = import_module("pacelc._engine")
    except ImportError as error:
        raise CannotRun(
            f"the load engine is missing: {error}", "install the wheel, or build it with `make`"
        ) from error
    return cast("Engine", engine)


def data_set_spec(run: PlannedRun, target: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `Engine.prepare` and `Engine.load` are given."""
    return run_spec(run, target, record_operations=None)


def new_run_tag() -> int:
    """Return a tag that no burn-in, run or retry on the same data has had, by any process.

    It is drawn at random, 1 to 268,435,455 as the engine takes it, and isn't drawn again here.
    """
    while (tag := 1 + secrets.randbelow(_RUN_TAGS)) in _run_tags:
        pass
    _run_tags.add(tag)
    return tag


_RUN_TAGS = 2**28 - 1
_run_tags: set[int] = set()


def run_spec(
    run: PlannedRun,
    target: Mapping[str, Any],
    record_operations: Path | None,
    clients: Sequence[ClientHost] = (),
) -> dict[str, Any]:
    """Return what `Engine.run` is given; ``clients`` are the hosts of users in several places."""
    settings = run.scenario.settings

    def routed(target: Mapping[str, Any]) -> dict[str, Any]:
        session = {} if settings.session is None else {"session": settings.session}
        return {**engine_target(target, settings.client_options), **session}

    return {
        "target": routed(target),
        "workload": _workload(settings.workload),
        "consistency": settings.consistency,
        "users": settings.users,
        "groups": [
            {
                "region": client.region,
                "users": settings.clients[client.region],
                "target": routed(
                    {**client.target, "replicas": client.replicas}
                    if settings.session == "roaming"
                    else client.target
                ),
                "namespace": client.namespace,
            }
            for client in clients
        ],
        "spawn_rate_per_s": settings.spawn_rate_per_s,
        "arrivals": _arrivals(settings),
        "warm_up_s": settings.warm_up_s,
        "steady": None
        if settings.warm_up_ceiling_s is None
        else {"ceiling_s": settings.warm_up_ceiling_s},
        "measure_s": settings.measure_s,
        "operations": settings.operations,
        "operation_timeout_ms": round(settings.operation_timeout_s * 1000),
        "threads": settings.client_threads,
        "seed": run.seed,
        "record_operations": None if record_operations is None else str(record_operations),
        "operations_limit_bytes": None if settings.keeps_all_operations else OBSERVE_LIMIT_BYTES,
    }


def _arrivals(settings: Settings) -> dict[str, Any]:
    match settings.arrivals:
        case "closed":
            return {"closed": {"think_s": settings.think_time_s, "think": settings.think}}
        case "target":
            spread, schedule = "constant", "user"
        case "constant":
            spread, schedule = "constant", settings.schedule
        case "poisson":
            spread, schedule = "exponential", settings.schedule
    return {
        "open": {"rate_per_s": settings.rate_per_s, "spread": spread, "schedule": schedule},
    }


def engine_target(target: Mapping[str, Any], client_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a target as the engine reads it.

    It knows the fields below by name and refuses others. What a cluster's servers were started
    with is none of its business; what its own binding is asked for is.
    """
    named = {name: value for name, value in target.items() if name in _TARGET_FIELDS}
    for name in _ADDRESSES & named.keys():
        named[name] = [as_sent(address) for address in named[name]]
    if named.get("primary") is not None:
        named["primary"] = as_sent(named["primary"])
    return {**named, "options": dict(client_options)}


def _workload(workload: Workload) -> dict[str, Any]:
    # The engine names everything as the study does, but for the weights and the distribution.
    return {
        **workload.model_dump(mode="json", by_alias=False),
        "mix": workload.shares,
        "distribution": engine_distribution(workload.distribution),
    }


def is_engine_error(error: BaseException, kind: str = "EngineError") -> bool:
    """Whether the engine says so itself; its classes exist only where it is installed."""
    return any(ancestor.__name__ == kind for ancestor in type(error).__mro__)


def is_refusal(error: BaseException) -> bool:
    """Whether an error is of the specification itself: nothing was done, nor asked of a server."""
    return isinstance(error, InputError) or is_engine_error(error, "RefusedError")
