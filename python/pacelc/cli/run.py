"""``pacelc run``: a study, from its definition to stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.options import (  # noqa: TC001 - Typer reads annotations
    ForceMemoryOption,
    OptionalStudyArgument,
    QuietOption,
    SetOption,
    StartTimeoutOption,
    WorkdirOption,
)
from pacelc.cli.output import note, put, say
from pacelc.cli.privilege import may_make_networks
from pacelc.cli.progress import observer
from pacelc.cli.table import aligned
from pacelc.cli.watch import YcsbFormat, metrics_at, together, ycsb_writer
from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.names import counted
from pacelc.runner.interruption import Interrupted
from pacelc.study import Scenario, Study, StudyError
from pacelc.study.assignments import parse_assignment
from pacelc.study.outlook import outlook
from pacelc.study.scenario_file import read_scenario_file
from pacelc.study.values import (
    Scalar,
    expand_levels,
    format_duration,
    label_of,
    nearest,
    parse_duration_s,
    same_label,
)
from pacelc.study.ycsb import WORKLOAD_FILES, read_ycsb, ycsb_source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.study import PlannedRun

__all__ = ["chooser", "run"]

_SOME_FAILED = 1


def _complete_ycsb(incomplete: str) -> list[str]:
    return [name for name in WORKLOAD_FILES if name.startswith(incomplete)]


def run(  # noqa: PLR0917 - options of a command
    study: OptionalStudyArgument = None,
    set_: SetOption = None,
    ycsb: Annotated[
        list[str] | None,
        typer.Option(
            "--ycsb",
            metavar="FILE",
            help="In place of a study: a YCSB property file, or workloada to workloadf. "
            "Repeatable: later ones go over earlier ones.",
            autocompletion=_complete_ycsb,
        ),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="PROPERTY=VALUE", help="Set a property of --ycsb. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Results directory.", show_default="results/STUDY")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Take the scenarios from a scenario file of Ferreira et al. (2024).",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL",
            help="Run only these scenarios now; the others stay missing. Repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Check the study and this machine, print the schedule, run nothing."
        ),
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going/--fail-fast", help="Continue after a failed run, or stop.")
    ] = True,
    start_timeout: StartTimeoutOption = "180s",
    workdir: WorkdirOption = None,
    force_memory: ForceMemoryOption = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve Prometheus metrics there while it runs; :9464 is 127.0.0.1:9464.",
        ),
    ] = None,
    ycsb_output: Annotated[
        YcsbFormat | None,
        typer.Option(
            metavar="FORMAT",
            help="Also write each run as YCSB prints it, to OUT/export: text, json, json-array.",
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Load from many machines: N processes here, ray://HOST:PORT, or ray:auto.",
        ),
    ] = None,
    workers_lead: Annotated[
        str, typer.Option(help="How long workers get to connect before they start together.")
    ] = "5s",
    quiet: QuietOption = False,
) -> None:
    """Run a study, or its missing runs.

    Runs are kept in a results directory, whose path is printed at the end. However a study ends,
    the same command continues it: finished runs are never repeated, failed ones are tried again.

    \b
    pacelc run quickstart
    pacelc run ferreira-2024 --set preset=small
    pacelc run mine.yaml --set users=1,2,4 --set measure=10s --only database=redis
    pacelc run --ycsb workloada -p recordcount=100000 -p threadcount=8 --set database=redis

    Exit status: 0 done, 1 some runs failed, 2 bad input, 3 this machine can't, 130 interrupted.
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Drivers and data frames take long to import, and --help needs none.
    from pacelc.runner import LocalLab, run_study  # noqa: PLC0415
    from pacelc.runner.metrics import Metrics, parse_address, serving  # noqa: PLC0415
    from pacelc.store import Store  # noqa: PLC0415
    from pacelc.workers.lab import WorkersLab, check_workers, open_lab  # noqa: PLC0415

    definition = _definition(study, ycsb or [], properties or [], set_ or [])
    if csv is not None:
        definition = read_scenario_file(definition, read_text(csv), csv.name)
    scenarios = definition.scenarios()
    chosen = chooser(definition.name, scenarios, only or [])
    planned = [run for run in definition.schedule() if chosen(run.scenario)]
    if any(scenario.settings.asks_for_network for scenario in scenarios):
        may_make_networks()
    timeout_s = _seconds("--start-timeout", start_timeout)
    lead_s = _seconds("--workers-lead", workers_lead)
    directory = out or Path("results") / definition.name
    if dry_run:
        if metrics is not None:
            with serving(Metrics(), parse_address(metrics)):
                pass  # it can be listened on
        if workers is not None:
            check_workers(workers, definition)
        Store.check(directory, definition.as_document())
        kind = LocalLab if workers is None else WorkersLab
        lab = kind(workdir=workdir, force_memory=force_memory)
        for run in planned:
            lab.check(run)
        _print_schedule(definition, planned)
        note(outlook(definition, planned))
        return
    with (
        observer(quiet=quiet) as observe,
        open_lab(
            workers,
            definition,
            lead_s=lead_s,
            workdir=workdir,
            start_timeout_s=timeout_s,
            force_memory=force_memory,
            tell=observe.print,
        ) as lab,
        metrics_at(metrics) as tell_prometheus,
        Store.open(directory, create=definition.as_document()) as store,
    ):
        note(outlook(definition, planned), observe.print)
        tell = together(
            observe, tell_prometheus, ycsb_writer(directory, ycsb_output, observe.print)
        )
        try:
            summary = run_study(
                definition, store, lab, only=chosen, keep_going=keep_going, observe=tell
            )
        except Interrupted as interrupted:
            observe.interrupted(interrupted)
            # Typer makes every KeyboardInterrupt a 130; SIGTERM has a status of its own.
            raise typer.Exit(interrupted.exit_status) from None
    put(directory)
    if summary.failed:
        raise typer.Exit(_SOME_FAILED)


