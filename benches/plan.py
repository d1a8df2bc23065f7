"""A plan over ten thousand candidates: the sweep alone, and with what simulations confirm."""

from __future__ import annotations

import time

from benches.harness import Figure
from pacelc.calibration.document import calibration_named
from pacelc.planning import Load, Machine, candidates, plan
from pacelc.planning.search import solve_clusters

TARGET_S = 10.0
NODES = range(3, 1003)
CORES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def measure() -> list[Figure]:
    """Solve 1,000 numbers of nodes with 10 numbers of cores each; then plan with them."""
    calibration = calibration_named("gandini-2014-cassandra")
    load = Load(rate_per_s=50_000, limit_s=0.012)
    clusters = candidates(NODES, [3], [Machine(cores=count) for count in CORES])
    start = time.perf_counter()
    rows = solve_clusters(load, clusters, calibration)
    swept_s = time.perf_counter() - start
    start = time.perf_counter()
    found = plan(load, clusters, calibration)
    planned_s = time.perf_counter() - start
    if found.answer is None:
        raise RuntimeError("no cluster holds the load of the benchmark")
    times = f"{len(found.simulated)} of them simulated"
    return [
        Figure(
            f"sweep over {len(rows):,} candidates, means and p99",
            f"≤ {TARGET_S:g} s",
            f"{swept_s:.1f} s",
            swept_s <= TARGET_S,
        ),
        Figure(
            f"plan over {len(rows):,} candidates, {times}",
            f"≤ {TARGET_S:g} s",
            f"{planned_s:.1f} s",
            planned_s <= TARGET_S,
        ),
    ]
