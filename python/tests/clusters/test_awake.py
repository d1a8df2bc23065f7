"""Processors are kept from sleeping for as long as their cluster lives; nothing spins for it."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest
from real_servers import first_host

from pacelc.clusters import ClusterError, ClusterSpec, NodeDied, open_cluster
from pacelc.clusters import awake as room
from pacelc.clusters.cluster import require_machine

from .conftest import alive, eventually, processor_s

pytestmark = pytest.mark.cluster

SPEC = ClusterSpec("redis", nodes=1, awake=True, options={"first_host": first_host(1)})


@pytest.fixture
def offered() -> None:
    try:
        room.require_awake()
    except ClusterError as reason:
        pytest.skip(str(reason))


def borne_us() -> int:
    """Return how late a processor may wake now, in microseconds, by all who say so together."""
    file = os.open(room.HOW_LATE, os.O_RDONLY)
    try:
        return int(struct.unpack("i", os.read(file, 4))[0])
    finally:
        os.close(file)


@pytest.mark.usefixtures("offered")
def test_processors_may_not_wake_late_while_it_serves_and_nothing_spins_for_it(
    tmp_path: Path,
) -> None:
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.awake_pid
        assert pid is not None
        assert eventually(lambda: borne_us() == 0)
        before_s = processor_s(pid)
        time.sleep(1)
        assert processor_s(pid) - before_s < 0.1
        # It is who says so, with others of this machine or alone.
        assert str(room.HOW_LATE) in map(os.readlink, Path(f"/proc/{pid}/fd").iterdir())
    # The kernel forgets what it was told with whoever held the file.
    assert not alive(pid)


@pytest.mark.usefixtures("offered")
def test_its_end_is_noticed(tmp_path: Path) -> None:
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.awake_pid
        assert pid is not None
        os.kill(pid, 9)
        assert eventually(lambda: not alive(pid))
        with pytest.raises(NodeDied, match="awake"):
            cluster.check()


@pytest.mark.parametrize(
    ("driver", "device", "reason"),
    [
        ("none\n", "there", "no cpuidle driver\nhint: .*modprobe cpuidle_haltpoll"),
        (None, "there", "no cpuidle driver\nhint: .*modprobe cpuidle_haltpoll"),
        ("haltpoll\n", "nowhere", "nowhere isn't there\nhint: run as root"),
    ],
)
def test_where_the_kernel_offers_nothing_it_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    driver: str | None,
    device: str,
    reason: str,
) -> None:
    if driver is not None:
        (tmp_path / "driver").write_text(driver)
    (tmp_path / "there").touch()
    monkeypatch.setattr(room, "_DRIVER", tmp_path / "driver")
    monkeypatch.setattr(room, "HOW_LATE", tmp_path / device)
    with pytest.raises(ClusterError, match=reason):
        require_machine(SPEC)


def test_processors_sleep_unless_it_is_asked(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, options={"first_host": first_host(1)})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        assert cluster.awake_pid is None
