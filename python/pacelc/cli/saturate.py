"""``pacelc saturate``: the highest rate that holds an objective, and ladders of rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pacelc.cli.options import (
    ForceMemoryOption,
    QuietOption,
    SetOption,
    StartTimeoutOption,
    StudyArgument,
    WorkdirOption,
    limit_s,
    whole,
)
from pacelc.cli.output import put
from pacelc.cli.privilege import may_make_networks
from pacelc.cli.progress import PlainProgress, observer
from pacelc.cli.run import chooser
from pacelc.cli.table import aligned
from pacelc.errors import CannotRun, InputError
from pacelc.names import counted
from pacelc.runner import events
from pacelc.runner.interruption import Interrupted
from pacelc.study import Study, StudyError, builtin_names
from pacelc.study.model import MOST_USERS
from pacelc.study.values import nearest, parse_duration_s, parse_mix, parse_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.saturation import (
        Answer,
        AutoLadder,
        Ladder,
        Load,
        Objective,
        Plan,
        Rung,
        Search,
    )
    from pacelc.study import Scenario

__all__ = ["saturate"]

_UNANSWERED = 1
_FIRST_RATE = 1000
_HIGHEST_RATE = 10_000_000
_FINEST = 0.005
_HUNDRED = 100


def saturate(  # noqa: PLR0917 - options of a command
    study: StudyArgument,
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=LEVEL", help="Search only these scenarios now. Repeatable."),
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="Consistency level: short for --set consistency=LEVEL.")
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(metavar="READS/UPDATES", help="Share of reads and of updates, as 95/5."),
    ] = None,
    p99: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Objective: p99 response time, as 20ms."),
    ] = None,
    p50: Annotated[
        str | None, typer.Option(metavar="TIME", help="Objective: median response time.")
    ] = None,
    p999: Annotated[
        str | None, typer.Option(metavar="TIME", help="Objective: p99.9 response time.")
    ] = None,
    mean: Annotated[
        str | None, typer.Option(metavar="TIME", help="Objective: mean response time.")
    ] = None,
    errors: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="Objective: operations failed, unknown or never started."
        ),
    ] = "0.1%",
    ladder: Annotated[
        str | None,
        typer.Option(
            metavar="RATES",
            help="Measure these rates instead: 1000,2000,4000, 1000..16000x2, or auto.",
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="RATE", help="Rate tried first.", show_default="1000"),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="RATE", help="Highest rate tried.", show_default="none")
    ] = None,
    precision: Annotated[
        str, typer.Option(metavar="SHARE", help="How close the answer's two ends must be.")
    ] = "5%",
    repeats: Annotated[
        int, whole(least=1, help="Runs at each end, or at each rung of a ladder; odd.")
    ] = 3,
    measure: Annotated[str, typer.Option(metavar="TIME", help="Measuring of each run.")] = "10s",
    measure_ceiling: Annotated[
        str,
        typer.Option(metavar="TIME", help="The same, lengthened where operations are few."),
    ] = "60s",
    warm_up: Annotated[str, typer.Option(metavar="TIME", help="Load before measuring.")] = "5s",
    process: Annotated[
        Literal["poisson", "constant"], typer.Option(help="How operations arrive.")
    ] = "poisson",
    users: Annotated[
        int, whole(least=1, most=MOST_USERS, help="Users at least; more where a rate needs more.")
    ] = 16,
    max_users: Annotated[int, whole(least=1, most=MOST_USERS, help="Users at most.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(help="Results directory.", show_default="results/STUDY-saturation"),
    ] = None,
    start_timeout: StartTimeoutOption = "180s",
    workdir: WorkdirOption = None,
    force_memory: ForceMemoryOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Find the highest rate at which each scenario of a study holds an objective.

    Operations are due by a schedule, and latency counts from when they were due. Instead of a
    study, a database's name will do. Every run is kept; the same command continues a search.

    \b
    pacelc saturate redis --level strong --mix 95/5 --p99 10ms
    pacelc saturate quickstart --p99 20ms --errors 0.1% --only database=mongodb
    pacelc saturate redis --ladder auto

    Exit status: 0 found, 1 not found or some runs failed, 2 bad input, 3 this machine can't, 130
    interrupted.
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Drivers and data frames take long to import, and --help needs none.
    from pacelc.runner import LocalLab  # noqa: PLC0415
    from pacelc.saturation import Conductor, Load, Objective, Plan  # noqa: PLC0415
    from pacelc.store import Store  # noqa: PLC0415

    objective = Objective(
        {
            name: limit_s(f"--{name}", text)
            for name, text in {"p50": p50, "p99": p99, "p999": p999, "mean": mean}.items()
            if text is not None
        },
        _share("--errors", errors),
    )
    if not objective.latency_s and ladder is None:
        raise InputError(
            "a search needs an objective",
            "for example --p99 20ms; --ladder auto needs none",
        )
    load = Load(
        process=process,
        least_users=users,
        most_users=_at_least(users, "--max-users", max_users),
        warm_up_s=_duration_s("--warm-up", warm_up),
        measure_s=_duration_s("--measure", measure),
        measure_ceiling_s=_duration_s("--measure-ceiling", measure_ceiling),
    )
    rules = _rules(ladder, objective, load, from_, to, precision, repeats)
    first = rules.next_rate([])
    definition = _definition(study, level, mix, set_ or [])
    if any(scenario.settings.asks_for_network for scenario in definition.scenarios()):
        may_make_networks()
    plan = Plan.of(definition, objective, load, first=first or 1, repeats=repeats)
    chosen = _chooser(definition, plan, only or [])
    what = {"precision": _share("--precision", precision), "ladder": ladder, "to": to}
    lab = LocalLab(
        workdir=workdir,
        start_timeout_s=_duration_s("--start-timeout", start_timeout),
        force_memory=force_memory,
    )
    directory = out or Path("results") / f"{definition.name}-saturation"
    with (
        Store.open(directory, create=plan.document(what)) as store,
        observer(quiet=quiet) as observe,
    ):
        observe.print(f"objective: {objective}; {process} arrivals")
        conductor = Conductor(
            plan,
            rules,
            store,
            chosen=chosen,
            tell=lambda scenario, rung: observe.print(rung_line(scenario, rung)),
        )
        try:
            summary = conductor.run(lab, _quietly(observe))
        except Interrupted as interrupted:
            observe.interrupted(interrupted)
            raise typer.Exit(interrupted.exit_status) from None
        answers = conductor.answers()
        conductor.keep(answers)
        numbers = {scenario.number for scenario in plan.scenarios if chosen(scenario)}
        asked = [answer for answer in answers if answer.number in numbers]
        _draw(directory, answers, objective, observe)
    if as_json:
        put(json.dumps(conductor.document(answers), indent=2, ensure_ascii=False))
    else:
        put(answer_table(asked, objective))
        put(directory)
    if summary.failed or not all(answer.complete for answer in asked):
        raise typer.Exit(_UNANSWERED)


# --- What is asked ---


def _rules(  # noqa: PLR0917 - what several options say together
    ladder: str | None,
    objective: Objective,
    load: Load,
    from_: str | None,
    to: str | None,
    precision: str,
    repeats: int,
) -> Search | Ladder | AutoLadder:
    from pacelc.saturation import (  # noqa: PLC0415
        AutoLadder,
        Ladder,
        Search,
        parse_ladder,
        parse_rate,
    )

    lowest = objective.lowest_rate(max(load.measure_s, load.measure_ceiling_s))
    rates = None if ladder is None else parse_ladder(ladder)
    if rates is not None:
        return Ladder(rates, repeats)
    first = max(_FIRST_RATE, lowest) if from_ is None else parse_rate(from_, "--from")
    highest = _HIGHEST_RATE if to is None else parse_rate(to, "--to")
    if from_ is None:
        first = min(first, highest)
    if first > highest:
        raise InputError(f"--from {from_} is above --to {to}")
    if first < lowest:
        raise InputError(
            f"a rate of {first:,}/s is too low to judge: the objective takes "
            f"{counted(objective.operations_needed, 'operation')}",
            f"begin at {lowest} or above, or measure longer with --measure-ceiling",
        )
    if ladder is not None:
        return AutoLadder(first, lowest, highest, repeats)
    if repeats % 2 == 0:
        raise InputError(f"--repeats {repeats}: should be odd, so that there is a majority")
    share = _share("--precision", precision)
    if share < _FINEST:
        raise InputError(f"--precision {precision}: should be at least {_FINEST:.1%}")
    return Search(first, lowest, highest, share, repeats)


def _definition(name: str, level: str | None, mix: str | None, set_: list[str]) -> Study:
    changes = list(set_)
    if level is not None:
        changes.append(f"consistency={level}")
    if mix is not None:
        if (shares := parse_mix(mix)) is None:
            raise InputError(f"--mix {mix}: should be READS/UPDATES", "for example --mix 95/5")
        # As in the study.json of every search so far, which goes on only if nothing differs.
        changes.append("workload.mix={{read: {:g}, update: {:g}}}".format(*shares))
    from pacelc.clusters import DATABASES  # noqa: PLC0415 - drivers take long to import
    from pacelc.saturation import one_scenario  # noqa: PLC0415
    from pacelc.study.settings import IN_ENGINE  # noqa: PLC0415

    named = name in DATABASES or name in IN_ENGINE
    if named and name not in builtin_names() and not Path(name).is_file():
        return one_scenario(name, changes)
    try:
        return Study.load(name, changes)
    except StudyError as error:
        if error.hint is None or not error.message.startswith("there is no study"):
            raise
        known = [*builtin_names(), *DATABASES]
        raise StudyError(
            f"there is no study and no database {name!r}", nearest(name, known)
        ) from None


def _chooser(study: Study, plan: Plan, only: list[str]) -> Callable[[Scenario], bool]:
    for text in only:
        factor = text.partition("=")[0]
        if factor in study.factors and factor not in plan.study.factors:
            raise InputError(f"--only {text}: a search sets {factor} itself", "see --users")
    return chooser(study.name, plan.scenarios, only)


def _duration_s(option: str, text: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from None


def _share(option: str, text: str) -> float:
    share = parse_share(text)
    if share is None or share >= 1:
        raise InputError(f"{option} {text}: should be a share, such as 5% or 0.05")
    return share


def _at_least(least: int, option: str, value: int) -> int:
    if value < least:
        raise InputError(f"{option} {value}: should be at least {least}")
    return value


# --- What is said ---


def _quietly(observe: PlainProgress) -> events.Observer:
    """Return an observer that leaves a run's own lines to `rung_line`."""

    def tell(event: events.Event) -> None:
        if not isinstance(
            event,
            events.StudyStarted | events.RunStarted | events.RunFinished | events.StudyFinished,
        ):
            observe(event)

    return tell


