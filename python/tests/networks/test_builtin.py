"""The networks that come with pacelc say what their papers say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from made_clusters import clusters

from pacelc.cli.model.options import network_named
from pacelc.errors import InputError
from pacelc.networks import BUILTIN, Network, Quorum, builtin, quorum
from pacelc.networks.regional import arrivals
from pacelc.networks.simulate import simulate
from pacelc.networks.solve import check
from pacelc.papers.gandini_2014 import CONFIGURATIONS, demands, saturation_per_s
from pacelc.study.copies import copies_waited_for


@pytest.mark.parametrize("name", BUILTIN)
def test_a_built_in_network_reads_as_it_is_shown(name: str) -> None:
    network = builtin(name)
    assert Network.parse(network.to_yaml()) == network
    assert network.users == 20


@pytest.mark.parametrize("database", ["cassandra", "mongodb", "hbase"])
def test_the_papers_processor_demand_bounds_throughput(database: str) -> None:
    network = builtin(f"gandini-{database}-1")
    choice = network.routing["switch"]["*"]
    assert isinstance(choice, dict)
    cpu = network.station("cpu")
    demand_s = sum(
        choice[f"network/{name}"] * cpu.service[name].mean_s for name in ("read", "write")
    )
    assert cpu.servers / demand_s == pytest.approx(saturation_per_s(database)[0])


def test_only_mongodbs_writes_go_to_one_node() -> None:
    by_chance = dict.fromkeys(["cpu1", "cpu2", "cpu3", "cpu4"], 0.25)
    assert builtin("gandini-mongodb-4").routing["network"] == {"read": by_chance, "write": "cpu1"}
    for database in ("cassandra", "hbase"):
        assert builtin(f"gandini-{database}-4").routing["network"] == {"*": by_chance}


@pytest.mark.parametrize("database", ["cassandra", "mongodb"])
def test_copies_are_a_fork_to_every_node_and_a_join_of_all(database: str) -> None:
    network = builtin(f"gandini-{database}-4x4")
    [fork] = network.forks
    assert fork.branches == ("cpu1", "cpu2", "cpu3", "cpu4")
    assert (fork.join, fork.late) == (None, "serve")


def test_every_configuration_of_the_paper_is_there() -> None:
    names = {f"gandini-{d}-{n}{f'x{c}' if c > 1 else ''}" for d, n, c in CONFIGURATIONS}
    assert names == {name for name in BUILTIN if name.startswith("gandini")}


def test_what_the_paper_leaves_open_can_be_set() -> None:
    network = builtin(
        "gandini-hbase-1", ["users=7", "client_service=50us", "client_cores=8", "cpu=fcfs"]
    )
    client = network.station("client")
    assert (network.users, client.servers, client.service["*"].mean_s) == (7, 8, 5e-5)
    assert network.station("cpu").discipline == "fcfs"
    assert network.routing["switch"]["*"] == {
        "network/read": 0.5,
        "network/write": 0.5 * demands("hbase").flush_probability,
        "client/write": 0.5 * (1 - demands("hbase").flush_probability),
    }


@pytest.mark.parametrize("level", ["one", "quorum", "all"])
def test_reads_ask_as_many_as_they_wait_for_and_writes_ask_all(level: str) -> None:
    network = builtin(f"quorum-{level}", ["nodes=5"])
    asked = {"one": 1, "quorum": 2, "all": 3}[level]
    reading, writing = network.forks
    assert (reading.copies, reading.join, reading.late) == (asked, asked, "serve")
    assert reading.classes == ("record", *["digest"] * (asked - 1))
    assert (writing.copies, writing.join) == (3, asked)
    assert writing.classes == ("own", "written", "written")
    assert len(reading.branches) == 5


@pytest.mark.parametrize(
    ("sizes", "read_s", "write_s"),
    [
        ({"nodes": 1, "replication": 1}, 0.0, 0.01),
        ({"nodes": 3, "replication": 3}, 0.0, 0.01),
        ({"nodes": 4, "replication": 1}, 0.75, 0.76),
        # Of three others one is soon there.
        ({"nodes": 6, "replication": 3}, 0.5, 0.01 + 0.5 / 3),
        ({"nodes": 6, "replication": 3, "coordinator": "replica"}, 0.0, 0.01),
        ({"nodes": 6, "replication": 3, "coordinator": "leader"}, 0.0, 0.01),
        ({"nodes": 7, "replication": 2, "coordinator": "leader", "write": "all"}, 0.0, 1.01),
        ({"nodes": 2, "replication": 2, "read": "all", "write": "all"}, 1.0, 1.01),
    ],
)
def test_a_coordinators_own_copy_needs_no_network(
    sizes: dict[str, object], read_s: float, write_s: float
) -> None:
    nothing = ("read_cpu", "write_cpu", "read_uncached", "write_uncached")
    settings = {"users": 1, "read": "one", "write": "one", **dict.fromkeys(nothing, 0.0), **sizes}
    settings |= {"client_round_trip": 0.1, "node_round_trip": 1.0, "write_wait": 0.01}
    for share, expected_s in ((1.0, read_s), (0.0, write_s)):
        network = quorum(Quorum.model_validate(settings | {"read_share": share}))
        found = simulate(network, replications=4, precision=0.02).throughput_per_s
        assert found is not None
        assert 1 / found.value == pytest.approx(0.1 + expected_s, rel=0.04)


def test_leaders_do_what_others_have_no_part_in() -> None:
    """Of seven nodes in sets of three, one is left over; reads load the leaders alone."""
    network = quorum(Quorum(nodes=7, coordinator="leader", read="one"))
    (chain,) = check(network).chains
    used = {name: s for name, s in chain.demands_s.items() if name.startswith("cpu")}
    assert set(used) == {f"cpu{i}" for i in range(1, 7)}
    assert used["cpu1"] == pytest.approx(used["cpu4"])
    others = [used[f"cpu{i}"] for i in (2, 3, 5, 6)]
    assert others == pytest.approx([0.5 * Quorum().write_cpu_s / 2] * 4)
    assert used["cpu1"] == pytest.approx(others[0] + 0.5 * Quorum().read_cpu_s / 2)
    reads = quorum(Quorum(nodes=3, coordinator="leader", read="one", read_share=1.0))
    assert {one.name for one in reads.stations} == {"client", "network", "link1", "cpu1", "disk1"}


def processor_s(network: Network) -> float:
    """Processor time of an operation, of all nodes and of everything that it causes."""
    chains = check(network).chains
    rate = sum(chain.arrivals_per_s or 1.0 for chain in chains)
    return sum(
        seconds * (chain.arrivals_per_s or 1.0) / rate
        for chain in chains
        for name, seconds in chain.demands_s.items()
        if name.startswith("cpu")
    )


@settings(max_examples=60, deadline=None)
@given(s=clusters())
def test_an_operation_costs_its_coordinator_and_each_copy_elsewhere(s: Quorum) -> None:
    """Wherever that is done: on nodes, on one machine, by users or at a rate, in regions."""
    read_s = s.read_cpu_s + (s.asked - s.own_share) * s.copy_cpu_s["read"]
    write_s = s.write_cpu_s + (s.waited - 1) * s.acknowledged_cpu_s
    write_s += (s.replication - s.own_share) * s.copy_cpu_s["write"]
    expected_s = s.read_share * read_s + (1 - s.read_share) * write_s
    shared = s.model_copy(update={"shared": True})
    regions = ("iowa", "oregon")[: s.replication]
    for network in (quorum(s), quorum(shared), arrivals(s, 9.0), arrivals(s, 9.0, regions)):
        assert processor_s(network) == pytest.approx(expected_s, rel=1e-9)


def test_only_reads_need_no_writing() -> None:
    network = quorum(Quorum(read_share=1.0))
    assert [fork.name for fork in network.forks] == ["reading"]
    assert network.routing["client"] == {"*": "network/read"}


def test_copies_waited_for_are_a_majority() -> None:
    assert [copies_waited_for("quorum", copies) for copies in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("name", "assignments", "said"),
    [
        ("gandini-casandra-1", [], "there is no network 'gandini-casandra-1'"),
        ("quorum-all", ["nods=3"], "--set nods=3: quorum-all has no setting 'nods'"),
        ("quorum-all", ["nodes"], "--set nodes: should be KEY=VALUE"),
        ("quorum-all", ["read=two"], "--set read=: should be 'one', 'quorum' or 'all', not 'two'"),
        ("quorum-all", ["replication=9"], "9 copies on 3 nodes: each needs a node of its own"),
        ("none.yaml", [], "none.yaml: there is no such file"),
    ],
)
def test_mistakes_are_named(name: str, assignments: list[str], said: str) -> None:
    with pytest.raises(InputError) as raised:
        network_named(name, assignments)
    assert raised.value.message.startswith(said)
