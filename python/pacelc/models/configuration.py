"""A configuration of runs, and its model: the quorum network on processors as the machine had them.

Map
---
Configuration   runs of a scenario together
Waits           delays, and how processors are waited for
Ready           cluster and processor time, ready for any waits → settings of the quorum model
settings_of     all three → the same
settled         the same → the cluster, with the reads and writes that its model has
network_of      the same → the network
built           a settled cluster, and the same → the network
simulated       a network → what would be measured
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pacelc.errors import InputError
from pacelc.models.host import on_one_host, quick
from pacelc.models.quorum import LEVELS, Quorum, copies_waited_for, quorum
from pacelc.models.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.models.network import Network
    from pacelc.models.observations import Cluster, Observation
    from pacelc.models.quorum import Discipline, Level
    from pacelc.models.work import Work

__all__ = [
    "Configuration",
    "Ready",
    "Waits",
    "built",
    "configurations",
    "level_of",
    "network_of",
    "settings_of",
    "settled",
    "simulated",
]

_PERCENT: Final = 99.0
_WITH_TAILS, _WITHOUT = (2, 1.0), (4, 0.05)
"""Replications, each of which has to tell the tail, and half-widths of 95 % intervals of means:
where tails are told, means are known far better than anybody asks."""
_ROUNDS: Final = 30
_SETTLED: Final = 1e-4
"""Change of a share."""


@dataclass(frozen=True)
class Configuration:
    """Runs of a scenario together: its cluster, means of what was measured, their standard errors.

    A single run has no standard error. Clusters are those of the kind, one a study.
    """

    cluster: Cluster
    fitted: bool
    runs: int
    clusters: int
    measured: Mapping[str, float]
    standard_errors: Mapping[str, float]
    cores_used: float


@dataclass(frozen=True)
class Waits:
    """What operations wait for besides processor time, and how.

    Attributes
    ----------
    delays_s
        Field of the quorum model → seconds.
    discipline, scv
        Of processors; how variable all times are.
    available
        Share of the cores of a machine that all share, which its threads can use.
    scattered
        How much threads wait there beside idle cores.
    woken_beside
        Share of the processor time for waking up that operations don't wait for.
    written_later
        The same of what writing a copy takes.
    """

    delays_s: Mapping[str, float]
    discipline: Discipline = "ps"
    scv: float = 1.0
    available: float = 1.0
    scattered: float = 0.0
    woken_beside: float = 0.0
    written_later: float = 0.0


def configurations(found: Sequence[Observation], held: frozenset[str]) -> list[Configuration]:
    """Return the runs by scenario; one of which a part is held is two."""
    by_scenario: dict[tuple[int, bool], list[Observation]] = {}
    studies: dict[tuple[object, ...], set[str]] = {}
    for one in found:
        by_scenario.setdefault((one.scenario, one.run in held), []).append(one)
        studies.setdefault(one.kind, set()).add(one.study)
    configurations: list[Configuration] = []
    for (_, is_held), runs in by_scenario.items():
        values = {"throughput_per_s": [one.throughput_per_s for one in runs]}
        for kind in runs[0].latencies_s:
            times = [one.latencies_s[kind] for one in runs if kind in one.latencies_s]
            values[f"{kind}.latency_s"] = times
        for kind in runs[0].p99_s:
            values[f"{kind}.p99_s"] = [one.p99_s[kind] for one in runs if kind in one.p99_s]
        measured = {name: float(np.mean(those)) for name, those in values.items()}
        errors = {
            name: float(np.var(those, ddof=1) / len(those) + runs[0].unseen * mean**2) ** 0.5
            for name, those in values.items()
            for mean in (measured[name],)
            if len(those) > 1
        }
        rate = measured["throughput_per_s"]
        reads = float(np.mean([one.reads_per_s for one in runs]))
        under_way = [one.cluster.reading for one in runs if one.cluster.reading is not None]
        cluster = runs[0].cluster._replace(
            read_share=reads / rate,
            reading=float(np.mean(under_way)) if under_way else None,
            writing_per_s=rate - reads,
            cores=float(np.mean([one.cluster.cores for one in runs])),
            others_cores=float(np.mean([one.cluster.others_cores for one in runs])),
        )
        used = float(np.mean([one.server_cores + one.client_cores for one in runs]))
        configurations.append(
            Configuration(
                cluster,
                not is_held,
                len(runs),
                len(studies[runs[0].kind]),
                measured,
                errors,
                used,
            )
        )
    return configurations


def level_of(copies: int, replication: int) -> Level:
    """Return the level that waits for so many copies."""
    return next(one for one in LEVELS if copies_waited_for(one, replication) == copies)


class Ready:
    """A configuration but for its waits: what a search, which tries many, works out once.

    Raises
    ------
    InputError
        By :meth:`settings`: what goes on in the background takes all processors.
    """

    def __init__(self, cluster: Cluster, work: Work) -> None:
        self._cores, self._background_cores = cluster.cores, work.background_cores(cluster)
        # Linear in what isn't waited for, so that none and all of it tell.
        self._waited_s = work.demands_s(cluster)
        self._beside_s = work.demands_s(cluster, beside=1.0)
        self._later_s = work.demands_s(cluster, later=1.0)
        self._settings = Quorum(
            users=cluster.users,
            nodes=cluster.nodes,
            replication=cluster.replication,
            read=level_of(cluster.asked, cluster.replication),
            write=level_of(cluster.waited, cluster.replication),
            read_share=cluster.read_share,
            coordinator=cluster.coordinator,
            acknowledged_to=cluster.acknowledged_to,
            journaled=cluster.journaled,
            own_first=cluster.own_first,
            read_uncached=0.0,
            write_uncached=0.0,
        )

    def settings(self, waits: Waits) -> Quorum:
        """Return the quorum model, on processors as fast as they were."""
        cores = self._cores * waits.available
        servers = max(round(cores), 1)
        # Four tenths of a core are a server that takes two and a half times as long.
        free = (cores - self._background_cores) / servers
        if free <= 0:
            raise InputError("what goes on in the background takes all processors")
        beside, later = waits.woken_beside / free, waits.written_later / free
        waited = 1 / free - beside - later
        demands_s = {
            name: max(waited * s + beside * self._beside_s[name] + later * self._later_s[name], 0.0)
            for name, s in self._waited_s.items()
        }
        # Not checked again: there are hundreds of thousands in a search.
        return self._settings.model_copy(
            update={
                "discipline": waits.discipline,
                "scv": waits.scv,
                "cores": servers,
                "scattered": waits.scattered,
                **demands_s,
                **waits.delays_s,
            }
        )


def settings_of(cluster: Cluster, work: Work, waits: Waits) -> Quorum:
    """Return the quorum model of a configuration: see :class:`Ready`."""
    return Ready(cluster, work).settings(waits)


def network_of(cluster: Cluster, work: Work, waits: Waits) -> Network:
    """Return the model of a configuration, as it is simulated."""
    return built(settled(cluster, work, waits), work, waits)


def built(cluster: Cluster, work: Work, waits: Waits) -> Network:
    """Return the same of a cluster that is :func:`settled`."""
    network = quorum(settings_of(cluster, work, waits))
    return on_one_host(network) if cluster.shared else network


def settled(cluster: Cluster, work: Work, waits: Waits) -> Cluster:
    """Return the cluster with the reads and writes that its model has, under way and a second.

    How many there are depends on how long they take, which depends on how many share their costs.
    """
    mix = {"read": cluster.read_share, "write": 1 - cluster.read_share}
    for _ in range(_ROUNDS):
        found = quick(settings_of(cluster, work, waits), shared=cluster.shared)
        times = {kind: share * found.response_s[kind] for kind, share in mix.items() if share > 0}
        before = cluster
        cluster = cluster._replace(
            reading=times.get("read", 0.0) / sum(times.values()),
            writing_per_s=found.throughput_per_s * mix["write"],
        )
        if _alike(before, cluster):
            break
    return cluster


def _alike(one: Cluster, other: Cluster) -> bool:
    """Tell whether as much is under way, and is written."""
    return math.isclose(one.reading or 0.0, other.reading or 0.0, abs_tol=_SETTLED) and (
        math.isclose(one.writing_per_s, other.writing_per_s, rel_tol=_SETTLED)
    )


def simulated(network: Network, *, tails: bool = True) -> dict[str, float | None]:
    """Return what would be measured, as :class:`Configuration` names it; None: can't tell.

    As long as tails take to be told, twice: of 70 of MongoDB's configurations throughput was 0.3 %
    off by chance, then, and 99th percentiles 1.4 % (root mean square). Without tails, until means
    are known within 5 %.
    """
    replications, precision = _WITH_TAILS if tails else _WITHOUT
    found = simulate(
        network,
        replications=replications,
        precision=precision,
        tails=tails,
        percentiles=(_PERCENT,),
    )
    rate = found.throughput_per_s
    predicted: dict[str, float | None] = {"throughput_per_s": None if rate is None else rate.value}
    of = {one.class_name: one.percentiles[0].response_s for one in found.percentiles}
    for kind in ("read", "write"):
        mean = found.class_estimates(kind)[1] if kind in of else None
        if mean is not None:
            predicted |= {f"{kind}.latency_s": mean.value, f"{kind}.p99_s": of[kind]}
    return predicted
