"""Quorum levels as a network: what waiting for one, a majority or all copies costs.

A client sends each operation to a node, its coordinator, which asks the nodes that hold copies and
answers when enough of them have:

- A *read* goes to as many copies as it waits for. One sends the record, the others a digest. With
  the probability ``read_repair`` it goes to all copies, and still waits for as many as its level
  says.
- A *write* goes to all copies, whatever it waits for. Copies that are late are still written, and
  load their nodes (``late`` offers the other ways).

What coordinating takes when an operation is answered already (``coordinator_after_cpu``) loads the
node, and the client goes on beside it.

Each node is a processor (processor sharing among its cores; coordinating and serving copies compete
for it) and a disk. What goes to another node and back takes ``node_round_trip``, what goes to a
coordinator and back ``client_round_trip``; a copy that is written waits for its log, too. Which
nodes hold a record is by chance.

Which node coordinates is the database's way (``coordinator``): any, by chance (Cassandra); one that
holds the record (clients that know, HBase's region servers); or the one that leads the record's
copies (MongoDB, Redis), and answers reads of any level alone. Nodes are then sets of as many as
there are copies, each with its leader; those left over hold nothing.

A coordinator that holds a copy asks that one first, and without the network. What goes to another
node costs processor time at both ends, ``remote_cpu``, and telling another that a copy is written
``acknowledged_cpu``, where a write waits for more than one.

Assumed: a digest costs its node what the record does, unless ``digest_cpu`` is set: the node has to
read the record either way. Nodes are alike, and the one that stands for the coordinator's own copy
is any of them (of leaders, where there are), by chance. Leaders write their own copy while they ask
the others, and are waited for as these are, unless the own one is first (``own_first``): those who
fetch what their leader has written can't be before it. Those who fetch, and tell everyone, do so in
rounds, of many writes, which take as long for each of them: so do their copies. Writes may wait for
journals, too (``journaled``): the leader's is flushed while others are asked.

Defaults are the demands of Cassandra on one node in Gandini et al. 2014 (table 2); coordinating
isn't in that paper and is 0 unless set. Calibrate before you believe it.

Start here: :class:`Quorum`, :func:`quorum`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import Field, PositiveInt, ValidationInfo, field_validator

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.models.distributions import Deterministic, Exponential, Lognormal
from pacelc.models.gandini import gandini
from pacelc.models.network import Class, Fork, Network, Probability, Station, place_of
from pacelc.models.times import Time  # noqa: TC001 - pydantic reads annotations
from pacelc.papers.gandini_2014 import demands
from pacelc.study.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pacelc.models.network import Route

__all__ = [
    "LEVELS",
    "Acknowledged",
    "Coordinator",
    "Discipline",
    "Level",
    "Quorum",
    "acknowledgements",
    "at_copies",
    "copies_waited_for",
    "dealt_out",
    "evenly",
    "is_a_level",
    "own_share",
    "quorum",
]

Level: TypeAlias = Literal["one", "quorum", "all"]
LEVELS: Final[tuple[Level, ...]] = ("one", "quorum", "all")
Coordinator: TypeAlias = Literal["any", "replica", "leader"]
Acknowledged: TypeAlias = Literal["coordinator", "everyone"]
Discipline: TypeAlias = Literal["ps", "fcfs", "siro"]
_Number = TypeVar("_Number", float, "NDArray[np.float64]")
_FIRST: Final = ("record", "own")
"""Asked of the coordinator's own copy, if it holds one."""
_WRITTEN: Final = ("own", "written")
"""Asked of copies by writes."""
_ANSWERED, _LATER = "answered", "later"
_REST: Final = Fork(name="rest", branches=(f"{_ANSWERED}/answer", f"{_LATER}/rest"), join=1)
"""The answer, which takes no more time, and what its coordinator has yet to do; of those that are
alike, which one that is, is by chance again."""
_FIRST_WRITTEN: Final = "first"
_OWN: Final = Fork(name="owning", branches=(f"{_FIRST_WRITTEN}/own",))
"""A write at its coordinator's own copy, before others."""
_OF_WRITES: Final = (_OWN.name, "writing")
_ASKED: Final = "asked"
"""Where a write goes on that waits for nobody else."""
_TOLD: Final = "told"
"""Class of an answer that takes no time."""
_COPIES: Final = "copies"
"""Fork of an answered write and what those who hold copies have yet to do."""
_SCATTERED_UP_TO: Final = 256
"""Threads: more of them find all cores busy."""
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
    read_repair: Probability = 0.0
    """Share of the reads that go to all copies."""
    late: Literal["serve", "discard", "cancel"] = "serve"
    """What becomes of copies that nobody waits for any more."""
    coordinator: Coordinator = "any"
    """Node that clients send an operation to: any, by chance; one that holds the record; or the one
    that leads the record's copies."""
    own_first: bool = False
    """Whether others are asked for a write when the coordinator has written its own copy, which is
    then one of those waited for. Where it holds one. (An open network, as a plan has, asks all at
    once.)"""
    discipline: Discipline = "ps"
    """Of processors: shared among all that is there, taken in turn, or in random order."""
    scv: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Squared coefficient of variation of processor times and delays: exponential at 1, else
    lognormal."""
    cores: PositiveInt = _CPU.servers
    """Of each node."""
    scattered: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """How much threads that are ready wait beside idle cores: n of them keep c n / (n + scattered
    (c - 1)) of c cores busy, at most n. 0: they find them; 1: each core has a queue, and which one
    a thread joins is by chance (balanced systems: Lazowska et al., Quantitative System Performance,
    Prentice-Hall 1984, section 5.4)."""
    coordinator_cpu_s: Annotated[Time, Field(alias="coordinator_cpu")] = 0.0
    """Processor time of an operation at its coordinator."""
    coordinator_after_cpu_s: Annotated[Time, Field(alias="coordinator_after_cpu")] = 0.0
    """The same that it doesn't wait for: begun when it is answered. (An open network, as a plan
    has, waits for it.)"""
    read_cpu_s: Annotated[Time, Field(alias="read_cpu")] = _CPU.service["read"].mean_s
    """Processor time of a read at one copy."""
    digest_cpu_s: Annotated[Time | None, Field(alias="digest_cpu")] = None
    """The same where a digest is sent; as read_cpu, unless set."""
    write_cpu_s: Annotated[Time, Field(alias="write_cpu")] = _CPU.service["write"].mean_s
    """Processor time of a write at one copy."""
    write_after_cpu_s: Annotated[Time, Field(alias="write_after_cpu")] = 0.0
    """The same that it doesn't wait for: begun when it is answered."""
    remote_cpu_s: Annotated[Time, Field(alias="remote_cpu")] = 0.0
    """Processor time of a request to another node, at both ends, beyond what the copy takes."""
    acknowledged_cpu_s: Annotated[Time, Field(alias="acknowledged_cpu")] = 0.0
    """Processor time of a write that waits for more than one copy, for each that tells another of
    it; at all of them together."""
    acknowledged_to: Acknowledged = "coordinator"
    """Whom a copy that is written tells of it where a write waits: the coordinator, or everyone, as
    MongoDB's members tell each other how far they are. (Where one leads and has its own copy first,
    those who tell everyone fetch in rounds: their copies all take as long.)"""
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
    """What a copy that is written waits for besides: a log that others write to, too."""
    journaled: bool = False
    """Whether writes wait until the copies that they wait for are in journals, on disk."""
    journal_cpu_s: Annotated[Time, Field(alias="journal_cpu")] = 0.0
    """Processor time of that, for each write; at all copies together."""
    wake_journal_cpu_s: Annotated[Time, Field(alias="wake_journal_cpu")] = 0.0
    """Processor time of waking a write whose journals are there."""
    journal_wait_s: Annotated[Time, Field(alias="journal_wait")] = 0.0
    """What a copy waits for until it is there."""

    @field_validator("own_first")
    @classmethod
    def _holds_one(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("coordinator") == "any":
            raise ValueError("should be false where any node coordinates (coordinator: any)")
        return value

    @property
    def asked(self) -> int:
        """Copies that a read goes to, without read repair; a leader answers alone."""
        return 1 if self.led else copies_waited_for(self.read, self.replication)

    @property
    def waited(self) -> int:
        """Copies that a write waits for."""
        return copies_waited_for(self.write, self.replication)

    @property
    def written_wait_s(self) -> float:
        """What a copy that is written waits for besides, its journal included."""
        return self.write_wait_s + (self.journal_wait_s if self.journaled else 0.0)

    @property
    def own_wait_s(self) -> float:
        """The same of the coordinator's own: its journal is flushed while others are asked."""
        return self.write_wait_s if self.own_first and self.waited > 1 else self.written_wait_s

    @property
    def led(self) -> bool:
        """Whether one node leads the others that hold the same records."""
        return self.coordinator == "leader"

    @property
    def fetched(self) -> bool:
        """Whether the others fetch what their leader has written, in rounds."""
        return self.led and self.own_first and self.acknowledged_to == "everyone"

    @property
    def own_share(self) -> float:
        """Share of operations of which the coordinator holds a copy."""
        return own_share(self.nodes, self.replication, self.coordinator)

    @property
    def copy_cpu_s(self) -> dict[str, float]:
        """Processor times at a copy, with what comes with others, by what is asked of it."""
        told = acknowledgements(self.waited, self.replication, self.acknowledged_to)
        digest_s = self.read_cpu_s if self.digest_cpu_s is None else self.digest_cpu_s
        with_others_s = self.acknowledged_cpu_s * told
        if self.journaled:
            with_others_s += self.journal_cpu_s + self.wake_journal_cpu_s
        written_s = self.write_cpu_s + with_others_s / self.replication
        return at_copies(self.read_cpu_s, digest_s, written_s, self.remote_cpu_s, self.own_share)


def at_copies(
    read_s: _Number, digest_s: _Number, written_s: _Number, remote_s: _Number, own: _Number
) -> dict[str, _Number]:
    """Return processor times at a copy with those of requests to other nodes, by what is asked.

    A ``record`` and an ``own`` write are asked of the coordinator's own copy, if it holds one
    (``own``, a share of operations); a ``digest`` and a ``written`` copy are others'. All are
    numbers, or arrays with a row a cluster.

    Examples
    --------
    >>> at_copies(9.0, 8.0, 6.0, 2.0, 0.5)
    {'record': 10.0, 'digest': 10.0, 'own': 7.0, 'written': 8.0}
    """
    first_afar_s = remote_s * (1 - own)
    return {
        "record": read_s + first_afar_s,
        "digest": digest_s + remote_s,
        "own": written_s + first_afar_s,
        "written": written_s + remote_s,
    }


def own_share(nodes: int, replication: int, coordinator: Coordinator) -> float:
    """Return the share of operations of which the coordinator holds a copy.

    Examples
    --------
    >>> own_share(6, 3, "any"), own_share(6, 3, "replica")
    (0.5, 1.0)
    """
    return min(replication / nodes, 1.0) if coordinator == "any" else 1.0


def acknowledgements(waited: int, replication: int, to: Acknowledged) -> float:
    """Return how often copies of a write that waits for some of them tell another one.

    All copies tell the coordinator. Those that are waited for tell everyone, and two that tell each
    other count once.

    Examples
    --------
    >>> [acknowledgements(waited, 3, "coordinator") for waited in (1, 2, 3)]
    [0.0, 2.0, 2.0]
    >>> [acknowledgements(waited, 3, "everyone") for waited in (1, 2, 3)]
    [0.0, 2.0, 3.0]
    """
    if waited == 1:
        return 0.0
    others = replication - 1
    return float(others) if to == "coordinator" else waited * others / 2


def dealt_out(nodes: int, copies: int) -> list[list[int]]:
    """Return the nodes that hold each copy, leaders first, where nodes are in sets.

    Examples
    --------
    >>> dealt_out(7, 3)
    [[1, 4], [2, 5], [3, 6]]
    """
    in_sets = nodes // copies * copies
    return [list(range(first, in_sets + 1, copies)) for first in range(1, copies + 1)]


def copies_waited_for(level: Level, replication: int) -> int:
    """Return how many copies a level waits for.

    Examples
    --------
    >>> [copies_waited_for(level, 3) for level in ("one", "quorum", "all")]
    [1, 2, 3]
    """
    return {"one": 1, "quorum": replication // 2 + 1, "all": replication}[level]


def is_a_level(copies: int, replication: int) -> bool:
    """Tell whether any level waits for so many copies.

    Examples
    --------
    >>> [is_a_level(copies, 5) for copies in (1, 2, 3, 5)]
    [True, False, True, True]
    """
    return any(copies_waited_for(one, replication) == copies for one in LEVELS)


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
        raise InputError(f"{s.replication} copies on {s.nodes} nodes: each needs a node of its own")
    held = [list(range(1, s.nodes + 1))]
    if s.led:
        held = dealt_out(s.nodes, s.replication)[: None if idle else _copies_asked(s)]
    nodes = sorted(i for those in held for i in those)
    forks = _forks(s, nodes)
    answered = _REST.name if s.coordinator_after_cpu_s > 0 else "client"
    written = _COPIES if _has_copies_after(s) else answered
    routing: dict[str, dict[str, Route]] = {
        "client": {
            "*": _by_chance({"network/read": s.read_share, "network/write": 1 - s.read_share})
        },
        "network": {"*": evenly([f"cpu{i}" for i in held[0]])},
        **{
            f"{fork.name}.join": {"*": written if fork.name == "writing" else answered}
            for fork in forks
        },
    }
    stations = [
        Station(name="client", kind="delay", service={"*": 0.0}),  # pyright: ignore[reportArgumentType]
        Station(name="network", kind="delay", service={"*": _time(s, s.client_round_trip_s)}),
    ]
    for i in nodes:
        linked = _is_linked(s, i, held)
        stations += _node(s, i, forks, linked=linked)
        routing |= _routes(s, i, forks, linked=linked)
    those = held if s.led else held * s.replication
    ways = {f"copy{j}": evenly([f"link{i}" for i in h]) for j, h in enumerate(those, 1)}
    ahead = {place_of(branch)[0] for fork in forks for branch in fork.branches}
    routers: dict[str, Route] = {
        name: way for name, way in ways.items() if name in ahead or (idle and s.led)
    }
    if _ASKED in ahead:
        routers[_ASKED] = "writing.join"
    if _OWN in forks:
        # Nodes are alike: at any of those that coordinate.
        routers[_FIRST_WRITTEN] = evenly(
            [f"{'log' if _log_is_used(s) else 'cpu'}{i}" for i in held[0]]
        )
        routing[f"{_OWN.name}.join"] = {"*": "writing" if s.replication > 1 else written}
    if _has_copies_after(s):
        # Where none leads, who holds a record's copies is by chance.
        later = {f"after{j}": evenly([f"cpu{i}" for i in h]) for j, h in enumerate(those, 1)}
        branches = (f"written/{_TOLD}", *(f"{place}/after" for place in later))
        forks.append(Fork(name=_COPIES, branches=branches, join=1))
        routers |= {"written": f"{_COPIES}.join", **later}
        routing[f"{_COPIES}.join"] = {"*": answered}
    if s.coordinator_after_cpu_s > 0:
        forks.append(_REST)
        routers |= {_ANSWERED: f"{_REST.name}.join", _LATER: routing["network"]["*"]}
        routing[f"{_REST.name}.join"] = {"*": "client"}
    routing |= {name: {"*": route} for name, route in routers.items()}
    names = [one for fork in forks for one in fork.siblings]
    return Network(
        name=f"{s.nodes} nodes, {s.replication} copies, "
        f"reads wait for {s.read}, writes for {s.write}",
        classes=(
            Class(name="read", users=s.users, reference="client"),
            *((Class(name="write"),) if s.read_share < 1 else ()),
            *(Class(name=name) for name in dict.fromkeys(names)),
        ),
        stations=tuple(stations),
        routers=tuple(routers),
        forks=tuple(forks),
        routing=routing,
    )


def _has_copies_after(s: Quorum) -> bool:
    """Tell whether copies have anything to do after a write is answered."""
    return s.write_after_cpu_s > 0 and s.read_share < 1


def _is_linked(s: Quorum, number: int, held: Sequence[Sequence[int]]) -> bool:
    """Tell whether anything is asked of a node's copies by way of its link."""
    others_asked = s.replication > 1 and not (s.led and number in held[0])
    return s.read_share > 0 or not s.own_first or others_asked


def evenly(places: Sequence[str]) -> Route:
    """Return the route to any of some places by chance."""
    return places[0] if len(places) == 1 else {place: 1 / len(places) for place in places}


def _copies_asked(s: Quorum) -> int:
    """Return how many copies anything is asked of."""
    return s.replication if s.read_share < 1 or s.read_repair > 0 else s.asked


def _forks(s: Quorum, nodes: Sequence[int]) -> list[Fork]:
    """One fork a kind of request: siblings' classes say what a copy does, and where it ends."""
    asked = s.asked
    wanted = {
        "reading": (s.read_share * (1 - s.read_repair), asked, asked),
        "repairing": (s.read_share * s.read_repair, s.replication, asked),
        "writing": (0.0 if s.own_first else 1 - s.read_share, s.replication, s.waited),
    }
    forks: list[Fork] = []
    for name, (share, copies, join) in wanted.items():
        if share > 0:
            late = s.late if join < copies else "serve"
            kinds = _kinds(name, copies)
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
                    late=late,
                )
            )
    if s.own_first and s.read_share < 1:
        forks += [_OWN, *([_of_others(s)] if s.replication > 1 else [])]
    return forks


