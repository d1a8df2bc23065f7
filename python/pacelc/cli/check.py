"""``pacelc check``: whether a history is linearizable."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations when it runs
from pacelc.cli.output import put, say
from pacelc.cli.table import aligned
from pacelc.errors import InputError, PacelcError
from pacelc.names import counted
from pacelc.study.values import parse_bytes, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Callable

    from pacelc.history.files import Checked, WitnessRow

__all__ = ["HistoryFormat", "check"]

_N = TypeVar("_N", int, float)

_STATUS = {"violated": 1, "unknown": 4, "holds": 0}
_BAD_INPUT = 2
_WORST_FIRST = (_BAD_INPUT, 1, 4, 0)


class HistoryFormat(StrEnum):
    """What a history can be written in."""

    JEPSEN = "jepsen"
    ETCD_LOG = "etcd-log"
    NATIVE = "native"


def check(  # noqa: PLR0917 - options of a command
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Histories; of a run its directory, or its operations.parquet."
        ),
    ],
    fmt: Annotated[
        HistoryFormat | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="jepsen (EDN), etcd-log or native.",
            show_default="told by the content",
        ),
    ] = None,
    initial: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="What registers hold at first: nothing, any, or a number.",
            show_default="nothing; of a run what was there before",
        ),
    ] = None,
    time_limit: Annotated[
        str, typer.Option(metavar="DURATION", help="For each file; then the answer is unknown.")
    ] = "60s",
    memory_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory of a search; beyond it, unknown.")
    ] = "1GiB",
    as_json: JsonOption = False,
) -> None:
    """Check whether histories of reads, writes and compare-and-sets are linearizable.

    Prints the verdict, and of a violation the few operations that prove it. Ends with status 0 if
    all hold, 1 if one is violated, 4 if one can't be told within limits, 2 if one can't be read.

    \b
    pacelc check history.edn
    pacelc check store/*/history.edn --time-limit 5s
    pacelc check results/mine/runs/0003-r1 --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.history.files import check_file  # noqa: PLC0415 - data frames take long to import

    time_limit_s = _limit("--time-limit", time_limit, parse_duration_s)
    memory_limit_bytes = _limit("--memory-limit", memory_limit, parse_bytes)
    statuses: set[int] = set()
    for file in files:
        try:
            checked = check_file(
                file,
                fmt=fmt,
                initial=initial,
                time_limit_s=time_limit_s,
                memory_limit_bytes=memory_limit_bytes,
            )
        except PacelcError as error:
            # Of one file the door says it.
            if len(files) == 1:
                raise
            say(f"error: {error.message}")
            statuses.add(_BAD_INPUT)
            continue
        statuses.add(_STATUS[checked.verdict])
        if as_json:
            put(json.dumps({"file": str(file), **asdict(checked)}))
        else:
            put(f"{file}: {_verdict(checked)}")
            if len(files) == 1:
                put(_details(checked))
    raise typer.Exit(next(status for status in _WORST_FIRST if status in statuses))


def _limit(option: str, text: str, parse: Callable[[object], _N]) -> _N:
    try:
        return parse(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from error


def _verdict(checked: Checked) -> str:
    why = checked.explanation or checked.reason
    return f"{checked.verdict}: {why}" if why else checked.verdict


def _details(checked: Checked) -> str:
    counts = (
        f"{counted(checked.operations, 'operation')} "
        f"({checked.failed} failed, {checked.unknown} unknown), "
        f"{counted(checked.registers, 'register')}, {counted(checked.sessions, 'session')}"
    )
    if not checked.witness:
        return counts
    has_lines = checked.witness[0].line is not None
    unit = " (ms)" if checked.timed else " (event)"
    header = ["session", "operation", "outcome", f"from{unit}", f"to{unit}"]
    rows = [
        [row.session, _did(row), row.outcome, *_times(row, timed=checked.timed)]
        + ([row.line] if has_lines else [])
        for row in checked.witness
    ]
    table = aligned([*header, "line"] if has_lines else header, rows, right=header[3:])
    return f"\n{table}\n\n{counts}"


def _did(row: WitnessRow) -> str:
    if row.action == "cas":
        return f"cas {row.expected} to {row.value}"
    return f"{row.action} {row.value}"


def _times(row: WitnessRow, *, timed: bool) -> list[str]:
    times = (row.start_ns, row.end_ns)
    return [
        "?" if ns is None else f"{ns / 1e6:.6f}".rstrip("0").rstrip(".") if timed else str(ns)
        for ns in times
    ]
