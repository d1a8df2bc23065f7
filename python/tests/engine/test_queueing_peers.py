"""Our solvers beside LINE's and Ciw's on the same networks."""

from __future__ import annotations

import json
import random
import warnings
from itertools import pairwise
from typing import Any

import pytest
from line import line

from pacelc import _engine


def case(seed: int) -> dict[str, Any]:
    """One or two sets of users, a client and up to three stations that share their servers."""
    chance = random.Random(seed)
    stations = chance.randint(1, 3)
    classes = chance.randint(1, 2)
    return {
        "think": chance.uniform(0.5, 3.0),
        "users": [chance.randint(1, 8) for _ in range(classes)],
        "servers": [chance.randint(1, 3) for _ in range(stations)],
        "demands": [[chance.uniform(0.1, 1.0) for _ in range(stations)] for _ in range(classes)],
    }


def ours(given: dict[str, Any], solver: str | None = None) -> list[float]:
    jobs = [f"c{number}" for number in range(len(given["users"]))]
    names = [f"s{number}" for number in range(len(given["servers"]))]
    stations: list[dict[str, Any]] = [
        {"name": "client", "kind": "delay", "service": {"*": given["think"]}}
    ]
    for number, name in enumerate(names):
        service = {job: by[number] for job, by in zip(jobs, given["demands"], strict=True)}
        servers = given["servers"][number]
        stations.append({"name": name, "servers": servers, "discipline": "ps", "service": service})
    path = ["client", *names, "client"]
    network = {
        "classes": [{"name": j, "users": n} for j, n in zip(jobs, given["users"], strict=True)],
        "stations": stations,
        "routing": {a: {"*": b} for a, b in pairwise(path)},
    }
    answer = json.loads(_engine.solve_network(json.dumps(network), solver))
    return [chain["throughput_per_s"] for chain in answer["chains"]]


def test_line_finds_the_same_throughput() -> None:
    cases = [case(seed) for seed in range(6)]
    for given, theirs in zip(cases, line(*({"closed": given} for given in cases)), strict=True):
        # LINE prints five digits.
        assert ours(given) == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("seed", [11, 12])
def test_ciw_simulates_the_same_throughput(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ciw: Any = pytest.importorskip("ciw")
        given = case(seed)
        users, demands = given["users"][0], given["demands"][0]
        nodes = 1 + len(demands)
        ring = [[float(to == (at + 1) % nodes) for to in range(nodes)] for at in range(nodes)]
        # Ciw has no closed networks: everyone comes at once, and nobody leaves.
        network = ciw.create_network(
            arrival_distributions=[
                ciw.dists.Sequential([1e-9, float("inf")]),
                *[None] * len(demands),
            ],
            batching_distributions=[
                ciw.dists.Deterministic(users),
                *[ciw.dists.Deterministic(1)] * len(demands),
            ],
            service_distributions=[
                ciw.dists.Exponential(1 / mean) for mean in (given["think"], *demands)
            ],
            number_of_servers=[float("inf"), *given["servers"]],
            routing=ring,
        )
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(8_000)
    ended = [
        record
        for record in simulation.get_all_records()
        if record.node == 1 and record.service_end_date > 500
    ]
    theirs = len(ended) / 7_500
    one = {**given, "users": [users], "demands": [demands]}
    assert ours(one) == pytest.approx([theirs], rel=0.05)
