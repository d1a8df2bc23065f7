"""Faults by hand: a socket in a running cluster's directory, and who speaks to it.

The process that owns a cluster serves it: `pacelc up` and `pacelc run` alike. The socket is in the
cluster's directory, which only its owner may enter, and has mode 0600 itself. A request is one line
of JSON, and so is the answer: ``{"error": …, "hint": …}``, or what was asked for.

Map
---
Control         serves the faults of one cluster; a context
Running         a cluster that is served, as others see it
find_running    the clusters below a directory, of those that run
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import select
import socket
import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Self, cast

from pacelc.clusters.errors import ClusterError
from pacelc.clusters.faults.rules import FaultSpec
from pacelc.clusters.keeper import open_own
from pacelc.clusters.process import PREFIX

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from pacelc.clusters.faults.injection import Injector

__all__ = ["Control", "Running", "find_running"]

SOCKET: Final = "control.sock"
TIMEOUT_S: Final = 60.0
"""A fault may have to ask servers that don't answer who their primary is."""
_LONGEST_REQUEST = 1 << 16


class Control:
    """Serves requests for faults, in a thread, while the context lasts.

    Parameters
    ----------
    injector
        Of the cluster.
    """

    def __init__(self, injector: Injector) -> None:
        self.injector = injector
        self._timers: list[threading.Timer] = []
        self._wake, self._woken = socket.socketpair()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._thread = threading.Thread(target=self._serve, name="pacelc-control", daemon=True)

    def __enter__(self) -> Self:
        """Begin to listen."""
        directory = self.injector.cluster.directory
        with _short_path(directory) as path:
            self._listener.bind(path)
        # Nobody can connect before it listens.
        (directory / SOCKET).chmod(0o600)
        self._listener.listen()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End; faults go on as they are."""
        self._wake.close()
        self._thread.join()
        for timer in self._timers:
            timer.cancel()
        self._listener.close()
        self._woken.close()

    def _serve(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._woken], [], [])
            if self._woken in ready:
                return
            # Whoever asks may go away before the answer.
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                with connection:
                    connection.settimeout(TIMEOUT_S)
                    with connection.makefile("rb") as stream:
                        line = stream.readline(_LONGEST_REQUEST)
                    connection.sendall(json.dumps(self._answer(line)).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = cast("dict[str, Any]", json.loads(line))
            match request["do"]:
                case "begin":
                    return self._begin(request)
                case "heal":
                    active = self.injector.active
                    self.injector.heal()
                    return {"records": [record.as_record() for record in active]}
                case "list":
                    return {"records": [record.as_record() for record in self.injector.active]}
                case other:
                    return {"error": f"no such request: {other}"}
        except ClusterError as error:
            return {"error": error.message, "hint": error.hint}
        except (ValueError, KeyError, TypeError) as error:
            return {"error": f"not a request: {error}", "hint": "use one version of pacelc"}

    def _begin(self, request: dict[str, Any]) -> dict[str, Any]:
        spec, for_s = FaultSpec(**request["fault"]), request["for_s"]
        record = self.injector.begin(
            spec, by="hand", seed=secrets.randbits(63), planned_for_s=for_s
        )
        if for_s is not None:
            timer = threading.Timer(for_s, self.injector.end, [record])
            timer.daemon = True
            timer.start()
            self._timers.append(timer)
        return {"records": [record.as_record()]}


@dataclass(frozen=True)
class Running:
    """A cluster that runs on this machine.

    Parameters
    ----------
    name
        Of its directory, the prefix left out: the database and six letters.
    directory
        Where it is.
    """

    name: str
    directory: Path

    def begin(self, spec: FaultSpec, for_s: float | None) -> dict[str, Any]:
        """Begin a fault, for so long or until healed; return its record."""
        [record] = self._ask({"do": "begin", "fault": asdict(spec), "for_s": for_s})
        return record

    def heal(self) -> list[dict[str, Any]]:
        """End every fault; return their records as they were."""
        return self._ask({"do": "heal"})

    def active(self) -> list[dict[str, Any]]:
        """Return the records of the faults in force."""
        return self._ask({"do": "list"})

    def _ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(TIMEOUT_S)
                with _short_path(self.directory) as path:
                    connection.connect(path)
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as stream:
                    line = stream.readline()
        except OSError as error:
            raise ClusterError(
                f"cluster {self.name} doesn't answer: {error.strerror or error}",
                hint="its pacelc may just have ended",
            ) from error
        if not line:
            raise ClusterError(f"cluster {self.name} ended meanwhile")
        answer = cast("dict[str, Any]", json.loads(line))
        if "error" in answer:
            raise ClusterError(answer["error"], hint=answer.get("hint"))
        return cast("list[dict[str, Any]]", answer["records"])


def find_running(parent: Path) -> list[Running]:
    """Return the clusters in a directory whose owners answer, by name."""
    found = [
        Running(path.parent.name.removeprefix(PREFIX), path.parent)
        for path in sorted(parent.glob(f"{PREFIX}*/{SOCKET}"))
    ]
    return [running for running in found if _answers(running)]


def _answers(running: Running) -> bool:
    try:
        running.active()
    except ClusterError:
        return False
    return True


@contextlib.contextmanager
def _short_path(directory: Path) -> Generator[str]:
    """Give the socket a path that fits into an address, which has room for 107 bytes.

    Raises
    ------
    OSError
        The directory isn't this user's: anybody may put one, and a socket, beside ours.
    """
    descriptor = open_own(str(directory))
    if descriptor is None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(directory))
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)
