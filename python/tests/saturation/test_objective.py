"""One run's verdict: who did not keep what, or that it can't be told."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_search_laws import seen_of

from pacelc.saturation import Objective, Verdict, judge

P99 = Objective({"p99": 0.02}, 0.001)


@given(st.integers(10_000, 10**7), st.floats(0, 1))
def test_a_percentile_holds_if_no_more_than_its_share_is_late(due: int, share: float) -> None:
    late = int(share * due)
    verdict = judge(P99, seen_of(due, late))
    assert verdict == (Verdict("held") if late <= 0.01 * due else Verdict("failed", "p99"))


@given(st.integers(1, 9_999))
def test_fewer_operations_than_a_percentile_needs_hold_nothing(due: int) -> None:
    assert judge(P99, seen_of(due, 0)) == Verdict("unclear", "p99")


def test_a_hundred_late_ones_of_few_are_enough_to_fail() -> None:
    assert judge(P99, seen_of(2_000, 100)) == Verdict("failed", "p99")
    assert judge(P99, seen_of(2_000, 99)) == Verdict("unclear", "p99")


def test_what_got_no_answer_and_what_never_began_is_late() -> None:
    lenient = Objective({"p99": 0.02}, 0.5)
    assert judge(lenient, seen_of(10_000, 0, unknown=101)) == Verdict("failed", "p99")
    assert judge(lenient, seen_of(10_000, 0, not_started=101)) == Verdict("failed", "p99")
    # An error that was answered in time has no response time to be judged.
    assert judge(lenient, seen_of(11_000, 0, fail=1000)).held


@pytest.mark.parametrize("column", ["fail", "unknown", "not_started"])
def test_errors_are_all_that_was_due_and_not_done(column: str) -> None:
    assert judge(P99, seen_of(100_000, 0, **{column: 100})).held
    assert judge(P99, seen_of(100_000, 0, **{column: 101})) == Verdict("failed", "errors")


@pytest.mark.parametrize("fault", [{"busy_fraction": 0.91}, {"lag_p99_s": 0.0021}])
def test_a_late_client_takes_the_blame_but_not_the_credit(fault: dict[str, float]) -> None:
    assert judge(P99, seen_of(10_000, 200, **fault)) == Verdict("client", "p99")
    assert judge(P99, seen_of(10_000, 100, **fault)).held
    # Nothing that a client does makes a database refuse.
    refused = seen_of(10_000, 200, fail=20, **fault)
    assert judge(P99, refused) == Verdict("failed", "errors")


def test_users_are_the_limit_where_the_server_answered_in_time_what_it_was_asked() -> None:
    starved = seen_of(10_000, 5_000, waited=9_000, late_service={"p99": 0})
    assert judge(P99, starved) == Verdict("users", "p99")
    slow = seen_of(10_000, 5_000, waited=9_000, late_service={"p99": 4_000})
    assert judge(P99, slow) == Verdict("failed", "p99")


def test_every_limit_must_be_kept() -> None:
    both = Objective({"mean": 0.002, "p99": 0.02}, 0.001)
    assert judge(both, seen_of(10_000, 0)).held
    assert judge(both, seen_of(10_000, 0, mean_s=0.003)) == Verdict("failed", "mean")
    assert judge(both, seen_of(10_000, 101)) == Verdict("failed", "p99")


@given(st.floats(1, 1e6), st.floats(1e-4, 10))
def test_so_many_users_cannot_all_be_busy_and_the_objective_hold(rate: float, limit_s: float):
    """Little's law: users = rate x time in service, so all busy means no faster than the limit."""
    users = Objective({"p99": limit_s}, 0.001).users(rate, 1, 10**9)
    assert users / rate >= limit_s * (1 - 1e-9)


@given(st.integers(1, 10**6), st.sampled_from(["p50", "p99", "p999", "mean"]))
def test_measuring_is_lengthened_until_there_are_enough_operations(rate: int, name: str) -> None:
    objective = Objective({name: 0.02}, 0.001)
    measure_s = objective.measure_s(rate, 10.0, 60.0)
    assert 10 <= measure_s <= 60
    if rate >= objective.lowest_rate(60.0):
        assert rate * measure_s >= objective.operations_needed
    assert objective.measure_s(rate, 10.0, math.inf) * rate >= objective.operations_needed
