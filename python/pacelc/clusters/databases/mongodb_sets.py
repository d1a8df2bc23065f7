"""MongoDB's replica sets: which node is in which, with what vote, priority and tag.

- A set has at most seven voting members; those beyond have no vote and can't be elected. They hold
  every record and count for ``w: N``, but not for ``w: majority``.
- The first member of each set has the highest priority, so that it is the primary in every run.
  Where the cluster has regions, it is the first one in the first region; others of that region come
  before those elsewhere, so that the primary stays in the region while it can.
- Where there are regions, a member's is its tag ``region``.

Nothing is started or asked here.

Map
---
Member, ReplicaSet  a node's place, and a set of them
replica_sets        the sets of a cluster
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacelc.clusters.spec import host_addresses

if TYPE_CHECKING:
    from pacelc.clusters.spec import ClusterSpec, Role

__all__ = ["MAX_VOTERS", "REPLICA_SET", "Member", "ReplicaSet", "replica_sets"]

REPLICA_SET = "pacelc"
"""Name of the only set of a cluster without shards."""
MAX_VOTERS = 7
"""MongoDB's own limit on the members of a set that vote."""


@dataclass(frozen=True)
class Member:
    """One node's place in its set.

    Parameters
    ----------
    node, host
        Its name and address.
    role
        ``primary`` for the one that is elected while all are up.
    votes, priority
        As MongoDB's configuration of a set has them.
    region
        Where it is; None where the cluster has no regions.
    """

    node: str
    host: str
    role: Role
    votes: int
    priority: int
    region: str | None

    def document(self, number: int, port: int) -> dict[str, Any]:
        """Return its part of the set's configuration."""
        document: dict[str, Any] = {
            "_id": number,
            "host": f"{self.host}:{port}",
            "votes": self.votes,
            "priority": self.priority,
        }
        if self.region is not None:
            document["tags"] = {"region": self.region}
        return document


@dataclass(frozen=True)
class ReplicaSet:
    """Members that hold the same records."""

    name: str
    members: tuple[Member, ...]

    def document(self, port: int) -> dict[str, Any]:
        """Return the set's configuration."""
        members = [member.document(number, port) for number, member in enumerate(self.members)]
        return {"_id": self.name, "members": members}


def replica_sets(spec: ClusterSpec) -> list[ReplicaSet]:
    """Return the sets of a cluster; nodes fill one after another."""
    hosts = host_addresses(spec)
    regions = tuple(spec.regions)
    places = [
        (host, regions[index % len(regions)] if regions else None)
        for index, host in enumerate(hosts)
    ]
    sharded = spec.sharding != "none"
    sets: list[ReplicaSet] = []
    for shard in range(spec.shards):
        of_set = places[shard * spec.copies : (shard + 1) * spec.copies]
        name = f"shard{shard + 1}" if sharded else REPLICA_SET
        sets.append(ReplicaSet(name, _members(of_set, f"{name}-" if sharded else None, regions)))
    return sets


def _members(
    places: list[tuple[str, str | None]], prefix: str | None, regions: tuple[str, ...]
) -> tuple[Member, ...]:
    home = regions[0] if regions else None
    primary = next((n for n, (_, region) in enumerate(places) if region == home), 0)
    others = [number for number in range(len(places)) if number != primary]
    voters = {primary, *others[: MAX_VOTERS - 1]}
    members: list[Member] = []
    for number, (host, region) in enumerate(places):
        is_primary = number == primary
        if prefix is None:
            node = f"node{number + 1}"
        else:
            node = prefix + ("primary" if is_primary else f"replica{others.index(number) + 1}")
        votes = 1 if number in voters else 0
        preferred = 1 + is_primary + (home is not None and region == home)
        members.append(
            Member(
                node=node,
                host=host,
                role="primary" if is_primary else "replica",
                votes=votes,
                priority=votes * preferred,
                region=region,
            )
        )
    return tuple(members)
