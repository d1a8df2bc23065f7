"""The simulator through its door: JSON in and out, errors, Ctrl-C."""

from __future__ import annotations

import _thread
import json
import threading
import time
from typing import Any

import pytest

from pacelc import _engine
from pacelc.errors import InputError


def _queue(interarrival_s: float) -> str:
    return json.dumps(
        {
            "classes": [{"name": "job", "interarrival": interarrival_s}],
            "stations": [{"name": "server", "service": {"job": 1.0}}],
            "routing": {"source": {"job": "server"}, "server": {"job": "sink"}},
        }
    )


def test_one_server_by_its_formula() -> None:
    found: dict[str, Any] = json.loads(_engine.simulate(_queue(2.0), "{}"))
    assert found["stopped_by"] == "precision"
    assert found["solution"]["chains"][0]["response_s"] == pytest.approx(2.0, rel=0.03)
    assert found["half_widths"]["chains"][0]["response_s"] <= 0.02 * 1.03
    assert [one["percent"] for one in found["percentiles"][0]["percentiles"]] == [50, 95, 99]


def test_the_same_seed_gives_the_same_text() -> None:
    options = json.dumps({"seed": 4, "precision": 0.05})
    assert _engine.simulate(_queue(2.0), options) == _engine.simulate(_queue(2.0), options)


def test_a_dead_server_lets_its_queue_grow() -> None:
    changes = [{"at": "100s", "station": "server", "servers": 0}]
    options = {"until": "200s", "intervals": 2, "changes": changes}
    found = json.loads(_engine.simulate_changes(_queue(2.0), json.dumps(options)))
    before, after = (one["solution"]["stations"][0]["queue"] for one in found["intervals"])
    assert before < 1.5
    # Half a customer comes a second: 25 are there on average, and those from before.
    assert after == pytest.approx(26.0, rel=0.1)


def test_a_customer_is_followed() -> None:
    [cycle] = json.loads(_engine.trace_customer(_queue(2.0), json.dumps({"class": "job"})))
    [stay] = cycle["stays"]
    assert stay["at"] == "server"
    assert stay["waited_s"] + stay["served_s"] == pytest.approx(cycle["response_s"])


def test_overload_is_refused_as_input() -> None:
    with pytest.raises(InputError, match="station server: more work comes than it can do"):
        _engine.simulate(_queue(0.5), "{}")
    with pytest.raises(InputError, match="unknown field `sed`"):
        _engine.simulate(_queue(2.0), json.dumps({"sed": 1}))


def test_ctrl_c_stops_it() -> None:
    options = json.dumps({"precision": 1e-9, "max_events": 10**12})
    threading.Timer(0.5, _thread.interrupt_main).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _engine.simulate(_queue(2.0), options)
    assert time.monotonic() - begin < 20.0
