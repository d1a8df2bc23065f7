"""Runs of a cluster whose demands are known: what calibration must give back."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pacelc.analysis import Estimate
from pacelc.models.configuration import Waits, built, settings_of, settled
from pacelc.models.host import quick
from pacelc.models.observations import Cluster, Observation
from pacelc.models.simulate import simulate
from pacelc.models.work import SharedBy, Work, client_rates_of, mixed, rates_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pacelc.models.quorum import Coordinator

SERVERS: Final = {
    "background": 0.1,
    "coordinator": 80e-6,
    "wake": 60e-6,
    "wake_remote": 50e-6,
    "wake_acknowledged": 100e-6,
    "read": 200e-6,
    "digest": 120e-6,
    "write": 90e-6,
    "remote": 50e-6,
    "acknowledged": 40e-6,
    "spread": 30e-6,
}
JOURNAL_S: Final = 150e-6
WAKE_JOURNAL_S: Final = 40e-6
MIXING: Final = 0.2
CLIENT: Final = {
    "read": 25e-6,
    "write": 15e-6,
    "wake": 20e-6,
    "wake_acknowledged": 10e-6,
    "spread": 5e-6,
}
SHARED_BY: Final = SharedBy(operations=1.0, copies=0.5)
CLIENT_SHARED_BY: Final = SharedBy(operations=0.5, copies=1.0)
ROUND_S: Final = 1e-3
DELAYS: Final = {
    "client_round_trip_s": 300e-6,
    "node_round_trip_s": 200e-6,
    "write_wait_s": 400e-6,
}
JOURNAL_WAIT_S: Final = 500e-6
BESIDE: Final = 0.5
LATER: Final = 0.4
AVAILABLE: Final = 0.9
"""Of a machine that all share."""
WAITS: Final = Waits(
    DELAYS | {"journal_wait_s": JOURNAL_WAIT_S}, woken_beside=BESIDE, written_later=LATER
)
_OF_ALL: Final = ((1, 1, 1, 1), (3, 1, 1, 1), (3, 3, 1, 1), (3, 3, 2, 2), (3, 3, 3, 3))


def truth(round_s: float | None = None, *, awake: bool = False, dearer: float = 0.0) -> Work:
    """What is true; where processors are awake, of others what it would be to wake up."""

    def known(demands: Mapping[str, float]) -> dict[str, Estimate]:
        names = {"wake": "switch" if awake else "wake"}
        return {names.get(k, k): Estimate(value, None, None, 0) for k, value in demands.items()}

    servers = known(SERVERS | {"journal": JOURNAL_S, "wake_journal": WAKE_JOURNAL_S})
    client = known(CLIENT)
    mixing = Estimate(MIXING, None, None, 0)
    ways = (SHARED_BY._replace(dearer=dearer), CLIENT_SHARED_BY)
    shared_by = (one._replace(round_s=round_s, awake=awake) for one in ways)
    return Work(servers, client, *shared_by, mixing, 0, (), np.eye(8), np.ones(8))


def clusters(
    *, shared: bool = True, cores: float = 4, coordinator: Coordinator = "any"
) -> Iterator[Cluster]:
    """What a study of calibration measures: sizes, levels, mixes, users."""
    mixes, users = (0.0, 0.25, 0.5, 0.75, 1.0), (1, 4, 16, 64)
    for (nodes, copies, asked, waited), share, n in itertools.product(_OF_ALL, mixes, users):
        yield Cluster(
            *(nodes, copies, asked, waited, n, share),
            coordinator=coordinator,
            cores=cores,
            shared=shared,
            entries=nodes // copies if coordinator == "leader" else nodes,
        )


def made(
    cluster: Cluster,
    number: int,
    *,
    simulated: bool = False,
    seed: int = 1,
    round_s: float | None = None,
    awake: bool = False,
    dearer: float = 0.0,
) -> Observation:
    """What the true model does in a configuration, by its quick solution or by simulation."""
    work = truth(round_s, awake=awake, dearer=dearer)
    waits = replace(WAITS, available=AVAILABLE) if cluster.shared else WAITS
    cluster = settled(cluster, work, waits)
    times: dict[str, float] = {}
    p99: dict[str, float] = {}
    if simulated:
        network = built(cluster, work, waits)
        found = simulate(network, seed=seed, replications=4, precision=0.01, percentiles=(99.0,))
        total = found.throughput_per_s
        assert total is not None
        rate = total.value
        for kind, share in (("read", cluster.read_share), ("write", 1 - cluster.read_share)):
            mean = found.class_estimates(kind)[1] if share > 0 else None
            if mean is not None:
                times[kind] = mean.value
        for one in found.percentiles:
            value = one.percentiles[0].response_s
            if one.class_name in times and value is not None:
                p99[one.class_name] = value
    else:
        rate, times = quick(settings_of(cluster, work, waits), shared=cluster.shared)
    reads, writes = rate * cluster.read_share, rate * (1 - cluster.read_share)
    more = 1 + MIXING * mixed(cluster.read_share)
    used = rates_of(cluster, reads, writes, work.shared_by)
    client = client_rates_of(cluster, reads, writes, work.client_shared_by)
    background = work.background_cores(cluster) * (1 if cluster.shared else cluster.nodes)
    return Observation(
        run=f"{number:04d}-r1",
        scenario=number,
        group=(),
        cluster=cluster._replace(writing_per_s=0.0),  # what is stored of runs doesn't say it twice
        reads_per_s=reads,
        writes_per_s=writes,
        latencies_s=times,
        p99_s=p99,
        server_cores=background
        + more
        * sum(work.seconds(name) * rate for name, rate in used.items() if name != "background"),
        client_cores=more * sum(one.value * client[name] for name, one in work.client.items()),
        database="cassandra",
        versions={"cassandra": "5.0.2"},
    )
