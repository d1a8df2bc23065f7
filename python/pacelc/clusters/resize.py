"""Growing and shrinking: which clusters another may be made of without starting anew.

Redis and Valkey: a replica that comes copies its primary's records, one that goes is dropped, and
what is left is as a cluster that was started with so many nodes. Not so the others, which are
started anew:

- Cassandra divides its ring evenly by a token a node, so that runs are comparable. A node that
  joins takes half of one neighbour's part, which no ring that was started with as many nodes has.
- HBase's master would move regions, and a region that has moved reads from a cold cache.
- A new replica set of MongoDB serves within seconds.
- Nodes that aren't on loopback addresses have a network that was made for so many.

Map
---
resizable       whether one cluster can become the other
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.clusters.spec import ClusterSpec, NodePlan

_FOLLOW_ONE = ("redis", "valkey")


def resizable(old: ClusterSpec, new: ClusterSpec, plans: Sequence[NodePlan]) -> bool:
    """Tell whether a cluster can become another that differs in its number of nodes alone.

    Parameters
    ----------
    old, new
        The specs; replication follows the nodes in these databases.
    plans
        Of the new one's nodes.
    """
    return (
        old.database in _FOLLOW_ONE
        and replace(old, nodes=new.nodes, replication=new.replication) == new
        and all(ip_address(plan.host).is_loopback for plan in plans)
    )
