"""``pacelc model solve``: throughput, responses, queues and utilisations of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.model.options import (
    NetworkArgument,
    NetworkSetOption,
    UsersOption,
    milliseconds,
    network_named,
    numbers_of_users,
)
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import put
from pacelc.cli.table import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from pacelc.networks import Network, Solution

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

    Says which solver was used, and what it assumed; with --users, per row where that differs.

    \b
    pacelc model solve gandini-cassandra-1 --users 1..30
    pacelc model solve gandini-mongodb-4 --set cpu=fcfs
    pacelc model solve mine.yaml --solver ctmc --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc import networks  # noqa: PLC0415 - data frames take long to import

    found = network_named(network, set_ or ())
    if users is not None:
        frame = networks.sweep(found, numbers_of_users(users), solver)
        put(frame.write_json() if as_json else _sweep_text(found, frame))
        return
    solution = networks.solve(found, solver)
    put(solution.model_dump_json(indent=2, by_alias=True) if as_json else _text(found, solution))


def _text(network: Network, solution: Solution) -> str:
    how = _how(solution.solver, exact=solution.exact)
    parts = [f"{network.name or 'network'}: {how}"]
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


def _how(solver: str, *, exact: bool) -> str:
    return f"{solver}, {'exact' if exact else 'approximate'}"


def _sweep_text(network: Network, frame: pl.DataFrame) -> str:
    """Return a row each; how they were solved is above the table if it is the same for all."""
    ways = {
        (row["solver"], row["exact"], row["assumes"])
        for row in frame.select("solver", "exact", "assumes").iter_rows(named=True)
    }
    same = len({(solver, exact) for solver, exact, _ in ways}) == 1
    values = frame.drop("solver", "exact", "assumes")
    header = [_title(name) for name in values.columns]
    rows = [
        [_cell(name, value) for name, value in row.items()] for row in values.iter_rows(named=True)
    ]
    numbers = tuple(header)
    first = network.name or "network"
    if same:
        solver, exact, _ = min(ways)
        first += f": {_how(solver, exact=exact)}"
    else:
        header.append("solver")
        for cells, row in zip(rows, frame.iter_rows(named=True), strict=True):
            cells.append(_how(row["solver"], exact=row["exact"]))
    parts = [first]
    for solver, exact, assumes in sorted(ways):
        who = "" if same else f"{_how(solver, exact=exact)}, "
        parts += [f"{who}assumes: {text}" for text in assumes.split("; ") if text]
    return "\n".join([*dict.fromkeys(parts), "", aligned(header, rows, right=numbers)])


def _title(name: str) -> str:
    of, _, what = name.rpartition(".")
    word = {"throughput_per_s": "throughput/s", "response_s": "response ms"}.get(what, what)
    return f"{of} {word}".strip()


def _cell(name: str, value: float | None) -> str:
    if name == "users":
        return str(value)
    if value is None or name.endswith("response_s"):
        return milliseconds(value)
    return f"{value:,.4g}"
