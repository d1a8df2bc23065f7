"""Clusters whose nodes share a machine with each other and the load generator; a quick solution.

Map
---
on_one_host     a quorum network → the same with one processor for all nodes
quick           throughput and mean responses of a closed quorum model, in microseconds

:func:`quick` is what calibration searches with, within 12 % of a simulation's throughput; what is
reported is simulated. Customers go round a delay and processors (processor sharing); what nobody
waits for takes its share of the processors beforehand, so that saturation is exact. Waiting for k
of n copies takes as long as for the k-th of independent exponential times, those of the
coordinator's own copy and of the others.

The product form's normalising constant is summed over logarithms, which is stable for any number
of users (Buzen: Computational algorithms for closed queueing networks, CACM 16(9), 1973).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize, special

from pacelc.models.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pacelc.models.network import Route
    from pacelc.models.quorum import Quorum

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Quick", "on_one_host", "quick"]

_LEAST: Final = 1e-12
"""Seconds: a time of 0 has no logarithm, and is no part of anything."""


def on_one_host(network: Network) -> Network:
    """Return the network of a cluster with the processor of its first node for all of them."""
    names = {one.name for one in network.stations if one.name.startswith("cpu")}

    def place(route: Route) -> Route:
        if isinstance(route, str):
            return "cpu" if route in names else route
        if not isinstance(route, dict):
            return route
        shares: dict[str, float] = {}
        for name, share in route.items():
            to = "cpu" if name in names else name
            shares[to] = shares.get(to, 0.0) + share
        return next(iter(shares)) if len(shares) == 1 else shares

    first = network.station("cpu1")
    return Network(
        name=f"{network.name}, on one host",
        classes=network.classes,
        stations=(
            *(one for one in network.stations if one.name not in names),
            first.model_copy(update={"name": "cpu"}),
        ),
        forks=network.forks,
        routing={
            "cpu" if node == "cpu1" else node: {key: place(route) for key, route in routes.items()}
            for node, routes in network.routing.items()
            if node == "cpu1" or node not in names
        },
    )


class Quick(NamedTuple):
    """Throughput, and mean responses by ``read`` and ``write``."""

    throughput_per_s: float
    response_s: dict[str, float]


class _Way(NamedTuple):
    """Of a kind of operation: its share; delay, processor time and visits waited for; others'."""

    share: float
    delay_s: float
    cpu_s: float
    visits: float
    behind_s: float


def quick(s: Quorum, *, shared: bool) -> Quick:
    """Solve a closed cluster without disks."""
    ways = _ways(s)
    delay_s = max(sum(one.share * one.delay_s for one in ways.values()), _LEAST)
    cpu_s = max(sum(one.share * one.cpu_s for one in ways.values()), _LEAST)
    behind_s = sum(one.share * one.behind_s for one in ways.values())
    stations = 1 if shared else s.nodes
    capacity = s.cores * stations

    def of(rate: float) -> float:
        free = 1 - rate * behind_s / capacity
        return _throughput(s.users, delay_s, cpu_s / free, s.cores, stations)

    most = _throughput(s.users, delay_s, cpu_s, s.cores, stations)
    rate = most
    if behind_s > 0:
        most = min(most, capacity / (cpu_s + behind_s))
        rate = float(optimize.brentq(lambda x: of(x) - x, 0.0, most * (1 + 1e-9), rtol=1e-6))
    waited_s = max(s.users / rate - delay_s - cpu_s, 0.0)
    visits = sum(one.share * one.visits for one in ways.values())

    def waits_s(one: _Way) -> float:
        """Who shares a processor waits in proportion to what he needs, who queues by turns."""
        return waited_s * (one.cpu_s / cpu_s if s.discipline == "ps" else one.visits / visits)

    return Quick(rate, {kind: one.delay_s + one.cpu_s + waits_s(one) for kind, one in ways.items()})


def _ways(s: Quorum) -> dict[str, _Way]:
    kinds = {
        "read": (s.read_share, s.asked, s.asked, ("record", "digest"), 0.0),
        "write": (1 - s.read_share, s.replication, s.waited, ("own", "written"), s.write_wait_s),
    }
    copy_cpu_s = s.copy_cpu_s
    afar_s = s.node_round_trip_s * (1 - s.own_share), s.node_round_trip_s
    found: dict[str, _Way] = {}
    for kind, (share, to, wait_for, names, log_s) in kinds.items():
        if share > 0:
            delays_s = [link_s + log_s for link_s in afar_s]
            cpus_s = [copy_cpu_s[name] for name in names]
            parts = _parts(delays_s[0] + cpus_s[0], delays_s[1] + cpus_s[1], to, wait_for)
            waited_s = sum(part * cpu_s for part, cpu_s in zip(parts, cpus_s, strict=True))
            found[kind] = _Way(
                share,
                delay_s=s.client_round_trip_s
                + sum(part * delay_s for part, delay_s in zip(parts, delays_s, strict=True)),
                cpu_s=s.coordinator_cpu_s + waited_s,
                visits=1 + sum(parts),
                behind_s=max(cpus_s[0] + (to - 1) * cpus_s[1] - waited_s, 0.0),
            )
    return found


def _parts(own_s: float, other_s: float, copies: int, waited: int) -> tuple[float, float]:
    """Return how the wait for some of the copies grows with the own's time, and the others'.

    Both times, each by its part, are the mean of the k-th of independent exponential times, one of
    which differs: k - 1 of the others are back, and then, if the own isn't, it or another.
    """
    others, before = copies - 1, waited - 1
    ratio = max(other_s, _LEAST) / max(own_s, _LEAST)
    steps = [ratio + others - before + i for i in range(waited)]
    last = math.perm(others, before) / math.prod(steps)
    by_own = ratio * last * sum(1 / step for step in steps)
    until = sum(1 / i for i in range(others - before + 1, others + 1))
    return ratio * by_own, until + last - by_own


def _throughput(users: int, delay_s: float, demand_s: float, servers: int, stations: int) -> float:
    """Return that of a delay and some equal processors among which ``demand_s`` is spread."""
    n = np.arange(users + 1.0)
    waiting = n * np.log(delay_s) - special.gammaln(n + 1)
    busy = np.concatenate([[0.0], np.cumsum(np.log(np.minimum(n[1:], servers)))])
    queue = n * np.log(demand_s / stations) - busy
    constants = waiting
    for _ in range(stations - 1):
        constants = _convolved(constants, queue)
    # Of the last station only the constants of all users, and of all but one, are needed.
    one_less, all_of_them = (
        np.logaddexp.reduce(constants[: users + k] + queue[: users + k][::-1]) for k in (0, 1)
    )
    return float(np.exp(one_less - all_of_them))


def _convolved(one: Floats, other: Floats) -> Floats:
    """Return the convolution of what the logarithms stand for."""
    size = one.size
    at = np.arange(size)
    sums = one[None, :] + np.where(
        at[:, None] >= at[None, :], other[(at[:, None] - at[None, :]) % size], -np.inf
    )
    found: Floats = special.logsumexp(sums, axis=1)
    return found
