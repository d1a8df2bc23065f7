"""The emulated network of a cluster: every node a host of its own, and the load generator too.

One process, the *forwarder*, makes an anonymous network namespace a host and forwards packets
between them as their links say (the engine's ``network``). It is a child of the keeper, as servers
are, and all that it made ends with it: nothing has a name in any list of the system.

Map
---
Network             start it, enter it, change its links, cut it, count its packets, see it drained
in_a_run            a record with the counts of a run instead of those since the start
hosts_of            a spec and its nodes' addresses → the hosts
require_capability  refuse, where this machine can't
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from pacelc.clusters.engine import engine_command
from pacelc.clusters.errors import ClusterError
from pacelc.clusters.network.links import (
    Host,
    Link,
    as_request,
    client_hosts,
    is_client,
    links_between,
)
from pacelc.clusters.network.namespaces import (
    Capability,
    called_in,
    capability,
    entered,
    in_namespace_of_one_user,
)
from pacelc.clusters.process import NETWORK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from pacelc.clusters.process import Supervisor
    from pacelc.clusters.spec import ClusterSpec

__all__ = [
    "CLIENT_ADDRESS",
    "NETWORK",
    "Capability",
    "Network",
    "capability",
    "hosts_of",
    "in_a_run",
    "require_capability",
]

T = TypeVar("T")

CLIENT_ADDRESS: Final = "10.77.255.1"
"""Of the load generator's host, or of the first of several."""
SEED: Final = 1
"""Of losses and delays that vary: the same packets meet the same fate in every run."""

_SOCKETS: Final = Path("/proc/thread-self/net/tcp")
_CLOSED: Final = frozenset({"04", "09", "0B"})
"""By their owner, while the kernel still sends: FIN_WAIT1, LAST_ACK, CLOSING."""

_FORWARD = "with open(sys.argv[2]) as file: engine.network(file.read())"


def hosts_of(spec: ClusterSpec, addresses: Iterable[str]) -> list[Host]:
    """Return a host for each address, ``n1``, ``n2``, …, in the spec's regions, and the clients.

    Parameters
    ----------
    spec
        Whose regions are taken in turn.
    addresses
        Of the nodes, in order; one that is there twice is one host.
    """
    unique = list(dict.fromkeys(addresses))
    nodes = [
        Host(f"n{index + 1}", address, spec.place(index)) for index, address in enumerate(unique)
    ]
    places = spec.client_places
    clients = [
        Host(name, str(IPv4Address(CLIENT_ADDRESS) + index), place)
        for index, (name, place) in enumerate(zip(client_hosts(places), places, strict=True))
    ]
    return [*nodes, *clients]


def require_capability() -> None:
    """Refuse, with the reason, where this machine can't.

    Raises
    ------
    ClusterError
        It can't; or it could, had this process become root of a user namespace.
    """
    able = capability()
    if able.how is None:
        raise ClusterError(
            f"this machine can't give nodes a network of their own: {able.reason}", hint=able.hint
        )
    if able.how == "user namespace":
        raise ClusterError(
            "an ordinary user gets networks in a user namespace only, which this process isn't in",
            hint="use pacelc.run or the command line, or run it under `unshare --map-root-user`",
        )


