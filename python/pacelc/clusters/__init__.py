"""Clusters: real servers on this machine, without root, from package registries.

>>> from pacelc.clusters import ClusterSpec
>>> ClusterSpec("mongodb", nodes=3).copies
3

Start with `open_cluster`. The map:

- `pacelc.clusters.spec`: what a cluster is asked to be (`ClusterSpec`);
  `pacelc.clusters.checking`: whether its database can be so.
- `pacelc.clusters.cluster`: its life, from finding programs to tear-down (`open_cluster`,
  `Cluster`, `Node`).
- `pacelc.clusters.databases.registry`: the list (`DATABASES`); one file a database beside it, each
  implementing `pacelc.clusters.protocol.Database`.
- `pacelc.clusters.software.fetch`, `pacelc.clusters.software.program`,
  `pacelc.clusters.software.java`: where programs come from.
- `pacelc.clusters.process`, `pacelc.clusters.keeper`: processes, and the certainty that they end.
- `pacelc.clusters.server_user`: whom they run as, where pacelc is root.
- `pacelc.clusters.sizes.size`, `pacelc.clusters.sizes.cgroups`: how many cores and how much memory
  a node has, and what the kernel does about it.
- `pacelc.clusters.sizes.estimate`: how much memory a cluster takes.
- `pacelc.clusters.network.emulation`: the emulated network of a cluster (`Network`), with
  `pacelc.clusters.network.regions` and `pacelc.clusters.network.links`: how far hosts are from one
  another, and `pacelc.clusters.network.namespaces`: whether this machine can;
  `pacelc.clusters.examination`: what else.
- `pacelc.clusters.resources`: what each node uses of processor, memory, disk and network
  (`ResourceSampler`).
- `pacelc.clusters.faults.injection`: makes a running cluster fail, and mends it (`Injector`);
  `pacelc.clusters.faults.rules`: whom and what that means; `pacelc.clusters.faults.control`: the
  same by hand, from another process.
- `pacelc.clusters.errors`: what can go wrong (`ClusterError`), with a hint each.

A new database is one file and one line in `pacelc.clusters.databases.registry`. Linux only:
addresses 127.0.0.2 and on, pidfds and ``PR_SET_PDEATHSIG`` are Linux's.
"""

from pacelc.clusters.cluster import Cluster, Node, open_cluster
from pacelc.clusters.databases.registry import DATABASES
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
