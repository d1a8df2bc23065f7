"""Every database starts, serves, and vanishes: one suite for all of them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_servers import STARTS_SOON, first_host

from pacelc.clusters import (
    DATABASES,
    ClusterSpec,
    NodeDied,
    PortInUseError,
    ResourceSampler,
    StartError,
    open_cluster,
)

from .conftest import alive, eventually, listening

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.cluster

START_TIMEOUT_S = 280.0
"""A machine that compiles something at the same time is slow; an idle one needs a tenth."""

HERE = first_host(0).removesuffix(".1")


def spec_of(database: str, nodes: int, **options: object) -> ClusterSpec:
    """Return a spec on this process's own addresses."""
    return ClusterSpec(database, nodes=nodes, options={"first_host": f"{HERE}.1", **options})  # pyright: ignore[reportArgumentType]


# What no server accepts, in each one's own terms.
BAD_OPTIONS: Mapping[str, Mapping[str, object]] = {
    "redis": {"config": {"no-such-directive": "1"}},
    "valkey": {"config": {"no-such-directive": "1"}},
    "mongodb": {"arguments": ["--no-such-argument"]},
    "cassandra": {"config": {"no_such_setting": 1}, **STARTS_SOON},
    "hbase": {"jvm_flags": ["-XX:+NoSuchFlag"]},
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("database", DATABASES)
def test_three_nodes_start_and_serve_and_vanish(database: str, tmp_path: Path) -> None:
    events: list[str] = []
    spec = spec_of(database, 3)
    with open_cluster(
        spec,
        workdir=tmp_path,
        on_event=lambda event: events.append(str(event)),
        timeout_s=START_TIMEOUT_S,
    ) as cluster:
        pids = {node.pid for node in cluster.nodes}
        assert all(alive(pid) for pid in pids)
        cluster.check()

        target = json.loads(json.dumps(cluster.target()))
        assert target["database"] == database
        assert target["primary"] == target["endpoints"][0]
        assert (target["nodes"], target["replication"]) == (3, 3)
        servers = target.get("region_servers", target["endpoints"])
        assert len(set(servers)) == 3
        for address in {*servers, *target["endpoints"]}:
            host, port = address.split(":")
            socket.create_connection((host, int(port)), 5).close()

        assert re.fullmatch(r"\d+\.\d+\.\d+\S*", cluster.versions[database])
        assert cluster.versions["source"].startswith(("packaged:", "system:"))

        # Nothing can be reached from outside: addresses are little-endian, so 7F comes last.
        assert {address[-2:] for address, _ in listening(pids)} <= {"7F"}

        with ResourceSampler({node.name: node.pid for node in cluster.nodes}, 0.2) as sampler:
            time.sleep(0.5)
        assert {row["node"] for row in sampler.rows} == {node.name for node in cluster.nodes}
        assert all(node.log_tail(3) for node in cluster.nodes)

    assert not any(alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []
    assert f"{database} serves after" in events[-2]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("database", DATABASES)
def test_a_setting_that_a_server_refuses_is_explained_by_its_log(
    database: str, tmp_path: Path
) -> None:
    spec = spec_of(database, 1, **BAD_OPTIONS[database])
    with (
        pytest.raises(NodeDied) as caught,
        open_cluster(spec, workdir=tmp_path, timeout_s=START_TIMEOUT_S),
    ):
        pytest.fail("it must not serve")
    assert re.search(r"(?i)no.?such", str(caught.value.log_tail))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("database", "nodes", "options"), [("redis", 2, {}), ("cassandra", 1, STARTS_SOON)]
)
def test_no_server_outlives_a_pacelc_that_is_killed(
    database: str, nodes: int, options: Mapping[str, object], tmp_path: Path
) -> None:
    given = {"first_host": f"{HERE}.1", **options}
    script = f"""
import json, sys, time
from pathlib import Path
from pacelc.clusters import ClusterSpec, open_cluster
spec = ClusterSpec({database!r}, nodes={nodes}, options={given!r})
with open_cluster(spec, workdir=Path(sys.argv[1]), timeout_s={START_TIMEOUT_S}) as cluster:
    print(json.dumps([node.pid for node in cluster.nodes]), flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as pacelc:
        assert pacelc.stdout is not None
        pids: list[int] = json.loads(pacelc.stdout.readline())
        assert all(alive(pid) for pid in pids)
        pacelc.send_signal(signal.SIGKILL)
        pacelc.wait()
    for pid in pids:
        assert eventually(lambda pid=pid: not alive(pid))
    assert eventually(lambda: list(tmp_path.iterdir()) == [])


def test_ctrl_c_ends_the_servers_before_pacelc(tmp_path: Path) -> None:
    pids: list[int] = []
    with (  # noqa: PT012 -- the interrupt comes in the middle
        pytest.raises(KeyboardInterrupt),
        open_cluster(spec_of("redis", 2), workdir=tmp_path) as cluster,
    ):
        pids = [node.pid for node in cluster.nodes]
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    assert pids
    assert not any(alive(pid) for pid in pids)


def test_a_port_in_use_is_named_before_any_server_starts(tmp_path: Path) -> None:
    with (
        socket.create_server((f"{HERE}.2", 16379)),
        pytest.raises(PortInUseError, match=rf"{HERE}\.2:16379.*replica1"),
        open_cluster(spec_of("redis", 3), workdir=tmp_path),
    ):
        pytest.fail("it must not start")
    assert list(tmp_path.iterdir()) == []


def test_two_clusters_run_side_by_side_on_addresses_of_their_own(tmp_path: Path) -> None:
    there = ClusterSpec("redis", nodes=2, options={"first_host": f"{HERE}.11"})
    with (
        open_cluster(spec_of("redis", 2), workdir=tmp_path) as one,
        open_cluster(there, workdir=tmp_path) as other,
    ):
        assert not {str(e) for e in one.endpoints} & {str(e) for e in other.endpoints}
        one.check()
        other.check()


def test_a_cluster_that_does_not_come_to_serve_in_time_says_what_it_waited_for(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(StartError, match="time is up waiting until the probe succeeds") as caught,
        open_cluster(
            spec_of("redis", 1),
            workdir=tmp_path,
            timeout_s=10,
            probe=lambda target: target["database"] == "mongodb",
        ),
    ):
        pytest.fail("it must not serve")
    assert "Ready to accept connections" in str(caught.value.log_tail)


def test_a_node_that_was_killed_on_purpose_is_no_failure_and_starts_again_with_its_data(
    tmp_path: Path,
) -> None:
    spec = spec_of("redis", 2, appendonly=True, appendfsync="always")
    with open_cluster(spec, workdir=tmp_path) as cluster:
        endpoint = cluster.endpoints[0]

        def ask(command: bytes) -> bytes:
            with socket.create_connection((endpoint.host, endpoint.port), 2) as connection:
                connection.sendall(command + b"\r\n")
                return connection.recv(100)

        assert ask(b"SET kept 1") == b"+OK\r\n"
        cluster.node("primary").kill()
        cluster.check()
        cluster.start("primary")
        assert eventually(lambda: _answers(ask), within_s=20)
        assert ask(b"GET kept") == b"$1\r\n1\r\n"


def _answers(ask: object) -> bool:
    try:
        return callable(ask) and ask(b"PING") == b"+PONG\r\n"
    except OSError:
        return False


def test_a_server_that_dies_by_itself_is_a_failure(tmp_path: Path) -> None:
    with open_cluster(spec_of("redis", 2), workdir=tmp_path) as cluster:
        os.kill(cluster.node("replica1").pid, signal.SIGKILL)
        with pytest.raises(NodeDied, match="replica1 was ended by signal 9"):
            eventually(lambda: cluster.check() is not None)


def test_a_paused_node_is_silent_but_not_gone(tmp_path: Path) -> None:
    with open_cluster(spec_of("redis", 2), workdir=tmp_path) as cluster:
        node = cluster.node("replica1")
        node.pause()
        threads = list(Path(f"/proc/{node.pid}/task").iterdir())
        states = {(one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads}
        assert states == {"T"}, "whoever has asked for it finds it standing"
        cluster.check()
        with socket.create_connection((node.host, node.ports["client"]), 2) as connection:
            connection.settimeout(0.3)
            connection.sendall(b"PING\r\n")
            with pytest.raises(TimeoutError):
                connection.recv(10)
            node.resume()
            connection.settimeout(5)
            assert connection.recv(10) == b"+PONG\r\n"
