"""Memory of the client, with many users at once and over a run's length.

Users each have a connection to a real Redis. Length is tried against nothing at all, where the most
operations a second go through the client.
"""

from __future__ import annotations

from benches.harness import Figure, load_spec, pinned_cluster, run_client

MIB = 1 << 20
USERS_AND_LIMITS_MIB = ((1_000, 300), (10_000, 1024))
SHORT_S, LONG_S = 5.0, 65.0
# A sample and a line of text a second and kind of operation: kilobytes, not megabytes, a minute.
GROWTH_LIMIT_MIB = 3.0


def measure() -> list[Figure]:
    """Peak resident memory of the whole client process, Python and its libraries included."""
    figures: list[Figure] = []
    with pinned_cluster("redis") as cluster:
        for users, limit_mib in USERS_AND_LIMITS_MIB:
            run = run_client(load_spec(cluster.target(), users=users, measure_s=6.0))
            failed = sum(
                sum(kind[fate].values())
                for kind in run.result["operations"].values()
                for fate in ("fail", "unknown")
            )
            mib = run.peak_rss_bytes / MIB
            measured = f"{mib:.0f} MiB, {run.operations:,} operations, {failed} failed"
            reached = mib < limit_mib and not failed
            name = f"peak memory with {users:,} users"
            figures.append(Figure(name, f"< {limit_mib} MiB", measured, reached))
    short, long = (_peak_mib(seconds) for seconds in (SHORT_S, LONG_S))
    growth = long - short
    figures.append(
        Figure(
            f"growth of peak memory from a run of {SHORT_S:.0f} s to one of {LONG_S:.0f} s",
            f"< {GROWTH_LIMIT_MIB:.0f} MiB",
            f"{growth:+.1f} MiB ({short:.1f} to {long:.1f})",
            growth < GROWTH_LIMIT_MIB,
        )
    )
    return figures


def _peak_mib(measure_s: float) -> float:
    spec = load_spec({"database": "noop"}, measure_s=measure_s)
    return run_client(spec, load_records=False).peak_rss_bytes / MIB
