"""A cluster under a rate of arrivals, in one place or in regions: quorum levels as an open network.

:func:`~pacelc.networks.quorum.quorum` has users that wait for their last answer. A plan has a rate
instead: operations arrive whether or not earlier ones were answered (Poisson), and a cluster that
can't keep up falls behind without end.

With regions, as in :mod:`pacelc.clusters.network.regions`: node i is in the i-th region, after the
last the first again, and so are copies. Clients and coordinators are in the first. What goes to
another region and back takes the round trip between them. A read asks the nearest copies, a write
all; both wait for as many as their level says, wherever they are. Within a region each copy has a
part of the region's nodes to itself, as racks have, if these can be divided so.

Start here: :func:`arrivals`, :func:`placed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pacelc.clusters.network.regions import REGIONS, region_of, round_trip_ms
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.networks.distributions import Deterministic, Exponential
from pacelc.networks.network import SINK, SOURCE, Chosen, Class, Fork, Network, Station, place_of
from pacelc.networks.quorum import dealt_out, evenly, quorum
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pacelc.networks.network import Route
    from pacelc.networks.quorum import Quorum

__all__ = [
    "Copy",
    "arrivals",
    "chances",
    "nodes_of_copies",
    "only_reached",
    "placed",
    "recounted",
    "seen_from",
    "to_nearest",
    "way_to",
    "with_all_copies",
]

_S_PER_MS = 1e-3
_NEXT_TO_NOTHING = 1e-9


class Copy(NamedTuple):
    """Where a copy of each record is."""

    region: str
    """Empty where there are no regions."""
    distance_s: float
    """Round trip from the clients' region."""
    of: int
    """Copies in its region."""


def placed(replication: int, regions: Sequence[str]) -> tuple[Copy, ...]:
    """Return the copies, nearest first.

    Raises
    ------
    InputError
        A region isn't known, is named twice, or is left without a copy.

    Examples
    --------
    >>> [(copy.region, copy.distance_s) for copy in placed(3, ["iowa", "oregon"])]
    [('iowa', 0.0), ('iowa', 0.0), ('oregon', 0.0396)]
    """
    if not regions:
        return (Copy("", 0.0, replication),) * replication
    for place in regions:
        if region_of(place) not in REGIONS:
            raise InputError(f"--regions: there is no region {place!r}", nearest(place, REGIONS))
    if len(set(regions)) < len(regions):
        raise InputError(
            f"--regions {','.join(regions)}: a region is named twice",
            "name each once: after the last, nodes are in the first again",
        )
    if len(regions) > replication:
        raise InputError(
            f"{counted(len(regions), 'region')} and {counted(replication, 'copy')}: "
            f"{regions[replication]} has none",
            "--replication, or fewer regions",
        )
    held = [regions[i % len(regions)] for i in range(replication)]
    copies: list[Copy] = []
    for place in held:
        distance_ms = round_trip_ms(regions[0], place) or 0.0
        copies.append(Copy(place, round(distance_ms * _S_PER_MS, 9), held.count(place)))
    return tuple(sorted(copies, key=lambda copy: (copy.distance_s, copy.region)))


def seen_from(home: str, copies: Sequence[Copy]) -> tuple[Copy, ...]:
    """Return copies with their distances from another region."""
    return tuple(
        one._replace(distance_s=round((round_trip_ms(home, one.region) or 0.0) * _S_PER_MS, 9))
        for one in copies
    )


def recounted(copies: Sequence[Copy]) -> tuple[Copy, ...]:
    """Return copies that know how many of them are left in their region."""
    places = [one.region for one in copies]
    return tuple(one._replace(of=places.count(one.region)) for one in copies)


