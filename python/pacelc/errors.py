"""What can go wrong, said in one line and with what to do about it.

Every error meant for a person carries a ``message`` (one line: where, what) and, where there is
one, a ``hint`` (what to do next). The command line prints them as ``error: …`` and ``hint: …`` and
ends with ``exit_status``.

Map
---
PacelcError     the base; catch it to catch everything that is meant for the caller
InputError      the caller's input cannot be used: a study, an option, a file (exit status 2)
CannotRun       the input is fine, this machine or cluster cannot do it (exit status 3)
one_line        any exception as one line, for logs and records
remedy          what to do about an error of the system
"""

from __future__ import annotations

import copyreg
import errno
from typing import ClassVar, Final

__all__ = ["CannotRun", "InputError", "PacelcError", "one_line", "remedy"]

_REMEDIES: Final = {
    errno.EACCES: "`ls -ld` shows who may use it; the directories above count, too",
    errno.EPERM: "`ls -ld` shows whose it is",
    errno.ENOSPC: "free some space, or give another directory",
    errno.EROFS: "give another directory: this one can only be read",
}


class PacelcError(Exception):
    """Base of all errors that are meant for the caller.

    Parameters
    ----------
    message
        One line: where, and what is wrong.
    hint
        One line: what to do next.
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Say how it is pickled: as it is, whatever its kind is made from."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InputError(PacelcError):
    """The caller's input cannot be used."""

    exit_status: ClassVar[int] = 2


class NoSteadyState(InputError):  # noqa: N818 - it is raised as what it says
    """A network to which more work comes than it can do, so that its queues grow for ever."""


class CannotRun(PacelcError):  # noqa: N818 - it is raised as what it says
    """The input is fine, but this machine, directory or cluster cannot do what it asks."""

    exit_status: ClassVar[int] = 3


def one_line(error: BaseException) -> str:
    """Return ``error`` as one line of text; errors that say nothing are named by their type."""
    message = getattr(error, "message", None)
    text = message if isinstance(message, str) else str(error)
    if message is None and isinstance(error, OSError) and error.strerror is not None:
        # As all messages: the place first, and no number.
        place = "" if error.filename is None else f"{error.filename}: "
        text = f"{place}{error.strerror}"
    text = " ".join(text.split())
    return text or type(error).__name__


def remedy(error: OSError) -> str | None:
    """Return what to do next about an error of the system; None where it says enough."""
    return _REMEDIES.get(error.errno or 0)