class Network:
    """The network of a cluster, while it runs. Its methods may be called from any thread.

    Attributes
    ----------
    hosts
        In order, the clients last.
    pid
        Of the forwarder, whose processor time is the network's.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        links: Mapping[str, Link],
        pid: int,
        paths: Mapping[str, str],
        supervisor: Supervisor,
    ) -> None:
        self.hosts = tuple(hosts)
        self.pid = pid
        self._paths = dict(paths)
        self._own = dict(links)
        self._in_force = links_between(self.hosts, self._own)
        self._cut: tuple[tuple[str, str], ...] = ()
        self._supervisor = supervisor
        self._mutex = threading.Lock()

    @classmethod
    def start(
        cls,
        hosts: Sequence[Host],
        links: Mapping[str, Link],
        supervisor: Supervisor,
        directory: Path,
    ) -> Self:
        """Start the forwarder; return when every host has its namespace.

        Parameters
        ----------
        hosts
            See `hosts_of`.
        links
            Over the regions' own.
        supervisor
            Whose keeper the forwarder is a child of.
        directory
            The cluster's: what the forwarder is told, and its log, are kept there.

        Raises
        ------
        ClusterError
            There is no engine, or it can't make the network.
        """
        spec = directory / "network.json"
        document = {
            "seed": SEED,
            "hosts": [{"name": host.name, "address": host.address} for host in hosts],
            "links": as_request(links_between(hosts, links)),
        }
        spec.write_text(json.dumps(document, indent=1), encoding="utf-8")
        ready = supervisor.start_network(
            engine_command(_FORWARD, str(spec)),
            cwd=directory,
            log=directory / "network.log",
        )
        return cls(hosts, links, ready["pid"], ready["hosts"], supervisor)

    @property
    def links(self) -> dict[tuple[str, str], Link]:
        """The link of every ordered pair of hosts, as it is now."""
        with self._mutex:
            return dict(self._in_force)

    @property
    def cuts(self) -> tuple[tuple[str, str], ...]:
        """The ordered pairs that are cut now."""
        return self._cut

    @property
    def places(self) -> dict[str, str]:
        """Each address, and where it is; empty where the network has no regions."""
        return {host.address: host.place for host in self.hosts if host.place}

    @property
    def clients(self) -> tuple[Host, ...]:
        """The load generator's hosts, one unless it is in several places."""
        return tuple(host for host in self.hosts if is_client(host.name))

    def namespace(self, host: str | None = None) -> str:
        """Return the path of a host's network namespace; by default of the first client's."""
        return self._paths[self.clients[0].name if host is None else host]

    def way_in(self, host: str | None = None) -> str:
        """Return the start of a command line that runs a command on a host."""
        namespace = self.namespace(host)
        if not in_namespace_of_one_user():
            return f"nsenter --net={namespace}"
        user = f"/proc/{self.pid}/ns/user"
        return f"nsenter --user={user} --preserve-credentials --net={namespace}"

    def host_of(self, address: str) -> str:
        """Return the name of the host with an address."""
        return next(host.name for host in self.hosts if host.address == address)

    def hosts_in(self, region: str) -> list[str]:
        """Return the names of the hosts in a region or a zone, the client's among them."""
        return [host.name for host in self.hosts if host.is_in(region)]

    def call(self, work: Callable[[], T], host: str | None = None) -> T:
        """Call a function on a host, in a thread of its own, and return what it returns.

        Without a host, it is the first client.

        Raises
        ------
        ClusterError
            The forwarder has ended, and the network with it.
        """
        began = False

        def begin() -> T:
            nonlocal began
            began = True
            return work()

        try:
            return called_in(self.namespace(host), begin)
        except OSError as error:
            if began:
                raise
            raise _gone(host, error) from error

    @contextmanager
    def inside(self, host: str | None = None) -> Generator[None]:
        """Put the calling thread, and threads that it makes meanwhile, on a host.

        For root only: an ordinary user's thread can't come back, and uses `call`.

        Raises
        ------
        ClusterError
            The forwarder has ended, and the network with it.
        """
        try:
            there = entered(self.namespace(host))
            there.__enter__()
        except OSError as error:
            raise _gone(host, error) from error
        try:
            yield
        finally:
            there.__exit__(None, None, None)

    def set_links(self, changes: Mapping[str, Link]) -> int:
        """Change links from the next packet on; return when it was in force, in µs since 1970.

        Parameters
        ----------
        changes
            Over the regions' and the cluster's own links, in place of earlier changes: an empty
            mapping puts everything back.

        Raises
        ------
        ClusterError
            The network's process has ended.
        """
        with self._mutex:
            links = links_between(self.hosts, self._own, changes)
            changed = {pair: link for pair, link in links.items() if link != self._in_force[pair]}
            reply = self._supervisor.ask_network({"do": "links", "links": as_request(changed)})
            self._in_force = links
        return int(reply["unix_us"])

    def cut(self, pairs: Iterable[tuple[str, str]]) -> int:
        """Let no packet pass from one host to another; return when it was in force, in µs.

        Parameters
        ----------
        pairs
            Ordered pairs of hosts, in place of those that were cut before; none: heal all.
        """
        with self._mutex:
            cut = tuple(pairs)
            reply = self._supervisor.ask_network({"do": "cut", "cut": [list(pair) for pair in cut]})
            self._cut = cut
        return int(reply["unix_us"])

    def drained(self) -> bool:
        """Whether nothing is on its way any more that a client sent before it hung up.

        What a cut has lost is sent again, ever longer apart, by the kernel, which does so for
        sockets that are closed, too: a write may take effect long after its run has ended.

        Raises
        ------
        ClusterError
            The forwarder has ended, and the network with it.
        """
        sockets: list[str] = []
        for client in self.clients:
            text = self.call(lambda: _SOCKETS.read_text(encoding="ascii"), client.name)
            sockets += text.splitlines()[1:]
        return not any(_is_sending_off(line.split()) for line in sockets)

    def counters(self) -> list[dict[str, Any]]:
        """Return what became of the packets of each ordered pair since the network began."""
        pairs: list[dict[str, Any]] = self._supervisor.ask_network({"do": "counters"})["pairs"]
        return pairs

    def record(self) -> dict[str, Any]:
        """Return hosts, links, and what became of packets since the network began."""
        places = {host.name: host.place for host in self.hosts}
        return {
            "hosts": [
                {"name": host.name, "address": host.address, "place": host.place or None}
                for host in self.hosts
            ],
            "regions": list(dict.fromkeys(place for place in places.values() if place)),
            "links": [
                {"from": source, "to": target, **link.as_record()}
                for (source, target), link in self.links.items()
            ],
            "counters": [pair for pair in self.counters() if pair["offered"]],
        }


def in_a_run(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the later record with the counts of the time between, of pairs that had packets then.

    Examples
    --------
    >>> earlier = {"counters": [{"from": "n1", "to": "n2", "offered": 2, "cut": 1}]}
    >>> later = {"counters": [{"from": "n1", "to": "n2", "offered": 7, "cut": 1}]}
    >>> in_a_run(earlier, later)["counters"]
    [{'from': 'n1', 'to': 'n2', 'offered': 5, 'cut': 0}]
    """
    earlier = {(pair["from"], pair["to"]): pair for pair in before["counters"]}
    counters = [
        {
            name: value if isinstance(value, str) else value - begun.get(name, 0)
            for name, value in pair.items()
        }
        for pair in after["counters"]
        for begun in [earlier.get((pair["from"], pair["to"]), {})]
    ]
    return {**after, "counters": [pair for pair in counters if pair["offered"]]}


def _is_sending_off(socket: Sequence[str]) -> bool:
    """Whether a line of the kernel's list of sockets is of one that is closed and not done."""
    state, (unacknowledged, _) = socket[3], socket[4].split(":")
    # The end of the connection counts as a byte.
    return state in _CLOSED and int(unacknowledged, 16) > 1


def _gone(host: str | None, error: OSError) -> ClusterError:
    return ClusterError(
        f"the emulated network's host {host or 'of the client'} can't be entered: {error.strerror}",
        hint="its process has ended: see the kernel's log for an out-of-memory kill",
    )