def rung_line(scenario: Scenario, rung: Rung) -> str:
    """Return a rung as one line."""
    return (
        f"{rung.run} {scenario.label} {rung.rate_per_s:,}/s, {counted(rung.users, 'user')}: "
        f"{rung.throughput_per_s:,.0f} op/s, p50 {_ms(rung.p50_ms)}, p99 {_ms(rung.p99_ms)}, "
        f"errors {100 * rung.seen.errors:.3g} %: {rung.verdict}"
    )


def answer_table(answers: Sequence[Answer], objective: Objective) -> str:
    """Return the answers as a table, and each as a sentence with its evidence."""
    searched = any(answer.status != "ladder" for answer in answers)
    shown = next(iter(objective.latency_s), "p99") if searched else "p99"
    header = ["scenario", "holds", "not", "95 % interval", f"{shown} there", "limit", "knee"]
    rows = [
        [
            answer.label,
            _rate(answer.low if answer.status != "ladder" else None),
            _rate(answer.high if answer.status in {"found", "below"} else None),
            _interval(answer.threshold_95),
            _ms(None if answer.low is None else answer.mean_at(answer.low, f"{shown}_ms")),
            answer.limit or "-",
            "can't tell" if isinstance(answer.knee, str) else f"{answer.knee.rate_per_s:,}/s",
        ]
        for answer in answers
    ]
    if not searched:
        header, rows = _rung_table(answers)
    sentences = [f"{answer.label}: {answer.sentence()}" for answer in answers]
    return "\n".join([aligned(header, rows), "", *sentences])


