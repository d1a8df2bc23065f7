"""Processes: start servers, watch them, and be certain that they end.

- `Workspace` is a cluster's directory, with an owner recorded and a lock held; what the same user's
  dead owners left is swept away first, with the control groups that it names.
- `Supervisor` speaks to the keeper (`pacelc.clusters.keeper`), the process whose children the
  servers are.
- `require_free` refuses to start where something listens already.

What ends a cluster, and what then happens:

- The ``with`` block ends, any way: the keeper kills all, removes the directory, and is collected.
- pacelc ends (SIGTERM, SIGKILL, a crash): the keeper sees its pipe close, and does the same.
- The keeper is killed: the kernel kills the servers (``PR_SET_PDEATHSIG``), pacelc removes the
  directory.
- Both are killed: the kernel kills the servers; the next start removes the directory, whose lock
  is free.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

from pacelc.clusters import keeper
from pacelc.clusters.errors import ClusterError, PortInUseError, WorkdirError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.clusters.server_user import ServerUser

PREFIX = "pacelc-cluster-"
NETWORK = keeper.NETWORK
"""Name of the process that emulates a network, among the servers'."""
OWNER = "owner.json"
_OPEN_OWNER = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Whoever opens a FIFO otherwise waits until somebody writes."""
STOP_TIMEOUT_S = 30.0
NOWHERE: Mapping[str, object] = MappingProxyType({})


class Workspace:
    """One cluster's directory, held by this process until `release`.

    Parameters
    ----------
    parent
        Directory to make it in; made when missing.
    label
        Told in the directory's name: the database.

    Raises
    ------
    WorkdirError
        The directory can't be made.
    """

    def __init__(self, parent: Path, label: str) -> None:
        self._groups: dict[str, None] = {}
        try:
            parent.mkdir(parents=True, exist_ok=True)
            sweep(parent)
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{label}-", dir=parent)).resolve()
            # Locked before it gets the name that a sweep looks for: a sweep never sees it unlocked
            # while its owner lives.
            unnamed = self.path / f".{OWNER}"
            self.lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            os.write(
                self.lock,
                json.dumps({"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}).encode(),
            )
            unnamed.rename(self.path / OWNER)
        except OSError as error:
            raise WorkdirError(
                f"no cluster directory can be made in {parent}: {error.strerror or error}",
                hint="name a directory on a disk with space that you may write to",
            ) from error

    def names_groups(self, directories: Sequence[Path]) -> None:
        """Write down control groups before they are made: whoever removes this, removes them."""
        self._groups |= dict.fromkeys(str(directory) for directory in directories)
        names = json.dumps(list(self._groups))
        (self.path / keeper.GROUPS).write_text(names, encoding="utf-8")

    def release(self) -> None:
        """Remove the directory, if the keeper has not, and let go of the lock."""
        keeper.remove(str(self.path))
        with contextlib.suppress(OSError):
            os.close(self.lock)


def sweep(parent: Path) -> list[Path]:
    """Remove this user's directories in `parent` whose owners are gone; return them.

    The lock decides, not the recorded pid: the kernel frees it when the last of pacelc and keeper
    has ended, and a pid may have been given to another process since. The record is for people.
    Others' directories are left alone, whatever they are called: `pacelc.clusters.keeper.open_own`.
    """
    removed: list[Path] = []
    for path in parent.glob(f"{PREFIX}*"):
        directory = keeper.open_own(str(path))
        if directory is None:
            continue
        lock = None
        with contextlib.suppress(OSError):
            lock = os.open(OWNER, _OPEN_OWNER, dir_fd=directory)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            keeper.remove(str(path))
            removed.append(path)
        for descriptor in (lock, directory):
            if descriptor is not None:
                os.close(descriptor)
    return removed


def start_ticks(pid: int) -> int:
    """Return when a process started, in ticks since boot: with the pid, its name for good."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


