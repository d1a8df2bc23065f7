"""Processor time of the client for an operation, against each database's peers in the same run.

Ten users, records of ten fields of 100 bytes, 95 % reads and 5 % updates of all fields, one node;
the client on one core, the server on the other. pacelc's figure is that of its whole process,
Python included. Pairs alternate, and the median ratio counts: the machine's speed drifts. The first
pair isn't counted: it compiles what a server's virtual machine compiles.

What a peer spends on starting up is taken off by running it twice, over N and over 3 N operations:
only the difference counts. ``redis-benchmark`` sends one command a run, so its two figures are
weighted.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benches import peers
from benches.harness import (
    CLIENT_CORE,
    Figure,
    MissingError,
    load_spec,
    pinned_cluster,
    process_cpu_s,
    run_client,
)
from pacelc.clusters.software.fetch import jars
from pacelc.runner.operations import OBSERVE_LIMIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pacelc.clusters import Cluster

    Peer = Callable[[Cluster, int], float]
    """Processor seconds of that many operations."""

PAIRS = 3
USERS = 10
FIELDS = [word for n in range(10) for word in (f"field{n}", "x" * 100)]


def measure() -> Iterator[Figure]:
    """One line a database and peer."""
    yield from _compare("redis", [("redis-benchmark", _redis_benchmark, 50_000)])
    yield from _compare("redis", [("go-ycsb", _go_ycsb("redis"), 30_000)])
    cassandra = [("latte", _latte, 40_000), ("go-ycsb", _go_ycsb("cassandra"), 8_000)]
    yield from _compare("cassandra", cassandra)
    yield from _compare("mongodb", [("go-ycsb", _go_ycsb("mongodb"), 15_000)])
    yield from _compare("hbase", [("HBase's Java client", _hbase_java, 30_000)])
    yield _observed("redis")


def _compare(database: str, against: list[tuple[str, Peer, int]]) -> Iterator[Figure]:
    with pinned_cluster(database) as cluster:
        spec = load_spec(cluster.target(), users=USERS)
        run_client(spec)
        for name, peer, operations in against:
            title, target = f"{database}: client CPU an operation, against {name}", "< 1 ×"
            ours: list[float] = []
            theirs: list[float] = []
            try:
                for _ in range(1 + PAIRS):
                    run = run_client(spec, load_records=False)
                    ours.append(run.cpu_s / run.operations * 1e6)
                    marginal = peer(cluster, 3 * operations) - peer(cluster, operations)
                    theirs.append(marginal / (2 * operations) * 1e6)
            except MissingError as why:
                yield Figure(title, target, f"can't be measured: {why}", None)
                continue
            except subprocess.SubprocessError as error:
                # Not its text: the command has a password.
                status = getattr(error, "returncode", "time is up")
                yield Figure(title, target, f"{name} failed: {status}", False)
                continue
            ratio = median(a / b for a, b in zip(ours[1:], theirs[1:], strict=True))
            measured = f"{ratio:.2f} × ({median(ours[1:]):.1f} µs / {median(theirs[1:]):.1f} µs)"
            yield Figure(title, target, measured, ratio < 1)


def _observed(database: str) -> Figure:
    """What it costs to write operations down, as `observe` does: the writing thread included."""
    title = f"{database}: client CPU an operation with `observe`, against without"
    with pinned_cluster(database) as cluster, tempfile.TemporaryDirectory() as directory:
        plain = load_spec(cluster.target(), users=USERS)
        path = str(Path(directory) / "operations")
        observed = {"record_operations": path, "operations_limit_bytes": OBSERVE_LIMIT_BYTES}
        run_client(plain)
        pairs: list[tuple[float, float]] = []
        for _ in range(1 + 2 * PAIRS):
            runs = [run_client(spec, load_records=False) for spec in (plain | observed, plain)]
            without, with_it = (run.cpu_s / run.operations * 1e6 for run in reversed(runs))
            pairs.append((with_it, without))
    ratio = median(a / b for a, b in pairs[1:])
    with_it, without = (median(pair[i] for pair in pairs[1:]) for i in range(2))
    measured = f"{ratio:.2f} × ({with_it:.1f} µs / {without:.1f} µs)"
    return Figure(title, "≤ 1.05 ×", measured, ratio <= _MOST_OBSERVED)


_MOST_OBSERVED = 1.05


def _redis_benchmark(cluster: Cluster, operations: int) -> float:
    program = peers.redis_benchmark()
    if program is None:
        raise MissingError("redis-benchmark isn't on PATH")
    endpoint = cluster.endpoints[0]
    user, password = _login(cluster)
    to = [str(program), "-h", endpoint.host, "-p", str(endpoint.port), "--user", user]
    to += ["-a", password, "-c", str(USERS), "-q", "-n"]
    process_cpu_s([*to, "1", "HSET", "peer", *FIELDS], CLIENT_CORE)
    read = process_cpu_s([*to, str(operations), "HGETALL", "peer"], CLIENT_CORE)
    write = process_cpu_s([*to, str(operations), "HSET", "peer", *FIELDS], CLIENT_CORE)
    return 0.95 * read + 0.05 * write


def _login(cluster: Cluster) -> tuple[str, str]:
    """User and password of the load; peers take them as arguments, and nothing else is in there."""
    security = cluster.target()["security"]
    return security["user"], Path(security["password"]["file"]).read_text(encoding="ascii")


def _go_ycsb(database: str) -> Peer:
    def cpu_s(cluster: Cluster, operations: int) -> float:
        program = peers.go_ycsb()
        if program is None:
            raise MissingError("go-ycsb can't be built here: it needs go")
        endpoint = cluster.endpoints[0]
        user, password = _login(cluster) if database == "redis" else ("", "")
        address = {
            "redis": [
                *(f"redis.addr={endpoint}", "redis.datatype=hash"),
                *(f"redis.username={user}", f"redis.password={password}"),
            ],
            "mongodb": [f"mongodb.url=mongodb://{endpoint}/ycsb?w=1"],
            "cassandra": [
                f"cassandra.cluster={endpoint}",
                f"cassandra.connections={USERS}",
                # Ours, which is there: go-ycsb makes a table, but no keyspace.
                "cassandra.keyspace=pacelc",
            ],
        }[database]
        common = [
            *address,
            "table=gopeer",
            "recordcount=1000",
            f"operationcount={operations}",
            f"threadcount={USERS}",
            "readproportion=0.95",
            "updateproportion=0.05",
            "writeallfields=true",
            "requestdistribution=zipfian",
            "silence=true",
            "dropdata=false",
        ]
        if database not in _LOADED:
            _LOADED.add(database)
            process_cpu_s([str(program), "load", database, *common], CLIENT_CORE)
        return process_cpu_s([str(program), "run", database, *common], CLIENT_CORE)

    return cpu_s


_LOADED: set[str] = set()


def _latte(cluster: Cluster, operations: int) -> float:
    program = peers.latte()
    if program is None:
        raise MissingError("latte can't be built here: it needs cargo")
    endpoint = str(cluster.endpoints[0])
    latte, workload = [str(program), "--log-dir", tempfile.gettempdir()], str(peers.LATTE_WORKLOAD)
    if "latte" not in _LOADED:
        _LOADED.add("latte")
        process_cpu_s([*latte, "schema", workload, endpoint], CLIENT_CORE)
        process_cpu_s([*latte, "load", workload, endpoint], CLIENT_CORE)
    load = ["-d", str(operations), "-p", str(USERS), "-q", "-o", os.devnull, "--consistency", "ONE"]
    return process_cpu_s([*latte, "run", *load, workload, endpoint], CLIENT_CORE)


def _hbase_java(cluster: Cluster, operations: int) -> float:
    class_path = ":".join(map(str, jars("hbase", lambda _text: None)))
    classes = peers.hbase_java(class_path)
    if classes is None:
        raise MissingError("HBase's Java client needs javac")
    master = str(cluster.target()["primary"])
    command = ["java", "-cp", f"{classes}:{class_path}", "Peer", master, "usertable", "f"]
    return process_cpu_s([*command, str(USERS), str(operations)], CLIENT_CORE)
