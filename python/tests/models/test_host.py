"""One host for a cluster: the quick solution against the simulation, and laws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.models.distributions import Exponential
from pacelc.models.host import on_one_host, quick
from pacelc.models.network import Class, Network, Station
from pacelc.models.quorum import Quorum, evenly, quorum
from pacelc.models.simulate import simulate
from pacelc.models.solve import check, solve

times = st.floats(1e-6, 2e-3)


@st.composite
def clusters(draw: st.DrawFn) -> Quorum:
    copies = draw(st.integers(1, 3))
    demands = ("coordinator_cpu", "read_cpu", "write_cpu", "remote_cpu")
    demands += ("acknowledged_cpu", "journal_cpu", "wake_journal_cpu")
    after_s = draw(st.one_of(st.just(0.0), times))
    coordinator = draw(st.sampled_from(["any", "replica", "leader"]))
    delays = ("client_round_trip", "node_round_trip", "write_wait", "journal_wait")
    return Quorum.model_validate(
        {
            "users": draw(st.integers(1, 40)),
            "nodes": copies + draw(st.integers(0, 2)),
            "replication": copies,
            "read": draw(st.sampled_from(("one", "quorum", "all"))),
            "write": draw(st.sampled_from(("one", "quorum", "all"))),
            "read_share": draw(st.sampled_from([0.0, 0.3, 1.0])),
            "coordinator": coordinator,
            "own_first": coordinator != "any" and draw(st.booleans()),
            "acknowledged_to": draw(st.sampled_from(["coordinator", "everyone"])),
            "journaled": draw(st.booleans()),
            "cores": draw(st.integers(1, 4)),
            "read_uncached": 0.0,
            "write_uncached": 0.0,
            "coordinator_after_cpu": after_s,
            "write_after_cpu": draw(st.one_of(st.just(0.0), times)),
            "scattered": draw(st.one_of(st.just(0.0), st.floats(0.01, 3.0))),
            **{name: draw(times) for name in (*demands, *delays)},
        }
    )


@settings(max_examples=60, deadline=None)
@given(cluster=clusters(), shared=st.booleans())
def test_the_quick_solution_keeps_the_laws(cluster: Quorum, shared: bool) -> None:
    found = quick(cluster, shared=shared)
    network = quorum(cluster)
    if shared:
        network = on_one_host(network)
    (chain,) = check(network).chains
    processors = {k: d for k, d in chain.demands_s.items() if k.startswith("cpu")}
    if not cluster.led:
        assert len(processors) == (1 if shared else cluster.nodes)
    # The utilisation law: no processor does more than it can, waited for or not.
    assert found.throughput_per_s * max(processors.values()) <= cluster.cores * (1 + 1e-6)
    # Little's law.
    shares = {"read": cluster.read_share, "write": 1 - cluster.read_share}
    mean_s = sum(shares[kind] * seconds for kind, seconds in found.response_s.items())
    assert found.throughput_per_s * mean_s == pytest.approx(cluster.users, rel=1e-6)


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
    sizes = {"users": users, "nodes": nodes, "replication": 1, "cores": cores, "read_share": 1.0}
    cluster = Quorum.model_validate(
        {**sizes, "read_uncached": 0.0, **dict(zip(names, times_s, strict=True))}
    )
    network = quorum(cluster)
    (chain,) = solve(on_one_host(network) if shared else network).chains
    found = quick(cluster, shared=shared).throughput_per_s
    assert found == pytest.approx(chain.throughput_per_s, rel=1e-6)


def made(sizes: tuple[int, int, str], users: int, coordinator: str, **more: float | str) -> Quorum:
    nodes, replication, level = sizes
    return Quorum.model_validate(
        {
            "users": users,
            "nodes": nodes,
            "replication": replication,
            "read": "one" if coordinator == "leader" else level,
            "write": level,
            "coordinator": coordinator,
            "cores": 2,
            "read_uncached": 0.0,
            "write_uncached": 0.0,
            "read_cpu": 2e-4,
            "write_cpu": 1e-4,
            "remote_cpu": 5e-5,
            "client_round_trip": 3e-4,
            "node_round_trip": 2e-4,
            **more,
        }
    )


def compare(cluster: Quorum, *, shared: bool, latencies: bool = True) -> None:
    """Hold the quick solution against the simulation."""
    network = quorum(cluster)
    found = simulate(
        on_one_host(network) if shared else network, replications=4, precision=0.01, seed=3
    )
    solved = quick(cluster, shared=shared)
    rate = found.throughput_per_s
    assert rate is not None
    assert solved.throughput_per_s == pytest.approx(rate.value, rel=0.12)
    for kind, seconds in solved.response_s.items() if latencies else ():
        mean = found.class_estimates(kind)[1]
        assert mean is not None
        assert seconds == pytest.approx(mean.value, rel=0.14)


@pytest.mark.parametrize(
    ("coordinator", "shared"), [("any", False), ("any", True), ("leader", False)]
)
@pytest.mark.parametrize("users", [1, 4, 32])
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, "one"), (3, 1, "one"), (3, 3, "one"), (3, 3, "quorum"), (3, 3, "all"), (4, 2, "one")],
)
def test_the_quick_solution_is_near_the_simulation(
    sizes: tuple[int, int, str], users: int, coordinator: str, shared: bool
) -> None:
    cluster = made(sizes, users, coordinator, coordinator_cpu=1e-4, write_wait=1e-4)
    compare(cluster, shared=shared)


@pytest.mark.parametrize(
    ("coordinator", "shared"), [("leader", False), ("leader", True), ("replica", True)]
)
@pytest.mark.parametrize("users", [1, 4, 32])
@pytest.mark.parametrize(
    "sizes", [(1, 1, "one"), (3, 1, "one"), (3, 3, "one"), (3, 3, "quorum"), (3, 3, "all")]
)
def test_the_quick_solution_is_near_the_simulation_where_coordinators_write_first(
    sizes: tuple[int, int, str], users: int, coordinator: str, shared: bool
) -> None:
    more = {
        "journaled": True,
        "journal_cpu": 5e-5,
        "wake_journal_cpu": 2e-5,
        "journal_wait": 3e-4,
        "write_wait": 1e-4,
    }
    cluster = made(sizes, users, coordinator, coordinator_cpu=1e-4, own_first=True, **more)
    compare(cluster, shared=shared)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("users", [1, 4, 32])
@pytest.mark.parametrize("level", ["one", "quorum", "all"])
def test_the_quick_solution_is_near_the_simulation_where_others_fetch(
    level: str, users: int, shared: bool
) -> None:
    more = {"own_first": True, "acknowledged_to": "everyone", "acknowledged_cpu": 3e-5}
    cluster = made((3, 3, level), users, "leader", coordinator_cpu=1e-4, **more)
    compare(cluster, shared=shared)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coordinator", "shared"), [("any", False), ("any", True), ("leader", False), ("leader", True)]
)
@pytest.mark.parametrize("users", [1, 2, 4, 32])
@pytest.mark.parametrize("sizes", [(1, 1, "one"), (3, 3, "one"), (3, 3, "quorum")])
def test_the_quick_solution_is_near_the_simulation_where_work_is_left_when_it_is_answered(
    sizes: tuple[int, int, str], users: int, coordinator: str, shared: bool
) -> None:
    after_s = {"coordinator_after_cpu": 1e-4, "write_after_cpu": 5e-5}
    cluster = made(sizes, users, coordinator, coordinator_cpu=5e-5, **after_s)
    # How reads and writes share what leaders take is up to 30 % off where they are busy.
    compare(cluster, shared=shared, latencies=shared or coordinator != "leader")


@pytest.mark.parametrize("discipline", ["ps", "siro"])
@pytest.mark.parametrize("users", [1, 2, 4, 32])
@pytest.mark.parametrize(
    ("sizes", "scattered"),
    [
        *(((1, 1, "one"), scattered) for scattered in (0.4, 1.0, 3.0)),
        *(((3, 1, "one"), scattered) for scattered in (0.4, 1.0, 3.0)),
        # Copies of one operation wait beside each other, too, which only the simulation has.
        ((3, 3, "quorum"), 0.4),
    ],
)
def test_the_quick_solution_is_near_the_simulation_where_threads_wait_beside_idle_cores(
    sizes: tuple[int, int, str], users: int, scattered: float, discipline: str
) -> None:
    cluster = made(
        sizes, users, "any", coordinator_cpu=1e-4, scattered=scattered, discipline=discipline
    )
    compare(cluster, shared=True)


@settings(max_examples=40, deadline=None)
@given(
    users=st.integers(1, 60),
    cores=st.integers(1, 4),
    read_s=st.floats(1e-5, 1e-2),
    network_s=st.floats(1e-5, 1e-2),
)
def test_threads_that_join_a_core_by_chance_make_as_many_stations(
    users: int, cores: int, read_s: float, network_s: float
) -> None:
    sizes = {"users": users, "nodes": 1, "replication": 1, "cores": cores, "read_share": 1.0}
    times_s = {"read_cpu": read_s, "client_round_trip": network_s, "node_round_trip": 0.0}
    cluster = Quorum.model_validate({**sizes, **times_s, "read_uncached": 0.0, "scattered": 1.0})
    found = quick(cluster, shared=True).throughput_per_s
    (same,) = solve(quorum(cluster)).chains
    assert found == pytest.approx(same.throughput_per_s, rel=1e-6)
    names = [f"core{i}" for i in range(cores)]
    apart = Network(
        classes=(Class(name="read", users=users, reference="network"),),
        stations=(
            Station(name="network", kind="delay", service={"*": Exponential(mean_s=network_s)}),
            *(
                Station(name=name, discipline="ps", service={"*": Exponential(mean_s=read_s)})
                for name in names
            ),
        ),
        routing={"network": {"*": evenly(names)}, **{name: {"*": "network"} for name in names}},
    )
    (chain,) = solve(apart).chains
    assert found == pytest.approx(chain.throughput_per_s, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("level", ["one", "quorum", "all"])
def test_a_user_alone_waits_for_its_own_copy_and_others_as_simulated(
    nodes: int, level: str
) -> None:
    none = ("read_uncached", "write_uncached", "read_cpu", "write_cpu")
    sizes = {"users": 1, "nodes": nodes, "coordinator": "replica", "read": level, "write": level}
    times_s = {"client_round_trip": 2e-4, "node_round_trip": 1e-3, "coordinator_cpu": 1e-5}
    cluster = Quorum.model_validate({**dict.fromkeys(none, 0.0), **sizes, **times_s})
    found = simulate(quorum(cluster), replications=4, precision=0.005, seed=5)
    for kind, seconds in quick(cluster, shared=False).response_s.items():
        mean = found.class_estimates(kind)[1]
        assert mean is not None
        assert seconds == pytest.approx(mean.value, rel=0.02)
