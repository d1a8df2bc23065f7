"""When operations are due, and when measuring begins and ends: laws that hold on any machine.

``memory`` answers at once, so that what is seen is the load loop's own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from pacelc import _engine


def measured(**changes: Any) -> dict[str, Any]:
    spec = {
        "target": {"database": "memory"},
        "workload": {
            "records": 100,
            "fields": 1,
            "field_length_bytes": 100,
            "mix": {"read": 0.5, "update": 0.5},
        },
        "consistency": "weak",
        "users": 8,
        "spawn_rate_per_s": 100_000.0,
        "warm_up_s": 0.0,
        "measure_s": 1.0,
        "operation_timeout_ms": 1000,
        "seed": 1,
    } | changes
    text = json.dumps(spec)
    _engine.prepare(text).result()
    _engine.load(text).result()
    return json.loads(_engine.run(text).result())


def ok(result: dict[str, Any]) -> int:
    return sum(kind["ok"] for kind in result["operations"].values())


@pytest.mark.parametrize("schedule", ["shared", "user"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_constant_rate_is_kept_to_the_operation(schedule: str, threads: int) -> None:
    arrivals = {"open": {"rate_per_s": 2_000, "schedule": schedule}}
    result = measured(arrivals=arrivals, threads=threads)
    kept = result["schedule"]
    # One more or less at either end, for each stream of due times.
    assert abs(kept["due"] - 2_000) <= 16
    assert ok(result) == kept["due"] - kept["not_started"]
    assert kept["lag_ns"]["n"] == ok(result)


def test_poisson_arrivals_come_at_their_rate() -> None:
    arrivals = {"open": {"rate_per_s": 5_000, "spread": "exponential"}}
    result = measured(arrivals=arrivals)
    # Six standard deviations of a Poisson count.
    assert abs(result["schedule"]["due"] - 5_000) < 6 * 5_000**0.5


def test_a_schedule_keeps_service_time_beside_latency_and_a_closed_loop_does_not() -> None:
    scheduled = measured(arrivals={"open": {"rate_per_s": 500}})["operations"]
    for kind in scheduled.values():
        assert kind["service_ns"]["n"] == kind["latency_ns"]["n"] == kind["ok"]
        assert kind["service_ns"]["mean"] <= kind["latency_ns"]["mean"]
    closed = measured()
    assert closed["schedule"] is None
    assert all(kind["service_ns"] is None for kind in closed["operations"].values())


def test_a_rate_that_the_client_cannot_keep_is_the_clients_fault() -> None:
    result = measured(arrivals={"open": {"rate_per_s": 100_000_000}})
    kept = result["schedule"]
    assert kept["not_started"] > 0
    assert kept["due"] > ok(result)
    blamed = any("the client itself could not keep" in warning for warning in result["warnings"])
    # Where others want its processor, it may get less than it could use.
    assert blamed or result["client"]["busy_fraction"] <= 0.9
    assert any("had not started at the end" in warning for warning in result["warnings"])


@pytest.mark.parametrize("threads", [1, 8])
def test_threads_without_users_are_not_started_and_hide_nothing(threads: int) -> None:
    client = measured(users=1, threads=threads)["client"]
    assert client["threads"] == 1
    busy_s = client["cpu_user_s"] + client["cpu_system_s"] - client["awake_s"]
    assert client["busy_fraction"] == pytest.approx(busy_s / 1.0, rel=0.01)


def test_users_that_think_send_less() -> None:
    thinking = measured(arrivals={"closed": {"think_s": 0.02}})
    # Eight users, fifty thoughts a second each; the first operation comes before any thought.
    assert 0.1 * 400 <= ok(thinking) <= 8 * 51
    varied = measured(arrivals={"closed": {"think_s": 0.02, "think": "exponential"}})
    assert 0.1 * 400 <= ok(varied) <= 1.4 * 400


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("arrivals", [{"closed": {}}, {"open": {"rate_per_s": 10_000}}])
def test_measuring_ends_with_the_number_of_operations(arrivals: Any, threads: int) -> None:
    result = measured(operations=1_001, measure_s=60.0, threads=threads, arrivals=arrivals)
    assert ok(result) == 1_001
    assert 0 < result["measured_s"] < 30


def test_a_warm_up_ends_when_it_is_steady() -> None:
    # Spread over time by thought, as memory alone would be an endless loop.
    arrivals = {"closed": {"think_s": 0.002, "think": "exponential"}}
    result = measured(warm_up_s=5.0, steady={"ceiling_s": 60.0}, arrivals=arrivals, users=50)
    assert result["steady"] is True
    assert 5.0 <= result["warm_up_s"] < 60.0
    assert result["warm_up_s"] == int(result["warm_up_s"])
    samples = result["samples"]
    phases = dict(zip(samples["t_s"], samples["phase"], strict=True))
    assert phases[-1.0] == "warm-up"
    assert phases[0.0] == "measure"
    assert min(phases) == pytest.approx(-result["warm_up_s"], abs=1.0)
