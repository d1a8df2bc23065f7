"""``pacelc scenarios``: the factorial of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.options import SetOption, StudyArgument  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import note, put
from pacelc.cli.run import chooser
from pacelc.cli.table import aligned
from pacelc.files import read_text, write_text
from pacelc.names import counted
from pacelc.study import Scenario, Study
from pacelc.study.consistency import resolve_levels
from pacelc.study.outlook import outlook
from pacelc.study.scenario_file import read_scenario_file, write_scenario_file
from pacelc.study.values import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scenarios"]


def scenarios(  # noqa: PLR0917 - options of a command
    study: StudyArgument,
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=LEVEL", help="Only these scenarios. Repeatable."),
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE|-",
            help="Write the scenario file of Ferreira et al. (2024); - is stdout.",
        ),
    ] = None,
    from_csv: Annotated[
        Path | None,
        typer.Option("--from-csv", metavar="FILE", help="Take the scenarios from such a file."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each scenario with all its settings.")
    ] = False,
) -> None:
    """Print the scenarios of a study, with the levels that each asks for.

    \b
    pacelc scenarios quickstart
    pacelc scenarios quickstart --only database=redis
    pacelc scenarios ferreira-2024 --csv scenarios.csv
    pacelc scenarios ferreira-2024 --set users=1,5,10 --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    definition = Study.load(study, set_ or ())
    if from_csv is not None:
        definition = read_scenario_file(definition, read_text(from_csv), from_csv.name)
    chosen = chooser(definition.name, definition.scenarios(), only or [])
    found = [scenario for scenario in definition.scenarios() if chosen(scenario)]
    if csv is not None:
        text = write_scenario_file(definition, found)
        if csv == "-":
            put(text, end="")
        else:
            write_text(Path(csv), text)
    elif as_json:
        put(json.dumps([scenario.as_record() for scenario in found], indent=2))
    else:
        put(scenario_table(definition, found))
        note(outlook(definition, [run for run in definition.schedule() if chosen(run.scenario)]))


def scenario_table(study: Study, scenarios: Sequence[Scenario]) -> str:
    """Return scenarios of a study as a table."""
    rows = [
        [
            scenario.number,
            *scenario.factors.values(),
            _levels(scenario),
            _measure(scenario),
        ]
        for scenario in scenarios
    ]
    return aligned(["scenario", *study.factors, "levels in force", "measure"], rows)


def _measure(scenario: Scenario) -> str:
    longest = format_duration(scenario.settings.measure_s)
    operations = scenario.settings.operations
    return (
        longest if operations is None else f"{counted(operations, 'operation')}, at most {longest}"
    )


def _levels(scenario: Scenario) -> str:
    """Return the level of each kind that occurs; one text where all are the same."""
    levels = resolve_levels(scenario.settings)
    kinds: list[str] = []
    for kind in scenario.settings.workload.shares:
        kinds += ["read", "update"] if kind == "read_modify_write" else [kind]
    texts = {kind: levels[kind] for kind in dict.fromkeys(kinds) if kind in levels}
    if not texts:
        return "-"
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{kind}: {text}" for kind, text in texts.items())
