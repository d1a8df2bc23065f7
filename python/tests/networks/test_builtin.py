"""The networks that come with pacelc say what their papers say."""

from __future__ import annotations

import math

import polars as pl
import pytest
from pydantic import ValidationError

from pacelc.errors import InputError
from pacelc.networks import BUILTIN, Network, Quorum, builtin, network_named, quorum
from pacelc.networks.quorum import copies_waited_for
from pacelc.networks.regional import arrivals
from pacelc.networks.simulate import simulate
from pacelc.networks.solve import check
from pacelc.papers.gandini_2014 import CONFIGURATIONS, demands, saturation_per_s


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
        found = simulate(network, replications=4, precision=0.01).throughput_per_s
        assert found is not None
        assert 1 / found.value == pytest.approx(0.1 + expected_s, rel=0.04)


@pytest.mark.parametrize("nodes", [3, 6])
@pytest.mark.parametrize("coordinator", ["replica", "leader"])
@pytest.mark.parametrize(
    ("write", "of_others", "journals"),
    [
        # Of two equal others the first takes half of a mean, the last one and a half.
        ("one", 0.0, 1.0),
        ("quorum", 0.5, 0.5),
        ("all", 1.5, 1.5),
    ],
)
def test_a_coordinator_may_write_before_it_asks_others(
    nodes: int, coordinator: str, write: str, of_others: float, journals: float
) -> None:
    nothing = ("read_cpu", "write_cpu", "read_uncached", "write_uncached", "read_share")
    settings = {"users": 1, "nodes": nodes, "write": write, "coordinator": coordinator}
    settings |= {**dict.fromkeys(nothing, 0.0), "own_first": True, "client_round_trip": 0.1}

    def seconds(**more: object) -> float:
        network = quorum(Quorum.model_validate(settings | more))
        found = simulate(network, replications=4, precision=0.005).throughput_per_s
        assert found is not None
        return 1 / found.value

    alone = seconds(node_round_trip=1.0)
    assert alone == pytest.approx(0.1 + of_others, rel=0.03)
    logged = seconds(node_round_trip=0.0, write_wait=1.0)
    assert logged == pytest.approx(0.1 + 1 + of_others, rel=0.03)
    # Its own journal is flushed while others are asked.
    flushed = seconds(node_round_trip=0.0, journal_wait=1.0, journaled=True)
    assert flushed == pytest.approx(0.1 + journals, rel=0.03)
    assert seconds(node_round_trip=0.0, journal_wait=1.0) == pytest.approx(0.1, rel=0.03)


@pytest.mark.parametrize(
    ("to", "write", "of_others"),
    [
        ("coordinator", "quorum", 0.5),
        ("coordinator", "all", 1.5),
        # A round takes as long for all who fetch.
        ("everyone", "quorum", 1.0),
        ("everyone", "all", 1.0),
    ],
)
def test_those_who_fetch_are_all_as_quick(to: str, write: str, of_others: float) -> None:
    nothing = ("read_cpu", "write_cpu", "read_uncached", "write_uncached", "read_share")
    settings = {"users": 1, "nodes": 3, "write": write, "coordinator": "leader"}
    settings |= {**dict.fromkeys(nothing, 0.0), "own_first": True, "acknowledged_to": to}
    settings |= {"client_round_trip": 20.0, "node_round_trip": 0.0, "remote_cpu": 1.0}
    network = quorum(Quorum.model_validate(settings))
    found = simulate(network, replications=4, precision=0.002).throughput_per_s
    assert found is not None
    assert 1 / found.value == pytest.approx(20 + of_others, abs=0.15)


def test_a_coordinator_that_holds_nothing_cannot_write_first() -> None:
    with pytest.raises(ValidationError, match="should be false where any node coordinates"):
        Quorum(own_first=True)


def test_read_repair_asks_all_and_waits_for_as_many_as_before() -> None:
    network = quorum(Quorum(read_repair=0.1, late="cancel"))
    repairing = network.forks[1]
    assert (repairing.name, repairing.copies, repairing.join) == ("repairing", 3, 2)
    assert repairing.late == "cancel"
    assert network.routing["cpu2"]["read"] == {"reading": 0.9, "repairing": 0.1}


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


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
@pytest.mark.parametrize("to", ["coordinator", "everyone"])
def test_a_write_that_waits_for_others_costs_by_how_many_there_are(copies: int, to: str) -> None:
    times = {"write_cpu": 0.0, "acknowledged_cpu": 1e-3, "nodes": 5, "replication": copies}
    told = copies - 1 if to == "coordinator" else math.comb(copies, 2)
    most = copies // 2 + 1
    # Of those that tell everyone, only as many do as are waited for.
    of_most = told if to == "coordinator" else most * (copies - 1) / 2
    for level, count in (("one", 0), ("quorum", of_most if most > 1 else 0), ("all", told)):
        of_copy = Quorum.model_validate(times | {"write": level, "acknowledged_to": to}).copy_cpu_s
        done_s = of_copy["own"] + (copies - 1) * of_copy["written"]
        assert done_s == pytest.approx(1e-3 * count)


