"""Whatever ends pacelc, no process and no directory is left. `sleep` stands in for servers here."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from pacelc.clusters import ClusterError, NodeDied, PortInUseError, WorkdirError
from pacelc.clusters.cluster import Cluster
from pacelc.clusters.faults.control import SOCKET, find_running
from pacelc.clusters.process import PREFIX, Supervisor, Workspace, require_free, sweep

from .conftest import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Generator

NOBODY = 65534

# Starts two servers, the second of which has left a child behind, and tells all pids; then it waits
# to be killed.
OWNER = """
import json, os, sys, time
from pathlib import Path
from pacelc.clusters.process import Supervisor, Workspace
workspace = Workspace(Path(sys.argv[1]), "test")
supervisor = Supervisor(workspace)
env = dict(os.environ)
def start(name, *argv):
    log = workspace.path / f"{name}.log"
    return supervisor.start(name, argv, cwd=workspace.path, env=env, log=log)
first = start("plain", "sleep", "1000")
second = start("forking", "sh", "-c", "setsid sleep 1000 & echo $! > orphan; exec sleep 1000")
while not (orphan := workspace.path / "orphan").exists() or not orphan.read_text().strip():
    time.sleep(0.01)
print(json.dumps({
    "keeper": supervisor.pid, "servers": [first, second],
    "orphan": int(orphan.read_text()), "path": str(workspace.path),
}), flush=True)
time.sleep(1000)
"""


class Owner:
    """A pacelc that can be killed."""

    def __init__(self, process: subprocess.Popen[str], workdir: Path) -> None:
        if process.stdout is None:
            raise AssertionError
        told = json.loads(process.stdout.readline())
        self.process = process
        self.workdir = workdir
        self.keeper: int = told["keeper"]
        self.servers: list[int] = told["servers"]
        self.orphan: int = told["orphan"]
        self.path = Path(told["path"])


@contextmanager
def owner(workdir: Path) -> Generator[Owner, None, None]:
    """Run a pacelc with two servers."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(workdir)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Owner(process, workdir)
        finally:
            process.kill()


def start_sleeping(supervisor: Supervisor, workspace: Workspace) -> int:
    """Start a server that does nothing; return its pid."""
    log = workspace.path / "log"
    return supervisor.start(
        "sleeping", ["sleep", "1000"], cwd=workspace.path, env=dict(os.environ), log=log
    )


def test_nothing_is_left_when_the_owner_is_killed(tmp_path: Path) -> None:
    with owner(tmp_path) as pacelc:
        assert all(alive(pid) for pid in (*pacelc.servers, pacelc.orphan, pacelc.keeper))
        pacelc.process.send_signal(signal.SIGKILL)
        pacelc.process.wait()
        for pid in (*pacelc.servers, pacelc.orphan, pacelc.keeper):
            assert eventually(lambda pid=pid: not alive(pid))
        assert eventually(lambda: not pacelc.path.exists())


def test_nothing_is_left_when_the_owner_is_terminated(tmp_path: Path) -> None:
    with owner(tmp_path) as pacelc:
        pacelc.process.terminate()
        pacelc.process.wait()
        for pid in (*pacelc.servers, pacelc.orphan, pacelc.keeper):
            assert eventually(lambda pid=pid: not alive(pid))
        assert eventually(lambda: not pacelc.path.exists())


def test_servers_die_with_a_keeper_that_is_killed_and_the_owner_removes_the_directory(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path, "test")
    with Supervisor(workspace) as supervisor:
        pid = start_sleeping(supervisor, workspace)
        os.kill(supervisor.pid, signal.SIGKILL)
        assert eventually(lambda: not alive(pid))
        with pytest.raises(ClusterError, match="keeper"):
            supervisor.exits()
    workspace.release()
    assert list(tmp_path.iterdir()) == []


