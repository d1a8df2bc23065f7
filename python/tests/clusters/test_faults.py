"""Faults: who is hit, which pairs are cut, which links change; and that all of it is undone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.clusters import DATABASES, ClusterSpec, NodeDied
from pacelc.clusters.faults.injection import Injector
from pacelc.clusters.faults.rules import (
    CLIENT,
    FaultError,
    FaultSpec,
    changed_links,
    check_target,
    cuts,
    planned_nodes,
    resolve,
)

from .diary import Diary, Link, every_pair

NAMES = [f"n{i}" for i in range(1, 10)]


@st.composite
def parties(draw: st.DrawFn, most_targets: int | None = None) -> tuple[list[str], list[str]]:
    hosts = NAMES[: draw(st.integers(3, 9))]
    most = most_targets or len(hosts) - 1
    targets = draw(st.lists(st.sampled_from(hosts), min_size=1, max_size=most, unique=True))
    return hosts, targets


@given(parties())
def test_who_is_isolated_is_cut_from_everybody_and_nobody_else_is(
    given_: tuple[list[str], list[str]],
) -> None:
    hosts, targets = given_
    expected = {(a, b) for a, b in every_pair(hosts) if a in targets or b in targets}
    assert cuts("isolate", hosts, targets) == expected


@given(parties())
def test_a_split_cuts_across_both_ways_and_nothing_within(
    given_: tuple[list[str], list[str]],
) -> None:
    hosts, targets = given_
    expected = {(a, b) for a, b in every_pair(hosts) if (a in targets) != (b in targets)}
    assert cuts("split", hosts, targets) == expected


@given(parties())
def test_one_way_is_half_of_a_split(given_: tuple[list[str], list[str]]) -> None:
    hosts, targets = given_
    inward = cuts("one-way", hosts, targets, direction="in")
    outward = cuts("one-way", hosts, targets, direction="out")
    assert inward | outward == cuts("split", hosts, targets)
    assert not inward & outward
    assert all(b in targets and a not in targets for a, b in inward)
    assert {(b, a) for a, b in inward} == outward


@given(parties(most_targets=1))
def test_a_bridge_reaches_everybody_and_halves_do_not_reach_each_other(
    given_: tuple[list[str], list[str]],
) -> None:
    hosts, [bridge] = given_
    cut = cuts("bridge", hosts, [bridge])
    assert all(bridge not in pair for pair in cut)
    assert {(b, a) for a, b in cut} == cut
    rest = [host for host in hosts if host != bridge]
    reached = {frozenset({a, *(b for b in rest if b != a and (a, b) not in cut)}) for a in rest}
    assert len(reached) == 2
    sizes = sorted(map(len, reached))
    assert sum(sizes) == len(rest)
    assert sizes[1] - sizes[0] <= 1


def test_several_clients_go_with_one_side() -> None:
    clients = ["client-iowa", "client-tokyo"]
    cut = cuts("isolate", ["n1", "n2", "n3"], ["n1"], client="majority", clients=clients)
    assert {pair for pair in cut if pair[0] in clients} == {(one, "n1") for one in clients}
    assert not {pair for pair in cut if set(pair) <= set(clients)}


@given(
    parties(most_targets=1),
    st.sampled_from(["isolate", "split", "one-way", "bridge"]),
    st.sampled_from(["in", "out"]),
)
def test_the_client_goes_with_its_side(
    given_: tuple[list[str], list[str]], fault: str, direction: str
) -> None:
    hosts, targets = given_
    alone = cuts(fault, hosts, targets, direction=direction)
    assert not any(CLIENT in pair for pair in alone)
    for side in ("majority", "minority"):
        cut = cuts(fault, hosts, targets, direction=direction, client=side)
        assert {pair for pair in cut if CLIENT not in pair} == alone
        assert cut > alone
        # There is a node that the client is as: what is cut for it is cut for the client.
        as_client = [
            host
            for host in hosts
            if all(
                ((host, other) in cut) == ((CLIENT, other) in cut)
                and ((other, host) in cut) == ((other, CLIENT) in cut)
                for other in hosts
                if other != host
            )
            and (host, CLIENT) not in cut
            and (CLIENT, host) not in cut
        ]
        assert as_client
        if fault != "bridge":
            assert (as_client == targets) == (side == "minority")


@given(st.integers(1, 9), st.integers(0, 2**64 - 1))
def test_numbers_of_targets(number: int, seed: int) -> None:
    nodes = NAMES[:number]

    def hit(target: str) -> tuple[str, ...]:
        return resolve(target, nodes, primary=nodes[-1], regions={}, seed=seed)

    assert len(hit("one")) == 1
    assert 2 * len(hit("majority")) > number
    assert hit("all") == tuple(nodes)
    assert hit("primary") == (nodes[-1],)
    assert hit("one") == hit("one")
    if number > 1:
        assert hit("secondary") == (nodes[-2],)
    else:
        with pytest.raises(FaultError, match="secondary"):
            hit("secondary")
    if number >= 3:
        minority = hit("minority")
        assert 0 < 2 * len(minority) < number
        assert len(minority) == (number - 1) // 2
        assert set(minority) <= set(nodes)
    else:
        with pytest.raises(FaultError, match="minority"):
            hit("minority")


def test_one_is_another_with_another_seed() -> None:
    chosen = {resolve("one", NAMES, primary=None, regions={}, seed=seed) for seed in range(200)}
    assert chosen == {(name,) for name in NAMES}


def test_regions_names_and_nobody() -> None:
    regions = {"n1": ["iowa"], "n2": ["oregon-a", "oregon"], "n3": ["oregon-b", "oregon"]}
    nodes = ["n1", "n2", "n3"]

    def hit(target: str) -> tuple[str, ...]:
        return resolve(target, nodes, primary=None, regions=regions, seed=1, others=["master"])

    assert hit("region:oregon") == ("n2", "n3")
    assert hit("n2") == ("n2",)
    assert hit("master") == ("master",)
    for nobody in ("primary", "region:utah", "n9"):
        with pytest.raises(FaultError):
            hit(nobody)


@pytest.mark.parametrize("database", DATABASES)
def test_names_of_nodes_are_known_beforehand(database: str) -> None:
    plans = planned_nodes(ClusterSpec(database, nodes=3))
    check_target("majority", plans)
    for plan in plans:
        check_target(plan.name, plans)
    with pytest.raises(FaultError, match="no node 'node7'"):
        check_target("node7", plans)


# --- Links ---


def test_a_slow_link_is_slower_than_it_was_and_a_lossy_one_as_slow() -> None:
    own = {("a", "b"): Link(0.01, bandwidth_bps=1e6), ("b", "a"): Link(), ("b", "c"): Link(0.02)}
    slow, lossy = FaultSpec("slow", delay_s=0.1, jitter_s=0.01), FaultSpec("lossy", loss=0.5)
    assert changed_links(own, []) == {}
    assert changed_links(own, [(slow, ["a"])]) == {
        ("a", "b"): Link(0.11, 0.01, bandwidth_bps=1e6),
        ("b", "a"): Link(0.1, 0.01),
    }
    both = changed_links(
        own, [(slow, ["a"]), (lossy, ["c"]), (FaultSpec("slow", delay_s=1), ["c"])]
    )
    assert both["b", "c"] == Link(1.02, 0.0, 0.5, 0.0, 0.0)
    assert both["a", "b"].delay_s == pytest.approx(0.11)


# --- The injector, on servers and a network that only keep a diary ---


def injector(diary: Diary) -> Injector:
    return Injector(diary)  # pyright: ignore[reportArgumentType]


def test_each_fault_is_undone_when_it_ends_and_two_overlap() -> None:
    diary = Diary()
    faults = injector(diary)
    first = faults.begin(FaultSpec("isolate", "n1"), by="schedule", seed=1)
    second = faults.begin(FaultSpec("isolate", "region:at-n2"), by="hand", seed=1)
    assert second.nodes == ("n2",)
    assert diary.now_cut == every_pair(["n1", "n2", "n3"])
    assert first.begin_unix_us == 1_000
    faults.end(first)
    assert diary.now_cut == {(a, b) for a, b in every_pair(["n1", "n2", "n3"]) if "n2" in (a, b)}
    assert (first.active, second.active) == (False, True)
    faults.end(first)
    faults.heal()
    assert diary.now_cut == set()
    assert faults.active == ()
    slow = faults.begin(FaultSpec("slow", "n3", delay_s=0.2), by="hand", seed=1)
    assert diary.changes["n3 -> client"].delay_s == pytest.approx(0.21)
    assert len(diary.changes) == 6
    assert slow.details == {"delay_s": 0.2, "jitter_s": 0.0}
    faults.end(slow)
    assert diary.changes == {}
    assert diary.entries == []


def test_a_node_is_dead_while_anything_kills_it() -> None:
    diary = Diary()
    faults = injector(diary)
    restarted: list[tuple[str, int]] = []
    faults.on_restart = lambda node, pid: restarted.append((node, pid))
    one = faults.begin(FaultSpec("kill", "n1"), by="schedule", seed=1)
    everybody = faults.begin(FaultSpec("kill", "all"), by="schedule", seed=1)
    pause = faults.begin(FaultSpec("pause", "n1"), by="schedule", seed=1)
    assert diary.entries == ["kill n1", "kill n2", "kill n3"]
    faults.end(everybody)
    assert diary.entries[3:] == ["start n2", "start n3"]
    faults.end(one)
    # It comes back to be paused.
    assert diary.entries[5:] == ["start n1", "pause n1"]
    faults.end(pause)
    assert diary.entries[7:] == ["resume n1"]
    assert restarted == [("n2", 7), ("n3", 7), ("n1", 7)]
    assert one.begin_unix_us is not None
    assert one.end_unix_us is not None
    assert one.asked_unix_us <= one.begin_unix_us <= one.end_unix_us
    assert one.done == ["killed n1 (process 7)", "started n1 again (process 7)", "stopped n1"]


def test_a_kill_is_in_force_from_its_signal_on() -> None:
    diary = Diary()
    faults = injector(diary)
    diary.node("n1").before_signal_s = 0.2
    diary.node("n1").until_gone_s = 0.2
    record = faults.begin(FaultSpec("kill", "n1"), by="schedule", seed=1)
    assert record.begin_unix_us is not None
    assert record.begin_unix_us - record.asked_unix_us >= 200_000
    assert faults.clock.unix_us() - record.begin_unix_us >= 200_000


def test_what_can_not_be_undone_is_said_and_the_rest_is() -> None:
    diary = Diary(fails="start")
    faults = injector(diary)
    kill = faults.begin(FaultSpec("kill", "n1"), by="schedule", seed=1)
    faults.begin(FaultSpec("isolate", "n2"), by="schedule", seed=1)
    faults.heal()
    assert kill.error == "port in use"
    assert diary.now_cut == set()


def test_a_server_that_ends_because_of_a_fault_is_a_fault_too() -> None:
    diary = Diary()
    faults = injector(diary)
    pause = faults.begin(FaultSpec("pause", "n2"), by="schedule", seed=1)
    faults.end(pause)
    diary.dead.append("n2")
    faults.check_servers()
    record = faults.records[-1]
    assert (record.by, record.nodes, record.fault) == ("server", ("n2",), "kill")
    faults.heal()
    assert diary.entries == ["pause n2", "resume n2", "excuse n2", "start n2"]
    diary.dead.append("n1")
    with pytest.raises(NodeDied, match="n1"):
        faults.check_servers()
    # What hit it in an earlier run is no reason any more.
    diary.dead = ["n2"]
    with pytest.raises(NodeDied, match="n2"):
        faults.check_servers(since=len(faults.records))


def test_a_server_that_ends_only_when_all_is_healed_is_started_again() -> None:
    diary = Diary()
    faults = injector(diary)
    faults.end(faults.begin(FaultSpec("pause", "n2"), by="schedule", seed=1))
    diary.dead.append("n2")
    faults.settle(5, diary.entries.append)
    said = "n2 has ended by itself, because of a fault"
    assert diary.entries[2:] == ["settle", said, "excuse n2", "start n2", "settle"]
    diary.dead.append("n1")
    with pytest.raises(NodeDied, match="n1"):
        faults.settle(5, diary.entries.append)
    # One that ends whenever it is started isn't started for ever.
    diary.dead.append("n2")
    diary.dead.remove("n1")
    with pytest.raises(NodeDied, match="n2"):
        faults.settle(-1, diary.entries.append)


def test_a_partition_has_two_sides_and_servers_may_end_on_either() -> None:
    diary = Diary()
    faults = injector(diary)
    faults.begin(FaultSpec("isolate", "n1"), by="schedule", seed=1)
    diary.dead.append("n3")
    faults.check_servers()
    assert (faults.records[-1].by, faults.records[-1].nodes) == ("server", ("n3",))


def test_a_network_fault_without_a_network_is_refused() -> None:
    diary = Diary()
    diary.network = None
    faults = injector(diary)
    with pytest.raises(FaultError, match="isolate needs an emulated network"):
        faults.begin(FaultSpec("isolate", "n1"), by="hand", seed=1)
    with pytest.raises(FaultError, match="no node 'n7'"):
        faults.begin(FaultSpec("kill", "n7"), by="hand", seed=1)
    assert faults.records == []
