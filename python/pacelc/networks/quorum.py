"""Quorum levels as a network: what waiting for one, a majority or all copies costs.

A client sends each operation to a node, its coordinator, which does its own part and asks the nodes
that hold copies. It answers when as many copies as the level says have answered:

- A *read* goes to as many copies as it waits for.
- A *write* goes to all copies, whatever it waits for. Copies that are late are still written, and
  load their nodes (``late`` offers the other ways).

Each node is a processor (a number of cores) and a disk. What goes to another node and back takes
``node_round_trip``, what goes to a coordinator and back ``client_round_trip``; a copy that is
written also waits for its log (``write_wait``). Which nodes hold a record is by chance.

Which node coordinates is the database's way (``coordinator``): any, by chance (Cassandra's clients
that don't know); one that holds the record (clients that know, HBase's region servers); or the one
that leads the record's copies (MongoDB, Redis), which answers reads of any level alone. Nodes are
then sets of as many as there are copies, each with its leader; those left over hold nothing.

Processor time is counted where the calibration measures it: an operation at its coordinator, with
the copy that is there (``read_cpu``, ``write_cpu``); a copy elsewhere, with its request and answer
at both ends (``copy_read_cpu``, ``copy_write_cpu``); each acknowledgement that a write waits for
(``acknowledged_cpu``), and its log (``log_cpu``).

Assumed: nodes are alike. The coordinator does its own part before it asks others. Where it holds a
copy only sometimes (``any``, with more nodes than copies), whether its copy needs the network and
whether it needs another node's processor are drawn apart: means are right, and a quick operation is
a little less often quick in both.

Defaults are the demands of Cassandra on one node in Gandini et al. 2014 (table 2), and a copy
elsewhere costs what the operation does. Calibrate before you believe it.

Start here: :class:`Quorum`, :func:`quorum`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import Field, PositiveInt

from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.networks.distributions import Exponential, Lognormal
from pacelc.networks.gandini import gandini
from pacelc.networks.network import Class, Fork, Network, Probability, Station, place_of
from pacelc.networks.times import Time  # noqa: TC001 - pydantic reads annotations
from pacelc.papers.gandini_2014 import demands
from pacelc.study.copies import Level, copies_waited_for
from pacelc.study.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.networks.distributions import Distribution
    from pacelc.networks.network import Route

__all__ = [
    "Coordinator",
    "Discipline",
    "Quorum",
    "dealt_out",
    "evenly",
    "own_share",
    "quorum",
]

Coordinator: TypeAlias = Literal["any", "replica", "leader"]
Discipline: TypeAlias = Literal["ps", "fcfs", "siro"]
_FIRST: Final = ("record", "own")
"""Classes of what is asked of the coordinator's own copy, if it holds one."""
_WRITTEN: Final = ("own", "written")
"""Classes of what writes ask of copies."""
_KINDS: Final = {"reading": ("record", "digest"), "writing": ("own", "written")}
"""Fork → class of the first copy that is asked, and of the others."""
_ONE_NODE = gandini("cassandra")
_CPU, _DISK = _ONE_NODE.station("cpu"), _ONE_NODE.station("disk")
_ROUND_TRIP_S = _ONE_NODE.station("network").service["*"].mean_s


