"""Network namespaces: whether this machine lets us have them, and how a thread enters one.

Map
---
Capability, capability  what this machine can do, found by trying
called_in               call a function in another network namespace
entered                 a context: the calling thread is in one; for root only, who may come back
rooted                  a command, made one that runs as root of a user namespace of its own
as_root                 run it in place of this process
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

T = TypeVar("T")

CLONE_NEWUSER = 0x1000_0000
CLONE_NEWNET = 0x4000_0000

_libc = ctypes.CDLL(None, use_errno=True)

# Root of a new user namespace. The kernel wants a process of one thread for this, so it is done by
# a Python that has just started.
_BECOME_ROOT = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
user, group = os.geteuid(), os.getegid()
def become_root():
    if libc.unshare({CLONE_NEWUSER}) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for name, line in (("setgroups", "deny"), ("uid_map", f"0 {{user}} 1"),
                       ("gid_map", f"0 {{group}} 1")):
        with open(f"/proc/self/{{name}}", "w") as file:
            file.write(line)
"""

_AS_ROOT = f"""{_BECOME_ROOT}
become_root()
os.execv(sys.argv[1], sys.argv[1:])
"""

# Asked in a process of its own, since what it does can't be undone: a namespace, and in it a TUN
# device. The last line that it prints is the step that failed.
_TRY = f"""{_BECOME_ROOT}
import fcntl, struct
def step(name, done):
    if not done:
        print(name, os.strerror(ctypes.get_errno()), sep=": ")
        sys.exit()
if sys.argv[1] == "user":
    try:
        become_root()
    except OSError as error:
        ctypes.set_errno(error.errno)
        step("user", False)
step("net", libc.unshare({CLONE_NEWNET}) == 0)
try:
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"wan0", 0x1001))
except OSError as error:
    ctypes.set_errno(error.errno)
    step("tun", False)
print("ok")
"""

_WHY: dict[str, tuple[str, str]] = {
    "user": (
        "the kernel gives this user no user namespace",
        (
            "as root: sysctl user.max_user_namespaces=10000 (and, where there is such a setting, "
            "kernel.unprivileged_userns_clone=1 or "
            "kernel.apparmor_restrict_unprivileged_userns=0); or run pacelc as root"
        ),
    ),
    "net": (
        "the kernel gives no network namespace",
        "run it with the capability CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN)",
    ),
    "tun": (
        "no TUN device can be made",
        (
            "as root: modprobe tun, and make /dev/net/tun readable and writable for this user "
            "(docker run --device /dev/net/tun --cap-add NET_ADMIN)"
        ),
    ),
}


@dataclass(frozen=True)
class Capability:
    """Whether this machine can give every node a network of its own.

    Parameters
    ----------
    how
        ``root``: as it is; ``user namespace``: by `as_root`; None: not at all.
    reason
        Why not, in one line; empty where it can.
    hint
        What would enable it.
    """

    how: Literal["root", "user namespace"] | None
    reason: str = ""
    hint: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it can."""
        return self.how is not None


@functools.cache
def capability() -> Capability:
    """Return what this machine can do; tried once a process."""
    if (as_it_is := _attempt("root")) is None:
        return Capability("root")
    if os.geteuid() == 0:
        return Capability(None, *as_it_is)
    if (as_user := _attempt("user")) is None:
        return Capability("user namespace")
    return Capability(None, *as_user)


def _attempt(how: Literal["root", "user"]) -> tuple[str, str] | None:
    """Try; return reason and hint if it fails."""
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRY, how],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return (f"it can't be tried: {error}", "")
    if tried.stdout.strip() == "ok":
        return None
    step, _, cause = tried.stdout.strip().partition(": ")
    reason, hint = _WHY.get(step, ("it can't be tried", ""))
    cause = cause or " ".join(tried.stderr.split()[-20:])
    return (f"{reason}: {cause}" if cause else reason, hint)


def called_in(namespace: str | Path, work: Callable[[], T]) -> T:
    """Call a function in a network namespace, and return what it returns.

    It is called by a thread of its own, which enters and never comes back: an ordinary user's
    process, which is root of its own user namespace, may enter, but may not return to the network
    that it came from. Threads that the function makes are in the namespace too.

    Raises
    ------
    OSError
        The namespace is not there any more, or not ours to enter.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def go() -> None:
        try:
            _enter_path(namespace)
            returned.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised below, by the calling thread
            raised.append(error)

    # A daemon, so that one who is interrupted while waiting need not wait for it.
    thread = threading.Thread(target=go, name="pacelc-inside", daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return returned[0]


@contextmanager
def entered(namespace: str | Path) -> Generator[None]:
    """Put the calling thread, and threads that it makes meanwhile, into a network namespace.

    As root of a user namespace only, the way back is barred: see `called_in`.

    Parameters
    ----------
    namespace
        Path of it, such as ``/proc/PID/ns/net``.

    Raises
    ------
    OSError
        It is not there any more, or not ours to enter.
    """
    # Not /proc/self, which is the main thread.
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _enter_path(namespace)
        try:
            yield
        finally:
            _enter(here)
    finally:
        os.close(here)


def _enter_path(namespace: str | Path) -> None:
    there = os.open(namespace, os.O_RDONLY)
    try:
        _enter(there)
    finally:
        os.close(there)


def _enter(descriptor: int) -> None:
    # Python has os.setns from 3.12 on.
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"can't enter a network namespace: {os.strerror(number)}")


def in_namespace_of_one_user() -> bool:
    """Tell whether this process is in a user namespace such as `as_root` makes."""
    numbers = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    return numbers[0::2] == ["0", "1"]


def rooted(command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command as root of a user namespace of its own.

    To the outside it stays who it is: files that it makes are its user's.
    """
    return [sys.executable, "-I", "-S", "-c", _AS_ROOT, *command]


def as_root(command: Sequence[str]) -> NoReturn:
    """Run a command in place of this process, as root of a user namespace of its own.

    Raises
    ------
    OSError
        There is no Python to run it with.
    """
    os.execv(sys.executable, rooted(command))  # noqa: S606 - no shell is wanted
