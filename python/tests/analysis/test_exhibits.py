"""A paper's tables and figures, made again from runs whose truth is known."""

# ruff: noqa: RUF001 - typography: the sign of multiplication that tables print

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import polars as pl
import pytest
from made_up import write_made_up

from pacelc import plots
from pacelc.analysis import Design, Estimate
from pacelc.analysis.design import Group
from pacelc.papers import (
    Evidence,
    FigureExhibit,
    TableExhibit,
    check_claims,
    claims_of,
    exhibits_of,
    haughian_2016,
)
from pacelc.papers.cells import contrast, estimates
from pacelc.papers.exhibit import beside
from pacelc.papers.haughian_2016.tables import difference_estimate, difference_percent
from pacelc.plots.layout import NothingToDraw
from pacelc.store import load
from pacelc.study import Scenario, Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import altair as alt

    from pacelc.papers import Exhibit, Table

PAPERS = ("ferreira-2024", "gandini-2014", "haughian-2016", "kumarasinghe-2015", "vyas-2022")
SMALL = {
    "kumarasinghe-2015": ["preset=small", "users=1,4,8,30,40,50", "repetitions=2"],
    "haughian-2016": ["nodes=1,3,6", "repetitions=2"],
    "vyas-2022": ["users=10,50", "repetitions=2"],
}


def kumarasinghe(scenario: Scenario) -> float:
    """As the paper has it: Redis ahead but for scans, and only Cassandra gains from threads."""
    f = scenario.factors
    database, users = str(f["database"]), int(f["users"])
    if f["records"] == 100_000:
        slope = {
            "cassandra": 500 + 20 * users,
            "mongodb": 3000 if users <= 40 else 2500,
            "redis": 3000 - 20 * users,
        }
        return slope[database]
    rates = {
        "ycsb-e": {"cassandra": 300, "mongodb": 900, "redis": 310},
        "ycsb-f": {"cassandra": 500, "mongodb": 520, "redis": 2000},
    }
    usual = {"cassandra": 1000, "mongodb": 1000, "redis": 2000}
    return rates.get(str(f["workload"]), usual)[database] * (1 + math.log(users) / 4)


def haughian(scenario: Scenario) -> float:
    """As the paper has it, with exact effects of replication."""
    f = scenario.factors
    reads = f["workload"] == "haughian-g"
    level = {"ONE": 1.0, "QUORUM": 0.8, "ALL": 0.6}[str(f["consistency"])]
    if f["database"] == "mongodb":
        level = {"ONE": 1.0, "QUORUM": 0.98, "ALL": 0.97}[str(f["consistency"])]
        access = {"uniform": 1.0, "zipfian": 1.05, "latest": 1.2}[str(f["distribution"])]
        alone = 30_000 if reads else 15_000
        return alone * access * level * (1 / 3 if f["cluster"] == "replicated" else 1)
    alone = (15_000 if reads else 21_000) * (1 + int(f["nodes"]) / 3)
    return alone * level * ((0.8 if reads else 0.3) if f["cluster"] == "replicated" else 1)


def vyas(scenario: Scenario) -> float:
    """Each further replica costs; users queue."""
    setting, users = str(scenario.factors["setting"]), int(scenario.factors["users"])
    reads = int(str(scenario.factors["mix"]).partition("/")[0]) / 100
    cost = reads * (1 + 0.2 * (int(setting[0]) - 1))
    cost += (1 - reads) * (1 + 0.15 * (int(setting[3]) - 1))
    return 1500 * users / (users + 60) / cost


TRUTH: dict[str, Callable[[Scenario], float]] = {
    "kumarasinghe-2015": kumarasinghe,
    "haughian-2016": haughian,
    "vyas-2022": vyas,
}


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evidence]:
    """The three studies, made up."""
    made: dict[str, Evidence] = {}
    for name, truth in TRUTH.items():
        path = tmp_path_factory.mktemp("papers") / name
        results = load(write_made_up(path, Study.load(name, SMALL[name]), truth))
        made[name] = Evidence(results, Design.of(results))
    return made


def exhibit(study: str, name: str) -> Exhibit:
    return next(x for x in exhibits_of(study) if x.name == name)


def built(study: str, name: str, e: Evidence) -> Table:
    found = exhibit(study, name)
    assert isinstance(found, TableExhibit)
    table = found.build(e)
    assert table is not None
    return table


