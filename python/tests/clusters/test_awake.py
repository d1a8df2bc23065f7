"""Processors that are kept from sleeping give way to everybody, and end with their cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_servers import first_host

from pacelc.clusters import ClusterError, ClusterSpec, NodeDied, open_cluster
from pacelc.clusters import awake as room
from pacelc.clusters.cluster import require_machine
from pacelc.clusters.resources import TICKS_PER_S
from pacelc.clusters.sizes.cgroups import NoGroups, find_parents

from .conftest import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.cluster

SPEC = ClusterSpec("redis", nodes=1, awake=True, options={"first_host": first_host(1)})

BUSY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + 1
while time.monotonic() < end:
    pass
print(time.process_time())
"""


@pytest.fixture
def grouped() -> None:
    try:
        find_parents(frozenset({"cpu"}))
    except NoGroups as reason:
        pytest.skip(str(reason))


def threads(pid: int) -> list[Path]:
    """Return the threads that keep processors awake, or are about to: named first, then idle."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [task for task in tasks if "awake" in (task / "comm").read_text()]


def gives_way(task: Path) -> bool:
    return os.sched_getscheduler(int(task.name)) == os.SCHED_IDLE


def spinning(pid: int) -> dict[int, Path]:
    """Return the thread that keeps each processor awake."""
    found = threads(pid)
    assert all(gives_way(task) for task in found)
    return {min(os.sched_getaffinity(int(task.name))): task for task in found}


def used_s(task: Path) -> float:
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@pytest.mark.usefixtures("grouped")
def test_each_processor_has_a_thread_that_gives_way_to_other_sessions(tmp_path: Path) -> None:
    processors = os.sched_getaffinity(0)
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.awake_pid
        assert pid is not None
        assert eventually(lambda: sum(map(gives_way, threads(pid))) == len(processors))
        assert set(spinning(pid)) == processors
        processor, spins = min(spinning(pid).items())
        before_s = used_s(spins)
        # However little others leave of the processor.
        assert eventually(lambda: used_s(spins) > before_s, 30)
        # In a session of its own, as servers are: to the kernel that is a group.
        before_s = used_s(spins)
        busy = subprocess.run(
            [sys.executable, "-c", BUSY, str(processor)],
            start_new_session=True,
            capture_output=True,
            text=True,
            check=True,
        )
        # It spins while Python starts; half a second more if they shared.
        start_up_s = 0.2
        assert used_s(spins) - before_s < start_up_s + float(busy.stdout) / 5
    assert not alive(pid)


@pytest.mark.usefixtures("grouped")
def test_its_end_is_noticed(tmp_path: Path) -> None:
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.awake_pid
        assert pid is not None
        os.kill(pid, 9)
        assert eventually(lambda: not alive(pid))
        with pytest.raises(NodeDied, match="awake"):
            cluster.check()


@pytest.mark.usefixtures("grouped")
def test_nothing_is_left_of_its_group(tmp_path: Path) -> None:
    def groups() -> set[Path]:
        [top] = find_parents(frozenset({"cpu"})).directories.values()
        return set(top.glob(f"pacelc-{os.getpid()}-*"))

    with open_cluster(SPEC, workdir=tmp_path):
        [made] = groups()
        assert (made / "cpu.idle").read_text().strip() == "1"
    assert eventually(lambda: groups() == set())


def test_where_there_are_no_groups_it_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(_: frozenset[str]) -> Callable[[], None]:
        raise NoGroups("no control groups for cpu are mounted")

    monkeypatch.setattr(room, "find_parents", nowhere)
    with pytest.raises(ClusterError, match="kept awake here: no control groups for cpu") as refused:
        require_machine(SPEC)
    assert "run as root" in (refused.value.hint or "")


def test_processors_sleep_unless_it_is_asked(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, options={"first_host": first_host(1)})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        assert cluster.awake_pid is None
