"""Hosts of an emulated network are as far apart as they should be, and gone at the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pacelc.clusters import ClusterError, ClusterSpec, NodeDied, ResourceSampler, open_cluster
from pacelc.clusters.databases.redis import password_file
from pacelc.clusters.network.links import Link
from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.network.regions import round_trip_ms
from pacelc.clusters.sizes.cgroups import NoGroups, find_parents

from .conftest import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pacelc.clusters import Cluster, Endpoint

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(capability().how != "root", reason=capability().reason or "not root"),
]

REGIONS = ("iowa", "south-carolina", "oregon")


def namespaces(pids: Iterable[int | str] = ("[0-9]*",)) -> set[str]:
    """Return the network namespaces that main threads of processes are in; of all, unless said.

    Tests that run beside this one have namespaces, too.
    """
    found: set[str] = set()
    for pid in pids:
        for path in Path("/proc").glob(f"{pid}/ns/net"):
            with contextlib.suppress(OSError):
                found.add(str(path.readlink()))
    return found


def own_namespace() -> str:
    """Return the network namespace of the calling thread."""
    return str(Path("/proc/thread-self/ns/net").readlink())


def round_trips_ms(endpoint: Endpoint, count: int = 20) -> list[float]:
    """Ping a Redis over one connection, which answers strangers that they should log in."""
    with socket.create_connection((endpoint.host, endpoint.port), 5) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times_ms: list[float] = []
        for _ in range(count):
            begin_s = time.perf_counter()
            connection.sendall(b"PING\r\n")
            assert connection.recv(64).startswith(b"-NOAUTH")
            times_ms.append(1000 * (time.perf_counter() - begin_s))
    return times_ms


def is_silent(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), 0.3).close()
    except TimeoutError:
        return True
    return False


def expected_ms(cluster: Cluster) -> Mapping[str, float]:
    """Return each host's round trip to the client."""
    network = cluster.network
    assert network is not None
    links = network.links
    return {
        host.address: 1000
        * sum(links[pair].delay_s or 0 for pair in ((host.name, "client"), ("client", host.name)))
        for host in network.hosts
        if host.name != "client"
    }


def assert_as_far_as_set(cluster: Cluster) -> None:
    expected = expected_ms(cluster)
    for endpoint in cluster.endpoints:
        times_ms = round_trips_ms(endpoint)
        assert statistics.median(times_ms) >= expected[endpoint.host]
        # An idle machine keeps within 0.5 ms; of a busy one the quickest says how far it is.
        assert min(times_ms) <= expected[endpoint.host] + 5


def test_redis_is_as_far_as_its_regions_while_links_change_and_partitions_come_and_go(
    tmp_path: Path,
) -> None:
    spec = ClusterSpec("redis", nodes=3, regions=REGIONS)
    with open_cluster(spec, workdir=tmp_path) as cluster:
        network = cluster.network
        assert network is not None
        pids = [node.pid for node in cluster.nodes] + [network.pid]
        theirs = namespaces(pids[:-1])
        outside = own_namespace()
        with cluster.inside():
            theirs |= {own_namespace()}  # the client's
            assert len(theirs - {outside}) == 3 + 1
            assert expected_ms(cluster)[cluster.endpoints[2].host] == pytest.approx(
                round_trip_ms("iowa", "oregon")
            )
            assert_as_far_as_set(cluster)

            there: list[str] = []
            thread = threading.Thread(target=lambda: there.append(own_namespace()))
            thread.start()
            thread.join()
            assert there == [own_namespace()]

            changed_us = network.set_links({"client <-> iowa": Link(delay_s=0.02)})
            assert abs(changed_us / 1e6 - time.time()) < 5
            assert expected_ms(cluster)[cluster.endpoints[0].host] == 40
            assert_as_far_as_set(cluster)
            network.set_links({})
            assert_as_far_as_set(cluster)

            network.cut([("client", "n2")])
            assert is_silent(cluster.endpoints[1])
            assert eventually(lambda: not is_silent(cluster.endpoints[2]))
            network.cut([])
            assert eventually(lambda: not is_silent(cluster.endpoints[1]))
        assert own_namespace() == outside

        with ResourceSampler({node.name: node.pid for node in cluster.nodes}, 0.1) as sampler:
            begin = sampler.rows[0]["net_rx_bytes"]
            with cluster.inside():
                round_trips_ms(cluster.endpoints[0], 100)
        end = [row for row in sampler.rows if row["node"] == "primary"][-1]["net_rx_bytes"]
        assert begin is not None
        assert end is not None
        assert end - begin > 100 * 40  # a ping and its acknowledgement, headers included

        record = json.loads(json.dumps(network.record()))
        assert [host["place"] for host in record["hosts"]] == [*REGIONS, "iowa"]
        assert record["regions"] == list(REGIONS)
        cut = {(pair["from"], pair["to"]): pair["cut"] for pair in record["counters"]}
        assert cut["client", "n2"] > 0
        assert cut["client", "n1"] == 0
    assert not any(alive(pid) for pid in pids)
    assert eventually(lambda: theirs.isdisjoint(namespaces()))
    assert list(tmp_path.iterdir()) == []


