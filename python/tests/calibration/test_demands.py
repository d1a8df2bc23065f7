"""Demands by the utilisation law: what runs were made of comes back, and what they can't tell."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import CLIENT, DEMANDS, study, truth

from pacelc.calibration.demands import TERMS, NotIdentified, _mixed, fit_demands
from pacelc.errors import InputError

seconds = st.floats(1e-6, 1e-3)


@settings(max_examples=25, deadline=None)
@given(
    contention=st.sampled_from([0.0, 0.1, 0.7]),
    values=st.fixed_dictionaries(dict.fromkeys(DEMANDS, seconds)),
)
def test_runs_without_scatter_give_back_what_they_were_made_of(
    contention: float, values: dict[str, float]
) -> None:
    found = fit_demands(study(truth(contention, values)))
    assert found.contention == pytest.approx(contention, abs=0.01)
    for name, value in values.items():
        assert found.values[name] == pytest.approx(value, rel=0.05, abs=0.02 * max(values.values()))
    assert dict(found.client) == pytest.approx(CLIENT, rel=1e-3)


def test_demands_are_never_negative_and_their_errors_say_how_runs_scatter() -> None:
    rng = np.random.default_rng(1)
    runs = [
        replace(one, server_cores=one.server_cores * float(np.exp(rng.normal(0, 0.1))))
        for one in study(truth())
    ]
    found = fit_demands(runs)
    assert min(found.values.values()) >= 0
    assert found.within == pytest.approx(0.1, rel=0.2)
    errors = np.sqrt(np.diag(found.covariance))
    away = [abs(found.values[name] - DEMANDS[name]) / errors[i] for i, name in enumerate(TERMS)]
    assert max(away) < 4


def test_clusters_that_are_faster_as_a_whole_are_told_from_runs_that_scatter() -> None:
    rng = np.random.default_rng(2)
    runs = []
    for number in range(8):
        one_by_size = {size: float(np.exp(rng.normal(0, 0.3))) for size in range(1, 10)}
        for one in study(truth(), f"study-{number}"):
            cores = (
                one.server_cores
                * one_by_size[one.configuration.nodes * 2 + one.configuration.replication]
            )
            runs.append(replace(one, server_cores=cores * float(np.exp(rng.normal(0, 0.05)))))
    found = fit_demands(runs)
    assert found.within == pytest.approx(0.05, rel=0.3)
    assert 0.2 < found.between < 0.42


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), between=st.sampled_from([0.0, 0.1, 0.5]))
def test_variances_are_those_of_statsmodels_mixed_model(seed: int, between: float) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(6), 20)
    slopes = rng.uniform(0.5, 1.5, (120, 3))
    errors = rng.normal(0, 0.2, 120) + rng.normal(0, between, 6)[clusters]
    covariance, within, found = _mixed(slopes, errors, clusters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of 0 is an answer
        theirs = MixedLM(errors, slopes, groups=clusters).fit(reml=True, method=["powell"])
    assert within == pytest.approx(theirs.scale**0.5, rel=1e-2)
    assert found == pytest.approx(float(theirs.cov_re[0, 0]) ** 0.5, abs=5e-3)
    if found > 0.05:  # at the bound theirs is of a singular curvature
        # Theirs has a share for the variances' own errors.
        ours, other = np.diag(covariance), np.diag(np.asarray(theirs.cov_params())[:3, :3])
        assert np.allclose(ours, other, rtol=0.15)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Though clusters differ, and are of unequal sizes."""
    rng = np.random.default_rng(7)
    some = study(truth(), "a")[::2] + study(truth(), "b") + study(truth(), "c")
    held = np.zeros(len(TERMS))
    repeated = 30
    for _ in range(repeated):
        effects: dict[object, float] = {}
        runs = [
            replace(
                one, server_cores=one.server_cores * float(np.exp(effect + rng.normal(0, 0.05)))
            )
            for one in some
            for effect in (effects.setdefault(one.cluster, float(rng.normal(0, 0.15))),)
        ]
        found = fit_demands(runs)
        errors = np.sqrt(np.diag(found.covariance))[:-1]
        away = np.array([found.values[name] - DEMANDS[name] for name in TERMS])
        held += np.abs(away) <= 1.96 * errors
    assert (held / repeated).mean() > 0.85


def test_what_no_run_did_cant_be_told() -> None:
    one_copy = [one for one in study(truth()) if one.configuration.replication == 1]
    found = fit_demands(one_copy)
    three = next(one for one in study(truth()) if one.configuration.waited == 3)
    assert "a copy" in str(found.unknown(three.configuration))
    assert found.unknown(one_copy[0].configuration) is None


def test_one_number_of_servers_says_nothing_of_what_servers_cost_each_other() -> None:
    runs = [one for one in study(truth()) if one.configuration.nodes == 1]
    other = next(one for one in study(truth()) if one.configuration.nodes == 2)
    own = other.configuration._replace(coordinator="replica")
    assert "servers" in str(fit_demands(runs).unknown(own))


def test_too_few_runs_are_refused_with_what_would_help() -> None:
    with pytest.raises(NotIdentified) as error:
        fit_demands(study(truth())[:3])
    assert isinstance(error.value, InputError)
    assert "pacelc run calibration" in (error.value.hint or "")
