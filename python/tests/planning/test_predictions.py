"""Predictions: how certain an answer is, and what to measure where it can't be told."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.calibration.document import Calibration, Checked, Demand, PredictionError
from pacelc.cli.plan_text import plan_text
from pacelc.errors import InputError
from pacelc.planning import Candidate, Load, Machine, Plan, candidates, plan
from pacelc.planning.diagnostics import Elasticity, measure_first, predict, too_far
from pacelc.planning.document import document
from pacelc.planning.search import CERTAINTY
from pacelc.study.copies import LEVELS, Level

NONE = PredictionError(sizes=5, throughput=0.0, mean=0.0, p99=0.0)
SMALL = PredictionError(sizes=5, between_clusters=0.03, throughput=0.05, mean=0.05, p99=0.05)
FOUR_MINUTES = PredictionError(
    sizes=3, throughput=math.log(2.3), mean=math.log(2), p99=math.log(3.88)
)
"""Of which its own table said: throughput 130 % off, p99 288 %."""
LOAD = Load(rate_per_s=4_000, read_share=0.5, limit_s=0.02)
SOME = candidates(range(3, 40), [3], [Machine(cores=2)])


def calibration(
    error: PredictionError | None, by: float = 0.0, checked: Checked | None = None
) -> Calibration:
    """A calibration with such errors, whose demands' intervals reach so far to either side."""
    times_s = {"read_cpu": 1e-3, "write_cpu": 3e-4, "client_round_trip": 3e-4}
    demands = {
        name: Demand(value=s, low=s * (1 - by), high=s * (1 + by)) for name, s in times_s.items()
    }
    zero = dict.fromkeys(("read_uncached", "write_uncached"), Demand(value=0.0))
    return Calibration(
        name="made up",
        database="cassandra",
        demands=demands | zero,
        error=error,
        checked=checked or Checked(),
    )


def certainty(error: PredictionError, nodes: int = 12, load: Load = LOAD, by: float = 0.0) -> float:
    cluster = Candidate(nodes, 3, Machine(cores=2))
    found = predict(load, cluster, calibration(error, by), {})
    assert found is not None
    return found.certainty


@given(
    part=st.sampled_from(["between_clusters", "throughput", "p99"]),
    less=st.floats(0, 1),
    more=st.floats(0.05, 1),
)
@settings(max_examples=6, deadline=None)
def test_certainty_falls_when_any_error_grows(part: str, less: float, more: float) -> None:
    """Of a cluster that holds in the middle of its predictions."""
    small = SMALL.model_copy(update={part: less})
    large = SMALL.model_copy(update={part: less + more})
    assert certainty(large) <= certainty(small) + 0.03


def test_certainty_falls_when_intervals_of_demands_grow_and_rises_with_sizes_left_out() -> None:
    load = LOAD.model_copy(update={"limit_s": 0.0125})
    shares = [certainty(SMALL, load=load, by=by) for by in (0.0, 0.3, 0.9)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < shares[0]
    few, many = (SMALL.model_copy(update={"sizes": sizes}) for sizes in (2, 30))
    assert certainty(few, load=load) < certainty(many, load=load)


@given(
    throughput=st.floats(0.01, 0.5),
    p99=st.floats(0.01, 0.5),
    sizes=st.integers(2, 10),
    by=st.floats(0, 0.3),
)
@settings(max_examples=6, deadline=None)
def test_a_limit_at_the_middle_prediction_is_held_by_half_of_them(
    throughput: float, p99: float, sizes: int, by: float
) -> None:
    error = PredictionError(sizes=sizes, throughput=throughput, mean=0.1, p99=p99)
    reads = LOAD.model_copy(update={"read_share": 1.0, "rate_per_s": 1_000})
    cluster = Candidate(12, 3, Machine(cores=2))
    found = predict(reads, cluster, calibration(error, by), {})
    assert found is not None
    low, middle, high = found.percentile_s["read"]
    assert low <= middle <= high
    at_middle = reads.model_copy(update={"limit_s": middle})
    assert certainty(error, load=at_middle, by=by) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("limit_s", "holds"), [(0.005, 0.0), (0.1, 1.0)])
