"""A running study, for whoever watches: live on a terminal, one plain line an event elsewhere.

Everything goes to standard error.

Map
---
observer        picks the right one
PlainProgress   lines, fit for a log
QuietProgress   of these, what goes wrong
LiveProgress    the same lines, and below them the whole study's bar and the running second
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pacelc.cli.output import say
from pacelc.names import counted, overheads
from pacelc.outside import printable
from pacelc.runner import Interrupted, events
from pacelc.study.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Generator

    from pacelc.runner.account import TimeLeft

__all__ = ["LiveProgress", "PlainProgress", "QuietProgress", "observer"]


@contextmanager
def observer(*, quiet: bool = False) -> Generator[PlainProgress]:
    """Yield the observer that fits standard error, or one for what goes wrong alone."""
    if quiet:
        yield QuietProgress()
    elif sys.stderr.isatty():
        with LiveProgress(Console(stderr=True)) as live:
            yield live
    else:
        yield PlainProgress()


class PlainProgress:
    """Prints one line an event."""

    def __call__(self, event: events.Event) -> None:
        """Hear ``event``."""
        for line in lines(event):
            self.print(line)

    def print(self, line: str) -> None:
        """Print one line."""
        say(line)

    def interrupted(self, interrupted: Interrupted) -> None:
        """Say that the study was interrupted, after everything was torn down."""
        self.print(f"interrupted by {interrupted}: the servers are down and finished runs are kept")
        self.print("hint: the same command continues the study")


class QuietProgress(PlainProgress):
    """Prints what goes wrong."""

    def __call__(self, event: events.Event) -> None:
        """Hear ``event``."""
        match event:
            case events.ClusterFailed() | events.RunFailed() | events.Warned():
                wrong = lines(event)
            case events.RunFinished():
                wrong = lines(event)[1:]
            case _:
                wrong = []
        for line in wrong:
            say(line)

    def print(self, line: str) -> None:
        """Print one line, if it is a warning."""
        if line.startswith("warning"):
            say(line)


class LiveProgress(PlainProgress):
    """Prints the same lines above a display of what is going on."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(
            console=console, refresh_per_second=4, transient=True, redirect_stdout=False
        )
        self._done = 0
        self._runs = 0
        self._left: TimeLeft | None = None
        self._status = ""

    def __enter__(self) -> Self:
        """Begin to show."""
        self._live.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave nothing but the lines."""
        self._live.update(Text(""), refresh=True)
        self._live.__exit__(None, None, None)

    def __call__(self, event: events.Event) -> None:
        """Hear ``event``."""
        self._follow(event)
        self._live.update(self.display())
        if not isinstance(event, events.ClusterStep | events.RunStarted | events.Cooling):
            for line in lines(event):
                self.print(line)

    def print(self, line: str) -> None:
        """Print one line above the display."""
        style = (
            "red"
            if line.startswith(("failed", "error"))
            else "yellow"
            if line.startswith("warning")
            else ""
        )
        self._console.print(Text(printable(line), style=style), soft_wrap=True)

    def _follow(self, event: events.Event) -> None:
        match event:
            case events.StudyStarted():
                self._runs, self._done, self._left = event.runs, event.finished, event.time_left
            case events.ClusterStarting():
                self._status = f"{event.key}: starting"
            case events.ClusterStep():
                self._status = event.message
            case events.RunStarted():
                self._left = event.time_left
                self._status = f"{event.run.scenario.label}: preparing"
            case events.Loading():
                self._left = event.time_left
                self._status = (
                    f"{event.run.scenario.label}: loaded {event.inserted:,} of "
                    f"{counted(event.records, 'record')}"
                )
            case events.Progressed():
                self._left = event.time_left
                self._status = _second(event)
            case events.RunFinished() | events.RunFailed():
                self._done = event.position
            case events.Cooling():
                self._left = event.time_left
                self._status = f"cooling down for {format_duration(event.seconds)}"
            case _:
                pass

    def display(self) -> RenderableType:
        """Return what is shown below the lines."""
        grid = Table.grid(padding=(0, 1))
        left = "" if self._left is None else f"{_left(self._left, '')} left"
        grid.add_row(
            f"{self._done}/{counted(self._runs, 'run')}",
            ProgressBar(max(1, self._runs), self._done, width=40),
            left,
        )
        return Group(grid, Text(printable(self._status)))


def _left(left: TimeLeft, roughly: str = "about ") -> str:
    return f"{'at most ' if left.is_limit else roughly}{format_duration(left.seconds)}"


def _second(event: events.Progressed) -> str:
    settings = event.run.scenario.settings
    errors = f"{event.fail:,} failed, {event.unknown:,} unknown"
    whole = "" if event.whole_s is None else f"/{event.whole_s:.0f}"
    return " · ".join(
        (
            event.run.scenario.label,
            f"{event.phase or 'opening'} {event.elapsed_s:.0f}{whole} s",
            f"{event.throughput_per_s:,.0f} op/s",
            _p99(event.p99_ms),
            f"{event.users} of {counted(settings.users, 'user')}",
            errors if event.fail or event.unknown else "no errors",
        )
    )


def lines(event: events.Event) -> list[str]:  # noqa: C901, PLR0911, PLR0912 - one case an event
    """Return an event in plain lines; most have one, the running second has none."""
    match event:
        case events.StudyStarted():
            before = f", {event.finished} finished before" if event.finished else ""
            return [
                (
                    f"study {event.name}: {counted(event.runs, 'run')}{before}; "
                    f"{_left(event.time_left)} left"
                )
            ]
        case events.ClusterStarting():
            nodes = counted(event.nodes, "node")
            return [f"cluster {event.key}: starting {event.database}, {nodes}"]
        case events.ClusterStep():
            return [f"cluster: {event.message}"]
        case events.ClusterUp():
            version = event.versions.get(event.database)
            named = f" ({event.database} {version})" if version else ""
            return [f"cluster {event.key}: serves after {event.seconds:.1f} s{named}"]
        case events.ClusterFailed():
            runs = counted(event.runs, "run")
            return [
                f"failed cluster {event.key}: {event.reason}; {runs} can't be run",
                *([f"hint: {event.hint}"] if event.hint else []),
            ]
        case events.ClusterDown():
            return [f"cluster {event.key}: down after {event.seconds:.1f} s"]
        case events.RunStarted():
            left = _left(event.time_left)
            return [f"run {event.position}/{event.runs} {_name(event)}: {left} left"]
        case events.RunFinished():
            return [f"done {event.position}/{event.runs} {_name(event)}: {_outcome(event)}"] + [
                f"warning: {event.run.run_id}: {warning}" for warning in event.warnings
            ]
        case events.RunFailed(cluster_failed=True):
            return []
        case events.RunFailed():
            hint = [f"hint: {event.hint}"] if event.hint else []
            return [f"failed {event.position}/{event.runs} {_name(event)}: {event.reason}", *hint]
        case events.Cooling():
            return [f"cooling down for {format_duration(event.seconds)}"]
        case events.Warned():
            return [f"warning: {event.message}"]
        case events.StudyFinished():
            return _farewell(event)
        case _:
            return []


def _name(event: events.RunStarted | events.RunFinished | events.RunFailed) -> str:
    return f"{event.run.run_id} {event.run.scenario.label}"


def _outcome(event: events.RunFinished) -> str:
    parts = [f"{event.throughput_per_s:,.0f} op/s", _p99(event.p99_ms)]
    if event.fail or event.unknown:
        parts.append(f"{event.fail:,} failed, {event.unknown:,} unknown")
    return ", ".join(parts)


def _p99(p99_ms: float | None) -> str:
    return "p99 -" if p99_ms is None else f"p99 {p99_ms:.3g} ms"


def _farewell(event: events.StudyFinished) -> list[str]:
    before = f", {event.already_there} finished before" if event.already_there else ""
    failed = f", {event.failed} failed" if event.failed else ""
    finished = f"{counted(event.finished, 'run')} finished"
    said = [f"{finished}{failed}{before} in {format_duration(event.seconds)}"]
    if event.overhead is not None:
        share = f"{100 * sum(event.overhead.values()):.0f} %"
        what = f": {told}" if (told := overheads(event.overhead)) else ""
        said.append(f"{share} of the time was outside load, warm-up, measuring and cool-down{what}")
    if event.failed:
        said.append(
            "hint: the same command tries the failed runs again; "
            "failures/ in the results says why they failed"
        )
    return said
