"""Gandini 2014: its demands mean what it measured, its exhibits and claims show what is so."""

# ruff: noqa: RUF001 - typography: the sign of multiplication that figures print

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from made_up import write_made_up

from pacelc import plots
from pacelc.analysis import Design
from pacelc.clusters.errors import SpecError
from pacelc.papers import (
    Evidence,
    FigureExhibit,
    TableExhibit,
    check_claims,
    claims_of,
    exhibits_of,
    gandini_2014,
)
from pacelc.papers.gandini_2014 import CONFIGURATIONS, demands, saturation_per_s, stated, table
from pacelc.plots.layout import NothingToDraw
from pacelc.runner.lab import LocalLab
from pacelc.store import load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pacelc.papers import Table
    from pacelc.study import Scenario

NAME = "gandini-2014"
BY_CORES = {"cassandra": 1500.0, "mongodb": 20_000.0, "hbase": 5000.0}
BY_NODES = {"cassandra": 1500.0, "mongodb": 4000.0, "hbase": 5000.0}
UPDATES_MS = {"cassandra": 3.0, "hbase": 0.4}
COPIES: Mapping[str, Mapping[int, float]] = {
    "cassandra": {1: 1.0, 2: 0.8, 3: 0.7, 4: 0.6},
    "mongodb": {1: 1.0, 2: 0.6, 4: 0.6},
    "hbase": dict.fromkeys((1, 2, 3, 4), 1.0),
}


def as_published(scenario: Scenario) -> float:
    """As the text has it."""
    f = scenario.factors
    database, nodes, cores = str(f["database"]), int(f["nodes"]), float(f["cores"])
    users = int(f["users"])
    if users == 50:
        gain = {"cassandra": cores**0.95, "mongodb": min(cores, 6) ** 0.2, "hbase": cores}
        return BY_CORES[database] * gain[database]
    filled = users / (users + 5 * nodes)
    kept = COPIES[database][int(f["replication"])]
    return BY_NODES[database] * cores**0.9 * nodes**0.9 * filled * kept


def split_as_published(scenario: Scenario, mean_ms: float) -> Mapping[str, float]:
    """Updates that hardly know of the cores; reads have what is left of the mean."""
    if scenario.factors["users"] != 50:
        return {}
    database, cores = str(scenario.factors["database"]), float(scenario.factors["cores"])
    update = UPDATES_MS.get(database, 2 + max(0.0, 3 - cores) / 2)
    return {"update": update, "read": 2 * mean_ms - update}


