"""``pacelc model solve``: throughput, responses, queues and utilisations of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.model.options import (
    NetworkArgument,
    NetworkSetOption,
    UsersOption,
    milliseconds,
    numbers_of_users,
)
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.table import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from pacelc.models import Network, Solution

__all__ = ["class_rows", "solve", "station_rows"]


def solve(
    network: NetworkArgument,
    set_: NetworkSetOption = None,
    users: UsersOption = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which solver.", show_default="the one that suits the network"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Solve a network: throughput, mean responses, queues, utilisations.

    Says which solver was used, and what it assumed.

    \b
    pacelc model solve gandini-cassandra-1 --users 1..30
    pacelc model solve gandini-mongodb-4 --set cpu=fcfs
    pacelc model solve mine.yaml --solver ctmc --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc import models  # noqa: PLC0415 - data frames take long to import

    found = models.network_named(network, set_ or ())
    if users is not None:
        frame = models.sweep(found, numbers_of_users(users), solver)
        typer.echo(frame.write_json() if as_json else _sweep_text(found, frame))
        return
    solution = models.solve(found, solver)
    typer.echo(
        solution.model_dump_json(indent=2, by_alias=True) if as_json else _text(found, solution)
    )


def _text(network: Network, solution: Solution) -> str:
    kind = "exact" if solution.exact else "approximate"
    parts = [f"{network.name or 'network'}: {solution.solver}, {kind}"]
    parts += [f"assumes: {text}" for text in solution.assumes]
    rows = class_rows((r.name, r.throughput_per_s, r.response_s) for r in solution.classes)
    if len(rows) > 1:
        rows.append(["all", f"{solution.throughput_per_s:,.4g}", milliseconds(solution.response_s)])
    parts += ["", aligned(["class", "throughput/s", "response ms"], rows, right=_RIGHT)]
    rows = station_rows((r.name, r.utilisation, r.queue) for r in solution.stations)
    header = ["station", "utilisation", "customers"]
    parts += ["", aligned(header, rows, right=_RIGHT)]
    return "\n".join(parts)


_RIGHT = ("throughput/s", "response ms", "utilisation", "customers")


def class_rows(results: Iterable[tuple[str, float | None, float | None]]) -> list[list[str]]:
    """Return rows of classes that come to their reference."""
    return [
        [name, f"{rate:,.4g}", milliseconds(response)] for name, rate, response in results if rate
    ]


def station_rows(results: Iterable[tuple[str, float | None, float | None]]) -> list[list[str]]:
    """Return rows of stations."""
    return [
        [name, "-" if used is None else f"{used:.3f}", "-" if queue is None else f"{queue:.3f}"]
        for name, used, queue in results
    ]


def _sweep_text(network: Network, frame: pl.DataFrame) -> str:
    header: list[str] = []
    for name in frame.columns:
        of, _, what = name.rpartition(".")
        word = {"throughput_per_s": "throughput/s", "response_s": "response ms"}.get(what, what)
        header.append(f"{of} {word}".strip())
    rows = [
        [
            str(value)
            if name == "users"
            else milliseconds(value)
            if name.endswith("response_s")
            else f"{value:,.4g}"
            for name, value in row.items()
        ]
        for row in frame.iter_rows(named=True)
    ]
    return f"{network.name or 'network'}\n\n{aligned(header, rows, right=header)}"
