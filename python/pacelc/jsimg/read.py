"""Networks from JMT's ``.jsimg``.

Start here: :func:`read_jsimg`, :func:`parse_jsimg`.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import ValidationError

from pacelc.errors import InputError
from pacelc.files import read_bytes
from pacelc.jsimg.normal import compact
from pacelc.jsimg.xml import Element, XmlError, parse_xml
from pacelc.networks.distributions import (
    Deterministic,
    Erlang,
    Exponential,
    Hyperexponential,
    Lognormal,
)
from pacelc.networks.network import (
    SINK,
    SOURCE,
    Chosen,
    Class,
    Fork,
    Network,
    Pool,
    Station,
    first_problem,
)
from pacelc.numerals import parse_number, parse_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from pacelc.networks.distributions import Distribution
    from pacelc.networks.network import Route

__all__ = ["JsimgError", "parse_jsimg", "read_jsimg"]

_T = TypeVar("_T")
_P = TypeVar("_P", str, Element)

_RESULTS: Final = ("JMT's results, no model", "give the model that was solved, a .jsimg file")
_OTHERS: Final = {
    "solutions": _RESULTS,
    "results": _RESULTS,
    "model": (
        "a model of JMT's JMVA or JABA",
        "in JMVA choose Import in JSIM, save, and give the .jsimw file",
    ),
    "jlqn": ("a layered network of JMT's JLQN", "draw it in JSIMgraph as queues, and give that"),
    "jmodel": ("where JMT draws nodes, no model", "give the whole .jsimg file"),
    "archive": ("an archive of JMT's without a model", "save the model in JSIMgraph again"),
}
"""What other files of JMT's tools are, by their outermost element, and what to give instead."""
_DIGITS: Final = 13
"""Rates become means: digits beyond these are rounding."""
_BALANCED: Final = 1e-9
"""By how much the halves of a hyperexponential's mean may differ, relatively."""
_RULES: Final = {
    "RoundRobinStrategy": "round_robin",
    "ShortestQueueLengthRoutingStrategy": "shortest_queue",
}
_STRATEGIES: Final = ("QueuePutStrategy", "ServiceStrategy", "PSStrategy", "Impatience")
"""Parameters of a queue and its servers that are looked at one by one, by the end of their class:
versions of JMT name them differently."""
_READ: Final = ("maxJobs", "dropStrategies", "serviceWeights", "schedulingPolicy")
"""Others, by name: the number of servers, and what matters only to queues with a limit, unequal
shares and servers that differ."""
_WITHOUT_EFFECT: Final = {
    "size": "-1",
    "maxRunning": "-1",
    "numberOfVisits": "1",
    "PSPriorityUsed": "false",
    "classParallelism": "1",
    "serverCompatibilities": "true",
}
"""Parameters that change nothing, as long as all their values are this one."""
_MOST: Final = {"node": 1_000, "connection": 10_000, "userClass": 100}
"""Reading takes as many steps as classes times connections."""
_MOST_PROBLEMS: Final = 20
_LONGEST_PROBLEM: Final = 200
_OF_EACH_TYPE: Final = ("serverNames", "serversPerServerType")
"""Parameters with a value for each type of servers: one type is all."""


class JsimgError(InputError):
    """A file can't be read as a network; what stands in the way is named."""


def read_jsimg(path: str | Path) -> Network:
    """Read a ``.jsimg`` file.

    Raises
    ------
    JsimgError
        There is no such file, it is damaged, or JMT means something that has no counterpart here.
    """
    return parse_jsimg(read_bytes(Path(path), JsimgError), Path(path).name)


