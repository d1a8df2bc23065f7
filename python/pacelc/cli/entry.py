"""The entry point: every exception becomes one line, perhaps a hint, and an exit status.

Map
---
main        the entry point of the ``pacelc`` command
call        the same, answering with the exit status instead of ending the process
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from typer import Abort, TyperException

from pacelc.cli import output, privilege
from pacelc.cli.output import say
from pacelc.errors import CannotRun, InputError, PacelcError, one_line, remedy
from pacelc.runner.interruption import Interrupted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["call", "main"]

_BUG = 70


def main() -> None:
    """Run the command line and end the process."""
    privilege.is_whole_process = True
    output.own_streams()
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit status."""
    try:
        status = _call(arguments)
        sys.stdout.flush()
    except output.Unwritable as error:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Whoever read our output may have seen enough (`pacelc scenarios STUDY | head`).
        return 128 + signal.SIGPIPE if error.reader_left else _report(error)
    return status


def _call(arguments: Sequence[str]) -> int:
    try:
        # Many files: Ctrl-C while they are read is heard, too.
        from pacelc.cli.app import app  # noqa: PLC0415

        status = app(list(arguments), standalone_mode=False, prog_name="pacelc")
    except output.Unwritable:
        raise
    except Interrupted as interrupted:
        return interrupted.exit_status
    except (KeyboardInterrupt, Abort):
        return 130
    except TyperException as error:
        return _usage(error)
    except Exception as error:
        if output.debug:
            raise
        return _report(error)
    return status if isinstance(status, int) else 0


def _usage(error: TyperException) -> int:
    message, _, possibilities = error.format_message().partition(" Did you mean ")
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(f"{error.format_message()}\n")
        return 0
    if message.startswith("Got unexpected extra argument"):
        # Pieces of a value with blanks in it that wasn't quoted, such as one with a password.
        message = message.partition(" (")[0]
    say(f"error: {' '.join(message.split())}")
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "pacelc")
    say(
        f"hint: did you mean {possibilities.strip()}"
        if possibilities
        else f"hint: see {command} --help"
    )
    return 2


def _report(error: Exception) -> int:
    message = one_line(error)
    hint = getattr(error, "hint", None) or (remedy(error) if isinstance(error, OSError) else None)
    status = _status(error)
    if status == _BUG:
        message = f"this is a bug in pacelc: {type(error).__name__}: {message}"
        hint = "`pacelc --debug …` shows where; please report it"
    tail = getattr(error, "log_tail", None)
    if isinstance(tail, str) and tail.strip():
        for line in tail.rstrip().splitlines():
            say(f"  | {line}")
    say(f"error: {message}")
    if isinstance(hint, str) and hint:
        say(f"hint: {hint}")
    return status


def _status(error: Exception) -> int:
    if isinstance(error, PacelcError):
        return error.exit_status
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"SpecError", "RefusedError"}:
        return InputError.exit_status
    if kinds & {"ClusterError", "EngineError"} or isinstance(error, OSError):
        return CannotRun.exit_status
    return _BUG
