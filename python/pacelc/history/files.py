"""Whether the history of a file, or of a run, is linearizable."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from pacelc.errors import CannotRun, InputError, remedy
from pacelc.history.log import pack
from pacelc.history.registers import run_log
from pacelc.numerals import parse_whole

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMATS", "Checked", "WitnessRow", "check_file"]

FORMATS: Final = ("jepsen", "etcd-log", "native")
"""What is read: Jepsen's EDN, its logs of etcd's test, a run's log of operations."""

_PARQUET: Final = b"PAR1"
_OPERATIONS: Final = "operations.parquet"


@dataclass(frozen=True)
class WitnessRow:
    """An operation of a witness; values and register as the history calls them."""

    session: int
    register: str
    action: Literal["read", "write", "cas"]
    expected: str | None
    """What a compare-and-set had to find."""
    value: str
    """What was read or written."""
    outcome: Literal["ok", "fail", "unknown"]
    start_ns: int
    end_ns: int | None
    """None where the outcome is unknown."""
    line: int | None
    """The line of its start; None where the history has no lines."""


@dataclass(frozen=True)
class Checked:
    """What was found in a history."""

    format: str
    operations: int
    failed: int
    unknown: int
    registers: int
    sessions: int
    timed: bool
    """Whether times are nanoseconds; else they number the file's events."""
    verdict: Literal["holds", "violated", "unknown"]
    reason: str | None
    """Why the verdict is unknown."""
    explanation: str | None
    """Why it is violated."""
    witness: tuple[WitnessRow, ...]
    """Operations that can't be put in any order, by their starts."""


def check_file(
    path: Path,
    *,
    fmt: str | None = None,
    initial: str | None = None,
    time_limit_s: float = 60.0,
    memory_limit_bytes: int = 2**30,
) -> Checked:
    """Check whether each register of a history is linearizable.

    Parameters
    ----------
    path
        A file; or of a run its directory, or its ``operations.parquet``.
    fmt
        One of `FORMATS`; None to tell by the content.
    initial
        What registers hold at first: ``nothing``, ``any``, or a number. By default nothing, and for
        a run what was there before it.
    time_limit_s, memory_limit_bytes
        When to answer *unknown*.

    Raises
    ------
    InputError
        It can't be read: the line is named where there are lines.
    """
    from pacelc import _engine  # noqa: PLC0415 - only who checks needs it

    data, found, of_run = _content(path, fmt)
    options = {
        **of_run,
        "format": found,
        "initial": _initial(initial or ("earlier" if found == "native" else "nothing")),
        "time_limit_s": time_limit_s,
        "memory_limit_bytes": memory_limit_bytes,
    }
    try:
        answer = json.loads(_engine.check_history(data, json.dumps(options)))
    except InputError as error:
        raise InputError(f"{path}: {error.message}", error.hint) from error
    witness = tuple(WitnessRow(**row) for row in answer.pop("witness"))
    return Checked(**answer, witness=witness)


def _content(path: Path, fmt: str | None) -> tuple[bytes, str | None, dict[str, Any]]:
    """Return what a file holds, its format if that is known, and what else is known of a run."""
    if path.is_dir():
        path /= _OPERATIONS
        if not path.is_file():
            raise InputError(
                f"{path.parent} has no {_OPERATIONS}",
                "a run has one if its study sets observe: true; runs are in RESULTS/runs",
            )
    try:
        with path.open("rb") as stream:
            is_run = stream.read(len(_PARQUET)) == _PARQUET
            if is_run and fmt in (None, "native"):
                log, reading = run_log(path)
                fields = max(reading.fields, 1)
                first, end = reading.loaded
                loaded = (first * fields, end * fields)
                of_run = {"loaded": loaded, "earlier_unknown": reading.earlier_unknown}
                return pack(log, reading), "native", of_run
            if is_run or fmt == "native":
                what = "is" if is_run else "isn't"
                raise InputError(f"{path} {what} a run's log of operations", "leave --format out")
            stream.seek(0)
            return stream.read(), fmt, {}
    except FileNotFoundError as error:
        raise InputError(f"{path} doesn't exist") from error
    except OSError as error:
        raise CannotRun(f"{path} can't be read: {error.strerror}", remedy(error)) from error
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # Polars panics where damage is deep.
        reason = str(error).partition("\n")[0]
        hint = "it is damaged, or isn't a run's log of operations"
        raise InputError(f"{path} can't be read: {reason}", hint) from error


def _initial(text: str) -> str | dict[str, int]:
    if text in ("nothing", "any", "earlier"):
        return text
    with suppress(ValueError):
        if 0 <= (value := parse_whole(text)) < 2**62:
            return {"value": value}
    raise InputError(f"{text!r} is no initial value", "nothing, any, or a whole number")
