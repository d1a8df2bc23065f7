"""Idle states are disabled for as long as a cluster lives; nothing spins for it."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest
from real_servers import first_host

from pacelc.clusters import ClusterError, ClusterSpec, NodeDied, idle_states, open_cluster
from pacelc.clusters.cluster import require_machine

from .conftest import alive, eventually, processor_s

pytestmark = pytest.mark.cluster

SPEC = ClusterSpec("redis", nodes=1, no_idle_states=True, options={"first_host": first_host(1)})


@pytest.fixture
def offered() -> None:
    try:
        idle_states.require_idle_states()
    except ClusterError as reason:
        pytest.skip(str(reason))


def latency_limit_us() -> int:
    """Return how long leaving an idle state may take now: the least that any process asks for."""
    file = os.open(idle_states.DMA_LATENCY, os.O_RDONLY)
    try:
        return int(struct.unpack("i", os.read(file, 4))[0])
    finally:
        os.close(file)


@pytest.mark.usefixtures("offered")
def test_idle_states_are_disabled_while_a_cluster_serves_and_nothing_spins_for_it(
    tmp_path: Path,
) -> None:
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.no_idle_states_pid
        assert pid is not None
        assert eventually(lambda: latency_limit_us() == 0)
        before_s = processor_s(pid)
        time.sleep(1)
        assert processor_s(pid) - before_s < 0.1
        # This process asks for it, alone or with others of this machine.
        assert str(idle_states.DMA_LATENCY) in map(os.readlink, Path(f"/proc/{pid}/fd").iterdir())
    # The limit ends with the process that holds the device.
    assert not alive(pid)


@pytest.mark.usefixtures("offered")
def test_the_end_of_the_process_is_noticed(tmp_path: Path) -> None:
    with open_cluster(SPEC, workdir=tmp_path) as cluster:
        pid = cluster.no_idle_states_pid
        assert pid is not None
        os.kill(pid, 9)
        assert eventually(lambda: not alive(pid))
        with pytest.raises(NodeDied, match="no_idle_states"):
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
    monkeypatch.setattr(idle_states, "_DRIVER", tmp_path / "driver")
    monkeypatch.setattr(idle_states, "DMA_LATENCY", tmp_path / device)
    with pytest.raises(ClusterError, match=reason):
        require_machine(SPEC)


def test_idle_states_stay_enabled_by_default(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=1, options={"first_host": first_host(1)})
    with open_cluster(spec, workdir=tmp_path) as cluster:
        assert cluster.no_idle_states_pid is None
