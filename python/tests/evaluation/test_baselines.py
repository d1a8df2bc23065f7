"""Baselines are exact on what they assume, and say what they can't tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_points import configurations, point

from pacelc.evaluation.baselines import (
    BASELINES,
    MEASURES,
    gaussian_process,
    log_linear,
    nearest,
    usl,
)
from pacelc.laws.law import capacity

if TYPE_CHECKING:
    from pacelc.calibration.runs import Configuration

EXPONENTS = st.floats(-1, 1)


def far(one: Configuration) -> Configuration:
    """The same, twice as large."""
    return one._replace(nodes=2 * one.nodes, replication=2 * one.replication, users=2 * one.users)


@given(st.lists(EXPONENTS, min_size=6, max_size=6))
@settings(max_examples=20)
def test_power_laws_are_told_exactly_and_beyond_what_was_measured(at: list[float]) -> None:
    def law(one: Configuration) -> float:
        sizes = one.users ** at[0] * one.nodes ** at[1] * one.replication ** at[2]
        return 1e3 * sizes * math.exp(at[3] * one.read_share + at[4] * one.waited)

    predictor = log_linear([point(one, law) for one in configurations()])
    for one in configurations():
        for name, value in point(far(one), law).measured.items():
            assert predictor.predict(far(one))[name] == pytest.approx(value, rel=1e-6)


@given(
    users=st.tuples(st.floats(0, 0.9), st.floats(0, 0.01)),
    nodes=st.tuples(st.floats(0, 0.9), st.floats(0, 0.1)),
    factors=st.tuples(EXPONENTS, EXPONENTS, EXPONENTS),
)
@settings(max_examples=5, deadline=None)
def test_the_scalability_law_is_told_exactly_and_beyond_what_was_measured(
    users: tuple[float, float], nodes: tuple[float, float], factors: tuple[float, float, float]
) -> None:
    def law(one: Configuration) -> float:
        sizes = capacity(one.users, 1e3, *users) * capacity(one.nodes, 1.0, *nodes)
        copies, share, waited = np.array(factors) * (
            *(np.log(one.replication), one.read_share, one.waited),
        )
        return float(sizes * np.exp(copies + share + waited))

    predictor = usl([point(one, law) for one in configurations()])
    for one in configurations():
        for name, value in point(far(one), law).measured.items():
            assert predictor.predict(far(one))[name] == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("slower", [False, True])
def test_two_numbers_of_nodes_identify_one_coefficient_of_the_scalability_law(slower: bool) -> None:
    sigma, kappa = (1.0, 0.3) if slower else (0.4, 0.0)

    def law(one: Configuration) -> float:
        return float(capacity(one.nodes, 1e3, sigma, kappa)[()])

    some = [point(one, law) for one in configurations() if one.nodes < 3]
    three = next(one for one in configurations() if one.nodes == 3)
    told = usl(some).predict(three)["throughput_per_s"]
    assert told == pytest.approx(law(three), rel=1e-4)


@given(st.lists(st.floats(1, 1e5), min_size=60, max_size=120))
@settings(max_examples=20)
def test_the_nearest_configuration_of_a_measured_one_is_itself(rates: list[float]) -> None:
    known = dict(zip(configurations(), rates, strict=False))
    points = [point(one, known.__getitem__) for one in known]
    predictor = nearest(points)
    for one in points:
        assert predictor.predict(one.configuration) == pytest.approx(one.measured)


def test_the_nearest_configuration_is_scaled_by_cores_unless_nodes_share_them() -> None:
    (one,) = [one for one in configurations(shared=False) if one[:6] == (1, 1, 1, 1, 16, 0.5)]
    known = point(one, lambda _: 1000.0)
    apart = nearest([known]).predict(one._replace(nodes=3, users=48))
    assert apart["throughput_per_s"] == pytest.approx(3000.0)
    assert apart["read.latency_s"] == pytest.approx(known.measured["read.latency_s"])
    beside = nearest([known._replace(configuration=one._replace(shared=True))])
    told = beside.predict(one._replace(nodes=3, users=48, shared=True))
    assert told["throughput_per_s"] == pytest.approx(1000.0)
    assert told["read.latency_s"] == pytest.approx(3 * known.measured["read.latency_s"])


def test_a_gaussian_process_follows_what_is_no_power_law() -> None:
    def law(one: Configuration) -> float:
        return 1e3 * one.users / (1 + 0.2 * one.users) * (1.0 if one.waited == 1 else 0.7)

    every = {one._replace(users=users) for one in configurations() for users in (1, 2, 4, 16, 32)}
    made = [point(one, law) for one in sorted(every)]
    rates = [{"throughput_per_s": one.measured["throughput_per_s"]} for one in made]
    points = [one._replace(measured=rate) for one, rate in zip(made, rates, strict=True)]
    middle = sorted({one._replace(users=8) for one in every})

    def error(name: str) -> float:
        predictor = BASELINES[name](points)
        told = [(predictor.predict(one)["throughput_per_s"], law(one)) for one in middle]
        return float(np.mean([abs((value or 0.0) / known - 1) for value, known in told]))

    assert error("Gaussian process") < 0.05 < error("log-linear")
    one = middle[0]
    assert gaussian_process(points).predict(one) == gaussian_process(points).predict(one)


@pytest.mark.parametrize("name", ["log-linear", "USL", "Gaussian process"])
def test_one_number_of_nodes_tells_nothing_of_others(name: str) -> None:
    points = [point(one, lambda one: 1e3 * one.users) for one in configurations()]
    same = [one for one in points if one.configuration.nodes == 3]
    predictor = BASELINES[name](same)
    told = predictor.predict(same[0].configuration)
    assert told["throughput_per_s"] == pytest.approx(same[0].measured["throughput_per_s"], rel=0.05)
    for one in points:
        if one.configuration.nodes != 3:
            assert set(predictor.predict(one.configuration).values()) == {None}


@pytest.mark.parametrize("name", BASELINES)
def test_there_is_no_latency_of_operations_that_there_are_none_of(name: str) -> None:
    predictor = BASELINES[name]([point(one, lambda _: 1e3) for one in configurations()])
    (reads,) = {
        frozenset(predictor.predict(one)) for one in configurations() if one.read_share == 1
    }
    assert reads == {one for one in MEASURES if not one.startswith("write")}
    (both,) = {
        frozenset(predictor.predict(one)) for one in configurations() if one.read_share == 0.5
    }
    assert both == set(MEASURES)
