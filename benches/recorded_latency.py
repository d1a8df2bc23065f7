"""A known delay, as recorded, from a stub that speaks just enough RESP.

It answers each request after a fixed time. The stub spins instead of sleeping, on a core of its
own, so that its delay is exact to about a microsecond. What the network and the kernel add is
measured with a delay of 0 and taken off: the claim is about the recording.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import time

from benches.harness import SERVER_CORE, Figure, load_spec, run_client

TOLERANCE = 0.02
DELAYS_MS = (1, 10, 100)


def _serve(listener: socket.socket, delay_ns: int) -> None:
    os.sched_setaffinity(0, {SERVER_CORE})
    connections: list[socket.socket] = []
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
                break
            commands = sum(line.startswith(b"*") for line in request.split(b"\r\n"))
            if b"HSET" in request:
                while time.perf_counter_ns() < received + delay_ns:
                    pass
            connection.send(b":10\r\n" * commands if b"HSET" in request else b"+OK\r\n" * commands)


def _record(delay_ms: float, measure_s: float) -> dict[str, float]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = multiprocessing.get_context("fork").Process(
        target=_serve, args=(listener, int(delay_ms * 1e6)), daemon=True
    )
    server.start()
    try:
        spec = load_spec(
            {
                "database": "redis",
                "endpoints": [f"127.0.0.1:{port}"],
                "primary": f"127.0.0.1:{port}",
            },
            workload={"mix": {"update": 1.0}},
            users=1,
            measure_s=measure_s,
        )
        return run_client(spec, load_records=False).result["operations"]["update"]["latency_ns"]
    finally:
        server.kill()
        server.join()
        listener.close()


def measure() -> list[Figure]:
    """A line a delay."""
    base = _record(0, 2)
    figures = []
    for delay_ms in DELAYS_MS:
        recorded = _record(delay_ms, max(4, delay_ms / 10))
        errors = {
            name: (recorded[name] - base["p50"]) / (delay_ms * 1e6) - 1 for name in ("p50", "p99")
        }
        figures.append(
            Figure(
                f"latency recorded of {delay_ms} ms (less the {base['p50'] / 1e3:.0f} µs of 0 ms)",
                f"within {TOLERANCE:.0%}",
                f"p50 {errors['p50']:+.2%}, p99 {errors['p99']:+.2%}",
                all(abs(error) <= TOLERANCE for error in errors.values()),
            )
        )
    return figures