def parse_jsimg(document: bytes | str, name: str = "network.jsimg") -> Network:
    """Read the text of a ``.jsimg`` file; ``name`` is what errors begin with.

    Raises
    ------
    JsimgError
        See :func:`read_jsimg`.
    """
    try:
        root = parse_xml(document.encode() if isinstance(document, str) else document)
    except XmlError as error:
        raise JsimgError(f"{name}: {error}") from None
    sim = root if root.name == "sim" else next(root.all("sim"), None)
    if sim is None:
        other = f"no JSIM model: its outermost element is {root.name[:_LONGEST_PROBLEM]}"
        what, hint = _OTHERS.get(root.name, (other, "JMT's .jsimg and .jsimw files hold one"))
        raise JsimgError(f"{name}: it holds {what}", hint)
    for part, most in _MOST.items():
        if sum(1 for _ in sim.all(part)) > most:
            raise JsimgError(f"{name}: it has more than {most:,} elements {part}")
    try:
        reader = _Reader(sim)
        network = reader.network()
    except _DamageError as error:
        problem = " ".join(str(error).split())[:_LONGEST_PROBLEM]
        raise JsimgError(f"{name}: it is damaged: {problem}") from None
    if reader.problems:
        problems = list(dict.fromkeys(reader.problems))
        said = "; ".join(problems[:_MOST_PROBLEMS])
        others = len(problems) - _MOST_PROBLEMS
        more = f"; and {others:,} more" if others > 0 else ""
        raise JsimgError(f"{name}: pacelc has no counterpart of {said}{more}", "change it in JMT")
    if network is None:
        raise JsimgError(f"{name}: it holds no stations or no classes")
    return network


class _DamageError(Exception):
    """What is wrong, and where in the file."""


@contextmanager
def _reading(what: str) -> Generator[None]:
    """Name what is being read where it is damaged."""
    try:
        yield
    except ValidationError as error:
        problem = first_problem(error)
        field = ".".join(map(str, problem.path))
        at = f"{what}: {field}" if field else what
        raise _DamageError(f"{at}: {problem.message}") from None
    except KeyError as error:
        raise _DamageError(f"{what}: {error.args[0]} is missing") from None
    except ArithmeticError:
        raise _DamageError(f"{what}: a number is 0, or beyond what it can be") from None
    except ValueError as error:
        raise _DamageError(f"{what}: {error}") from None


def _each(kind: str, parts: Iterable[_P], read: Callable[[_P], _T]) -> Iterator[_T]:
    for part in parts:
        with _reading(f"{kind} {part if isinstance(part, str) else part.get('name')}"):
            read_part = read(part)
        yield read_part