def chances(copies: Sequence[Copy], asked: int) -> tuple[float, ...]:
    """Return the probability that each copy is among the nearest ``asked``.

    Of a region whose copies aren't all asked, it is by chance which are.

    Examples
    --------
    >>> chances(placed(3, ["iowa", "oregon"]), 1), chances(placed(3, []), 2)[0]
    ((0.5, 0.5, 0.0), 0.6666666666666666)
    """
    found: list[float] = []
    left, at = asked, 0
    while at < len(copies):
        here = copies[at].of
        share = min(1.0, max(0, left) / here)
        found += [share] * here
        left, at = left - here, at + here
    return tuple(found)


def arrivals(settings: Quorum, rate_per_s: float, regions: Sequence[str] = ()) -> Network:
    """Return the open network of a cluster at a rate; ``settings.users`` has no meaning.

    Raises
    ------
    InputError
        There are more copies than nodes, or as :func:`placed`.
    """
    network = with_all_copies(settings, rate_per_s)
    return only_reached(_in_regions(network, settings, regions) if regions else network)


def with_all_copies(settings: Quorum, rate_per_s: float) -> Network:
    """Return the cluster in one place, with stations that nobody gets to.

    Such as followers where all operations are reads.
    """
    closed = quorum(settings, idle=True)
    shares = {"read": settings.read_share, "write": 1 - settings.read_share}
    classes: list[Class] = [
        Class(name=name, interarrival=Exponential(mean_s=1 / (rate_per_s * share)))
        for name, share in shares.items()
        if share > 0
    ]
    classes += [one for one in closed.classes if one.name not in shares]
    entry = {one.name: "network" for one in classes if one.interarrival is not None}
    routing: dict[str, dict[str, Route]] = {
        node: routes
        for node, routes in closed.routing.items()
        if node != "client" and not node.endswith(".join")
    }
    routing |= {SOURCE: dict(entry), **{f"{fork.name}.join": {"*": SINK} for fork in closed.forks}}
    known = {one.name for one in classes}
    return closed.model_copy(
        update={
            "name": f"{closed.name}, {rate_per_s:,.6g}/s",
            "classes": tuple(classes),
            "stations": tuple(_only(one, known) for one in closed.stations if one.name != "client"),
            "routing": routing,
        }
    )


def _in_regions(network: Network, settings: Quorum, regions: Sequence[str]) -> Network:
    """Return a cluster's network with ways to each copy, in whose region it is."""
    copies = placed(settings.replication, regions)
    holders = nodes_of_copies(settings, copies, regions)
    home = holders[0] if settings.led else range(1, settings.nodes + 1, len(regions))
    ways = {f"copy{j}": one.distance_s for j, one in enumerate(copies, 1)}
    routers: dict[str, Route] = {}
    forks = [
        to_nearest(fork, tuple(ways), copies, routers, led=settings.led) for fork in network.forks
    ]
    to_nodes: dict[str, Route] = {"network": evenly([f"cpu{i}" for i in home])}
    to_nodes |= {
        way: evenly([f"link{i}" for i in nodes]) for way, nodes in zip(ways, holders, strict=True)
    }
    return network.model_copy(
        update={
            "name": f"{network.name}, {', '.join(regions)}",
            "stations": (*network.stations, *(way_to(name, s) for name, s in ways.items())),
            "routers": tuple(routers),
            "forks": tuple(forks),
            "routing": network.routing
            | {name: {"*": route} for name, route in (to_nodes | routers).items()},
        }
    )


def way_to(name: str, distance_s: float) -> Station:
    """Return the station that is the way to a copy, and back."""
    return Station(name=name, kind="delay", service={"*": Deterministic(value_s=distance_s)})


def only_reached(network: Network) -> Network:
    """Return an open network without the stations that nobody gets to."""
    forks = {fork.name: fork for fork in network.forks}
    reached: set[str] = set()
    ahead = [SOURCE]
    while ahead:
        node = ahead.pop()
        if node in reached:
            continue
        reached.add(node)
        fork = forks.get(node)
        if fork is not None:
            ahead += [f"{node}.join", *(place_of(branch)[0] for branch in fork.branches)]
        for route in network.routing.get(node, {}).values():
            ahead += [place_of(place)[0] for place in _places(route)]
    return network.model_copy(
        update={
            "stations": tuple(one for one in network.stations if one.name in reached),
            "routers": tuple(one for one in network.routers if one in reached),
            "routing": {node: to for node, to in network.routing.items() if node in reached},
        }
    )


