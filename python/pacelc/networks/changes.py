"""A network while it changes: stations go down and come back up, users come and go.

Customers at a station that is down wait there until it is up again, and others still come to it: a
network sends nobody elsewhere, unless by the route ``shortest_queue`` or by a fork that doesn't
wait for all. Users have no time limit of their own.

Start here: :func:`simulate_changes`; changes are :class:`Servers` (:func:`down`, :func:`up`) and
:class:`Users`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.networks.result import Result
from pacelc.networks.simulate import Means, with_ends
from pacelc.networks.solve import asked
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.networks.network import Network

__all__ = [
    "INTERVALS",
    "REPLICATIONS",
    "Change",
    "Changed",
    "Interval",
    "Servers",
    "Users",
    "down",
    "simulate_changes",
    "up",
    "words",
]

INTERVALS = 20
"""Into how many a time is divided, unless said otherwise."""
REPLICATIONS = 20
"""Independent runs, unless said otherwise."""
_WARM_UP = 0.1
"""Of the time that is shown, unless said otherwise."""


@dataclass(frozen=True)
class Servers:
    """A queue has so many servers from then on; without any it is down.

    Attributes
    ----------
    at_s
        When.
    station
        Which.
    servers
        How many. A station with rates has all or none.
    """

    at_s: float
    station: str
    servers: int


@dataclass(frozen=True)
class Users:
    """A closed class has so many users from then on.

    New ones begin at the reference; who is too many leaves when it would next set out from there.

    Attributes
    ----------
    at_s
        When.
    of
        The class; one whose customers begin at a reference.
    users
        How many.
    """

    at_s: float
    of: str
    users: int


Change: TypeAlias = Servers | Users


class Interval(Result):
    """An interval of time."""

    from_s: float
    to_s: float
    solution: Means
    """A chain's response is that of cycles that end in the interval. A class' follows from Little's
    law, which holds only while nothing changes. Utilisations are shares of the servers that the
    network says."""
    half_widths: Means


class Changed(Result):
    """What was seen, interval by interval."""

    intervals: tuple[Interval, ...]
    replications: int
    confidence: float
    events: int
    """Visits to stations completed in all replications, warm-up included."""

    def frame(self) -> pl.DataFrame:
        """Return one row an interval and chain of classes.

        ``from_s, to_s, chain, throughput_per_s, response_s``, and ``…_low, …_high`` of both; no
        response where no cycle ended.
        """
        rows: list[dict[str, object]] = []
        for one in self.intervals:
            for mean, width in zip(one.solution.chains, one.half_widths.chains, strict=True):
                told = with_ends(mean, width, ("throughput_per_s", "response_s"))
                if not mean.throughput_per_s:
                    told |= dict.fromkeys(("response_s", "response_s_low", "response_s_high"))
                chain = ", ".join(mean.classes)
                rows.append({"from_s": one.from_s, "to_s": one.to_s, "chain": chain, **told})
        return pl.DataFrame(rows, infer_schema_length=None)

    def station_frame(self) -> pl.DataFrame:
        """Return one row an interval and station: ``from_s, to_s, name, utilisation, queue`` …."""
        return pl.DataFrame(
            [
                {
                    "from_s": one.from_s,
                    "to_s": one.to_s,
                    "name": mean.name,
                    **with_ends(mean, width, ("utilisation", "queue")),
                }
                for one in self.intervals
                for mean, width in zip(one.solution.stations, one.half_widths.stations, strict=True)
            ],
            infer_schema_length=None,
        )


def down(network: Network, station: str, at_s: float) -> Servers:
    """Return the change after which a station has no server.

    Raises
    ------
    InputError
        There is no such station, or it is a delay.
    """
    _queue(network, station)
    return Servers(at_s=at_s, station=station, servers=0)


def up(network: Network, station: str, at_s: float) -> Servers:
    """Return the change after which a station has all of its servers.

    Raises
    ------
    InputError
        There is no such station, or it is a delay.

    Examples
    --------
    >>> from pacelc.networks import builtin
    >>> up(builtin("gandini-cassandra-1"), "cpu", 90.0).servers
    2
    """
    return Servers(at_s=at_s, station=station, servers=_queue(network, station))


def words(change: Change, network: Network) -> str:
    """Say what changes.

    Examples
    --------
    >>> from pacelc.networks import builtin
    >>> network = builtin("gandini-cassandra-1")
    >>> words(down(network, "cpu", 60.0), network)
    'cpu down'
    >>> words(Servers(at_s=60.0, station="cpu", servers=1), network)
    'cpu: 1 server'
    """
    if isinstance(change, Users):
        return f"{change.of}: {counted(change.users, 'user')}"
    if change.servers == 0:
        return f"{change.station} down"
    if change.servers == network.station(change.station).servers:
        return f"{change.station} up"
    return f"{change.station}: {counted(change.servers, 'server')}"


def simulate_changes(
    network: Network,
    changes: Sequence[Change],
    *,
    until_s: float,
    intervals: int = INTERVALS,
    warm_up_s: float | None = None,
    replications: int = REPLICATIONS,
    seed: int = 1,
) -> Changed:
    """Simulate a network while it changes.

    Parameters
    ----------
    network
        Which.
    changes
        From time 0, in any order.
    until_s
        How long, from time 0.
    intervals
        Into how many that is divided.
    warm_up_s
        How long it runs before time 0; a tenth of ``until_s``, unless given. It begins with
        everybody at the reference.
    replications
        Independent runs, at least 2.
    seed
        The same seed gives the same result.

    Raises
    ------
    InputError
        The network, a change or an option can't be.
    """
    for change in changes:
        if isinstance(change, Servers):
            _queue(network, change.station)
        elif change.of not in (names := [one.name for one in network.classes]):
            raise InputError(f"there is no class {change.of!r}", nearest(change.of, names))
        if change.at_s >= until_s:
            raise InputError(
                f"{words(change, network)} at {change.at_s:g} s: simulated until {until_s:g} s",
                "simulate for longer",
            )
    options = {
        "seed": seed,
        "replications": replications,
        "warm_up": _WARM_UP * until_s if warm_up_s is None else warm_up_s,
        "until": until_s,
        "intervals": intervals,
        "changes": [_told(change) for change in changes],
    }
    return Changed.model_validate_json(
        asked(_engine.simulate_changes, network.to_json(), json.dumps(options))
    )


def _told(change: Change) -> dict[str, object]:
    if isinstance(change, Users):
        return {"at": change.at_s, "class": change.of, "users": change.users}
    return {"at": change.at_s, "station": change.station, "servers": change.servers}


def _queue(network: Network, name: str) -> int:
    """Return how many servers a station has."""
    queues = {one.name: one.servers for one in network.stations if one.kind == "queue"}
    if name in queues:
        return queues[name]
    if any(one.name == name for one in network.stations):
        raise InputError(
            f"{name} is a delay, and has no servers", f"stations with servers: {', '.join(queues)}"
        )
    raise InputError(f"there is no station {name!r}", nearest(name, queues))
