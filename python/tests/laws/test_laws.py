"""Laws of scalability: coefficients come back at their rate; what can't be known is said."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.errors import InputError
from pacelc.laws import law as laws
from pacelc.laws.law import capacity, fit_law

SIZES = np.repeat([1, 2, 4, 8, 16, 32], 3)


def runs(sigma: float, kappa: float, seed: int, noise: float = 0.03) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return capacity(SIZES, 1000, sigma, kappa) * np.exp(noise * rng.standard_normal(SIZES.size))


@given(st.floats(1e-3, 1e7), st.floats(0, 0.5), st.floats(1e-4, 0.02), st.permutations(range(18)))
@settings(max_examples=40)
def test_exact_runs_give_their_law_back(
    one: float, sigma: float, kappa: float, order: list[int]
) -> None:
    sizes = SIZES[order].astype(float)
    law = fit_law(sizes.tolist(), capacity(sizes, one, sigma, kappa).tolist(), "nodes")
    assert law.coefficients == pytest.approx((one, sigma, kappa), rel=1e-3, abs=1e-4)
    assert law.peak_size is not None
    assert law.peak_size.value == pytest.approx(np.sqrt((1 - sigma) / kappa), rel=1e-2)


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
@settings(max_examples=15)
def test_the_unit_of_throughput_changes_nothing_else(seed: int, factor: float) -> None:
    made = runs(0.05, 0.001, seed)
    plain = fit_law(SIZES.tolist(), made.tolist(), "nodes")
    scaled = fit_law(SIZES.tolist(), (made * factor).tolist(), "nodes")
    assert scaled.chosen == plain.chosen
    assert scaled.coefficients[1:] == pytest.approx(plain.coefficients[1:], rel=1e-3, abs=1e-6)
    assert scaled.coefficients[0] == pytest.approx(plain.coefficients[0] * factor, rel=1e-4)


@pytest.mark.slow
def test_intervals_hold_the_truth_at_their_rate() -> None:
    fits = [
        fit_law(SIZES.tolist(), runs(0.05, 0.001, seed).tolist(), "nodes") for seed in range(200)
    ]
    for name, truth in (("throughput_of_one", 1000), ("sigma", 0.05), ("kappa", 0.001)):
        intervals = [getattr(fit, name) for fit in fits]
        held = np.mean([not interval.excludes(truth) for interval in intervals])
        # 95 % of 200, within three standard errors.
        assert 0.90 <= held <= 1.0, (name, held)
        assert all(interval.has_interval for interval in intervals)


@pytest.mark.parametrize(
    ("sigma", "kappa", "law"), [(0, 0, "linear"), (0.1, 0, "amdahl"), (0.05, 0.002, "usl")]
)
def test_the_law_that_made_the_runs_is_chosen(sigma: float, kappa: float, law: str) -> None:
    chosen = [
        fit_law(SIZES.tolist(), runs(sigma, kappa, seed).tolist(), "nodes").chosen
        for seed in range(60)
    ]
    # A test at 5 % refuses the truth no more often than that: 52 of 60 is three errors below.
    assert chosen.count(law) >= 52  # type: ignore[arg-type]


def caution(sizes: list[float], made: list[float]) -> str:
    return "; ".join(fit_law(sizes, made, "nodes").cautions)


def test_two_sizes_cannot_tell_contention_from_coherency() -> None:
    sizes, made = [1, 1, 2, 2], [100.0, 102.0, 180.0, 181.0]
    law = fit_law(sizes, made, "nodes")
    assert (law.kappa, law.peak_size, law.chosen) == (None, None, "amdahl")
    assert "2 sizes can't tell contention from coherency" in caution(sizes, made)


def test_as_many_runs_as_coefficients_leave_nothing_to_judge_by() -> None:
    law = fit_law([1, 2, 4], [100, 190, 300], "nodes")
    assert law.kappa is None
    assert "3 runs can't tell" in "; ".join(law.cautions)


def test_an_interval_that_reaches_zero_is_no_peak() -> None:
    made = runs(0.1, 0, 3).tolist()
    law = fit_law(SIZES.tolist(), made, "nodes")
    assert law.kappa is not None
    assert law.kappa.low == 0
    assert law.peak_size is None
    assert "kappa's interval reaches 0" in caution(SIZES.tolist(), made)


def test_a_peak_beyond_the_largest_size_is_an_extrapolation() -> None:
    made = runs(0.02, 0.0005, 1, noise=0.005).tolist()
    assert "lies beyond the measured 1 to 32" in caution(SIZES.tolist(), made)


def test_runs_that_follow_no_such_law_are_known_by_their_repetitions() -> None:
    steps = np.where(SIZES < 8, SIZES, 40 + SIZES) * 1000.0
    rng = np.random.default_rng(1)
    made = (steps * np.exp(0.01 * rng.standard_normal(SIZES.size))).tolist()
    assert "none of these laws describes them" in caution(SIZES.tolist(), made)


def test_contention_is_no_more_than_all_of_the_work() -> None:
    falling = fit_law([1, 1, 8, 8, 30, 30], [2000, 1900, 1400, 1450, 700, 720], "users")
    assert falling.sigma is not None
    assert falling.sigma.high == 1
    assert falling.coefficients[1] <= 1
    assert falling.coefficients[2] > 0


def test_faster_than_linear_is_said() -> None:
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0]
    assert "faster than nodes" in caution(sizes, [100 * n**1.3 for n in sizes])


@pytest.mark.parametrize(
    ("sizes", "made", "said"),
    [
        ([2, 2, 2], [1, 2, 3], "all runs have the same nodes"),
        ([1, 2, 0], [1, 2, 3], "above 0"),
        ([1, 2, 3], [1, float("nan"), 3], "above 0"),
        ([1, 2, 3], [1, -2, 3], "above 0"),
    ],
)
def test_what_no_law_can_be_fitted_to_is_refused(
    sizes: list[float], made: list[float], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        fit_law(sizes, made, "nodes")


def test_examples_in_the_documentation() -> None:
    result = doctest.testmod(laws)
    assert result.failed == 0
    assert result.attempted > 0


@given(
    st.lists(
        st.tuples(st.sampled_from([1.0, 2.0, 3.0, 8.0, 30.0, 0.5]), st.floats(1e-3, 1e6)),
        min_size=2,
        max_size=12,
    ).filter(lambda rows: len({size for size, _ in rows}) > 1)
)
@settings(max_examples=60)
def test_any_runs_have_a_law_whose_intervals_hold_its_values(
    rows: list[tuple[float, float]],
) -> None:
    sizes, made = zip(*rows, strict=True)
    law = fit_law(sizes, made, "nodes")
    for estimate in (law.throughput_of_one, law.sigma, law.kappa, law.peak_size):
        if estimate is not None:
            low = -np.inf if estimate.low is None else estimate.low
            high = np.inf if estimate.high is None else estimate.high
            slack = 1e-3 * abs(estimate.value) + 1e-9
            assert low - slack <= estimate.value <= high + slack


def test_parts_of_a_core_are_sizes_too() -> None:
    cores = [0.25, 0.25, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0]
    whole = fit_law(
        [c * 4 for c in cores], capacity([c * 4 for c in cores], 10, 0.1, 0.01), "cores"
    )
    parts = fit_law(cores, capacity([c * 4 for c in cores], 10, 0.1, 0.01), "cores")
    assert parts.coefficients == pytest.approx(whole.coefficients)
    assert parts.at([1.0, 2.0]) == pytest.approx(whole.at([4.0, 8.0]))
    assert "one is 0.25 cores" in "; ".join(parts.cautions)