class _Reader:
    """One file."""

    def __init__(self, sim: Element) -> None:
        self.sim = sim
        self.problems: list[str] = []
        self.classes = [one.get("name") for one in sim.all("userClass")]
        self.closed = {
            one.get("name") for one in sim.all("userClass") if one.get("type") == "closed"
        }
        self.elements = {node.get("name"): node for node in sim.all("node")}
        self.links: dict[str, list[str]] = {name: [] for name in self.elements}
        for link in sim.all("connection"):
            for end in ("source", "target"):
                if link.get(end) not in self.links:
                    raise _DamageError(f"a connection's {end} is no node: {link.get(end)!r}")
            self.links[link.get("source")].append(link.get("target"))
        self.kinds = {name: self._kind(node) for name, node in self.elements.items()}
        self.class_names = _plain_names(self.classes, ())
        # A ClassSwitch as `write` makes them is part of a route, not a node.
        inline = zip(self.elements, _each("node", self.elements, self._inline), strict=True)
        self.inline = {name: place for name, place in inline if place is not None}
        nodes = ("station", "router", "fork", "switch")
        taken = _plain_names(
            [n for n in self.elements if self.kinds[n] in nodes and n not in self.inline],
            (SOURCE, SINK),
        )
        self.names = {
            **taken,
            **{n: SOURCE for n, kind in self.kinds.items() if kind == "source"},
            **{n: SINK for n, kind in self.kinds.items() if kind == "sink"},
        }
        for fork in self._of("fork"):
            for join in self._joins_after(fork):
                self.names[join] = f"{self.names[fork]}.join"

    def _problem(self, what: str) -> None:
        self.problems.append(what[:_LONGEST_PROBLEM])

    @staticmethod
    def _kind(node: Element) -> str:
        sections = [section.get("className") for section in node.all("section")]
        for section, kind in (
            ("RandomSource", "source"),
            ("JobSink", "sink"),
            ("Join", "join"),
            ("Fork", "fork"),
            ("ClassSwitch", "switch"),
            ("Delay", "station"),
            ("Server", "station"),
            ("PSServer", "station"),
        ):
            if section in sections:
                return kind
        # A logger writes down who passes, and delays nobody.
        passes = "ServiceTunnel" in sections or "LogTunnel" in sections
        return "router" if passes and "Router" in sections else "unknown"

    def _of(self, kind: str) -> list[str]:
        return [name for name, own in self.kinds.items() if own == kind]

    def network(self) -> Network | None:
        for name in self._of("unknown"):
            sections = ", ".join(s.get("className") for s in self.elements[name].all("section"))
            self._problem(f"node {name} ({sections})")
        for join in self._of("join"):
            if join not in self.names:
                self._problem(f"join {join} without a fork of its own")
        classes = tuple(_each("class", self.sim.all("userClass"), self._class))
        stations = [*_each("station", self._of("station"), self._station)]
        forks = [*_each("fork", self._of("fork"), self._fork)]
        pools = [*_each("region", self.sim.all("blockingRegion"), self._pool)]
        switches = [name for name in self._of("switch") if name not in self.inline]
        routing: dict[str, dict[str, Route]] = {}
        for name in self.elements:
            if self.kinds[name] in ("station", "router", "join", "switch", "source"):
                if name in self.inline or name not in self.names:
                    continue
                with _reading(f"node {name}"):
                    own = self._routes(name)
                if own:
                    routing[self.names[name]] = routing.get(self.names[name], {}) | own
        if self.problems or not classes or not stations:
            return None
        inside = [self.class_names[name] for name in self.classes]
        title = self.sim.get("name")
        for suffix in (".jsimg", ".jsimw", ".jsim"):
            title = title.removesuffix(suffix)
        with _reading("the network"):
            return Network(
                name="" if title == "network" else title,
                classes=classes,
                stations=tuple(one for one in stations if one is not None),
                routers=tuple(self.names[name] for name in (*self._of("router"), *switches)),
                forks=tuple(one for one in forks if one is not None),
                pools=tuple(one for one in pools if one is not None),
                routing={node: compact(own, inside) for node, own in sorted(routing.items())},
            )

    def _class(self, one: Element) -> Class:
        name = one.get("name")
        if one.get("type") == "closed":
            users = _whole("customers", one.get("customers") or "0")
            reference = self.names.get(one.get("referenceSource")) if users else None
            arrivals = None
        else:
            users, reference, arrivals = 0, None, self._arrivals(one)
        return Class(
            name=self.class_names[name],
            users=users,
            reference=reference,
            interarrival=arrivals,
            priority=_whole("priority", one.get("priority") or "0"),
        )

    def _arrivals(self, one: Element) -> Distribution | None:
        source = one.get("referenceSource")
        if self.kinds.get(source) != "source":
            return None
        section = _section(self.elements[source], "RandomSource")
        return self._services(section, f"source {source}").get(self.class_names[one.get("name")])

    def _station(self, name: str) -> Station | None:
        node = self.elements[name]
        of = f"station {name}"
        server = next(
            s for s in node.all("section") if s.get("className") in ("Delay", "Server", "PSServer")
        )
        kind = server.get("className")
        problems = len(self.problems)
        service = self._services(server, of)
        if not service:
            if len(self.problems) == problems:
                self._problem(f"{of} without service")
            return None
        queue = _section(node, "Queue")
        put = {
            _last(sub.get("classPath"))
            for _, sub in _array(queue, "jmt.engine.NetStrategies.QueuePutStrategy")
        }
        self._check(queue, of)
        self._check(server, of)
        discipline = "ps" if kind == "PSServer" else "fcfs"
        if kind == "Server" and put == {"TailStrategyPriority"}:
            discipline = "priority"
        elif kind == "Server" and put == {"RandStrategy"}:
            discipline = "siro"
        elif kind == "Server" and put - {"TailStrategy"}:
            self._problem(f"{of} with {', '.join(sorted(put))}")
        servers = "1" if kind == "Delay" else _single(server, "maxJobs") or "1"
        return Station.model_validate(
            {
                "name": self.names[name],
                "kind": "delay" if kind == "Delay" else "queue",
                "servers": _whole("maxJobs", servers),
                "discipline": discipline,
                "service": compact(service, list(self.class_names.values())),
            }
        )

    def _check(self, section: Element, of: str) -> None:
        """Name what a queue, or its servers, have that has no counterpart."""
        for _, sub in _array(section, "jmt.engine.NetStrategies.ImpatienceStrategies.Impatience"):
            if sub.children and _text_of(sub) != "null":
                self._problem(f"{of} with impatient customers")
        for _, sub in _array(section, "jmt.engine.NetStrategies.PSStrategy"):
            if _last(sub.get("classPath")) != "EPSStrategy":
                self._problem(f"{of} with {_last(sub.get('classPath'))}")
        for parameter in section.all("parameter"):
            if (effect := _effect(parameter)) is not None:
                self._problem(f"{of} with {effect}")

    def _services(self, section: Element, of: str) -> dict[str, Distribution]:
        found: dict[str, Distribution] = {}
        entries = [*_array(section, "jmt.engine.NetStrategies.ServiceStrategy")]
        if not any(name for name, _ in entries):
            # For types of servers JMT names no classes: it writes all of a type, then the next's.
            entries = [*zip(cycle(self.classes), (sub for _, sub in entries), strict=False)]
        for name, sub in entries:
            kind = _last(sub.get("classPath"))
            if kind == "DisabledServiceTimeStrategy" or _text_of(sub) == "null":
                continue
            if kind == "ZeroServiceTimeStrategy":
                found[self._named(name)] = Exponential(mean_s=0.0)
                continue
            parts = list(sub.all("subParameter"))
            of_a_law = kind == "ServiceTimeStrategy" and len(parts) > 1
            law = _last(parts[0].get("classPath")) if of_a_law else kind
            distribution = _distribution(law, parts[1]) if of_a_law else None
            if distribution is None:
                self._problem(f"{of} with {law.removesuffix('Distr')} for {name}")
                continue
            found[self._named(name)] = distribution
        return found

    def _named(self, name: str) -> str:
        if name not in self.class_names:
            msg = f"there is no class {name!r}"
            raise ValueError(msg)
        return self.class_names[name]

    def _fork(self, name: str) -> Fork | None:
        of = f"fork {name}"
        section = _section(self.elements[name], "Fork")
        if _single(section, "jobsPerLink") != "1":
            self._problem(f"{of} with {_single(section, 'jobsPerLink')} tasks a link")
        if _single(section, "block") not in (None, "-1"):
            self._problem(f"{of} that holds {_single(section, 'block')} customers")
        if _single(section, "isSimplifiedFork") != "true":
            self._problem(f"{of} that isn't simplified")
        joins = self._joins_after(name)
        if len(joins) != 1:
            self._problem(f"{of} with {len(joins)} joins")
            return None
        branches = [
            self.names.get(link, "") for link in self.links[name] if link not in self.inline
        ]
        if len(branches) != len(self.links[name]):
            self._problem(f"{of} with tasks of other classes")
        required: set[str] = set()
        for _, sub in _array(
            _section(self.elements[joins[0]], "Join"), "jmt.engine.NetStrategies.JoinStrategy"
        ):
            kind = _last(sub.get("classPath"))
            if kind not in ("NormalJoin", "PartialJoin"):
                self._problem(f"join {joins[0]} with {kind}")
            required |= {_text_of(part) for part in sub.all("subParameter")}
        if len(required) > 1:
            self._problem(f"join {joins[0]} that waits for {' or '.join(sorted(required))} tasks")
            return None
        wait_for = _whole("numRequired", next(iter(required), "-1"))
        waits = 0 < wait_for < len(branches)
        return Fork(
            name=self.names[name], branches=tuple(branches), join=wait_for if waits else None
        )

    def _joins_after(self, fork: str) -> list[str]:
        """Return the joins that tasks get to first; a fork inside is passed with its join."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        todo = [(link, 0) for link in self.links[fork]]
        while todo:
            name, depth = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            kind = self.kinds.get(name)
            if kind == "join" and depth == 0:
                found[name] = None
                continue
            step = {"join": -1, "fork": 1}.get(kind or "", 0)
            todo += [(link, depth + step) for link in self.links[name]]
        return list(found)

    def _pool(self, region: Element) -> Pool | None:
        name = region.get("name")
        stations = [node.get("nodeName") for node in region.all("regionNode")]
        limit = next(region.all("globalConstraint"), None)
        places = -1 if limit is None else int(_number("maxJobs", limit.get("maxJobs")))
        others = {
            "classConstraint": "maxJobsPerClass",
            "globalMemoryConstraint": "maxMemory",
            "classMemoryConstraint": "maxMemoryPerClass",
            "groupConstraint": "maxJobsPerGroup",
            "groupMemoryConstraint": "maxMemoryPerGroup",
        }
        for tag, attribute in others.items():
            if any(_number(attribute, limit.get(attribute)) != -1 for limit in region.all(tag)):
                self._problem(f"region {name} with {tag}")
        if any(rule.get("dropThisClass") == "true" for rule in region.all("dropRules")):
            self._problem(f"region {name} that drops customers")
        if any(self.kinds.get(station) != "station" for station in stations):
            self._problem(f"region {name} around more than stations")
        if places < 1:
            return None
        return Pool(
            name=name, stations=tuple(self.names.get(s, s) for s in stations), places=places
        )

    def _routes(self, name: str) -> dict[str, Route]:
        kind, node = self.kinds[name], self.elements[name]
        section = next((s for s in node.all("section") if s.get("className") == "Router"), None)
        if section is None:
            return {}
        plain: dict[str, Route] = {}
        born = self._born_at(name) if kind == "source" else None
        strategies = dict(_array(section, "jmt.engine.NetStrategies.RoutingStrategy"))
        for of, sub in strategies.items():
            if born is not None and of not in born:
                continue
            route = self._route(name, of, sub)
            if route is not None:
                plain[of] = route
        if kind == "switch":
            plain = self._switched(name, plain)
        return {self._named(of): route for of, route in plain.items()}

    def _born_at(self, source: str) -> set[str]:
        return {
            one.get("name")
            for one in self.sim.all("userClass")
            if one.get("referenceSource") == source
        }

    def _route(self, node: str, of: str, sub: Element) -> Route | None:
        kind = _last(sub.get("classPath"))
        if kind == "DisabledRoutingStrategy":
            return None
        if kind == "EmpiricalStrategy":
            entries = [
                {part.get("name"): _text_of(part) for part in entry.all("subParameter")}
                for entries in sub.all("subParameter")
                for entry in entries.all("subParameter")
            ]
            shares: dict[str, float] = {}
            for entry in entries:
                if (share := _number("probability", entry["probability"])) > 0:
                    place = self._place(entry["stationName"], of)
                    shares[place] = shares.get(place, 0.0) + share
            return next(iter(shares)) if len(shares) == 1 else (shares or None)
        links = [
            link
            for link in self.links[node]
            if not (of in self.closed and self.kinds.get(link) == "sink")
        ]
        places = [self._place(link, of) for link in links]
        if kind == "RandomStrategy":
            if not places:
                return None
            return places[0] if len(places) == 1 else dict.fromkeys(places, 1 / len(places))
        if kind in _RULES and places:
            return Chosen.model_validate({"choose": _RULES[kind], "to": places})
        self._problem(f"routing of {node}: {kind} for {of}")
        return None

    def _place(self, node: str, of: str) -> str:
        if node in self.inline:
            to, name = self.inline[node]
            return self.names[to] if name == of else f"{self.names[to]}/{self._named(name)}"
        if node not in self.names:
            self._problem(f"a route to {node}")
            return node
        return self.names[node]

    def _matrix(self, name: str) -> dict[str, dict[str, float]]:
        section = _section(self.elements[name], "ClassSwitch")
        return {
            of: {to: _number("cell", _text_of(cell)) for to, cell in _pairs(row)}
            for of, row in _array(section, "java.lang.Object", "matrix")
        }

    def _inline(self, name: str) -> tuple[str, str] | None:
        """Return node and class if it is a ClassSwitch that is called so, and is so."""
        node, slash, to = name.rpartition("/")
        if not slash or self.kinds[name] != "switch" or self.kinds.get(node) in (None, "switch"):
            return None
        certain = all(
            share == (1.0 if other == to else 0.0)
            for row in self._matrix(name).values()
            for other, share in row.items()
        )
        return (node, to) if certain and self.links[name] == [node] else None

    def _switched(self, name: str, after: Mapping[str, Route]) -> dict[str, Route]:
        """Return the routes of a ClassSwitch: the class changes, then the new one's route holds."""
        found: dict[str, Route] = {}
        for of, row in self._matrix(name).items():
            shares: dict[str, float] = {}
            for to, share in row.items():
                if share == 0:
                    continue
                route = after.get(to)
                if route is None or isinstance(route, Chosen):
                    self._problem(
                        f"class switch {name}: from {of} to {to}, which isn't routed by chance"
                    )
                    continue
                ways = {route: 1.0} if isinstance(route, str) else route
                for place, chance in ways.items():
                    node, _, changed = place.partition("/")
                    final = changed or self._named(to)
                    whole = node if final == self._named(of) else f"{node}/{final}"
                    shares[whole] = shares.get(whole, 0.0) + share * chance
            if shares:
                total = sum(shares.values())
                # Rows of 32-bit numbers add up to 1 but for their rounding.
                parts = {place: _tidy(share / total) for place, share in shares.items()}
                found[of] = next(iter(parts)) if len(parts) == 1 else parts
        return found