def _of_others(s: Quorum) -> Fork:
    """Return the fork of a write that its coordinator has written: all other copies are asked."""
    branches = [f"copy{j}/written" for j in range(2, s.replication + 1)]
    wait_for = s.waited - 1
    if wait_for == 0:
        # Who is answered at once is a sibling, too.
        branches, wait_for = [f"{_ASKED}/{_TOLD}", *branches], 1
    late = s.late if wait_for < len(branches) else "serve"
    return Fork(name="writing", branches=tuple(branches), join=wait_for, late=late)


def _kinds(name: str, copies: int) -> tuple[str, ...]:
    first, others = {
        "reading": ("record", "digest"),
        "repairing": ("record-repair", "digest-repair"),
        "writing": ("own", "written"),
    }[name]
    return (first,) + (others,) * (copies - 1)


def _node(s: Quorum, number: int, forks: list[Fork], *, linked: bool) -> list[Station]:
    asked = {one: one.removesuffix("-repair") for fork in forks for one in _served(fork)}
    copy_cpu_s = s.copy_cpu_s
    coordinated = ("read", "write") if s.read_share < 1 else ("read",)
    cpu_s = dict.fromkeys(coordinated, s.coordinator_cpu_s)
    cpu_s |= {name: copy_cpu_s[what] for name, what in asked.items()}
    if s.coordinator_after_cpu_s > 0:
        cpu_s["rest"] = s.coordinator_after_cpu_s
    if _has_copies_after(s):
        cpu_s["after"] = s.write_after_cpu_s
    disk_s = {
        name: s.write_disk_s if what in _WRITTEN else s.read_disk_s for name, what in asked.items()
    }
    link = Station(
        name=f"link{number}",
        kind="delay",
        service={"*": _time(s, s.node_round_trip_s)},
        cached={name: s.own_share for name, what in asked.items() if what in _FIRST},
    )
    waits_s = {"*": s.written_wait_s} | ({"own": s.own_wait_s} if s.own_first else {})
    log = Station(
        name=f"log{number}",
        kind="delay",
        service={name: _time(s, seconds) for name, seconds in waits_s.items()},
    )
    rates = _rates(s)
    cpu = Station(
        name=f"cpu{number}",
        servers=1 if rates and s.discipline == "ps" else s.cores,
        rates=rates,
        discipline=s.discipline,
        service={name: _cpu_time(s, name, seconds) for name, seconds in cpu_s.items()},
    )
    disk = Station(
        name=f"disk{number}",
        service={name: Exponential(mean_s=seconds) for name, seconds in disk_s.items()},
    )
    logs = [log] if _log_is_used(s) else []
    links = [link] if linked else []
    return [*links, *logs, cpu, *([disk] if _disk_is_used(s) else [])]