def busy(scenario: Scenario) -> Mapping[tuple[str, str], float]:
    """All cores of all nodes, and processes that hold no records."""
    role = {"cassandra": "node", "mongodb": "primary", "hbase": "regionserver"}
    f = scenario.factors
    return {
        **{
            (f"node{n}", role[str(f["database"])]): float(f["cores"])
            for n in range(1, int(f["nodes"]) + 1)
        },
        ("client", "client"): 0.7,
        ("master", "master"): 0.1,
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """The whole study, but for some numbers of users and repetitions."""
    path = write_made_up(
        tmp_path_factory.mktemp("papers") / NAME,
        Study.load(NAME, ["users=1,25,30,50", "repetitions=3"]),
        as_published,
        latencies_ms=split_as_published,
        cpu_cores=busy,
    )
    results = load(path)
    return Evidence(results, Design.of(results))


def drawn(name: str, e: Evidence, style: plots.Style = plots.SCREEN) -> list[dict[str, object]]:
    found = next(x for x in exhibits_of(NAME) if x.name == name)
    assert isinstance(found, FigureExhibit)
    data = json.loads(found.draw(e, style).to_json())["datasets"].values()
    return [point for rows in data for point in rows]


def cpu_times(e: Evidence) -> Table | None:
    found = next(x for x in exhibits_of(NAME) if isinstance(x, TableExhibit))
    return found.build(e)


# --- The published numbers ---


@pytest.mark.parametrize(
    ("database", "operations_per_s"), [("cassandra", 3265), ("mongodb", 5714), ("hbase", 9143)]
)
def test_one_node_is_full_where_its_processor_is(database: str, operations_per_s: int) -> None:
    rate, resource = saturation_per_s(database)
    assert (round(rate), resource) == (operations_per_s, "cpu")
    # The same from the printed numbers, by hand.
    name = {"cassandra": "table2", "mongodb": "table3", "hbase": "table4"}[database]
    row = table(name).row(0, named=True)
    cpu_ms = 0.5 * row["cpu_demand_read"] + 0.5 * row.get("p_flush", 1) * row["cpu_demand_write"]
    assert rate == pytest.approx(2 / cpu_ms * 1000)


def test_a_disk_of_milliseconds_would_stop_every_database_at_ten_operations_a_second() -> None:
    """So they are microseconds."""
    in_ms = {
        database: 1 / (demands(database).disk_s * 1000)
        for database in ("cassandra", "mongodb", "hbase")
    }
    assert in_ms == {
        "cassandra": pytest.approx(10.5, abs=0.05),
        "mongodb": pytest.approx(10.5, abs=0.05),
        "hbase": pytest.approx(11.7, abs=0.05),
    }
    printed = table("stated").filter(printed_unit="ms", unit="us").get_column("quantity").to_list()
    assert printed == ["disk_read", "disk_write"]


def test_demands_are_seconds_of_what_the_text_and_the_tables_print() -> None:
    one = demands("hbase", 4, 1)
    assert (one.cpu_read_s, one.cpu_write_s, one.flush_probability) == pytest.approx(
        (870e-6, 200e-6, 0.01)
    )
    assert (one.disk_read_s, one.disk_write_s, one.disk_write_probability) == pytest.approx(
        (170e-6, 200e-6, 0.1)
    )
    assert one.network_round_trip_s == pytest.approx(453.75e-6)
    assert (one.cores, one.read_share) == (2, 0.5)
    four = demands("cassandra", 4, 4)
    assert four.flush_probability == 1
    assert four.cpu_of_all_nodes_s == pytest.approx(4 * 350e-6)


def test_models_and_their_errors_are_of_the_same_configurations() -> None:
    errors = table("table5").drop_nulls()
    assert set(errors.select("database", "nodes", "replication_factor").iter_rows()) == set(
        CONFIGURATIONS
    )
    assert len(CONFIGURATIONS) == 8
    (missing,) = table("table5").filter(database="hbase", replication_factor=4).iter_rows()
    assert missing[3:] == (None, None, None)
    assert table("table1").get_column("vcpu").to_list() == [2, 8, 8]


def test_what_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="table6"):
        table("table6")
    with pytest.raises(ValueError, match="no 'client_service'"):
        stated("client_service")
    with pytest.raises(ValueError, match="no demands of hbase 4/4; of cassandra 1/1, "):
        demands("hbase", 4, 4)


# --- Its study ---


def test_more_cores_than_the_machine_has_are_refused_before_anything_starts() -> None:
    study = Study.load(NAME, ["cores=4096", "links={}", "database=mongodb"])
    run = study.schedule()[0]
    with pytest.raises(SpecError, match="a node can't have 4096 cores: this machine has"):
        LocalLab().check(run)


# --- Its exhibits from runs ---


@pytest.mark.parametrize("style", [plots.SCREEN, plots.PAPER], ids=lambda s: s.name)
def test_every_exhibit_of_the_whole_study_is_there(style: plots.Style, whole: Evidence) -> None:
    for x in exhibits_of(NAME):
        if isinstance(x, TableExhibit):
            assert x.build(whole) is not None
        else:
            assert x.draw(whole, style).to_dict()["config"], x.name


def test_runs_of_something_else_give_no_exhibit(mixed_dir: Path) -> None:
    results = load(mixed_dir)
    other = Evidence(results, Design.of(results))
    for x in exhibits_of(NAME):
        if isinstance(x, TableExhibit):
            assert x.build(other) is None
        else:
            with pytest.raises(NothingToDraw):
                x.draw(other, plots.SCREEN)


def test_each_figure_has_its_own_experiment(whole: Evidence) -> None:
    by_cores = drawn("gandini-figure-2", whole)
    assert {point["x"] for point in by_cores} == set(range(1, 9))
    assert {point["series"] for point in by_cores} == {"Cassandra", "MongoDB", "HBase"}
    by_nodes = drawn("gandini-figure-3", whole)
    assert {point["x"] for point in by_nodes} == {1, 25, 30}
    assert {point["series"] for point in by_nodes} == {
        "1 × 1 core",
        *(f"{n} × 2 cores" for n in (1, 2, 4, 8, 16)),
    }
    assert {point["panel"] for point in drawn("gandini-figure-4", whole)} == {
        f"{database}, {kind}"
        for database in ("Cassandra", "MongoDB", "HBase")
        for kind in ("reads", "updates")
    }
    by_copies = drawn("gandini-figure-5", whole)
    assert {(p["panel"], p["series"]) for p in by_copies} == {
        (database, series)
        for database in ("Cassandra", "MongoDB", "HBase")
        for series in ("1 copy", "2 copies", "3 copies", "4 copies")
        if (database, series) != ("MongoDB", "3 copies")
    }
    # Of four nodes alone, whatever one copy is on elsewhere.
    (one,) = [p for p in by_copies if (p["panel"], p["series"], p["x"]) == ("HBase", "1 copy", 30)]
    assert one["n"] == 3
    assert one["value"] == pytest.approx(5000 * 2**0.9 * 4**0.9 * 30 / 50, rel=0.02)


