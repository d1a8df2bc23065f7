"""What is seen while a network changes keeps the laws, and is what must happen."""

from __future__ import annotations

import pytest

from pacelc.errors import InputError
from pacelc.networks import Network, builtin, simulate_changes, solve
from pacelc.networks.changes import Servers, Users, down, up, words

NODE = builtin("gandini-cassandra-1")


def test_without_a_change_it_is_the_steady_state() -> None:
    found = simulate_changes(NODE, [], until_s=2.0, intervals=4, seed=3)
    frame = found.frame()
    assert frame.get_column("from_s").to_list() == [0.0, 0.5, 1.0, 1.5]
    exact = solve(NODE)
    for row in frame.iter_rows(named=True):
        assert row["throughput_per_s"] == pytest.approx(exact.throughput_per_s, rel=0.03)
        assert row["response_s"] == pytest.approx(exact.response_s, rel=0.05)
        assert row["throughput_per_s_low"] < row["throughput_per_s"] < row["throughput_per_s_high"]
    queues = found.station_frame().filter(name="cpu").get_column("queue")
    assert queues.to_list() == pytest.approx([exact.station("cpu").queue] * 4, rel=0.03)


def test_a_station_that_is_down_serves_nobody_and_all_wait_there() -> None:
    changes = [down(NODE, "cpu", 1.0), up(NODE, "cpu", 2.0)]
    found = simulate_changes(NODE, changes, until_s=3.0, intervals=6, seed=3)
    rows = found.frame().to_dicts()
    # What was past the processor when it went down still ends.
    assert rows[2]["throughput_per_s"] < 100
    assert rows[3]["throughput_per_s"] == 0
    assert rows[3]["response_s"] is None
    assert rows[3]["response_s_low"] is None
    # Nobody was lost, and who waited for a second was that late.
    exact = solve(NODE)
    assert rows[5]["throughput_per_s"] == pytest.approx(exact.throughput_per_s, rel=0.03)
    assert rows[4]["response_s"] > 1.5 * exact.response_s
    cpu = found.station_frame().filter(name="cpu").to_dicts()
    assert cpu[3]["queue"] == pytest.approx(NODE.users, abs=1e-6)
    assert cpu[3]["utilisation"] == 0


def test_half_of_the_servers_do_half_of_the_work() -> None:
    found = simulate_changes(NODE, [Servers(1.0, "cpu", 1)], until_s=3.0, intervals=3, seed=3)
    rates = found.frame().get_column("throughput_per_s").to_list()
    assert rates[2] == pytest.approx(rates[0] / 2, rel=0.03)


def test_users_come_and_go() -> None:
    changes = [Users(1.0, "read", 1), Users(2.0, "read", 40)]
    found = simulate_changes(NODE, changes, until_s=3.0, intervals=3, seed=3)
    rates = found.frame().get_column("throughput_per_s").to_list()
    for rate, users in zip(rates, (20, 1, 40), strict=True):
        exact = solve(NODE.with_users(users)).throughput_per_s
        assert rate == pytest.approx(exact, rel=0.05)


def test_the_same_seed_sees_the_same() -> None:
    changes = [down(NODE, "disk", 0.1)]
    one, other = (simulate_changes(NODE, changes, until_s=0.2, seed=5) for _ in range(2))
    assert one == other
    assert one != simulate_changes(NODE, changes, until_s=0.2, seed=6)


def test_each_chain_has_its_rows() -> None:
    two = Network.parse("""
classes: [{name: fast, users: 2}, {name: slow, users: 3}]
stations: [{name: think, kind: delay, service: {fast: 1ms, slow: 5ms}},
           {name: cpu, service: {'*': 1ms}}]
routing: {think: {'*': cpu}, cpu: {'*': think}}
""")
    frame = simulate_changes(two, [Users(0.1, "slow", 1)], until_s=0.2, intervals=2).frame()
    assert frame.get_column("chain").to_list() == ["fast", "slow"] * 2


def test_changes_have_words() -> None:
    said = [
        words(change, NODE)
        for change in (
            down(NODE, "cpu", 1.0),
            up(NODE, "cpu", 2.0),
            Servers(3.0, "cpu", 1),
            Users(4.0, "read", 1),
            Users(4.0, "read", 7),
        )
    ]
    assert said == ["cpu down", "cpu up", "cpu: 1 server", "read: 1 user", "read: 7 users"]


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (Servers(0.1, "cpuu", 0), "there is no station 'cpuu'", "did you mean cpu?"),
        (Servers(0.1, "network", 0), "network is a delay", "client, cpu, disk"),
        (Users(0.1, "reed", 1), "there is no class 'reed'", "did you mean read?"),
        (Servers(9.0, "cpu", 0), "cpu down at 9 s: simulated until 1 s", "simulate for longer"),
        (Servers(-1.0, "cpu", 0), "a change at -1 s", None),
    ],
)
def test_what_cant_change_is_named(change: Servers | Users, message: str, hint: str | None) -> None:
    with pytest.raises(InputError, match=message) as caught:
        simulate_changes(NODE, [change], until_s=1.0)
    if hint is not None:
        assert hint in str(caught.value.hint)


def test_siblings_arent_users() -> None:
    with pytest.raises(InputError, match="of class written don't begin at a reference"):
        simulate_changes(builtin("quorum-one"), [Users(0.1, "written", 1)], until_s=1.0)


def test_a_time_that_cant_be_is_refused() -> None:
    with pytest.raises(InputError, match="a transient should have an end"):
        simulate_changes(NODE, [], until_s=0.0)
    with pytest.raises(InputError, match="at least 2 replications"):
        simulate_changes(NODE, [], until_s=1.0, replications=1)
