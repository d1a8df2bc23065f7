"""``pacelc model change``: a network while stations go down and come up, and users come and go."""

from __future__ import annotations

import re
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelc.cli.model.options import (
    NetworkArgument,
    NetworkSetOption,
    ReplicationsOption,
    SeedOption,
    network_named,
    time_s,
)
from pacelc.cli.options import JsonOption, whole
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.numerals import parse_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.networks import Network
    from pacelc.networks.changes import Change, Changed

__all__ = ["change"]

_EVENT = re.compile(r"(?P<what>.+)@(?P<at>[^@]+)")
_NUMBER = re.compile(r"(?:(?P<name>.+)=)?(?P<number>[0-9]+)")


def change(  # noqa: PLR0917 - options of a command
    network: NetworkArgument,
    set_: NetworkSetOption = None,
    down: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATION@TIME", help="It has no servers from then on. cpu1,disk1@60s is both."
        ),
    ] = None,
    up: Annotated[
        list[str] | None,
        typer.Option(metavar="STATION@TIME", help="It has all of its servers again."),
    ] = None,
    servers: Annotated[
        list[str] | None,
        typer.Option(metavar="STATION=N@TIME", help="It has so many servers from then on."),
    ] = None,
    users: Annotated[
        list[str] | None,
        typer.Option(metavar="[CLASS=]N@TIME", help="There are so many users from then on."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How long.", show_default="twice the time of the last change"
        ),
    ] = None,
    intervals: Annotated[int, whole(help="Rows: that time is divided into so many.")] = 20,
    warm_up: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How long before time 0.", show_default="a tenth of --until"
        ),
    ] = None,
    seed: SeedOption = 1,
    replications: ReplicationsOption = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Draw it: .svg, .png or .html."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a network while something changes: throughput and response over time.

    Each of --down, --up, --servers and --users may be given several times. Customers at a station
    that is down wait until it is up: routes don't change, and users have no time limit.

    \b
    pacelc model change quorum-quorum --down cpu3@2s --up cpu3@3s --until 5s
    pacelc model change gandini-cassandra-1 --servers cpu=1@2s --out core-lost.svg
    pacelc model change mine.yaml --users 100@1min --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.networks.changes import simulate_changes  # noqa: PLC0415 - as above

    found = network_named(network, set_ or ())
    changes = _changes(found, down or (), up or (), servers or (), users or ())
    last_s = changes[-1].at_s
    if until is None and last_s == 0:
        raise InputError("all changes are at 0 s: the duration is missing", "--until 10s")
    result = simulate_changes(
        found,
        changes,
        until_s=2 * last_s if until is None else time_s("--until", until),
        intervals=intervals,
        warm_up_s=None if warm_up is None else time_s("--warm-up", warm_up),
        replications=replications,
        seed=seed,
    )
    if out is not None:
        _draw(found, changes, result, out)
    put(
        result.model_dump_json(indent=2, by_alias=True)
        if as_json
        else _text(found, changes, result, out)
    )


def _changes(
    network: Network,
    down: Sequence[str],
    up: Sequence[str],
    servers: Sequence[str],
    users: Sequence[str],
) -> list[Change]:
    """Return all changes in the order of time."""
    from pacelc.networks import changes as kinds  # noqa: PLC0415 - data frames take long to import

    found: list[Change] = []
    for option, texts, make in (("--down", down, kinds.down), ("--up", up, kinds.up)):
        for text in texts:
            names, at_s = _event(option, text, "cpu1")
            found += [make(network, name.strip(), at_s) for name in names.split(",")]
    for text in servers:
        what, at_s = _event("--servers", text, "cpu1=1")
        name, number = _number("--servers", text, what, "cpu1=1")
        if name is None:
            raise InputError(f"--servers {text}: of which station?", "--servers cpu1=1@60s")
        found.append(kinds.Servers(at_s, name, number))
    for text in users:
        what, at_s = _event("--users", text, "100")
        name, number = _number("--users", text, what, "100")
        found.append(
            kinds.Users(at_s, _class_with_users(network) if name is None else name, number)
        )
    if not found:
        raise InputError("nothing changes", "--down cpu1@60s; or --up, --servers, --users")
    return sorted(found, key=lambda one: one.at_s)


