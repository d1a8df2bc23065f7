"""A schedule kept against a real Redis, at half of its capacity, and through a stall.

Nothing is pinned: client and server share the machine as in any study. The stall is a real one:
the server is stopped by a signal. Every operation that was due meanwhile waited for its end, so
that with a rate of R the latencies of the R operations of that second run from one second down to
none; of the N operations of the run, the R highest are known, and so is each percentile above
1 - R/N. The reported 99.9th percentile is compared with that.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from benches.harness import Figure, load_spec, run_client
from pacelc.clusters import ClusterSpec, open_cluster

USERS = 64
LAG_LIMIT_US = 100.0
STALL_S = 1.0
STALL_RATE_PER_S = 1_000.0
STALL_MEASURE_S = 10.0
TOLERANCE = 0.05


def measure() -> list[Figure]:
    """Lag at half of capacity, and the 99.9th percentile with a stall."""
    spec = ClusterSpec(database="redis", nodes=1, replication=1)
    with open_cluster(spec) as cluster:
        target = cluster.target()
        closed = run_client(load_spec(target, users=USERS), core=None)
        capacity = closed.operations / (0.5 + closed.result["measured_s"])
        return [
            _lag(target, capacity / 2),
            _stall(target, cluster.nodes[0].pid),
        ]


def _lag(target: dict[str, Any], rate_per_s: float) -> Figure:
    arrivals = {"open": {"rate_per_s": rate_per_s, "spread": "exponential"}}
    spec = load_spec(target, users=USERS, arrivals=arrivals, measure_s=8.0)
    kept = run_client(spec, load_records=False, core=None).result["schedule"]
    lag_us = kept["lag_ns"]["p99"] / 1e3
    measured = (
        f"{lag_us:.0f} µs at {rate_per_s:,.0f} a second (p50 {kept['lag_ns']['p50'] / 1e3:.0f} µs)"
    )
    return Figure(
        "lateness of starts at 50 % of Redis's capacity, p99",
        f"≤ {LAG_LIMIT_US:.0f} µs",
        measured,
        lag_us <= LAG_LIMIT_US,
    )


def _stall(target: dict[str, Any], server_pid: int) -> Figure:
    arrivals = {"open": {"rate_per_s": STALL_RATE_PER_S}}
    spec = load_spec(target, users=USERS, arrivals=arrivals, measure_s=STALL_MEASURE_S)
    begin_s = 5.0  # well inside of measuring, however long the client takes to start
    timers = [
        threading.Timer(begin_s, os.kill, (server_pid, signal.SIGSTOP)),
        threading.Timer(begin_s + STALL_S, os.kill, (server_pid, signal.SIGCONT)),
    ]
    for timer in timers:
        timer.start()
    operations = run_client(spec, load_records=False, core=None).result["operations"]
    for timer in timers:
        timer.join()
    seen_ms = operations["read"]["latency_ns"]["p999"] / 1e6
    beyond = 0.001 * STALL_RATE_PER_S * STALL_MEASURE_S
    expected_ms = 1e3 * (STALL_S - beyond / STALL_RATE_PER_S)
    service_ms = operations["read"]["service_ns"]["p99"] / 1e6
    measured = (
        f"{seen_ms:.0f} ms, expected {expected_ms:.0f} ms (p99 of service {service_ms:.1f} ms)"
    )
    return Figure(
        f"p99.9 after a stall of {STALL_S:.0f} s in {STALL_MEASURE_S:.0f} s",
        f"within {TOLERANCE:.0%} of the stall's",
        measured,
        abs(seen_ms / expected_ms - 1) <= TOLERANCE,
    )
