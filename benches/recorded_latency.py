"""A known delay, as recorded, from a stub that speaks just enough RESP.

It answers each request after a fixed time. The stub spins instead of sleeping, on a core of its
own, and tells how long it really took: on a busy machine it may be late itself. What the network
and the kernel add is measured with a delay of 0 and taken off at the same percentile, and an idle
task keeps the client's core from sleeping, since waking it is the kernel's time: the claim is
about the recording.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from typing import TYPE_CHECKING

from benches.harness import CLIENT_CORE, SERVER_CORE, Figure, load_spec, run_client

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

TOLERANCE = 0.02
DELAYS_MS = (1, 10, 100)
QUANTILES = {"p50": 0.5, "p99": 0.99}


def _serve(listener: socket.socket, delay_ns: int, told: Connection) -> None:
    os.sched_setaffinity(0, {SERVER_CORE})
    connections: list[socket.socket] = []
    delays_ns: list[int] = []
    listener.setblocking(False)
    while True:
        try:
            connection, _ = listener.accept()
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections.append(connection)
        except BlockingIOError:
            pass
        for connection in connections:
            try:
                request = connection.recv(65536)
            except BlockingIOError:
                continue
            except ConnectionError:
                request = b""
            received = time.perf_counter_ns()
            if not request:
                connections.remove(connection)
                if delays_ns:  # the user has left
                    told.send(delays_ns)
                    return
                break
            if b"HSET" in request:
                while time.perf_counter_ns() < received + delay_ns:
                    pass
                connection.send(b":10\r\n")
                delays_ns.append(time.perf_counter_ns() - received)
            else:
                connection.send(b"+OK\r\n" * request.count(b"\r\n*") + b"+OK\r\n")


def _spin() -> None:
    os.sched_setaffinity(0, {CLIENT_CORE})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while True:
        pass


def _record(delay_ms: float, measure_s: float) -> tuple[dict[str, float], dict[str, float]]:
    """Latencies as recorded and delays as injected, in nanoseconds, by quantile."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    told, tell = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("fork").Process(
        target=_serve, args=(listener, int(delay_ms * 1e6), tell), daemon=True
    )
    server.start()
    try:
        endpoint = f"127.0.0.1:{port}"
        spec = load_spec(
            {"database": "redis", "endpoints": [endpoint], "primary": endpoint},
            workload={"mix": {"update": 1.0}},
            users=1,
            measure_s=measure_s,
        )
        run = run_client(spec, load_records=False)
        injected = sorted(told.recv())
    finally:
        server.kill()
        server.join()
        listener.close()
    recorded = run.result["operations"]["update"]["latency_ns"]
    return recorded, {name: injected[int(q * len(injected))] for name, q in QUANTILES.items()}


def measure() -> list[Figure]:
    """A line a delay."""
    spinning = multiprocessing.get_context("fork").Process(target=_spin, daemon=True)
    spinning.start()
    try:
        return _measure()
    finally:
        spinning.kill()
        spinning.join()


def _measure() -> list[Figure]:
    base, injected = _record(0, 2)
    base_ns = {name: base[name] - injected[name] for name in QUANTILES}
    figures = []
    for delay_ms in DELAYS_MS:
        recorded, injected = _record(delay_ms, max(4, delay_ms / 5))
        errors = {name: (recorded[name] - base_ns[name]) / injected[name] - 1 for name in QUANTILES}
        figures.append(
            Figure(
                f"latency recorded of {delay_ms} ms (less what 0 ms takes)",
                f"within {TOLERANCE:.0%}",
                f"p50 {errors['p50']:+.2%}, p99 {errors['p99']:+.2%}",
                all(abs(error) <= TOLERANCE for error in errors.values()),
            )
        )
    return figures