def test_servers_die_when_owner_and_keeper_are_killed_and_the_next_start_removes_the_directory(
    tmp_path: Path,
) -> None:
    with owner(tmp_path) as pacelc:
        os.kill(pacelc.process.pid, signal.SIGSTOP)  # or the keeper would see its end first
        os.kill(pacelc.keeper, signal.SIGKILL)
        pacelc.process.kill()
        pacelc.process.wait()
        for pid in pacelc.servers:
            assert eventually(lambda pid=pid: not alive(pid))
        os.kill(
            pacelc.orphan, signal.SIGKILL
        )  # a server's own daemon outlives both: the servers here have none
    assert pacelc.path.exists()
    workspace = Workspace(tmp_path, "test")
    assert not pacelc.path.exists()
    workspace.release()


def test_a_directory_whose_owner_lives_is_left_alone(tmp_path: Path) -> None:
    with owner(tmp_path) as pacelc:
        assert sweep(tmp_path) == []
        assert pacelc.path.exists()


def test_directories_that_are_not_pacelcs_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}of-someone"
    other.mkdir()
    assert sweep(tmp_path) == []
    assert other.exists()


def planted(parent: Path, groups: Path, *, by: str) -> Path:
    """Return a directory such as a dead owner leaves, with groups to be removed, by somebody."""
    directory = parent / f"{PREFIX}redis-planted"
    directory.mkdir(mode=0o700)
    (directory / "owner.json").write_text("{}")
    (directory / "groups.json").write_text(json.dumps([str(groups)]))
    if by == "another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a directory to another user")
        for path in (directory, *directory.iterdir()):
            os.chown(path, NOBODY, NOBODY)
    elif by == "anybody":
        directory.chmod(0o777)
    elif by == "a link":
        directory.rename(elsewhere := parent / "elsewhere")
        directory.symlink_to(elsewhere)
    return directory


@pytest.mark.parametrize("by", ["another user", "anybody", "a link"])
def test_what_others_may_have_planted_is_left_alone_and_removes_nothing(
    by: str, tmp_path: Path
) -> None:
    parent, victim = tmp_path / "parent", tmp_path / "victim"
    parent.mkdir()
    (victim / "empty").mkdir(parents=True)
    directory = planted(parent, victim, by=by)
    Workspace(parent, "test").release()
    assert (victim / "empty").is_dir()
    assert (directory / "groups.json").exists()


def test_groups_that_are_no_control_groups_are_not_removed(tmp_path: Path) -> None:
    parent, victim = tmp_path / "parent", tmp_path / "victim"
    parent.mkdir()
    (victim / "empty").mkdir(parents=True)
    directory = planted(parent, victim, by="ourselves")
    assert sweep(parent) == [directory]
    assert not directory.exists()
    assert (victim / "empty").is_dir()


@pytest.mark.timeout(20)
def test_a_fifo_in_the_place_of_the_owners_record_holds_nobody_up(tmp_path: Path) -> None:
    for name in ("theirs", "ours"):
        directory = tmp_path / f"{PREFIX}{name}"
        directory.mkdir(mode=0o777 if name == "theirs" else 0o700)
        os.mkfifo(directory / "owner.json")
    sweep(tmp_path)
    Workspace(tmp_path, "test").release()


def test_a_socket_that_another_has_planted_is_no_cluster_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / f"{PREFIX}redis-planted"
    directory.mkdir()
    directory.chmod(0o777)
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(directory)  # an address has no room for a long path
        listener.bind(SOCKET)
        listener.listen()
        listener.settimeout(0)
        assert find_running(tmp_path) == []
        with pytest.raises(BlockingIOError):  # nobody has connected
            listener.accept()


def test_a_server_that_ended_is_told_with_its_status(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "test")
    with Supervisor(workspace) as supervisor:
        log = workspace.path / "log"
        supervisor.start(
            "failing", ["sh", "-c", "exit 7"], cwd=workspace.path, env=dict(os.environ), log=log
        )
        supervisor.start(
            "killed", ["sleep", "1000"], cwd=workspace.path, env=dict(os.environ), log=log
        )
        supervisor.signal("killed", signal.SIGKILL)
        assert supervisor.exits()["killed"] == -signal.SIGKILL
        assert eventually(lambda: supervisor.exits().get("failing") == 7)
    workspace.release()


