"""``pacelc plan``: the smallest cluster that holds a load."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.options import JsonOption, limit_s, whole
from pacelc.cli.output import put, say
from pacelc.errors import InputError
from pacelc.files import make_directory, write_bytes, write_text
from pacelc.numerals import parse_whole
from pacelc.outside import as_csv
from pacelc.study.copies import LEVELS, copies_of, levels_of
from pacelc.study.values import nearest, parse_mix, parse_share

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pacelc.calibration.document import Calibration
    from pacelc.planning import Load, Machine, Plan
    from pacelc.planning.executor import Executor
    from pacelc.study.copies import Level

__all__ = ["plan"]

_HUNDRED = 100
_MOST_NODES = 100_000


def plan(  # noqa: PLR0917 - options of a command
    rate: Annotated[
        str, typer.Option(metavar="RATE", help="Operations that arrive in a second, as 50000/s.")
    ],
    mix: Annotated[
        str, typer.Option(metavar="READS/WRITES", help="Share of reads and of writes.")
    ] = "95/5",
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="one, quorum or all; where reads and writes differ, one/all, or copies: 1R-3W.",
        ),
    ] = "quorum",
    p99: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Objective: p99 of reads and of writes, as 20ms."),
    ] = None,
    p50: Annotated[str | None, typer.Option(metavar="TIME", help="Objective: median.")] = None,
    p95: Annotated[str | None, typer.Option(metavar="TIME", help="Objective: p95.")] = None,
    p999: Annotated[str | None, typer.Option(metavar="TIME", help="Objective: p99.9.")] = None,
    nodes: Annotated[
        str, typer.Option(metavar="N,…", help="Numbers of nodes to choose from.")
    ] = "1..64",
    cores: Annotated[
        str | None,
        typer.Option(
            metavar="N,…",
            help="Cores of a node to choose from.",
            show_default="the calibration's; with --prices, all",
        ),
    ] = None,
    replication: Annotated[
        str, typer.Option(metavar="N,…", help="Copies of each record to choose from.")
    ] = "3",
    regions: Annotated[
        str | None,
        typer.Option(metavar="REGION,…", help="Where the nodes are, in turn; clients: the first."),
    ] = None,
    calibration: Annotated[
        str,
        typer.Option(
            "--calibration",
            "-c",
            metavar="FILE",
            help="Demands of a database: a file, or a built-in one's name.",
        ),
    ] = "gandini-2014-cassandra",
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A price list: the cheapest instead of the smallest."),
    ] = None,
    certainty: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Share of predictions with which it has to hold.",
            show_default="90%, if the calibration knows its errors",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write plan.csv, plan.json, plan.svg."),
    ] = None,
    seed: Annotated[int, whole(help="Of simulations.", least=0)] = 1,
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Solve and simulate on Ray: N processes here, ray://HOST:PORT, or ray:auto.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the smallest cluster that holds a rate with a percentile within a limit.

    All candidates are solved, and likely ones are simulated. The smallest has the fewest cores in
    all. Prints the certainty, the station that saturates first, the effect of losing a node or a
    region, and the limits of model and calibration. If errors are too large, it names what to
    measure first.

    \b
    pacelc plan --rate 20000/s --mix 95/5 --level quorum --p99 20ms
    pacelc plan --rate 20k --p99 60ms --cores 8 --regions iowa,south-carolina,oregon
    pacelc plan --rate 50k --p99 20ms -c mine.yaml --prices cloud.yaml --certainty 95%

    Exit status: 0 found, 1 none of them holds or it can't be told, 2 bad input, 3 no workers.
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.calibration.document import calibration_named  # noqa: PLC0415 - long to import
    from pacelc.planning import PriceList, candidates  # noqa: PLC0415 - as above
    from pacelc.planning import plan as find  # noqa: PLC0415 - as above

    demands = calibration_named(calibration)
    objectives = {50.0: p50, 95.0: p95, 99.0: p99, 99.9: p999}
    replications = _numbers("--replication", replication)
    load = _load(rate, mix, level, replications, objectives, regions)
    wanted = None if cores is None else _numbers("--cores", cores)
    listed = None if prices is None else PriceList.load(prices)
    machines = _machines(wanted, listed, demands)
    clusters = candidates(_numbers("--nodes", nodes), replications, machines)
    at_least = None if certainty is None else _share(certainty)
    with _executor(workers) as executor:
        found = find(load, clusters, demands, at_least=at_least, seed=seed, executor=executor)
    if as_json:
        from pacelc.planning.document import document  # noqa: PLC0415 - as above

        put(json.dumps(document(found), indent=2))
    else:
        from pacelc.cli.plan_text import plan_text  # noqa: PLC0415 - as above

        put(plan_text(found, listed.currency if listed is not None else ""))
    if out is not None:
        _write(found, out)
    if found.answer is None:
        raise typer.Exit(1)


def _executor(workers: str | None) -> AbstractContextManager[Executor]:
    """Return who does the heavy parts."""
    if workers is None:
        from pacelc.planning.executor import in_order  # noqa: PLC0415 - long to import

        return nullcontext(in_order)
    from pacelc.workers.remote_map import remote_map  # noqa: PLC0415 - as above

    return remote_map(workers, say)


def _load(  # noqa: PLR0917 - what is asked, in the options' order
    rate: str,
    mix: str,
    level: str,
    replications: list[int],
    objectives: dict[float, str | None],
    regions: str | None,
) -> Load:
    from pacelc.networks.regional import placed  # noqa: PLC0415 - long to import
    from pacelc.planning import Load  # noqa: PLC0415 - as above
    from pacelc.saturation.ladder import parse_rate  # noqa: PLC0415 - as above

    given = [(percent, text) for percent, text in objectives.items() if text is not None]
    if len(given) != 1:
        raise InputError(
            "an objective is missing" if not given else "one objective at a time", "--p99 20ms"
        )
    percent, text = given[0]
    longest_s = limit_s(f"--p{percent:g}".replace(".", ""), text)
    shares = parse_mix(mix)
    if shares is None:
        raise InputError(f"--mix {mix}: should be READS/WRITES", "for example --mix 95/5")
    reads, writes = shares
    if round(reads + writes, 9) != _HUNDRED:
        raise InputError(f"--mix {mix}: should add up to 100", "for example --mix 95/5")
    read, write = _levels(level, replications)
    places = tuple(name.strip() for name in regions.split(",")) if regions else ()
    if places:
        placed(len(places), places)  # refuses what is no region
    return Load(
        rate_per_s=float(parse_rate(rate, "--rate")),
        read_share=reads / _HUNDRED,
        read=read,
        write=write,
        percent=percent,
        limit_s=longest_s,
        regions=places,
    )


def _levels(text: str, replications: list[int]) -> tuple[Level, Level]:
    found = {levels_of(text, replication) for replication in replications}
    levels = found.pop()
    if levels is not None and not found:
        return levels
    if copies_of(text) is not None:
        raise InputError(
            f"--level {text}: isn't one level at replication {', '.join(map(str, replications))}",
            f"levels wait for 1 copy, a majority or all: {', '.join(LEVELS)}",
        )
    for part in text.split("/"):
        if part.strip() not in LEVELS:
            raise InputError(f"--level {text}: there is no level {part!r}", nearest(part, LEVELS))
    raise InputError(f"--level {text}: should be LEVEL, or READS/WRITES", "--level one/all")


def _numbers(option: str, text: str) -> list[int]:
    """Return the numbers in ``3..64,100``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        try:
            ends = parse_whole(first), parse_whole(last if dots else first)
        except ValueError:
            ends = 0, 0
        # An end that is out of bounds is refused below, and makes no long list.
        numbers += range(ends[0], ends[1] + 1) if 0 < ends[0] <= ends[1] <= _MOST_NODES else [0]
    if min(numbers) < 1 or max(numbers) > _MOST_NODES:
        raise InputError(
            f"{option} {text}: should be numbers from 1 to {_MOST_NODES:,}",
            f"{option} 3..64, or 2,4,8",
        )
    return numbers