class Quorum(Frozen):
    """A cluster, its load, its levels and its demands."""

    users: PositiveInt = 20
    """Each does one operation at a time."""
    nodes: PositiveInt = 3
    """Each may coordinate, and hold copies."""
    replication: PositiveInt = 3
    """Copies of each record."""
    read: Level = "quorum"
    """Copies that a read waits for."""
    write: Level = "quorum"
    """Copies that a write waits for."""
    read_share: Probability = 0.5
    """Of all operations."""
    late: Literal["serve", "discard", "cancel"] = "serve"
    """What happens to copies that are still under way when the level is met."""
    coordinator: Coordinator = "any"
    """Node that clients send an operation to: any, by chance; one that holds the record; or the one
    that leads the record's copies."""
    discipline: Discipline = "ps"
    """Of processors: shared among all that is there, taken in turn, or in random order."""
    scv: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Squared coefficient of variation of processor times and delays: exponential at 1, else
    lognormal."""
    cores: PositiveInt = _CPU.servers
    """Of each node; where they share a machine, of the machine."""
    shared: bool = False
    """Whether all nodes share one machine's cores."""
    read_cpu_s: Annotated[Time, Field(alias="read_cpu")] = _CPU.service["read"].mean_s
    """Processor time of a read at its coordinator, with the copy that is there."""
    write_cpu_s: Annotated[Time, Field(alias="write_cpu")] = _CPU.service["write"].mean_s
    """The same of a write."""
    copy_read_cpu_s: Annotated[Time | None, Field(alias="copy_read_cpu")] = None
    """Processor time of a copy read elsewhere; as read_cpu, unless set."""
    copy_write_cpu_s: Annotated[Time | None, Field(alias="copy_write_cpu")] = None
    """Processor time of a copy written elsewhere; as write_cpu, unless set."""
    acknowledged_cpu_s: Annotated[Time, Field(alias="acknowledged_cpu")] = 0.0
    """Processor time at the coordinator of each acknowledgement that a write waits for."""
    log_cpu_s: Annotated[Time, Field(alias="log_cpu")] = 0.0
    """Processor time at the coordinator of a write that waits for its log (write_wait)."""
    read_disk_s: Annotated[Time, Field(alias="read_disk")] = _DISK.service["read"].mean_s
    """Disk time of a read that isn't cached."""
    write_disk_s: Annotated[Time, Field(alias="write_disk")] = _DISK.service["write"].mean_s
    """Disk time of a write that isn't cached."""
    read_uncached: Probability = 1.0
    """Share of reads that need the disk."""
    write_uncached: Probability = demands("cassandra").disk_write_probability
    """Share of writes that need the disk."""
    client_round_trip_s: Annotated[Time, Field(alias="client_round_trip")] = _ROUND_TRIP_S
    """Client to coordinator and back."""
    node_round_trip_s: Annotated[Time, Field(alias="node_round_trip")] = _ROUND_TRIP_S
    """Coordinator to another node and back."""
    write_wait_s: Annotated[Time, Field(alias="write_wait")] = 0.0
    """What a copy that is written waits for besides: a log on disk."""

    @property
    def asked(self) -> int:
        """Copies that a read goes to; a leader answers alone."""
        return 1 if self.led else copies_waited_for(self.read, self.replication)

    @property
    def waited(self) -> int:
        """Copies that a write waits for."""
        return copies_waited_for(self.write, self.replication)

    @property
    def led(self) -> bool:
        """Whether one node leads the others that hold the same records."""
        return self.coordinator == "leader"

    @property
    def own_share(self) -> float:
        """Share of operations of which the coordinator holds a copy."""
        return own_share(self.nodes, self.replication, self.coordinator)

    @property
    def coordinator_cpu_s(self) -> dict[str, float]:
        """Processor time at the coordinator of a ``read`` and of a ``write``."""
        waits_s = self.acknowledged_cpu_s * (self.waited - 1) + self.log_cpu_s
        return {"read": self.read_cpu_s, "write": self.write_cpu_s + waits_s}

    @property
    def copy_cpu_s(self) -> dict[str, float]:
        """Processor time of a copy elsewhere of a ``read`` and of a ``write``."""
        read_s, write_s = self.copy_read_cpu_s, self.copy_write_cpu_s
        return {
            "read": self.read_cpu_s if read_s is None else read_s,
            "write": self.write_cpu_s if write_s is None else write_s,
        }


def own_share(nodes: int, replication: int, coordinator: Coordinator) -> float:
    """Return the share of operations of which the coordinator holds a copy.

    Examples
    --------
    >>> own_share(6, 3, "any"), own_share(6, 3, "replica")
    (0.5, 1.0)
    """
    return min(replication / nodes, 1.0) if coordinator == "any" else 1.0


