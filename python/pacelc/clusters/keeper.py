"""Keeper: the process between pacelc and the servers, whose one duty is that none outlives pacelc.

It is a program (``python -I -S keeper.py OWNER_PID DIRECTORY LOCK_FD``), uses the standard library
alone and has one thread.

- Its standard input is a pipe from pacelc. End of file, or the owner's end seen through a pidfd,
  starts the tear-down.
- Servers are its children. Each asks the kernel (``PR_SET_PDEATHSIG``) to be killed when the keeper
  ends, however it ends.
- It is a subreaper: whatever a server leaves behind is handed to it, so that nothing becomes an
  orphan or a zombie.

Why both a pipe and a pidfd: a child that pacelc forked without exec (``multiprocessing``) holds a
copy of the pipe's other end, so pacelc's death alone would not close it. Why a keeper at all, when
pacelc could ask for ``PR_SET_PDEATHSIG`` itself: the kernel ties that signal to the *thread* that
forked, and a runner's worker thread may end long before the run does. And someone has to remove the
directories.

Requests and replies are JSON, one a line: ``start``, ``signal``, ``exits``; ``network`` starts the
process that emulates a network (`pacelc.clusters.network.emulation`), which is a child as servers
are, and ``ask-network`` passes a request on to it. Servers that are started with a ``host`` are put
into that host's network namespace. A server that has a size enters its control group, or is bound
to its processors, before it is anything else; the groups are named in the directory and removed
with it. What needs root comes first: last, a server that has a ``user`` becomes that one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, BinaryIO

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNET = 0x4000_0000
POLL_S = 0.005
STOP_TIMEOUT_S = 1.0
NETWORK = "network"
NETWORK_TIMEOUT_S = 20.0
"""A machine that starts twelve JVMs at the same time is slow; an idle one needs milliseconds."""
GROUPS = "groups.json"
"""In a cluster's directory: its control groups, one directory a controller."""
GROUPS_TIMEOUT_S = 5.0

libc = ctypes.CDLL(None)