def _event(option: str, text: str, example: str) -> tuple[str, float]:
    match = _EVENT.fullmatch(text)
    if match is None:
        raise InputError(f"{option} {text}: the time is missing", f"{option} {example}@60s")
    return match["what"], time_s(option, match["at"])


def _number(option: str, text: str, what: str, example: str) -> tuple[str | None, int]:
    match = _NUMBER.fullmatch(what)
    if match is None:
        raise InputError(f"{option} {text}: the number is missing", f"{option} {example}@60s")
    try:
        return match["name"], parse_whole(match["number"])
    except ValueError as error:
        raise InputError(f"{option}: {error}", f"{option} {example}@60s") from None


def _class_with_users(network: Network) -> str:
    named = [one.name for one in network.classes if one.users]
    if len(named) != 1:
        raise InputError(
            "--users: "
            + (f"of {' or '.join(named)}?" if named else "the network has no users, only arrivals"),
            f"--users {named[0]}=100@60s" if named else None,
        )
    return named[0]


def _draw(network: Network, changes: list[Change], result: Changed, out: Path) -> None:
    from pacelc.networks.changes import words  # noqa: PLC0415 - data frames take long to import
    from pacelc.plots.changed import changed  # noqa: PLC0415 - as above
    from pacelc.plots.save import save_figure  # noqa: PLC0415 - as above

    events = [(one.at_s, words(one, network)) for one in changes]
    about = (
        f"{counted(result.replications, 'replication')}; bands are "
        f"{100 * result.confidence:g} % intervals"
    )
    chart = changed(result.frame(), events, title=network.name or "What changes", note=about)
    try:
        save_figure(chart, out)
    except ValueError as error:
        raise InputError(str(error)) from None


def _text(network: Network, changes: list[Change], result: Changed, out: Path | None) -> str:
    from pacelc.networks.changes import Servers, words  # noqa: PLC0415 - as above

    table = result.frame()
    chains = table.get_column("chain").unique(maintain_order=True).to_list()
    watched = dict.fromkeys(one.station for one in changes if isinstance(one, Servers))
    header = ["from s", "to s"]
    for chain in chains:
        of = f"{chain} " if len(chains) > 1 else ""
        header += [f"{of}throughput/s", f"{of}response ms"]
    header += [f"at {name}" for name in watched]
    queues = {
        (row["from_s"], row["name"]): row
        for row in result.station_frame().iter_rows(named=True)
        if row["name"] in watched
    }
    rows: dict[float, list[str]] = {}
    for row in table.iter_rows(named=True):
        cells = rows.setdefault(row["from_s"], [f"{row['from_s']:g}", f"{row['to_s']:g}"])
        cells.append(_told(row, "throughput_per_s"))
        cells.append(_told(row, "response_s", 1e3))
    for from_s, cells in rows.items():
        cells += [_told(queues[from_s, station], "queue") for station in watched]
    name = network.name or "network"
    there = "; at …: customers there" if watched else ""
    parts = [
        f"{name}: {counted(result.replications, 'replication')}, {counted(result.events, 'visit')}",
        f"changes: {', '.join(f'{words(one, network)} at {one.at_s:g} s' for one in changes)}",
        f"[…] is a {100 * result.confidence:g} % interval{there}",
        "",
        aligned(header, list(rows.values()), right=header),
    ]
    if out is not None:
        parts += ["", str(out)]
    return "\n".join(parts)


def _told(row: Mapping[str, Any], name: str, factor: float = 1.0) -> str:
    from pacelc.analysis.estimate import Estimate  # noqa: PLC0415 - data frames take long

    if row[name] is None:
        return "-"
    ends = row[f"{name}_low"], row[f"{name}_high"]
    return Estimate(row[name], *ends, n=0).scaled(factor).text()
