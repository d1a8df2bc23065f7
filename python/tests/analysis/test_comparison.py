"""Both ways of testing, against SciPy, by hand, and against the paper's own p-values."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from made_up import APPEND, write_made_up
from scipy import stats

from pacelc.analysis import Design, Estimate, compare, holm, normality, paired_test, paper_test
from pacelc.analysis.comparison import pairs_of
from pacelc.analysis.summary import by_load
from pacelc.papers import Evidence
from pacelc.store import load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pacelc.analysis import Comparison
    from pacelc.store import Results
    from pacelc.study import Scenario

LINE = np.arange(10.0)


def test_normal_runs_take_students_t() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(100, 10, 30), rng.normal(90, 10, 30)
    test = paper_test(a, b)
    assert test.normal is True
    assert test.test == "Student's t"
    assert test.p == pytest.approx(float(stats.ttest_ind(a, b).pvalue))
    assert test.note == ""


def test_runs_that_are_not_normal_take_mann_whitney() -> None:
    a = np.r_[LINE, 1000.0]
    test = paper_test(a, a + 2)
    assert test.normal is False
    assert test.test == "Mann-Whitney U"
    assert test.p == pytest.approx(float(stats.mannwhitneyu(a, a + 2, method="asymptotic").pvalue))


def test_ten_runs_wholly_below_ten_others_give_the_papers_p() -> None:
    # Table 7 has 1.827e-04 for Cassandra's and Redis' response times.
    skewed = np.r_[np.arange(9.0), 500.0]
    test = paper_test(skewed, skewed + 10_000)
    assert test.test == "Mann-Whitney U"
    assert test.p == pytest.approx(1.827e-4, rel=1e-3)


def test_both_sides_together_would_not_be_the_papers_normality() -> None:
    # Table 7 calls MongoDB's multi-region response times normal: about 4 ms against 74.
    weak, strong = 4 + LINE * 0.3, 74 + LINE * 0.1
    assert paper_test(weak, strong).normal is True
    p, _ = normality(np.r_[weak, strong])
    assert p is not None
    assert p < 1e-6


@pytest.mark.parametrize("n", [1, 3, 7])
def test_normality_cannot_be_told_below_eight_runs(n: int) -> None:
    test = paper_test(np.arange(float(n)), np.arange(float(n)) + 5)
    assert (test.verdict, test.p) == ("can't tell", None)
    assert f"n={n}" in test.note


def test_the_papers_ten_runs_a_side_are_noted_as_few() -> None:
    assert "approximate below 20" in paper_test(LINE, LINE + 1).note


@given(st.lists(st.floats(-2, 2).filter(lambda x: abs(x) > 1e-6), min_size=5, max_size=20))
def test_the_paired_test_is_scipys(logs: list[float]) -> None:
    assume(np.ptp(logs) > 1e-6)
    pairs = np.column_stack([np.ones(len(logs)), np.exp(logs)])
    expected = stats.ttest_1samp(np.log(pairs[:, 1]), 0.0).pvalue
    assert paired_test(pairs).p == pytest.approx(float(expected), rel=1e-6, abs=1e-12)


@given(st.lists(st.floats(0.01, 100), min_size=5, max_size=12), st.floats(0.5, 2))
def test_pairs_that_all_differ_by_the_same_leave_no_doubt(ones: list[float], by: float) -> None:
    test = paired_test(np.column_stack([ones, np.array(ones) * by]))
    assert test.verdict == ("no difference shown" if abs(by - 1) < 1e-9 else "differs")


@pytest.mark.parametrize("noise", ["normal", "two speeds", "rarely slow"])
def test_a_difference_that_is_not_there_is_hardly_ever_shown(noise: str) -> None:
    rng = np.random.default_rng(7)
    shape = (4_000, 5, 2)
    drawn = {
        "normal": 0.05 * rng.standard_normal(shape),
        "two speeds": 0.1 * (rng.random(shape) < 0.5) + 0.01 * rng.standard_normal(shape),
        "rarely slow": 0.3 * (rng.random(shape) < 0.1) + 0.03 * rng.standard_normal(shape),
    }[noise]
    shown = sum(paired_test(pairs).verdict == "differs" for pairs in np.exp(drawn))
    assert shown / 4_000 < 0.065


def test_four_pairs_cannot_tell() -> None:
    test = paired_test(np.column_stack([np.ones(4), np.full(4, 2.0)]))
    assert (test.verdict, test.p) == ("can't tell", None)
    assert "4 pairs" in test.note


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_monotone_and_never_below_its_input(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert all(adjusted[i] <= adjusted[j] for i, j in pairwise(order))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_holm_does_not_depend_on_the_order(p_values: list[float], random: object) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert holm([p_values[i] for i in order]) == [holm(p_values)[i] for i in order]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == [pytest.approx(x) for x in (0.03, 0.06, 0.06)]


def test_a_difference_at_every_load_is_found_though_pooling_drowns_it(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(
        tmp_path / "r",
        databases=("redis",),
        users=(1, 2, 4, 6, 8),
        repetitions=2,
        measure_s=3,
        noise=0.02,
    )
    comparison = compare(Design.of(load(path)))[0]
    assert comparison.ratio is not None
    assert comparison.ratio.below(1)
    assert comparison.paper.verdict == "no difference shown"
    assert comparison.paired.verdict == "differs"
    assert comparison.disagreement is not None
    assert "hides the difference" in comparison.disagreement


def test_levels_are_compared_at_equal_loads_only(ferreira: Results) -> None:
    # Scenario 30, Redis' strong level at its highest load, failed in this fixture.
    design = Design.of(ferreira)
    redis = next(c for c in compare(design) if c.group.labels == ("redis", "write"))
    assert redis.paired.n == 6
    assert redis.ratio is not None
    assert redis.ratio.n == 12


def test_any_number_of_levels_can_be_compared_in_pairs(mixed: Results) -> None:
    design = Design.of(mixed)
    assert design.levels == ("weak", "quorum", "strong")
    assert [*design.pairs()] == [("weak", "quorum"), ("weak", "strong")]
    assert len([*design.pairs(all_pairs=True)]) == 3
    labels = {g.labels for g in design.groups}
    assert labels == {
        (d, o) for d in ("redis", "mongodb") for o in ("all operations", "read", "update")
    }


def compared(path: Path, *, cost: float, cluster_noise: float | None) -> list[Comparison]:
    def throughput(scenario: Scenario) -> float:
        slower = cost if scenario.factors["appendonly"] == "yes" else 1.0
        return 1000.0 * scenario.settings.users * slower

    study = Study.parse(APPEND, ["repetitions=12"])
    write_made_up(path, study, throughput, noise=0.005, cluster_noise=cluster_noise)
    return compare(Design.of(load(path)))


def test_any_factor_is_compared(tmp_path: Path) -> None:
    found = compared(tmp_path / "r", cost=0.8, cluster_noise=0.02)
    whole = [c for c in found if c.metric.name == "throughput_per_s"]
    assert {(c.reference, c.level) for c in whole} == {("no", "yes")}
    assert all(c.paired.verdict == "differs" for c in whole)
    assert all(c.ratio is not None and c.ratio.low is not None for c in whole)
    assert all(abs(c.ratio.value - 0.8) < 0.03 for c in whole if c.ratio is not None)


def test_runs_of_one_cluster_count_once(tmp_path: Path) -> None:
    """36 runs a level are 12 clusters: what sets them apart doesn't cancel within a cluster."""
    by_cluster = compared(tmp_path / "known", cost=1.0, cluster_noise=0.06)[0]
    assert by_cluster.unit == "cluster"
    assert by_cluster.paired.n == 12
    assert by_cluster.ratio is not None
    assert by_cluster.ratio.n == 24
    # Their interval is as wide as 12 clusters a side that differ by 6 % make it.
    low, high = by_cluster.ratio.low, by_cluster.ratio.high
    assert low is not None
    assert high is not None
    half = 0.5 * np.log(high / low)
    assert 0.5 < half / (2.07 * 0.06 * np.sqrt(2 / 12)) < 1.5


