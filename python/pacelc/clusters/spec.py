"""What a cluster is asked to be, and the words for its parts.

- `ClusterSpec`: database, nodes, replication, options: what a study asks for.
- `Endpoint`, `NodePlan`: what a database's file makes of it; `Server`: planned or running.
- `Event`: what `pacelc.clusters.open_cluster` tells while it works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, TypeVar

from pacelc.clusters.errors import SpecError
from pacelc.clusters.network.links import CLIENT, Link, check_places, client_hosts
from pacelc.clusters.network.regions import REGIONS
from pacelc.names import counted
from pacelc.numerals import HIGHEST_PORT

Role = Literal[
    "primary", "replica", "node", "master", "regionserver", "zookeeper", "config", "mongos"
]
DATA_ROLES: frozenset[Role] = frozenset({"primary", "replica", "node", "regionserver"})
"""Of nodes that hold records; faults reach the others by their names only."""

Sharding = Literal["none", "client", "mongos"]
"""How records are spread over replica sets: not, by the engine's binding, or behind mongos."""

Step = Literal["fetch", "start", "wait", "ready", "stop"]

Option = str | int | float | bool | None | Sequence["Option"] | Mapping[str, "Option"]
"""What an option may be: anything that JSON can say, since options are recorded with the run."""

T = TypeVar("T", str, int, bool, float)

FIRST_HOST = "127.0.0.1"
FIRST_EMULATED_HOST = "10.77.0.1"
MOST_EMULATED_HOSTS = 254

NetworkKind = Literal["auto", "namespaces", "loopback"]