class Keeper:
    """The servers, and what became of them.

    Parameters
    ----------
    owner
        A pidfd of the owner, whose end cuts waiting for the network short.
    """

    def __init__(self, owner: int | None) -> None:
        self.pid = os.getpid()
        self.owner = owner
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.exits: dict[str, int] = {}
        self.network: subprocess.Popen[bytes] | None = None
        self.unread = b""
        self.hosts: dict[str, str] = {}
        """Paths of the network namespaces."""

    def become_mortal(self) -> None:
        """In a child: die with the keeper."""
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # The keeper may have died between the fork and the line above; then no signal will come.
        if os.getppid() != self.pid:
            os._exit(127)

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start one server in a session of its own; its output goes to its log."""
        host = request.get("host")
        if host is not None and host not in self.hosts:
            return {"error": f"the network has no host {host}"}
        namespace = None if host is None else os.open(self.hosts[host], os.O_RDONLY | os.O_CLOEXEC)

        def prepare() -> None:
            if namespace is not None and libc.setns(namespace, CLONE_NEWNET) != 0:
                raise OSError("setns")
            for procs in request.get("cgroup", []):
                with open(procs, "w") as file:  # noqa: PTH123 -- pathlib is slow to import
                    file.write("0")  # whoever writes it
            if request.get("affinity"):
                os.sched_setaffinity(0, request["affinity"])
            if request.get("user"):
                uid, gid = request["user"]
                os.setgroups([gid])
                os.setgid(gid)
                os.setuid(uid)
            # After that: who changes its user loses the signal that it asked for.
            self.become_mortal()

        try:
            with open_log(request["log"]) as log:
                # preexec_fn is safe here: this process has one thread.
                process = subprocess.Popen(
                    request["argv"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=request["cwd"],
                    env=request["env"],
                    start_new_session=True,
                    preexec_fn=prepare,  # noqa: PLW1509
                )
        finally:
            if namespace is not None:
                os.close(namespace)
        self.running[request["name"]] = process
        self.exits.pop(request["name"], None)
        return {"pid": process.pid}

    def start_network(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start the network's process; reply when it has made its hosts."""
        with open_log(request["log"]) as log:
            process = subprocess.Popen(
                request["argv"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=request["cwd"],
                env=request["env"],
                start_new_session=True,
                preexec_fn=self.become_mortal,  # noqa: PLW1509
            )
        self.running[NETWORK] = self.network = process
        reply = self.network_reply()
        self.hosts = reply.get("hosts", {})
        return {**reply, "pid": process.pid}

    def ask_network(self, request: dict[str, Any]) -> dict[str, Any]:
        """Pass a request on to the network's process, and its reply back."""
        if self.network is None or self.network.stdin is None:
            return {"error": "there is no network"}
        os.write(self.network.stdin.fileno(), json.dumps(request["request"]).encode() + b"\n")
        return self.network_reply()

    def network_reply(self) -> dict[str, Any]:
        """Return the next line of the network's process, which is told in time or never."""
        if self.network is None or self.network.stdout is None:
            return {"error": "there is no network"}
        output = self.network.stdout.fileno()
        poll = select.poll()
        for descriptor in (output, self.owner):
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        end_s = time.monotonic() + NETWORK_TIMEOUT_S
        while b"\n" not in self.unread:
            ready = {number for number, _ in poll.poll(1000 * max(0.0, end_s - time.monotonic()))}
            if output not in ready:
                # A reply that comes later would be taken for another request's.
                self.network.kill()
                return {"error": "the network's process doesn't answer"}
            chunk = os.read(output, 65536)
            if not chunk:
                return {"error": "the network's process has ended"}
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def signal(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a signal to a server's process group; wait until it is gone (SIGKILL), or stands.

        Replies when it was sent, by the clock that all processes of a machine share.
        """
        name = request["name"]
        process = self.running.get(name)
        sent_ns = time.monotonic_ns()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, request["signal"])
            sent_ns = time.monotonic_ns()
            # A thread that has no processor now stops when it would next have one.
            until_s = time.monotonic() + STOP_TIMEOUT_S
            while request["signal"] == signal.SIGSTOP and not stands(process.pid):
                if time.monotonic() > until_s:
                    break
                time.sleep(POLL_S)
            while request["signal"] == signal.SIGKILL and name in self.running:
                self.reap()
                time.sleep(POLL_S)
        return {"sent_ns": sent_ns}

    def ended(self, _request: dict[str, Any]) -> dict[str, Any]:
        """Tell which servers have ended, and how."""
        self.reap()
        return {"exits": self.exits}

    def reap(self) -> None:
        """Collect every child that has ended: servers, and what servers left behind."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                for name, process in list(self.running.items()):
                    if process.pid == pid:
                        process.returncode = self.exits[name] = os.waitstatus_to_exitcode(status)
                        del self.running[name]

    def end_all(self) -> None:
        """Kill until there is no child left."""
        for process in self.running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        while True:
            self.reap()
            children = children_of(self.pid, [process.pid for process in self.running.values()])
            if not children:
                return
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)

    def answer(self, line: bytes) -> dict[str, Any]:
        """Carry out one request."""
        request = json.loads(line)
        known = {
            "start": self.start,
            "signal": self.signal,
            "exits": self.ended,
            "network": self.start_network,
            "ask-network": self.ask_network,
        }
        if request["do"] not in known:
            return {"error": f"no such request: {request['do']}"}
        try:
            return known[request["do"]](request)
        except (OSError, subprocess.SubprocessError) as error:
            return {"error": str(error)}


def open_log(path: str) -> BinaryIO:
    """Open a log to be written on, for this user alone."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    return open(os.open(path, flags, 0o600), "ab")  # noqa: PTH123 -- pathlib is slow to import


def stands(pid: int) -> bool:
    """Tell whether no thread of a process runs, or will before it is told to go on."""
    try:
        for thread in os.scandir(f"/proc/{pid}/task"):
            with open(f"{thread.path}/stat", "rb") as stat:  # noqa: PTH123
                if stat.read().rpartition(b")")[2].split()[0] not in {b"T", b"t", b"Z", b"X"}:
                    return False
    except OSError:  # it has ended
        return True
    return True


def children_of(pid: int, known: list[int]) -> list[int]:
    """Return direct children; the known ones, where the kernel keeps no lists of them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return known


def open_own(path: str) -> int | None:
    """Open a directory that is this user's, and that nobody else may write; None of any other.

    Where everybody may make files, a name says nothing of who has made what bears it. Whatever is
    in such a directory, this user has put there.
    """
    with contextlib.suppress(OSError):
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(directory)
        if found.st_uid == os.geteuid() and not found.st_mode & 0o022:
            return directory
        os.close(directory)
    return None


def remove(path: str) -> None:
    """Remove a cluster's directory, if it is this user's, and the control groups that it names."""
    directory = open_own(path)
    if directory is None:
        return
    try:
        remove_groups(directory)
        # By its descriptor, which stays the same directory's. The last step, which is to remove "."
        # itself, fails.
        shutil.rmtree(".", ignore_errors=True, dir_fd=directory)
    finally:
        os.close(directory)
    with contextlib.suppress(OSError):
        os.rmdir(path)  # noqa: PTH106


def remove_groups(directory: int) -> None:
    """Remove the control groups that a cluster's directory names, once nothing runs in them.

    The kernel lets go of a group a moment after its last process has ended.

    Parameters
    ----------
    directory
        A descriptor of it.
    """
    with contextlib.suppress(OSError, ValueError):
        file_systems = group_file_systems()
        with open(os.open(GROUPS, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)) as file:  # noqa: PTH123
            tops = json.load(file)
        end_s = time.monotonic() + GROUPS_TIMEOUT_S
        for top in tops:
            if device_of(top) not in file_systems:
                continue
            for group, _, _ in os.walk(top, topdown=False):
                while os.path.isdir(group):  # noqa: PTH112
                    try:
                        os.rmdir(group)  # noqa: PTH106
                    except OSError as error:
                        if error.errno != errno.EBUSY or time.monotonic() > end_s:
                            break
                        time.sleep(POLL_S)


def group_file_systems() -> set[int]:
    """Return the devices of the file systems that control groups are in."""
    devices: set[int] = set()
    with open("/proc/self/mountinfo") as mounts:  # noqa: PTH123
        for line in mounts:
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup"):
                major, minor = before.split()[2].split(":")
                devices.add(os.makedev(int(major), int(minor)))
    return devices


def device_of(path: str) -> int | None:
    """Return the file system that something is in, a link itself; None if it isn't there."""
    try:
        return os.lstat(path).st_dev
    except OSError:
        return None


def owner_descriptor(pid: int) -> int | None:
    """Return a pidfd of the owner; none if it is already gone (the pipe tells the same)."""
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


def serve(keeper: Keeper) -> None:
    """Answer requests until the owner is gone."""
    owner = keeper.owner
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    poll = select.poll()
    for descriptor in (0, wake_read, owner):
        if descriptor is not None:
            poll.register(descriptor, select.POLLIN)
    buffer = b""
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wake_read in ready:
            os.read(wake_read, 4096)
            keeper.reap()
        if owner in ready:
            return
        if 0 in ready:
            chunk = os.read(0, 65536)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                reply = json.dumps(keeper.answer(line)).encode() + b"\n"
                os.write(1, reply)


def main() -> None:
    """Keep until the owner is gone, then end everything and remove the directory."""
    owner_pid, directory, lock = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    os.set_inheritable(lock, False)  # noqa: FBT003 -- its signature
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is pacelc's to hear
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    keeper = Keeper(owner_descriptor(owner_pid))
    try:
        serve(keeper)
    except BrokenPipeError:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        keeper.end_all()
        remove(directory)


if __name__ == "__main__":
    main()
