"""Growing and shrinking: which clusters another may be made of without starting anew.

What is left must be as a cluster that was started with so many nodes: each database's file says
whether it is (``resizable``). Nodes that aren't on loopback addresses have a network that was made
for so many.

Map
---
resizable       whether one cluster can become the other
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from pacelc.clusters.databases.registry import DATABASES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.clusters.spec import ClusterSpec, NodePlan


def resizable(old: ClusterSpec, new: ClusterSpec, plans: Sequence[NodePlan]) -> bool:
    """Tell whether a cluster can become another that differs in its number of nodes alone.

    Parameters
    ----------
    old, new
        The specs; in a database that is resizable, replication follows the nodes.
    plans
        Of the new one's nodes.
    """
    return (
        DATABASES[old.database].resizable
        and replace(old, nodes=new.nodes, replication=new.replication) == new
        and all(ip_address(plan.host).is_loopback for plan in plans)
    )
