"""Candidates as rows for the solver: as they are, after the loss of a node, or of a region.

Map
---
demands_of      a calibration's demands under a load, as the solver takes them
settings_of     the same of one cluster, as the simulator takes them
whole           all is well
without_a_node  a node of a region is gone; its records have a copy less
without_a_region    all of its nodes are; clients of a lost first region are in the nearest left
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pacelc.calibration.document import DEMANDS
from pacelc.networks.regional import placed, seen_from
from pacelc.planning.solver import Case
from pacelc.study.copies import copies_waited_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.document import Calibration
    from pacelc.networks.quorum import Quorum
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.load import Load

    Demands = Mapping[str, NDArray[np.float64]]

__all__ = ["demands_of", "settings_of", "whole", "without_a_node", "without_a_region"]


def demands_of(calibration: Calibration, load: Load) -> dict[str, NDArray[np.float64]]:
    """Return the demands, each as an array of one; NaN of a copy elsewhere: as the coordinator's.

    Beside them, ``scv``; and as 0 or 1 who coordinates and in which order.
    """
    settings = calibration.settings(read=load.read, write=load.write)
    values = {field: getattr(settings, field) for field in DEMANDS.values()}
    values |= {"scv": settings.scv, "any": settings.coordinator == "any", "led": settings.led}
    values |= {one: settings.discipline == one for one in ("fcfs", "siro")}
    return {
        name: np.array([np.nan if value is None else float(value)])
        for name, value in values.items()
    }


def settings_of(load: Load, cluster: Candidate, calibration: Calibration, nodes: int) -> Quorum:
    """Return a cluster, or a part of it with fewer nodes, as the simulator takes it."""
    return calibration.settings(
        nodes=nodes,
        cores=cluster.machine.cores,
        replication=cluster.replication,
        read=load.read,
        write=load.write,
        read_share=load.read_share,
    )


def whole(load: Load, clusters: Sequence[Candidate], demands: Demands) -> Case:
    """Return clusters that have the same replication."""
    replication = clusters[0].replication
    copies = placed(replication, load.regions)
    nodes = np.array([float(one.nodes) for one in clusters])
    cores = np.array([float(one.machine.cores) for one in clusters])
    if np.any(demands["led"] > 0):
        at_home = nodes // replication
        a_copy = np.repeat(at_home[:, None], replication, axis=1)
    elif load.regions:
        there = {
            place: np.array([float(_nodes_in(one.nodes, i, len(load.regions))) for one in clusters])
            for i, place in enumerate(load.regions)
        }
        at_home = there[load.regions[0]]
        a_copy = np.stack([there[copy.region] / copy.of for copy in copies], axis=1)
    else:
        at_home = nodes
        a_copy = np.repeat((nodes / replication)[:, None], replication, axis=1)
    return Case(
        replication=replication,
        copies=copies,
        read=load.read,
        write=load.write,
        rate_per_s=np.array([load.rate_per_s]),
        read_share=load.read_share,
        nodes_at_home=at_home,
        nodes_a_copy=a_copy,
        cores=cores,
        demands=_of_sizes(load, nodes, replication, demands),
    )


def _of_sizes(
    load: Load, nodes: NDArray[np.float64], replication: int, demands: Demands
) -> Demands:
    """Return the demands as :class:`~pacelc.planning.solver.Case` has them, a row a cluster."""
    waited = copies_waited_for(load.write, replication)
    waits_s = demands["acknowledged_cpu_s"] * (waited - 1) + demands["log_cpu_s"]
    cpu_s = {
        "read_cpu_s": demands["read_cpu_s"],
        "write_cpu_s": demands["write_cpu_s"] + waits_s,
    }
    for kind in ("read", "write"):
        copy_s = demands[f"copy_{kind}_cpu_s"]
        cpu_s[f"copy_{kind}_cpu_s"] = np.where(np.isnan(copy_s), demands[f"{kind}_cpu_s"], copy_s)
    return {
        **demands,
        **cpu_s,
        "own_share": np.where(demands["any"] > 0, np.minimum(replication / nodes, 1.0), 1.0),
    }


def _nodes_in(nodes: int, region: int, regions: int) -> int:
    return (nodes - region + regions - 1) // regions


def without_a_node(case: Case, region: str) -> Case:
    """Return the records that lost a copy in a region, in clusters that lost a node there."""
    # Of copies that are alike the last: another one leads where the leader is gone.
    lost = max(j for j, copy in enumerate(case.copies) if copy.region == region)
    first = case.copies[0]
    at_home = case.nodes_at_home
    # With the only one gone, whoever asked it asks another region.
    if region == first.region and case.led:
        if first.of == 1 < case.replication:
            return without_a_region(case, region)
    elif region == first.region:
        if np.any(at_home < 2):  # noqa: PLR2004 - one is left
            return without_a_region(case, region)
        at_home = at_home - 1
    held = case.nodes_a_copy
    share = 1 / held[:, lost]
    left = held.copy()
    if region or case.led:
        # Where nobody holds it any more, nobody is asked for it either.
        left[:, lost] = np.maximum(held[:, lost] - 1, 1)
    else:
        left = held - 1 / case.replication
    return replace(case, nodes_at_home=at_home, nodes_a_copy=left, lost=(lost,), lost_share=share)


def without_a_region(case: Case, region: str) -> Case:
    """Return clusters that lost a region.

    Raises
    ------
    ValueError
        There is no other.
    """
    left = [j for j, copy in enumerate(case.copies) if copy.region != region]
    if not left:
        raise ValueError("nothing is left")
    copies = seen_from(case.copies[left[0]].region, [case.copies[j] for j in left])
    order = sorted(range(len(left)), key=lambda i: (copies[i].distance_s, copies[i].region))
    a_copy = case.nodes_a_copy[:, [left[i] for i in order]]
    nearest = copies[order[0]]
    return replace(
        case,
        copies=tuple(copies[i] for i in order),
        nodes_a_copy=a_copy,
        nodes_at_home=a_copy[:, 0] * (1 if case.led else nearest.of),
    )
