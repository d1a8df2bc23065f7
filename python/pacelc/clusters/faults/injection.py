"""Faults: kill, pause, cut off or slow down nodes of a running cluster, and undo it.

What is wrong at a moment is the union of the faults that are active. Beginning and ending a fault
both bring the cluster to that state: a node is dead while any active fault kills it; a pair of
hosts is cut while any active fault cuts it; of links, each active fault changes what it names, in
the order in which the faults began.

What a fault means, whom a target means and what a partition cuts is said by
`pacelc.clusters.faults.rules`.

Map
---
FaultRecord     what went wrong, when, where: to the microsecond
Injector        does it to a cluster, and undoes it
primary_of      the primary of the moment
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import ClusterError, NodeDied
from pacelc.clusters.faults.rules import (
    FaultSpec,
    Pair,
    changed_links,
    check_target,
    cuts,
    no_network,
    resolve,
)
from pacelc.clusters.network.links import is_client
from pacelc.clusters.spec import DATA_ROLES
from pacelc.names import LINK_FAULTS, PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from pacelc.clusters.cluster import Cluster
    from pacelc.clusters.network.emulation import Network

__all__ = ["Clock", "FaultRecord", "Injector", "primary_of"]


@dataclass
class FaultRecord:
    """One fault that was put into a cluster.

    Attributes
    ----------
    fault, target, details
        What was asked for.
    by
        ``schedule``, ``hand``, or ``server`` for a node that ended because of a fault.
    nodes
        Whom it hit.
    planned_at_s, planned_for_s
        When and how long, from the beginning of measuring; None by hand.
    asked_unix_us, begin_unix_us
        When it was begun, and from when on it was in force.
    end_asked_unix_us, end_unix_us
        The same of its end: a killed node's process runs again, which is not yet to serve.
    done
        What was done, in words.
    error
        Why it could not be done, or not be undone.
    """

    fault: str
    target: str
    by: str
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    nodes: tuple[str, ...] = ()
    planned_at_s: float | None = None
    planned_for_s: float | None = None
    asked_unix_us: int = 0
    begin_unix_us: int | None = None
    end_asked_unix_us: int | None = None
    end_unix_us: int | None = None
    done: list[str] = field(default_factory=list[str])
    error: str | None = None

    @property
    def active(self) -> bool:
        """Whether it is in force."""
        return self.begin_unix_us is not None and self.end_unix_us is None

    def as_record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


class Clock:
    """Unix time in microseconds that no correction of the system's clock moves."""

    def __init__(self) -> None:
        self.set()

    def set(self) -> None:
        """Take the system's time once more: a run's own clock is set when it begins, too."""
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def unix_us(self, monotonic_ns: int | None = None) -> int:
        """Return the time: now, or when `time.monotonic_ns` was as given."""
        now_ns = time.monotonic_ns() if monotonic_ns is None else monotonic_ns
        return (self._offset_ns + now_ns) // 1000


def _may_end(node: str, record: FaultRecord) -> bool:
    """Whether a fault may be why a node has ended: it hit it, or cut the network between nodes.

    A partition has two sides: a region server ends itself on the one without ZooKeeper, whichever
    was the target.
    """
    return node in record.nodes or record.fault in PARTITIONS


def primary_of(cluster: Cluster, *, without: Collection[str] = ()) -> str | None:
    """Return the node that is the primary now; None while there is none.

    Parameters
    ----------
    without
        Nodes that can't answer.
    """
    data = [node for node in cluster.nodes if node.role in DATA_ROLES]
    return DATABASES[cluster.spec.database].leader(data, without)