def _rung_table(answers: Sequence[Answer]) -> tuple[list[str], list[list[str]]]:
    header = ["scenario", "rate", "runs", "op/s", "mean", "p50", "p99", "held"]
    rows = [
        [
            answer.label,
            _rate(rate),
            str(runs.runs),
            f"{answer.mean_at(rate, 'throughput_per_s') or 0:,.0f}",
            *(_ms(answer.mean_at(rate, f"{name}_ms")) for name in ("mean", "p50", "p99")),
            f"{runs.held}/{runs.runs}",
        ]
        for answer in answers
        for rate, runs in answer.tally.items()
    ]
    return header, rows


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:,.0f}/s"


def _interval(ends: tuple[float | None, float | None]) -> str:
    low, high = ends
    if low is None and high is None:
        return "-"
    return f"{'?' if low is None else f'{low:,.0f}'} to {'?' if high is None else f'{high:,.0f}'}/s"


def _ms(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3g} ms" if ms < _HUNDRED else f"{ms:,.0f} ms"


def _draw(
    directory: Path, answers: Sequence[Answer], objective: Objective, observe: PlainProgress
) -> None:
    from pacelc.plots import save_figure  # noqa: PLC0415
    from pacelc.plots.figures import NothingToDraw  # noqa: PLC0415
    from pacelc.plots.saturation import latency_by_throughput  # noqa: PLC0415

    try:
        chart = latency_by_throughput(answers, objective)
    except NothingToDraw:
        return
    for suffix in ("svg", "png"):
        try:
            path = save_figure(chart, directory / f"saturation.{suffix}")
        except CannotRun as reason:
            # The answer itself is stored.
            observe.print(f"warning: {reason.message}")
            return
        observe.print(f"wrote {path}")