def drawn(study: str, name: str, e: Evidence) -> alt.TopLevelMixin:
    found = exhibit(study, name)
    assert isinstance(found, FigureExhibit)
    return found.draw(e, plots.SCREEN)


def shown(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def points(chart: alt.TopLevelMixin) -> list[dict[str, object]]:
    data = json.loads(chart.to_json())["datasets"].values()
    return [point for rows in data for point in rows]


def test_names_are_unique_and_fit_a_file() -> None:
    names = [x.name for study in PAPERS for x in exhibits_of(study)]
    assert len(names) == len(set(names))
    assert all(name.replace("-", "").isalnum() for name in names)
    claims = [claim.id for study in PAPERS for claim in claims_of(study)]
    for study in PAPERS:
        ids = [claim.id for claim in claims_of(study)]
        assert len(ids) == len(set(ids))
    assert len(claims) == 19 + 21 + 11 + 12 + 6
    assert exhibits_of("another study") == ()


@pytest.mark.parametrize("study", TRUTH)
@pytest.mark.parametrize("style", [plots.SCREEN, plots.PAPER], ids=lambda s: s.name)
def test_every_exhibit_of_a_whole_study_is_there(
    study: str, style: plots.Style, evidence: dict[str, Evidence]
) -> None:
    for x in exhibits_of(study):
        if isinstance(x, TableExhibit):
            # The made-up mixes have all five, so no table is empty.
            assert x.build(evidence[study]) is not None, x.name
        else:
            assert x.draw(evidence[study], style).to_dict()["config"], x.name


@pytest.mark.parametrize("study", TRUTH)
def test_runs_of_something_else_give_no_exhibit(study: str, mixed_dir: Path) -> None:
    results = load(mixed_dir)
    other = Evidence(results, Design.of(results))
    for x in exhibits_of(study):
        if isinstance(x, TableExhibit):
            assert x.build(other) is None, x.name
        else:
            with pytest.raises(NothingToDraw):
                x.draw(other, plots.SCREEN)


# --- A table beside its published numbers ---


def test_a_cell_that_only_one_side_has_is_empty_on_the_other() -> None:
    rows = [("a",), ("b",), ("never measured",)]
    published = {(("a",), "x"): 10.0, (("never measured",), "x"): 1.0, (("b",), "z"): 2.0}
    measured = {
        (("a",), "x"): Estimate(5.0, 4.0, 6.0, 3),
        (("b",), "y"): Estimate(7.0, None, None, 1),
    }
    table = beside(("row",), rows, ("x", "y", "z"), published, measured, ratio=True)
    assert table is not None
    assert [head for head, _ in table.columns] == ["x", "y"]
    assert shown(table) == [
        ["a", "10.0", "5.0 ± 1.0 (n=3)", "× 0.500", "", "", ""],
        ["b", "", "", "", "", "7.00 (n=1, no interval)", ""],
    ]
    assert table.frame.height == 4
    assert table.frame.filter(row="b", column="y").item(0, "low") is None


def test_nothing_measured_is_no_table() -> None:
    assert beside(("row",), [("a",)], ("x",), {(("a",), "x"): 1.0}, {}) is None


@pytest.mark.parametrize(
    ("estimates", "best", "certain"),
    [
        ([(1, 0.9, 1.1), (2, 1.8, 2.2)], 0, True),
        ([(1, 0.5, 1.9), (2, 1.8, 2.2)], 0, False),
        ([(1, None, None), (2, 1.8, 2.2)], 0, False),
        ([(3, 2.9, 3.1), (2, 1.8, 2.2)], 1, True),
    ],
)
def test_the_best_of_a_row_is_marked_and_certain_only_where_intervals_are_apart(
    estimates: list[tuple[float, float | None, float | None]], best: int, certain: bool
) -> None:
    columns = ("x", "y")
    row = ("a",)
    measured = {
        (row, column): Estimate(value, low, high, 3 if low else 1)
        for column, (value, low, high) in zip(columns, estimates, strict=True)
    }
    published = {(row, "x"): 4.0, (row, "y"): 3.0}
    table = beside(("row",), [row], columns, published, measured, best=lambda _: "lowest")
    assert table is not None
    here = table.rows[0][2::2]
    assert [cell.best for cell in here] == [best == 0, best == 1]
    assert here[best].certain == certain
    assert [cell.best for cell in table.rows[0][1::2]] == [False, True]
    highest = beside(("row",), [row], columns, published, measured, best=lambda _: "highest")
    assert highest is not None
    assert [cell.best for cell in highest.rows[0][2::2]] == [best == 1, best == 0]


# --- Haughian 2016 ---


def test_its_difference_is_of_the_mean_of_both() -> None:
    assert difference_percent(300, 100) == 100
    assert difference_percent(100, 300) == -100
    loss = difference_estimate(Estimate(0.5, 0.4, 0.6, 6))
    assert loss.low is not None
    assert loss.high is not None
    assert (loss.low, loss.value, loss.high) == pytest.approx((50.0, 200 / 3, 600 / 7))
    assert difference_estimate(Estimate(0.5, None, None, 2)).low is None


def test_the_texts_differences_between_workloads_follow_from_table_2_by_that_formula() -> None:
    """The paper gives no formula; this is how we know it."""
    table = haughian_2016.table("table2")
    plain = (200 + 33.1) / (200 - 33.1)  # H over G on clusters without replication

    def difference(column: str, label: str) -> float:
        part = table.filter(**{column: label}).sort("workload", "nodes", "distribution", "level")
        kept = [(200 - d) / (200 + d) for d in part.get_column("difference_percent")]
        half = len(kept) // 2
        ratios = [h / g * plain for g, h in zip(kept[:half], kept[half:], strict=True)]
        return sum(abs(difference_percent(1, r)) for r in ratios) / half

    stated = {
        ("distribution", "uniform"): 39.6,
        ("distribution", "zipfian"): 37.9,
        ("distribution", "latest"): 30.3,
        ("level", "ONE"): 19.5,
        ("level", "QUORUM"): 38.6,
        ("level", "ALL"): 49.7,
    }
    for (column, label), percent in stated.items():
        assert difference(column, label) == pytest.approx(percent, abs=3.1), label


def test_which_of_the_texts_averages_are_the_tables() -> None:
    apart: list[tuple[str, ...]] = []
    for row in haughian_2016.table("averages").iter_rows(named=True):
        table = haughian_2016.table("table2" if row["database"] == "cassandra" else "table3")
        part = table.filter(workload=row["workload"])
        part = part.filter(part.get_column("nodes") >= row["nodes_from"])
        part = part if row["level"] is None else part.filter(level=row["level"])
        mean = part.get_column("difference_percent").mean()
        if mean != pytest.approx(row["stated_percent"], abs=0.2):
            apart.append((row["database"], row["workload"], row["level"]))
    assert apart == [
        ("cassandra", "G", "QUORUM"),
        ("cassandra", "G", "ALL"),
        ("cassandra", "H", "QUORUM"),
        ("cassandra", "H", "ALL"),
    ]


def test_a_cell_of_table_3_is_table_2s() -> None:
    place = {"workload": "H", "distribution": "latest", "level": "ALL"}
    one, other = (
        haughian_2016.table(name).filter(**place).get_column("difference_percent").to_list()
        for name in ("table2", "table3")
    )
    assert one == other
    assert haughian_2016.table("table2").height == haughian_2016.table("table3").height == 72
    with pytest.raises(ValueError, match="table4"):
        haughian_2016.table("table4")


def test_its_tables_give_the_differences_that_were_put_in(evidence: dict[str, Evidence]) -> None:
    frame = built("haughian-2016", "haughian-table-2", evidence["haughian-2016"]).frame
    for column, kept in (("G, 6 nodes", 0.8), ("H, 6 nodes", 0.3)):
        for level, factor in (("ONE", 1.0), ("QUORUM", 0.8), ("ALL", 0.6)):
            cell = frame.filter(distribution="uniform", level=level, column=column)
            true = difference_percent(1, kept * factor)
            assert cell.item(0, "value") == pytest.approx(true, abs=3)
            assert cell.item(0, "low") < cell.item(0, "value") < cell.item(0, "high")
            assert cell.item(0, "n") == 4
    assert set(frame.get_column("column")) == {f"{w}, {n} nodes" for w in "GH" for n in (3, 6)}
    mongodb = built("haughian-2016", "haughian-table-3", evidence["haughian-2016"]).frame
    assert set(mongodb.get_column("column")) == {f"{w}, {n} nodes" for w in "GH" for n in (3, 6)}
    cell = mongodb.filter(distribution="uniform", level="ONE", column="G, 6 nodes")
    assert cell.item(0, "value") == pytest.approx(difference_percent(1, 1 / 3), abs=3)


def test_its_figure_has_the_baseline_in_each_panel(evidence: dict[str, Evidence]) -> None:
    data = points(drawn("haughian-2016", "haughian-figure-2", evidence["haughian-2016"]))
    panels = {str(point["panel"]) for point in data}
    assert panels == {f"{w}, {v}" for w in "GH" for v in ("ONE", "QUORUM", "ALL")}
    for panel in panels:
        series = {point["series"] for point in data if point["panel"] == panel}
        assert series == {"uniform", "zipfian", "latest", "without replication (uniform)"}


# --- Vyas 2022 ---


def test_levels_of_reads_alone_are_settings_of_as_many_replicas(
    evidence: dict[str, Evidence],
) -> None:
    table = built("vyas-2022", "vyas-table-4", evidence["vyas-2022"])
    assert [head for head, _ in table.columns] == ["ONE", "QUORUM", "ALL"]
    rows = {(row["users"], row["read"], row["column"]): row for row in table.frame.to_dicts()}
    cell = rows["50", "throughput (/s)", "ALL"]
    assert (cell["published"], cell["value"]) == (
        605,
        pytest.approx(1500 * 50 / 110 / 1.4, rel=0.1),
    )
    assert cell["ratio"] == pytest.approx(cell["value"] / 605)
    assert rows["10", "latency (ms)", "ONE"]["published"] == 22.705


def test_the_fastest_setting_of_a_mix_is_marked(evidence: dict[str, Evidence]) -> None:
    frame = built("vyas-2022", "vyas-table-10", evidence["vyas-2022"]).frame
    here = frame.filter(frame.get_column("best_here")).get_column("column").to_list()
    assert here == ["1R-3W"] * 4
    row = frame.filter(users="10").filter(frame.filter(users="10")["latency (ms)"] == "write")
    assert row.filter(row.get_column("best_published")).get_column("column").to_list() == ["1R-3W"]


def test_regression_and_advice_read_its_runs(evidence: dict[str, Evidence]) -> None:
    from pacelc.analysis.records import Naming, runs_frame

    frame = runs_frame(evidence["vyas-2022"].results, Naming())
    pairs = set(frame.select("read_replicas", "write_replicas").iter_rows())
    assert pairs == {(2, 2), (1, 1), (3, 3), (1, 3), (3, 1)}
    assert sorted(set(frame.get_column("read_share"))) == [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]


# --- Claims, and the cells that they rest on ---


@pytest.mark.parametrize("study", ["kumarasinghe-2015", "haughian-2016"])
def test_claims_hold_on_runs_made_to_fit_them(study: str, evidence: dict[str, Evidence]) -> None:
    e = evidence[study]
    found = {f.claim.id: f for f in check_claims(claims_of(study), e.results, e.design)}
    undecided = {
        # The truth has no difference between these, so the runs can't tell one.
        "cassandra-latest-best-for-writes",
        "cassandra-uniform-best-for-reads",
        # With two repetitions some of a dozen pairs of intervals overlap.
        "replication-costs-writes-more",
        "cassandra-writes-faster-than-mongodb",
    }
    for name, finding in found.items():
        if name not in undecided:
            assert finding.verdict == "holds", (name, finding.evidence)
        assert finding.evidence != "these results hold no runs that it is about", name


def test_claims_are_violated_by_runs_that_turn_them_round(tmp_path: Path) -> None:
    study = Study.load("kumarasinghe-2015", ["preset=small", "repetitions=3"])
    slow_redis = write_made_up(
        tmp_path / "k",
        study,
        lambda s: {"cassandra": 1000, "mongodb": 800, "redis": 500}[str(s.factors["database"])],
    )
    results = load(slow_redis)
    claims = claims_of("kumarasinghe-2015")
    found = {f.claim.id: f for f in check_claims(claims, results, Design.of(results))}
    assert found["redis-twice-in-a"].verdict == "violated"
    assert found["mongodb-scans-fastest"].verdict == "violated"
    assert found["cassandra-gains-with-threads"].verdict != "holds"
    # Users are 1, 8 and 50.
    for name, users in (
        ("little-gain-beyond-four", 4),
        ("mongodb-flat-to-forty", 40),
        ("mongodb-steps-down", 40),
    ):
        assert found[name].evidence == f"no runs with {users} users"
        assert found[name].reason == "not measured"


def test_one_run_a_cell_gives_no_interval(tmp_path: Path) -> None:
    study = Study.load("haughian-2016", ["preset=small", "repetitions=1"])
    results = load(write_made_up(tmp_path / "h", study, haughian))
    e = Evidence(results, Design.of(results))
    frame = built("haughian-2016", "haughian-table-2", e).frame
    measured = frame.filter(frame.get_column("value").is_not_null())
    assert measured.height == 8
    assert measured.get_column("low").is_null().all()
    assert "no intervals" in drawn("haughian-2016", "haughian-figure-2", e).to_json()


def test_missing_runs_leave_their_cells_empty(tmp_path: Path) -> None:
    study = Study.load("vyas-2022", ["users=10", "repetitions=2"])
    path = write_made_up(
        tmp_path / "v",
        study,
        lambda s: None if s.factors["setting"] == "3R-1W" else vyas(s),
    )
    results = load(path)
    e = Evidence(results, Design.of(results))
    table = built("vyas-2022", "vyas-table-6", e)
    assert [head for head, _ in table.columns] == ["1R-3W", "2R-2W"]


def test_runs_are_compared_only_with_those_that_are_otherwise_alike(
    evidence: dict[str, Evidence],
) -> None:
    results = evidence["kumarasinghe-2015"].results
    where = {"workload": "ycsb-a", "records": 100_000, "users": "8"}
    means = estimates(results, ("database",), "throughput_per_s", where)
    assert means["redis",].n == 2
    ratio = contrast(
        results,
        "throughput_per_s",
        {"database": "redis"},
        {"database": "cassandra"},
        match=("users",),
        where={"workload": "ycsb-a", "records": 100_000, "users": [8, 50]},
    )
    assert ratio is not None
    assert ratio.n == 8
    true = math.sqrt((3000 - 160) / 660 * (3000 - 1000) / 1500)
    assert ratio.value == pytest.approx(true, rel=0.05)
    assert contrast(results, "throughput_per_s", {"database": "x"}, {"database": "redis"}) is None
    assert estimates(results, ("no such factor",), "throughput_per_s") == {}


def test_a_study_of_settings_is_compared_by_them_and_names_numbers(
    evidence: dict[str, Evidence],
) -> None:
    vyas_design = evidence["vyas-2022"].design
    assert (vyas_design.level_factor, vyas_design.reference) == ("setting", "2R-2W")
    group = evidence["haughian-2016"].design.groups[0]
    assert group.words(without="database")[:3] == ["haughian-g", "nodes 1", "non-replicated"]
    assert "nodes 1" in str(group)


def test_hashing_by_the_client_is_called_so_wherever_levels_are_shown() -> None:
    group = Group(("database", "nodes", "sharding"), ("mongodb", "6", "client"))
    assert str(group) == "MongoDB, nodes 6, sharding: client"
    text = "name: s\nfactors: {sharding: [client]}\nsettings: {database: mongodb, shards: 3}\n"
    (run,) = Study.parse(text).schedule()
    assert run.scenario.label == "sharding=client"
    assert run.cluster_key.startswith("mongodb-n3-rf1-sharding-client-3-")


def test_few_points_have_bars_and_many_have_bands() -> None:
    def marks(xs: range) -> set[str]:
        data = pl.DataFrame(
            {
                "panel": ["p"] * len(xs),
                "series": ["s"] * len(xs),
                "x": list(xs),
                "value": [10.0] * len(xs),
                "low": [9.0] * len(xs),
                "high": [110.0] * len(xs),
                "n": [2] * len(xs),
            }
        )
        chart = plots.curves(data, title="t", x_title="x", y_title="y", series=["s"])
        (panel,) = chart.to_dict()["concat"]
        # Twice the mean, and not the interval of two runs, sets the height.
        assert panel["layer"][-1]["encoding"]["y"]["scale"]["domain"][1] == pytest.approx(20.6)
        assert "go on where they reach the top" in chart.to_json()
        return {layer["mark"]["type"] for layer in panel["layer"]}

    assert marks(range(1, 4)) == {"rule", "line", "point"}
    # A line between two points would say what nobody measured.
    assert marks(range(1, 3)) == {"rule", "point"}
    assert marks(range(1, 9)) == {"area", "line", "point"}