def _served(fork: Fork) -> list[str]:
    """Return the classes of a fork's siblings that get to copies."""
    return [one for one in dict.fromkeys(fork.siblings) if one != _TOLD]


def _rates(s: Quorum) -> tuple[float, ...]:
    """Return how many cores 1, 2, … threads keep busy, where that is fewer than there could be."""
    if s.scattered == 0 or s.cores == 1:
        return ()
    ready = range(1, _SCATTERED_UP_TO + 1)
    return tuple(_engine.cores_busy(there, s.cores, s.scattered) for there in ready)


def _cpu_time(s: Quorum, name: str, mean_s: float) -> Exponential | Lognormal | Deterministic:
    """Return a time at a processor; a round takes as long for all who fetch what is in it."""
    if name == "written" and s.fetched:
        return Deterministic(value_s=mean_s)
    return _time(s, mean_s)


def _time(s: Quorum, mean_s: float) -> Exponential | Lognormal:
    if s.scv == 1 or mean_s == 0:
        return Exponential(mean_s=mean_s)
    return Lognormal(mean_s=mean_s, scv=s.scv)


def _log_is_used(s: Quorum) -> bool:
    return s.read_share < 1 and s.written_wait_s > 0


def _disk_is_used(s: Quorum) -> bool:
    return s.read_share * s.read_uncached > 0 or (1 - s.read_share) * s.write_uncached > 0


