"""What faults cost, on operations that were made up from a truth."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.analysis.unavailability import (
    due_ns,
    recovery_of_run,
    silences,
    steady_again_s,
    threshold_s,
    unavailability_of_run,
)

MEASURED_S = 20.0
RATE = 200.0
LATENCY_S = 0.002

times = st.lists(st.floats(0, 30), min_size=0, max_size=60)


def made_up(begin_s: float, end_s: float, how: str, kind: str = "update") -> pl.DataFrame:
    """A constant schedule; what is due in an outage fails at once, times out or waits."""
    due = np.arange(int(-1 * RATE), int(MEASURED_S * RATE)) / RATE
    out = (due >= begin_s) & (due < end_s)
    end = due + LATENCY_S
    outcome = np.full(due.size, "ok", dtype=object)
    error = np.full(due.size, None, dtype=object)
    if how == "fails":
        outcome[out], error[out] = "fail", "not_primary"
    elif how == "times out":
        outcome[out], error[out] = "unknown", "timeout"
        end[out] += 10.0
    else:
        end[out] = end_s + LATENCY_S
    return pl.DataFrame(
        {
            "operation": kind,
            "due_s": due,
            "end_s": end,
            "outcome": list(outcome),
            "error": list(error),
        },
        schema_overrides={"error": pl.String},
    )


outages = st.tuples(
    st.floats(2.0, 12.0), st.floats(0.3, 6.0), st.sampled_from(["fails", "times out", "waits"])
)


@given(outages)
def test_an_outage_is_as_long_as_it_was(outage: tuple[float, float, str]) -> None:
    begin_s, long_s, how = outage
    operations = made_up(begin_s, begin_s + long_s, how)
    [row] = unavailability_of_run(operations, first_fault_s=begin_s, measured_s=MEASURED_S)
    assert row["longest_s"] == pytest.approx(long_s, abs=2 / RATE + LATENCY_S)
    assert row["total_s"] == row["longest_s"]
    assert row["due"] == MEASURED_S * RATE
    assert row["ok"] + row["fail"] + row["unknown"] == row["due"]
    errors = json.loads(row["errors"])
    hit = int(((operations["due_s"] >= begin_s) & (operations["due_s"] < begin_s + long_s)).sum())
    assert sum(errors.values()) == (0 if how == "waits" else hit)
    assert set(errors) <= {"not_primary", "timeout"}


@given(outages)
def test_an_outage_is_noticed_and_gets_over(outage: tuple[float, float, str]) -> None:
    begin_s, long_s, how = outage
    operations = made_up(begin_s, begin_s + long_s, how)
    fault = {"begin_s": begin_s, "end_s": begin_s + long_s}
    [row] = recovery_of_run(operations, [fault], measured_s=MEASURED_S)
    if how == "fails":
        assert row["detected_by"] == "not_primary"
        assert row["detected_s"] == pytest.approx(0, abs=1 / RATE + LATENCY_S)
    else:
        assert row["detected_by"] == "silence"
        assert row["detected_s"] == pytest.approx(0.1, abs=2 / RATE + LATENCY_S)
    assert row["success_after_begin_s"] == pytest.approx(long_s, abs=1 / RATE + 2 * LATENCY_S)
    assert row["success_after_end_s"] == pytest.approx(0, abs=1 / RATE + 2 * LATENCY_S)
    # Within an interval (0.1 s) of the end; what had waited is caught up with in the next.
    assert row["steady_after_begin_s"] == pytest.approx(long_s, abs=0.21)
    assert row["steady_after_end_s"] == pytest.approx(0.05, abs=0.06)


@given(st.floats(2.0, 12.0), st.floats(0.3, 6.0))
def test_a_kind_that_is_served_throughout_is_never_unavailable(
    begin_s: float, long_s: float
) -> None:
    operations = pl.concat(
        [made_up(begin_s, begin_s + long_s, "fails"), made_up(99, 100, "fails", kind="read")]
    )
    read, update = unavailability_of_run(operations, first_fault_s=begin_s, measured_s=MEASURED_S)
    assert (read["operation"], read["longest_s"], read["total_s"]) == ("read", 0.0, 0.0)
    assert update["longest_s"] > 0
    fault = {"begin_s": begin_s, "end_s": None}
    read, update = recovery_of_run(operations, [fault], measured_s=MEASURED_S)
    assert (read["detected_s"], read["steady_after_begin_s"]) == (None, 0.0)
    assert read["success_after_begin_s"] <= 1 / RATE + 2 * LATENCY_S
    assert (update["success_after_end_s"], update["steady_after_end_s"]) == (None, None)


def test_what_never_succeeds_again_is_unavailable_to_the_end() -> None:
    operations = made_up(5, 99, "fails")
    [row] = unavailability_of_run(operations, first_fault_s=5.0, measured_s=MEASURED_S)
    assert row["longest_s"] == pytest.approx(15, abs=0.01)
    [row] = recovery_of_run(operations, [{"begin_s": 5.0, "end_s": 8.0}], measured_s=MEASURED_S)
    assert row["success_after_begin_s"] is None
    assert row["success_after_end_s"] is None
    assert row["steady_after_begin_s"] is None


def test_two_outages_add_up_and_the_longer_is_the_longest() -> None:
    first, second = made_up(5, 6, "fails"), made_up(10, 13, "fails")
    operations = pl.concat([first.filter(pl.col("due_s") < 8), second.filter(pl.col("due_s") >= 8)])
    [row] = unavailability_of_run(operations, first_fault_s=5.0, measured_s=MEASURED_S)
    assert row["longest_s"] == pytest.approx(3, abs=0.02)
    assert row["total_s"] == pytest.approx(4, abs=0.03)


@given(times, times, st.integers(0, 2**32))
def test_silences_are_apart_hold_no_success_and_lie_within(
    dues: list[float], lengths: list[float], seed: int
) -> None:
    n = min(len(dues), len(lengths))
    due = np.array(dues[:n])
    end = due + np.array(lengths[:n])
    ok = np.random.default_rng(seed).random(n) < 0.5
    found = silences(due, end, ok, 20.0)
    assert (found[:, 0] < found[:, 1]).all()
    assert (found[1:, 0] >= found[:-1, 1]).all()
    assert ((found >= 0) & (found <= 20.0)).all()
    for begin, stop in found:
        assert not (ok & (end > begin) & (end < stop)).any()
        # It begins with somebody who has not been served.
        assert ((due <= begin) & (end >= begin)).any()


@given(
    st.integers(1, 400),
    st.floats(10, 5000),
    st.integers(0, 10**12),
    st.floats(0, 0.5),
    st.integers(0, 2**32),
)
def test_due_times_are_found_again_however_late_operations_started(
    n: int, rate: float, origin: int, stalled_share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    due = np.round(origin + np.arange(n) / rate * 1e9).astype(np.int64)
    # The first is on time; later ones wait behind a stall, in their order.
    stall = int(n * stalled_share)
    start = due + rng.integers(0, 1000, n)
    start[0] = due[0]
    if stall:
        start[1 : 1 + stall] = np.maximum(start[1 : 1 + stall], start[1 : 1 + stall].max())
    start = np.maximum.accumulate(start)
    shuffled = rng.permutation(n)
    frame = pl.DataFrame({"start_ns": start[shuffled], "user": np.zeros(n, dtype=np.int64)})
    found = due_ns(frame, arrivals="constant", rate_per_s=rate, shared=True, users=1)
    # Those that started together may have changed places: what matters is which times were due.
    assert np.abs(np.sort(found) - due).max() <= 2
    assert (found <= frame["start_ns"].to_numpy()).all()


def test_each_users_own_schedule_is_found_again() -> None:
    rate, users = 100.0, 4
    due = np.concatenate([np.arange(50) * 4e7 + user * 1e7 for user in range(users)])
    user = np.repeat(np.arange(users), 50)
    start = due.copy()
    start[60:70] += 3e7
    start[60:70] = np.maximum(start[60:70], start[60])
    frame = pl.DataFrame({"start_ns": start.astype(np.int64), "user": user})
    found = due_ns(frame, arrivals="target", rate_per_s=rate, shared=True, users=users)
    assert np.abs(found - due).max() <= 1


@pytest.mark.parametrize("arrivals", ["closed", "poisson"])
def test_where_no_due_time_is_known_the_start_stands_for_it(arrivals: str) -> None:
    frame = pl.DataFrame({"start_ns": [5, 3, 9], "user": [0, 1, 0]})
    rate = None if arrivals == "closed" else 10.0
    found = due_ns(frame, arrivals=arrivals, rate_per_s=rate, shared=True, users=2)
    assert list(found) == [5, 3, 9]


def test_catching_up_is_not_steady() -> None:
    steady = np.arange(0, 20, 0.01)
    # Nothing from 5 to 8, then twice the rate until 11.
    kept = steady[(steady < 5) | (steady >= 8)]
    caught_up = np.sort(np.concatenate((kept, np.arange(8, 11, 0.01) + 0.005)))
    found = steady_again_s(caught_up, first_fault_s=5.0, from_s=5.0, until_s=20.0)
    assert found == pytest.approx(6.0, abs=0.41)


def test_what_is_served_on_until_somebody_notices_is_not_steady_again() -> None:
    operations = made_up(9, 12, "fails")
    fault = {"begin_s": 5.0, "end_s": 7.0}
    [row] = recovery_of_run(operations, [fault], measured_s=MEASURED_S)
    assert row["detected_s"] == pytest.approx(4, abs=0.02)
    assert row["steady_after_begin_s"] == pytest.approx(7, abs=0.21)
    assert row["steady_after_end_s"] == pytest.approx(5, abs=0.21)


def test_too_little_before_a_fault_is_no_band() -> None:
    steady = np.arange(0, 20, 0.01)
    assert steady_again_s(steady, first_fault_s=0.5, from_s=0.5, until_s=20.0) is None


def test_a_silence_as_long_as_others_before_the_fault_is_none() -> None:
    before = np.array([[0.0, 0.2], [1.0, 1.4]])
    assert threshold_s(before, 1000) == pytest.approx(0.8)
    assert threshold_s(before[:0], 1000) == 0.1
    assert threshold_s(before[:0], 20) == 0.5
