"""A network as data: read, written, and its mistakes named."""

from __future__ import annotations

import doctest
import importlib
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_networks import networks

from pacelc.networks import Chosen, Exponential, Network, NetworkError
from pacelc.networks.times import format_time, parse_time

if TYPE_CHECKING:
    from pathlib import Path

SMALL = """
classes: [{name: read, users: 3}]
stations:
  - {name: cpu, servers: 2, service: {read: 1ms}}
  - {name: disk, service: {read: {distribution: erlang, mean: 2ms, shape: 2}}}
routing: {cpu: {read: disk}, disk: {read: {cpu: 1}}}
"""

MISTAKES = {
    "stations: []": "network: classes: is missing",
    SMALL + "nmae: x": "network:7: nmae: a network has no such field | did you mean name?",
    SMALL + "random: x": (
        "network:7: random: a network has no such field"
        " | known: classes, forks, name, pools, routers, routing, stations"
    ),
    SMALL.replace("servers: 2", "random: 2"): (
        "network:4: stations.0.random: a station has no such field"
        " | known: cached, discipline, kind, name, rates, servers, service"
    ),
    SMALL.replace("read", "shap").replace("shape", "shap"): (
        "network:5: stations.1.service.shap.shap: the erlang distribution has no such field"
        " | did you mean shape?"
    ),
    SMALL.replace("users", "usres"): (
        "network:2: classes.0.usres: a class has no such field | did you mean users?"
    ),
    SMALL.replace("servers", "sevrers"): (
        "network:4: stations.0.sevrers: a station has no such field | did you mean servers?"
    ),
    SMALL.replace("shape", "shap"): (
        "network:5: stations.1.service.read.shap: the erlang distribution has no such field"
        " | did you mean shape?"
    ),
    SMALL.replace("shape: 2", "shape: 2, scv: 3"): (
        "network:5: stations.1.service.read.scv: the erlang distribution has no such field "
        "| known: distribution, mean, shape"
    ),
    SMALL.replace("erlang", "erlnag"): (
        "network:5: stations.1.service.read: there is no distribution 'erlnag' "
        "| did you mean erlang?"
    ),
    SMALL.replace("1ms", "fast"): (
        "network:4: stations.0.service.read.mean: should be a time such as 1.15ms, or a number of "
        "seconds, not 'fast'"
    ),
    SMALL.replace("1ms", "-1"): (
        "network:4: stations.0.service.read.mean: should be a time such as 1.15ms, or a number of "
        "seconds, not -1"
    ),
    SMALL.replace("cpu: 1}", "cpu: 1.5}"): (
        "network:6: routing.disk.read.cpu: should be less than or equal to 1, not 1.5"
    ),
    SMALL.replace("{cpu: 1}", "{choose: chance, to: [cpu]}"): (
        "network:6: routing.disk.read.choose: should be 'round_robin' or 'shortest_queue', "
        "not 'chance'"
    ),
    "- 1": "network:1: a network is a mapping (classes: …, stations: …)",
    "a: [": (
        "network:1: expected the node content, but found '<stream end>'"
        " | compare the indentation, brackets and quotes with the lines above"
    ),
}


@pytest.mark.parametrize(("text", "said"), MISTAKES.items())
def test_each_mistake_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(NetworkError) as raised:
        Network.parse(text)
    hint = f" | {raised.value.hint}" if raised.value.hint else ""
    assert raised.value.message + hint == said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="there is no such file"):
        Network.load(tmp_path / "none.yaml")


@pytest.mark.slow
@given(networks())
def test_what_is_written_is_read_again(network: Network) -> None:
    assert Network.parse(network.to_json()) == network
    assert Network.parse(network.to_yaml()) == network


@given(st.floats(0, 1e6, allow_nan=False, allow_subnormal=False))
def test_times_for_people_are_exact(seconds: float) -> None:
    assert parse_time(format_time(seconds)) == seconds


@given(st.integers(1, 10**6), st.sampled_from(["ns", "us", "ms", "s"]))
def test_a_time_is_the_nearest_number_to_what_is_written(count: int, unit: str) -> None:
    exponent = {"ns": -9, "us": -6, "ms": -3, "s": 0}[unit]
    assert parse_time(f"{count}{unit}") == float(f"{count}e{exponent}")


@pytest.mark.parametrize(
    "value", ["1 parsec", "", "-1ms", "1e999s", -1, math.nan, math.inf, True, None]
)
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="should be a time"):
        parse_time(value)


@given(networks(), st.integers(1, 1000))
def test_users_are_divided_as_before(network: Network, users: int) -> None:
    if network.users == 0:
        with pytest.raises(NetworkError, match="has no users"):
            network.with_users(users)
        return
    changed = network.with_users(users)
    assert changed.users == users
    for before, after in zip(network.classes, changed.classes, strict=True):
        exact = users * before.users / network.users
        assert abs(after.users - exact) < 1
    assert network.with_users(network.users) == network


def test_a_network_is_built_in_code_and_frozen() -> None:
    network = Network.parse(SMALL)
    assert network.station("cpu").service["read"] == Exponential(mean_s=0.001)
    with pytest.raises(KeyError):
        network.station("none")
    with pytest.raises(Exception, match="frozen"):
        network.name = "other"  # type: ignore[misc]
    rule = Chosen(choose="round_robin", to=("cpu", "disk"))
    changed = network.model_copy(update={"routing": {"cpu": {"read": rule}}})
    assert '"choose": "round_robin"' in changed.to_json()


@pytest.mark.parametrize("name", ["network", "times", "distributions", "gandini", "quorum"])
def test_examples_in_the_documentation(name: str) -> None:
    module = importlib.import_module(f"pacelc.networks.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0
