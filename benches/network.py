"""The emulated network: round trips against those set, what it adds, and what it carries.

Two hosts. Round trips are those of ICMP, as `ping` takes them. What the network adds is that of a
small message to and fro over one TCP connection (`TCP_NODELAY`) against the same two programs on
loopback, in the same run. What it carries is per core of its own process, whose processor time is
counted.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from benches.harness import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B = "10.77.0.1", "10.77.0.2"
CLONE_NEWNET = 0x40000000
BULK_BYTES = 4_000_000_000
SMALL_BYTES = 200_000_000

ECHO = """
import socket, sys
listener = socket.create_server((sys.argv[1], 7000))
print(flush=True)
stream, _ = listener.accept()
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while data := stream.recv(64):
    stream.send(data)
"""
# As ping does it: the other host's kernel answers, and the kernel here says when the answer came.
ECHO_REQUEST = """
import json, socket, struct, sys, time
SO_TIMESTAMPNS = 35
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
times = []
for number in range(1, int(sys.argv[2]) + 1):
    checksum = 0xFFFF - 0x0800 - number
    sent_ns = time.time_ns()
    raw.sendto(struct.pack("!BBHHH", 8, 0, checksum, 0, number), (sys.argv[1], 0))
    while True:
        data, notes, _, _ = raw.recvmsg(128, 64)
        if data[20] == 0 and data[26:28] == number.to_bytes(2, "big"):
            break
    seconds, nanoseconds = struct.unpack("qq", notes[0][2])
    times.append(1e-9 * (seconds * 1_000_000_000 + nanoseconds - sent_ns))
print(json.dumps(sorted(times)))
"""
PING = """
import json, socket, sys, time
stream = socket.create_connection((sys.argv[1], 7000))
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
times = []
for _ in range(int(sys.argv[2])):
    begin = time.perf_counter()
    stream.send(b"x")
    stream.recv(64)
    times.append(time.perf_counter() - begin)
print(json.dumps(sorted(times)))
"""
SINK = """
import socket, sys
listener = socket.create_server((sys.argv[1], 7000))
print(flush=True)
stream, _ = listener.accept()
buffer = bytearray(1 << 20)
while stream.recv_into(buffer):
    pass
stream.send(b"x")
"""
SOURCE = """
import socket, sys, time
stream = socket.create_connection((sys.argv[1], 7000))
left, chunk = int(sys.argv[2]), bytes(1 << 20)
begin = time.perf_counter()
while left > 0:
    left -= stream.send(chunk)
stream.shutdown(socket.SHUT_WR)
stream.recv(1)
print(time.perf_counter() - begin)
"""


class Network:
    """The network's process, and who commands it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.hosts: dict[str, str] = json.loads(self._hear())["hosts"]

    def _hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def ask(self, **command: Any) -> dict[str, Any]:
        """Carry out a command."""
        assert self.process.stdin is not None
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return json.loads(self._hear())

    def cpu_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def delivered(self) -> int:
        """Pieces handed over so far."""
        return sum(pair["delivered"] for pair in self.ask(do="counters")["pairs"])


@contextmanager
def network(link: dict[str, Any]) -> Iterator[Network]:
    """Two hosts, joined by such a link both ways."""
    hosts = [{"name": "a", "address": A}, {"name": "b", "address": B}]
    links = [{"from": ["a", "b"], "to": ["a", "b"], **link}]
    code = "import sys; from pacelc import _engine; _engine.network(sys.argv[1])"
    command = [sys.executable, "-c", code, json.dumps({"hosts": hosts, "links": links})]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Network(process)
        assert process.stdin is not None
        process.stdin.close()


def within(path: str | None, code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a small program, in a host or on this machine."""

    def enter() -> None:
        if path is not None:
            descriptor = os.open(path, os.O_RDONLY)
            if ctypes.CDLL(None).setns(descriptor, CLONE_NEWNET) != 0:
                os._exit(1)

    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=enter,  # noqa: PLW1509 -- this process has one thread
    )


def said(program: subprocess.Popen[str]) -> str:
    """The next line of a program."""
    output: IO[str] | None = program.stdout
    assert output is not None
    return output.readline()


def pair(hosts: dict[str, str] | None, server: str, client: str, argument: int) -> str:
    """Run a server and its client; what the client says."""
    to = "127.0.0.1" if hosts is None else B
    with within(None if hosts is None else hosts["b"], server, to) as serving:
        said(serving)
        with within(None if hosts is None else hosts["a"], client, to, argument) as asking:
            answer = said(asking)
        serving.wait(10)
    return answer


def round_trips_s(hosts: dict[str, str] | None, count: int) -> list[float]:
    """Round trips, sorted."""
    return json.loads(pair(hosts, ECHO, PING, count))


def measure() -> Iterator[Figure]:
    """What is promised of the network."""
    try:
        socket.if_nameindex()
        with network({}):
            pass
    except (OSError, IndexError, json.JSONDecodeError):
        yield Figure("emulated network", "", "no network namespaces here", None)
        return
    yield from _accuracy()
    yield _added()
    yield from _carried()


def _accuracy() -> Iterator[Figure]:
    for set_ms, count in [(1, 1_000), (10, 300), (70, 200), (200, 100)]:
        with (
            network({"delay_us": set_ms * 500}) as emulated,
            within(emulated.hosts["a"], ECHO_REQUEST, B, count) as asking,
        ):
            times_ms = [1e3 * time_s for time_s in json.loads(said(asking))]
        median, p99 = times_ms[count // 2], times_ms[int(0.99 * count) - 1]
        yield Figure(
            f"emulated round trip of {set_ms} ms: median, p99",
            "within 0.2 ms, 1 ms",
            f"{median - set_ms:+.3f} ms, {p99 - set_ms:+.3f} ms",
            abs(median - set_ms) <= 0.2 and abs(p99 - set_ms) <= 1.0,
        )


def _added() -> Figure:
    loopback_s = round_trips_s(None, 5_000)[2_500]
    with network({}) as emulated:
        through_s = round_trips_s(emulated.hosts, 5_000)[2_500]
    added_us = 1e6 * (through_s - loopback_s)
    return Figure(
        "what a link without delay adds to a round trip, median",
        "< 60 µs",
        f"{added_us:.1f} µs (loopback {1e6 * loopback_s:.1f} µs)",
        added_us < 60,
    )


def _carried() -> Iterator[Figure]:
    promised, beside = "≥ 3 Gbit/s or 300,000 packets/s", "–"
    for name, link, size, target in [
        ("bulk TCP", {}, BULK_BYTES, promised),
        # What a link costs that looks at single packets.
        ("TCP in single packets", {"loss": 1e-12}, SMALL_BYTES, beside),
    ]:
        with network(link) as emulated:
            cpu_s = emulated.cpu_s()
            took_s = float(pair(emulated.hosts, SINK, SOURCE, size))
            cpu_s = emulated.cpu_s() - cpu_s
            packets = emulated.delivered()
        gbit_per_core = 8e-9 * size / cpu_s
        yield Figure(
            f"{name} between two nodes, a core of the network's process",
            target,
            f"{gbit_per_core:.1f} Gbit/s, {packets / cpu_s:,.0f} pieces/s "
            f"({8e-9 * size / took_s:.1f} Gbit/s here)",
            None if target == beside else gbit_per_core >= 3 or packets / cpu_s >= 300_000,
        )
