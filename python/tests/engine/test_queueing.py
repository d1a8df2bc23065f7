"""The doors to the solvers of networks of queues: what goes in, what comes out, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pacelc import _engine
from pacelc.errors import InputError


def network(users: int = 20, **changes: Any) -> dict[str, Any]:
    """A client, a processor with two servers, and a disk."""
    return {
        "name": "single node",
        "classes": [{"name": "read", "users": users}],
        "stations": [
            {"name": "client", "kind": "delay", "service": {"read": "1ms"}},
            {"name": "cpu", "servers": 2, "discipline": "ps", "service": {"read": "1.15ms"}},
            {"name": "disk", "service": {"read": "170us"}},
        ],
        "routing": {
            "client": {"read": "cpu"},
            "cpu": {"read": "disk"},
            "disk": {"read": "client"},
        },
    } | changes


def solved(value: dict[str, Any], solver: str | None = None) -> dict[str, Any]:
    return json.loads(_engine.solve_network(json.dumps(value), solver))


def test_a_network_is_summed_up() -> None:
    found = json.loads(_engine.check_network(json.dumps(network())))
    assert (found["name"], found["solver"], found["unsuited"]) == ("single node", "mva", None)
    [chain] = found["chains"]
    assert (chain["classes"], chain["users"]) == (["read"], 20)
    assert chain["demands_s"]["cpu"] == pytest.approx(1.15e-3)


def test_solvers_agree_and_say_who_they_are() -> None:
    answers = {name: solved(network(), name) for name in ("mva", "convolution", "ctmc")}
    assert {name: answer["solver"] for name, answer in answers.items()} == {
        name: name for name in answers
    }
    throughputs = [answer["chains"][0]["throughput_per_s"] for answer in answers.values()]
    assert throughputs == pytest.approx([throughputs[0]] * 3, rel=1e-9)
    assert solved(network())["exact"]


def test_everything_that_is_wrong_is_told() -> None:
    wrong = network(routing={"client": {"read": "cpuu"}, "cpu": {"read": "dsk"}})
    with pytest.raises(InputError) as caught:
        _engine.check_network(json.dumps(wrong))
    assert 'no node "cpuu"' in caught.value.message
    assert 'no node "dsk"' in caught.value.message
    assert caught.value.hint == "correct the network"


def test_what_cant_be_solved_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match="no solver is called") as caught:
        solved(network(), "guess")
    assert caught.value.hint == "name another solver, or simulate it"
    with pytest.raises(InputError, match="jackson can't solve this: class read is closed"):
        solved(network(), "jackson")


def test_many_are_solved_in_order_and_none_raises() -> None:
    networks = [json.dumps(network(users)) for users in range(1, 60)]
    overloaded = {
        "classes": [{"name": "a", "interarrival": "1ms"}],
        "stations": [{"name": "s", "service": {"a": "2ms"}}],
        "routing": {"source": {"a": "s"}, "s": {"a": "sink"}},
    }
    answers = _engine.solve_networks([*networks, "{", json.dumps(overloaded)])
    assert answers[:-2] == [_engine.solve_network(text) for text in networks]
    assert json.loads(answers[-2])["error"] == "invalid"
    assert json.loads(answers[-1])["error"] == "diverges"
    assert "station s: 2.0000 servers' work arrives" in json.loads(answers[-1])["message"]


def test_bounds_hold() -> None:
    [bound] = json.loads(_engine.bound_network(json.dumps(network())))
    x = solved(network())["chains"][0]["throughput_per_s"]
    assert bound["throughput_per_s"]["least"] <= x <= bound["throughput_per_s"]["most"]
    assert (bound["bottleneck"], bound["balanced"]) == ("cpu", True)
