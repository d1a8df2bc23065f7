"""A queueing network as data: what a file holds, frozen and checked as far as names and values go.

Customers of classes move between nodes: stations, routers, forks with their joins, and for open
classes ``source`` and ``sink``. Whether customers get everywhere, and back, is the engine's to say:
:func:`pacelc.networks.solve.check`.

Map
---
Network         the network; ``Network.load(path)``, ``Network.parse(text)``, ``to_yaml``
Class           customers: a number of users that stay, or arrivals that leave
Station         where they are served
Fork            where one is split into siblings that meet again at ``NAME.join``
Pool            stations that only so many customers may be in
Chosen          a route by a rule instead of by chance
NetworkError    ``model.yaml:14: stations.0.servrs: a station has no such field``

Examples
--------
>>> network = Network.parse('''
... classes: [{name: read, users: 20, reference: client}]
... stations:
...   - {name: client, kind: delay, service: {read: 1ms}}
...   - {name: cpu, servers: 2, discipline: ps, service: {read: 1.15ms}}
... routing: {client: {read: cpu}, cpu: {read: client}}
... ''')
>>> network.station("cpu").service["read"].mean_s
0.00115
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, Discriminator, Field, PositiveInt, Tag, ValidationError
from ruamel.yaml import YAML

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.networks.distributions import KINDS, Distribution, written
from pacelc.networks.mistakes import told_first
from pacelc.networks.times import Time, format_time
from pacelc.study.model import Frozen
from pacelc.study.settings import Problem, tidy
from pacelc.study.source import Source, StudyError, parse_yaml
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "EVERY_CLASS",
    "SINK",
    "SOURCE",
    "Chosen",
    "Class",
    "Fork",
    "Network",
    "NetworkError",
    "Pool",
    "Route",
    "Station",
    "first_problem",
    "place_of",
]

EVERY_CLASS = "*"
"""Stands for every class that isn't named beside it."""
SOURCE, SINK = "source", "sink"
"""Where customers of open classes come from, and where they leave."""

Name: TypeAlias = Annotated[str, Field(min_length=1)]
Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class NetworkError(InputError):
    """A network can't be used. The message begins with the file, line and field at fault."""


class Class(Frozen):
    """A class of customers: closed (users that stay) or open (they arrive and leave)."""

    name: Name
    """Unlike all others."""
    users: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Closed: those that are of this class at the beginning, all at the reference; 0 for a class
    that customers of others become."""
    reference: str | None = None
    """Closed, with users: the station where a cycle begins and ends; the first, unless said."""
    interarrival: Distribution | None = None
    """Makes it an open class: the time between arrivals."""
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    """At stations whose discipline is priority: the greater goes first."""


class Station(Frozen):
    """A place where customers are served."""

    name: Name
    """Unlike all other nodes' names."""
    kind: Literal["delay", "queue"] = "queue"
    """Delay: a server for everyone, such as think time or a network. Queue: a number of servers."""
    servers: Annotated[int, Field(ge=1, lt=2**32)] = 1
    """Of a queue."""
    discipline: Literal["fcfs", "ps", "priority", "siro"] = "fcfs"
    """Of a queue: first come, first served; processor sharing; priority without interruption;
    served in random order."""
    rates: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = ()
    """How fast it works with 1, 2, … customers, in multiples of one server's rate; the last holds
    for all greater numbers. Where servers are shared only with a single one; else as many are
    served at once as there are servers, each equally fast."""
    service: dict[str, Distribution]
    """Class, or ``*`` → how long a visit is served."""
    cached: dict[str, Probability] = Field(default_factory=dict)
    """Class, or ``*`` → probability that a visit is answered from a cache and takes no time."""


class Chosen(Frozen):
    """A route by a rule instead of by chance."""

    choose: Literal["round_robin", "shortest_queue"]
    """One after the other; or where the fewest customers are."""
    to: Annotated[tuple[str, ...], Field(min_length=1)]
    """Among which places."""


def _kind_of_route(value: object) -> str:
    if isinstance(value, str):
        return "place"
    if isinstance(value, Chosen) or (isinstance(value, dict) and "choose" in value):
        return "chosen"
    return "random"


Route: TypeAlias = Annotated[
    Annotated[str, Tag("place")]
    | Annotated[Chosen, Tag("chosen")]
    | Annotated[dict[str, Probability], Tag("random")],
    Discriminator(_kind_of_route),
]
"""Where customers go: a place (``NODE``, or ``NODE/CLASS`` where the class changes), a rule among
places, or places with their probabilities."""


