"""Runs the benchmarks and prints the table; a figure that isn't reached makes the exit status 1."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benches.harness import Figure, MissingError
from pacelc.runner.machine import describe_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = (
    "noop",
    "key_choosers",
    "queueing",
    "client_cpu",
    "recorded_latency",
    "open_loop",
    "memory",
    "simulator",
    "network",
    "history",
    "study_overhead",
    "report",
    "plan",
    "accuracy",
)


def _figures(name: str) -> Iterator[Figure]:
    try:
        yield from importlib.import_module(f"benches.{name}").measure()
    except MissingError as why:
        yield Figure(name, "", f"can't be measured: {why}", None)


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    unknown = sorted(set(names) - set(ALL))
    if unknown:
        print(
            f"error: no benchmark is called {', '.join(unknown)}\nhint: {', '.join(ALL)}",
            file=sys.stderr,
        )
        return 2
    table = Table("figure", "target", "measured", "reached")
    missed = False
    for name in names or ALL:
        for figure in _figures(name):
            mark = {True: "yes", False: "NO", None: "–"}[figure.reached]
            table.add_row(figure.name, figure.target, figure.measured, mark)
            missed |= figure.reached is False
            print(f"{figure.name}: {figure.measured}", file=sys.stderr)
    console = Console(width=150)
    console.print(table)
    console.print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
