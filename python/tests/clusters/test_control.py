"""Faults by hand: the socket, who may use it, and what the command says."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from real_servers import first_host

from pacelc.cli.entry import call
from pacelc.clusters import ClusterError
from pacelc.clusters.faults.control import SOCKET, Control, find_running
from pacelc.clusters.faults.injection import Injector
from pacelc.clusters.faults.rules import FaultSpec
from pacelc.clusters.process import PREFIX

from .conftest import eventually
from .diary import Diary, every_pair

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    # Longer than the address of a socket may be.
    parent = tmp_path / ("long" * 30)
    directory = parent / f"{PREFIX}cassandra-abc123"
    directory.mkdir(mode=0o700, parents=True)
    return Diary(directory=directory)


@pytest.fixture
def served(diary: Diary) -> Iterator[Diary]:
    with Control(Injector(diary)):  # pyright: ignore[reportArgumentType]
        yield diary


def pacelc(diary: Diary, *arguments: str) -> int:
    return call(["fault", *arguments, "--workdir", str(diary.directory.parent)])


def test_faults_begin_are_listed_and_end(served: Diary, capsys: pytest.CaptureFixture[str]) -> None:
    assert pacelc(served, "isolate", "n1") == 0
    assert served.now_cut == {p for p in every_pair(["n1", "n2", "n3"]) if "n1" in p}
    assert pacelc(served, "kill", "--target", "n2") == 0
    assert pacelc(served, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[-2:]] == [
        ["cassandra-abc123", "isolate", "n1", "n1"],
        ["cassandra-abc123", "kill", "n2", "n2"],
    ]
    assert pacelc(served, "heal") == 0
    assert capsys.readouterr().out == "cassandra-abc123: 2 faults ended\n"
    assert served.now_cut == set()
    assert served.entries == ["kill n2", "start n2"]
    assert pacelc(served, "list") == 0
    assert capsys.readouterr().out == "no fault is in force\n"


def test_a_fault_by_hand_ends_by_itself_when_asked(served: Diary) -> None:
    assert pacelc(served, "pause", "n3", "--for", "200ms") == 0
    assert eventually(lambda: served.entries == ["pause n3", "resume n3"])


def test_what_is_wrong_is_said_in_a_line(served: Diary, capsys: pytest.CaptureFixture[str]) -> None:
    mistakes = {
        ("isolat",): (2, "error: there is no fault 'isolat'\nhint: did you mean isolate?\n"),
        ("kill", "n9"): (3, "error: no node 'n9'"),
        ("kill", "n1", "--target", "n2"): (2, "error: n1 and --target n2 are two targets"),
        ("kill", "n1", "--for", "long"): (2, "error: --for should be a duration"),
        ("kill", "n1", "--delay", "1s"): (2, "error: kill has no delay"),
        ("slow", "n1"): (2, "error: a slow link needs a delay or a jitter"),
        ("heal", "n1"): (2, "error: heal has no target"),
        ("heal", "--cluster", "redis"): (2, "error: there is no cluster 'redis'"),
    }
    for arguments, (status, text) in mistakes.items():
        assert pacelc(served, *arguments) == status
        assert capsys.readouterr().err.startswith(text)
    assert served.entries == []
    assert call(["fault", "list", "--workdir", str(served.directory)]) == 3
    assert "no cluster of yours runs in" in capsys.readouterr().err


def test_nobody_else_may_use_the_socket(served: Diary) -> None:
    mode = (served.directory / SOCKET).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_several_clusters_are_told_apart(served: Diary, capsys: pytest.CaptureFixture[str]) -> None:
    other = Diary(directory=served.directory.parent / f"{PREFIX}redis-xyz789")
    other.directory.mkdir(mode=0o700)
    with Control(Injector(other)):  # pyright: ignore[reportArgumentType]
        assert pacelc(served, "kill", "n1") == 2
        assert "2 clusters run" in capsys.readouterr().err
        assert pacelc(served, "kill", "n1", "--cluster", "redis") == 0
        assert pacelc(served, "kill", "n2", "--cluster", "cassandra-abc123") == 0
    assert (other.entries, served.entries) == (["kill n1"], ["kill n2"])


def test_who_speaks_nonsense_or_hangs_up_harms_nobody(served: Diary, tmp_path: Path) -> None:
    link = tmp_path / "s"
    link.symlink_to(served.directory / SOCKET)

    def say(line: bytes) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(link))
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            return json.loads(connection.makefile("rb").readline())

    for line in (b"", b"{", b"[]\n", b'{"do":"dance"}\n', b'{"do":"begin","fault":{"x":1}}\n'):
        assert "error" in say(line)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(link))
    [running] = find_running(served.directory.parent)
    assert running.active() == []


def test_after_the_end_nobody_answers(diary: Diary) -> None:
    before = threading.active_count()
    with Control(Injector(diary)):  # pyright: ignore[reportArgumentType]
        [running] = find_running(diary.directory.parent)
    assert threading.active_count() == before
    assert find_running(diary.directory.parent) == []
    with pytest.raises(ClusterError, match="doesn't answer"):
        running.begin(FaultSpec("kill", "n1"), None)


@pytest.mark.cluster
def test_a_cluster_that_is_up_is_broken_and_mended(tmp_path: Path) -> None:
    host = first_host(7)
    command = [sys.executable, "-m", "pacelc", "up", "redis", "--nodes", "2"]
    command += ["--workdir", str(tmp_path), "--option", f"first_host={host}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as up:
        try:
            assert eventually(lambda: bool(find_running(tmp_path)), within_s=60)
            [running] = find_running(tmp_path)
            record = running.begin(FaultSpec("kill", "primary"), None)
            assert record["nodes"] == ["primary"]
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, 16379), 2)
            # Longer than it takes `up` to look after its servers: a killed one is no failure.
            time.sleep(1.2)
            assert up.poll() is None
            with pytest.raises(ClusterError, match="isolate needs an emulated network"):
                running.begin(FaultSpec("isolate", "primary"), None)
            [ended] = running.heal()
            assert ended["end_unix_us"] >= ended["begin_unix_us"]
            assert eventually(lambda: _listens(host))
        finally:
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=30)


def _listens(host: str) -> bool:
    try:
        socket.create_connection((host, 16379), 2).close()
    except OSError:
        return False
    return True