def dealt_out(nodes: int, copies: int) -> list[list[int]]:
    """Return the nodes that hold each copy, leaders first, where nodes are in sets.

    Examples
    --------
    >>> dealt_out(7, 3)
    [[1, 4], [2, 5], [3, 6]]
    """
    in_sets = nodes // copies * copies
    return [list(range(first, in_sets + 1, copies)) for first in range(1, copies + 1)]


def quorum(settings: Quorum | None = None, *, idle: bool = False) -> Network:
    """Return the network of a cluster with quorum levels.

    Parameters
    ----------
    settings
        The cluster, its load, its levels and its demands.
    idle
        With nodes that nobody gets to, such as followers where all operations are reads.

    Raises
    ------
    InputError
        There are more copies than nodes.
    """
    s = settings or Quorum()
    if s.replication > s.nodes:
        raise InputError(
            f"{counted(s.replication, 'copy')} on {counted(s.nodes, 'node')}: each needs a "
            f"node of its own"
        )
    held = [list(range(1, s.nodes + 1))]
    if s.led:
        used = s.replication if idle or s.read_share < 1 else s.asked
        held = dealt_out(s.nodes, s.replication)[:used]
    nodes = sorted(i for those in held for i in those)
    forks = _forks(s, nodes)
    routing: dict[str, dict[str, Route]] = {
        "client": {
            "*": _by_chance({"network/read": s.read_share, "network/write": 1 - s.read_share})
        },
        "network": {"*": _to_processors(s, held[0])},
        **{f"{fork.name}.join": {"*": "client"} for fork in forks},
    }
    stations = [
        Station(name="client", kind="delay", service={"*": 0.0}),  # pyright: ignore[reportArgumentType]
        Station(name="network", kind="delay", service={"*": _time(s, s.client_round_trip_s)}),
    ]
    for i in nodes:
        stations += _node(s, i, forks)
        routing |= _routes(s, i, forks)
    ways: dict[str, Route] = {}
    if s.led:
        ahead = {place_of(branch)[0] for fork in forks for branch in fork.branches}
        ways = {f"copy{j}": evenly([f"link{i}" for i in h]) for j, h in enumerate(held, 1)}
        ways = {name: way for name, way in ways.items() if idle or name in ahead}
    routing |= {name: {"*": way} for name, way in ways.items()}
    siblings = dict.fromkeys(one for fork in forks for one in fork.siblings)
    return Network(
        name=f"{counted(s.nodes, 'node')}, {counted(s.replication, 'copy')}, "
        f"reads wait for {s.read}, writes for {s.write}{', on one host' * s.shared}",
        classes=(
            Class(name="read", users=s.users, reference="client"),
            *((Class(name="write"),) if s.read_share < 1 else ()),
            *(Class(name=name) for name in siblings),
        ),
        stations=tuple({one.name: one for one in stations}.values()),
        routers=tuple(ways),
        forks=tuple(forks),
        routing=routing,
    )


def evenly(places: Sequence[str]) -> Route:
    """Return the route to any of some places by chance."""
    return places[0] if len(places) == 1 else {place: 1 / len(places) for place in places}


def _to_processors(s: Quorum, nodes: Sequence[int]) -> Route:
    return evenly(list(dict.fromkeys(_processor(s, i) for i in nodes)))


def _processor(s: Quorum, number: int) -> str:
    return "cpu" if s.shared else f"cpu{number}"


def _disk(s: Quorum, number: int) -> str:
    # On shared processors it isn't known whose copy that was: disks are alike.
    return "disk1" if s.shared else f"disk{number}"


def _forks(s: Quorum, nodes: Sequence[int]) -> list[Fork]:
    """One fork a kind of request: siblings' classes say what a copy does, and where it ends."""
    wanted = {
        "reading": (s.read_share, s.asked, s.asked),
        "writing": (1 - s.read_share, s.replication, s.waited),
    }
    forks: list[Fork] = []
    for name, (share, copies, join) in wanted.items():
        if share == 0:
            continue
        first, others = _KINDS[name]
        kinds = (first,) + (others,) * (copies - 1)
        branches = [f"link{i}" for i in nodes]
        if s.led:
            branches = [f"copy{j}/{kind}" for j, kind in enumerate(kinds, 1)]
        forks.append(
            Fork(
                name=name,
                branches=tuple(branches),
                copies=None if s.led else copies,
                classes=None if s.led else kinds,
                join=join,
                late=s.late if join < copies else "serve",
            )
        )
    return forks


