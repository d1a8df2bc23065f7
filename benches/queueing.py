"""How long networks of queues take to solve: through the doors, beside LINE on the same networks.

LINE's time is its solver's alone, on a network that is built; ours holds reading the network as
JSON, checking it, and writing the solution.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benches import peers
from benches.harness import Figure
from pacelc import _engine
from pacelc.networks import builtin

PEER = Path(__file__).parent / "peers" / "line_times.py"
CANDIDATES = 10_000


def measure() -> list[Figure]:
    """One line a network, and one for a sweep over many."""
    networks = _networks()
    theirs = _line([peer for _, _, _, peer in networks])
    figures = [
        _figure(*case, None if theirs is None else theirs[index])
        for index, case in enumerate(networks)
    ]
    return [*figures, _copies(), _sweep()]


def _networks() -> list[tuple[str, float, str | None, dict[str, Any]]]:
    """Name, target in seconds, solver, and the network as the peer reads it."""
    chance = random.Random(1)

    def demands(stations: int) -> list[float]:
        return [chance.uniform(1e-4, 1e-3) for _ in range(stations)]

    # Gandini et al.: demands of Cassandra in milliseconds and microseconds, users up to 100.
    single = {"users": [100], "demands_s": [[2.45e-3, 170e-6]], "servers": [8, 1]}
    two = {"users": [50, 50], "demands_s": [demands(20), demands(20)], "servers": [1] * 20}
    many = {
        "users": [4_000, 3_000, 2_000, 1_000],
        "demands_s": [demands(100) for _ in range(4)],
        "servers": [chance.choice([1, 2, 8]) for _ in range(100)],
    }
    shared = {"think_s": 1e-3}
    exact = {"method": "exact"} | shared
    return [
        ("a paper's single node, 100 users", 1e-3, None, exact | single),
        ("exact, 2 classes of 50 users, 20 stations", 50e-3, None, exact | two),
        (
            "Linearizer, 10,000 users in 4 classes, 100 stations",
            50e-3,
            "linearizer",
            {"method": "lin"} | shared | many,
        ),
    ]


def _ours(peer: dict[str, Any]) -> str:
    """The same network as the engine reads it."""
    classes = [f"c{number}" for number in range(len(peer["users"]))]
    names = [f"s{number}" for number in range(len(peer["servers"]))]
    stations: list[dict[str, Any]] = [
        {"name": "client", "kind": "delay", "service": {"*": peer["think_s"]}}
    ]
    for number, (name, servers) in enumerate(zip(names, peer["servers"], strict=True)):
        service = {
            job: demands[number] for job, demands in zip(classes, peer["demands_s"], strict=True)
        }
        stations.append({"name": name, "servers": servers, "discipline": "ps", "service": service})
    path = ["client", *names, "client"]
    return json.dumps(
        {
            "classes": [
                {"name": job, "users": users}
                for job, users in zip(classes, peer["users"], strict=True)
            ],
            "stations": stations,
            "routing": {a: {"*": b} for a, b in pairwise(path)},
        }
    )


def _best(network: str, solver: str | None) -> tuple[float, dict[str, Any]]:
    best = float("inf")
    answer = ""
    for _ in range(5):
        begin = time.perf_counter()
        answer = _engine.solve_network(network, solver)
        best = min(best, time.perf_counter() - begin)
    return best, json.loads(answer)


def _figure(
    name: str, target_s: float, solver: str | None, peer: dict[str, Any], theirs: float | None
) -> Figure:
    seconds, _ = _best(_ours(peer), solver)
    beside = "" if theirs is None else f" (LINE {theirs * 1e3:.0f} ms: {theirs / seconds:.0f} ×)"
    return Figure(
        f"solving {name}",
        f"< {target_s * 1e3:.0f} ms",
        f"{seconds * 1e3:.2f} ms{beside}",
        seconds < target_s,
    )


def _line(networks: list[dict[str, Any]]) -> list[float] | None:
    python = peers.simulators()
    if python is None:
        return None
    done = subprocess.run(
        [python, PEER], input=json.dumps(networks), capture_output=True, text=True, check=True
    )
    # It may say more on its way: the answer is the last line.
    return [answer["seconds"] for answer in json.loads(done.stdout.splitlines()[-1])]


def _copies() -> Figure:
    """A paper's four nodes with four copies each, all waited for."""
    seconds, _ = _best(builtin("gandini-cassandra-4x4", ["users=100"]).to_json(), None)
    return Figure(
        "solving a paper's 4 nodes with 4 copies, 100 users",
        "< 1 ms",
        f"{seconds * 1e3:.2f} ms",
        seconds < 1e-3,
    )


def _sweep() -> Figure:
    """Clusters of 1 to 12 nodes whose writes wait for a quorum of their replicas."""
    networks = [_cluster(1 + number % 12, 1 + number % 97) for number in range(CANDIDATES)]
    begin = time.perf_counter()
    answers = _engine.solve_networks(networks)
    seconds = time.perf_counter() - begin
    wrong = [answer for answer in answers if '"error"' in answer]
    if wrong:
        raise RuntimeError(wrong[0])
    return Figure(
        f"solving {CANDIDATES:,} candidate clusters (quorum writes, 1 to 97 users)",
        "< 10 s",
        f"{seconds:.2f} s",
        seconds < 10,
    )


def _cluster(nodes: int, users: int) -> str:
    names = [f"n{number}" for number in range(nodes)]
    copies = min(3, nodes)
    stations: list[dict[str, Any]] = [
        {"name": "client", "kind": "delay", "service": {"write": "5ms"}}
    ]
    stations += [
        {"name": name, "servers": 8, "discipline": "ps", "service": {"copy": "1ms"}}
        for name in names
    ]
    fork = {"name": "set", "branches": [f"{name}/copy" for name in names], "copies": copies}
    routing: dict[str, Any] = {name: {"copy": "set.join"} for name in names}
    return json.dumps(
        {
            "classes": [{"name": "write", "users": users}, {"name": "copy"}],
            "stations": stations,
            "forks": [fork | {"join": copies // 2 + 1}],
            "routing": routing | {"client": {"write": "set"}, "set.join": {"write": "client"}},
        }
    )
