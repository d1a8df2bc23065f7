"""What faults mean: whom a target means, which pairs a partition cuts, which links change.

Nothing here touches a cluster.

Targets, as `resolve` gives them nodes:

- ``one``, ``minority``, ``majority``: chosen at random with the seed; ``all``;
- ``region:NAME``: the nodes there; a node's name;
- ``primary``: that of the moment. Redis, Valkey: the configured one. MongoDB: whom the members call
  so. Cassandra has none: its first node, which is the coordinator where clients have a fixed one.
  HBase: the first region server, which is the primary of its share of every table, as each is.
- ``secondary``: the last node that isn't it.

HBase's targets are its region servers; its master and ZooKeeper go by their names, and are on the
host of the first region server.

Map
---
FaultSpec       what is to go wrong
resolve         a target's nodes
check_target    refuse one that names none
planned_nodes   a cluster's nodes, before there are any
cuts            the ordered pairs of hosts that a partition cuts
changed_links   the links that differ while links are slow or lossy
no_network      why a fault can't be had without an emulated network
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import ClusterError, nearest
from pacelc.clusters.network.links import CLIENT
from pacelc.clusters.protocol import Software
from pacelc.names import LINK_FAULTS, PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pacelc.clusters.spec import ClusterSpec, NodePlan

__all__ = [
    "FaultError",
    "FaultSpec",
    "Pair",
    "changed_links",
    "check_target",
    "cuts",
    "no_network",
    "planned_nodes",
    "resolve",
]

TARGETS: Final = ("one", "minority", "majority", "primary", "secondary", "all")
Pair = tuple[str, str]


class FaultError(ClusterError):
    """A fault that can't be put into this cluster."""


@dataclass(frozen=True)
class FaultSpec:
    """What is to go wrong.

    Parameters
    ----------
    fault
        ``kill``, ``pause``, ``isolate``, ``split``, ``one-way``, ``bridge``, ``slow``, ``lossy``.
    target
        Which nodes; see the module.
    direction
        Of ``one-way``: nothing gets ``in`` to the target, or nothing ``out`` of it.
    client
        The side of the load generator in a partition: ``both``, ``majority``, ``minority``.
    delay_s, jitter_s
        Of ``slow``: added to the links between the target and all others, each way.
    loss, duplicate, reorder
        Of ``lossy``: shares of the packets on those links.
    """

    fault: str
    target: str = "one"
    direction: str = "in"
    client: str = "both"
    delay_s: float = 0.0
    jitter_s: float = 0.0
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0

    @property
    def needs_network(self) -> bool:
        """Whether it happens on the network."""
        return self.fault in PARTITIONS or self.fault in LINK_FAULTS

    @property
    def details(self) -> dict[str, Any]:
        """What distinguishes it from others of its kind."""
        match self.fault:
            case "slow":
                names = ["delay_s", "jitter_s"]
            case "lossy":
                names = ["loss", "duplicate", "reorder"]
            case "one-way":
                names = ["direction", "client"]
            case "isolate" | "split" | "bridge":
                names = ["client"]
            case _:
                names = []
        return {name: getattr(self, name) for name in names}


def planned_nodes(spec: ClusterSpec, directory: Path = Path("/nowhere")) -> tuple[NodePlan, ...]:
    """Return a cluster's nodes as they will be planned; their commands are none that would run."""
    software = Software(("server", ""), {spec.database: ""})
    return tuple(DATABASES[spec.database].plan(spec, software, directory))


def check_target(target: str, plans: Iterable[NodePlan]) -> None:
    """Refuse a target that names no node.

    Raises
    ------
    FaultError
        There is none of that name.
    """
    names = [plan.name for plan in plans]
    if target not in TARGETS and not target.startswith("region:") and target not in names:
        raise FaultError(f"no node {target!r}", hint=nearest(target, [*TARGETS, *names]))