def _node(s: Quorum, number: int, forks: Sequence[Fork]) -> list[Station]:
    """Return a node's stations; those that all nodes share are the same of each."""
    asked = dict.fromkeys(one for fork in forks for one in fork.siblings)
    own = {name: s.own_share for name in asked if name in _FIRST}
    coordinated = ("read", "write") if s.read_share < 1 else ("read",)
    cpu_s = {kind: s.coordinator_cpu_s[kind] for kind in coordinated}
    cpu_s |= {name: s.copy_cpu_s[_kind_of(name)] for name in asked}
    disk_s = {"read": s.read_disk_s, "write": s.write_disk_s}
    stations = [
        Station(
            name=f"link{number}",
            kind="delay",
            service={"*": _time(s, s.node_round_trip_s)},
            cached=own,
        ),
        Station(
            name=_processor(s, number),
            servers=s.cores,
            discipline=s.discipline,
            service={name: _time(s, seconds) for name, seconds in cpu_s.items()},
            cached=own,
        ),
    ]
    if _log_is_used(s):
        log_s: dict[str, Distribution] = {"*": _time(s, s.write_wait_s)}
        stations.append(Station(name=f"log{number}", kind="delay", service=log_s))
    if _disk_is_used(s):
        service: dict[str, Distribution] = {
            name: Exponential(mean_s=disk_s[_kind_of(name)]) for name in asked
        }
        stations.append(Station(name=_disk(s, number), service=service))
    return stations


def _kind_of(sibling: str) -> str:
    """Return which kind of operation asks it of a copy."""
    return "write" if sibling in _WRITTEN else "read"


def _time(s: Quorum, mean_s: float) -> Exponential | Lognormal:
    if s.scv == 1 or mean_s == 0:
        return Exponential(mean_s=mean_s)
    return Lognormal(mean_s=mean_s, scv=s.scv)


def _log_is_used(s: Quorum) -> bool:
    return s.read_share < 1 and s.write_wait_s > 0


def _disk_is_used(s: Quorum) -> bool:
    return s.read_share * s.read_uncached > 0 or (1 - s.read_share) * s.write_uncached > 0


def _routes(s: Quorum, number: int, forks: Sequence[Fork]) -> dict[str, dict[str, Route]]:
    link, log, cpu, disk = f"link{number}", f"log{number}", _processor(s, number), _disk(s, number)
    uncached = {"read": s.read_uncached, "write": s.write_uncached}
    from_link: dict[str, Route] = {"*": cpu}
    from_disk: dict[str, Route] = {}
    from_cpu: dict[str, Route] = {"read": "reading"} if s.read_share > 0 else {}
    if s.read_share < 1:
        from_cpu["write"] = "writing"
    for fork in forks:
        end = f"{fork.name}.join"
        for name in dict.fromkeys(fork.siblings):
            share = uncached[_kind_of(name)]
            from_cpu[name] = _by_chance({disk: share, end: 1 - share})
            if share > 0:
                from_disk[name] = end
    routes: dict[str, dict[str, Route]] = {link: from_link, cpu: from_cpu}
    if _log_is_used(s):
        from_link |= dict.fromkeys(_WRITTEN if s.replication > 1 else _WRITTEN[:1], log)
        routes[log] = {"*": cpu}
    if from_disk:
        routes[disk] = from_disk
    return routes


def _by_chance(shares: dict[str, float]) -> Route:
    """Return a route; a place alone where no other is possible."""
    possible = {place: share for place, share in shares.items() if share > 0}
    return next(iter(possible)) if len(possible) == 1 else possible
