"""Errors of this room: each names what failed, and says what to do next.

The command line prints ``message`` after ``error:``, ``hint`` after ``hint:``, and ``log_tail`` as
it is.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pacelc.errors import CannotRun, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ClusterError(CannotRun):
    """A cluster could not be defined, fetched, started or kept alive.

    Parameters
    ----------
    message
        One line: what failed, with the names and numbers needed to find it.
    hint
        One line: what to check or to do.
    log_tail
        The last lines of the log that explains the failure.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, log_tail: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.log_tail = log_tail

    def __str__(self) -> str:
        """Everything known, so that a bare traceback explains itself."""
        lines = [self.message]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        if self.log_tail:
            lines.append(f"last lines of the log:\n{self.log_tail}")
        return "\n".join(lines)


class SpecError(ClusterError):
    """A `ClusterSpec` asks for what no cluster can be."""

    exit_status = InputError.exit_status


class FetchError(ClusterError):
    """A server's software could not be had, or is not what was pinned."""


class WorkdirError(ClusterError):
    """The directory that clusters live in can't be used."""


class PortInUseError(ClusterError):
    """Something else listens where a node would."""


class StartError(ClusterError):
    """The servers run, but did not come to serve within the time limit."""


class NodeDied(ClusterError):  # noqa: N818 -- an event that is recorded as such
    """A server process has ended that should be running.

    Parameters
    ----------
    node
        Name of the node.
    status
        Exit status; negative: the signal that ended it.
    log_tail
        The last lines of its log.
    disk_full
        Whether its disk had no room left.
    """

    def __init__(self, node: str, status: int, log_tail: str, *, disk_full: bool = False) -> None:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        hint = "its log says why; a memory limit or a setting it refuses are the usual reasons"
        # Other things than its heap give a JVM that error, too: threads, for example.
        if "OutOfMemoryError: Java heap space" in log_tail:
            how = "ran out of Java heap"
            hint = "give its nodes a larger one (heap_mib, or memory), or less to do"
        elif disk_full:
            how = "ended because its disk is full"
            hint = "free some space, name another disk with --workdir, or load fewer records"
        super().__init__(f"{node} {how}", hint=hint, log_tail=log_tail)
        self.node = node
        self.status = status


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint: the known name most like `name`, and all there are."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"there are: {', '.join(names)}"
