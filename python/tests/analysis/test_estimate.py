"""Intervals cover what they say, and say when there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pacelc.analysis import (
    Cells,
    Estimate,
    change_estimate,
    marginal_mean,
    mean_estimate,
    ratio_estimate,
)

positive = st.floats(1e-3, 1e6)


def cells(values: list[list[float]]) -> Cells:
    return Cells(
        tuple(float(i) for i in range(len(values))),
        tuple(np.array(v, dtype=np.float64) for v in values),
    )


@given(st.lists(positive, min_size=2, max_size=30))
def test_the_t_interval_is_scipys(values: list[float]) -> None:
    estimate = mean_estimate(values)
    sem = float(stats.sem(values))
    assert estimate.n == len(values)
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.low is not None
    if sem > 0:
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), sem)
        assert (estimate.low, estimate.high) == (pytest.approx(low), pytest.approx(high))


@given(st.lists(positive, min_size=1, max_size=12), st.randoms())
def test_the_order_of_runs_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_estimate(values).value == pytest.approx(mean_estimate(shuffled).value)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(positive, min_size=1, max_size=5), min_size=1, max_size=4), st.randoms())
def test_neither_the_order_of_runs_nor_that_of_loads_moves_a_ratio(
    values: list[list[float]], random: object
) -> None:
    before, after = cells(values), cells([[2 * x for x in v] for v in values])
    shuffled = [random.sample(v, len(v)) for v in values]  # type: ignore[attr-defined]
    other = cells(shuffled)
    turned = Cells(other.loads[::-1], other.values[::-1])
    a, b = ratio_estimate(before, after), ratio_estimate(turned, after)
    assert a is not None
    assert b is not None
    assert a.value == pytest.approx(2.0)
    assert b.value == pytest.approx(2.0)
    if a.low is not None and b.low is not None:
        assert a.low == pytest.approx(b.low, rel=1e-9)


@given(st.floats(0.1, 10.0), st.lists(positive, min_size=1, max_size=6))
def test_a_ratio_turned_round_is_its_inverse(factor: float, values: list[float]) -> None:
    before, after = cells([[v] for v in values]), cells([[factor * v] for v in values])
    there, back = ratio_estimate(before, after), ratio_estimate(after, before)
    assert there is not None
    assert back is not None
    assert there.value * back.value == pytest.approx(1.0)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_intervals_cover_the_truth_about_as_often_as_they_say(runs: int) -> None:
    rng = np.random.default_rng(11)
    trials, hits = 150, {"ratio": 0, "change": 0}
    loads = tuple(float(x) for x in (1, 2, 4, 8, 10))
    for _ in range(trials):
        weak = Cells(loads, tuple(900 * x**0.5 * rng.lognormal(0, 0.08, runs) for x in loads))
        strong = Cells(loads, tuple(720 * x**0.5 * rng.lognormal(0, 0.08, runs) for x in loads))
        for name, estimate, truth in (
            ("ratio", ratio_estimate(weak, strong), 0.8),
            ("change", change_estimate(weak, strong), -20.0),
        ):
            assert estimate is not None
            assert estimate.low is not None
            assert estimate.high is not None
            hits[name] += estimate.low <= truth <= estimate.high
    # 95 % of 150 is 142.5; four standard errors are 11.
    assert min(hits.values()) >= 131


def test_a_bootstrap_is_the_same_for_the_same_seed() -> None:
    rng = np.random.default_rng(3)
    before, after = (cells(rng.lognormal(0, 0.1, (5, 4)).tolist()) for _ in range(2))
    assert ratio_estimate(before, after, seed=1) == ratio_estimate(before, after, seed=1)
    assert ratio_estimate(before, after, seed=1) != ratio_estimate(before, after, seed=2)


def test_one_run_a_scenario_gives_an_interval_across_loads_only() -> None:
    before, after = cells([[100.0], [200.0], [300.0]]), cells([[50.0], [110.0], [140.0]])
    estimate = change_estimate(before, after)
    assert estimate is not None
    assert "across loads" in estimate.method
    two = change_estimate(cells([[100.0], [200.0]]), cells([[50.0], [110.0]]))
    assert two is not None
    assert not two.has_interval


def test_what_has_no_ratio_has_no_estimate() -> None:
    assert ratio_estimate(cells([[1.0]]), cells([[0.0]])) is None
    assert change_estimate(cells([[0.0]]), cells([[1.0]])) is None
    assert ratio_estimate(Cells((1.0,), (np.ones(1),)), Cells((2.0,), (np.ones(1),))) is None


def test_the_mean_over_loads_counts_every_load_the_same() -> None:
    estimate = marginal_mean(cells([[1.0, 1.0, 1.0, 1.0], [3.0]]))
    assert estimate.value == 2.0
    assert estimate.n == 5


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1234.5, 1178.5, 1290.5, 5), "1,234 ± 56 (n=5)"),
        (Estimate(1234, 1180, 1290, 7), "1,234 [1,180; 1,290] (n=7)"),
        (Estimate(0.8, None, None, 1), "0.800 (n=1, no interval)"),
        (Estimate(-0.0001, -0.5, 0.4, 9, unit=" %"), "0.00 [-0.50; 0.40] % (n=9)"),
        (Estimate(3.0, 3.0, 3.0, 4), "3.00 ± 0 (n=4)"),
    ],
)
def test_an_estimate_prints_with_its_interval_and_n(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_a_value_that_is_no_number_is_refused() -> None:
    for values in ([], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="an estimate needs"):
            mean_estimate(values)
