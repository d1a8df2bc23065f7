"""What a study is run with: engine, clusters and the kernel's accounting, behind interfaces.

The runner is written against these, so that its own tests can let a cluster die or never come up
without one. Databases that live in the engine itself (``memory``, ``noop``) are clusters without
servers.

Map
---
Lab             check, open a cluster, sample resources
RunningCluster  what the runner needs of a cluster
LocalLab        the real one
"""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pacelc.clusters import Cluster, ClusterError, ClusterSpec, open_cluster
from pacelc.clusters.checking import checked
from pacelc.clusters.cluster import require_machine
from pacelc.clusters.external import ExternalCluster
from pacelc.clusters.faults.control import Control
from pacelc.clusters.faults.injection import Injector
from pacelc.clusters.faults.rules import check_target, no_network, planned_nodes
from pacelc.clusters.network.emulation import NETWORK
from pacelc.clusters.network.links import Link
from pacelc.clusters.protocol import Records
from pacelc.clusters.sizes.allowed import allow_open_files
from pacelc.databases import facts_of
from pacelc.errors import InputError, one_line
from pacelc.names import NO_IDLE_STATES, counted
from pacelc.runner.engine import (
    Engine,
    engine_target,
    is_engine_error,
    load_engine,
    run_spec,
)
from pacelc.runner.resources import NodeProcess, ProcessSampler, Sampler
from pacelc.study.consistency import resolve_levels
from pacelc.study.faults import NETWORK_FAULTS
from pacelc.study.settings import IN_ENGINE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pacelc.clusters.cluster import ClientHost
    from pacelc.clusters.spec import NetworkKind, NodePlan
    from pacelc.study import PlannedRun, Settings

T = TypeVar("T")

__all__ = ["Lab", "LocalLab", "RunningCluster", "cluster_spec", "external_target"]


class RunningCluster(Protocol):
    """A cluster that serves."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Of the database and what it runs on."""
        ...

    @property
    def processes(self) -> Sequence[NodeProcess]:
        """The servers' processes, and what emulates their network, for the kernel's accounting."""
        ...

    def call(self, work: Callable[[], T]) -> T:
        """Call a function where clients are: it, and threads that it makes, reach the servers."""
        ...

    def record(self) -> Mapping[str, Any]:
        """Return what else a run's record says of the cluster, as it is now."""
        ...

    def target(self) -> Mapping[str, Any]:
        """Return what the engine is told of it."""
        ...

    def clients(self) -> Sequence[ClientHost]:
        """Return the hosts of users in several places; empty where all are in one."""
        ...

    def resize(self, settings: Settings, tell: Callable[[str], None]) -> bool:
        """Become the cluster of these settings; false, and nothing done, where that can't be."""
        ...

    def sizes(self) -> Mapping[str, Any]:
        """Return the nodes' sizes in force and what the kernel counted; empty if they have none."""
        ...

    def unlimited(self) -> AbstractContextManager[object]:
        """Return a context in which nodes may use all processors, whatever their size."""
        ...

    def check(self) -> None:
        """Raise `pacelc.clusters.NodeDied` if a server has ended."""
        ...

    def log_tail(self) -> str:
        """Return the last lines of the log of the first node."""
        ...

    @property
    def injector(self) -> Injector | None:
        """What puts faults into it; None where there are no servers of pacelc's."""
        ...


class Lab(Protocol):
    """What a study is run with."""

    @property
    def engine(self) -> Engine:
        """The load engine."""
        ...

    def check(self, run: PlannedRun) -> None:
        """Refuse, before anything starts, a cluster or a load that can't be had."""
        ...

    def open_cluster(
        self, settings: Settings, tell: Callable[[str], None]
    ) -> AbstractContextManager[RunningCluster]:
        """Return a context in which the cluster of ``settings`` serves."""
        ...

    def sampler(self, processes: Sequence[NodeProcess], interval_s: float) -> Sampler:
        """Return a sampler of ``processes`` and of the load generator."""
        ...


