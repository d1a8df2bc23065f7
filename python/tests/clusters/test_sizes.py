"""A node has the size that was asked for: by the kernel's word, and under load."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_servers import first_host

from pacelc.clusters import DATABASES, ClusterError, ClusterSpec, NodeDied, SpecError, open_cluster
from pacelc.clusters.checking import checked
from pacelc.clusters.databases import cassandra, hbase
from pacelc.clusters.databases.mongodb import usual_cache_gib
from pacelc.clusters.databases.redis import ask
from pacelc.clusters.process import Workspace
from pacelc.clusters.protocol import Records, Software
from pacelc.clusters.resize import resizable
from pacelc.clusters.sizes import cgroups
from pacelc.clusters.sizes import size as sizes
from pacelc.clusters.sizes.cgroups import Groups, NoGroups, Parents, find_parents, quota_us
from pacelc.clusters.sizes.estimate import cluster_memory_bytes, require_memory
from pacelc.clusters.sizes.size import (
    GIB,
    MIB,
    Sizes,
    in_a_run,
    nodes_of,
    shared_out,
)
from pacelc.clusters.software.java import heap_mib
from pacelc.study.values import parse_bytes

from .conftest import alive, eventually, processor_s

HERE = first_host(1)
BOTH = frozenset({"cpu", "memory"})

# --- The rules ---


@given(st.floats(min_value=0.01, max_value=512))
def test_a_quota_is_as_many_cores_as_were_asked_for_and_one_that_the_kernel_takes(
    cores: float,
) -> None:
    quota, period = quota_us(cores)
    assert quota >= 1000
    assert 1000 <= period <= 1_000_000
    assert quota / period == pytest.approx(cores, rel=0.05)


@given(st.integers(min_value=0, max_value=2**33 - 1))
def test_an_amount_of_bytes_is_the_same_in_every_unit(count: int) -> None:
    assert parse_bytes(count) == parse_bytes(str(count)) == count
    assert parse_bytes(f"{count}KiB") == parse_bytes(f" {count} KiB ") == 1024 * count
    assert parse_bytes(f"{count}MB") == 10**6 * count
    assert parse_bytes(f"{count}GiB") == 1024 * parse_bytes(f"{count}MiB")


@pytest.mark.parametrize(
    "text", ["", "much", "-1GiB", "1 G", "1gib", "1e9", "GiB", True, 1.5, "8589934592GiB"]
)
def test_what_is_no_amount_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="should be an amount"):
        parse_bytes(text)


@given(
    st.sampled_from([cassandra.BESIDE_HEAP_MIB, hbase.BESIDE_HEAP_MIB]),
    st.integers(min_value=1, max_value=128 * 1024),
    st.integers(min_value=0, max_value=1024),
)
def test_a_heap_leaves_room_beside_it_and_grows_with_the_memory(
    beside_mib: int, memory_mib: int, others_mib: int
) -> None:
    def heap(mib: int) -> int:
        spec = ClusterSpec("it", memory_bytes=mib * MIB)
        return heap_mib(spec, 1, least_mib=256, beside_mib=beside_mib, others_mib=others_mib)

    try:
        mine = heap(memory_mib)
    except SpecError as error:
        least = int(str(error.hint).partition("memory to ")[2].partition("MiB")[0])
        assert least > memory_mib
        assert heap(least) == 256, "what the refusal names is enough, and no more than that"
        return
    assert 256 <= mine <= 31 * 1024
    assert mine <= memory_mib / 2
    assert mine + beside_mib + others_mib <= memory_mib
    assert mine <= heap(memory_mib + 1)


@given(st.integers(min_value=0, max_value=256 * GIB))
def test_mongodbs_cache_fits_into_the_memory_or_the_memory_is_refused(memory_bytes: int) -> None:
    try:
        cache_gib = usual_cache_gib(memory_bytes)
    except SpecError:
        assert memory_bytes < GIB
        return
    assert 0.25 <= cache_gib < memory_bytes / GIB


@given(st.integers(1, 12), st.integers(1, 8), st.integers(1, 16))
def test_processors_are_shared_out_evenly(nodes: int, cores: int, machine: int) -> None:
    cores = min(cores, machine)
    shares = shared_out([str(n) for n in range(nodes)], cores, list(range(machine)))
    assert all(len(set(share)) == cores for share in shares.values())
    times = [sum(cpu in share for share in shares.values()) for cpu in range(machine)]
    assert max(times) - min(times) <= 1


@pytest.mark.parametrize(
    ("cores", "memory_bytes"),
    [(0.0, None), (-1.0, None), (float("nan"), None), (float("inf"), None), (None, 2)],
)
def test_what_is_no_size_is_refused(cores: float | None, memory_bytes: int | None) -> None:
    with pytest.raises(SpecError, match="a node needs at least"):
        checked(ClusterSpec("redis", cores=cores, memory_bytes=memory_bytes))


@pytest.mark.parametrize("database", ["cassandra", "hbase"])
def test_a_node_too_small_for_its_database_is_refused_with_the_least(database: str) -> None:
    with pytest.raises(SpecError, match="it needs") as caught:
        checked(ClusterSpec(database, memory_bytes=200 * MIB))
    assert caught.value.hint is not None
    least = parse_bytes(caught.value.hint.split()[3])
    assert checked(ClusterSpec(database, memory_bytes=least)).memory_bytes == least


def test_a_node_larger_than_the_machine_is_refused() -> None:
    with pytest.raises(SpecError, match="can't have 4,096 cores"):
        sizes.require(ClusterSpec("redis", cores=4096))
    with pytest.raises(SpecError, match="GiB of memory: this machine has"):
        sizes.require(ClusterSpec("redis", memory_bytes=2**50))


def planned(spec: ClusterSpec, directory: Path) -> dict[str, tuple[str, ...]]:
    """Return each server's command line; nothing is started."""
    software = Software(("/java", "/jars"), {})
    plans = DATABASES[spec.database].plan(spec, software, directory)
    return {plan.name: plan.argv for plan in plans}