def test_what_is_called_on_a_host_is_done_there_and_its_errors_are_the_callers(
    tmp_path: Path,
) -> None:
    with open_cluster(ClusterSpec("redis", nodes=1, network="namespaces"), workdir=tmp_path) as it:
        network = it.network
        assert network is not None
        outside = own_namespace()
        with it.inside():
            inside = own_namespace()
        assert it.call(own_namespace) == inside
        assert network.call(own_namespace, "n1") not in {inside, outside}
        assert own_namespace() == outside
        with pytest.raises(KeyError, match="of its own"):
            it.call(lambda: {}["of its own"])
        with pytest.raises(ConnectionRefusedError):
            it.call(lambda: socket.create_connection(("10.77.0.1", 1), 2))


def test_after_a_cut_what_was_sent_before_is_waited_for(tmp_path: Path) -> None:
    with open_cluster(ClusterSpec("redis", nodes=1, network="namespaces"), workdir=tmp_path) as it:
        network, [server] = it.network, it.endpoints
        assert network is not None
        password = password_file(it.directory, "load").read_text()

        def logged_in() -> socket.socket:
            connection = socket.create_connection((server.host, server.port), 5)
            connection.sendall(f"AUTH load {password}\r\n".encode())
            assert connection.recv(16) == b"+OK\r\n"
            return connection

        with it.inside(), logged_in() as other:
            late = logged_in()
            network.cut([("client", "n1")])
            late.sendall(b"SET late 1\r\n")
            late.close()
            assert not network.drained()
            # Sent again after 0.2, 0.6 and 1.4 s, and then after 3.
            time.sleep(1.6)
            network.cut([])
            other.sendall(b"EXISTS late\r\n")
            assert other.recv(9) == b":0\r\n"
            it.settle(20, lambda _: None)
            assert network.drained()
            other.sendall(b"EXISTS late\r\n")
            assert other.recv(9) == b":1\r\n"


def test_a_server_that_is_started_again_is_on_its_host_again(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=2, links={"*": Link(delay_s=0.005)})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        cluster.node("replica1").kill()
        cluster.start("replica1")
        with cluster.inside():
            assert eventually(lambda: not is_silent(cluster.endpoints[0]))
            assert eventually(lambda: answers(cluster.endpoints[1]))
            assert_as_far_as_set(cluster)


def answers(endpoint: Endpoint) -> bool:
    try:
        return bool(round_trips_ms(endpoint, 1))
    except OSError:
        return False


def test_the_end_of_the_network_is_noticed(tmp_path: Path) -> None:
    with open_cluster(ClusterSpec("redis", nodes=1, network="namespaces"), workdir=tmp_path) as it:
        network = it.network
        assert network is not None
        os.kill(network.pid, signal.SIGKILL)
        with pytest.raises(NodeDied, match="network was ended by signal 9"):  # noqa: PT012
            assert eventually(lambda: not alive(network.pid))
            it.check()
        with pytest.raises(ClusterError, match="can't be entered"), network.inside():
            pytest.fail("there is no network to enter")
        with pytest.raises(ClusterError, match="network"):
            network.counters()