@dataclass(frozen=True)
class _NoServers:
    """A database inside the engine."""

    database: str
    settings: Settings
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    processes: Sequence[NodeProcess] = ()
    injector: None = None

    def target(self) -> Mapping[str, Any]:
        return {
            "database": self.database,
            "nodes": self.settings.nodes,
            "replication": self.settings.replication,
        }

    def call(self, work: Callable[[], T]) -> T:
        return work()

    def record(self) -> Mapping[str, Any]:
        return {}

    def clients(self) -> Sequence[ClientHost]:
        return ()

    def resize(self, settings: Settings, tell: Callable[[str], None]) -> bool:  # noqa: ARG002 - its protocol's
        return False

    def sizes(self) -> Mapping[str, Any]:
        return {}

    def unlimited(self) -> AbstractContextManager[object]:
        return nullcontext()

    def check(self) -> None: ...

    def log_tail(self) -> str:
        return ""


@dataclass(frozen=True)
class _Servers:
    """Real servers."""

    cluster: Cluster
    start_timeout_s: float
    injector: Injector

    @property
    def versions(self) -> Mapping[str, str]:
        return self.cluster.versions

    @property
    def processes(self) -> Sequence[NodeProcess]:
        network = self.cluster.network
        beside = {
            NETWORK: network and network.pid,
            NO_IDLE_STATES: self.cluster.no_idle_states_pid,
        }
        return [
            *(NodeProcess(node.name, node.role, node.pid) for node in self.cluster.nodes),
            *(NodeProcess(name, name, pid) for name, pid in beside.items() if pid is not None),
        ]

    def call(self, work: Callable[[], T]) -> T:
        return self.cluster.call(work)

    def record(self) -> Mapping[str, Any]:
        network = self.cluster.network
        return {} if network is None else {"network": network.record()}

    def target(self) -> Mapping[str, Any]:
        return self.cluster.target()

    def clients(self) -> Sequence[ClientHost]:
        return self.cluster.clients()

    def resize(self, settings: Settings, tell: Callable[[str], None]) -> bool:
        if settings.external is not None or settings.database != self.cluster.spec.database:
            return False
        spec = cluster_spec(settings)
        return self.cluster.resize(spec, tell, timeout_s=self.start_timeout_s)

    def sizes(self) -> Mapping[str, Any]:
        return self.cluster.sizes.record({node.name: node.pid for node in self.cluster.nodes})

    def unlimited(self) -> AbstractContextManager[object]:
        return self.cluster.sizes.lifted()

    def check(self) -> None:
        self.cluster.check()

    def log_tail(self) -> str:
        return self.cluster.nodes[0].log_tail()


