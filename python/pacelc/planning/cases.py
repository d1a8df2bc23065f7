"""Candidates as rows for the solver: as they are, after the loss of a node, or of a region.

Map
---
whole           all is well
without_a_node  a node of a region is gone; its records have a copy less
without_a_region    all of its nodes are; clients of a lost first region are in the nearest left
demands_of      a calibration's demands as the solver takes them
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pacelc.planning.solver import Case
from pacelc.networks.quorum import LEVELS, acknowledgements, at_copies, copies_waited_for
from pacelc.networks.regional import placed, seen_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.load import Load

    Demands = Mapping[str, NDArray[np.float64]]

__all__ = ["demands_of", "whole", "without_a_node", "without_a_region"]

_FIELDS = (
    "coordinator_cpu_s",
    "read_cpu_s",
    "digest_cpu_s",
    "write_cpu_s",
    "read_disk_s",
    "write_disk_s",
    "read_uncached",
    "write_uncached",
    "read_repair",
    "client_round_trip_s",
    "node_round_trip_s",
    "write_wait_s",
    "journal_cpu_s",
    "wake_journal_cpu_s",
    "journal_wait_s",
    "remote_cpu_s",
    "acknowledged_cpu_s",
    "scv",
)


def demands_of(calibration: Calibration) -> dict[str, NDArray[np.float64]]:
    """Return the demands, each as an array of one; who coordinates, hears, and waits, as 0 or 1."""
    settings = calibration.settings()
    values = {name: getattr(settings, name) for name in _FIELDS}
    if values["digest_cpu_s"] is None:
        values["digest_cpu_s"] = values["read_cpu_s"]
    values |= {"any": settings.coordinator == "any", "led": settings.led}
    values |= {"to_everyone": settings.acknowledged_to == "everyone"}
    values |= {f"journaled_{one}": one in calibration.journaled for one in LEVELS}
    values |= {one: settings.discipline == one for one in ("fcfs", "siro")}
    return {name: np.array([float(value)]) for name, value in values.items()}


def whole(load: Load, clusters: Sequence[Candidate], demands: Demands) -> Case:
    """Return clusters that have the same replication."""
    replication = clusters[0].replication
    copies = placed(replication, load.regions)
    nodes = np.array([float(one.nodes) for one in clusters])
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
        cores=np.array([float(one.machine.cores) for one in clusters]),
        demands=_from_afar(load, nodes, replication, demands),
    )


def _from_afar(
    load: Load, nodes: NDArray[np.float64], replication: int, demands: Demands
) -> Demands:
    """Return the demands with what requests to other nodes take of processors, a row a cluster.

    Processor times are then at a copy: ``read_cpu_s`` and ``own_cpu_s`` at a coordinator's own, if
    it holds one (``own_share``), else ``digest_cpu_s`` and ``write_cpu_s``.
    """
    own = np.where(demands["any"] > 0, np.minimum(replication / nodes, 1.0), 1.0)
    written_s = demands["write_cpu_s"]
    waited = copies_waited_for(load.write, replication)
    to_one, to_all = (
        acknowledgements(waited, replication, to) for to in ("coordinator", "everyone")
    )
    told = np.where(demands["to_everyone"] > 0, to_all, to_one)
    written_s = written_s + demands["acknowledged_cpu_s"] * told / replication
    journals = demands[f"journaled_{load.write}"]
    journals_s = demands["journal_cpu_s"] + demands["wake_journal_cpu_s"]
    written_s = written_s + journals * journals_s / replication
    times_s = at_copies(
        demands["read_cpu_s"], demands["digest_cpu_s"], written_s, demands["remote_cpu_s"], own
    )
    return {
        **demands,
        "own_share": own,
        "read_cpu_s": times_s["record"],
        "digest_cpu_s": times_s["digest"],
        "own_cpu_s": times_s["own"],
        "write_cpu_s": times_s["written"],
        "write_wait_s": demands["write_wait_s"] + journals * demands["journal_wait_s"],
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