@pytest.mark.parametrize("database", ["cassandra", "hbase"])
def test_a_jvm_is_told_of_its_nodes_size(database: str, tmp_path: Path) -> None:
    spec = ClusterSpec(database, cores=1.5, memory_bytes=4 * GIB)
    for argv in planned(spec, tmp_path).values():
        assert "-XX:ActiveProcessorCount=2" in argv
        assert "-XX:MaxDirectMemorySize=1024m" in argv
    others = hbase.COORDINATION_MIB if database == "hbase" else 0
    assert f"-Xmx{(4096 - others) // 2}m" in planned(spec, tmp_path)["node2"]


@pytest.mark.parametrize("database", ["cassandra", "hbase"])
def test_an_option_wins_over_what_follows_from_the_memory(database: str, tmp_path: Path) -> None:
    spec = ClusterSpec(database, memory_bytes=4 * GIB, options={"heap_mib": 300})
    assert "-Xmx300m" in planned(spec, tmp_path)["node1"]


@pytest.mark.parametrize(("replication", "heap"), [(1, 384), (2, 768), (3, 768)])
def test_region_servers_with_replicas_of_others_have_room_for_them(
    replication: int, heap: int, tmp_path: Path
) -> None:
    spec = ClusterSpec("hbase", replication=replication)
    assert f"-Xmx{heap}m" in planned(spec, tmp_path)["node3"]
    assert cluster_memory_bytes(spec) == (3 * (heap + 200) + hbase.COORDINATION_MIB) * MIB


def test_hbases_master_and_zookeeper_share_the_first_nodes_size(tmp_path: Path) -> None:
    plans = DATABASES["hbase"].plan(
        ClusterSpec("hbase"), Software(("/java", "/jars"), {}), tmp_path
    )
    assert nodes_of(plans) == {
        "zookeeper": "node1",
        "master": "node1",
        "node1": "node1",
        "node2": "node2",
        "node3": "node3",
    }