@dataclass(frozen=True)
class ClusterSpec:
    """A cluster to be had. Its shape is checked when it is made, the rest by `checked`.

    Parameters
    ----------
    database
        A name in `pacelc.clusters.DATABASES`.
    nodes
        Servers that hold records. (HBase adds a master and a ZooKeeper.)
    replication
        Copies of each record; by default one on every node, or every node of a shard.
    options
        Settings of this database; each database's file lists and explains its own. All have
        ``server`` (``auto``: a binary on PATH, else the packaged one; ``packaged``; or a path),
        ``first_host`` and ``port``.
    regions
        Where the nodes are, in turn: regions or zones of `pacelc.clusters.network.regions`, or the
        user's own. With any, every node is a host of an emulated network.
    client_region
        Where the load generator is; by default with the first node.
    clients
        Where it is, in several places.
    links
        What goes over the regions' own links: see `pacelc.clusters.network.links`.
    network
        ``namespaces``: an emulated network, whatever the rest says; ``loopback``: none; ``auto``:
        one if there are regions or links.
    cores, memory_bytes
        Of each node; by default all share what the machine has. See `pacelc.clusters.sizes.size`.
    no_idle_states
        Whether the machine's processors have their idle states disabled while it serves.
    sharding, shards
        MongoDB: how records are spread over replica sets, and how many sets there are.

    Raises
    ------
    SpecError
        No cluster of any database can be so.
    """

    database: str
    nodes: int = 3
    replication: int | None = None
    options: Mapping[str, Option] = field(default_factory=dict[str, Option])
    regions: Sequence[str] = ()
    client_region: str | None = None
    clients: Sequence[str] = ()
    links: Mapping[str, Link] = field(default_factory=dict[str, Link])
    network: NetworkKind = "auto"
    cores: float | None = None
    memory_bytes: int | None = None
    no_idle_states: bool = False
    sharding: Sharding = "none"
    shards: int = 1

    def __post_init__(self) -> None:
        """Refuse what no cluster can be."""
        if self.nodes < 1:
            raise SpecError(f"a cluster needs at least one node, not {self.nodes}")
        self._check_shards()
        replication = self.copies
        if not 1 <= replication <= self.nodes:
            raise SpecError(
                f"{counted(self.nodes, 'node')} can't hold {counted(replication, 'copy')} "
                f"of a record",
                hint=f"set replication between 1 and {self.nodes}",
            )
        object.__setattr__(self, "replication", replication)
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))
        object.__setattr__(self, "regions", tuple(self.regions))
        object.__setattr__(self, "clients", tuple(self.clients))
        object.__setattr__(self, "links", MappingProxyType(dict(self.links)))
        check_network(self)
        host_addresses(self)

    @property
    def copies(self) -> int:
        """Copies of each record, the default filled in."""
        return self.nodes // self.shards if self.replication is None else self.replication

    def _check_shards(self) -> None:
        if not 1 <= self.shards <= self.nodes:
            raise SpecError(
                f"{counted(self.nodes, 'node')} can't be {counted(self.shards, 'shard')}",
                hint=f"set shards between 1 and {self.nodes}",
            )
        if self.sharding == "none" and self.shards > 1:
            raise SpecError(
                f"there are {counted(self.shards, 'shard')}, and sharding is none",
                hint="set sharding to client or mongos",
            )

    @property
    def emulated(self) -> bool:
        """Whether its nodes are hosts of an emulated network."""
        return self.network == "namespaces" or (
            self.network == "auto" and bool(self.regions or self.links)
        )

    def place(self, index: int) -> str:
        """Return where a node is, counted from 0; empty where there are no regions."""
        return self.regions[index % len(self.regions)] if self.regions else ""

    @property
    def client_place(self) -> str:
        """Where the load generator is, or is first; empty where there are no regions."""
        return self.client_places[0]

    @property
    def client_places(self) -> tuple[str, ...]:
        """Where the load generator is, each place once."""
        return tuple(self.clients) or (self.client_region or self.place(0),)

    def option(self, name: str, default: T) -> T:
        """Return an option, which must be of the type of its default.

        Raises
        ------
        SpecError
            It is of another type.
        """
        value = self.options.get(name, default)
        wanted = type(default)
        if wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:  # isinstance would take True for 1
            raise SpecError(
                f"option {name!r} must be of type {wanted.__name__}",
                hint=f"leave it out for the default, {default!r}",
            )
        return value  # pyright: ignore[reportReturnType] -- just checked

    def port(self, name: str, default: int, *, with_next: int = 0) -> int:
        """Return an option that is a port.

        Parameters
        ----------
        with_next
            How many of the ports after it are used, too.

        Raises
        ------
        SpecError
            There is no such port.
        """
        port, highest = self.option(name, default), HIGHEST_PORT - with_next
        if not 1 <= port <= highest:
            raise SpecError(
                f"option {name!r} is no port: {port}", hint=f"give one of 1 to {highest}"
            )
        return port

    def settings(self, name: str) -> dict[str, Option]:
        """Return an option that is a mapping: further settings for the server's own configuration.

        Raises
        ------
        SpecError
            It is no mapping.
        """
        value = self.options.get(name, {})
        if not isinstance(value, Mapping):
            raise SpecError(f"option {name!r} must be a mapping")
        return dict(value)

    def words(self, name: str) -> list[str]:
        """Return an option that is a list of words; empty when it is not set.

        Raises
        ------
        SpecError
            It is no list, or holds something else.
        """
        value = self.options.get(name, [])
        if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
            raise SpecError(f"option {name!r} must be a list of words")
        return [str(word) for word in value]


COMMON_OPTIONS: Mapping[str, str] = {
    "server": "`auto` (default): the program on PATH, else the packaged one; `packaged`; or a path",
    "first_host": f"address of the first node, in 127.0.0.0/8; each further node has the next one "
    f"(default {FIRST_HOST}). Not on an emulated network",
    "port": "port that clients use, the same on every node",
}
"""Options that every database has, each with one line about it; a database's own goes over it."""


