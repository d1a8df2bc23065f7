"""Runs of a database whose demands are known: what a calibration must give back."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from pacelc.calibration.demands import TERMS, Demands, contended, rates_of
from pacelc.calibration.model import Model
from pacelc.calibration.runs import KINDS, Configuration, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pacelc.networks.quorum import Coordinator

DEMANDS: Final = {
    "read": 80e-6,
    "write": 120e-6,
    "copy_read": 60e-6,
    "copy_write": 90e-6,
    "wait": 150e-6,
    "wake": 40e-6,
}
CLIENT: Final = {"read": 15e-6, "write": 20e-6}
HOP_S: Final = 200e-6
DURABLE_S: Final = 500e-6
SIZES: Final = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 3))


def truth(contention: float = 0.2, demands: Mapping[str, float] | None = None) -> Model:
    """Return the model that the runs are made by."""
    count = len(TERMS)
    known = Demands(
        values=demands or DEMANDS,
        contention=contention,
        client=CLIENT,
        covariance=np.zeros((count + 1, count + 1)),
        within=0.0,
        between=0.0,
        clusters=0,
        seen=np.eye(count),
        scale=np.ones(count),
        servers=frozenset({1, 2, 3}),
    )
    return Model(known, (HOP_S, DURABLE_S), (0.0, 0.0), 1.0)


def configurations(
    coordinator: Coordinator = "any", *, shared: bool = True
) -> Iterator[Configuration]:
    """Yield what a study of calibration measures: sizes, levels, mixes, users."""
    for (nodes, copies), share, users in itertools.product(SIZES, (0.0, 0.5, 1.0), (1, 8, 64)):
        for waited in sorted({1, copies // 2 + 1, copies}):
            yield Configuration(
                *(nodes, copies, 1 if coordinator == "leader" else waited, waited, users, share),
                coordinator=coordinator,
                cores=2.0,
                shared=shared,
                on_disk=waited > 1,
            )


def made(
    one: Configuration, number: int, model: Model, *, study: str = "made", faster: float = 1.0
) -> Run:
    """Return the run that a model says, on a cluster that is so many times as fast."""
    values = model.solved(one)
    rate = values["throughput_per_s"] * faster
    reads, writes = rate * one.read_share, rate * (1 - one.read_share)
    demands = model.demands
    used = np.array(rates_of(one, reads, writes)) @ [demands.values[name] for name in TERMS]
    shares = {"read": one.read_share, "write": 1 - one.read_share}
    kinds = [kind for kind in KINDS if shares[kind] > 0]
    return Run(
        name=f"{study}/{number:04}-r1",
        configuration=one,
        reads_per_s=reads,
        writes_per_s=writes,
        latencies_s={kind: values[f"{kind}.latency_s"] / faster for kind in kinds},
        p99_s={kind: 4 * values[f"{kind}.latency_s"] / faster for kind in kinds},
        server_cores=float(used) * contended(demands.contention, one) / faster,
        client_cores=reads * CLIENT["read"] + writes * CLIENT["write"],
        database="cassandra",
        study=study,
        study_name="calibration",
        versions={"cassandra": "5.0.8"},
        started_unix_s=1e9 + number,
        factors={
            "nodes": str(one.nodes),
            "users": str(one.users),
            "mix": f"{one.read_share:g}",
            "consistency": f"{one.asked}/{one.waited}",
        },
        levels={"update": f"{one.waited}"},
    )


def study(model: Model, name: str = "made", faster: float = 1.0) -> list[Run]:
    """Return the runs of a study of calibration."""
    return [
        made(one, number, model, study=name, faster=faster)
        for number, one in enumerate(configurations(), start=1)
    ]
