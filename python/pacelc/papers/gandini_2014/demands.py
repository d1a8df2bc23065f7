"""What an operation asks of each resource: tables 2 to 4 with their units.

The paper's closed model: a client, a network that only delays, and in each node a processor of two
servers and a disk of one. A read passes all of them. A write leaves the client with the
probability ``P(flush)``, and goes to the disk with that of a write that the server doesn't cache.

Units, which the paper leaves open
----------------------------------
- *CPU demands are milliseconds.* The tables name no unit. Seconds would stop a node of two cores
  at three to nine operations a second, and microseconds at millions.
- *The disk's "170 ms" and "200 ms" are microseconds.* In milliseconds one disk would stop
  Cassandra and MongoDB at 10.5 operations a second, and HBase at 11.7, whatever their CPU
  demands, and those would then bear on nothing.
- *Of the client nothing is given* but its cores (two, or eight): no service time, no discipline.
  Nor is the discipline of the processors, where the disks are first come, first served.

Start here: :func:`demands`, :func:`saturation_per_s`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.papers.gandini_2014.tables import stated, table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONFIGURATIONS", "Demands", "demands", "saturation_per_s"]

_TABLE_OF: Final[Mapping[str, str]] = {
    "cassandra": "table2",
    "mongodb": "table3",
    "hbase": "table4",
}
CONFIGURATIONS: Final = tuple(
    (database, nodes, copies)
    for database, name in _TABLE_OF.items()
    for nodes, copies in table(name).select("nodes", "replication_factor").iter_rows()
)
"""Database, nodes and replication factor of every row of tables 2 to 4."""

_S_PER_MS: Final = 1e-3
_S_PER_US: Final = 1e-6


@dataclass(frozen=True)
class Demands:
    """One row of tables 2 to 4, and what the text says of all of them.

    Attributes
    ----------
    database, nodes, replication_factor
        Whose.
    cores
        Processors of each node.
    cpu_read_s, cpu_write_s
        Service of a read, and of a write that left the client, at the processor of a node.
    disk_read_s, disk_write_s
        The same at its disk.
    network_round_trip_s
        Delay of what goes to a node and back.
    read_share
        Of all operations.
    flush_probability
        Share of the writes that leave the client.
    disk_write_probability
        Share of those that go to the disk.
    """

    database: str
    nodes: int
    replication_factor: int
    cores: int
    cpu_read_s: float
    cpu_write_s: float
    disk_read_s: float
    disk_write_s: float
    network_round_trip_s: float
    read_share: float
    flush_probability: float
    disk_write_probability: float

    @property
    def cpu_s(self) -> float:
        """Processor time of an operation, mean of both classes, on one of the nodes it visits."""
        return self.read_share * self.cpu_read_s + self._write_share * self.cpu_write_s

    @property
    def disk_s(self) -> float:
        """Disk time of an operation, mean of both classes, on one of the nodes it visits."""
        written = self._write_share * self.disk_write_probability
        return self.read_share * self.disk_read_s + written * self.disk_write_s

    @property
    def cpu_of_all_nodes_s(self) -> float:
        """Processor time of an operation in the whole cluster: it is forked to each copy."""
        return self.replication_factor * self.cpu_s

    @property
    def _write_share(self) -> float:
        """Share of all operations that are writes and leave the client."""
        return (1 - self.read_share) * self.flush_probability


def demands(database: str, nodes: int = 1, replication_factor: int = 1) -> Demands:
    """Return the service demands of a configuration that the paper modelled.

    Raises
    ------
    ValueError
        It has no such one.

    Examples
    --------
    >>> demands("cassandra").cpu_read_s
    0.00115
    """
    if (database, nodes, replication_factor) not in CONFIGURATIONS:
        known = ", ".join(f"{d} {n}/{c}" for d, n, c in CONFIGURATIONS)
        raise ValueError(f"no demands of {database} {nodes}/{replication_factor}; of {known}")
    rows = table(_TABLE_OF[database])
    row = rows.filter(nodes=nodes, replication_factor=replication_factor).row(0, named=True)
    return Demands(
        database,
        nodes,
        replication_factor,
        cores=int(stated("server_cores")),
        cpu_read_s=row["cpu_demand_read"] * _S_PER_MS,
        cpu_write_s=row["cpu_demand_write"] * _S_PER_MS,
        disk_read_s=stated("disk_read") * _S_PER_US,
        disk_write_s=stated("disk_write") * _S_PER_US,
        network_round_trip_s=stated("network_round_trip") * _S_PER_MS,
        read_share=stated("read_share"),
        flush_probability=row.get("p_flush", 1.0),
        disk_write_probability=stated("disk_write_probability"),
    )


def saturation_per_s(database: str) -> tuple[float, str]:
    """Return the throughput that one node can't exceed, and which resource is then busy.

    That of several nodes depends on how operations are routed, which is a model's business.

    Returns
    -------
    tuple of float and str
        Operations a second, and ``cpu`` or ``disk``.

    Examples
    --------
    >>> saturation_per_s("mongodb")
    (5714.28..., 'cpu')
    """
    one = demands(database)
    return min((one.cores / one.cpu_s, "cpu"), (1 / one.disk_s, "disk"))