def _plain_names(names: Sequence[str], reserved: Sequence[str]) -> dict[str, str]:
    """Return names that hold no slash, none twice."""
    found: dict[str, str] = {}
    taken = {"*", *reserved}
    for name in names:
        plain = name.replace("/", "-") or "unnamed"
        while plain in taken:
            plain += "'"
        taken.add(plain)
        found[name] = plain
    return found


def _last(class_path: str) -> str:
    return class_path.rpartition(".")[2]


def _text_of(element: Element) -> str:
    return next((value.text.strip() for value in element.all("value")), "")


def _effect(parameter: Element) -> str | None:
    """Return what a parameter of a queue, or of its servers, changes beyond what is read of it."""
    name, path = parameter.get("name"), parameter.get("classPath")
    values = list(_values(parameter))
    if ".QueueGetStrategies." in path:
        return None if path.endswith(".FCFSstrategy") else _last(path)
    if path.endswith(_STRATEGIES) or name in _READ:
        return None
    if name in _OF_EACH_TYPE:
        return None if len(values) <= 1 else f"{len(values)} types of servers"
    if name in _WITHOUT_EFFECT:
        others = sorted(set(values) - {_WITHOUT_EFFECT[name]})
        return f"{name} {', '.join(others)}" if others else None
    return name or _last(path)