@pytest.mark.parametrize("database", DATABASES)
def test_a_cluster_grows_only_where_that_is_as_good_as_a_new_one(
    database: str, tmp_path: Path
) -> None:
    small, large = (ClusterSpec(database, nodes=nodes) for nodes in (2, 3))
    plans = DATABASES[database].plan(
        large, Software(("/server", "/jars"), {database: "7"}), tmp_path
    )
    assert resizable(small, large, plans) == (database in ("redis", "valkey"))
    assert not resizable(small, ClusterSpec(database, nodes=3, cores=1), plans)


def test_counts_of_a_run_are_those_of_its_time() -> None:
    before = {"nodes": {"a": {"throttled": 5, "limit_hits": 1, "peak_memory_bytes": 7}}}
    after = {"nodes": {"a": {"throttled": 9, "limit_hits": 1, "peak_memory_bytes": 8}}}
    assert in_a_run(before, after) == {
        "nodes": {"a": {"throttled": 4, "limit_hits": 0, "peak_memory_bytes": 8}}
    }
    assert in_a_run({}, {}) == {}


# --- The estimate ---


@given(
    st.sampled_from(["redis", "mongodb", "cassandra", "hbase"]),
    st.integers(min_value=1, max_value=6),
    st.none() | st.integers(min_value=2 * GIB, max_value=8 * GIB),
)
def test_a_cluster_takes_more_with_every_node_and_never_more_than_its_nodes_have(
    database: str, nodes: int, memory_bytes: int | None
) -> None:
    spec = ClusterSpec(database, nodes=nodes, memory_bytes=memory_bytes)
    needed = cluster_memory_bytes(spec)
    assert (
        0
        < needed
        < cluster_memory_bytes(ClusterSpec(database, nodes=nodes + 1, memory_bytes=memory_bytes))
    )
    assert memory_bytes is None or needed <= nodes * memory_bytes


@pytest.mark.parametrize("database", ["redis", "cassandra", "hbase"])
def test_twelve_nodes_of_the_usual_size_fit_into_24_gib(database: str) -> None:
    require_memory(ClusterSpec(database, nodes=12), available_bytes=24 * GIB)


def test_a_cluster_that_the_machine_has_no_memory_for_is_refused_unless_forced() -> None:
    spec = ClusterSpec("cassandra", nodes=12)
    with pytest.raises(
        ClusterError, match=r"12 nodes takes about 15.21 GiB.*8.00 GiB are"
    ) as caught:
        require_memory(spec, available_bytes=8 * GIB)
    assert "--force-memory" in str(caught.value.hint)
    assert "heap_mib" in str(caught.value.hint)
    require_memory(spec, available_bytes=8 * GIB, force=True)


# Bytes a record as measured, of Redis and of Valkey: `pacelc.clusters.databases.redis`.
@pytest.mark.parametrize(
    ("fields", "field_bytes", "measured"),
    [
        (1, 100, 376),
        (10, 32, 550),
        (1, 1000, 1320),
        (10, 100, 1848),
        (1, 8192, 10_620),
        (100, 100, 16_601),
    ],
)
def test_records_in_redis_are_never_estimated_too_small(
    fields: int, field_bytes: int, measured: int
) -> None:
    records = Records(1000, fields, field_bytes)
    estimate = DATABASES["redis"].memory(ClusterSpec("redis"), records).records_bytes / 1000
    assert measured <= estimate
    assert estimate <= 1.3 * measured or field_bytes <= 64, "short fields are packed"


def test_records_that_a_redis_node_has_no_memory_for_are_refused_even_when_forced() -> None:
    spec = ClusterSpec("redis", memory_bytes=64 * MIB)
    require_memory(spec, Records(20_000, 10, 100))
    with pytest.raises(SpecError, match="holds every record in memory") as caught:
        require_memory(spec, Records(40_000, 10, 100), force=True)
    assert "set memory to" in str(caught.value.hint)


# --- Where no group may be made ---


