"""A closed quorum cluster in microseconds: against laws, the exact solution and the simulation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_clusters import clusters

from pacelc.networks.closed import solve_closed
from pacelc.networks.quorum import Quorum, quorum
from pacelc.networks.simulate import simulate
from pacelc.networks.solve import check, solve

NO_DISKS = {"read_uncached": 0.0, "write_uncached": 0.0}


@settings(max_examples=60, deadline=None)
@given(s=clusters(), shared=st.booleans())
def test_no_processor_does_more_than_it_can_and_everybody_is_somewhere(
    s: Quorum, shared: bool
) -> None:
    s = s.model_copy(update={"shared": shared})
    found = solve_closed(s)
    # The utilisation law, of what is waited for and what is not.
    (chain,) = check(quorum(s)).chains
    busiest_s = max(d for name, d in chain.demands_s.items() if name.startswith("cpu"))
    assert found.throughput_per_s * busiest_s <= s.cores * (1 + 1e-6)
    # Little's law.
    shares = {"read": s.read_share, "write": 1 - s.read_share}
    mean_s = sum(shares[kind] * seconds for kind, seconds in found.response_s.items())
    assert found.throughput_per_s * mean_s == pytest.approx(s.users, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(s=clusters(), shared=st.booleans())
def test_users_enough_keep_the_busiest_processor_busy(s: Quorum, shared: bool) -> None:
    delays = dict.fromkeys(("client_round_trip_s", "node_round_trip_s", "write_wait_s"), 0.0)
    s = s.model_copy(update={"shared": shared, "users": 1000, **delays})
    (chain,) = check(quorum(s)).chains
    busiest_s = max(d for name, d in chain.demands_s.items() if name.startswith("cpu"))
    assert solve_closed(s).throughput_per_s * busiest_s == pytest.approx(s.cores, rel=0.05)


@settings(max_examples=40, deadline=None)
@given(
    users=st.integers(1, 3000),
    nodes=st.integers(1, 5),
    cores=st.integers(1, 3),
    times_s=st.lists(st.floats(-9, 0).map(lambda power: 10**power), min_size=3, max_size=3),
    shared=st.booleans(),
)
def test_reads_of_single_copies_are_solved_exactly_whatever_their_times(
    users: int, nodes: int, cores: int, times_s: list[float], shared: bool
) -> None:
    names = ("read_cpu", "client_round_trip", "node_round_trip")
    sizes = {"users": users, "nodes": nodes, "replication": 1, "cores": cores, "shared": shared}
    times = dict(zip(names, times_s, strict=True))
    s = Quorum.model_validate({**sizes, **times, **NO_DISKS, "read": "one", "read_share": 1.0})
    (chain,) = solve(quorum(s)).chains
    assert solve_closed(s).throughput_per_s == pytest.approx(chain.throughput_per_s, rel=1e-6)


@pytest.mark.parametrize(
    ("coordinator", "shared"),
    [("any", False), ("any", True), ("replica", True), ("leader", False), ("leader", True)],
)
@pytest.mark.parametrize("users", [2, 32])
@pytest.mark.parametrize(
    "sizes",
    [(3, 1, "one"), (3, 3, "one"), (3, 3, "quorum"), (3, 3, "all"), (4, 2, "one")],
)
def test_the_solution_is_near_the_simulation(
    sizes: tuple[int, int, str], users: int, coordinator: str, shared: bool
) -> None:
    nodes, replication, level = sizes
    numbers = {"users": users, "nodes": nodes, "replication": replication, "cores": 2}
    way = {"read": level, "write": level, "coordinator": coordinator, "shared": shared}
    times = {"read_cpu": 3e-4, "write_cpu": 2e-4, "copy_read_cpu": 2.5e-4, "copy_write_cpu": 1.5e-4}
    times |= {"acknowledged_cpu": 3e-5, "write_wait": 1e-4}
    delays = {"client_round_trip": 3e-4, "node_round_trip": 2e-4}
    s = Quorum.model_validate({**numbers, **way, **times, **delays, **NO_DISKS})
    found = simulate(quorum(s), replications=4, precision=0.04, seed=3)
    solved = solve_closed(s)
    assert found.throughput_per_s is not None
    assert solved.throughput_per_s == pytest.approx(found.throughput_per_s.value, rel=0.12)
    for kind, seconds in solved.response_s.items():
        mean = found.class_estimates(kind)[1]
        assert mean is not None
        assert seconds == pytest.approx(mean.value, rel=0.14)


@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("level", ["one", "quorum", "all"])
def test_a_user_alone_waits_for_the_own_copy_and_others_as_simulated(
    nodes: int, level: str
) -> None:
    sizes = {"users": 1, "nodes": nodes, "coordinator": "replica", "read": level, "write": level}
    times = {"read_cpu": 1e-5, "write_cpu": 1e-5, "copy_read_cpu": 0.0, "copy_write_cpu": 0.0}
    delays = {"client_round_trip": 2e-4, "node_round_trip": 1e-3}
    s = Quorum.model_validate({**sizes, **times, **delays, **NO_DISKS})
    found = simulate(quorum(s), replications=4, precision=0.02, seed=5)
    for kind, seconds in solve_closed(s).response_s.items():
        mean = found.class_estimates(kind)[1]
        assert mean is not None
        assert seconds == pytest.approx(mean.value, rel=0.03)