class Injector:
    """Puts faults into a cluster and takes them out again; from any thread.

    Parameters
    ----------
    cluster
        It serves.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.records: list[FaultRecord] = []
        """Everything so far, in the order of beginnings."""
        self.on_restart: Callable[[str, int], None] = lambda _node, _pid: None
        """Hears of a node that was started again, and its new process."""
        self.clock = Clock()
        self._mutex = threading.RLock()
        self._active: list[tuple[FaultRecord, FaultSpec]] = []
        self._dead: set[str] = set()
        self._stopped: set[str] = set()
        self._nodes = [plan.name for plan in cluster.plans if plan.role in DATA_ROLES]
        self._cut: frozenset[Pair] = frozenset()
        self._links: dict[Pair, Any] = {}
        self._own_links: Mapping[Pair, Any] = {}

    @property
    def network(self) -> Network | None:
        """The emulated network; None where nodes share the machine's own loopback."""
        return self.cluster.network

    @property
    def active(self) -> tuple[FaultRecord, ...]:
        """The faults in force."""
        with self._mutex:
            return tuple(record for record, _ in self._active)

    def check(self, spec: FaultSpec) -> None:
        """Refuse a fault that this cluster can't have.

        Raises
        ------
        FaultError
            It says why.
        """
        check_target(spec.target, self.cluster.plans)
        if spec.needs_network and self.network is None:
            raise no_network(spec.fault)

    def begin(
        self,
        spec: FaultSpec,
        *,
        by: str,
        seed: int,
        planned_at_s: float | None = None,
        planned_for_s: float | None = None,
    ) -> FaultRecord:
        """Begin a fault; what can't be done is in the record's ``error``.

        Raises
        ------
        FaultError
            This cluster can't have it at all, or the target means nobody now.
        """
        self.check(spec)
        with self._mutex:
            record = FaultRecord(
                spec.fault,
                spec.target,
                by,
                spec.details,
                planned_at_s=planned_at_s,
                planned_for_s=planned_for_s,
                asked_unix_us=self.clock.unix_us(),
            )
            record.nodes = resolve(
                spec.target,
                self._nodes,
                primary=self._primary() if spec.target in ("primary", "secondary") else None,
                regions=self._places(spec.target),
                seed=seed,
                others=[p.name for p in self.cluster.plans if p.name not in self._nodes],
            )
            self.records.append(record)
            # Whom it hits may have taken a while to find out.
            record.asked_unix_us = self.clock.unix_us()
            self._active.append((record, spec))
            record.begin_unix_us = self._bring_about(record)
            return record

    def note_failure(
        self, spec: FaultSpec, error: str, planned_at_s: float, planned_for_s: float | None
    ) -> None:
        """Keep a record of a fault that could not be begun at its time."""
        with self._mutex:
            self.records.append(
                FaultRecord(
                    spec.fault,
                    spec.target,
                    "schedule",
                    spec.details,
                    planned_at_s=planned_at_s,
                    planned_for_s=planned_for_s,
                    asked_unix_us=self.clock.unix_us(),
                    error=error,
                )
            )

    def end(self, record: FaultRecord) -> None:
        """End a fault; ending one twice is harmless."""
        with self._mutex:
            left = [(other, spec) for other, spec in self._active if other is not record]
            if len(left) == len(self._active):
                return
            self._active = left
            record.end_asked_unix_us = self.clock.unix_us()
            record.end_unix_us = self._bring_about(record)

    def heal(self) -> None:
        """End every fault."""
        for record in self.active:
            self.end(record)

    def excuse(self, node: str) -> None:
        """Take a node that has ended by itself, because of a fault, for a killed one.

        A region server that was silent for longer than ZooKeeper waits ends itself when it hears
        so.
        """
        with self._mutex:
            self.cluster.excuse(node)
            now = self.clock.unix_us()
            record = FaultRecord("kill", node, "server", {}, (node,), asked_unix_us=now)
            record.begin_unix_us = now
            record.done.append(f"{node} has ended by itself")
            self._dead.add(node)
            self.records.append(record)
            self._active.append((record, FaultSpec("kill", node)))

    def check_servers(self, since: int = 0) -> None:
        """Make sure that every server runs, but for those that faults have ended.

        Parameters
        ----------
        since
            Number of the first record of a fault that may be the reason.

        Raises
        ------
        NodeDied
            One has ended that no fault has hit.
        """
        while True:
            try:
                return self.cluster.check()
            except NodeDied as death:
                if not any(_may_end(death.node, record) for record in self.records[since:]):
                    raise
                self.excuse(death.node)

    def settle(self, timeout_s: float, tell: Callable[[str], None]) -> None:
        """End every fault and wait until the cluster serves as it did when it was new.

        A server that ends only now, because of a fault, is started again, too.

        Raises
        ------
        ClusterError
            It doesn't.
        """
        end_s = time.monotonic() + timeout_s
        while True:
            self.heal()
            try:
                return self.cluster.settle(end_s - time.monotonic(), tell)
            except NodeDied as death:
                hit = any(_may_end(death.node, record) for record in self.records)
                if not hit or time.monotonic() > end_s:
                    raise
                tell(f"{death.node} has ended by itself, because of a fault")
                self.excuse(death.node)

    def _bring_about(self, record: FaultRecord) -> int:
        """Make the cluster what the active faults say; return when it was so."""
        # A fault that can't be carried out is news to be kept, not a reason to leave others
        # unhealed.
        try:
            return self._processes(record, self._network(record))
        except (ClusterError, OSError) as error:
            record.error = str(error).splitlines()[0]
            return self.clock.unix_us()

    def _processes(self, record: FaultRecord, done_unix_us: int | None) -> int:
        dead = self._hit_by("kill")
        stopped = self._hit_by("pause") - dead
        signals_ns: list[int] = []
        for name in sorted(dead - self._dead):
            node = self.cluster.node(name)
            signals_ns.append(node.kill())
            self._dead.add(name)
            self._stopped.discard(name)
            record.done.append(f"killed {name} (process {node.pid})")
        for name in sorted(self._dead - dead):
            node = self.cluster.start(name)
            self._dead.discard(name)
            record.done.append(f"started {name} again (process {node.pid})")
            self.on_restart(name, node.pid)
        for name in sorted(stopped - self._stopped):
            self.cluster.node(name).pause()
            self._stopped.add(name)
            record.done.append(f"stopped {name}")
        for name in sorted(self._stopped - stopped):
            self.cluster.node(name).resume()
            self._stopped.discard(name)
            record.done.append(f"let {name} go on")
        if signals_ns:
            # From the signal on it serves nobody, and until then it does: on a busy machine the
            # keeper may have waited for a processor. That it is gone, which is what was waited for,
            # can be half a second later: the kernel takes its memory apart first.
            return self.clock.unix_us(signals_ns[0])
        if done_unix_us is not None and record.fault not in ("kill", "pause"):
            return done_unix_us
        return self.clock.unix_us()

    def _hit_by(self, fault: str) -> set[str]:
        return {
            node for record, spec in self._active if spec.fault == fault for node in record.nodes
        }

    def _network(self, record: FaultRecord) -> int | None:
        """Bring cuts and links about; when they were in force, None if nothing changed."""
        network = self.network
        if network is None:
            return None
        in_force: int | None = None
        names = [host.name for host in network.hosts if not is_client(host.name)]
        clients = [host.name for host in network.hosts if is_client(host.name)]
        cut = frozenset[Pair]().union(
            *(
                cuts(
                    spec.fault,
                    names,
                    self._hosts(network, other.nodes),
                    direction=spec.direction,
                    client=spec.client,
                    clients=clients,
                )
                for other, spec in self._active
            )
        )
        if cut != self._cut:
            in_force = network.cut(sorted(cut))
            record.done.append(f"{len(cut)} of the ordered pairs of hosts are cut")
            self._cut = cut
        if not self._links:
            self._own_links = network.links
        links = changed_links(
            self._own_links,
            (
                (spec, self._hosts(network, other.nodes))
                for other, spec in self._active
                if spec.fault in LINK_FAULTS
            ),
        )
        if links != self._links:
            in_force = network.set_links({f"{a} -> {b}": link for (a, b), link in links.items()})
            record.done.append(f"links that differ from the network's own: {len(links):,}")
            self._links = links
        return in_force

    def _hosts(self, network: Network, nodes: Iterable[str]) -> list[str]:
        hosts = (network.host_of(self.cluster.node(node).host) for node in nodes)
        return list(dict.fromkeys(hosts))

    def _places(self, target: str) -> dict[str, list[str]]:
        """Whether each node is in the region of a target."""
        network, region = self.network, target.removeprefix("region:")
        if network is None:
            return {}
        inside = {host.address for host in network.hosts if host.is_in(region)}
        return {name: [region] for name in self._nodes if self.cluster.node(name).host in inside}

    def _primary(self) -> str | None:
        without = self._dead | self._stopped
        return self.cluster.call(lambda: primary_of(self.cluster, without=without))
