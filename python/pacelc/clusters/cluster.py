"""A running cluster: `open_cluster` makes it, `Cluster` and `Node` are what there is of it.

The life of a cluster:

1. Its database can have such a cluster.
2. Its programs are found or fetched.
3. It gets a directory; what dead owners left is removed.
4. Its network is made, if it is to have one of its own; else its ports are free. Its nodes have
   their size.
5. All its servers are started at once, each on its host; root's as an ordinary user.
6. Every node is in, and a write at the strongest level has been acknowledged.
7. It is used.
8. Every server is killed, its directory removed: in every case, whatever happened.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from pacelc.clusters.checking import checked
from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import ClusterError, NodeDied, StartError, nearest
from pacelc.clusters.idle_states import disable_idle_states, require_idle_states
from pacelc.clusters.network.emulation import Network, hosts_of, require_capability
from pacelc.clusters.process import Supervisor, Workspace, require_free
from pacelc.clusters.resize import resizable
from pacelc.clusters.server_user import server_user
from pacelc.clusters.sizes.allowed import allow_open_files
from pacelc.clusters.sizes.estimate import NO_RECORDS, require_memory, told
from pacelc.clusters.sizes.size import Sizes, require
from pacelc.clusters.spec import ClusterSpec, Endpoint, Event, NodePlan, Role, Step
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from pacelc.clusters.protocol import Records, Software

T = TypeVar("T")

LOG_TAIL_LINES = 30
LOG_TAIL_BYTES = 64 * 1024
DEATH_BYTES = 1024 * 1024
"""Of a dead server's log, in which its reason is looked for: MongoDB's stack traces follow it."""
FULL_DISK_BYTES = 1024 * 1024
"""A disk with less room is full: files grow by more than that."""
POLL_FIRST_S = 0.02
POLL_MOST_S = 0.25
NODES_OF_TIMEOUT = 3


@dataclass(frozen=True)
class Node:
    """One server process.

    Parameters
    ----------
    name, role, host, ports, data_dir, log_file
        As planned.
    pid
        Of the process; `Cluster.restart` gives a new one.
    """

    name: str
    role: Role
    host: str
    ports: Mapping[str, int]
    pid: int
    data_dir: Path
    log_file: Path
    _supervisor: Supervisor

    @property
    def endpoint(self) -> Endpoint:
        """Where clients reach it."""
        return Endpoint(self.host, self.ports["client"], self.role)

    def kill(self) -> int:
        """End it at once, as a power failure of the server would; returns when it is gone.

        The value is when the signal was sent, in nanoseconds of `time.monotonic_ns`: from then on
        it serves nobody.
        """
        return self._supervisor.signal(self.name, signal.SIGKILL)

    def pause(self) -> None:
        """Stop it where it is: to the others it is silent, not gone."""
        self._supervisor.signal(self.name, signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._supervisor.signal(self.name, signal.SIGCONT)

    def log_tail(self, lines: int = LOG_TAIL_LINES) -> str:
        """Return the last lines of its log; empty when it has written none."""
        return tail(self.log_file, lines)


class Cluster:
    """Servers that run and serve. Made by `open_cluster`.

    Attributes
    ----------
    spec
        What was asked for.
    versions
        Of the database and of what it runs on, and where they came from.
    directory
        Holds data, logs and configuration; removed at the end.
    network
        The emulated one that its nodes are hosts of; None if they share this machine's loopback.
    sizes
        Of its nodes, where they have any.
    no_idle_states_pid
        Of the process that disables idle states; None where they are enabled.
    """

    def __init__(
        self, spec: ClusterSpec, software: Software, directory: Path, supervisor: Supervisor
    ) -> None:
        self.spec = spec
        self.sizes = Sizes(spec)
        self._software = software
        self.versions = MappingProxyType(dict(software.versions))
        self.directory = directory
        self._plans: dict[str, NodePlan] = {
            plan.name: plan for plan in DATABASES[spec.database].plan(spec, software, directory)
        }
        self.network: Network | None = None
        self.no_idle_states_pid: int | None = None
        self._supervisor = supervisor
        self._nodes: dict[str, Node] = {}
        self._user = server_user()
        if self._user is not None:
            # What is directly in it stays root's: servers can't put anything in its place.
            directory.chmod(0o711)
            self._user.require(directory)

    @property
    def plans(self) -> tuple[NodePlan, ...]:
        """The nodes as planned, in order."""
        return tuple(self._plans.values())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every server process, in the order of the plans."""
        return tuple(self._nodes[name] for name in self._plans if name in self._nodes)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where clients connect; the first is the one to use as coordinator or primary."""
        masters = [plan.endpoint for plan in self.plans if plan.role == "master"]
        return tuple(masters or [plan.endpoint for plan in self.plans])

    def inside(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread reaches the nodes; see `Network.inside`."""
        return nullcontext() if self.network is None else self.network.inside()

    def call(self, work: Callable[[], T]) -> T:
        """Call a function where clients are, and return what it returns."""
        return work() if self.network is None else self.network.call(work)

    def node(self, name: str) -> Node:
        """Return the node of that name.

        Raises
        ------
        ClusterError
            There is none.
        """
        if name not in self._nodes:
            raise ClusterError(f"no node {name!r}", hint=nearest(name, self._nodes))
        return self._nodes[name]

    def target(self) -> dict[str, Any]:
        """Return what the load engine is told of this cluster: JSON-able."""
        return self._target(self.spec)

    def _target(self, spec: ClusterSpec) -> dict[str, Any]:
        endpoints = [str(endpoint) for endpoint in self.endpoints]
        return {
            "database": self.spec.database,
            "endpoints": endpoints,
            "primary": endpoints[0],
            "replicas": [
                str(endpoint) for endpoint in self.endpoints if endpoint.role == "replica"
            ],
            "nodes": self.spec.nodes,
            "replication": self.spec.copies,
            "options": dict(self.spec.options),
            **DATABASES[self.spec.database].target(spec, self.plans),
        }

    def clients(self) -> list[ClientHost]:
        """Return the hosts of users in several places, with the cluster as it is seen from each.

        The nearest node comes first, and of replicas the target has only the nearest: users stay
        with these. A data centre is local where the nearest node is in it.
        """
        network = self.network
        if network is None or not self.spec.clients:
            return []
        links = network.links

        def away_s(host: str, endpoint: str) -> float:
            node = network.host_of(endpoint.rpartition(":")[0])
            return links[host, node].delay_s or 0.0

        found: list[ClientHost] = []
        for client in network.clients:
            nodes = [host for host in network.hosts if host not in network.clients]
            nearest_node = min(nodes, key=lambda node: links[client.name, node.name].delay_s or 0.0)
            spec = replace(self.spec, clients=(), client_region=nearest_node.place)
            target = self._target(spec)
            away = {end: away_s(client.name, end) for end in target["endpoints"]}
            target["endpoints"] = sorted(away, key=lambda end: away[end])
            away = {end: away_s(client.name, end) for end in target["replicas"]}
            replicas = tuple(sorted(away, key=lambda end: away[end]))
            target["replicas"] = [end for end in replicas if away[end] == away[replicas[0]]]
            namespace = network.namespace(client.name)
            found.append(ClientHost(client.place, namespace, target, replicas))
        return found

    def check(self) -> None:
        """Make sure that every server runs, but for those that were killed by `Node.kill`.

        Raises
        ------
        NodeDied
            One has ended.
        ClusterError
            The keeper was killed, and all servers with it.
        """
        for name, status in self._supervisor.exits().items():
            if name not in self._supervisor.killed:
                plan = self._plans.get(name)
                log = self.directory / f"{name}.log" if plan is None else plan.log_file
                died = NodeDied(
                    name, status, tail(log, LOG_TAIL_LINES), disk_full=_ran_out_of_disk(log)
                )
                if self.sizes.memory_ran_out(name):
                    died.hint = "the kernel killed it: its memory ran out; set memory to more"
                raise died

    def start_network(self) -> None:
        """Make the network that the nodes are to be hosts of; comes before they start."""
        hosts = hosts_of(self.spec, [plan.host for plan in self.plans])
        self.network = Network.start(hosts, self.spec.links, self._supervisor, self.directory)

    def disable_idle_states(self) -> None:
        """Disable the idle states of the machine's processors, as long as the cluster lives."""
        self.no_idle_states_pid = disable_idle_states(
            self._supervisor, self.directory, server_environment()
        )

    def resize(self, spec: ClusterSpec, tell: Callable[[str], None], *, timeout_s: float) -> bool:
        """Become a cluster of more nodes or fewer, where that is as good as a new one.

        Parameters
        ----------
        spec
            What it is to be.
        tell
            Hears, one line at a time, what is being done.
        timeout_s
            As of `open_cluster`.

        Returns
        -------
        Whether it has; if not, nothing was done, and another has to be started.

        Raises
        ------
        SpecError
            There can be no such cluster.
        ClusterError
            It failed on the way, and of this cluster nothing is known any more.
        """
        checked(spec)
        if self.network is not None or spec.emulated:
            return False  # a network has the hosts that it was made with
        plans = DATABASES[spec.database].plan(spec, self._software, self.directory)
        if not resizable(self.spec, spec, plans):
            return False
        begin_s = time.monotonic()
        wanted = {plan.name: plan for plan in plans}
        for name in [name for name in self._plans if name not in wanted]:
            tell(f"ending {name}")
            self._nodes.pop(name).kill()
            # If it comes again, then as a new node.
            shutil.rmtree(self._plans[name].data_dir, ignore_errors=True)
        new = [plan for plan in plans if plan.name not in self._plans]
        self.spec, self._plans = spec, wanted
        self.sizes.make(plans)
        for plan in new:
            for port in plan.ports.values():
                require_free(plan.host, port, node=plan.name)
            tell(f"starting {plan.name} on {plan.endpoint}")
            self.start(plan.name)
        DATABASES[spec.database].serve(
            spec, Forming(self, deadline_s(spec, begin_s, timeout_s), tell)
        )
        return True

    def excuse(self, name: str) -> None:
        """Let `check` overlook that a node has ended: a fault made it end itself."""
        self._supervisor.killed.add(name)

    def settle(self, timeout_s: float, tell: Callable[[str], None]) -> None:
        """Wait, after faults, until every node is in again and the cluster serves as a new one.

        And until what was sent before has arrived, so that it is no part of what comes after.

        Raises
        ------
        NodeDied, StartError
            It doesn't come to that.
        """
        forming = Forming(self, time.monotonic() + timeout_s, tell)
        self.call(lambda: DATABASES[self.spec.database].serve(self.spec, forming))
        if self.network is not None:
            forming.until("what clients sent before they hung up has arrived", self.network.drained)

    def start(self, name: str) -> Node:
        """Start a node: for the first time, or again, with the data it has, after `Node.kill`."""
        plan, user = self._plans[name], self._user
        plan.data_dir.mkdir(mode=0o700, exist_ok=True)
        for path, content in plan.files.items():
            path.parent.mkdir(exist_ok=True)
            write_private(path, content)
        for path, content in plan.secrets.items():
            write_private(path, content)
        environment = {**server_environment(), **plan.env}
        if user is not None:
            environment["HOME"] = str(plan.data_dir)
            for path in (plan.data_dir, *plan.files):
                user.own(path)
            for path in {path.parent for path in plan.files}:
                path.chmod(0o711)
        pid = self._supervisor.start(
            name,
            plan.argv,
            cwd=plan.data_dir,
            env=environment,
            log=plan.log_file,
            host=None if self.network is None else self.network.host_of(plan.host),
            placement=self.sizes.placement(name),
            user=user,
        )
        self._nodes[name] = Node(
            name,
            plan.role,
            plan.host,
            plan.ports,
            pid,
            plan.data_dir,
            plan.log_file,
            self._supervisor,
        )
        return self._nodes[name]