def _machines(cores: list[int] | None, listed: object, calibration: Calibration) -> list[Machine]:
    from pacelc.planning import Machine, PriceList  # noqa: PLC0415 - long to import

    if isinstance(listed, PriceList):
        some = [one for one in listed.machines if cores is None or one.cores in cores]
        if not some:
            has = ", ".join(str(count) for count in sorted({m.cores for m in listed.machines}))
            raise InputError(
                "--cores: the price list has no such machine", f"cores that it has: {has}"
            )
        return some
    if cores is None:
        if calibration.machine.cores is None:
            raise InputError("the calibration doesn't say how many cores a node has", "--cores 4")
        cores = [calibration.machine.cores]
    return [Machine(cores=count) for count in sorted(set(cores))]


def _share(text: str) -> float:
    share = parse_share(text)
    if share is None or share > 1:
        raise InputError(
            f"--certainty {text}: should be a share, from 0 to 100%", "for example 90%, or 0.9"
        )
    return share


def _write(found: Plan, directory: Path) -> None:
    from pacelc.planning.document import document  # noqa: PLC0415 - long to import
    from pacelc.planning.figure import planned  # noqa: PLC0415 - as above
    from pacelc.plots.layout import NothingToDraw  # noqa: PLC0415 - as above
    from pacelc.plots.save import save_figure  # noqa: PLC0415 - as above

    make_directory(directory)
    write_bytes(directory / "plan.csv", as_csv(found.frame()))
    write_text(directory / "plan.json", json.dumps(document(found), indent=2) + "\n")
    try:
        save_figure(planned(found), directory / "plan.svg")
    except NothingToDraw as reason:
        say(f"no figure: {reason}")