def _values(element: Element) -> Iterator[str]:
    """Yield all values in it, however deep."""
    for child in element.children:
        if child.name == "value":
            yield child.text.strip()
        else:
            yield from _values(child)


def _section(node: Element, name: str) -> Element:
    return next(
        (section for section in node.all("section") if section.get("className") == name),
        Element("section"),
    )


def _single(section: Element, name: str) -> str | None:
    return next((_text_of(p) for p in section.all("parameter") if p.get("name") == name), None)


def _array(section: Element, class_path: str, name: str = "") -> Iterator[tuple[str, Element]]:
    """Yield the entries of a section's array, by class."""
    for parameter in section.all("parameter"):
        if parameter.get("classPath") == class_path and name in ("", parameter.get("name")):
            yield from _pairs(parameter)


def _pairs(parameter: Element) -> Iterator[tuple[str, Element]]:
    of = ""
    for child in parameter.children:
        if child.name == "refClass":
            of = child.text.strip()
        elif child.name == "subParameter":
            yield of, child


def _number(what: str, text: str) -> float:
    return _parsed(what, text, parse_number)


def _whole(what: str, text: str) -> int:
    return _parsed(what, text, parse_whole)


def _parsed(what: str, text: str, parse: Callable[[str], _T]) -> _T:
    try:
        return parse(text)
    except ValueError as error:
        msg = f"{what} {error}, not {text!r}"
        raise ValueError(msg) from None