def remove_device(name: str = "wan0") -> None:
    """Remove a network device, as `ip link delete` does."""
    header, index = struct.Struct("=IHHII"), socket.if_nametoindex(name)
    message = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, 0, 0)
    delete, request_with_answer = 17, 1 | 4
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        length = header.size + len(message)
        kernel.send(header.pack(length, delete, request_with_answer, 1, 0) + message)
        (error,) = struct.unpack_from("=i", kernel.recv(4096), header.size)
    assert error == 0, os.strerror(-error)


def test_a_device_that_is_gone_ends_the_network_in_one_line_that_names_its_host(
    tmp_path: Path,
) -> None:
    spec = ClusterSpec("redis", nodes=2, network="namespaces")
    with open_cluster(spec, workdir=tmp_path) as cluster:
        network = cluster.network
        assert network is not None
        network.call(remove_device, "n2")
        assert eventually(lambda: not alive(network.pid))
        with pytest.raises(NodeDied, match="network ended with status 1") as caught:
            cluster.check()
        said = caught.value.log_tail.strip()
        assert said.startswith("error: the device of host n2 is gone: ")
        assert "\n" not in said


def test_what_the_engine_refuses_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, network="namespaces")
    with open_cluster(spec, workdir=tmp_path) as cluster:
        network = cluster.network
        assert network is not None
        theirs = namespaces([cluster.nodes[0].pid])
        assert own_namespace() not in theirs
        with pytest.raises(ClusterError, match="n7"):
            network.cut([("n1", "n7")])
        assert network.cuts == ()
        assert network.counters()
    assert eventually(lambda: theirs.isdisjoint(namespaces()))


def has_memory_groups() -> bool:
    try:
        find_parents(frozenset({"memory"}))
    except NoGroups:
        return False
    return True


@pytest.mark.parametrize(
    ("database", "victims"),
    [("redis", "pacelc"), ("redis", "keeper"), ("redis", "both"), ("mongodb", "pacelc")],
)
def test_nothing_is_left_of_the_network_when_pacelc_is_killed(
    database: str, victims: str, tmp_path: Path
) -> None:
    # The network's devices are in its namespaces, and end with them. Where control groups can be
    # made the nodes have them; only a keeper that lives can remove those.
    memory_bytes = 512 << 20 if victims == "pacelc" and has_memory_groups() else None
    script = f"""
import json, os, sys, time
from pathlib import Path
from pacelc.clusters import ClusterSpec, open_cluster
spec = ClusterSpec(
    {database!r}, nodes=12, regions=["iowa", "oregon"], memory_bytes={memory_bytes}
)
with open_cluster(spec, workdir=Path({str(tmp_path)!r})) as cluster:
    groups = cluster.directory / "groups.json"
    tops = json.loads(groups.read_text()) if groups.exists() else []
    print(json.dumps(tops))
    pids = [node.pid for node in cluster.nodes] + [cluster.network.pid]
    print(json.dumps([cluster._supervisor.pid, *pids]), flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as pacelc:
        try:
            assert pacelc.stdout is not None
            groups = [Path(top) for top in json.loads(pacelc.stdout.readline())]
            assert bool(groups) == (memory_bytes is not None)
            assert all(group.is_dir() for group in groups)
            keeper, *pids = json.loads(pacelc.stdout.readline())
            theirs = namespaces(pids[:-1])
            assert len(theirs - {own_namespace()}) == 12
            if victims == "both":
                os.kill(pacelc.pid, signal.SIGSTOP)  # or the keeper would see its end first
            begin_s = time.monotonic()
            if victims != "pacelc":
                os.kill(keeper, signal.SIGKILL)
            if victims != "keeper":
                os.kill(pacelc.pid, signal.SIGKILL)
            assert eventually(lambda: not any(alive(pid) for pid in pids), within_s=10)
            assert eventually(lambda: theirs.isdisjoint(namespaces()), within_s=10)
            assert eventually(lambda: not any(group.exists() for group in groups), within_s=10)
            # An idle machine takes 2 s at most, as the design promises.
            assert time.monotonic() - begin_s < 20
        finally:
            pacelc.kill()
