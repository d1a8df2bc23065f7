"""The evaluation keeps what is predicted apart from what is fitted, and width buys nothing."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_points import SIZES, configurations, point
from scipy import stats

from pacelc.calibration.dataset import gathered
from pacelc.calibration.runs import points_of
from pacelc.errors import InputError
from pacelc.evaluation.baselines import MEASURES, Predictor, log_linear, nearest
from pacelc.evaluation.protocol import (
    Interval,
    assigned,
    compared,
    interval_score,
    parts,
    scores,
    scores_of_new,
    with_intervals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.calibration.runs import Configuration, Point
    from pacelc.evaluation.protocol import Forecaster

RUNS = Path(__file__).parents[3] / "benches" / "runs"
STUDIES = ("a", "b", "c", "d")


def rate(one: Configuration) -> float:
    return 1e3 * one.users**0.5 / one.nodes


def studies(names: Sequence[str] = STUDIES) -> list[Point]:
    return [point(one, rate, study=study) for study in names for one in configurations()]


@given(st.permutations(studies()), st.integers(0, 2**32))
@settings(max_examples=20)
def test_assignment_is_of_whole_clusters_and_no_matter_of_order(
    points: list[Point], seed: int
) -> None:
    fitting, evaluation = assigned(points, seed)
    assert {one.cluster for one in fitting}.isdisjoint({one.cluster for one in evaluation})
    assert len(fitting) + len(evaluation) == len(points)
    again = assigned(studies(), seed)[1]
    assert {one.cluster for one in evaluation} == {one.cluster for one in again}


@given(st.integers(1, 12), st.integers(0, 2**32))
@settings(max_examples=30)
def test_a_third_of_the_clusters_of_each_size_evaluates_and_never_the_only_one(
    k: int, seed: int
) -> None:
    small = [one for one in configurations() if one.users == 1 and one.read_share == 1]
    names = [f"study-{chr(97 + number)}" for number in range(k)]
    points = [point(one, rate, study=name) for name in names for one in small]
    _, evaluation = assigned(points, seed)
    counts = Counter(size for _, size in {one.cluster for one in evaluation})
    if k == 1:
        assert not counts
    else:
        assert set(counts.values()) == {max(1, round(k / 3))}
        assert len(counts) == len(SIZES)


def test_other_seeds_assign_other_clusters_and_other_groups_change_nothing() -> None:
    clusters = {
        seed: frozenset(one.cluster for one in assigned(studies(), seed)[1]) for seed in range(8)
    }
    assert len(set(clusters.values())) > 1
    other = (("database", "cassandra"), ("no_idle_states", True))
    more = [
        point(one, rate, study=study, group=other) for study in "xy" for one in configurations()
    ]
    _, evaluation = assigned([*more, *studies()], 3)
    own = {one.cluster for one in evaluation if one.runs[0].group != other}
    assert own == clusters[3]


def test_assignments_stay_as_they_were_drawn_when_a_setting_is_renamed() -> None:
    def evaluating(name: str) -> set[tuple[str, str]]:
        group = (("database", "cassandra"), (name, True))
        points = [
            point(one, rate, study=s, group=group) for s in STUDIES for one in configurations()
        ]
        return {one.cluster for one in assigned(points)[1]}

    assert evaluating("no_idle_states") == evaluating("awake") != evaluating("other")


@pytest.mark.parametrize("names", [STUDIES, STUDIES[:1]])
def test_nothing_that_is_predicted_was_fitted(names: Sequence[str]) -> None:
    found = list(parts(studies(names)))
    assert {one.scheme for one in found} >= {"sizes", "levels", "users"}
    assert ("clusters" in {one.scheme for one in found}) == (len(names) > 1)
    for part in found:
        fitted = {id(one) for one in part.train}
        assert part.test
        assert fitted.isdisjoint(id(one) for one in part.test)
        held = {
            "sizes": lambda one: one.configuration.size,
            "users": lambda one: one.configuration.users,
            "clusters": lambda one: one.cluster,
            "levels": lambda one: (
                one.configuration.size,
                one.configuration.waited,
                len(one.measured),
            ),
        }[part.scheme]
        assert {held(one) for one in part.test}.isdisjoint({held(one) for one in part.train})


def test_a_size_is_predicted_without_it_and_the_most_users_from_fewer() -> None:
    by_name = {(one.scheme, one.left_out): one for one in parts(studies())}
    size = by_name["sizes", "3 nodes, 3 copies"]
    assert {one.configuration.size for one in size.test} == {"3 nodes, 3 copies"}
    users = by_name["users", "64 users"]
    assert max(one.configuration.users for one in users.train) == 16


def test_intervals_of_a_lognormal_population_cover_nine_of_ten() -> None:
    base, scatter = next(configurations()), 0.2
    users = (1, 2, 4, 8, 16, 32, 64)
    made = [base._replace(nodes=nodes, users=n) for nodes in range(1, 21) for n in users]

    def population(seed: int) -> list[Point]:
        draws = np.random.default_rng(seed)
        return [point(one, lambda one: rate(one) * draws.lognormal(0, scatter)) for one in made]

    covered: list[float] = []
    for seed in range(5):
        forecast = with_intervals(log_linear)(population(seed))
        for one in made:
            interval = forecast(one)["throughput_per_s"]
            assert interval is not None
            ends = np.log(np.array(interval[1:], dtype=float) / rate(one)) / scatter
            covered.append(float(np.diff(stats.norm.cdf(ends))[0]))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.02)


def test_intervals_of_a_baseline_never_see_what_is_left_out() -> None:
    seen: list[set[str]] = []

    def spied(points: Sequence[Point]) -> Predictor:
        seen.append({one.configuration.size for one in points})
        return nearest(points)

    part = next(one for one in parts(studies()) if one.scheme == "sizes")
    with_intervals(spied)(part.train)
    assert len(seen) == len(SIZES)  # all that it is given, and each of these without one size
    assert all(part.left_out not in sizes for sizes in seen)


def test_an_interval_needs_two_sizes_that_could_be_left_out() -> None:
    one_size = [one for one in studies() if one.configuration.size == "3 nodes, 3 copies"]
    told = with_intervals(nearest)(one_size)(one_size[0].configuration)["throughput_per_s"]
    assert told == Interval(pytest.approx(one_size[0].measured["throughput_per_s"]), None, None)


@given(st.floats(-5, 5), st.floats(0, 5), st.floats(0, 5))
def test_a_value_outside_costs_more_than_an_interval_that_had_held_it(
    low: float, width: float, beyond: float
) -> None:
    high = low + width
    assert interval_score(low, high, low + width / 2) == pytest.approx(width)
    outside = interval_score(low, high, high + beyond)
    assert outside >= interval_score(low, high + beyond, high + beyond) - 1e-9
    assert interval_score(-high, -low, -(high + beyond)) == pytest.approx(outside)


def test_true_intervals_score_best_of_all_widths() -> None:
    draws = np.random.default_rng(1).normal(size=20_000)
    by_width = {
        half: np.mean([interval_score(-half, half, value) for value in draws])
        for half in (0.8, 1.2, 1.645, 2.1, 3.0)
    }
    assert min(by_width, key=lambda half: by_width[half]) == 1.645


def perfect(points: Sequence[Point]) -> Forecaster:
    del points
    return lambda one: {
        name: Interval(value, value, value) for name, value in point(one, rate).measured.items()
    }


def silent(points: Sequence[Point]) -> Forecaster:
    del points
    return lambda _: {}


def off_by_half(points: Sequence[Point]) -> Forecaster:
    def forecast(one: Configuration) -> Mapping[str, Interval | None]:
        made = point(one, rate).measured
        return {
            name: Interval(1.5 * value, value * 1.2, value * 1.8) for name, value in made.items()
        }

    del points
    return forecast


def test_scores_are_those_of_their_definitions() -> None:
    found = scores({"perfect": perfect, "silent": silent, "off": off_by_half}, studies())
    rows = {name: found.filter(pl.col("method") == name) for name in ("perfect", "silent", "off")}
    assert set(rows["perfect"]["measure"]) == set(MEASURES)
    assert rows["perfect"]["error"].max() == 0
    assert rows["perfect"]["winkler"].max() == 0
    assert (rows["perfect"]["covered"] == rows["perfect"]["configurations"]).all()
    assert rows["silent"]["configurations"].sum() == 0
    assert rows["silent"]["cant_tell"].to_list() == rows["perfect"]["configurations"].to_list()
    assert rows["silent"]["error"].null_count() == len(rows["silent"])
    assert rows["off"]["error"].to_list() == pytest.approx([0.5] * len(rows["off"]))
    assert rows["off"]["covered"].sum() == 0
    expected = math.log(1.8 / 1.2) + 20 * math.log(1.2)
    assert rows["off"]["winkler"].to_list() == pytest.approx([expected] * len(rows["off"]))


def test_methods_are_compared_where_all_of_those_that_tell_anything_do() -> None:
    def shy(points: Sequence[Point]) -> Forecaster:
        del points
        return lambda one: {} if one.nodes == 3 else perfect([])(one)

    def worse_on_three(points: Sequence[Point]) -> Forecaster:
        del points
        return lambda one: (off_by_half if one.nodes == 3 else perfect)([])(one)

    methods = {"off": off_by_half, "worse on three": worse_on_three, "silent": silent}
    found = compared(scores(methods, studies()))
    assert list(found) == ["worse on three", "off"]
    assert found == pytest.approx({"worse on three": 0.2, "off": 0.5})
    found = compared(scores({**methods, "shy": shy}, studies()))
    assert found == pytest.approx({"shy": 0.0, "worse on three": 0.0, "off": 0.5})


def test_new_runs_are_predicted_from_stored_ones_of_their_group_and_never_seen() -> None:
    stored, new = studies(("a", "b")), studies(("new",))
    seen: list[Sequence[Point]] = []

    def watching(points: Sequence[Point]) -> Forecaster:
        seen.append(points)
        return perfect(points)

    found = scores_of_new({"watching": watching}, stored, new)
    assert found["error"].max() == 0
    assert set(found["left_out"]) == {one.configuration.size for one in new}
    assert all(one.cluster[0] != "new" for points in seen for one in points)
    other = [
        one._replace(runs=tuple(replace(run, group=(("database", "x"),)) for run in one.runs))
        for one in new
    ]
    with pytest.raises(InputError, match="no stored runs are of the same database"):
        scores_of_new({"watching": watching}, stored, other)


def test_groups_are_scored_each_on_its_own() -> None:
    other = (("database", "cassandra"), ("no_idle_states", True))
    twice = [
        *studies(),
        *(
            one._replace(runs=tuple(replace(run, group=other) for run in one.runs))
            for one in studies()
        ),
    ]
    found = scores({"log-linear": with_intervals(log_linear)}, twice)
    assert found["group"].unique(maintain_order=True).to_list() == [
        "cassandra",
        "cassandra, no_idle_states",
    ]


@pytest.mark.parametrize(
    ("database", "runs", "clusters"),
    [("redis", 840, 9), ("hbase", 1524, 17), ("cassandra", 4340, 51), ("mongodb", 6615, 58)],
)
def test_stored_runs_are_all_there_and_some_of_their_clusters_evaluate(
    database: str, runs: int, clusters: int
) -> None:
    found, left_out = gathered([RUNS / f"{database}-2026-11.parquet"])
    assert (len(found), left_out) == (runs, {})
    assert len({one.cluster for one in found}) == clusters
    assert len({one.study_name for one in found}) == 1
    fitting, evaluation = assigned(points_of(found))
    assert 0.15 < len(evaluation) / (len(fitting) + len(evaluation)) < 0.45