def _places(route: Route) -> Iterable[str]:
    if isinstance(route, str):
        return (route,)
    return route.to if isinstance(route, Chosen) else route


def _only(station: Station, classes: set[str]) -> Station:
    """Return the station without services of classes that there aren't."""
    service = {name: one for name, one in station.service.items() if name in {"*", *classes}}
    return station.model_copy(update={"service": service})


def nodes_of_copies(
    settings: Quorum, copies: Sequence[Copy], regions: Sequence[str]
) -> list[list[int]]:
    """Return the nodes that hold each copy: a region's nodes are dealt out to its copies.

    Where that can't be done evenly, each copy is on any of them by chance. Where nodes are in sets,
    each set is placed as the copies are.
    """
    if settings.led:
        return dealt_out(settings.nodes, settings.replication)
    seen: dict[str, int] = {}
    found: list[list[int]] = []
    for copy in copies:
        first = list(regions).index(copy.region) + 1
        there = range(first, settings.nodes + 1, len(regions))
        part = seen.get(copy.region, 0)
        seen[copy.region] = part + 1
        found.append(list(there if len(there) % copy.of else there[part :: copy.of]))
    return found


def to_nearest(
    fork: Fork,
    ways: Sequence[str],
    copies: Sequence[Copy],
    routers: dict[str, Route],
    *,
    led: bool,
    end: str = "",
) -> Fork:
    """Return a fork that asks the nearest copies; what chooses among some is added to routers.

    Parameters
    ----------
    fork
        Of a cluster in one place; as many copies are asked as it has siblings.
    ways, copies
        Stations on the way to each copy, and where these are, nearest first.
    routers
        Name → route.
    led
        Whether the first copy leads, and is asked first.
    end
        Of the fork's and its siblings' names.
    """
    kinds = tuple(f"{kind}{end}" for kind in fork.siblings)[: len(copies)]
    changed: dict[str, object] = {"name": f"{fork.name}{end}", "copies": None, "classes": None}
    near = copies[0].of
    if not led and len(kinds) <= near:
        # Whoever coordinates may hold any of those, and asks that one first.
        changed |= {"branches": tuple(ways[:near]), "copies": len(kinds), "classes": kinds}
        return fork.model_copy(update=changed)
    slots = [{way: 1.0} for way in ways] if led else _slots(ways, copies, len(kinds))
    branches: list[str] = []
    for number, (shares, kind) in enumerate(zip(slots, kinds, strict=False), 1):
        place = next(iter(shares))
        if len(shares) > 1:
            place = f"nearest{number}{end}"
            routers[place] = shares
        branches.append(f"{place}/{kind}")
    return fork.model_copy(update={**changed, "branches": tuple(branches)})


def _slots(ways: Sequence[str], copies: Sequence[Copy], wanted: int) -> list[dict[str, float]]:
    """Return for each copy that is asked those among which it is, by chance, and how often each.

    Of a region of which a part is asked, each as often as the others. (Where they can't be divided
    so, as two of three, one may be asked twice; that takes nine copies in three regions.)

    Examples
    --------
    >>> _slots(["a", "b", "c"], placed(3, ["iowa", "oregon"]), 1)
    [{'a': 0.5, 'b': 0.5}]
    """
    slots: list[dict[str, float]] = []
    at = 0
    while len(slots) < wanted:
        here = ways[at : at + copies[at].of]
        some = min(wanted - len(slots), len(here))
        each = len(here) / some
        for i in range(some):
            parts = {
                way: (min((i + 1) * each, j + 1) - max(i * each, j)) / each
                for j, way in enumerate(here)
            }
            slots.append({way: share for way, share in parts.items() if share > _NEXT_TO_NOTHING})
        at += len(here)
    return slots
