"""One customer's way: its own stays add up, siblings meet, and many cycles are what is solved."""

from __future__ import annotations

import pytest

from pacelc.errors import InputError
from pacelc.networks import Network, builtin, solve, trace_customer

NODE = builtin("gandini-cassandra-1")


@pytest.mark.parametrize("name", ["gandini-cassandra-1", "gandini-mongodb-4x4", "quorum-quorum"])
def test_own_stays_follow_one_another_and_add_up_to_the_response(name: str) -> None:
    found = trace_customer(builtin(name), cycles=50, after_s=0.2, seed=2)
    assert len(found.cycles) == 50
    assert found.cycles[0].from_s >= 0.2
    for cycle in found.cycles:
        now_s = cycle.from_s
        for stay in cycle.own:
            assert stay.from_s == pytest.approx(now_s, abs=1e-9)
            assert stay.waited_s is not None
            assert stay.served_s is not None
            now_s = stay.from_s + stay.waited_s + stay.served_s
        assert now_s - cycle.from_s == pytest.approx(cycle.response_s, abs=1e-9)
    one, other = found.cycles[:2]
    assert other.from_s >= one.from_s + one.response_s


def test_a_quorum_is_waited_for_and_not_more() -> None:
    found = trace_customer(builtin("quorum-quorum"), "write", cycles=20)
    for cycle in found.cycles:
        [fork] = [stay for stay in cycle.own if stay.at.startswith("fork ")]
        assert fork.waited_s is not None
        # Sibling 1 is the coordinator's own copy, which is there at once unless it needs the disk.
        own = [stay for stay in cycle.stays if stay.job == 1]
        assert {stay.job for stay in cycle.stays} - {1} == {0, 2, 3}
        ends = [] if own else [fork.from_s]
        for job in (1, 2, 3) if own else (2, 3):
            last = [stay for stay in cycle.stays if stay.job == job][-1]
            if last.waited_s is not None and last.served_s is not None:
                ends.append(last.from_s + last.waited_s + last.served_s)
        # A sibling that isn't waited for may be under way when the cycle is over.
        in_time = [end for end in ends if end <= fork.from_s + fork.waited_s + 1e-9]
        assert len(in_time) >= 2


@pytest.mark.slow
def test_cycles_of_a_class_end_in_it_and_are_what_is_solved() -> None:
    exact = solve(NODE)
    for name in ("read", "write"):
        found = trace_customer(NODE, name, cycles=2000, after_s=0.1)
        assert {cycle.own[-1].class_ for cycle in found.cycles} == {name}
        mean_s = sum(cycle.response_s for cycle in found.cycles) / 2000
        assert mean_s == pytest.approx(exact.of_class(name).response_s, rel=0.15)


def test_frames_hold_every_stay_and_where_the_time_went() -> None:
    found = trace_customer(NODE, cycles=300)
    frame = found.frame()
    assert frame.height == sum(len(cycle.stays) for cycle in found.cycles)
    assert frame.get_column("cycle").n_unique() == 300
    times = found.time_frame()
    assert times.get_column("at").to_list()[0] == "network"
    assert set(times.get_column("at")) == {"network", "cpu", "disk"}
    assert times.get_column("share").sum() == pytest.approx(1)
    assert times.filter(at="network").item(0, "stays") == 1
    mean_s = sum(cycle.response_s for cycle in found.cycles) / 300
    assert times.select("waited_s", "served_s").sum_horizontal().sum() == pytest.approx(mean_s)


def test_the_slowest_are_kept_in_the_order_of_time() -> None:
    found = trace_customer(NODE, cycles=100)
    slow = found.slowest(5).cycles
    assert len(slow) == 5
    assert [cycle.from_s for cycle in slow] == sorted(cycle.from_s for cycle in slow)
    least = min(cycle.response_s for cycle in slow)
    assert sum(cycle.response_s >= least for cycle in found.cycles) == 5


def test_the_same_seed_goes_the_same_way() -> None:
    assert trace_customer(NODE, seed=4) == trace_customer(NODE, seed=4)
    assert trace_customer(NODE, seed=4) != trace_customer(NODE, seed=5)


def test_of_an_open_class_one_customer_comes_after_the_other() -> None:
    line = Network.parse("""
classes: [{name: job, interarrival: 2ms}]
stations: [{name: server, service: {job: 1ms}}]
routing: {source: {job: server}, server: {job: sink}}
""")
    found = trace_customer(line, cycles=5)
    assert [len(cycle.stays) for cycle in found.cycles] == [1] * 5


def test_whom_nobody_can_follow_is_named() -> None:
    with pytest.raises(InputError, match="there is no class 'reed'") as caught:
        trace_customer(NODE, "reed")
    assert caught.value.hint == "did you mean read?"
    with pytest.raises(InputError, match="class written: only siblings are of it"):
        trace_customer(builtin("quorum-one"), "written")
    with pytest.raises(InputError, match="0 cycles: should be 1 or more"):
        trace_customer(NODE, cycles=0)
    alone = Network.parse("""
classes: [{name: a, users: 1, reference: s}, {name: b}]
stations: [{name: s, service: {'*': 1ms}}, {name: t, service: {'*': 1ms}}]
routing: {s: {a: t/b, b: t/b}, t: {b: s/a}}
""")
    # At its last station it is a b: no cycle ends as an a.
    with pytest.raises(InputError, match=r"class a: 0 of 10,000 cycles ended in it"):
        trace_customer(alone, "a")
