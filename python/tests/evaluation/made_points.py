"""Points whose measures are plain functions of their configuration."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from pacelc.calibration.runs import Configuration, Point, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES: Final = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 3))
USERS: Final = (1, 4, 16, 64)


def configurations(*, shared: bool = True) -> Iterator[Configuration]:
    """Sizes, levels, mixes and users, as a study of calibration has them."""
    for (nodes, copies), share, users in itertools.product(SIZES, (0.0, 0.5, 1.0), USERS):
        for waited in sorted({1, copies}) if share < 1 else [1]:
            yield Configuration(nodes, copies, 1, waited, users, share, "any", 2.0, shared=shared)


def point(
    one: Configuration,
    throughput_per_s: Callable[[Configuration], float],
    study: str = "one",
    group: tuple[tuple[str, object], ...] = (("database", "cassandra"),),
) -> Point:
    """A point of one run, by Little's law; percentiles are three times means."""
    rate = throughput_per_s(one)
    kinds = [
        kind for kind, share in (("read", one.read_share), ("write", 1 - one.read_share)) if share
    ]
    run = Run(
        name=f"{study}/1",
        configuration=one,
        reads_per_s=rate * one.read_share,
        writes_per_s=rate * (1 - one.read_share),
        latencies_s=dict.fromkeys(kinds, one.users / rate),
        p99_s=dict.fromkeys(kinds, 3 * one.users / rate),
        server_cores=1.0,
        client_cores=0.5,
        database="cassandra",
        group=group,
        study=study,
        started_unix_s=1e9 + sum(map(ord, study)),
        factors={"consistency": "strong" if one.waited > 1 else "weak"},
    )
    return Point(one, run.cluster, run.measured(), (run,))