def resolve(
    target: str,
    nodes: Sequence[str],
    *,
    primary: str | None,
    regions: Mapping[str, Collection[str]],
    seed: int,
    others: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the nodes that a target means, in the order of the nodes.

    Parameters
    ----------
    target
        See the module.
    nodes
        Those that hold records.
    primary
        That of the moment, if there is one.
    regions
        The regions, and zones of them, that each node is in.
    seed
        Of the choice, where there is one.
    others
        Further nodes, which go by their names only.

    Raises
    ------
    FaultError
        Nobody is meant.
    """
    if target in nodes or target in others:
        return (target,)
    count = {"one": 1, "minority": (len(nodes) - 1) // 2, "majority": len(nodes) // 2 + 1}
    if target in count:
        chosen = random.Random(seed).sample(list(nodes), min(len(nodes), count[target]))  # noqa: S311 - no secret
        found = tuple(node for node in nodes if node in chosen)
    elif target == "all":
        found = tuple(nodes)
    elif target == "primary":
        found = () if primary is None else (primary,)
    elif target == "secondary":
        found = tuple(node for node in nodes if node != primary)[-1:]
    elif target.startswith("region:"):
        region = target.removeprefix("region:")
        found = tuple(node for node in nodes if region in regions.get(node, ()))
    else:
        raise FaultError(f"no node {target!r}", hint=nearest(target, [*TARGETS, *nodes, *others]))
    if not found:
        raise FaultError(f"{target}: there is no such node now", hint=f"nodes: {', '.join(nodes)}")
    return found


def cuts(
    fault: str,
    hosts: Sequence[str],
    targets: Sequence[str],
    *,
    direction: str = "in",
    client: str = "both",
    clients: Sequence[str] = (CLIENT,),
) -> frozenset[Pair]:
    """Return the ordered pairs of hosts that a partition cuts.

    ``isolate``: each target is alone. ``split``: the targets are one side, the others the other.
    ``one-way``: of a split, only what goes ``in`` to the targets, or ``out`` of them. ``bridge``:
    the others are two halves that reach the target and not each other.

    The client's links are cut as those of a node on its side: ``majority`` is the largest side (the
    last of equals: that without the target), ``minority`` the smallest (the first of equals). Where
    there are several clients, all are on that side.
    """
    rest = [host for host in hosts if host not in targets]
    match fault:
        case "isolate":
            sides = [[target] for target in targets]
            sides += [rest] if rest else []
        case "split" | "one-way":
            sides = [list(targets), rest]
        case "bridge":
            half = (len(rest) + 1) // 2
            sides = [rest[half:], rest[:half]]
        case _:
            return frozenset()
    if client == "majority":
        max(reversed(sides), key=len).extend(clients)
    elif client == "minority":
        min(sides, key=len).extend(clients)
    pairs = frozenset(
        (sender, receiver)
        for one in sides
        for other in sides
        if one is not other
        for sender in one
        for receiver in other
    )
    if fault == "one-way":
        inside = set(sides[0])
        return frozenset(
            (sender, receiver)
            for sender, receiver in pairs
            if (receiver in inside) == (direction == "in")
        )
    return pairs


def changed_links(
    links: Mapping[Pair, Any], faults: Iterable[tuple[FaultSpec, Collection[str]]]
) -> dict[Pair, Any]:
    """Return the links that differ from ``links`` while ``faults`` (with their hosts) are active.

    A fault changes what it names and leaves the rest of a link as it is: a slow link has its delay
    on top of its own, a lossy one as many losses as the fault says. Of two faults of one kind, the
    later one counts.

    Parameters
    ----------
    links
        Without any fault: frozen dataclasses with ``delay_s``, ``jitter_s``, ``loss``,
        ``duplicate``, ``reorder``.
    """
    faults = list(faults)
    changed: dict[Pair, Any] = {}
    for pair, own in links.items():
        change: dict[str, float] = {}
        for spec, hosts in faults:
            if pair[0] in hosts or pair[1] in hosts:
                change |= _change(spec, own)
        if change:
            changed[pair] = replace(own, **change)
    return changed


def _change(spec: FaultSpec, own: Any) -> dict[str, float]:
    if spec.fault == "slow":
        return {
            "delay_s": (own.delay_s or 0.0) + spec.delay_s,
            "jitter_s": (own.jitter_s or 0.0) + spec.jitter_s,
        }
    return {"loss": spec.loss, "duplicate": spec.duplicate, "reorder": spec.reorder}


def no_network(fault: str) -> FaultError:
    """Return why a fault of the network can't be had where there is none."""
    return FaultError(
        f"{fault} needs an emulated network, and this cluster's nodes share the loopback",
        hint="start it with --network namespaces, or network: namespaces in a study; "
        "`pacelc doctor` says whether this machine can; kill and pause need no network",
    )