def test_where_the_cluster_isnt_known_runs_count(tmp_path: Path) -> None:
    found = compared(tmp_path / "r", cost=0.8, cluster_noise=None)[0]
    assert (found.unit, found.paired.n) == ("run", 36)


def test_a_ratio_of_two_databases_counts_their_clusters(tmp_path: Path) -> None:
    """One cluster each: ten runs on each say nothing of the next cluster of the kind."""
    text = """
name: databases
factors: {database: [redis, mongodb], users: [1, 2]}
settings: {measure: 1s}
compare: users
"""
    study = Study.parse(text, ["repetitions=10"])
    path = write_made_up(tmp_path / "one", study, lambda _: 1000.0, noise=0.005, cluster_noise=0.03)
    results = load(path)
    ratio = Evidence(results, Design.of(results)).ratio(
        "throughput_per_s", {"database": "redis"}, {"database": "mongodb"}, match=("users",)
    )
    assert isinstance(ratio, Estimate)
    assert ratio.low is not None
    assert ratio.value / ratio.low > 1.1
    assert "one cluster each" in ratio.method


def test_scenarios_of_the_same_levels_are_paired_one_by_one() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    sides = tuple(
        pl.DataFrame(
            {
                "source_": ["r"] * 3,
                "cluster_started_utc": [when] * 3,
                "load": [1.0] * 3,
                "ms": [first, first + 1, first + 2],
            }
        )
        for first in (1.0, 11.0)
    )
    unit, pairs = pairs_of((sides[0], sides[1]), ("load",), "ms")
    assert (unit, pairs.tolist()) == ("run", [[1.0, 11.0], [2.0, 12.0], [3.0, 13.0]])