def _seconds(option: str, text: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from None


def _definition(
    study: str | None, ycsb: list[str], properties: list[str], changes: list[str]
) -> Study:
    if not ycsb:
        if properties:
            raise InputError("-p is for --ycsb, and there is none", "settings go by --set")
        if study is None:
            raise InputError("no study is named", "pacelc studies lists the built-in ones")
        return Study.load(study, changes)
    if study is not None:
        raise InputError("a study is named, and --ycsb is another one", "leave one out")
    databases = [
        database.strip()
        for name, value in map(parse_assignment, changes)
        if name == "database"
        for database in value.strip("[]").split(",")
    ]
    read = read_ycsb(*ycsb, options=properties)
    return Study.from_source(ycsb_source(read, databases), changes)


def chooser(
    study: str, scenarios: Sequence[Scenario], only: list[str]
) -> Callable[[Scenario], bool]:
    """Return which of a study's scenarios ``--only`` asks for."""
    factors = scenarios[0].factors
    wanted: dict[str, list[Scalar]] = {}
    for text in only:
        factor, equals, levels = text.partition("=")
        if not equals or not levels:
            raise StudyError(
                f"--only {text}: should be FACTOR=LEVEL",
                "for example --only database=redis,mongodb",
            )
        if factor not in factors:
            hint = nearest(factor, factors) if factors else "the study has no factors"
            raise StudyError(f"--only {text}: study {study} has no factor {factor!r}", hint)
        known = list(dict.fromkeys(scenario.factors[factor] for scenario in scenarios))
        labels = [label_of(level) for level in expand_levels(levels.split(","))]
        for label in labels:
            if not any(same_label(label, level) for level in known):
                hint = nearest(str(label), map(str, known))
                raise StudyError(
                    f"--only {text}: factor {factor} has no level {str(label)!r}", hint
                )
        wanted.setdefault(factor, []).extend(labels)

    def chosen(scenario: Scenario) -> bool:
        return all(
            any(same_label(scenario.factors[factor], label) for label in labels)
            for factor, labels in wanted.items()
        )

    return chosen


def _print_schedule(study: Study, planned: Sequence[PlannedRun]) -> None:
    from pacelc.runner.account import Forecast, Pending  # noqa: PLC0415

    rows = [
        [run.run_id, run.cluster_key, *run.scenario.factors.values(), run.seed] for run in planned
    ]
    put(aligned(["run", "cluster", *study.factors, "seed"], rows))
    clusters = len({run.cluster_key for run in planned})
    left = Forecast().left(Pending(planned))
    takes = f"about {format_duration(left.seconds)}"
    if left.is_limit:
        counts = {run.scenario.settings.operations for run in planned}
        ends = counted(counts.pop() or 0, "operation") if len(counts) == 1 else "their operations"
        takes = (
            f"until {ends} are done: how long that takes isn't known, "
            f"at most {format_duration(left.seconds)}"
        )
    say(f"{counted(len(planned), 'run')} on {counted(clusters, 'cluster')}, {takes}")