class Supervisor:
    """The keeper's other end: starts, signals and asks after servers, from any thread.

    Parameters
    ----------
    workspace
        The cluster's directory; the keeper removes it at the end.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._mutex = threading.Lock()
        self.killed: set[str] = set()
        """Servers that were killed on purpose and not started since: their end is no failure."""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", keeper.__file__),
                *(str(os.getpid()), str(workspace.path), str(workspace.lock)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # A session of its own: Ctrl-C reaches pacelc alone, which then ends the keeper in
            # order.
            start_new_session=True,
            pass_fds=(workspace.lock,),
            # It must not sit in a directory that someone may want to unmount, nor in the one it
            # removes.
            cwd="/",
        )

    @property
    def pid(self) -> int:
        """The keeper's process id."""
        return self._process.pid

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        host: str | None = None,
        placement: Mapping[str, object] = NOWHERE,
        user: ServerUser | None = None,
    ) -> int:
        """Start a server under `name`; return its pid.

        Parameters
        ----------
        host
            Of the emulated network, which it is put on.
        placement
            What its size asks of the keeper: `pacelc.clusters.sizes.size`.
        user
            Whom it runs as, if not as pacelc does.

        Raises
        ------
        ClusterError
            The program can't be run.
        """
        reply = self._ask(
            do="start",
            name=name,
            argv=list(argv),
            cwd=str(cwd),
            env=dict(env),
            log=str(log),
            host=host,
            user=None if user is None else (user.uid, user.gid),
            **placement,
        )
        self.killed.discard(name)
        return cast("int", reply["pid"])

    def start_network(self, argv: Sequence[str], *, cwd: Path, log: Path) -> dict[str, Any]:
        """Start the process that emulates a network; return what it says when it is ready.

        Raises
        ------
        ClusterError
            It can't make the network; with its log.
        """
        try:
            return self._ask(
                do="network",
                name=NETWORK,
                argv=list(argv),
                cwd=str(cwd),
                env=dict(os.environ),
                log=str(log),
            )
        except ClusterError as error:
            with contextlib.suppress(OSError):
                error.log_tail = log.read_text(encoding="utf-8", errors="replace")
            raise

    def ask_network(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the process that emulates a network; return its reply.

        Raises
        ------
        ClusterError
            It refuses, or has ended.
        """
        return self._ask(do="ask-network", request=dict(request))

    def signal(self, name: str, number: int) -> int:
        """Send a signal to a server's process group; after SIGKILL, return when it is gone.

        Returns
        -------
        When the signal was sent: nanoseconds, as `time.monotonic_ns` has them.
        """
        if number == signal.SIGKILL:
            self.killed.add(name)  # before it dies: another thread may check meanwhile
        return cast("int", self._ask(do="signal", name=name, signal=int(number))["sent_ns"])

    def exits(self) -> dict[str, int]:
        """Servers that have ended, with their exit status (negative: the signal)."""
        return cast("dict[str, int]", self._ask(do="exits")["exits"])

    def _ask(self, **request: object) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("the keeper is started with pipes")
        try:
            with self._mutex:
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
                line = stdout.readline()
        except (OSError, ValueError):
            line = b""
        if not line:
            raise ClusterError(
                "the keeper process has ended, and the servers with it",
                hint="something killed it: see the kernel's log for an out-of-memory kill",
            )
        reply = cast("dict[str, Any]", json.loads(line))
        if "error" in reply:
            what = f"{request['name']} can't be started" if "name" in request else "network"
            raise ClusterError(f"{what}: {reply['error']}")
        return reply

    def close(self) -> None:
        """End every server and the keeper; returns when they are gone."""
        process = self._process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def __enter__(self) -> Self:
        """Nothing more to do: the keeper runs already."""
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self.close()


def require_free(host: str, port: int, *, node: str) -> None:
    """Refuse a port that something listens on.

    Raises
    ------
    PortInUseError
        Someone listens there.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of an earlier cluster in TIME_WAIT are no obstacle, a listener
        # is.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise ClusterError(
                    f"{node} can't listen on {host}:{port}: {error.strerror}"
                ) from error
            raise PortInUseError(
                f"port in use: {host}:{port}, which {node} needs",
                hint=f"`ss -ltnp 'sport = :{port}'` tells who listens; or set the option "
                "`first_host` (such as 127.0.1.1) or `port`",
            ) from error