def test_a_single_series_is_named_in_the_note(tmp_path: Path) -> None:
    study = Study.load(NAME, ["database=mongodb", "nodes=4", "repetitions=2"])
    results = load(write_made_up(tmp_path / NAME, study, as_published))
    e = Evidence(results, Design.of(results))
    figure = next(x for x in exhibits_of(NAME) if x.name == "gandini-figure-3")
    assert isinstance(figure, FigureExhibit)
    note = figure.draw(e, plots.SCREEN).to_dict()["title"]["subtitle"]
    assert " ".join(note).startswith(
        "4 × 2 cores; nodes × cores of each; each panel has its own scale; "
    )


def test_processor_time_is_that_of_the_servers_with_records_over_operations(
    whole: Evidence,
) -> None:
    table = cpu_times(whole)
    assert table is not None
    rows = {(r["database"], r["nodes"], r["copies"]): r for r in table.frame.to_dicts()}
    assert len(rows) == 8
    cell = rows["Cassandra", "1", "1"]
    rate = 1500 * 2**0.9 * 30 / 35
    assert cell["published"] == pytest.approx(0.6125)
    assert cell["value"] == pytest.approx(2 / rate * 1000, rel=0.02)
    assert rows["MongoDB", "4", "4"]["published"] == pytest.approx(4 * 0.66)
    cell = rows["HBase", "4", "1"]
    assert cell["value"] == pytest.approx(8 / (5000 * 2**0.9 * 4**0.9 * 30 / 50) * 1000, rel=0.02)


def test_without_readings_of_the_servers_there_is_no_processor_time(tmp_path: Path) -> None:
    study = Study.load(NAME, ["preset=small", "repetitions=1"])
    results = load(write_made_up(tmp_path / NAME, study, as_published))
    assert cpu_times(Evidence(results, Design.of(results))) is None


# --- Its findings ---


def test_claims_hold_on_runs_made_to_fit_them(whole: Evidence) -> None:
    for finding in check_claims(claims_of(NAME), whole.results, whole.design):
        assert finding.verdict == "holds", (finding.claim.id, finding.evidence)


def turned_round(scenario: Scenario) -> float:
    """Nothing as the text has it; enough of it for every run to be evidence."""
    f = scenario.factors
    database, cores, nodes = str(f["database"]), float(f["cores"]), int(f["nodes"])
    if f["users"] == 50:
        gain = {"cassandra": 6000 * cores**0.2, "mongodb": 1000 * cores, "hbase": 500 / cores**0.1}
        return 50 * gain[database]
    copies = int(f["replication"])
    rate = {
        "cassandra": 6000 * nodes * copies,
        "mongodb": 1000 / nodes * (2 if copies == 2 else 1),
        "hbase": 500 / nodes / copies,
    }
    return 50 * rate[database] / int(f["users"])


def test_claims_are_violated_by_runs_that_turn_them_round(tmp_path: Path) -> None:
    study = Study.load(NAME, ["users=1,25,30,50", "repetitions=2"])
    results = load(write_made_up(tmp_path / NAME, study, turned_round))
    for finding in check_claims(claims_of(NAME), results, Design.of(results)):
        assert finding.verdict == "violated", (finding.claim.id, finding.evidence)


def test_a_small_preset_leaves_claims_about_larger_machines_open(tmp_path: Path) -> None:
    study = Study.load(NAME, ["preset=small"])
    results = load(write_made_up(tmp_path / NAME, study, as_published))
    found = {
        f.claim.id
        for f in check_claims(claims_of(NAME), results, Design.of(results))
        if "no runs" in f.evidence
    }
    assert found == {
        "mongodb-plateau",
        "mongodb-updates-settle",
        "cassandra-unfilled-from-8-nodes",
        "mongodb-unfilled-from-4-nodes",
        "cassandra-no-gain-from-16-nodes",
    }


def test_the_paper_is_among_the_papers() -> None:
    assert claims_of(NAME) is gandini_2014.CLAIMS
