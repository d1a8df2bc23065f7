"""Memory of the client with 1,000 users at once, each with a connection, against a real Redis."""

from __future__ import annotations

from benches.harness import Figure, load_spec, pinned_cluster, run_client

LIMIT_BYTES = 300 << 20


def measure() -> list[Figure]:
    """Peak resident memory of the whole client process, Python and its libraries included."""
    with pinned_cluster("redis") as cluster:
        run = run_client(load_spec(cluster.target(), users=1_000))
    failed = sum(
        sum(kind[fate].values())
        for kind in run.result["operations"].values()
        for fate in ("fail", "unknown")
    )
    measured = (
        f"{run.peak_rss_bytes / (1 << 20):.0f} MiB, {run.operations:,} operations, {failed} failed"
    )
    return [
        Figure(
            "peak memory with 1,000 users",
            "< 300 MiB",
            measured,
            run.peak_rss_bytes < LIMIT_BYTES and not failed,
        )
    ]
