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
    Node,
    NodeDied,
    PortInUseError,
    ResourceSampler,
    StartError,
    open_cluster,
)
from pacelc.clusters.databases.redis import ask, exchange, password_file
from pacelc.clusters.server_user import server_user

from .conftest import alive, eventually, identities, listening, owners

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

        # Root's servers aren't root, and where they aren't they can't put anything in its place.
        user = server_user()
        ours = identities(os.getpid()) if user is None else {(user.uid, user.gid)}
        assert {ids for pid in pids for ids in identities(pid)} == ours
        for plan in cluster.plans:
            assert owners(plan.data_dir, *plan.files) == {uid for uid, _ in ours}
        places = {path.parent for plan in cluster.plans for path in plan.files}
        for path in {cluster.directory, *places, cluster.directory / "owner.json"}:
            assert path.stat().st_uid == os.getuid()
            assert not path.stat().st_mode & 0o022

        # Nothing can be reached from outside: addresses are little-endian, so 7F comes last.
        assert {address[-2:] for address, _ in listening(pids)} <= {"7F"}

        with ResourceSampler({node.name: node.pid for node in cluster.nodes}, 0.2) as sampler:
            time.sleep(0.5)
        assert {row["node"] for row in sampler.rows} == {node.name for node in cluster.nodes}
        assert all(node.log_tail(3) for node in cluster.nodes)

    assert not any(alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []
    assert f"{database} serves after" in events[-2]


@pytest.mark.parametrize("database", ["redis", "valkey"])
def test_nobody_who_lacks_the_password_gets_in_and_the_load_may_use_data_alone(
    database: str, tmp_path: Path
) -> None:
    with open_cluster(spec_of(database, 2), workdir=tmp_path) as cluster:
        security = cluster.target()["security"]
        file = Path(security["password"]["file"])
        login = f"AUTH {security['user']} {file.read_text()}"
        for node in cluster.nodes:
            for command in (f"CONFIG SET dir {tmp_path}", "SAVE", "GET key", "INFO", "PING"):
                with pytest.raises(OSError, match="NOAUTH"):
                    exchange(node.endpoint, command)
            for command in (
                f"CONFIG SET dir {tmp_path}",
                *("CONFIG GET dir", "SAVE", "BGSAVE", "BGREWRITEAOF", "SHUTDOWN NOSAVE"),
                *("DEBUG SLEEP 0", "MODULE LIST", "REPLICAOF NO ONE", "FLUSHALL", "KEYS *"),
                *("ACL LIST", "MONITOR", "CLIENT LIST", "MIGRATE 127.0.0.1 1 key 0 1"),
            ):
                # From 7.0 on, servers refuse some of them to everybody.
                with pytest.raises(OSError, match=r"NOPERM|command not allowed"):
                    exchange(node.endpoint, login, command)
            assert f"tcp_port:{node.ports['client']}" in str(
                exchange(node.endpoint, login, "INFO server")[1]
            )
        primary = cluster.node("primary")
        for command in ("HSET key field 1", "WAIT 1 500", "UNLINK key", "EXISTS key"):
            exchange(primary.endpoint, login, command)

        # Two passwords, in files of pacelc's user alone, and nowhere else but in configurations.
        admin = password_file(cluster.directory, "admin")
        for secret in (file, admin):
            assert (secret.stat().st_uid, secret.stat().st_mode & 0o777) == (os.getuid(), 0o600)
            processes = [cluster.node("primary").pid, cluster.node("replica1").pid]
            for pid in processes:
                for name in ("cmdline", "environ"):
                    assert secret.read_bytes() not in Path(f"/proc/{pid}/{name}").read_bytes()
            for log in cluster.directory.glob("*.log"):
                assert secret.read_bytes() not in log.read_bytes()
        assert file.read_text() != admin.read_text()
        assert all(path.stat().st_mode & 0o077 == 0 for path in cluster.directory.glob("*.conf"))


def test_who_cannot_log_in_is_told_without_the_password(tmp_path: Path) -> None:
    with (
        open_cluster(spec_of("redis", 1), workdir=tmp_path) as cluster,
        pytest.raises(OSError, match="WRONGPASS") as caught,
    ):
        exchange(cluster.endpoints[0], "AUTH admin swordfish")
    assert "swordfish" not in str(caught.value)


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
        node = cluster.node("primary")
        assert ask(node, "SET kept 1") == ["OK"]
        node.kill()
        cluster.check()
        cluster.start("primary")
        assert eventually(lambda: _answers(node), within_s=20)
        assert ask(node, "GET kept") == ["1"]


def _answers(node: Node) -> bool:
    try:
        return ask(node, "PING") == ["PONG"]
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
            assert connection.recv(10).startswith(b"-NOAUTH")