def _routes(
    s: Quorum, number: int, forks: list[Fork], *, linked: bool
) -> dict[str, dict[str, Route]]:
    link, log, cpu, disk = (f"{kind}{number}" for kind in ("link", "log", "cpu", "disk"))
    from_link: dict[str, Route] = {"*": cpu}
    from_cpu: dict[str, Route] = {}
    from_disk: dict[str, Route] = {}
    for fork in forks:
        uncached = s.write_uncached if fork.name in _OF_WRITES else s.read_uncached
        end = f"{fork.name}.join"
        way = _by_chance({disk: uncached, end: 1 - uncached})
        for name in _served(fork):
            from_cpu[name] = way
            if uncached > 0:
                from_disk[name] = end
    if s.coordinator_after_cpu_s > 0:
        from_cpu["rest"] = f"{_REST.name}.join"
    if _has_copies_after(s):
        from_cpu["after"] = f"{_COPIES}.join"
    if s.read_share < 1:
        from_cpu["write"] = _OWN.name if s.own_first else "writing"
    if s.read_share > 0:
        from_cpu["read"] = _by_chance({"reading": 1 - s.read_repair, "repairing": s.read_repair})
    routes: dict[str, dict[str, Route]] = {cpu: from_cpu}
    if linked:
        routes[link] = from_link
    if _log_is_used(s):
        from_link |= dict.fromkeys(_kinds("writing", s.replication), log)
        routes[log] = {"*": cpu}
    return {**routes, disk: from_disk} if from_disk else routes


def _by_chance(shares: dict[str, float]) -> Route:
    """Return a route; a place alone where no other is possible."""
    possible = {place: share for place, share in shares.items() if share > 0}
    return next(iter(possible)) if len(possible) == 1 else possible