@dataclass(frozen=True)
class Endpoint:
    """Where a client reaches a server."""

    host: str
    port: int
    role: Role

    def __str__(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"


class Server(Protocol):
    """A server process, planned or running: what it takes to talk to it."""

    @property
    def name(self) -> str:
        """Of the node, unique in its cluster."""
        ...

    @property
    def data_dir(self) -> Path:
        """Directory of its own, in its cluster's."""
        ...

    @property
    def endpoint(self) -> Endpoint:
        """Where clients reach it."""
        ...


@dataclass(frozen=True)
class NodePlan:
    """One server process to be started.

    Parameters
    ----------
    name
        Of the node, unique in its cluster.
    role
        What it is in the cluster.
    host
        Loopback address of its own.
    ports
        Each with its purpose; ``client`` is the one that clients use.
    argv, env
        The command, and what it needs in the environment beside what pacelc itself has.
    data_dir
        Directory of its own, where it runs; its log lies beside it.
    files
        Configuration to be written first, for its server alone: path and content.
    secrets
        Passwords, each in a file that only pacelc's user can read.
    """

    name: str
    role: Role
    host: str
    ports: Mapping[str, int]
    argv: tuple[str, ...]
    data_dir: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[Path, str] = field(default_factory=dict[Path, str])
    secrets: Mapping[Path, str] = field(default_factory=dict[Path, str], repr=False)

    @property
    def log_file(self) -> Path:
        """Where its standard output and error go."""
        return self.data_dir.with_suffix(".log")

    @property
    def endpoint(self) -> Endpoint:
        """Where clients reach it."""
        return Endpoint(self.host, self.ports["client"], self.role)


@dataclass(frozen=True)
class Event:
    """One line about what is being done; `str` gives it."""

    step: Step
    message: str

    def __str__(self) -> str:
        """Return the line."""
        return self.message


def check_network(spec: ClusterSpec) -> None:
    """Refuse regions and links that mean nothing.

    Raises
    ------
    SpecError
        They do.
    """
    asks_for = "regions" if spec.regions else "links"
    if spec.network == "loopback" and (spec.regions or spec.links):
        raise SpecError(
            f"{asks_for} need an emulated network, and network is loopback",
            hint="leave network out, or set it to namespaces",
        )
    if spec.client_region is not None and not spec.regions:
        raise SpecError(
            f"client_region {spec.client_region!r} is set, but the nodes have no regions",
            hint="name theirs: regions",
        )
    if spec.clients and (not spec.regions or spec.client_region is not None):
        raise SpecError(
            "clients need nodes with regions, and no client_region",
            hint="name the nodes' regions, and leave client_region out",
        )
    if len(set(spec.clients)) < len(spec.clients):
        raise SpecError(
            "clients: a place is named twice", hint="name each once, with all its users"
        )
    if spec.emulated and "first_host" in spec.options:
        raise SpecError("hosts of an emulated network have addresses of their own: no first_host")
    if spec.emulated and spec.nodes > MOST_EMULATED_HOSTS:
        raise SpecError(f"an emulated network has at most {MOST_EMULATED_HOSTS} nodes")
    places = [*spec.regions, *spec.client_places] if spec.regions else []
    nodes = [f"n{index + 1}" for index in range(spec.nodes)]
    hosts = [CLIENT, *client_hosts(spec.client_places), *nodes]
    check_places(places, spec.links, hosts, REGIONS)


def host_addresses(spec: ClusterSpec) -> list[str]:
    """Return an address for each node: a loopback one, or one of the emulated network's.

    Loopback addresses are counted up from the option ``first_host``.

    Own addresses, and not own ports, since the databases want equal ports on all nodes (Cassandra),
    and since what is sent between two nodes can then be told by its addresses.

    Raises
    ------
    SpecError
        Not a loopback address: servers here must not be reached from outside.
    """
    if spec.emulated:
        return [str(IPv4Address(FIRST_EMULATED_HOST) + index) for index in range(spec.nodes)]
    text = spec.option("first_host", FIRST_HOST)
    try:
        first = IPv4Address(text)
    except AddressValueError as error:
        raise SpecError(f"first_host {text!r} is no IPv4 address") from error
    addresses = [first + index for index in range(spec.nodes)]
    if not all(address.is_loopback for address in addresses):
        raise SpecError(
            f"first_host {text} leaves the loopback range with {counted(spec.nodes, 'node')}",
            hint="name an address in 127.0.0.0/8: nobody outside may reach the servers",
        )
    return [str(address) for address in addresses]
