"""The scenario file of Ferreira et al. (2024), read and written.

Their Listing 1 is a CSV with one scenario a line::

    id,users,duration,consistency,operation,database,deployment
    1,1,300,weak,reading,cassandra,single
    …
    200,10,300,strong,write,redis,multi

A study gives the words of such a file their meaning: what ``write`` inserts, what ``weak`` asks of
Redis. So a file is read *with* a study, whose factors must be among the columns. Both spellings of
an operation are read (``read``/``reading``, ``write``/``writing``); the paper's own are written.

Map
---
read_scenario_file      CSV text and a study → the study with exactly those scenarios
write_scenario_file     scenarios of a study → CSV text
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from pacelc.delimited import parse_table
from pacelc.names import counted
from pacelc.numerals import parse_whole
from pacelc.outside import csv_cell
from pacelc.study.definition import MOST_SCENARIOS, ListedScenario, Scenario, Study
from pacelc.study.source import StudyError
from pacelc.study.values import Scalar, instead, nearest, same_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["COLUMNS", "read_scenario_file", "write_scenario_file"]

COLUMNS = ("id", "users", "duration", "consistency", "operation", "database", "deployment")

_SYNONYMS = {"reading": "read", "writing": "write"}
_AS_THE_PAPER_WRITES = {"read": "reading"}
_SETTINGS = ("users", "consistency", "database")


def read_scenario_file(study: Study, text: str, name: str = "scenarios.csv") -> Study:
    """Return ``study`` with the scenarios of a scenario file in place of its factorial.

    Raises
    ------
    StudyError
        With file and line, if a line is no scenario of the study.
    """
    names, rows = parse_table(text, name, StudyError)
    if tuple(names) != COLUMNS:
        raise StudyError(f"{name}:1: the header should be {','.join(COLUMNS)}")
    for factor in study.factors:
        if factor not in COLUMNS:
            raise StudyError(
                f"{name}: study {study.name} has the factor {factor}, "
                "which a scenario file has no column for"
            )
    if not rows:
        raise StudyError(f"{name}: no scenario is listed")
    if len(rows) > MOST_SCENARIOS:
        raise StudyError(
            f"{name}: {counted(len(rows), 'scenario')}, and {MOST_SCENARIOS:,} are the most"
        )
    listed: dict[int, ListedScenario] = {}
    for line, cells in rows:
        place = f"{name}:{line}"
        scenario = _scenario(study, dict(zip(COLUMNS, cells, strict=True)), place)
        if listed.setdefault(scenario.number, scenario) is not scenario:
            raise StudyError(f"{place}: id: two scenarios have the number {scenario.number}")
    return study.with_scenarios([*listed.values()])


def _scenario(study: Study, row: Mapping[str, str], place: str) -> ListedScenario:
    number = _whole(row["id"], f"{place}: id")
    users = _whole(row["users"], f"{place}: users")
    values: dict[str, Scalar] = {
        "users": users,
        "consistency": row["consistency"],
        "operation": _SYNONYMS.get(row["operation"], row["operation"]),
        "database": row["database"],
        "deployment": row["deployment"],
    }
    settings: dict[str, Any] = {"measure": _whole(row["duration"], f"{place}: duration")}
    levels: dict[str, Scalar] = {}
    for column, value in values.items():
        if column in study.factors:
            levels[column] = _level(study, column, value, f"{place}: {column}")
        elif column in _SETTINGS:
            settings[column] = value
        elif column == "operation":
            hint = "give it one: operation: {read: {workload: …}, write: {workload: …}}"
            raise StudyError(
                f"{place}: study {study.name} has no factor operation, so {value} means nothing",
                hint,
            )
        elif value != "single":
            hint = "keep the lines with deployment single"
            raise StudyError(
                f"{place}: study {study.name} has no factor deployment: {value!r} can't be had",
                hint,
            )
    return ListedScenario(number=number, levels=levels, set=settings)


def _level(study: Study, factor: str, value: Scalar, place: str) -> Scalar:
    levels = study.factors[factor]
    for known in levels:
        if isinstance(known, str | int | float):
            synonym = _SYNONYMS.get(str(known), known)
            if same_label(known, value) or same_label(synonym, value):
                return known
    if isinstance(levels, dict):
        raise StudyError(
            f"{place}: factor {factor} has no level {str(value)!r}", nearest(str(value), levels)
        )
    return value  # a plain list is of values of a setting, and any value of it will do


def _whole(text: str, place: str) -> int:
    try:
        number = parse_whole(text)
    except ValueError as error:
        raise StudyError(f"{place}: {error}{instead(text)}") from None
    if number < 1:
        raise StudyError(f"{place}: should be a whole number above 0{instead(text)}")
    return number


def write_scenario_file(study: Study, scenarios: Sequence[Scenario] | None = None) -> str:
    """Return scenarios of a study, by default all, as a scenario file.

    Raises
    ------
    StudyError
        If the study varies what such a file has no column for.
    """
    for factor in study.factors:
        if factor not in COLUMNS:
            hint = "`pacelc scenarios STUDY` without --csv prints any study"
            raise StudyError(
                f"study {study.name} varies {factor}, "
                "which the paper's scenario file has no column for",
                hint,
            )
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(study, scenario) for scenario in scenarios or study.scenarios())
    return text.getvalue()


def _row(study: Study, scenario: Scenario) -> list[Scalar]:
    settings, factors = scenario.settings, scenario.factors
    if not settings.measure_s.is_integer():
        raise StudyError(
            f"scenario {scenario.number} measures {settings.measure_s} s; "
            "the file has whole seconds"
        )
    consistency = factors.get("consistency", settings.consistency)
    if not isinstance(consistency, str):
        raise StudyError(
            f"scenario {scenario.number} has a consistency level for each kind, "
            "which the file has no column for",
            "name it: a factor consistency whose levels set it",
        )
    operation = str(factors.get("operation", "")) or _operation(study, scenario)
    return [
        scenario.number,
        settings.users,
        int(settings.measure_s),
        csv_cell(consistency),
        csv_cell(_AS_THE_PAPER_WRITES.get(operation, operation)),
        settings.database,
        csv_cell(str(factors.get("deployment", "single"))),
    ]


def _operation(study: Study, scenario: Scenario) -> str:
    kinds = set(scenario.settings.workload.shares)
    if kinds <= {"read", "scan"}:
        return "read"
    if kinds <= {"insert", "update"}:
        return "write"
    raise StudyError(
        f"study {study.name} mixes reads and writes, "
        "which the paper's scenario file has no word for",
        "`pacelc scenarios STUDY` without --csv prints any study",
    )
