"""Rows say what processes really used, and counters never fall."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Literal

from pacelc.clusters import ResourceRow, ResourceSampler

from .conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COUNTERS: tuple[
    Literal[
        "t_s",
        "cpu_s",
        "cpu_user_s",
        "cpu_system_s",
        "disk_write_bytes",
        "net_rx_bytes",
        "net_tx_bytes",
    ],
    ...,
] = (
    "t_s",
    "cpu_s",
    "cpu_user_s",
    "cpu_system_s",
    "disk_write_bytes",
    "net_rx_bytes",
    "net_tx_bytes",
)

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"


def rows_of(rows: Sequence[ResourceRow], node: str) -> list[ResourceRow]:
    """Return one node's rows."""
    return [row for row in rows if row["node"] == node]


def assert_monotone(rows: Sequence[ResourceRow]) -> None:
    """No counter of one node's rows falls."""
    for before, after in itertools.pairwise(rows):
        for name in COUNTERS:
            low, high = before[name], after[name]
            assert low is None or high is None or high >= low, name


def test_counters_of_a_tree_are_monotone_although_its_children_end() -> None:
    script = (
        "import subprocess, sys\n"
        f"for _ in range(3): subprocess.run([sys.executable, '-c', {BURN!r}])\n"
        "input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        with ResourceSampler({"server": process.pid}, interval_s=0.03) as sampler:
            assert eventually(lambda: sampler.rows[-1]["cpu_s"] > 0.9, within_s=60)
        rows = rows_of(sampler.rows, "server")
        assert_monotone(rows)
        assert max(row["rss_bytes"] for row in rows) > 1_000_000
        process.kill()


def test_servers_in_sessions_of_their_own_are_not_counted_as_the_client() -> None:
    busy = subprocess.Popen(
        [sys.executable, "-c", BURN + "input()"], stdin=subprocess.PIPE, start_new_session=True
    )
    with busy, ResourceSampler({"client": os.getpid(), "server": busy.pid}, 0.05) as sampler:
        assert eventually(lambda: rows_of(sampler.rows, "server")[-1]["cpu_s"] > 0.25, within_s=60)
        busy.kill()
    first, *_, last = rows_of(sampler.rows, "client")
    assert last["cpu_s"] - first["cpu_s"] < 0.2


def test_bytes_written_to_disk_are_counted(tmp_path: Path) -> None:
    with ResourceSampler({"client": os.getpid()}, interval_s=10) as sampler:
        (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    first, *_, last = sampler.rows
    if first["disk_write_bytes"] is not None and last["disk_write_bytes"] is not None:
        assert last["disk_write_bytes"] - first["disk_write_bytes"] >= 1_000_000


def test_bytes_of_connections_are_counted_on_the_side_that_sent_them() -> None:
    echo = (
        "import socket, sys\n"
        "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "c, _ = s.accept(); n = 0\n"
        "while n < 500_000: n += len(c.recv(65536))\n"
        "c.sendall(b'done'); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", echo],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with (
            ResourceSampler({"client": os.getpid(), "server": server.pid}, 10) as sampler,
            socket.create_connection(("127.0.0.1", port)) as connection,
        ):
            connection.sendall(b"x" * 500_000)
            assert connection.recv(4) == b"done"
            rows = sampler.stop()
        client, peer = rows_of(rows, "client")[-1], rows_of(rows, "server")[-1]
        if client["net_tx_bytes"] is not None:  # the kernel has socket diagnostics
            assert 500_000 <= client["net_tx_bytes"] <= 500_010
            assert peer["net_rx_bytes"] == 500_000
            assert client["net_rx_bytes"] == 4
        server.kill()


def test_a_node_that_ended_has_no_more_rows_and_goes_on_counting_when_it_is_started_again() -> None:
    with subprocess.Popen([sys.executable, "-c", BURN + "input()"], stdin=subprocess.PIPE) as first:
        with ResourceSampler({"server": first.pid}, interval_s=0.03) as sampler:
            assert eventually(lambda: sampler.rows[-1]["cpu_s"] > 0.25, within_s=60)
            first.kill()
            first.wait()
            time.sleep(0.1)
            count = len(sampler.rows)
            time.sleep(0.2)
            assert len(sampler.rows) == count
            with subprocess.Popen(
                [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
            ) as second:
                sampler.follow("server", second.pid)
                assert eventually(lambda: len(sampler.rows) > count)
                second.kill()
        assert_monotone(sampler.rows)
