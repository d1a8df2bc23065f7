"""The models of Gandini et al. 2014 as networks: figures 6 and 7, demands of tables 2 to 4.

Users circulate between a client and the nodes. At each turn an operation is a read or a write with
equal probability (class switching); it crosses the network, a node's processor (as many servers as
cores) and, unless the server caches the write, its disk (one server, first come, first served).

=============  ==========================================================================
figure 6       one node
figure 7       four nodes behind a router: Cassandra and HBase choose a node by chance; so do
               MongoDB's reads, and its writes all go to the first node
with copies    a fork to all nodes and a join of all in the router's place, for both classes
=============  ==========================================================================

HBase's client keeps writes: only with probability P(flush) one leaves it, the others go straight
back to the client, and count as operations that took no time.

What the paper leaves open
--------------------------
- *Units:* CPU demands are read as milliseconds, the disk's "170 ms" and "200 ms" as microseconds:
  :mod:`pacelc.papers.gandini_2014.demands` says why.
- *The client's service time* isn't given, only its cores. ``client_service`` is 0 unless set, so
  that nothing is added to what the paper says.
- *The processors' discipline* isn't given. ``cpu`` is processor sharing unless set; with ``fcfs`` a
  short write waits for long reads, and class latencies draw together.

Start here: :class:`Gandini`, :func:`gandini`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveInt

from pacelc.names import counted
from pacelc.networks.distributions import Exponential
from pacelc.networks.network import Class, Fork, Network, Station
from pacelc.networks.times import Time  # noqa: TC001 - pydantic reads annotations
from pacelc.papers.gandini_2014 import demands
from pacelc.study.model import Frozen

if TYPE_CHECKING:
    from pacelc.networks.distributions import Distribution
    from pacelc.networks.network import Route
    from pacelc.papers.gandini_2014 import Demands

__all__ = ["Gandini", "gandini"]


class Gandini(Frozen):
    """What the paper leaves open, or varies."""

    users: PositiveInt = 20
    """Threads of the client."""
    client_service_s: Annotated[Time, Field(alias="client_service")] = 0.0
    """Time of a client's core for each operation."""
    client_cores: PositiveInt = 2
    """The paper's client has two; eight where it would be the bottleneck."""
    cpu: Literal["ps", "fcfs"] = "ps"
    """Discipline of the nodes' processors."""


def gandini(
    database: str, nodes: int = 1, replication_factor: int = 1, settings: Gandini | None = None
) -> Network:
    """Return the paper's model of a configuration.

    Raises
    ------
    ValueError
        The paper has no demands of it.

    Examples
    --------
    >>> gandini("hbase").routing["switch"]["*"]
    {'network/read': 0.5, 'network/write': 0.015, 'client/write': 0.485}
    """
    d, chosen = demands(database, nodes, replication_factor), settings or Gandini()
    cpu_s = _by_class(d.cpu_read_s, d.cpu_write_s)
    disk_s = _by_class(d.disk_read_s, d.disk_write_s)
    forked = replication_factor > 1
    after = "fork.join" if forked else "client"
    routing: dict[str, dict[str, Route]] = {
        "client": {"*": "switch"},
        "switch": {"*": _next_operation(d)},
        "network": _to_nodes(d, forked=forked),
    }
    stations = [
        Station(
            name="client",
            servers=chosen.client_cores,
            service={"*": Exponential(mean_s=chosen.client_service_s)},
        ),
        Station(
            name="network",
            kind="delay",
            service={"*": Exponential(mean_s=_printed(d.network_round_trip_s))},
        ),
    ]
    for cpu, disk in _names(nodes):
        stations += [
            Station(name=cpu, servers=d.cores, discipline=chosen.cpu, service=cpu_s),
            Station(name=disk, service=disk_s),
        ]
        uncached = d.disk_write_probability
        routing[cpu] = {"read": disk, "write": {disk: uncached, after: 1 - uncached}}
        routing[disk] = {"*": after}
    if forked:
        routing["fork.join"] = {"*": "client"}
    return Network(
        name=f"{database}, {counted(nodes, 'node')}, {replication_factor} "
        f"{'copies' if forked else 'copy'} (Gandini et al. 2014)",
        classes=(
            Class(name="read", users=chosen.users, reference="client"),
            Class(name="write"),
        ),
        stations=tuple(stations),
        routers=("switch",),
        forks=(Fork(name="fork", branches=tuple(cpu for cpu, _ in _names(nodes))),)
        if forked
        else (),
        routing=routing,
    )


def _names(nodes: int) -> list[tuple[str, str]]:
    """Return the names of each node's processor and disk."""
    if nodes == 1:
        return [("cpu", "disk")]
    return [(f"cpu{i}", f"disk{i}") for i in range(1, nodes + 1)]


def _by_class(read_s: float, write_s: float) -> dict[str, Distribution]:
    return {
        "read": Exponential(mean_s=_printed(read_s)),
        "write": Exponential(mean_s=_printed(write_s)),
    }


def _printed(seconds: float) -> float:
    """Return the number as the paper prints it, without the rounding of its change of unit."""
    return float(f"{seconds:.12g}")


def _next_operation(d: Demands) -> dict[str, float]:
    written = 1 - d.read_share
    places = {"network/read": d.read_share, "network/write": written * d.flush_probability}
    if d.flush_probability < 1:
        places["client/write"] = written * (1 - d.flush_probability)
    return places


def _to_nodes(d: Demands, *, forked: bool) -> dict[str, Route]:
    names = _names(d.nodes)
    if forked:
        return {"*": "fork"}
    if d.nodes == 1:
        return {"*": names[0][0]}
    by_chance = {cpu: 1 / d.nodes for cpu, _ in names}
    if d.database == "mongodb":
        return {"read": by_chance, "write": names[0][0]}
    return {"*": by_chance}