def test_without_errors_a_cluster_holds_or_does_not(limit_s: float, holds: float) -> None:
    load = LOAD.model_copy(update={"limit_s": limit_s})
    found = predict(load, Candidate(12, 3, Machine(cores=2)), calibration(NONE), {})
    assert found is not None
    assert found.certainty == holds
    for interval in found.percentile_s.values():
        assert interval.low == interval.middle == interval.high


def test_what_a_simulation_found_over_its_solution_is_in_every_prediction() -> None:
    cluster = Candidate(12, 3, Machine(cores=2))
    one, twice = (
        predict(LOAD, cluster, calibration(SMALL), {"read": scale, "write": 1.0})
        for scale in (1.0, 2.0)
    )
    assert one is not None
    assert twice is not None
    assert twice.percentile_s["read"] == pytest.approx(2 * np.array(one.percentile_s["read"]))
    assert twice.percentile_s["write"] == one.percentile_s["write"]


def test_a_slower_cluster_keeps_up_no_more() -> None:
    """At 80 % busy, a quarter slower ones can't: the interval has no upper end."""
    found = predict(LOAD, Candidate(4, 3, Machine(cores=2)), calibration(FOUR_MINUTES), {})
    assert found is not None
    assert math.isinf(found.percentile_s["read"].high)
    assert found.percentile_s["read"].low < 0.005


@pytest.mark.parametrize("write", LEVELS)
def test_a_log_that_is_not_waited_for_is_in_no_prediction(write: str) -> None:
    load = LOAD.model_copy(update={"write": write})
    plain = calibration(NONE)
    log = {"write_wait": Demand(value=2e-3, low=1e-3, high=3e-3)}
    waits = plain.model_copy(update={"demands": plain.demands | log, "on_disk": ("all",)})
    cluster = Candidate(12, 3, Machine(cores=2))
    without, with_log = (predict(load, cluster, one, {}) for one in (plain, waits))
    assert without is not None
    assert with_log is not None
    same = with_log.percentile_s["write"] == without.percentile_s["write"]
    assert same is (write != "all")


@cache
def planned(error: PredictionError | None, at_least: float | None = None) -> Plan:
    return plan(LOAD, SOME, calibration(error, 0.1), at_least=at_least)


def nodes_of(found: Plan) -> int:
    assert found.answer is not None, plan_text(found, "")
    return found.answer.row.cluster.nodes


