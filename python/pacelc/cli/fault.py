"""``pacelc fault``: break a running cluster by hand, and mend it."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from pacelc.cli.options import number
from pacelc.cli.output import put, say
from pacelc.cli.table import aligned
from pacelc.errors import CannotRun, InputError
from pacelc.names import counted
from pacelc.study.faults import FAULTS, Fault
from pacelc.study.settings import tidy
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from pacelc.clusters.faults.control import Running

__all__ = ["fault"]

_VERBS = (*FAULTS, "heal", "list")


def _complete_verb(incomplete: str) -> list[str]:
    return [verb for verb in _VERBS if verb.startswith(incomplete)]


def fault(  # noqa: PLR0917 - options of a command
    what: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(_VERBS)}.",
            autocompletion=_complete_verb,
        ),
    ],
    node: Annotated[
        str | None, typer.Argument(help="The target; the same as --target.", show_default=False)
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="one, minority, majority, primary, secondary, region:NAME, all, or a node's name.",
            show_default="one",
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", help="How long it lasts.", show_default="until pacelc fault heal"),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="One-way: in or out.", show_default="in")
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            help="Partitions: the side of the load generator, majority or minority.",
            show_default="both",
        ),
    ] = None,
    delay: Annotated[str | None, typer.Option(help="Slow: added each way.")] = None,
    jitter: Annotated[str | None, typer.Option(help="Slow: how the delay varies.")] = None,
    loss: Annotated[float | None, number(help="Lossy: share of packets lost.")] = None,
    duplicate: Annotated[
        float | None, number(help="Lossy: share of packets that arrive twice.")
    ] = None,
    reorder: Annotated[
        float | None, number(help="Lossy: share of packets that overtake others.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Which cluster, if several run: its name or database.")
    ] = None,
    workdir: Annotated[
        Path | None,
        typer.Option(
            help="The --workdir that the cluster was started with.",
            show_default="the system's temporary one",
        ),
    ] = None,
) -> None:
    """Break a running cluster by hand, and mend it.

    The cluster is one that pacelc up or pacelc run has started on this machine. A fault during a
    run is kept in that run's record.

    \b
    pacelc fault kill node2
    pacelc fault isolate --target primary --for 10s
    pacelc fault slow --target region:oregon --delay 200ms
    pacelc fault list
    pacelc fault heal
    """  # noqa: D301 - \b keeps the lines of the example apart
    if what not in _VERBS:
        raise InputError(f"there is no fault {what!r}", nearest(what, _VERBS))
    if node is not None and target is not None:
        raise InputError(f"{node} and --target {target} are two targets", "leave one out")
    options = {
        "target": node or target,
        "for": for_,
        "direction": direction,
        "client": client,
        "delay": delay,
        "jitter": jitter,
        "loss": loss,
        "duplicate": duplicate,
        "reorder": reorder,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if what in ("heal", "list"):
        if given:
            raise InputError(f"{what} has no {next(iter(given))}", f"pacelc fault {what}")
        _mend(what, workdir, cluster)
        return
    wanted = _read(what, given)
    from pacelc.runner.faults import fault_spec  # noqa: PLC0415 - drivers take long to import

    running = _choose(_running(workdir), cluster)
    record = running.begin(fault_spec(wanted), wanted.for_s)
    if record["error"] is not None:
        raise CannotRun(f"{what}: {record['error']}")
    put(_table([(running.name, record)]))
    if wanted.for_s is None:
        say("until `pacelc fault heal`")


def _mend(what: str, workdir: Path | None, cluster: str | None) -> None:
    clusters = _running(workdir)
    if what == "list":
        chosen = clusters if cluster is None else [_choose(clusters, cluster)]
        rows = [(running.name, record) for running in chosen for record in running.active()]
        put(_table(rows) if rows else "no fault is in force")
        return
    running = _choose(clusters, cluster)
    ended = running.heal()
    put(f"{running.name}: {counted(len(ended), 'fault')} ended")


def _read(what: str, given: dict[str, Any]) -> Fault:
    try:
        return Fault.model_validate({"at": 0, "fault": what, **given})
    except ValidationError as error:
        first = error.errors()[0]
        message, hint = tidy(first)
        where = f"--{first['loc'][0]} " if first["loc"] else ""
        raise InputError(f"{where}{message}", hint) from None


def _running(workdir: Path | None) -> list[Running]:
    from pacelc.clusters.faults.control import find_running  # noqa: PLC0415 - drivers take long to import

    parent = workdir or Path(tempfile.gettempdir())
    clusters = find_running(parent)
    if not clusters:
        raise CannotRun(
            f"no cluster of yours runs in {parent}",
            "start one with `pacelc up`; if it has a --workdir, name it here too",
        )
    return clusters


def _choose(clusters: list[Running], wanted: str | None) -> Running:
    names = ", ".join(running.name for running in clusters)
    if wanted is None:
        if len(clusters) > 1:
            raise InputError(
                f"{counted(len(clusters), 'cluster')} run", f"--cluster with one of {names}"
            )
        return clusters[0]
    found = [c for c in clusters if wanted in (c.name, c.name.rpartition("-")[0])]
    if len(found) != 1:
        message = f"there is no cluster {wanted!r}" if not found else f"{wanted!r} is several"
        raise InputError(message, f"--cluster with one of {names}")
    return found[0]


def _table(rows: list[tuple[str, dict[str, Any]]]) -> str:
    return aligned(
        ["cluster", "fault", "target", "nodes", "since", "for"],
        [
            [
                name,
                record["fault"],
                record["target"],
                " ".join(record["nodes"]),
                f"{datetime.fromtimestamp(record['begin_unix_us'] / 1e6, UTC):%H:%M:%S.%f} UTC",
                "" if record["planned_for_s"] is None else f"{record['planned_for_s']:g} s",
            ]
            for name, record in rows
        ],
    )