@dataclass(frozen=True)
class ClientHost:
    """Where users are, of a load generator in several places.

    Parameters
    ----------
    region
        As the spec names it.
    namespace
        Path of its network namespace.
    target
        What the load engine is told of the cluster there.
    replicas
        All of them, the nearest first: where users go that roam.
    """

    region: str
    namespace: str
    target: dict[str, Any]
    replicas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forming:
    """See `pacelc.clusters.protocol.Forming`."""

    cluster: Cluster
    deadline_s: float
    tell: Callable[[str], None]

    @property
    def plans(self) -> Sequence[NodePlan]:
        """The nodes, in the order they were planned."""
        return self.cluster.plans

    def log_text(self, name: str) -> str:
        """All that a node has logged so far."""
        return self.cluster.node(name).log_file.read_text(encoding="utf-8", errors="replace")

    def until(self, what: str, done: Callable[[], bool], *, blame: str | None = None) -> None:
        """Ask, see that no server has ended, wait: some milliseconds at first, then longer."""
        self.tell(f"waiting until {what}")
        pause_s, last = POLL_FIRST_S, ""
        while True:
            try:
                if done():
                    return
            except OSError as error:
                last = f" (last answer: {error})"
            self.cluster.check()
            if time.monotonic() > self.deadline_s:
                node = self.cluster.node(blame or self.cluster.plans[0].name)
                raise StartError(
                    f"time is up waiting until {what}{last}",
                    hint=f"the log of {node.name} may say why; a busy machine needs more time",
                    log_tail=node.log_tail(),
                )
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, POLL_MOST_S)


