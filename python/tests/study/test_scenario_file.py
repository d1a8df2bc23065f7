# ruff: noqa: E501 - what is written and printed stands here word for word
"""The scenario file of Ferreira et al. (2024), Listing 1."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.study import Study, StudyError
from pacelc.study.scenario_file import COLUMNS, read_scenario_file, write_scenario_file

FERREIRA = Study.load("ferreira-2024")
HEADER = ",".join(COLUMNS)


def test_the_papers_listing_is_written_as_printed() -> None:
    lines = write_scenario_file(FERREIRA).splitlines()
    assert lines[0] == "id,users,duration,consistency,operation,database,deployment"
    assert lines[1] == "1,1,300,weak,reading,cassandra,single"
    assert lines[2] == "2,2,300,weak,reading,cassandra,single"
    assert lines[100] == "100,10,300,strong,write,redis,single"
    assert lines[-1] == "200,10,300,strong,write,redis,multi"


def test_what_is_written_reads_back_as_the_same_scenarios() -> None:
    text = write_scenario_file(FERREIRA)
    read = read_scenario_file(FERREIRA, text)
    assert read.scenarios() == FERREIRA.scenarios()
    assert write_scenario_file(read) == text


@st.composite
def rows(draw: st.DrawFn) -> str:
    numbers = draw(st.lists(st.integers(1, 999), min_size=1, max_size=20, unique=True))
    lines = [HEADER]
    for number in numbers:
        users, seconds = draw(st.integers(1, 1000)), draw(st.integers(1, 86_400))
        consistency = draw(st.sampled_from(["weak", "strong"]))
        deployment = draw(st.sampled_from(["single", "multi"]))
        operation, database = draw(
            st.sampled_from(
                [
                    ("reading", "cassandra"),
                    ("write", "cassandra"),
                    ("reading", "mongodb"),
                    ("write", "redis"),
                ]
            )
        )
        lines.append(
            f"{number},{users},{seconds},{consistency},{operation},{database},{deployment}"
        )
    return "\n".join(lines) + "\n"


@given(rows())
def test_any_such_file_survives_reading_and_writing(text: str) -> None:
    assert write_scenario_file(read_scenario_file(FERREIRA, text)) == text


@pytest.mark.parametrize("word", ["read", "reading", "write", "writing"])
def test_both_spellings_of_an_operation_are_read(word: str) -> None:
    study = read_scenario_file(FERREIRA, f"{HEADER}\n1,1,300,weak,{word},cassandra,single\n")
    assert study.scenarios()[0].factors["operation"] == word.removesuffix("ing").replace(
        "writ", "write"
    ).replace("ee", "e")


def test_the_study_gives_the_words_their_meaning() -> None:
    study = read_scenario_file(FERREIRA, f"{HEADER}\n7,3,5,weak,write,redis,single\n")
    (scenario,) = study.scenarios()
    assert scenario.number == 7
    assert scenario.settings.consistency == {"read": "primary", "write": {"wait": 1}}
    assert (scenario.settings.users, scenario.settings.measure_s) == (3, 5.0)


MISTAKES = {
    "id,users\n": "scenarios.csv:1: the header should be id,users,duration,consistency,operation,database,deployment",
    f"{HEADER}\n": "scenarios.csv: no scenario is listed",
    f"{HEADER}\n1,1,300\n": "scenarios.csv:2: should have 7 values, not 3",
    f"{HEADER}\n\n1,1,300,weak,read,redis,single\n": "scenarios.csv:2: the line is empty",
    f"{HEADER}\n# mine\n": "scenarios.csv:2: begins with #, and such a file has no comments",
    f"{HEADER},id\n": "scenarios.csv:1: two columns are named 'id': 1 and 8",
    HEADER.replace(",", ";"): "scenarios.csv:1: the columns are separated by semicolons",
    f"{HEADER}\n1,1_0,300,weak,read,redis,single\n": "scenarios.csv:2: users: should be a whole number, not '1_0'",
    f"{HEADER}\n1,0,300,weak,read,redis,single\n": "scenarios.csv:2: users: should be a whole number above 0, not '0'",
    f"{HEADER}\n1,1,300,weak,raed,redis,single\n": "scenarios.csv:2: operation: factor operation has no level 'raed'",
    f"{HEADER}\n1,1,300,weak,write,redis,mutli\n": (
        "scenarios.csv:2: deployment: factor deployment has no level 'mutli'"
    ),
    f"{HEADER}\n" + "1,1,300,weak,write,redis,single\n" * 300_000: (
        "scenarios.csv: 300,000 scenarios, and 10,000 are the most"
    ),
    f"{HEADER}\n1,1,300,weak,write,redis,single\n1,2,300,weak,write,redis,single\n": (
        "scenarios.csv:3: id: two scenarios have the number 1"
    ),
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[-80:])
def test_a_mistake_is_one_line_with_file_and_line(text: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_scenario_file(FERREIRA, text)
    assert caught.value.message == MISTAKES[text]


def test_a_study_without_deployments_has_one() -> None:
    study = Study.parse(
        "name: x\nfactors: {users: [1], operation: {read: {workload: {mix: {read: 1}}}}}\n"
        "settings: {database: memory}\n"
    )
    listed = f"{HEADER}\n1,1,3,weak,read,redis,multi\n"
    with pytest.raises(StudyError, match="no factor deployment: 'multi' can't be had"):
        read_scenario_file(study, listed)


def test_a_study_that_varies_something_else_is_not_written() -> None:
    study = Study.parse("name: x\nfactors: {records: [1, 2]}\nsettings: {database: memory}\n")
    with pytest.raises(StudyError, match="varies records"):
        write_scenario_file(study)
