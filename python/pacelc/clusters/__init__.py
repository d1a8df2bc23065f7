"""Clusters: real servers on this machine, without root, from package registries.

>>> from pacelc.clusters import ClusterSpec
>>> ClusterSpec("mongodb", nodes=3).copies
3

Start with `open_cluster`. The map:

- `pacelc.clusters.spec`: what a cluster is asked to be (`ClusterSpec`).
- `pacelc.clusters.cluster`: its life, from finding programs to tear-down (`open_cluster`,
  `Cluster`, `Node`).
- `pacelc.clusters.databases`: the list (`DATABASES`); one file a database beside it, each
  implementing `pacelc.clusters.protocol.Database`.
- `pacelc.clusters.fetch`, `pacelc.clusters.software`, `pacelc.clusters.java`: where programs come
  from.
- `pacelc.clusters.process`, `pacelc.clusters.keeper`: processes, and the certainty that they end.
- `pacelc.clusters.sizes`, `pacelc.clusters.cgroups`: how many cores and how much memory a node has,
  and what the kernel does about it.
- `pacelc.clusters.estimate`, `pacelc.clusters.footprints`: how much memory a cluster takes.
- `pacelc.clusters.network`: the emulated network of a cluster (`Network`), with
  `pacelc.clusters.regions` and `pacelc.clusters.links`: how far hosts are from one another, and
  `pacelc.clusters.namespaces`: whether this machine can; `pacelc.clusters.examination`: what else.
- `pacelc.clusters.resources`: what each node uses of processor, memory, disk and network
  (`ResourceSampler`).
- `pacelc.clusters.faults`: makes a running cluster fail, and mends it (`Injector`);
  `pacelc.clusters.fault_rules`: whom and what that means; `pacelc.clusters.control`: the same by
  hand, from another process.
- `pacelc.clusters.errors`: what can go wrong (`ClusterError`), with a hint each.

A new database is one file and one line in `pacelc.clusters.databases`. Linux only: addresses
127.0.0.2 and on, pidfds and ``PR_SET_PDEATHSIG`` are Linux's.
"""

from pacelc.clusters.cluster import Cluster, Node, open_cluster
from pacelc.clusters.databases import DATABASES
from pacelc.clusters.errors import (
    ClusterError,
    FetchError,
    NodeDied,
    PortInUseError,
    SpecError,
    StartError,
    WorkdirError,
)
from pacelc.clusters.resources import ResourceRow, ResourceSampler
from pacelc.clusters.spec import ClusterSpec, Endpoint, Event

__all__ = [
    "DATABASES",
    "Cluster",
    "ClusterError",
    "ClusterSpec",
    "Endpoint",
    "Event",
    "FetchError",
    "Node",
    "NodeDied",
    "PortInUseError",
    "ResourceRow",
    "ResourceSampler",
    "SpecError",
    "StartError",
    "WorkdirError",
    "open_cluster",
]