class Fork(Frozen):
    """A customer becomes siblings; when so many of them have met at ``NAME.join``, it goes on."""

    name: Name
    """Unlike all other nodes' names."""
    branches: Annotated[tuple[str, ...], Field(min_length=1)]
    """Where siblings may begin: ``NODE``, or ``NODE/CLASS``."""
    copies: PositiveInt | None = None
    """How many of the branches get one, by chance; all, unless said."""
    classes: tuple[str, ...] | None = None
    """Classes of the siblings, in the order in which branches are chosen."""
    join: PositiveInt | None = None
    """How many siblings are waited for; all, unless said."""
    late: Literal["serve", "discard", "cancel", "timeout"] = "serve"
    """What becomes of the others: they are served and load the stations; end where they wait; end
    at once; end so long after the fork."""
    timeout_s: Annotated[Time | None, Field(alias="timeout")] = None
    """With ``timeout``: how long."""

    @property
    def siblings(self) -> tuple[str, ...]:
        """Classes that siblings have, as far as the fork says."""
        named = (place_of(branch)[1] for branch in self.branches)
        return (*(self.classes or ()), *(name for name in named if name is not None))


class Pool(Frozen):
    """Only so many customers may be at its stations at a time, such as the threads of a server."""

    name: Name
    """For people."""
    stations: Annotated[tuple[str, ...], Field(min_length=1)]
    """Which; a customer that goes from one to another keeps its place."""
    places: PositiveInt
    """How many customers."""
    waiting: Annotated[int, Field(ge=0)] | None = None
    """How many may wait for a place; any number, unless said. Others are rejected."""


class Network(Frozen):
    """A queueing network."""

    name: str = ""
    """For people."""
    classes: Annotated[tuple[Class, ...], Field(min_length=1)]
    """What customers there are."""
    stations: Annotated[tuple[Station, ...], Field(min_length=1)]
    """Where they are served."""
    routers: tuple[Name, ...] = ()
    """Nodes that take no time and only have routes."""
    forks: tuple[Fork, ...] = ()
    """Where customers are split."""
    pools: tuple[Pool, ...] = ()
    """Stations with a limited number of customers."""
    routing: dict[str, dict[str, Route]]
    """Node → class, or ``*`` → where customers go from there."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a YAML or JSON file.

        Raises
        ------
        NetworkError
            There is no such file, or it holds no network.
        """
        return cls.parse(read_text(Path(path), NetworkError), Path(path).name)

    @classmethod
    def parse(cls, text: str, name: str = "network") -> Self:
        """Read YAML or JSON; ``name`` is what errors begin with.

        Raises
        ------
        NetworkError
            The text holds no network.
        """
        try:
            what = "a network is a mapping (classes: …, stations: …)"
            source = parse_yaml(text, name, cls.model_fields, what)
            return cls.of(source.data, source)
        except StudyError as error:
            raise NetworkError(error.message, error.hint) from None

    @classmethod
    def of(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        """Return the network in a plain document, such as parsed JSON.

        Raises
        ------
        NetworkError
            The document holds no network.
        """
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            problem = first_problem(error)
            said = (source or Source("network", {})).error(problem)
            raise NetworkError(said.message, said.hint) from None

    def document(self, *, for_people: bool = False) -> dict[str, Any]:
        """Return the network as plain data; what has its default is left out."""
        document: dict[str, Any] = {"name": self.name} if self.name else {}
        document["classes"] = [_plain(one, for_people=for_people) for one in self.classes]
        document["stations"] = [_plain(one, for_people=for_people) for one in self.stations]
        if self.routers:
            document["routers"] = list(self.routers)
        for key, parts in (("forks", self.forks), ("pools", self.pools)):
            if parts:
                document[key] = [_plain(part, for_people=for_people) for part in parts]
        document["routing"] = {
            node: {
                name: _plain(route, for_people=for_people) if isinstance(route, Chosen) else route
                for name, route in routes.items()
            }
            for node, routes in self.routing.items()
        }
        return document

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the JSON that the engine reads: times are seconds."""
        return json.dumps(self.document(), indent=indent, ensure_ascii=False)

    def to_yaml(self) -> str:
        """Return YAML for people: times have units."""
        yaml = YAML()
        yaml.width = 4096  # a part a line, however long
        yaml.indent(mapping=2, sequence=4, offset=2)
        out = io.StringIO()
        cast("Any", yaml).dump(_flow_where_short(self.document(for_people=True)), out)
        return out.getvalue()

    def station(self, name: str) -> Station:
        """Return the station of that name.

        Raises
        ------
        KeyError
            There is none.
        """
        for station in self.stations:
            if station.name == name:
                return station
        raise KeyError(name)

    @property
    def users(self) -> int:
        """Customers of all closed classes."""
        return sum(one.users for one in self.classes)

    def with_users(self, users: int) -> Self:
        """Return the network with so many users in all, shared among its classes as they are now.

        Raises
        ------
        NetworkError
            It has no closed class with users.
        """
        now = self.users
        if now == 0:
            raise NetworkError(f"{self.name or 'the network'} has no users", "its classes are open")
        shares = _divided(users, [one.users for one in self.classes])
        changed = tuple(
            one.model_copy(update={"users": share})
            for one, share in zip(self.classes, shares, strict=True)
        )
        return self.model_copy(update={"classes": changed})


def place_of(text: str) -> tuple[str, str | None]:
    """Return node and class of a place; no class where it doesn't change.

    Examples
    --------
    >>> place_of("cpu/read"), place_of("cpu")
    (('cpu', 'read'), ('cpu', None))
    """
    node, slash, name = text.partition("/")
    return node, name if slash else None


def _divided(total: int, weights: list[int]) -> list[int]:
    """Divide a whole number in proportion; the largest remainders get what is left."""
    exact = [total * weight / sum(weights) for weight in weights]
    parts = [int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def _plain(part: BaseModel, *, for_people: bool) -> dict[str, Any]:
    """Return a part's fields by their names in a document, without those that have defaults."""
    document: dict[str, Any] = {}
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if field.is_required() or value != field.get_default(call_default_factory=True):
            document[field.alias or name] = _value(value, name, for_people=for_people)
    return document


def _value(value: object, name: str, *, for_people: bool) -> Any:
    if type(value) in KINDS.values():
        return written(cast("Distribution", value), for_people=for_people)
    if isinstance(value, tuple):
        return list(cast("Iterable[object]", value))
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _value(inner, key, for_people=for_people) for key, inner in items}
    if for_people and name.endswith("_s") and isinstance(value, float):
        return format_time(value)
    return value


