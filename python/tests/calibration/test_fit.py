"""A calibrated model: what it gives back, its intervals, what it says of sizes left out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import DURABLE_S, HOP_S, SIZES, configurations, made, study, truth

from pacelc.calibration.calibrate import calibrate, held_out
from pacelc.calibration.document import Calibration
from pacelc.calibration.fit import fit
from pacelc.calibration.model import fit_model
from pacelc.calibration.runs import points_of
from pacelc.errors import InputError
from pacelc.networks.quorum import quorum
from pacelc.networks.simulate import simulate
from pacelc.planning import Load, Machine, candidates, plan

if TYPE_CHECKING:
    from pacelc.calibration.runs import Run


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return study(truth())


def scattered(runs: list[Run], seed: int, deviation: float = 0.05) -> list[Run]:
    rng = np.random.default_rng(seed)
    found: list[Run] = []
    for one in runs:
        factor = float(np.exp(rng.normal(0, deviation)))
        found.append(
            replace(
                one,
                reads_per_s=one.reads_per_s * factor,
                writes_per_s=one.writes_per_s * factor,
                latencies_s={kind: value / factor for kind, value in one.latencies_s.items()},
            )
        )
    return found


def test_delays_come_back_from_runs_where_nothing_queues(runs: list[Run]) -> None:
    model = fit_model(points_of(runs))
    assert model.delays_s == pytest.approx((HOP_S, DURABLE_S), rel=0.02)


def test_a_log_on_disk_that_no_run_waited_for_cant_be_told(runs: list[Run]) -> None:
    without = [one for one in runs if not one.configuration.on_disk]
    model = fit_model(points_of(without))
    assert math.isnan(model.delays_s[1])
    waits = next(one.configuration for one in runs if one.configuration.on_disk)
    assert "log on disk" in str(model.unknown(waits._replace(waited=1, read_share=0.0)))


def test_what_was_fitted_is_predicted(runs: list[Run]) -> None:
    model = fit_model(points_of(runs))
    for one in runs:
        found = model.solved(one.configuration)
        assert found["throughput_per_s"] == pytest.approx(one.throughput_per_s, rel=0.05)


@settings(max_examples=10, deadline=None)
@given(number=st.integers(0, 71))
def test_the_solution_is_what_the_network_does(number: int) -> None:
    one = list(configurations())[number]
    model = truth()
    found = simulate(quorum(model.settings(one)), replications=2, precision=0.03)
    rate = found.throughput_per_s
    assert rate is not None
    assert model.solved(one)["throughput_per_s"] == pytest.approx(rate.value, rel=0.12)


def test_a_size_left_out_is_predicted_and_intervals_hold_it(runs: list[Run]) -> None:
    points = points_of(scattered(runs, 3))
    covered: list[bool] = []
    for nodes, copies in SIZES[1:3]:
        own = [p for p in points if p.configuration[:2] == (nodes, copies)]
        others = [p for p in points if p.configuration[:2] != (nodes, copies)]
        predicted = fit(others).predict([one.configuration for one in own])
        for one, found in zip(own, predicted, strict=True):
            ends, measured = found["throughput_per_s"], one.measured["throughput_per_s"]
            covered.append(ends.low <= measured <= ends.high)
    assert np.mean(covered) > 0.8


def test_intervals_widen_with_what_sizes_left_out_are_off_by(runs: list[Run]) -> None:
    one = runs[50].configuration
    widths: list[float] = []
    for deviation in (0.02, 0.2):
        (found,) = fit(points_of(scattered(runs, 1, deviation))).predict([one])
        ends = found["throughput_per_s"]
        widths.append(math.log(ends.high / ends.low))
    assert widths[1] > 3 * widths[0]


def test_a_calibration_is_what_a_plan_reads(runs: list[Run]) -> None:
    (found,) = calibrate(scattered(runs, 5))
    calibration = found.calibration
    assert calibration is not None
    assert Calibration.parse(calibration.to_yaml()) == calibration
    assert calibration.error is not None
    assert calibration.error.sizes == len(SIZES)
    assert calibration.demands["client_round_trip"].value == pytest.approx(HOP_S, rel=0.2)
    assert calibration.settings(write="one").write_wait_s == 0
    assert calibration.settings(write="all").write_wait_s == pytest.approx(DURABLE_S, rel=0.2)
    drawn = calibration.draws(2000, seed=1)
    assert np.corrcoef(drawn["acknowledged_cpu_s"], drawn["log_cpu_s"])[0, 1] > 0.99
    assert min(float(each.min()) for each in drawn.values()) >= 0


def test_one_size_gives_no_error_and_says_so() -> None:
    alone = [
        made(one, number, truth())
        for number, one in enumerate(configurations(), start=1)
        if one.nodes == 1
    ]
    (found,) = calibrate(alone)
    assert found.calibration is not None
    assert found.calibration.error is None


def test_held_out_runs_are_predicted_and_not_fitted(runs: list[Run]) -> None:
    (found,) = calibrate(runs, ["users=64 and nodes=3"])
    held = held_out(runs, "users=64 and nodes=3")
    assert found.runs == len(runs) - len(held)
    assert set(found.held["configuration"]) == {
        one.configuration.text() for one in runs if one.name in held
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("users", "should be FACTOR=LEVEL"),
        ("colour=red", "should be FACTOR=LEVEL"),
        ("users=7", "no run has users 7"),
        ("users=1 and users=8", "no run has all of these"),
    ],
)
def test_mistakes_in_what_to_hold_out_are_named(runs: list[Run], text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        calibrate(runs, [text])


def test_what_no_run_measured_is_no_demand_of_a_plan(runs: list[Run]) -> None:
    one_copy = [one for one in runs if one.configuration.replication == 1]
    (found,) = calibrate(one_copy)
    calibration = found.calibration
    assert calibration is not None
    assert {"acknowledged_cpu", "log_cpu", "write_wait"} <= set(calibration.untold)
    assert not set(calibration.untold) & set(calibration.demands)
    load = Load(rate_per_s=100, read_share=0.5, limit_s=1.0)
    with pytest.raises(InputError, match="can't tell: the runs of calibration"):
        plan(load, candidates([3], [3], [Machine(cores=2)]), calibration)


def test_servers_that_are_always_as_many_say_nothing_of_one_alone(runs: list[Run]) -> None:
    (found,) = calibrate([one for one in runs if one.configuration.nodes == 3])
    assert found.fit is not None
    assert found.fit.model.demands.contention == 0
    assert found.fit.model.unknown(runs[0].configuration) is not None
    assert found.calibration is not None
    assert "read_cpu" in found.calibration.untold


def test_a_delay_of_nothing_is_written_and_no_default() -> None:
    model = truth()
    quick = replace(model, delays_s=(0.0, DURABLE_S))
    (found,) = calibrate([made(one, i, quick) for i, one in enumerate(configurations(), 1)])
    assert found.calibration is not None
    assert found.calibration.settings().client_round_trip_s < 2e-5


@pytest.mark.parametrize("only", [0.0, 1.0])
def test_runs_of_one_kind_are_fitted_and_tell_nothing_of_the_other(
    runs: list[Run], only: float
) -> None:
    own = [one for one in runs if one.configuration.read_share == only]
    other = next(one for one in runs if one.configuration.read_share == 1 - only)
    (found,) = calibrate(own)
    assert found.fit is not None
    assert found.fit.predict([other.configuration]) == [{}]


def test_runs_without_tails_or_client_time_are_fitted(runs: list[Run]) -> None:
    (found,) = calibrate([replace(one, p99_s={}, client_cores=0.0) for one in runs])
    assert found.calibration is not None
    assert found.calibration.error is None