def test_when_a_signal_was_sent_is_told_and_not_when_it_was_asked_for(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "test")
    with Supervisor(workspace) as supervisor:
        start_sleeping(supervisor, workspace)
        # A keeper that has no processor sends nothing.
        os.kill(supervisor.pid, signal.SIGSTOP)
        goes_on_ns: list[int] = []

        def go_on() -> None:
            goes_on_ns.append(time.monotonic_ns())
            os.kill(supervisor.pid, signal.SIGCONT)

        timer = threading.Timer(0.2, go_on)
        timer.start()
        sent_ns = supervisor.signal("sleeping", signal.SIGKILL)
        timer.join()
        assert goes_on_ns[0] < sent_ns < time.monotonic_ns()
    workspace.release()


def test_a_server_that_ran_out_of_heap_says_so() -> None:
    log = "INFO serving\nTerminating due to java.lang.OutOfMemoryError: Java heap space"
    error = NodeDied("node3", 3, log)
    assert error.message == "node3 ran out of Java heap"
    assert "heap_mib" in (error.hint or "")


def mongodb_log(reason: str) -> str:
    """As MongoDB ends: what it died of, and then its stack, twice."""
    died = (
        '{"s":"E","c":"WT","id":22435,"msg":"WiredTiger error message","attr":{"error":28,'
        f'"message":{{"error_str":"{reason}","error_code":28}}}}}}\n'
        '{"s":"F","c":"ASSERT","id":23089,"msg":"Fatal assertion","attr":{"msgid":50853}}\n'
    )
    frame = '{"s":"I","c":"CONTROL","id":31445,"msg":"Frame","attr":{"frame":{"a":"%s"}}}\n'
    return died + 40 * (frame % ("5" * 300)) + '{"msg":"Got signal: 6 (Aborted)."}\n'


def death_of(log: Path) -> NodeDied:
    """Return what a cluster says of a server that SIGABRT ended and that left this log."""
    ended = SimpleNamespace(
        _supervisor=SimpleNamespace(exits=lambda: {"primary": -6}, killed=set()),
        _plans={"primary": SimpleNamespace(log_file=log)},
        directory=log.parent,
        sizes=SimpleNamespace(memory_ran_out=lambda _name: False),
    )
    with pytest.raises(NodeDied) as caught:
        Cluster.check(cast("Cluster", ended))
    return caught.value


def test_a_server_whose_disk_was_full_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(mongodb_log("Input/output error"))
    assert death_of(log).message == "primary was ended by signal 6"
    log.write_text(mongodb_log("No space left on device"))
    error = death_of(log)
    assert error.message == "primary ended because its disk is full"
    assert "free some space" in (error.hint or "")
    assert "No space" not in (error.log_tail or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes disks of its own")
def test_a_server_whose_log_had_no_room_either_says_so(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", disk], check=True)
    try:
        (disk / "log").write_text("serving\n")
        assert death_of(disk / "log").message == "primary was ended by signal 6"
        with pytest.raises(OSError, match="No space"):
            (disk / "data").write_bytes(bytes(5 << 20))
        assert death_of(disk / "log").message == "primary ended because its disk is full"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_program_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "test")
    with Supervisor(workspace) as supervisor, pytest.raises(ClusterError, match="no-such-server"):
        supervisor.start(
            "node1",
            ["/no-such-server"],
            cwd=workspace.path,
            env=dict(os.environ),
            log=workspace.path / "log",
        )
    workspace.release()


def test_no_zombie_is_left_of_a_cluster_that_was_closed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "test")
    supervisor = Supervisor(workspace)
    start_sleeping(supervisor, workspace)
    supervisor.close()
    workspace.release()
    assert not Path(f"/proc/{supervisor.pid}").exists()


def test_a_port_in_use_is_refused_by_its_number() -> None:
    with socket.create_server(("127.0.0.3", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortInUseError, match=f"127.0.0.3:{port}"):
            require_free("127.0.0.3", port, node="replica2")
    require_free("127.0.0.3", port, node="replica2")


def test_a_workdir_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkdirError, match="file"):
        Workspace(tmp_path / "file" / "below", "test")
