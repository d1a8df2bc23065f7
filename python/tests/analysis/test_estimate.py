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
    geometric_mean_estimate,
    marginal_mean,
    mean_estimate,
    positive_ends,
    ratio_estimate,
    share_estimate,
)

positive = st.floats(1e-3, 1e6)


def cells(values: list[list[float]]) -> Cells:
    return Cells(
        tuple(float(i) for i in range(len(values))),
        tuple(np.array(v, dtype=np.float64) for v in values),
    )


@given(st.lists(positive, min_size=2, max_size=30))
def test_the_interval_of_a_mean_is_students_on_its_logarithm(values: list[float]) -> None:
    estimate = mean_estimate(values)
    sem = float(stats.sem(values))
    assert estimate.n == len(values)
    assert estimate.value == pytest.approx(np.mean(values))
    assert estimate.low is not None
    if sem > 0:
        half = float(stats.t.ppf(0.975, len(values) - 1)) * sem / float(np.mean(values))
        assert estimate.low is not None
        assert estimate.high is not None
        assert math.log(estimate.high / estimate.value) == pytest.approx(half)
        assert math.log(estimate.value / estimate.low) == pytest.approx(half)


several = st.lists(st.floats(0.0, 1e6), min_size=2, max_size=12)


@given(several)
def test_the_interval_of_a_positive_quantity_is_positive_and_holds_its_value(
    values: list[float],
) -> None:
    for estimate in (mean_estimate(values), marginal_mean(cells([values, values[::-1]]))):
        assert estimate.has_interval == (estimate.value > 0)
        if estimate.low is not None and estimate.high is not None:
            assert 0 < estimate.low <= estimate.value <= estimate.high


@given(st.lists(positive, min_size=2, max_size=12), st.floats(1e-3, 1e3))
def test_another_unit_scales_the_interval(values: list[float], factor: float) -> None:
    one, other = mean_estimate(values), mean_estimate([factor * x for x in values])
    assert one.low is not None
    assert one.high is not None
    assert other.value == pytest.approx(factor * one.value)
    assert other.low == pytest.approx(factor * one.low, rel=1e-6)
    assert other.high == pytest.approx(factor * one.high, rel=1e-6)


@given(st.lists(st.floats(0.0, 100.0), min_size=2, max_size=12))
def test_an_interval_does_not_exceed_what_the_quantity_can_be(values: list[float]) -> None:
    estimate = mean_estimate(values, most=100.0)
    mirrored = mean_estimate([100.0 - x for x in values], most=100.0)
    if 1e-6 < estimate.value < 100 - 1e-6:
        assert estimate.low is not None
        assert estimate.high is not None
        assert mirrored.high is not None
        assert 0 <= estimate.low <= estimate.value * (1 + 1e-12)
        assert estimate.value * (1 - 1e-12) <= estimate.high <= 100
        assert estimate.low == pytest.approx(100 - mirrored.high, abs=1e-6)


def test_on_the_logarithm_runs_cover_their_mean_better_than_about_it() -> None:
    rng = np.random.default_rng(7)
    trials = 4_000
    for deviation, n, least in (
        (0.1, 3, 0.94),
        (0.1, 10, 0.94),
        (0.5, 3, 0.93),
        (0.5, 5, 0.92),
        (0.5, 10, 0.92),
        (1.0, 3, 0.90),
        (1.0, 5, 0.87),
        (1.0, 10, 0.87),
    ):
        runs = rng.lognormal(0, deviation, (trials, n))
        truth = math.exp(deviation**2 / 2)
        half = stats.t.ppf(0.975, n - 1) * stats.sem(runs, axis=1)
        plain = float((np.abs(runs.mean(axis=1) - truth) <= half).mean())
        pairs = zip(runs.mean(axis=1).tolist(), half.tolist(), strict=True)
        ends = np.array([positive_ends(mean, width) for mean, width in pairs], dtype=np.float64)
        covered = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
        assert covered >= least
        # Of a spread of 10 % they agree; from half of the mean on the plain one is worse.
        assert covered >= plain - 0.005 if deviation < 0.5 else covered > plain


def test_a_quantity_that_was_0_in_every_run_has_no_interval() -> None:
    estimate = mean_estimate([0.0, 0.0, 0.0])
    assert not estimate.has_interval
    assert "0 in every run" in estimate.method
    assert mean_estimate([0.0, 0.0, 3.0]).has_interval