def test_a_ratio_is_of_the_loads_that_both_levels_have(tmp_path: Path) -> None:
    path = write_made_up(
        tmp_path / "r",
        Study.parse(f'{APPEND}exclude: [{{appendonly: "yes", users: 4}}]\n', ["repetitions=12"]),
        lambda s: 1000.0 * s.settings.users**2,
        noise=0.005,
        cluster_noise=0.01,
    )
    found = compare(Design.of(load(path)))[0]
    assert found.unit == "cluster"
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.0, abs=0.03)
    assert found.change is not None
    assert found.change.low is None


def test_a_cluster_that_was_started_twice_in_a_block_makes_one_pair(tmp_path: Path) -> None:
    path = write_made_up(
        tmp_path / "r",
        Study.parse(APPEND, ["repetitions=3"]),
        lambda s: 1000.0 * s.settings.users,
        cluster_noise=0.02,
    )
    # The level "no" lost its cluster before the last load of each block.
    for run_file in (path / "runs").glob("0003-r*/run.json"):
        document = json.loads(run_file.read_text())
        began = datetime.fromisoformat(document["cluster_started_utc"])
        document["cluster_started_utc"] = (began + timedelta(minutes=1)).isoformat()
        document.pop("sha256", None)
        run_file.write_text(json.dumps(document))
    found = compare(Design.of(load(path)))[0]
    assert (found.unit, found.paired.n) == ("cluster", 3)
    assert found.ratio is not None
    assert found.ratio.n == 6


def test_levels_that_are_databases_are_one_group(tmp_path: Path) -> None:
    study = Study.parse("""
name: stacks
factors:
  stack: {a: {database: mongodb}, b: {database: cassandra}}
  users: [1, 4]
settings: {measure: 1s}
repetitions: 8
""")
    path = write_made_up(tmp_path / "r", study, lambda s: 100.0 * s.settings.users)
    assert {(c.reference, c.level) for c in compare(Design.of(load(path)))} == {("a", "b")}


def test_mixes_are_compared_also_where_one_is_of_a_single_kind(tmp_path: Path) -> None:
    study = Study.parse("""
name: mixes
factors: {workload: [ycsb-a, ycsb-c], users: [1, 4]}
settings: {database: redis, measure: 1s}
repetitions: 8
""")
    path = write_made_up(tmp_path / "r", study, lambda s: 100.0 * s.settings.users)
    design = Design.of(load(path))
    assert [g.get("operation") for g in design.whole_groups] == ["all operations"]
    assert {(c.reference, c.level) for c in compare(design, groups=design.whole_groups)} == {
        ("ycsb-a", "ycsb-c")
    }


@pytest.mark.parametrize("name", ["load", "level", "value", "role"])
def test_a_factor_may_have_the_name_of_a_tables_column(name: str, tmp_path: Path) -> None:
    text = f"""
name: names
factors:
  consistency: [weak, strong]
  {name}: {{a: {{records: 10}}, b: {{records: 20}}}}
  users: [1, 2]
settings: {{database: redis, measure: 1s}}
"""
    path = write_made_up(tmp_path / "r", Study.parse(text), lambda s: 1000.0 * s.settings.users)
    design = Design.of(load(path))
    assert [g.get(f"factor {name}") for g in design.whole_groups] == ["a", "b"]
    assert by_load(design).filter(pl.col(f"factor {name}") == "b").get_column("load").max() == 2.0