def test_without_groups_whole_cores_are_had_by_affinity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_controllers: frozenset[str]) -> Parents:
        raise NoGroups("none in this test")

    monkeypatch.setattr(sizes, "find_parents", none)
    spec = ClusterSpec("redis", nodes=2, cores=1, options={"first_host": HERE})
    assert sizes.require(spec) is None
    made = Sizes(spec)
    plans = DATABASES["redis"].plan(spec, Software(("/redis",), {"redis": "7"}), tmp_path)
    workspace = Workspace(tmp_path / "work", "test")
    made.keep(workspace)
    made.make(plans)
    workspace.release()
    cpus = sorted(os.sched_getaffinity(0))
    assert made.placement("primary") == {"affinity": cpus[:1]}
    assert made.placement("replica1") == {"affinity": [cpus[1 % len(cpus)]]}
    record = made.record({"primary": os.getpid(), "replica1": os.getpid()})
    assert record["mechanism"] == "affinity"
    assert record["nodes"]["primary"] == {"servers": ["primary"], "cpus": cpus}
    with pytest.raises(ClusterError, match=r"0.5 cores here.*none in this test") as caught:
        sizes.require(ClusterSpec("redis", cores=0.5))
    assert "systemd-run" in str(caught.value.hint)
    with pytest.raises(ClusterError, match="memory can't be limited here"):
        sizes.require(ClusterSpec("redis", cores=1, memory_bytes=GIB))


# --- Version 2, against a directory that looks like it ---