def test_no_loss_is_of_more_than_all() -> None:
    before, after = cells([[90.0, 100.0, 110.0]]), cells([[1.0, 10.0, 40.0]])
    change = change_estimate(before, after)
    assert change is not None
    assert change.low is not None
    assert -100 < change.low < change.value


# --- Shares ---

runs_of = st.lists(
    st.tuples(st.integers(0, 1_000), st.integers(1, 1_000)).map(lambda x: (min(x), max(x))),
    min_size=2,
    max_size=8,
)


def share(runs: list[tuple[int, int]]) -> Estimate:
    return share_estimate(
        cells([[events / trials for events, trials in runs]]),
        cells([[float(trials) for _, trials in runs]]),
    )


@given(runs_of)
def test_the_interval_of_a_share_is_of_shares_and_holds_it(runs: list[tuple[int, int]]) -> None:
    estimate = share(runs)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high


@given(runs_of)
def test_successes_and_failures_have_mirrored_intervals(runs: list[tuple[int, int]]) -> None:
    one, other = share(runs), share([(trials - events, trials) for events, trials in runs])
    assert one.low is not None
    assert other.high is not None
    assert one.low == pytest.approx(1 - other.high, abs=1e-6)


@pytest.mark.parametrize("runs", [2, 3, 10])
def test_none_in_any_run_bounds_the_share_by_runs(runs: int) -> None:
    estimate = share([(0, 100_000)] * runs)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(1 - 0.05 ** (1 / runs))
    assert "each run one trial" in estimate.method


def test_one_run_gives_a_share_without_an_interval() -> None:
    assert not share([(3, 100)]).has_interval
    assert not share([(0, 100)]).has_interval


def test_a_share_outside_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        share([(3, 2), (1, 2)])


@pytest.mark.parametrize(
    ("mean", "within_run"), [(0.3, 0.0), (0.3, 0.1), (0.01, 0.0), (0.01, 0.01), (0.001, 0.001)]
)
def test_intervals_of_shares_cover_them_though_operations_of_a_run_are_alike(
    mean: float, within_run: float
) -> None:
    rng = np.random.default_rng(5)
    trials, n, hits = 400, 1_000, 0
    for _ in range(trials):
        parts = np.full(3, mean)
        if within_run:
            less = 1 / within_run - 1
            parts = rng.beta(mean * less, (1 - mean) * less, 3)
        estimate = share([(int(events), n) for events in rng.binomial(n, parts)])
        assert estimate.low is not None
        assert estimate.high is not None
        hits += estimate.low <= mean <= estimate.high
    # 95 % of 400 is 380; four standard errors are 17.
    assert hits >= 363


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
        (Estimate(2.1, 0.53, 8.35, 3), "2.1 [0.53; 8.3] (n=3)"),
        (Estimate(5.2, 0.0012, 81.0, 3), "5.2 [0.0012; 81] (n=3)"),
        (Estimate(0.0, 0.0, 63.2, 3, unit=" %"), "0 [0; 63] % (n=3)"),
    ],
)
def test_an_estimate_prints_with_its_interval_and_n(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text


def test_a_value_that_is_no_number_is_refused() -> None:
    for values in ([], [1.0, math.nan], [math.inf]):
        with pytest.raises(ValueError, match="an estimate needs"):
            mean_estimate(values)
    with pytest.raises(ValueError, match="positive values"):
        geometric_mean_estimate([1.0, 0.0])


def test_a_ratio_of_two_estimates_covers_the_true_one_and_has_no_interval_without_theirs() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1_000):
        one, other = (
            geometric_mean_estimate(mean * np.exp(0.2 * rng.standard_normal(5)))
            for mean in (0.5, 0.8)
        )
        covered += not one.over(other).excludes(0.5 / 0.8)
    assert 0.94 < covered / 1_000 < 0.99  # adding squares of t's half-widths is a little cautious
    one = Estimate(0.5, 0.4, 0.6, 5)
    for other in (Estimate(0.8, None, None, 1), Estimate(0.8, 0.0, 1.0, 5)):
        ratio = one.over(other)
        assert ratio.value == pytest.approx(0.625)
        assert not ratio.has_interval