def _tidy(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _distribution(law: str, parameters: Element) -> Distribution | None:  # noqa: PLR0911 - a law each
    texts = {part.get("name"): _text_of(part) for part in parameters.all("subParameter")}

    def p(name: str) -> float:
        return _number(f"{name} of {law}", texts[name])

    if law == "Exponential":
        return Exponential(mean_s=_tidy(1 / p("lambda")))
    if law == "DeterministicDistr":
        return Deterministic(value_s=p("t"))
    if law == "Erlang":
        shape = int(p("r"))
        return Erlang(mean_s=_tidy(shape / p("alpha")), shape=shape)
    if law == "HyperExp":
        first, second = p("p") / p("lambda1"), (1 - p("p")) / p("lambda2")
        if abs(first - second) > _BALANCED * (first + second):
            return None
        unbalance = (2 * p("p") - 1) ** 2
        scv = (1 + unbalance) / (1 - unbalance)
        return Hyperexponential(mean_s=_tidy(first + second), scv=_tidy(max(scv, 1.0)))
    if law == "Lognormal":
        mu, sigma = p("mu"), p("sigma")
        mean = _tidy(math.exp(mu + sigma**2 / 2))
        return Lognormal(mean_s=mean, scv=_tidy(math.expm1(sigma**2)))
    return None
