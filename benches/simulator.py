"""How fast queueing networks are simulated: visits to stations a second of one core.

Four stations and twenty users, all times exponential: a delay and three queues. Peers simulate
the same network in the same run, first come first served. What is compared is processor time,
since other work on the machine slows them all.
"""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

from benches import peers
from benches.harness import Figure
from benches.peers.simulators import MEANS_S, ROUTES, SERVERS, USERS
from pacelc import _engine

VISITS = 30_000_000
TARGET_PER_S = 10e6
PEERS = {"ldes": (2_000_000, 4.0), "ciw": (100_000, 100.0), "simpy": (400_000, 80.0)}
"""How many visits each simulates, and how many times as fast we mean to be."""


def measure() -> list[Figure]:
    """One line a discipline, one a peer."""
    rates = {discipline: _own(discipline) for discipline in ("ps", "fcfs")}
    figures = [
        Figure(
            f"visits simulated a second of a core, 4 stations, 20 users, {discipline}",
            f"≥ {TARGET_PER_S / 1e6:.0f} million",
            f"{rate / 1e6:.1f} million",
            rate >= TARGET_PER_S,
        )
        for discipline, rate in rates.items()
    ]
    python = peers.simulators()
    for name, (visits, times) in PEERS.items():
        title, target = f"simulated visits, against {name}", f"≥ {times:.0f} x"
        if python is None:
            missing = "the peers can't be installed here"
            figures.append(Figure(title, target, missing, None))
            continue
        script = peers.__path__[0] + "/simulators.py"
        done = subprocess.run(
            [python, script, name, str(visits)], capture_output=True, text=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        theirs = found["visits"] / found["cpu_s"]
        ratio = rates["fcfs"] / theirs
        measured = f"{ratio:.1f} x ({theirs / 1e6:.3f} million a second)"
        figures.append(Figure(title, target, measured, ratio >= times))
    return figures


def _own(discipline: str) -> float:
    stations: list[dict[str, Any]] = [
        {"name": name, "service": {"user": mean_s}} for name, mean_s in MEANS_S.items()
    ]
    for station in stations:
        if station["name"] in SERVERS:
            station |= {"servers": SERVERS[station["name"]], "discipline": discipline}
        else:
            station["kind"] = "delay"
    network = {
        "classes": [{"name": "user", "users": USERS, "reference": "think"}],
        "stations": stations,
        "routing": {name: {"user": to} for name, to in ROUTES.items()},
    }
    # A precision that isn't reached: it is the number of visits that ends it.
    options = {"threads": 1, "precision": 1e-9, "max_events": VISITS}
    begin = time.process_time()
    found = json.loads(_engine.simulate(json.dumps(network), json.dumps(options)))
    return found["events"] / (time.process_time() - begin)