def test_what_is_left_when_an_operation_is_answered_is_done_and_not_waited_for() -> None:
    sizes = {"users": 1, "nodes": 1, "replication": 1, "cores": 2, "read": "one", "write": "one"}
    times = {"read_cpu": 1e-3, "coordinator_after_cpu": 2e-3, "client_round_trip": 1e-3}
    none = {"read_uncached": 0.0, "node_round_trip": 0.0}
    rest = Quorum.model_validate({**sizes, **times, **none, "read_share": 1.0})
    found = simulate(quorum(rest), replications=4, precision=0.005, seed=1)
    rate, mean = found.throughput_per_s, found.class_estimates("read")[1]
    assert rate is not None
    assert mean is not None
    # Of two cores one is free for the next operation, but where two rests are left.
    assert 2e-3 < mean.value < 2.6e-3
    # All of it is done: 3 ms of processors each.
    (used,) = found.station_frame().filter(name="cpu1")["utilisation"]
    assert used == pytest.approx(rate.value * 3e-3 / 2, rel=0.01)
    # Users enough wait for all that there is to do.
    busy = simulate(quorum(rest.model_copy(update={"users": 50})), replications=4, seed=1)
    assert busy.throughput_per_s is not None
    assert busy.throughput_per_s.value == pytest.approx(2 / 3e-3, rel=0.01)


@pytest.mark.parametrize("coordinator", ["any", "leader"])
def test_what_copies_do_when_a_write_is_answered_is_done_and_not_waited_for(
    coordinator: str,
) -> None:
    sizes = {"users": 1, "coordinator": coordinator, "read": "one", "write": "one", "cores": 2}
    times = {"write_cpu": 0.0, "write_after_cpu": 1e-3, "client_round_trip": 2e-3}
    none = {"write_uncached": 0.0, "node_round_trip": 0.0, "read_share": 0.0}
    cluster = Quorum.model_validate({**sizes, **times, **none})
    found = simulate(quorum(cluster), replications=4, precision=0.005, seed=1)
    rate, mean = found.throughput_per_s, found.class_estimates("write")[1]
    assert rate is not None
    assert mean is not None
    # Nothing but the network is waited for, and three copies have a millisecond to do each.
    assert mean.value == pytest.approx(2e-3, rel=0.01)
    used = found.station_frame().filter(pl.col("name").str.starts_with("cpu"))["utilisation"]
    assert 2 * used.sum() == pytest.approx(rate.value * 3e-3, rel=0.01)
    assert used.to_list() == pytest.approx([used.mean()] * 3, rel=0.1)


@pytest.mark.parametrize("coordinator", ["any", "leader"])
def test_an_open_network_waits_for_what_is_left_as_for_the_rest(coordinator: str) -> None:
    mine = {"coordinator": coordinator, "read": "one"}
    whole = Quorum.model_validate({**mine, "coordinator_cpu": 0.75, "write_cpu": 0.125})
    times = {"coordinator_cpu": 0.25, "coordinator_after_cpu": 0.5}
    times |= {"write_cpu": 0.0625, "write_after_cpu": 0.0625}
    part = Quorum.model_validate({**mine, **times})
    assert arrivals(part, 100.0).to_json() == arrivals(whole, 100.0).to_json()
    there = ["iowa", "oregon"]
    assert arrivals(part, 100.0, there).to_json() == arrivals(whole, 100.0, there).to_json()


def test_only_reads_need_no_writing() -> None:
    network = quorum(Quorum(read_share=1.0))
    assert [fork.name for fork in network.forks] == ["reading"]
    assert network.routing["client"] == {"*": "network/read"}


def test_threads_that_wait_beside_idle_cores_are_served_by_as_many_as_there_are() -> None:
    network = quorum(Quorum(cores=4, scattered=1.0, discipline="siro"))
    cpu = network.station("cpu1")
    assert (cpu.servers, cpu.rates[0], cpu.rates[1]) == (4, 1.0, pytest.approx(8 / 5))
    # Shared ones are all at work on all that is there.
    assert quorum(Quorum(cores=4, scattered=1.0)).station("cpu1").servers == 1
    assert quorum(Quorum(cores=4, discipline="siro")).station("cpu1").rates == ()


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
