"""A cluster that lost a node or a region, as an open network: what of it is simulated.

Nodes that are gone are taken out of the network of the whole cluster
(:func:`pacelc.networks.regional.arrivals`). ``read`` and ``write`` are then the operations on
records that lost a copy; those on all other records have classes of their own, so that percentiles
aren't diluted. As in :mod:`~pacelc.planning.cases`, lost copies aren't rebuilt, lost nodes aren't
asked, and clients of a lost first region are in the nearest that is left.

Start here: :class:`Lost`, :func:`degraded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pacelc.networks.distributions import Exponential
from pacelc.networks.network import SINK, Chosen, place_of
from pacelc.networks.quorum import evenly
from pacelc.networks.regional import (
    nodes_of_copies,
    only_reached,
    placed,
    recounted,
    seen_from,
    to_nearest,
    way_to,
    with_all_copies,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.networks.network import Class, Fork, Network, Route, Station
    from pacelc.networks.quorum import Quorum
    from pacelc.networks.regional import Copy

__all__ = ["Lost", "degraded"]

_UNTOUCHED: Final = "-elsewhere"
"""Ends the names of classes and forks of records that lost nothing."""


class Lost(NamedTuple):
    """What is gone."""

    region: str
    """Where; empty where there are no regions."""
    node: bool
    """One node of it, or all."""

    @property
    def label(self) -> str:
        """In words."""
        here = f" in {self.region}" if self.region else ""
        return f"a node{here}" if self.node else self.region


class _Place(NamedTuple):
    """A copy of some records that is left: the station of the way there, and the nodes."""

    station: str
    copy: Copy
    links: tuple[str, ...]


class _Records(NamedTuple):
    """Records that have the same copies left."""

    share: float
    end: str
    """Of the names of their classes."""
    copies: int
    places: tuple[_Place, ...]
    """In regions: nearest first."""


def degraded(
    settings: Quorum, rate_per_s: float, regions: Sequence[str], lost: Lost, records: float
) -> Network:
    """Return the network of what is left, where every level can be served.

    Parameters
    ----------
    settings, rate_per_s, regions
        Of the whole cluster, as for :func:`~pacelc.networks.regional.arrivals`.
    lost
        What is gone.
    records
        Share of the records that lost a copy.
    """
    whole = with_all_copies(settings, rate_per_s)
    if regions or settings.led:
        dead, home, kinds = _placed(settings, regions, lost, records)
    else:
        # Any node is as good as any other.
        dead, home = {settings.nodes}, range(1, settings.nodes)
        kinds = [_Records(records, "", settings.replication - 1, ())]
        kinds.append(_Records(1 - records, _UNTOUCHED, settings.replication, ()))
    kinds = [kind for kind in kinds if kind.share > 0]
    gone = {f"{what}{i}" for what in ("link", "log", "cpu", "disk") for i in dead}
    routers: dict[str, Route] = {}
    forks = [_fork(fork, kind, gone, settings, routers) for kind in kinds for fork in whole.forks]
    used = {f"{name}{kind.end}" for name in ("read", "write") for kind in kinds}
    used |= {name for fork in forks for name in fork.siblings}
    stations = [_served(one, kinds, used) for one in whole.stations if one.name not in gone]
    ways = {place.station: place for kind in kinds for place in kind.places}
    stations += [way_to(name, place.copy.distance_s) for name, place in ways.items()]
    names = {fork.name for fork in whole.forks}
    routing = {
        node: {
            f"{name}{kind.end}" if name != "*" else name: _renamed(route, names, kind.end)
            for kind in kinds
            for name, route in routes.items()
            if name == "*" or f"{name}{kind.end}" in used
        }
        for node, routes in whole.routing.items()
        if node not in gone and node not in whole.routers and not node.endswith(".join")
    }
    routing["network"] = {"*": evenly([f"cpu{i}" for i in home])}
    routing |= {place.station: {"*": evenly(place.links)} for place in ways.values()}
    routing |= {name: {"*": route} for name, route in routers.items()}
    routing |= {f"{fork.name}.join": {"*": SINK} for fork in forks}
    return only_reached(
        whole.model_copy(
            update={
                "name": f"{whole.name}, without {lost.label}",
                "classes": tuple(
                    _of_class(one, kind)
                    for kind in kinds
                    for one in whole.classes
                    if f"{one.name}{kind.end}" in used
                ),
                "stations": tuple(stations),
                "routers": tuple(routers),
                "forks": tuple(forks),
                "routing": routing,
            }
        )
    )


def _placed(
    settings: Quorum, regions: Sequence[str], lost: Lost, records: float
) -> tuple[set[int], list[int], list[_Records]]:
    """Return the nodes that are gone, those that coordinate, and who has which copies."""
    copies = placed(settings.replication, regions)
    holders = nodes_of_copies(settings, copies, regions)

    def there(region: str) -> list[int]:
        held = (holders[j] for j, one in enumerate(copies) if one.region == region)
        return sorted({i for those in held for i in those})

    first = copies[0]
    alone = len(there(first.region)) == 1
    if settings.led:
        alone = first.of == 1 < settings.replication
    if not lost.node or (lost.region == first.region and alone):
        dead = set(there(lost.region))
        left = [j for j, one in enumerate(copies) if one.region != lost.region]
        moved = seen_from(copies[left[0]].region, [copies[j] for j in left])
        order = sorted(range(len(left)), key=lambda i: (moved[i].distance_s, moved[i].region))
        places = [_place(left[i], moved[i], holders[left[i]], dead) for i in order]
        home = holders[left[order[0]]] if settings.led else there(moved[order[0]].region)
        return dead, home, [_Records(1.0, "", len(places), tuple(places))]
    # Of copies that are alike the last: another one leads where the leader is gone.
    last = max(j for j, one in enumerate(copies) if one.region == lost.region)
    dead = {holders[last][-1]}
    home = [i for i in (holders[0] if settings.led else there(first.region)) if i not in dead]
    everywhere = [_place(j, one, holders[j], dead) for j, one in enumerate(copies)]
    left = [j for j in range(len(copies)) if j != last]
    fewer = recounted([copies[j] for j in left])
    places = [_place(j, one, holders[j], dead) for j, one in zip(left, fewer, strict=True)]
    return (
        dead,
        home,
        [
            _Records(records, "", len(places), tuple(places)),
            _Records(1 - records, _UNTOUCHED, len(copies), tuple(everywhere)),
        ],
    )


def _place(number: int, copy: Copy, holders: Sequence[int], dead: set[int]) -> _Place:
    links = tuple(f"link{i}" for i in holders if i not in dead)
    return _Place(f"copy{number + 1}", copy, links)


def _fork(
    fork: Fork, kind: _Records, gone: set[str], settings: Quorum, routers: dict[str, Route]
) -> Fork:
    """Return a fork for some records; what chooses among the nearest copies is added to routers."""
    if not kind.places:
        copies = min(fork.copies or kind.copies, kind.copies)
        changed = {
            "name": f"{fork.name}{kind.end}",
            "branches": tuple(one for one in fork.branches if one not in gone),
            "copies": copies,
            "classes": tuple(f"{one}{kind.end}" for one in (fork.classes or ())[:copies]),
        }
        return fork.model_copy(update=changed)
    ways, copies = zip(*((place.station, place.copy) for place in kind.places), strict=True)
    return to_nearest(fork, ways, copies, routers, led=settings.led, end=kind.end)


def _of_class(one: Class, kind: _Records) -> Class:
    changed: dict[str, object] = {"name": f"{one.name}{kind.end}"}
    if isinstance(one.interarrival, Exponential):
        changed["interarrival"] = Exponential(mean_s=one.interarrival.mean_s / kind.share)
    return one.model_copy(update=changed)


def _served(station: Station, kinds: Sequence[_Records], used: set[str]) -> Station:
    service = {
        name if name == "*" else f"{name}{kind.end}": one
        for kind in kinds
        for name, one in station.service.items()
    }
    cached = {
        f"{name}{kind.end}": share
        for kind in kinds
        # Whose nearest copy is in another region has no coordinator that holds it.
        if not kind.places or kind.places[0].copy.distance_s == 0
        for name, share in station.cached.items()
    }
    known = {
        "service": {name: one for name, one in service.items() if name == "*" or name in used},
        "cached": {name: share for name, share in cached.items() if name in used},
    }
    return station.model_copy(update=known)


def _renamed(route: Route, forks: set[str], end: str) -> Route:
    def named(place: str) -> str:
        node, name = place_of(place)
        fork = node.removesuffix(".join")
        if fork in forks:
            node = f"{fork}{end}{node[len(fork) :]}"
        return node if name is None else f"{node}/{name}{end}"

    if isinstance(route, Chosen):
        return route
    if isinstance(route, str):
        return named(route)
    return {named(place): share for place, share in route.items()}
