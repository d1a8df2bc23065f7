"""A network in one form of the several that mean the same: what reading a written network gives.

Start here: :func:`normal`, :func:`by_class`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pacelc.networks.network import EVERY_CLASS, Chosen, Network, place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.networks.network import Class, Fork, Route, Station

__all__ = ["by_class", "compact", "normal", "route_in"]

_T = TypeVar("_T")


def by_class(written: Mapping[str, _T], classes: Sequence[str]) -> dict[str, _T]:
    """Return what is written by class, for each class that has something.

    Examples
    --------
    >>> by_class({"*": 1, "read": 2}, ["read", "write"])
    {'read': 2, 'write': 1}
    """
    found = {name: written.get(name, written.get(EVERY_CLASS)) for name in classes}
    return {name: value for name, value in found.items() if value is not None}


def compact(values: Mapping[str, _T], classes: Sequence[str]) -> dict[str, _T]:
    """Return values by class as ``*`` where all classes have the same."""
    own = list(values.values())
    if len(own) == len(classes) and all(value == own[0] for value in own[1:]):
        return {EVERY_CLASS: own[0]}
    return dict(values)


def route_in(route: Route, name: str) -> Route:
    """Return a route of class ``name``: no class where it stays, no place without probability."""
    if isinstance(route, str):
        return _place(route, name)
    if isinstance(route, Chosen):
        return Chosen(choose=route.choose, to=tuple(_place(place, name) for place in route.to))
    places = {_place(place, name): share for place, share in route.items() if share > 0}
    return next(iter(places)) if len(places) == 1 else places


def normal(network: Network) -> Network:
    """Return the same network with one way of saying each thing."""
    classes = [one.name for one in network.classes]
    return Network(
        name=network.name,
        classes=tuple(_class(one, network.stations[0].name) for one in network.classes),
        stations=tuple(_station(one, classes) for one in network.stations),
        routers=network.routers,
        forks=tuple(_fork(fork) for fork in network.forks),
        pools=network.pools,
        routing={
            node: compact(
                {name: route_in(route, name) for name, route in by_class(routes, classes).items()},
                classes,
            )
            for node, routes in sorted(network.routing.items())
        },
    )


def _place(text: str, name: str) -> str:
    node, changed = place_of(text)
    return node if changed in (None, name) else text


def _class(one: Class, first_station: str) -> Class:
    reference = (one.reference or first_station) if one.users else None
    return one.model_copy(update={"reference": reference})


def _station(one: Station, classes: Sequence[str]) -> Station:
    changed: dict[str, object] = {
        "service": compact(by_class(one.service, classes), classes),
        "cached": compact(by_class(one.cached, classes), classes),
    }
    if one.kind == "delay":
        changed |= {"servers": 1, "discipline": "fcfs"}
    return one.model_copy(update=changed)


def _fork(fork: Fork) -> Fork:
    copies = fork.copies or len(fork.branches)
    return fork.model_copy(
        update={
            "copies": None if copies == len(fork.branches) else copies,
            "join": None if fork.join == copies else fork.join,
        }
    )
