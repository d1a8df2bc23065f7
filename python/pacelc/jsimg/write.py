"""Networks as JMT's ``.jsimg``.

Start here: :func:`jsimg_text`; :func:`unmapped` says what JMT can't say.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.errors import InputError
from pacelc.jsimg.normal import by_class, route_in
from pacelc.networks.distributions import (
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Hyperexponential,
)
from pacelc.networks.network import SINK, SOURCE, Chosen, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pacelc.networks.distributions import Distribution
    from pacelc.networks.network import Network, Pool, Route, Station

__all__ = ["jsimg_text", "unmapped"]

_STRATEGIES: Final = "jmt.engine.NetStrategies"
_RANDOM: Final = "jmt.engine.random"
_ROUTING: Final = {
    "round_robin": ("RoundRobinStrategy", "Round Robin"),
    "shortest_queue": ("ShortestQueueLengthRoutingStrategy", "Join the Shortest Queue (JSQ)"),
}
_COLOURS: Final = ("#FF0000FF", "#FFFF0000", "#FF00FF00", "#FFFFC800", "#FF00FFFF", "#FFFF00FF")
_COLUMNS: Final = 6
_APART: Final = 120
"""How nodes are drawn in JMT: so many a row, so far apart."""


def unmapped(network: Network) -> list[str]:
    """Return what JMT's format can't say of a network, each named."""
    found: list[str] = []
    for station in network.stations:
        of = f"station {station.name}"
        if station.rates:
            found.append(f"{of}: load-dependent rates")
        if station.cached:
            found.append(f"{of}: cached visits (routes past it would do)")
        found += [
            f"{of}: the histogram of {name}"
            for name, service in station.service.items()
            if isinstance(service, Empirical)
        ]
    found += [
        f"class {one.name}: the histogram of its arrivals"
        for one in network.classes
        if isinstance(one.interarrival, Empirical)
    ]
    for fork in network.forks:
        of = f"fork {fork.name}"
        if fork.copies not in (None, len(fork.branches)):
            found.append(f"{of}: fewer siblings than branches")
        if fork.classes is not None or any("/" in branch for branch in fork.branches):
            found.append(f"{of}: siblings of other classes")
        if len(set(fork.branches)) < len(fork.branches):
            found.append(f"{of}: two siblings on a branch")
        if fork.late != "serve":
            found.append(f"{of}: late siblings that end early ({fork.late})")
    found += [
        f"pool {pool.name}: limited waiting" for pool in network.pools if pool.waiting is not None
    ]
    if not found:
        found += _orders(network)
    return found


def _orders(network: Network) -> list[str]:
    """JMT chooses among all links of a node, in their order, whatever the class."""
    plan = _Plan.of(network)
    return [
        f"routing of {node}: class {name} chooses among {', '.join(route.to)}, JMT among all of "
        f"{', '.join(plan.links[node])}"
        for node, routes in plan.routes.items()
        for name, route in routes.items()
        if isinstance(route, Chosen) and [*route.to] != plan.links[node]
    ]


def jsimg_text(network: Network) -> str:
    """Return a network as ``.jsimg``, with JMT's usual measures.

    Raises
    ------
    InputError
        JMT can't say all of it; what it can't is named.
    """
    problems = unmapped(network)
    if problems:
        raise InputError(
            f"JMT can't say: {'; '.join(problems)}", "change the network, or use pacelc's solvers"
        )
    plan = _Plan.of(network)
    name = _text(f"{network.name or 'network'}.jsimg")
    schema = "xsi:noNamespaceSchemaLocation"
    lines = [
        '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
        (
            f'<archive xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="{name}" '
            f'{schema}="Archive.xsd">'
        ),
        (
            '<sim disableStatisticStop="false" logDecimalSeparator="." logDelimiter="," logPath="" '
            f'logReplaceMode="0" maxSamples="1000000" name="{name}" polling="1.0" '
            f'{schema}="SIMmodeldefinition.xsd">'
        ),
        *plan.user_classes(),
        *plan.nodes(),
        *plan.measures(),
        *(
            f'<connection source="{_text(node)}" target="{_text(to)}"/>'
            for node, links in plan.links.items()
            for to in links
        ),
        *(line for pool in network.pools for line in _region(pool, plan.classes)),
        "</sim>",
        *plan.picture(schema),
        "</archive>",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Plan:
    """What goes where in the file."""

    network: Network
    classes: list[str]
    routes: dict[str, dict[str, Route]]
    """Node → class → route, forks left out."""
    links: dict[str, list[str]]
    """Node → the nodes after it, by JMT's names."""
    switches: list[tuple[str, str]]
    """Node and class of each ClassSwitch."""

    @classmethod
    def of(cls, network: Network) -> _Plan:
        classes = [one.name for one in network.classes]
        routes = {
            node: {name: route_in(route, name) for name, route in by_class(own, classes).items()}
            for node, own in network.routing.items()
        }
        links: dict[str, dict[str, None]] = {}
        for node, own in routes.items():
            rules = [route.to for route in own.values() if isinstance(route, Chosen)]
            chances = [
                [route] if isinstance(route, str) else list(route)
                for route in own.values()
                if not isinstance(route, Chosen)
            ]
            links[node] = dict.fromkeys(place for places in (*rules, *chances) for place in places)
        links |= {fork.name: dict.fromkeys(fork.branches) for fork in network.forks}
        places = dict.fromkeys(place for own in links.values() for place in own if "/" in place)
        switches = [(node, str(name)) for node, name in map(place_of, places)]
        links |= {f"{node}/{name}": {node: None} for node, name in switches}
        return cls(network, classes, routes, {k: list(v) for k, v in links.items()}, switches)

    def user_classes(self) -> Iterable[str]:
        open_ = self._open_classes()
        first = self.network.stations[0].name
        for one in self.network.classes:
            kind = (
                f'referenceSource="{SOURCE}" type="open"'
                if one.name in open_
                else f'customers="{one.users}" referenceSource="{_text(one.reference or first)}" '
                'type="closed"'
            )
            yield f'<userClass name="{_text(one.name)}" priority="{one.priority}" {kind}/>'

    def _open_classes(self) -> set[str]:
        """Classes with arrivals, and those that their customers may become."""
        joined = {one.name: {one.name} for one in self.network.classes}
        changes = [
            (name, str(changed))
            for own in self.routes.values()
            for name, route in own.items()
            for changed in _classes_after(route)
        ]
        for name, changed in changes:
            both = joined[name] | joined.get(changed, {changed})
            for member in both:
                joined[member] = both
        return {
            member
            for one in self.network.classes
            if one.interarrival is not None
            for member in joined[one.name]
        }

    def nodes(self) -> Iterable[str]:
        for station in self.network.stations:
            yield from self._node(
                station.name, _queue(self.classes, _put(station)), self._server(station)
            )
        for router in self.network.routers:
            yield from self._node(router, _queue(self.classes), _tunnel())
        for fork in self.network.forks:
            yield from self._fork(fork.name, fork.branches)
            yield from self._node(
                f"{fork.name}.join", _join(self.classes, fork.join, len(fork.branches)), _tunnel()
            )
        if self._open_classes():
            yield from self._node(SOURCE, self._source(), _tunnel())
            yield from (f'<node name="{SINK}">', '<section className="JobSink"/>', "</node>")
        for node, name in self.switches:
            place = f"{node}/{name}"
            yield f'<node name="{_text(place)}">'
            yield from _queue(self.classes)
            yield from _switch(self.classes, name)
            yield from _router(self.classes, dict.fromkeys(self.classes, node))
            yield "</node>"

    def _node(self, name: str, first: Iterable[str], second: Iterable[str]) -> Iterable[str]:
        yield f'<node name="{_text(name)}">'
        yield from first
        yield from second
        yield from _router(self.classes, self.routes.get(name, {}))
        yield "</node>"

    def _fork(self, name: str, branches: Sequence[str]) -> Iterable[str]:
        yield f'<node name="{_text(name)}">'
        yield from _queue(self.classes)
        yield from _tunnel()
        yield '<section className="Fork">'
        yield from _value("parameter", "java.lang.Integer", "jobsPerLink", 1)
        yield from _value("parameter", "java.lang.Integer", "block", -1)
        yield from _value("parameter", "java.lang.Boolean", "isSimplifiedFork", "true")
        yield from _array(f"{_STRATEGIES}.ForkStrategy", "ForkStrategy")
        out_path, entry = f"{_STRATEGIES}.ForkStrategies.OutPath", f"{_RANDOM}.EmpiricalEntry"
        for one in self.classes:
            yield f"<refClass>{_text(one)}</refClass>"
            yield _open(f"{_STRATEGIES}.ForkStrategies.ProbabilitiesFork", "Branch Probabilities")
            yield _open(out_path, "EmpiricalEntryArray", array=True)
            for branch in branches:
                yield _open(out_path, "OutPathEntry")
                yield from _entry("outUnitProbability", "stationName", branch, 1.0)
                yield _open(entry, "JobsPerLinkDis", array=True)
                yield from _entry("EmpiricalEntry", "numbers", "1", 1.0)
                yield from ["</subParameter>"] * 2
            yield from ["</subParameter>"] * 2
        yield "</parameter>"
        yield "</section>"
        yield "</node>"

    def _server(self, station: Station) -> Iterable[str]:
        shared = station.kind == "queue" and station.discipline == "ps"
        kind = "Delay" if station.kind == "delay" else "PSServer" if shared else "Server"
        yield f'<section className="{kind}">'
        if station.kind == "queue":
            yield from _value("parameter", "java.lang.Integer", "maxJobs", station.servers)
            yield from _array("java.lang.Integer", "numberOfVisits")
            for name in self.classes:
                yield f"<refClass>{_text(name)}</refClass>"
                yield from _value("subParameter", "java.lang.Integer", "numberOfVisits", 1)
            yield "</parameter>"
        yield from _services(self.classes, by_class(station.service, self.classes))
        if shared:
            yield from _array(f"{_STRATEGIES}.PSStrategy", "PSStrategy")
            for name in self.classes:
                yield f"<refClass>{_text(name)}</refClass>"
                yield _open(f"{_STRATEGIES}.PSStrategies.EPSStrategy", "EPSStrategy", empty=True)
            yield "</parameter>"
            yield from _array("java.lang.Double", "serviceWeights")
            for name in self.classes:
                yield f"<refClass>{_text(name)}</refClass>"
                yield from _value("subParameter", "java.lang.Double", "serviceWeight", 1.0)
            yield "</parameter>"
        yield "</section>"

    def _source(self) -> Iterable[str]:
        arrivals = {
            one.name: one.interarrival
            for one in self.network.classes
            if one.interarrival is not None
        }
        yield '<section className="RandomSource">'
        yield from _services(self.classes, arrivals)
        yield "</section>"

    def measures(self) -> Iterable[str]:
        def measure(kind: str, node: str = "", of: str = "") -> str:
            name = "_".join(part for part in (node, of, kind) if part)
            node_type = "station" if node else ""
            return (
                f'<measure alpha="0.05" name="{_text(name)}" nodeType="{node_type}" '
                f'precision="0.03" referenceNode="{_text(node)}" referenceUserClass="{_text(of)}" '
                f'type="{kind}" verbose="false"/>'
            )

        for kind in ("System Throughput", "System Response Time"):
            yield measure(kind)
            for name in self.classes:
                yield measure(kind, of=name)
        for station in self.network.stations:
            for kind in ("Utilization", "Number of Customers"):
                yield measure(kind, station.name)

    def picture(self, schema: str) -> Iterable[str]:
        """Yield where JMT draws each node: in rows, in the order of the file."""
        yield f'<jmodel {schema}="JModelGUI.xsd">'
        for i, name in enumerate(self.classes):
            yield f'<userClass color="{_COLOURS[i % len(_COLOURS)]}" name="{_text(name)}"/>'
        names = [one.name for one in self.network.stations] + list(self.network.routers)
        names += [name for fork in self.network.forks for name in (fork.name, f"{fork.name}.join")]
        names += [SOURCE, SINK] if self._open_classes() else []
        names += [f"{node}/{name}" for node, name in self.switches]
        for i, name in enumerate(names):
            x, y = _APART * (1 + i % _COLUMNS), _APART * (1 + i // _COLUMNS)
            yield f'<station name="{_text(name)}">'
            yield f'<position rotate="false" x="{x}.0" y="{y}.0"/>'
            yield "</station>"
        yield "</jmodel>"


def _classes_after(route: Route) -> list[str]:
    places = [route] if isinstance(route, str) else route.to if isinstance(route, Chosen) else route
    return [name for _, name in map(place_of, places) if name is not None]


def _text(value: object) -> str:
    return html.escape(str(value))


def _open(class_path: str, name: str, *, array: bool = False, empty: bool = False) -> str:
    many = 'array="true" ' if array else ""
    end = "/>" if empty else ">"
    return f'<subParameter {many}classPath="{class_path}" name="{_text(name)}"{end}'


def _array(class_path: str, name: str) -> Iterable[str]:
    yield f'<parameter array="true" classPath="{class_path}" name="{name}">'


def _value(tag: str, class_path: str, name: str, value: object) -> Iterable[str]:
    yield f'<{tag} classPath="{class_path}" name="{name}">'
    yield f"<value>{_text(value)}</value>"
    yield f"</{tag}>"


def _entry(name: str, key: str, value: str, probability: float) -> Iterable[str]:
    yield _open(f"{_RANDOM}.EmpiricalEntry", name)
    yield from _value("subParameter", "java.lang.String", key, value)
    yield from _value("subParameter", "java.lang.Double", "probability", repr(probability))
    yield "</subParameter>"


def _put(station: Station) -> str:
    discipline = station.discipline if station.kind == "queue" else "fcfs"
    return {"priority": "TailStrategyPriority", "siro": "RandStrategy"}.get(
        discipline, "TailStrategy"
    )


def _queue(classes: Sequence[str], put: str = "TailStrategy") -> Iterable[str]:
    yield '<section className="Queue">'
    yield from _value("parameter", "java.lang.Integer", "size", -1)
    yield from _array("java.lang.String", "dropStrategies")
    for name in classes:
        yield f"<refClass>{_text(name)}</refClass>"
        yield from _value("subParameter", "java.lang.String", "dropStrategy", "drop")
    yield "</parameter>"
    get = f"{_STRATEGIES}.QueueGetStrategies.FCFSstrategy"
    yield f'<parameter classPath="{get}" name="FCFSstrategy"/>'
    yield from _array(f"{_STRATEGIES}.QueuePutStrategy", "QueuePutStrategy")
    for name in classes:
        yield f"<refClass>{_text(name)}</refClass>"
        yield _open(f"{_STRATEGIES}.QueuePutStrategies.{put}", put, empty=True)
    yield "</parameter>"
    yield "</section>"


def _tunnel() -> Iterable[str]:
    yield '<section className="ServiceTunnel"/>'


def _join(classes: Sequence[str], wait_for: int | None, branches: int) -> Iterable[str]:
    quorum = wait_for is not None and wait_for < branches
    kind, name = ("PartialJoin", "Quorum") if quorum else ("NormalJoin", "Standard Join")
    yield '<section className="Join">'
    yield from _array(f"{_STRATEGIES}.JoinStrategy", "JoinStrategy")
    for one in classes:
        yield f"<refClass>{_text(one)}</refClass>"
        yield _open(f"{_STRATEGIES}.JoinStrategies.{kind}", name)
        required = wait_for if quorum else -1
        yield from _value("subParameter", "java.lang.Integer", "numRequired", required)
        yield "</subParameter>"
    yield "</parameter>"
    yield "</section>"


def _switch(classes: Sequence[str], to: str) -> Iterable[str]:
    yield '<section className="ClassSwitch">'
    yield from _array("java.lang.Object", "matrix")
    for name in classes:
        yield f"<refClass>{_text(name)}</refClass>"
        yield _open("java.lang.Float", "row", array=True)
        for other in classes:
            yield f"<refClass>{_text(other)}</refClass>"
            share = 1.0 if other == to else 0.0
            yield from _value("subParameter", "java.lang.Float", "cell", share)
        yield "</subParameter>"
    yield "</parameter>"
    yield "</section>"


def _router(classes: Sequence[str], routes: Mapping[str, Route]) -> Iterable[str]:
    yield '<section className="Router">'
    yield from _array(f"{_STRATEGIES}.RoutingStrategy", "RoutingStrategy")
    for name in classes:
        yield f"<refClass>{_text(name)}</refClass>"
        yield from _strategy(routes.get(name))
    yield "</parameter>"
    yield "</section>"


def _strategy(route: Route | None) -> Iterable[str]:
    path = f"{_STRATEGIES}.RoutingStrategies"
    if route is None:
        yield _open(f"{path}.DisabledRoutingStrategy", "Disabled", empty=True)
        return
    if isinstance(route, Chosen):
        kind, name = _ROUTING[route.choose]
        yield _open(f"{path}.{kind}", name, empty=True)
        return
    places = {route: 1.0} if isinstance(route, str) else route
    yield _open(f"{path}.EmpiricalStrategy", "Probabilities")
    yield _open(f"{_RANDOM}.EmpiricalEntry", "EmpiricalEntryArray", array=True)
    for place, share in places.items():
        yield from _entry("EmpiricalEntry", "stationName", place, share)
    yield from ["</subParameter>"] * 2


def _services(classes: Sequence[str], services: Mapping[str, Distribution]) -> Iterable[str]:
    path = f"{_STRATEGIES}.ServiceStrategies"
    yield from _array(f"{_STRATEGIES}.ServiceStrategy", "ServiceStrategy")
    for name in classes:
        yield f"<refClass>{_text(name)}</refClass>"
        service = services.get(name)
        if service is None:
            yield _open(
                f"{path}.DisabledServiceTimeStrategy", "DisabledServiceTimeStrategy", empty=True
            )
        elif service.mean_s == 0:
            yield _open(f"{path}.ZeroServiceTimeStrategy", "ZeroServiceTimeStrategy", empty=True)
        else:
            kind, parameters, label, values = _distribution(service)
            yield _open(f"{path}.ServiceTimeStrategy", "ServiceTimeStrategy")
            yield _open(f"{_RANDOM}.{kind}", label, empty=True)
            yield _open(f"{_RANDOM}.{parameters}", "distrPar")
            for key, value in values.items():
                of = "java.lang.Long" if isinstance(value, int) else "java.lang.Double"
                yield from _value("subParameter", of, key, repr(value))
            yield from ["</subParameter>"] * 2
    yield "</parameter>"


def _distribution(service: Distribution) -> tuple[str, str, str, dict[str, float | int]]:
    """Return JMT's class, the class of its parameters, its name, and the parameters."""
    mean = service.mean_s
    if isinstance(service, Exponential):
        return "Exponential", "ExponentialPar", "Exponential", {"lambda": 1 / mean}
    if isinstance(service, Deterministic):
        return "DeterministicDistr", "DeterministicDistrPar", "Deterministic", {"t": mean}
    if isinstance(service, Erlang):
        values: dict[str, float | int] = {"alpha": service.shape / mean, "r": service.shape}
        return "Erlang", "ErlangPar", "Erlang", values
    if isinstance(service, Hyperexponential):
        p = (1 + math.sqrt((service.scv - 1) / (service.scv + 1))) / 2
        values = {"p": p, "lambda1": 2 * p / mean, "lambda2": 2 * (1 - p) / mean}
        return "HyperExp", "HyperExpPar", "Hyperexponential", values
    if isinstance(service, Empirical):
        raise InputError("JMT has no histograms")
    sigma = math.sqrt(math.log1p(service.scv))
    values = {"mu": math.log(mean) - sigma**2 / 2, "sigma": sigma}
    return "Lognormal", "LognormalPar", "Lognormal", values


def _region(pool: Pool, classes: Sequence[str]) -> Iterable[str]:
    yield f'<blockingRegion name="{_text(pool.name)}" type="default">'
    for station in pool.stations:
        yield f'<regionNode nodeName="{_text(station)}"/>'
    yield f'<globalConstraint maxJobs="{pool.places}"/>'
    yield '<globalMemoryConstraint maxMemory="-1"/>'
    for name in classes:
        yield f'<dropRules dropThisClass="false" jobClass="{_text(name)}"/>'
    yield "</blockingRegion>"