@contextmanager
def open_cluster(
    spec: ClusterSpec,
    *,
    workdir: Path | None = None,
    on_event: Callable[[Event], None] | None = None,
    timeout_s: float = 180.0,
    probe: Callable[[Mapping[str, Any]], bool] | None = None,
    force_memory: bool = False,
) -> Generator[Cluster, None, None]:
    """Start a cluster; it serves inside the ``with`` block and is gone after it.

    Parameters
    ----------
    spec
        What to start.
    workdir
        Directory for its data, by default the system's one for temporary files. Durable writes are
        as fast as this disk.
    on_event
        Hears, one line at a time, what is being done.
    timeout_s
        How long up to three nodes may take to serve, in seconds; more get more in proportion, since
        they start on the same processors. Downloads don't count.
    probe
        Asked again and again, after pacelc's own tests, until it says that the cluster serves;
        given the target. For a stronger test than pacelc's own, such as the load engine's own
        write.
    force_memory
        Start it although the machine has less memory than it is expected to take.

    Raises
    ------
    FetchError, WorkdirError, PortInUseError
        It can't be started.
    NodeDied, StartError
        It was started, but did not come to serve.

    Examples
    --------
    >>> from pacelc.clusters import ClusterSpec, open_cluster
    >>> with open_cluster(ClusterSpec("redis", nodes=2)) as cluster:  # doctest: +SKIP
    ...     str(cluster.endpoints[0])
    '127.0.0.1:16379'
    """
    database = DATABASES[checked(spec).database]
    require_machine(spec, force_memory=force_memory)

    def tell(step: Step) -> Callable[[str], None]:
        return lambda message: on_event(Event(step, message)) if on_event else None

    software = database.software(spec, tell("fetch"))
    workspace = Workspace(workdir or Path(tempfile.gettempdir()), spec.database)
    try:
        with Supervisor(workspace) as supervisor:
            cluster = Cluster(spec, software, workspace.path, supervisor)
            cluster.sizes.keep(workspace)
            cluster.sizes.make(cluster.plans)
            tell("start")(told(spec))
            begin_s = time.monotonic()
            if spec.emulated:
                regions = counted(len(set(spec.regions)), "region")
                tell("start")(f"making a network{f' of {regions}' if spec.regions else ''}")
                cluster.start_network()
            else:
                for plan in cluster.plans:
                    for port in plan.ports.values():
                        require_free(plan.host, port, node=plan.name)
            with cluster.sizes.lifted():
                for plan in cluster.plans:
                    tell("start")(f"starting {plan.name} on {plan.endpoint}")
                    cluster.start(plan.name)
                forming = Forming(cluster, deadline_s(spec, begin_s, timeout_s), tell("wait"))
                cluster.call(lambda: database.serve(spec, forming))
            if probe is not None:
                cluster.call(
                    lambda: forming.until("the probe succeeds", lambda: probe(cluster.target()))
                )
            if spec.no_idle_states:
                cluster.disable_idle_states()
            tell("ready")(f"{spec.database} serves after {time.monotonic() - begin_s:.1f} s")
            yield cluster
            tell("stop")(f"ending {counted(len(cluster.nodes), 'server')}")
    finally:
        workspace.release()


