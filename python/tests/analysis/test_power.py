"""How many repetitions a comparison takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import APPEND, write_made_up

from pacelc.analysis import Design, paired_test
from pacelc.analysis.power import pairs_for, power
from pacelc.cli.entry import call
from pacelc.store import load
from pacelc.study import Study
from pacelc.study.outlook import LEAST_PAIRS, outlook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@given(st.floats(0.01, 1.0), st.floats(0.001, 0.5), st.integers(1, 50), st.floats(1.01, 3.0))
def test_smaller_effects_and_wider_spreads_take_no_fewer_pairs(
    effect: float, spread: float, tests: int, factor: float
) -> None:
    most = 10**9
    needed = pairs_for(effect, spread, tests) or most
    assert (pairs_for(effect / factor, spread, tests) or most) >= needed
    assert (pairs_for(effect, spread * factor, tests) or most) >= needed
    assert needed >= LEAST_PAIRS


def test_the_pairs_it_names_show_the_effect_as_often_as_it_says() -> None:
    """Against the paired test itself, on pairs drawn with a known effect and spread."""
    rng, spread = np.random.default_rng(11), 0.1
    n = pairs_for(0.10, spread, 1, power=0.8)
    assert n is not None
    shown = 0
    for _ in range(400):
        logs = np.log(1.10) + spread * rng.standard_normal(n)
        pairs = np.column_stack([np.ones(n), np.exp(logs)])
        shown += paired_test(pairs).verdict == "differs"
    assert 0.73 < shown / 400 < 0.87


def test_a_pilot_says_how_many_repetitions_are_needed(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1, 4), repetitions=4, noise=0.05)
    throughput, _ = power(Design.of(load(path)), effect=0.05)
    assert (throughput.pairs, throughput.unit) == (8, "run")
    assert throughput.spread == pytest.approx(0.05 * np.sqrt(2), rel=0.6)
    assert throughput.repetitions is not None
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.low <= throughput.repetitions <= throughput.high
    # Two pairs a repetition.
    assert throughput.repetitions == -(-(pairs_for(0.05, throughput.spread, 2) or 0) // 2)
    assert throughput.detectable is not None
    assert 0.02 < throughput.detectable < 0.3


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        # Clusters that take turns give one pair a repetition.
        (["repetitions=4"], 5),
        (["repetitions=5"], None),
        (["repetitions=2", "compare=users"], 5),
    ],
)
def test_a_study_that_can_tell_nothing_says_so_before_it_runs(
    changes: list[str], needed: int | None
) -> None:
    study = Study.parse(APPEND, changes)
    said = outlook(study, study.schedule())
    if needed is None:
        assert said is None
    else:
        assert said is not None
        assert f"--set repetitions={needed}" in said


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("quickstart", []),
        ("vyas-2022", ["preset=small"]),
        # With faults, another question is asked.
        ("partition", []),
    ],
)
def test_studies_that_can_tell_what_they_ask(name: str, changes: list[str]) -> None:
    study = Study.load(name, changes)
    assert outlook(study, study.schedule()) is None


def test_one_cluster_a_level_never_tells_and_the_hint_is_to_take_turns() -> None:
    study = Study.parse(APPEND, ["repetitions=20", "order=random"])
    said = outlook(study, study.schedule())
    assert said is not None
    assert "--set order=blocks" in said
    fresh = Study.parse(APPEND, ["repetitions=20", "order=random", "fresh=cluster"])
    assert outlook(fresh, fresh.schedule()) is None


def test_the_command_reads_a_pilot(
    tmp_path: Path, make_study: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1, 4), repetitions=2)
    assert call(["power", str(path), "--effect", "5%", "--json"]) == 0
    [throughput, latency] = json.loads(capfd.readouterr().out)
    assert throughput["pairs"] == 4
    assert throughput["detectable"] is None
    assert latency["metric"] == "latency_ms_mean"
    assert call(["power", str(path)]) == 0
    out, err = capfd.readouterr()
    assert "nothing" in out
    assert "after Holm over 2 tests" in err
    assert call(["power", str(path), "--effect", "200"]) == 2
    assert "--effect 200: should be a share" in capfd.readouterr().err


def test_results_that_compare_nothing_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study = Study.parse("name: x\nfactors: {users: [1, 2]}\nsettings: {database: redis}")
    path = write_made_up(tmp_path / "r", study, lambda _: 100.0)
    assert call(["power", str(path)]) == 3
    assert "compares nothing" in capfd.readouterr().err


def test_the_same_runs_are_looked_at_by_another_factor(
    tmp_path: Path, make_study: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path = make_study(tmp_path / "r", databases=("redis", "mongodb"), users=(1, 4), repetitions=3)
    assert call(["power", str(path), "--compare", "database", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert {(one["reference"], one["level"]) for one in found} == {("redis", "mongodb")}
    assert call(["report", str(path), "--compare", "database", "--out", str(tmp_path / "by")]) == 0
    text = (tmp_path / "by/report.html").read_text(encoding="utf-8")
    assert "MongoDB instead of Redis" in text or "mongodb instead of redis" in text
    capfd.readouterr()
    assert call(["report", str(path), "--compare", "databse"]) == 3
    assert "did you mean database?" in capfd.readouterr().err