class Unified:
    """A tree of version 2 with a user's slice and a scope in it, and the kernel's two rules."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root / "cgroup"
        self.slice = self.root / "user.slice"
        self.scope = self.slice / "pacelc.scope"
        self.scope.mkdir(parents=True)
        for directory in (self.root, self.slice, self.scope):
            (directory / "cgroup.subtree_control").write_text("")
            (directory / "cgroup.procs").write_text("")
        (self.scope / "cgroup.procs").write_text(f"{os.getpid()}\n")
        self.proc = root / "proc"
        self.proc.mkdir()
        (self.proc / "cgroup").write_text("0::/user.slice/pacelc.scope\n")
        (self.proc / "mountinfo").write_text(
            f"24 31 0:22 / /sys rw - sysfs sysfs rw\n41 31 0:38 / {self.root} rw - cgroup2 cg rw\n"
        )
        monkeypatch.setattr(cgroups, "_write", self.write)

    def write(self, file: Path, text: str) -> None:
        if file.name == "cgroup.subtree_control":
            procs = file.parent / "cgroup.procs"
            if file.parent != self.root and procs.exists() and procs.read_text():
                raise OSError(errno.EBUSY, "Device or resource busy", str(file))
            text = text.replace("+", "")
        file.write_text(text)


def test_groups_of_version_2_are_made_where_processes_are_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Unified(tmp_path, monkeypatch)
    (tree.slice / "cgroup.subtree_control").write_text("cpu memory pids")
    assert find_parents(BOTH, tree.proc) == Parents(2, {"cpu": tree.slice, "memory": tree.slice})
    assert sorted(path.name for path in tree.slice.iterdir() if path.is_dir()) == ["pacelc.scope"]


def test_a_group_of_another_owner_is_not_given_controllers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Unified(tmp_path, monkeypatch)
    assert find_parents(BOTH, tree.proc).directories["cpu"] == tree.root
    assert (tree.slice / "cgroup.subtree_control").read_text() == ""
    (tree.root / "cgroup.subtree_control").unlink()
    with pytest.raises(NoGroups, match=r"pacelc\.scope.*busy"):
        find_parents(BOTH, tree.proc)


def test_limits_of_version_2_are_written_read_back_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Unified(tmp_path, monkeypatch)
    groups = Groups(Parents(2, {"cpu": tree.slice, "memory": tree.slice}))
    groups.make("node1", 0.5, 64 * MIB)
    groups.make("node2", 2, 64 * MIB)
    (top,) = groups.directories
    assert (top / "cgroup.subtree_control").read_text() == "cpu memory"
    assert (top / "node1" / "cpu.max").read_text() == "5000 10000"
    groups.limit_cores("node1", None)
    assert (top / "node1" / "cpu.max").read_text() == "max 10000"
    assert groups.in_force("node1")["cpu_quota_us"] == -1
    groups.limit_cores("node1", 0.5)
    assert (top / "node1" / "cpu.max").read_text() == "5000 10000"
    assert groups.procs("node1") == [str(top / "node1" / "cgroup.procs")]
    assert groups.in_force("node2") == {
        "cpu_quota_us": 20_000,
        "cpu_period_us": 10_000,
        "memory_limit_bytes": 64 * MIB,
    }
    (top / "node1" / "cpu.stat").write_text("usage_usec 9\nnr_throttled 3\nthrottled_usec 1500\n")
    (top / "node1" / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n")
    assert groups.used("node1") == {
        "throttled": 3,
        "throttled_s": 0.0015,
        "peak_memory_bytes": None,
        "limit_hits": 4,
        "oom_kills": 1,
    }


def test_a_system_without_groups_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoGroups, match="tells of no control groups"):
        find_parents(BOTH, tmp_path)
    (tmp_path / "cgroup").write_text("")
    (tmp_path / "mountinfo").write_text("24 31 0:22 / /sys rw - sysfs sysfs rw\n")
    with pytest.raises(NoGroups, match="cpu, memory are mounted"):
        find_parents(BOTH, tmp_path)


# --- Real servers ---


@pytest.fixture
def groups_here() -> None:
    """Leave a test out where this user may make no groups."""
    try:
        find_parents(BOTH)
    except NoGroups as reason:
        pytest.skip(str(reason))


@pytest.mark.cluster
@pytest.mark.usefixtures("groups_here")
def test_a_busy_node_of_half_a_core_uses_half_a_core(tmp_path: Path) -> None:
    spec = ClusterSpec(
        "redis", nodes=1, cores=0.5, memory_bytes=256 * MIB, options={"first_host": HERE}
    )
    with open_cluster(spec, workdir=tmp_path) as cluster:
        (node,) = cluster.nodes

        def counts() -> dict[str, Any]:
            return cluster.sizes.record({node.name: node.pid})["nodes"]["primary"]

        def load() -> None:
            with contextlib.suppress(OSError):  # it is killed at the end
                ask(node, 'EVAL "while true do end" 0')

        busy = threading.Thread(target=load)
        busy.start()
        begin_s, before_s = time.monotonic(), processor_s(node.pid)
        time.sleep(1)
        # On a busy machine it doesn't always get its half.
        assert eventually(lambda: counts()["throttled_s"] > 0.1, within_s=60)
        used = (processor_s(node.pid) - before_s) / (time.monotonic() - begin_s)
        counted = counts()
        node.kill()  # or the script is waited for
        busy.join()
        with cluster.sizes.lifted():
            lifted = counts()
        limited = counts()
    assert lifted["cpu_quota_us"] == -1
    assert limited["cpu_quota_us"] == counted["cpu_quota_us"]
    assert used < 0.65
    assert counted["throttled"] > 10
    assert counted["memory_limit_bytes"] == 256 * MIB
    assert counted["cpu_quota_us"] * 2 == counted["cpu_period_us"]


@pytest.mark.cluster
@pytest.mark.usefixtures("groups_here")
def test_a_node_that_takes_more_than_its_memory_is_killed_and_that_is_said(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, memory_bytes=32 * MIB, options={"first_host": HERE})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        (node,) = cluster.nodes
        with pytest.raises(OSError):  # noqa: PT011 -- whatever a broken connection is called
            ask(node, f"SETRANGE large {64 * MIB} x")
        assert eventually(lambda: not alive(node.pid))
        with pytest.raises(NodeDied) as caught:
            cluster.check()
        assert "memory ran out" in str(caught.value.hint)
        counted = cluster.sizes.record({node.name: node.pid})["nodes"]["primary"]
        assert counted["oom_kills"] == 1
        assert counted["limit_hits"] > 0
        assert 30 * MIB < counted["peak_memory_bytes"] <= 32 * MIB


@pytest.mark.cluster
def test_a_database_without_a_size_is_put_in_no_group(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, options={"first_host": HERE})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        (node,) = cluster.nodes
        assert cluster.sizes.record({node.name: node.pid}) == {}
        mine, its = (Path(f"/proc/{pid}/cgroup").read_text() for pid in ("self", node.pid))
        assert mine == its


@pytest.mark.cluster
@pytest.mark.usefixtures("groups_here")
def test_redis_grows_and_shrinks_without_starting_anew(tmp_path: Path) -> None:
    def spec(nodes: int) -> ClusterSpec:
        return ClusterSpec("redis", nodes=nodes, cores=1, options={"first_host": HERE})

    with open_cluster(spec(2), workdir=tmp_path) as cluster:
        primary = cluster.nodes[0]
        ask(primary, "SET kept 1")
        for nodes in (4, 1, 3):
            assert cluster.resize(spec(nodes), lambda _text: None, timeout_s=60)
            cluster.check()
            assert cluster.nodes[0] == primary
            assert (
                len(cluster.nodes) == len(cluster.endpoints) == cluster.target()["nodes"] == nodes
            )
            assert all(alive(node.pid) for node in cluster.nodes)
            assert f"connected_slaves:{nodes - 1}" in str(ask(primary, "INFO replication"))
            for node in cluster.nodes:
                assert ask(node, "GET kept") == ["1"]
            sized = cluster.sizes.record({node.name: node.pid for node in cluster.nodes})["nodes"]
            assert list(sized) == [node.name for node in cluster.nodes]
        bigger = ClusterSpec("redis", nodes=3, cores=2, options={"first_host": HERE})
        assert not cluster.resize(bigger, lambda _text: None, timeout_s=60)
        assert len(cluster.nodes) == 3
    assert list(tmp_path.iterdir()) == []


# A pacelc with a cluster of twelve sized nodes; it tells what there is of it, and waits.
OWNER = f"""
import json, sys, time
from pathlib import Path
from typing import Any
from pacelc.clusters import ClusterSpec, open_cluster
spec = ClusterSpec(
    "redis", nodes=12, cores=0.5, memory_bytes=64 << 20, options={{"first_host": {HERE!r}}}
)
with open_cluster(spec, workdir=Path(sys.argv[1])) as cluster:
    print(json.dumps({{
        "keeper": cluster._supervisor.pid,
        "servers": [node.pid for node in cluster.nodes],
        "groups": [str(top) for top in cluster.sizes._groups.directories],
    }}), flush=True)
    sys.stdin.read()
