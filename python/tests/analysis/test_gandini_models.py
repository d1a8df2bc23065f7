"""Gandini 2014's figures 8 to 10: its models beside runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from made_up import write_made_up

from pacelc import plots
from pacelc.analysis import Design
from pacelc.networks import builtin, solve
from pacelc.networks.exhibits import exhibits_of
from pacelc.papers import Evidence, FigureExhibit
from pacelc.papers import exhibits_of as exhibits_of_papers
from pacelc.plots.checked import MEASURED, SIMULATED, SOLVED
from pacelc.plots.layout import NothingToDraw
from pacelc.report.content import build
from pacelc.store import load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.study import Scenario

NAME = "gandini-2014"
DATABASES = ("Cassandra", "MongoDB", "HBase")

pytestmark = pytest.mark.slow


def twice_the_model(scenario: Scenario) -> float | None:
    """Twice what the paper's model says; nothing where it says nothing."""
    f = scenario.factors
    nodes, copies, users = int(f["nodes"]), int(f["replication"]), int(f["users"])
    if users == 50 or (nodes, copies) not in ((1, 1), (4, 1), (4, 4)):
        return 1.0 if users == 50 else None
    if f["database"] == "hbase" and copies == 4:
        return 1000.0
    name = f"gandini-{f['database']}-{nodes}{'x4' if copies == 4 else ''}"
    return 2 * solve(builtin(name, [f"users={users}"])).throughput_per_s


def evidence(path: Path, *settings: str) -> Evidence:
    study = Study.load(NAME, list(settings))
    results = load(write_made_up(path / NAME, study, twice_the_model))
    return Evidence(results, Design.of(results))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return evidence(
        tmp_path_factory.mktemp("papers"), "users=1,10,30,50", "nodes=1,4", "repetitions=2"
    )


def figure(name: str) -> FigureExhibit:
    found = next(x for x in exhibits_of(NAME) if x.name == name)
    assert isinstance(found, FigureExhibit)
    return found


def drawn(name: str, e: Evidence) -> list[dict[str, object]]:
    data = json.loads(figure(name).draw(e, plots.SCREEN).to_json())["datasets"].values()
    return [point for rows in data for point in rows]


def values(points: list[dict[str, object]], panel: str, source: str) -> dict[float, float]:
    found = [p for p in points if (p["panel"], p["source"]) == (panel, source)]
    return {float(str(p["x"])): float(str(p["value"])) for p in found}


@pytest.mark.parametrize(
    ("name", "databases"),
    [
        ("gandini-figure-8", DATABASES),
        ("gandini-figure-9", DATABASES),
        ("gandini-figure-10", DATABASES[:2]),
    ],
)
def test_a_panel_a_database_and_measure_has_model_and_runs(
    name: str, databases: tuple[str, ...], whole: Evidence
) -> None:
    points = drawn(name, whole)
    charts = figure(name).draw(whole, plots.PAPER).to_dict()["concat"]
    assert [chart["title"]["text"] for chart in charts] == [
        f"{database}, {word}"
        for database in databases
        for word in ("operations/s", "reads (ms)", "updates (ms)")
    ]
    for database in databases:
        panel = f"{database}, operations/s"
        solved, simulated, measured = (
            values(points, panel, source) for source in (SOLVED, SIMULATED, MEASURED)
        )
        assert list(solved) == list(range(1, 31))
        assert set(measured) == {1, 10, 30}
        for users, value in measured.items():
            assert value == pytest.approx(2 * solved[users], rel=0.05)
        for users, value in simulated.items():
            assert value == pytest.approx(solved[users], rel=0.1)


def test_lines_go_on_as_far_as_runs_do(tmp_path: Path) -> None:
    e = evidence(tmp_path, "users=1,45", "nodes=1", "database=mongodb", "repetitions=2")
    points = drawn("gandini-figure-8", e)
    assert {str(p["panel"]).partition(",")[0] for p in points} == {"MongoDB"}
    assert max(values(points, "MongoDB, operations/s", SOLVED)) == 45
    for name in ("gandini-figure-9", "gandini-figure-10"):
        with pytest.raises(NothingToDraw):
            drawn(name, e)


def test_nodes_of_another_size_are_said_to_be(tmp_path: Path, whole: Evidence) -> None:
    e = evidence(tmp_path, "preset=small", "repetitions=2")
    notes = [
        figure("gandini-figure-8").draw(one, plots.SCREEN).to_dict()["title"]["subtitle"]
        for one in (e, whole)
    ]
    assert notes[0].startswith("Cores of measured nodes: 0.4, of the model’s: 2; bars are")  # noqa: RUF001
    assert notes[1].startswith("Bars are")


def test_runs_of_something_else_give_no_exhibit(mixed_dir: Path) -> None:
    results = load(mixed_dir)
    other = Evidence(results, Design.of(results))
    for x in exhibits_of(NAME):
        assert isinstance(x, FigureExhibit)
        with pytest.raises(NothingToDraw):
            x.draw(other, plots.SCREEN)


def test_a_report_has_them_behind_those_without_models(whole: Evidence) -> None:
    names = [x.name for x in build(whole.results).exhibits]
    assert names[0] == "gandini-figure-2"
    assert names[-3:] == [f"gandini-figure-{number}" for number in (8, 9, 10)]


def test_names_are_nobody_elses() -> None:
    names = [x.name for x in (*exhibits_of(NAME), *exhibits_of_papers(NAME))]
    assert len(names) == len(set(names))
    assert exhibits_of("another study") == ()
