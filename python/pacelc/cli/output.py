"""Where text leaves the command line, harmless to a terminal.

Map
---
say             a line on standard error
note            the same of what a person should know, where there is something
put             an answer on standard output
own_streams     take over both streams of the process
Unwritable      standard output takes nothing more
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from typing import TYPE_CHECKING, cast

from pacelc.errors import CannotRun
from pacelc.outside import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from _typeshed import ReadableBuffer

__all__ = ["Unwritable", "note", "own_streams", "put", "say"]

debug = False
"""Whether exceptions are shown with their tracebacks; set by ``--debug``."""


def say(line: str) -> None:
    """Print ``line`` on standard error."""
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def note(line: str | None, tell: Callable[[str], None] = say) -> None:
    """Tell what a person should know, where there is something."""
    if line is not None:
        tell(f"note: {line}")


def put(answer: object, end: str = "\n") -> None:
    """Print ``answer`` on standard output."""
    sys.stdout.write(f"{printable(str(answer))}{end}")
    sys.stdout.flush()


class Unwritable(CannotRun):
    """Standard output takes nothing more.

    Parameters
    ----------
    error
        The system's.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"standard output can't be written: {error.strerror}",
            "see where it is sent to: a full disk, or nowhere",
        )
        self.reader_left = isinstance(error, BrokenPipeError)


class _Answers(io.FileIO):
    """Standard output: a command whose answer is lost has failed."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            # None: it is full for now, and whoever made it would not wait.
            while (written := cast("int | None", super().write(data))) is None:
                select.select([], [self], [])
        except OSError as error:
            raise Unwritable(error) from error
        return written


class _Progress(io.FileIO):
    """Standard error: a study goes on where nobody hears of it."""

    def write(self, data: ReadableBuffer, /) -> int:
        written = None
        with contextlib.suppress(OSError):
            written = cast("int | None", super().write(data))
        return memoryview(data).nbytes if written is None else written


def own_streams() -> None:
    """Take over both streams of the process, closed ones included."""
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # Or the next file that is opened would be it. Output to a closed stream stays an error.
            os.set_inheritable(os.open(os.devnull, mode), True)  # noqa: FBT003 - positional only
    sys.stdout = _text(_Answers(1, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Progress(2, "w", closefd=False), sys.stderr)


def _text(raw: io.FileIO, was: TextIO | None) -> io.TextIOWrapper:
    """Return a stream of text, encoded as it was; it was none if it was closed."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=None if was is None else was.encoding,
        errors="backslashreplace" if was is None else was.errors,
        line_buffering=True,
    )