def require_machine(
    spec: ClusterSpec, records: Records = NO_RECORDS, *, force_memory: bool = False
) -> None:
    """Refuse a cluster that this machine can't have: user, network, open files, sizes, memory.

    Parameters
    ----------
    spec
        Of the cluster.
    records
        What it is to hold.
    force_memory
        Let it be more than there is.

    Raises
    ------
    ClusterError
        The reason, and what would enable it.
    """
    server_user()
    if spec.emulated:
        require_capability()
    allow_open_files(0, f"servers of {spec.database}")
    require(spec)
    if spec.no_idle_states:
        require_idle_states()
    require_memory(spec, records, force=force_memory)


def deadline_s(spec: ClusterSpec, begin_s: float, timeout_s: float) -> float:
    """Return when a cluster must serve; `timeout_s` is that of a few nodes."""
    return begin_s + timeout_s * max(1, spec.nodes / NODES_OF_TIMEOUT)


def server_environment() -> dict[str, str]:
    """Return the environment of servers: no `JAVA_TOOL_OPTIONS` and such, which change a run."""
    passed = ("PATH", "HOME", "LANG", "TZ", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in passed if name in os.environ}


def write_private(path: Path, text: str) -> None:
    """Write a file that nobody but its owner can read, at no time."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 -- its mode
        file.write(text)


def tail(path: Path, lines: int) -> str:
    """Return the last lines of a file that may be large, or not be there yet."""
    return "\n".join(_end(path, LOG_TAIL_BYTES).splitlines()[-lines:])


def _end(path: Path, size: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _ran_out_of_disk(log: Path) -> bool:
    """Whether a server that has ended found its disk full; its log may have had no room for it."""
    said = _end(log, DEATH_BYTES)
    if any(os.strerror(number) in said for number in (errno.ENOSPC, errno.EDQUOT)):
        return True
    try:
        disk = os.statvfs(log.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < FULL_DISK_BYTES