def test_the_answer_is_the_smallest_that_is_certain_enough() -> None:
    """And more certainty never takes a smaller one."""
    sizes = [nodes_of(planned(SMALL, share)) for share in (0.0, None, 0.99)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    found = planned(SMALL)
    assert found.at_least == CERTAINTY
    shares = {one.nodes: share.certainty for one, share in found.predictions.items()}
    assert shares[nodes_of(found)] >= CERTAINTY
    assert all(share < CERTAINTY for n, share in shares.items() if n < nodes_of(found))


def test_larger_errors_take_larger_clusters_and_none_takes_the_smallest() -> None:
    assert nodes_of(planned(NONE, 0.0)) <= nodes_of(planned(SMALL))
    assert nodes_of(planned(None)) == nodes_of(planned(SMALL, 0.0))


def test_a_calibration_of_four_minutes_can_not_tell() -> None:
    """At four times the rate that it was checked for."""
    checked = Checked(nodes=(1, 3), rate_per_s=(100, 1_000), users=(1, 64))
    poor = calibration(FOUR_MINUTES, 0.1, checked)
    found = plan(LOAD, SOME, poor)
    assert (found.verdict, found.answer) == ("can't tell", None)
    assert found.doubt is not None
    assert found.doubt.prediction is not None
    assert found.doubt.prediction.certainty < 0.8
    low, _, high = found.doubt.prediction.percentile_s["read"]
    assert high > 5 * low
    text = plan_text(found, "")
    assert "throughput 130% off" in text
    assert "p99 288% off" in text
    assert "measure this first: pacelc run calibration" in text
    asked_anyway = plan(LOAD, SOME, poor, at_least=0.0)
    assert asked_anyway.verdict == "holds"
    assert "holds with" in plan_text(asked_anyway, "")


def test_far_beyond_what_was_checked_it_can_not_be_told_however_small_errors_are() -> None:
    near = Checked(nodes=(1, 20), rate_per_s=(100, 1_000), users=(1, 64))
    far = near.model_copy(update={"rate_per_s": (100.0, 900.0)})
    assert plan(LOAD, SOME, calibration(SMALL, 0.1, near)).verdict == "holds"
    found = plan(LOAD, SOME, calibration(SMALL, 0.1, far))
    assert found.verdict == "can't tell"
    assert found.doubt is not None
    assert found.doubt.too_far == ("rate 4,000 (at most 900)",)
    assert found.doubt.measure == "pacelc run calibration on machines that do 1,000 operations/s"
    written = document(found)
    assert written["answer"] is None
    assert written["doubt"]["too_far"] == ["rate 4,000 (at most 900)"]


def test_sizes_are_too_far_from_four_times_the_largest_checked_on() -> None:
    checked = Checked(nodes=(1, 3), users=(1, 10))
    one = calibration(SMALL, checked=checked)

    def beyond(nodes: int, users: float) -> dict[str, str]:
        return too_far(LOAD, Candidate(nodes, 3, Machine(cores=2)), one, users)

    assert beyond(12, 40) == {}
    assert beyond(13, 41) == {
        "nodes 13 (at most 3)": "--set nodes=4",
        "users 41 (at most 10)": "--set users=11",
    }


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("between_clusters", "--out results/again"),
        ("throughput", "--set nodes=1,2,3,4,5"),
        ("p99", "--set measure=60s"),
        ("demands", "--set repetitions=6"),
    ],
)
def test_what_to_measure_first_is_what_the_largest_error_is_from(part: str, what: str) -> None:
    error = NONE.model_copy(update={} if part == "demands" else {part: 0.5})
    matter = [Elasticity("read_cpu", 1.2, -1.0)]
    assert what in measure_first(calibration(error, 0.3), matter)


def test_a_certainty_needs_errors() -> None:
    with pytest.raises(InputError, match="needs prediction errors"):
        plan(LOAD, SOME, calibration(None, 0.1), at_least=0.9)
    assert predict(LOAD, SOME[9], calibration(None, 0.1), {}) is None


def test_the_table_and_the_document_have_the_intervals() -> None:
    found = planned(SMALL)
    assert found.answer is not None
    prediction = found.answer.prediction
    assert prediction is not None
    written = document(found)["answer"]["prediction"]
    assert written["certainty"] == prediction.certainty
    assert written["percentile_s"]["read"] == prediction.percentile_s["read"]._asdict()
    frame = found.frame()
    row = frame.filter(frame["nodes"] == nodes_of(found)).row(0, named=True)
    ends = [row[f"predicted_read_p99_s_{end}"] for end in ("low", "middle", "high")]
    assert tuple(ends) == prediction.percentile_s["read"]
    assert row["certainty"] == prediction.certainty


@pytest.mark.parametrize("write", LEVELS)
def test_a_log_counts_at_the_levels_that_wait_for_it_and_no_others(write: Level) -> None:
    """Whether or not its demands have intervals, which are drawn."""
    load = LOAD.model_copy(update={"write": write})
    without = calibration(NONE)
    log = {
        "log_cpu": Demand(value=5e-3, low=4.9e-3, high=5.1e-3),
        "write_wait": Demand(value=5e-3, low=4.9e-3, high=5.1e-3),
    }
    update = {"demands": {**without.demands, **log}, "on_disk": ("quorum",)}
    found, bare = (
        predict(load, Candidate(24, 3, Machine(cores=2)), one, {})
        for one in (without.model_copy(update=update), without)
    )
    assert found is not None
    assert bare is not None
    slower = found.percentile_s["write"].middle > 1.5 * bare.percentile_s["write"].middle
    assert slower == (write == "quorum")
    assert slower or found == bare
