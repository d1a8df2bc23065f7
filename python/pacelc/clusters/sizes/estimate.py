"""How much memory a cluster will take: told, and refused if it isn't there, before anything starts.

Each database's file says what its servers take under load, when heaps and caches are full; a node
with a size takes no more than that. The sum is held against what can be had without swapping: the
kernel's ``MemAvailable``, or less by the limit of a control group that pacelc is in. The load
generator's own memory and the page cache that a database hopes for are not in it.

Map
---
cluster_memory_bytes    the estimate
told                    the same for people
require_memory          refuses what there is no memory for
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import ClusterError, SpecError
from pacelc.clusters.protocol import Records
from pacelc.clusters.sizes.allowed import memory_available_bytes
from pacelc.clusters.sizes.size import GIB, MIB
from pacelc.names import counted

if TYPE_CHECKING:
    from pacelc.clusters.spec import ClusterSpec

NO_RECORDS = Records()


def cluster_memory_bytes(spec: ClusterSpec, records: Records = NO_RECORDS) -> int:
    """Return how much memory a cluster takes.

    Parameters
    ----------
    spec
        Of the cluster.
    records
        What it is to hold.
    """
    memory = DATABASES[spec.database].memory(spec, records)
    each, first = memory.node_bytes, memory.node_bytes + memory.coordination_bytes
    if spec.memory_bytes is not None:
        each, first = min(each, spec.memory_bytes), min(first, spec.memory_bytes)
    return first + (spec.nodes - 1) * each


def require_memory(
    spec: ClusterSpec,
    records: Records = NO_RECORDS,
    *,
    force: bool = False,
    available_bytes: int | None = None,
) -> None:
    """Make sure that a cluster's memory is there.

    Parameters
    ----------
    spec, records
        See `cluster_memory_bytes`.
    force
        Start it although the machine has less than the estimate.
    available_bytes
        By default, what the kernel says.

    Raises
    ------
    SpecError
        A node's memory is too small for the records it has to hold.
    ClusterError
        The machine has less left.
    """
    memory = DATABASES[spec.database].memory(spec, records)
    limit = spec.memory_bytes
    if limit is not None and memory.records_bytes > 0 and memory.node_bytes > limit:
        raise SpecError(
            f"{spec.database} holds every record in memory: {_gib(memory.node_bytes)} for these, "
            f"and a node has {_gib(limit)}",
            hint=f"set memory to {-(-memory.node_bytes // MIB)}MiB or more, or fewer records",
        )
    if force:
        return
    available = memory_available_bytes() if available_bytes is None else available_bytes
    needed = cluster_memory_bytes(spec, records)
    if needed > available:
        raise ClusterError(
            f"{spec.database} with {counted(spec.nodes, 'node')} takes about {_gib(needed)} "
            f"of memory, and "
            f"{_gib(available)} are available",
            hint=f"take fewer nodes or {memory.smaller}, or limit each node's memory; "
            "--force-memory starts it anyway",
        )


def told(spec: ClusterSpec) -> str:
    """Say how much memory a cluster will take, and how much there is."""
    needed, available = cluster_memory_bytes(spec), memory_available_bytes()
    return f"about {_gib(needed)} of memory will be taken; {_gib(available)} are available"


def _gib(count: int) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB else f"{count / MIB:.0f} MiB"