"""


@pytest.mark.cluster
@pytest.mark.usefixtures("groups_here")
@pytest.mark.parametrize("end", ["normally", "pacelc killed", "keeper killed", "both killed"])
def test_no_group_is_left_however_pacelc_ends(end: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as pacelc:
        assert pacelc.stdout is not None
        assert pacelc.stdin is not None
        told = json.loads(pacelc.stdout.readline())
        groups = [Path(group) for group in told["groups"]]
        assert all((group / "replica11").is_dir() for group in groups)
        if end == "pacelc killed":
            pacelc.kill()
        elif end == "keeper killed":
            os.kill(told["keeper"], signal.SIGKILL)
            pacelc.stdin.close()
        elif end == "both killed":
            os.kill(pacelc.pid, signal.SIGSTOP)  # or the keeper would see its end first
            os.kill(told["keeper"], signal.SIGKILL)
            pacelc.kill()
        else:
            pacelc.stdin.close()
        pacelc.wait()
    assert eventually(lambda: not any(alive(pid) for pid in told["servers"]), 20)
    if end == "both killed":
        assert any(group.exists() for group in groups), "nobody was left to remove them"
        Workspace(tmp_path, "next").release()
    assert eventually(lambda: not any(group.exists() for group in groups), 20)
    assert eventually(lambda: list(tmp_path.iterdir()) == [], 20)
