"""Processor time of the client for an operation, against ``redis-benchmark`` in the same run.

Ten connections, hashes of ten fields of 100 bytes, 95 % ``HGETALL`` and 5 % ``HSET`` of all fields;
the client on one core, the server on the other. ``redis-benchmark`` sends one command a run, so its
two figures are weighted. pacelc's figure is that of its whole process, Python included. Pairs
alternate, and the median ratio counts: the machine's speed drifts.
"""

from __future__ import annotations

import shutil
from statistics import median

from benches.harness import (
    CLIENT_CORE,
    Figure,
    load_spec,
    pinned_cluster,
    process_cpu_s,
    run_client,
)

TARGET_RATIO = 1.25
PAIRS = 3
REQUESTS = 150_000


def measure() -> list[Figure]:
    """The ratio, and both figures in microseconds."""
    name, target = "Redis client CPU an operation, against redis-benchmark", f"≤ {TARGET_RATIO} ×"
    peer = shutil.which("redis-benchmark")
    if peer is None:
        return [Figure(name, target, "redis-benchmark isn't on PATH", None)]
    ours, theirs = [], []
    with pinned_cluster("redis") as cluster:
        endpoint = cluster.endpoints[0]
        spec = load_spec(cluster.target())
        base = [
            peer,
            "-h",
            endpoint.host,
            "-p",
            str(endpoint.port),
            "-c",
            "10",
            "-n",
            str(REQUESTS),
            "-q",
        ]
        fields = [word for n in range(10) for word in (f"field{n}", "x" * 100)]
        for _ in range(PAIRS):
            run = run_client(spec)
            ours.append(run.cpu_s / run.operations * 1e6)
            process_cpu_s([*base[:-2], "1", "-q", "HSET", "usertable:peer", *fields], CLIENT_CORE)
            read = process_cpu_s([*base, "HGETALL", "usertable:peer"], CLIENT_CORE) / REQUESTS * 1e6
            write = (
                process_cpu_s([*base, "HSET", "usertable:peer", *fields], CLIENT_CORE)
                / REQUESTS
                * 1e6
            )
            theirs.append(0.95 * read + 0.05 * write)
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    measured = f"{ratio:.2f} × ({median(ours):.1f} µs / {median(theirs):.1f} µs)"
    return [Figure(name, target, measured, ratio <= TARGET_RATIO)]
