"""Calibrations: read, refused, written, built in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.calibration.document import (
    BUILTIN,
    DEMANDS,
    Calibration,
    Checked,
    Demand,
    LeftOut,
    PredictionError,
    calibration_named,
    is_a_time,
)
from pacelc.errors import InputError
from pacelc.networks.quorum import Quorum

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
name: mine
database: cassandra
versions: {cassandra: 5.0.2}
machine: {cores: 2}
demands:
  read_cpu: {value: 1.1ms, low: 1ms, high: 1.2ms}
  write_uncached: 0.25
checked: {users: [1, 64], nodes: [1, 3], levels: [one, quorum]}
error: {sizes: 5, between_clusters: 0.03, throughput: 0.04, mean: 0.1, p99: 0.2}
left_out:
  - {what: "3 nodes, 1 copy", configurations: 12, throughput: 0.04, mean: 0.1, p99: 0.2}
"""


def test_a_calibration_is_read() -> None:
    found = Calibration.parse(GOOD)
    assert found.demands["read_cpu"] == Demand(value=1.1e-3, low=1e-3, high=1.2e-3)
    assert found.checked.levels == ("one", "quorum")
    assert found.left_out[0].p99 == 0.2
    assert found.error is not None
    assert found.error.quantile(0.95) == pytest.approx(2.132, abs=1e-3)
    settings = found.settings(nodes=5, cores=4)
    assert (settings.read_cpu_s, settings.write_uncached, settings.nodes) == (1.1e-3, 0.25, 5)
    assert settings.write_cpu_s == Quorum().write_cpu_s
    assert found.uncertain == ("read_cpu",)


MISTAKES = {
    "  raed_cpu: 1ms": "mine.yaml:7: demands.raed_cpu: the model has no such demand",
    "  write_cpu: fast": "should be a time such as 1.15ms, or a number of seconds, not 'fast'",
    "  write_cpu: {value: 1ms, low: 2ms, high: 3ms}": "low, value and high should ascend",
    "  write_cpu: {value: 1ms, low: 2ms}": "an interval needs both low and high",
    "  write_cpu: {value: 1ms, loww: 2ms}": "a demand has no such field",
    "  read_uncached: 1.5": "demands.read_uncached: should be less than or equal to 1, not 1.5",
    "  users: 3": "demands.users: the model has no such demand",
    "checkd: {}": "checkd: a calibration has no such field",
    "error: {sizes: 1, throughput: 0, mean: 0, p99: 0}": "error.sizes: should be greater than or",
    "correlation: [[1]]": "correlation: should be 0 rows of 0, as intervals are",
    "late: never": "late: should be 'serve', 'discard' or 'cancel', not 'never'",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_with_its_line(line: str) -> None:
    head = "\nname: mine\ndatabase: cassandra\ndemands:\n  read_cpu: 1ms\n  read_disk: 1ms\n"
    with pytest.raises(InputError) as caught:
        Calibration.parse(f"{head}{line}\n", "mine.yaml")
    assert MISTAKES[line] in caught.value.message
    assert caught.value.message.startswith("mine.yaml:")


def test_a_misspelt_name_is_guessed() -> None:
    with pytest.raises(InputError) as caught:
        Calibration.parse("name: m\ndatabase: c\ndemands: {raed_cpu: 1ms}\n")
    assert caught.value.hint == "did you mean read_cpu?"
    with pytest.raises(InputError, match="no calibration 'gandini'") as caught:
        calibration_named("gandini")
    assert caught.value.hint is not None


def test_ranges_ascend() -> None:
    with pytest.raises(ValueError, match=r"nodes: should be \[least, most\]"):
        Checked(nodes=(3, 1))


@st.composite
def calibrations(draw: st.DrawFn) -> Calibration:
    demands: dict[str, Demand] = {}
    for name in draw(st.lists(st.sampled_from(sorted(DEMANDS)), unique=True)):
        top = 1000 if is_a_time(name) else 1
        low, value, high = sorted(draw(st.tuples(*[st.floats(0, top)] * 3)))
        alone = draw(st.booleans())
        demands[name] = Demand(value=value) if alone else Demand(value=value, low=low, high=high)
    return Calibration(
        name=draw(st.sampled_from(["a", "b: c", "ü"])),
        database="cassandra",
        demands=demands,
        checked=Checked(users=(1, 30), levels=("one",)) if draw(st.booleans()) else Checked(),
        error=PredictionError(sizes=3, throughput=0.1, mean=0.2, p99=0.3),
        left_out=(LeftOut(what="x", configurations=1, throughput=0.1, p99=0.5),),
    )


@given(calibrations())
def test_what_is_written_is_read_again(calibration: Calibration) -> None:
    assert Calibration.parse(calibration.to_yaml()) == calibration


def test_demands_are_drawn_together_and_none_is_negative() -> None:
    text = """
name: mine
database: redis
demands:
  read_cpu: {value: 10us, low: 5us, high: 15us}
  write_cpu: {value: 1us, low: 0us, high: 4us}
correlation: [[1, -0.9], [-0.9, 1]]
"""
    drawn = Calibration.parse(text).draws(4000, seed=1)
    reads, writes = drawn["read_cpu_s"], drawn["write_cpu_s"]
    assert reads.mean() == pytest.approx(10e-6, rel=0.02)
    assert reads.std() == pytest.approx(5e-6 / 1.96, rel=0.05)
    assert min(reads.min(), writes.min()) == 0
    assert np.corrcoef(reads, writes)[0, 1] < -0.7


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    assert calibration_named(str(tmp_path / "mine.yaml")).name == "mine"
    with pytest.raises(InputError, match="there is no such file"):
        calibration_named(str(tmp_path / "other.yaml"))


@pytest.mark.parametrize("name", BUILTIN)
def test_what_is_built_in_says_whose_it_is(name: str) -> None:
    found = calibration_named(name)
    assert "Gandini et al. 2014" in found.name
    assert not found.uncertain
    assert found.error is None
    assert found.settings() == Quorum(coordinator="replica")