def _flow_where_short(value: Any, *, top: bool = True) -> Any:
    """Return the document with one line a class, station, fork and node."""
    from ruamel.yaml.comments import CommentedMap, CommentedSeq  # noqa: PLC0415 - only here

    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        mapping = CommentedMap(
            (key, _flow_where_short(inner, top=top and key in _ONE_LINE_A_PART))
            for key, inner in items
        )
        if not top:
            cast("Any", mapping).fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        inside = [_flow_where_short(inner, top=False) for inner in cast("list[Any]", value)]
        sequence = CommentedSeq(inside)
        if not top or not any(isinstance(inner, CommentedMap) for inner in inside):
            cast("Any", sequence).fa.set_flow_style()
        return sequence
    return value


_ONE_LINE_A_PART = ("classes", "stations", "forks", "pools", "routing")

_PARTS: dict[str, tuple[str, type[BaseModel]]] = {
    "classes": ("a class", Class),
    "stations": ("a station", Station),
    "forks": ("a fork", Fork),
    "pools": ("a pool", Pool),
    "routing": ("a chosen route", Chosen),
}


def _written(places: Iterable[int | str]) -> tuple[int | str, ...]:
    """Return those places that are in the document: not which kind of a union was tried."""
    tags = {"place", "chosen", "random", *KINDS}
    return tuple(part for part in places if part not in tags and "[" not in str(part))


def first_problem(error: ValidationError) -> Problem:
    """Return what is wrong first, with the nearest name where one isn't known."""
    first = told_first(error)
    path = _written(first["loc"])
    if first["type"] == "extra_forbidden":
        *above, field = first["loc"]
        # It may be called like a tag.
        path = (*_written(above), field)
        what, model = ("a network", Network)
        if above:
            what, model = _PARTS.get(str(path[0]), (what, model))
        kind = next((str(part) for part in above if part in KINDS), None)
        if kind is not None:
            what, model = f"the {kind} distribution", KINDS[kind]
        names = [field.alias or name for name, field in model.model_fields.items()]
        return Problem(path, f"{what} has no such field", nearest(str(path[-1]), names))
    if first["type"] == "missing":
        return Problem(path, "is missing")
    if first["type"] == "union_tag_invalid":
        found = str(first.get("ctx", {}).get("tag", ""))
        return Problem(path, f"there is no distribution {found!r}", nearest(found, KINDS))
    if first["type"] == "union_tag_not_found":
        return Problem(
            path, "should be a time, or name its distribution", f"known: {', '.join(KINDS)}"
        )
    return Problem(path, *tidy(first))
