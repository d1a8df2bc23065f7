"""One load run in a process of its own, pinned, with its processor time and memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacelc.clusters import Cluster, ClusterSpec, open_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT_CORE = 0
SERVER_CORE = 1


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    name: str
    target: str
    measured: str
    reached: bool | None
    """None where the figure can't be measured here."""


class MissingError(Exception):
    """What a figure takes isn't on this machine."""


@dataclass(frozen=True)
class ClientRun:
    """What one load run took and gave."""

    result: dict[str, Any]
    operations: int
    """All that were issued and ok, warm-up included."""
    cpu_s: float
    """User and system time of the whole client process from the job's start to its end."""
    peak_rss_bytes: int


def load_spec(target: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A specification for the engine: YCSB-like records of 1 KB, 95/5, ten users."""
    workload = {
        "records": 1_000,
        "fields": 10,
        "field_length_bytes": 100,
        "mix": {"read": 0.95, "update": 0.05},
        "update_all_fields": True,
    } | changes.pop("workload", {})
    return {
        "target": target,
        "workload": workload,
        "consistency": "weak",
        "users": 10,
        "spawn_rate_per_s": 10_000.0,
        "warm_up_s": 0.5,
        "measure_s": 4.0,
        "operation_timeout_ms": 10_000,
        "threads": 1,
        "seed": 1,
    } | changes


def run_client(
    spec: dict[str, Any], *, load_records: bool = True, core: int | None = CLIENT_CORE
) -> ClientRun:
    """Run ``spec`` in a fresh process, on one core."""
    command = [sys.executable, "-m", "benches.harness", "load" if load_records else "no-load"]
    with_core = None if core is None else (lambda: os.sched_setaffinity(0, {core}))
    done = subprocess.run(
        command,
        input=json.dumps(spec),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=with_core,
    )
    if done.returncode != 0:
        raise RuntimeError(
            done.stderr.strip().splitlines()[-1] if done.stderr else "the client failed"
        )
    return ClientRun(**json.loads(done.stdout))


def process_cpu_s(command: list[str], core: int) -> float:
    """User and system time of a peer, run to its end on one core."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=600,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def pinned_cluster(database: str, nodes: int = 1) -> Iterator[Cluster]:
    """A cluster whose servers all run on `SERVER_CORE`."""
    spec = ClusterSpec(database=database, nodes=nodes, replication=nodes)
    with open_cluster(spec) as cluster:
        for node in cluster.nodes:
            for task in Path(f"/proc/{node.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), {SERVER_CORE})
        yield cluster


def _main() -> None:
    import pacelc  # noqa: F401, PLC0415 -- as much memory as the command line has
    from pacelc import _engine  # noqa: PLC0415

    spec = json.load(sys.stdin)
    text = json.dumps(spec)
    if sys.argv[1] == "load":
        _engine.prepare(text).result()
        _engine.load(text).result()
    before = resource.getrusage(resource.RUSAGE_SELF)
    job = _engine.run(text)
    job.wait(3_600.0)
    operations = job.progress()["ok"]
    result = json.loads(job.result())
    after = resource.getrusage(resource.RUSAGE_SELF)
    del result["latency_log"]
    json.dump(
        {
            "result": result,
            "operations": operations,
            "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "peak_rss_bytes": after.ru_maxrss * 1024,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    _main()