@dataclass(frozen=True)
class LocalLab:
    """Real servers: on this machine, or the user's own.

    Parameters
    ----------
    workdir
        Directory for the servers' data; by default the system's one for temporary files.
    start_timeout_s
        How long a cluster of up to three nodes may take until it serves; others in proportion.
    force_memory
        Start clusters although the machine has less memory than they are expected to take.
    """

    engine: Engine = field(default_factory=load_engine)
    workdir: Path | None = None
    start_timeout_s: float = 180.0
    force_memory: bool = False

    def check(self, run: PlannedRun) -> None:
        """See `Lab`."""
        settings = run.scenario.settings
        self.check_open_files(settings)
        if settings.external is not None:
            target = external_target(settings)
        else:
            if settings.database not in IN_ENGINE:
                spec = cluster_spec(settings)
                require_machine(spec, _records(settings), force_memory=self.force_memory)
                workdir = (self.workdir or Path(tempfile.gettempdir())).resolve()
                _check_faults(settings, spec, planned_nodes(spec, workdir))
            target = _NoServers(settings.database, settings).target()
        try:
            self.engine.check(json.dumps(run_spec(run, target, None)))
        except Exception as error:
            if not is_engine_error(error):
                raise
            message = f"scenario {run.scenario.number}: {one_line(error)}"
            raise InputError(message, getattr(error, "hint", None)) from None

    def check_open_files(self, settings: Settings) -> None:
        """Refuse more users than a process may have connections for: this one, and each server."""
        if settings.database in IN_ENGINE:
            return
        own = facts_of(settings.database).connections_of_user(resolve_levels(settings).values())
        shared = settings.nodes * settings.client_threads
        allow_open_files(
            settings.users * own or shared,
            f"{counted(settings.users, 'user')} of {settings.database}",
        )

    @contextmanager
    def open_cluster(
        self, settings: Settings, tell: Callable[[str], None]
    ) -> Generator[RunningCluster]:
        """See `Lab`."""
        if settings.external is not None:
            where = ", ".join(settings.external.endpoints)
            tell(f"connecting to the external cluster {where}")
            yield ExternalCluster(external_target(settings), self._probe(settings))
            return
        if settings.database in IN_ENGINE:
            yield _NoServers(settings.database, settings)
            return
        with open_cluster(
            cluster_spec(settings),
            workdir=self.workdir,
            on_event=lambda event: tell(str(event)),
            timeout_s=self.start_timeout_s,
            force_memory=self.force_memory,
        ) as cluster:
            injector = Injector(cluster)
            with Control(injector):
                yield _Servers(cluster, self.start_timeout_s, injector)

    def _probe(self, settings: Settings) -> str | None:
        """Connect once, so that a door that is shut is known before a run; return the version."""
        target = engine_target(external_target(settings), settings.client_options)
        job = self.engine.probe(json.dumps(target))
        version = json.loads(job.result())["version"]
        return None if version is None else str(version)

    def sampler(self, processes: Sequence[NodeProcess], interval_s: float) -> Sampler:
        """See `Lab`."""
        return ProcessSampler(processes, interval_s)


def external_target(settings: Settings) -> dict[str, Any]:
    """Return what the engine is told of a cluster of the user's."""
    external = settings.external
    return {
        **_NoServers(settings.database, settings).target(),
        **({} if external is None else external.target()),
        "sharding": settings.sharding,
    }


def _records(settings: Settings) -> Records:
    """Return what is loaded."""
    workload = settings.workload
    return Records(workload.records, workload.fields, workload.field_length_bytes)


def _network(settings: Settings) -> NetworkKind:
    """Return what a cluster is told; it knows of regions and links, but not of faults."""
    asked = settings.network == "auto" and settings.asks_for_network
    return "namespaces" if asked else settings.network


def _check_faults(settings: Settings, spec: ClusterSpec, plans: Sequence[NodePlan]) -> None:
    """Refuse faults on nodes that won't be there, or on a network that won't."""
    for number, fault in enumerate(settings.faults, 1):
        try:
            check_target(fault.target, plans)
            if fault.fault in NETWORK_FAULTS and not spec.emulated:
                raise no_network(fault.fault)
        except ClusterError as error:
            raise InputError(
                f"faults: entry {number} ({fault}): {error.message}", error.hint
            ) from None


def cluster_spec(settings: Settings) -> ClusterSpec:
    """Return what `pacelc.clusters` is asked for.

    Raises
    ------
    InputError
        If there can be no such cluster.
    """
    try:
        spec = ClusterSpec(
            settings.database,
            nodes=settings.nodes,
            replication=settings.replication,
            options=settings.cluster_options,
            regions=settings.regions,
            client_region=settings.client_region,
            clients=tuple(settings.clients),
            links={
                way: Link(**link.model_dump(by_alias=False)) for way, link in settings.links.items()
            },
            network=_network(settings),
            cores=settings.cores,
            memory_bytes=settings.memory_bytes,
            no_idle_states=settings.no_idle_states,
            sharding=settings.sharding,
            shards=settings.shards,
        )
        return checked(spec)
    except ClusterError as error:
        raise InputError(error.message, error.hint) from None
