"""What a search promises, held against servers whose capacity is known."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.saturation import (
    AutoLadder,
    Bracket,
    Ladder,
    Objective,
    Search,
    Seen,
    Trial,
    judge,
    tallies,
    threshold_interval,
)
from pacelc.saturation.search import MOST_RUNS, whole_rate

CAPACITIES = st.floats(2.0, 2e6)
PRECISIONS = st.floats(0.01, 0.5)


def searched(rules, holds) -> list[Trial]:
    trials: list[Trial] = []
    while (rate := rules.next_rate(trials)) is not None:
        trials.append(Trial(rate, holds(rate)))
        assert len(trials) <= 500
    return trials


@settings(deadline=None, max_examples=400)
@given(
    threshold=CAPACITIES,
    precision=PRECISIONS,
    repeats=st.sampled_from([1, 3, 5]),
    first=st.integers(1, 100_000),
)
def test_without_noise_the_bracket_is_as_close_as_asked_and_holds_the_truth(
    threshold: float, precision: float, repeats: int, first: int
) -> None:
    search = Search(first, 1, 10_000_000, precision, repeats)
    trials = searched(search, lambda rate: rate <= threshold)
    bracket = Bracket.of(tallies(trials))
    low, high = bracket.low, bracket.high
    assert low is not None
    assert high is not None
    assert low <= threshold < high
    # Rates are whole numbers: at 12 a second nothing is closer than 13.
    assert high <= low * (1 + precision) or whole_rate(math.sqrt(low * high)) in (low, high)
    assert tallies(trials)[low].runs == tallies(trials)[high].runs == repeats


@settings(deadline=None, max_examples=400)
@given(threshold=CAPACITIES, precision=PRECISIONS, first=st.integers(1, 100_000))
def test_without_noise_the_number_of_runs_is_logarithmic(
    threshold: float, precision: float, first: int
) -> None:
    trials = searched(Search(first, 1, 10_000_000, precision, 3), lambda rate: rate <= threshold)
    growing = math.ceil(abs(math.log(threshold / first, 4))) + 2
    halving = math.ceil(math.log2(math.log(4) / math.log1p(precision))) + 1
    assert len(trials) <= growing + halving + 4


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 2**32), chance=st.floats(0.05, 0.95))
def test_even_pure_chance_ends(seed: int, chance: float) -> None:
    draw = random.Random(seed)
    trials = searched(Search(1000, 100, 100_000, 0.05, 3), lambda _rate: draw.random() < chance)
    assert len(trials) <= MOST_RUNS


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 2**32), cut=st.integers(0, 30))
def test_a_search_is_a_function_of_its_trials(seed: int, cut: int) -> None:
    """So that one which was killed goes on as if it had not been."""
    noise = noisy(seed, 5000.0, 0.05)
    search = Search(1000, 100, 100_000, 0.05, 3)
    trials = searched(search, noise)
    part = trials[: min(cut, len(trials))]
    expected = trials[len(part)].rate_per_s if len(part) < len(trials) else None
    assert search.next_rate(part) == expected


def noisy(seed: int, threshold: float, spread: float):
    """A server whose limit differs from run to run: log-normal about its median."""
    draw = random.Random(seed)
    return lambda rate: rate <= threshold * math.exp(draw.gauss(0, spread))


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.15])
def test_the_interval_covers_the_threshold_in_95_of_100_noisy_searches(spread: float) -> None:
    draw = random.Random(1)
    covered, counts = 0, []
    n = 200
    for seed in range(n):
        threshold = math.exp(draw.uniform(math.log(500), math.log(50_000)))
        trials = searched(Search(1000, 10, 1_000_000, 0.05, 3), noisy(seed, threshold, spread))
        low, high = threshold_interval(trials)
        counts.append(len(trials))
        covered += (low or 0) <= threshold <= (high or math.inf)
    # 95 %, less what 200 searches may be off by chance (three standard errors: 4.6 %).
    assert covered / n >= 0.904
    assert np.median(counts) <= 20
    assert max(counts) <= MOST_RUNS


def test_a_world_without_noise_has_a_narrow_interval() -> None:
    trials = searched(Search(1000, 10, 1_000_000, 0.05, 3), lambda rate: rate <= 7000)
    low, high = threshold_interval(trials)
    assert low is not None
    assert high is not None
    assert 0.9 * 7000 < low < 7000 < high < 1.1 * 7000


def mm1(seed: int, capacity: float, limit_s: float, measure_s: float):
    """An M/M/1 server: response times are exponential with rate capacity - rate."""
    draw = np.random.default_rng(seed)
    objective = Objective({"p99": limit_s}, 0.001)

    def holds(rate: int) -> bool:
        due = int(draw.poisson(rate * objective.measure_s(rate, measure_s, 600.0)))
        slower = 1.0 if rate >= capacity else math.exp(-(capacity - rate) * limit_s)
        # Response times that follow one another are alike: as if there were fewer of them.
        late = int(draw.binomial(max(1, due // 10), slower)) * 10
        seen = seen_of(due, late)
        return judge(objective, seen).held

    return holds


def seen_of(due: int, late: int, **changes) -> Seen:
    values = {
        "due": due,
        "ok": due,
        "fail": 0,
        "unknown": 0,
        "not_started": 0,
        "waited": 0,
        "late": {"p99": late},
        "late_service": {"p99": late},
        "mean_s": 0.001,
        "mean_service_s": 0.001,
        "busy_fraction": 0.3,
        "lag_p99_s": 0.00005,
    }
    return Seen(**(values | changes))


def test_a_queue_of_known_capacity_is_found_in_hundreds_of_searches() -> None:
    limit_s, within, n = 0.02, 0, 200
    draw = random.Random(2)
    for seed in range(n):
        capacity = math.exp(draw.uniform(math.log(1000), math.log(50_000)))
        # p99 of M/M/1 is ln 100 / (capacity - rate).
        truth = capacity - math.log(100) / limit_s
        trials = searched(Search(1000, 20, 1_000_000, 0.05, 3), mm1(seed, capacity, limit_s, 10))
        low, high = threshold_interval(trials)
        within += (low or 0) <= truth <= (high or math.inf)
    assert within / n >= 0.95


@settings(deadline=None)
@given(st.integers(20, 900_000))
def test_a_range_that_holds_throughout_is_confirmed_at_its_end(highest: int) -> None:
    trials = searched(Search(20, 20, highest, 0.05, 3), lambda _rate: True)
    assert Bracket.of(tallies(trials)) == Bracket(highest, None)
    assert tallies(trials)[highest].runs == 3


def test_a_range_that_never_holds_is_confirmed_at_its_beginning() -> None:
    trials = searched(Search(1000, 170, 100_000, 0.05, 3), lambda _rate: False)
    assert Bracket.of(tallies(trials)) == Bracket(None, 170)
    assert tallies(trials)[170].runs == 3


def test_one_lucky_run_does_not_move_the_answer() -> None:
    lucky = iter([True, True, True])  # 1,000, 4,000 and 16,000 hold at first sight

    def holds(rate: int) -> bool:
        return next(lucky, None) or rate <= 5000

    bracket = Bracket.of(tallies(searched(Search(1000, 20, 1_000_000, 0.05, 3), holds)))
    assert bracket.low is not None
    assert bracket.high is not None
    assert bracket.low <= 5000 < bracket.high <= 1.05 * bracket.low


def test_a_ladder_runs_every_rate_once_before_any_twice() -> None:
    trials = searched(Ladder((100, 200, 400), 2), lambda _rate: True)
    assert [trial.rate_per_s for trial in trials] == [100, 200, 400, 100, 200, 400]


@settings(deadline=None)
@given(threshold=st.floats(300, 500_000), repeats=st.integers(1, 3))
def test_an_automatic_ladder_reaches_past_what_can_be_kept(threshold: float, repeats: int) -> None:
    trials = searched(AutoLadder(1000, 20, 1_000_000, repeats), lambda rate: rate <= threshold)
    rates = tallies(trials)
    assert min(rates) <= threshold < max(rates)
    assert {runs.runs for runs in rates.values()} == {repeats}
    # Four steps to an octave where the curve bends.
    close = [rate for rate in rates if threshold / 2 <= rate <= threshold]
    assert len(close) >= 3
