"""Calibration gives back what made the runs, predicts others, refuses what can't be known."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from made_runs import (
    AVAILABLE,
    BESIDE,
    CLIENT,
    CLIENT_SHARED_BY,
    DELAYS,
    JOURNAL_S,
    JOURNAL_WAIT_S,
    LATER,
    MIXING,
    ROUND_S,
    SERVERS,
    SHARED_BY,
    WAKE_JOURNAL_S,
    clusters,
    made,
    truth,
)

from pacelc.cli.door import call
from pacelc.errors import InputError
from pacelc.models import work
from pacelc.models.calibration import Calibration
from pacelc.models.configuration import configurations
from pacelc.models.delays import fit_delays
from pacelc.models.fit import calibrate, fit
from pacelc.models.observations import observations
from pacelc.models.work import NotIdentified, SharedBy, fit_work, mixed, rates_of
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pacelc.models.observations import Cluster, Observation
    from pacelc.models.quorum import Coordinator


@pytest.fixture(scope="module")
def runs() -> list[Observation]:
    return [made(one, i) for i, one in enumerate(clusters(), start=1)]


@pytest.fixture(scope="module")
def apart() -> list[Observation]:
    """Of nodes that don't share a machine."""
    some = clusters(shared=False, cores=2)
    return [made(one, i) for i, one in enumerate(some, start=1)]


def noisy(one: Observation, rng: np.random.Generator, noise: float = 0.02) -> Observation:
    """The same run as it would be measured."""
    luck = rng.normal(1, noise, 8)
    return replace(
        one,
        reads_per_s=one.reads_per_s * luck[0],
        writes_per_s=one.writes_per_s * luck[0],
        latencies_s={k: v * luck[1 + i] for i, (k, v) in enumerate(one.latencies_s.items())},
        p99_s={k: v * luck[6 + i] for i, (k, v) in enumerate(one.p99_s.items())},
        server_cores=one.server_cores * luck[4],
        client_cores=one.client_cores * luck[5],
    )


def slower(one: Observation, factor: float) -> Observation:
    """The same run where processors are as busy, and get less done."""
    return replace(
        one, reads_per_s=one.reads_per_s / factor, writes_per_s=one.writes_per_s / factor
    )


def test_saturated_runs_that_scatter_have_no_background(runs: list[Observation]) -> None:
    rng = np.random.default_rng(5)
    alike = [slower(one, float(rng.lognormal(0, 0.3))) for one in runs for _ in range(3)]
    background = fit_work(alike).servers["background"]
    assert background.value == pytest.approx(SERVERS["background"], abs=0.05)


def test_exact_runs_give_every_term_back(runs: list[Observation]) -> None:
    found = fit_work(runs)
    assert found.cautions == ()
    assert found.shared_by == SHARED_BY
    assert found.client_shared_by == CLIENT_SHARED_BY
    assert found.mixing is not None
    assert found.mixing.value == pytest.approx(MIXING, rel=1e-6)
    for name, value in SERVERS.items():
        assert found.servers[name].value == pytest.approx(value, rel=1e-6), name
    for name, value in CLIENT.items():
        assert found.client[name].value == pytest.approx(value, rel=1e-6), name


def test_servers_that_share_cores_do_less_besides_than_alone(runs: list[Observation]) -> None:
    work, alone = truth(), SERVERS["background"]
    three = next(run.cluster for run in runs if run.cluster.nodes == 3)
    assert work.background_cores(three._replace(nodes=1)) == alone
    assert work.background_cores(three) == pytest.approx(3 * alone / (1 + 2 * alone / 4))
    assert work.background_cores(three._replace(shared=False)) == alone
    # However much they would do, cores are all there is.
    greedy = replace(work, servers={"background": replace(work.servers["background"], value=4.0)})
    assert greedy.background_cores(three) == pytest.approx(4.0)


@pytest.mark.parametrize("coordinator", ["any", "replica"])
def test_what_it_costs_that_servers_take_turns_is_told_where_they_do(
    coordinator: Coordinator,
) -> None:
    seen = [made(one, i) for i, one in enumerate(clusters(coordinator=coordinator), start=1)]
    found = fit_work(seen)
    for name in ("spread", "background"):
        assert found.seconds(name) == pytest.approx(SERVERS[name], rel=1e-6)
    apart = clusters(coordinator=coordinator, shared=False)
    each = [made(one, i) for i, one in enumerate(apart, start=1)]
    assert "spread" not in fit_work(each).servers


def test_requests_and_their_answers_are_turns_which_copies_that_nobody_waits_for_share(
    runs: list[Observation],
) -> None:
    one = next(
        run.cluster
        for run in runs
        if run.cluster.replication == 3 and run.cluster.waited == 1 and run.cluster.users == 64
    )
    alone = one._replace(read_share=0.0, reading=0.0)

    def turns(cluster: Cluster, reads_per_s: float = 0.0, writes_per_s: float = 1.0) -> float:
        return rates_of(cluster, reads_per_s, writes_per_s)["spread"] / math.log2(3)

    # Of a node's 64 / 3 writes at a time; each has a turn of its own, and two copies elsewhere.
    assert turns(alone) == pytest.approx(1 + 2 * 2 / (64 / 3) ** 0.5)
    # Two requests, and as many answers; each of three servers has a core.
    assert turns(alone._replace(waited=2)) == pytest.approx(1 + 2 * 2)
    assert turns(one._replace(asked=3), 1.0, 0.0) == pytest.approx(1 + 2 * 2)
    assert turns(one._replace(asked=2), 1.0, 0.0) == pytest.approx(1 + 2)
    # On two cores a third of them come to one that has none, and are taken with half of the others.
    crowded = 2 / 3 + 1 / 3 / (64 / 3 / 2) ** 0.5
    assert turns(alone._replace(waited=2, cores=2)) == pytest.approx(1 + 2 * 2 * crowded)
    assert turns(one._replace(asked=3, cores=2), 1.0, 0.0) == pytest.approx(1 + 2 * 2 * crowded)
    assert turns(one._replace(waited=2, cores=2, users=6)) == pytest.approx(1 + 2 * 2)
    # Two in three operations go elsewhere, and are waited for.
    elsewhere = alone._replace(replication=1)
    assert turns(elsewhere) == turns(elsewhere, 1.0, 0.0) == pytest.approx(1 + 2 * 2 / 3)


def fetching() -> Iterator[Cluster]:
    for one in clusters(coordinator="leader"):
        yield one._replace(acknowledged_to="everyone")


@pytest.mark.parametrize(
    ("coordinator", "waited", "users", "round_s", "together"),
    [
        # Of the writes under way half are in a round, and half wait for the next.
        ("any", 3, 8, 0.004, 4),
        # Those who fetch take turns: what comes meanwhile, and a sixth of those under way,
        ("leader", 3, 8, 0.0002, 2 * 0.3 + 8 / 6),
        ("leader", 3, 1, 0.0002, 1),
        # but who waits finds no more than a third of the others.
        ("leader", 3, 8, 0.004, 1 + 7 / 3),
        ("leader", 3, 1, 0.004, 1),
        # Who doesn't wait comes while others are copied,
        ("any", 1, 1, 0.004, 6),
        ("any", 1, 1, 0.0001, 1),
        ("any", 1, 8, 0.002, 4),
        # which those who follow a leader are one after another.
        ("leader", 1, 1, 0.004, 0.5 + 2 * 6),
        ("leader", 1, 1, 0.0001, 1),
        ("leader", 1, 8, 0.002, 4 + 2 * 3),
    ],
)
def test_copies_are_made_in_rounds(
    coordinator: Coordinator, waited: int, users: int, round_s: float, together: float
) -> None:
    one = next(one for one in fetching() if one.replication == 3)._replace(
        coordinator=coordinator,
        waited=waited,
        users=users,
        read_share=0.0,
        reading=0.0,
        writing_per_s=1500.0,
    )
    assert one.copied_at_a_time(round_s) == pytest.approx(together)
    alone = one._replace(replication=1, waited=1)
    assert alone.copied_at_a_time(round_s) == alone.writes_at_a_time
    assert one.copied_at_a_time(None) == one.writes_at_a_time
    at_once, in_rounds = (
        rates_of(one, 0.0, 1500.0, SharedBy(copies=1.0, round_s=s))["wake_remote"]
        for s in (0.0, round_s)
    )
    assert at_once * one.copied_at_a_time(0.0) == pytest.approx(in_rounds * together)


def test_how_long_a_round_takes_is_told_by_writes_that_wait_for_none() -> None:
    seen = [made(one, i, round_s=ROUND_S) for i, one in enumerate(fetching(), start=1)]
    found = fit_work(seen)
    assert found.shared_by == SHARED_BY._replace(round_s=ROUND_S)  # and nobody is awake
    assert found.client_shared_by == CLIENT_SHARED_BY._replace(round_s=ROUND_S)
    for name in ("wake", "wake_remote", "wake_acknowledged", "spread"):
        assert found.servers[name].value == pytest.approx(SERVERS[name], rel=1e-6), name
    at_once = [made(one, i) for i, one in enumerate(fetching(), start=1)]
    assert fit_work(at_once).shared_by.round_s is None


@pytest.mark.parametrize(("those", "told_s"), [(fetching, ROUND_S), (clusters, 0.0)])
def test_writes_that_wait_tell_how_long_a_round_takes_of_those_who_fetch(
    those: Callable[[], Iterator[Cluster]], told_s: float
) -> None:
    waiting = [one for one in those() if one.waited > 1 or one.replication == 1]
    seen = [made(one, i, round_s=ROUND_S) for i, one in enumerate(waiting, start=1)]
    assert fit_work(seen).shared_by.round_s == told_s


def test_what_servers_make_each_other_dearer_is_told_where_they_share_a_machine() -> None:
    share = 0.3
    seen = [made(one, i, dearer=share) for i, one in enumerate(clusters(), start=1)]
    found = fit_work(seen)
    assert found.shared_by == SHARED_BY._replace(dearer=share)
    for name, value in SERVERS.items():
        assert found.servers[name].value == pytest.approx(value, rel=1e-6), name
    three = next(one.cluster for one in seen if one.cluster.nodes == 3)
    dearer = 1 + share * math.log2(3)
    plain, told = (one.demands_s(three) for one in (truth(), found))
    own = {"coordinator": SERVERS["coordinator"], "read": SERVERS["read"]}
    own |= {"write": SERVERS["write"], "digest": SERVERS["digest"]}
    for name, value in own.items():
        more = told[f"{name}_cpu_s"] - plain[f"{name}_cpu_s"]
        mixing = 1 + MIXING * mixed(three.read_share)
        assert more == pytest.approx((dearer - 1) * value * mixing, rel=1e-6), name
    # Nobody makes anybody's dearer on a machine of their own.
    apart = three._replace(shared=False)
    assert found.demands_s(apart) == pytest.approx(truth().demands_s(apart), rel=1e-6)


@pytest.mark.slow
def test_what_chance_alone_would_leave_makes_nothing_dearer(runs: list[Observation]) -> None:
    rng = np.random.default_rng(2)
    told = [fit_work([noisy(one, rng) for one in runs]).shared_by.dearer for _ in range(6)]
    assert sum(share > 0 for share in told) <= 1


def test_where_processors_are_awake_an_operation_alone_takes_less() -> None:
    seen = [made(one, i, awake=True) for i, one in enumerate(fetching(), start=1)]
    found = fit_work(seen)
    assert found.shared_by == SHARED_BY._replace(awake=True)
    assert found.client_shared_by == CLIENT_SHARED_BY._replace(awake=True)
    assert found.seconds("switch") == pytest.approx(SERVERS["wake"], rel=1e-6)
    assert found.client["switch"].value == pytest.approx(CLIENT["wake"], rel=1e-6)
    assert "wake" not in found.servers

    def taken(users: int, replication: int = 1) -> float:
        one = seen[0].cluster._replace(users=users, replication=replication, read_share=0.0)
        return rates_of(one, 0.0, 1.0, found.shared_by)["switch"]

    assert (taken(1), taken(2), taken(64)) == pytest.approx((0, 1 / 2, 63 / 64))
    # Nor is one alone that others copy.
    assert taken(1, 2) == taken(2)


def test_what_wakes_those_who_follow_a_leader_keeps_no_copy_of_its_own() -> None:
    work = truth()
    led = next(one for one in fetching() if one.replication == 3 and one.waited == 3)
    led = led._replace(shared=False, users=1, read_share=0.0)
    any_node = led._replace(coordinator="any", entries=3)
    alone = led._replace(replication=1, waited=1)

    def of(cluster: Cluster, name: str) -> float:
        return work.demands_s(cluster)[f"{name}_cpu_s"]

    assert of(led, "write") == of(alone, "write")
    assert of(led, "remote") == pytest.approx(SERVERS["remote"] + SERVERS["wake_remote"])
    assert of(any_node, "remote") == SERVERS["remote"]
    woken_s = 2**0.5 * SERVERS["wake_remote"] / 3
    assert of(any_node, "write") == pytest.approx(of(alone, "write") + woken_s)


@pytest.mark.slow
def test_what_journals_take_is_told_where_nobody_else_is_waited_for() -> None:
    """Of three copies, at a level at which writes wait for journals, nothing is fitted."""
    # Of one copy writes wait for the journal, or don't; of three only a majority's do.
    some = [one for one in fetching() if one.users < 64 and one.read_share in {0.0, 0.5, 1.0}]
    some = [one._replace(journaled=one.waited == 2, asked=1) for one in some]
    some += [one._replace(journaled=True) for one in some if one.replication == 1]
    seen = [made(one, i, simulated=True, seed=i) for i, one in enumerate(some, start=1)]
    held = [run for run in seen if run.cluster.waited == 2]
    work = fit_work([run for run in seen if run not in held])
    assert work.seconds("journal") == pytest.approx(JOURNAL_S, rel=1e-6)
    assert work.seconds("wake_journal") == pytest.approx(WAKE_JOURNAL_S, rel=1e-6)
    busy = held[0].cluster._replace(users=64, read_share=0.0, reading=0.0)
    journal = work.journal(busy)
    assert journal is not None
    assert journal.value == pytest.approx(JOURNAL_S / 64**0.5, rel=1e-6)
    rates = rates_of(busy, 0.0, 1.0)
    assert (rates["journal"], rates["wake_journal"]) == (pytest.approx(1 / 64**0.5), 1)

    result = calibrate(seen, frozenset(run.run for run in held))
    assert result.errors(fitted=False, network=True)["throughput_per_s"] < 0.03
    assert result.errors(fitted=False, network=True)["write.latency_s"] < 0.05
    calibration = result.calibration
    assert calibration is not None
    assert calibration.journaled == ("quorum",)
    # As many share it as at most were under way.
    assert calibration.demands["journal_cpu"].value == pytest.approx(JOURNAL_S / 16**0.5, rel=1e-6)
    woken = calibration.demands["wake_journal_cpu"].value
    assert woken == pytest.approx(WAKE_JOURNAL_S, rel=1e-6)
    assert calibration.demands["journal_wait"].value == pytest.approx(JOURNAL_WAIT_S, rel=0.1)
    again = Calibration.parse(calibration.to_yaml())
    most, one = (again.settings(nodes=3, write=level) for level in ("quorum", "one"))
    assert most.written_wait_s == one.written_wait_s + calibration.demands["journal_wait"].value

    without = fit_work([run for run in seen if not run.cluster.journaled])
    assert "writes that wait for journals and writes that don't" in str(
        without.unknown(held[0].cluster)
    )


def test_servers_that_share_a_machine_are_kept_awake_by_all_of_its_users(
    runs: list[Observation], apart: list[Observation]
) -> None:
    def woken(seen: Sequence[Observation]) -> float:
        one = next(run.cluster for run in seen if run.cluster.nodes == 3)
        return rates_of(one._replace(users=12), 6.0, 6.0)["wake"]

    assert woken(runs) == pytest.approx(12 / 12)
    assert woken(apart) == pytest.approx(12 / 4)


def test_what_leaves_a_node_together_wakes_it_less_than_as_often(runs: list[Observation]) -> None:
    one = next(
        run.cluster for run in runs if run.cluster.replication == 3 and run.cluster.waited == 3
    )._replace(users=1)

    def woken(cluster: Cluster) -> tuple[float, float, float]:
        rates = rates_of(cluster, 0.0, 1.0)
        return rates["wake_remote"], rates["wake_acknowledged"], rates["acknowledged"]

    # Requests leave together; acknowledgements come as they are ready.
    assert woken(one) == pytest.approx((2**0.5, 2**0.5, 2))
    # One that isn't waited for comes to a node that is awake.
    assert woken(one._replace(waited=2)) == pytest.approx((2**0.5, 1, 2))
    # Each tells each of the others: three pairs, at different nodes.
    assert woken(one._replace(acknowledged_to="everyone")) == pytest.approx((2**0.5, 3, 3))
    # Those who follow a leader fetch by themselves.
    assert woken(one._replace(coordinator="leader")) == pytest.approx((2, 2**0.5, 2))
    # A node that doesn't hold a copy, one of three, sends two; one that does, sends one.
    two = one._replace(replication=2, waited=2)
    assert woken(two) == pytest.approx((2 / 3 + 2**0.5 / 3, 1, 1))
    assert woken(one._replace(replication=1, waited=1)) == pytest.approx((2 / 3, 0, 0))


def test_a_plan_from_writes_that_wait_for_none_knows_what_an_acknowledgement_takes(
    runs: list[Observation],
) -> None:
    """Demands are taken of one cluster, which may be one whose writes wait for one copy."""
    work = fit_work(runs)
    clusters = (run.cluster for run in runs if run.cluster.replication == 3)
    one = next(cluster for cluster in clusters if cluster.waited == 1)
    one = one._replace(shared=False, read_share=0.0)
    alone, last = (
        work.demands_s(one._replace(waited=copies, users=1))["acknowledged_cpu_s"]
        for copies in (1, 3)
    )
    # Two of a write that waits for three wake it √2 times, or each of them 1 / √2.
    own = work.seconds("acknowledged")
    assert alone - own == pytest.approx((last - own) * 2**0.5)
    assert alone > own


def test_two_numbers_of_users_do_not_tell_how_much_is_shared(runs: list[Observation]) -> None:
    found = fit_work([one for one in runs if one.cluster.users in {1, 4}])
    assert found.shared_by == found.client_shared_by == SharedBy()
    assert any("measure three numbers of users" in caution for caution in found.cautions)


def test_two_mixes_do_not_tell_what_mixing_takes(runs: list[Observation]) -> None:
    found = fit_work([one for one in runs if one.cluster.read_share in {0.0, 1.0}])
    assert found.mixing is None
    assert any("measure three mixes" in caution for caution in found.cautions)


def test_many_mixes_tell_what_mixing_takes_as_well_as_few() -> None:
    tenths = [
        made(one._replace(read_share=share), 10 * i + round(10 * share))
        for i, one in enumerate(clusters(), start=1)
        if one.read_share == 0.5
        for share in np.linspace(0, 1, 11).tolist()
    ]
    mixing = fit_work(tenths).mixing
    assert mixing is not None
    assert mixing.value == pytest.approx(MIXING, rel=1e-6)
    # Chance alone makes no mixes of one.
    rng = np.random.default_rng(1)
    half = [
        made(one._replace(read_share=one.read_share + float(rng.normal(0, 0.02))), i)
        for i, one in enumerate((one for one in clusters() if one.read_share in {0.25, 0.75}), 1)
    ]
    assert fit_work(half).mixing is None


@pytest.mark.slow
def test_intervals_hold_the_truth_at_their_rate(
    runs: list[Observation], monkeypatch: pytest.MonkeyPatch
) -> None:
    # All times of rounds and exponents, of 400 fits, would take minutes.
    monkeypatch.setattr(work, "_ROUNDS_S", (0.0, ROUND_S))
    monkeypatch.setattr(work, "_EXPONENTS", ((0.5, 0.5), (1.0, 0.5), (1.0, 0.75), (1.5, 0.5)))
    held = dict.fromkeys(SERVERS, 0)
    for seed in range(400):
        rng = np.random.default_rng(seed)
        seen = [slower(one, 1 / rng.normal(1, 0.03)) for one in runs]
        found = fit_work(seen)
        for name, value in SERVERS.items():
            held[name] += not found.servers[name].excludes(value)
    # 95 % of 400, within three standard errors.
    assert all(367 <= count <= 393 for count in held.values()), held


@pytest.fixture(scope="module")
def simulated() -> list[Observation]:
    some = [one for one in clusters() if one.read_share in {0.0, 0.25, 0.5, 1.0}]
    return [made(one, i, simulated=True, seed=i) for i, one in enumerate(some, start=1)]


Held = dict[str, "Callable[[Observation], bool]"]
HELD: Held = {
    "users, mix": lambda one: one.cluster.users == 16 or one.cluster.read_share == 0.5,
    "level": lambda one: one.cluster.waited == 2,
    "all copies": lambda one: one.cluster.waited == 3,
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HELD)
def test_runs_made_by_the_simulator_are_predicted(what: str, simulated: list[Observation]) -> None:
    """With the noise of real ones, configurations that weren't fitted are as promised."""
    rng = np.random.default_rng(1)
    seen = [noisy(one, rng) for one in simulated]
    held = frozenset(one.run for one in seen if HELD[what](one))
    found = calibrate(seen, held)
    part = found.table.filter(~pl.col("fitted"))
    assert part.height == len(held)
    assert part.get_column("reason").null_count() == part.height
    limits = {"throughput_per_s": 0.10, "latency_s": 0.15, "p99_s": 0.25}
    for column in part.columns:
        if column.endswith(".error"):
            limit = next(v for k, v in limits.items() if k in column)
            worst = part.get_column(column).abs().max()
            assert isinstance(worst, float)
            assert worst < limit, column
    assert found.calibration is not None
    for name, value in DELAYS.items():
        demand = found.calibration.demands[name.removesuffix("_s")]
        assert demand.value == pytest.approx(value, rel=0.35), name
    host = found.calibration.host
    cores = next(one.cluster.cores for one in seen)
    assert host.available_cores == pytest.approx(AVAILABLE * cores, rel=0.02)
    # Of runs made once; made twice, they tell where.
    assert 0 < host.woken_beside < 1
    assert 0 < host.written_later < 1


@pytest.mark.slow
@pytest.mark.parametrize("what", HELD)
def test_what_waking_up_is_beside_is_told_by_runs_made_twice(
    what: str, simulated: list[Observation]
) -> None:
    """Of runs made once, with such noise, its interval is 0.1 to 0.6."""
    rng = np.random.default_rng(1)
    seen = [
        noisy(replace(one, run=f"{one.scenario:04d}-r{repetition}"), rng)
        for repetition in (1, 2)
        for one in simulated
    ]
    fitted = [one for one in seen if not HELD[what](one)]
    waits = fit_delays(configurations(fitted, frozenset()), fit_work(fitted)).waits
    assert waits.woken_beside == pytest.approx(BESIDE, abs=0.2)
    assert waits.written_later == pytest.approx(LATER, abs=0.2)


@pytest.fixture(scope="module")
def simulated_apart() -> list[Observation]:
    some = [one for one in clusters(shared=False, cores=2) if one.read_share in {0.0, 0.5, 1.0}]
    return [made(one, i, simulated=True, seed=i) for i, one in enumerate(some, start=1)]


@pytest.mark.slow
def test_nodes_of_their_own_are_predicted(simulated_apart: list[Observation]) -> None:
    seen = simulated_apart
    held = frozenset(one.run for one in seen if one.cluster.users == 16)
    errors = calibrate(seen, held).errors(fitted=False)
    assert errors["throughput_per_s"] < 0.05
    assert max(errors.values()) < 0.1


@pytest.mark.slow
def test_copies_that_nobody_waits_for_do_not_tell_how_far_they_are() -> None:
    """They would be put as far off as can be, and simulated for ever."""
    some = (one for one in clusters(coordinator="replica") if one.asked == one.waited == 1)
    seen = [made(one, i) for i, one in enumerate(some, start=1) if one.users != 64]
    found = calibrate(seen)
    assert found.calibration is not None
    assert found.calibration.demands["node_round_trip"].value == 0
    assert found.errors(fitted=True)["throughput_per_s"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("noise", [(0.1, 0.1), (0.02, 0.18)])
def test_a_perfect_model_errs_as_runs_scatter(
    noise: tuple[float, float], runs: list[Observation]
) -> None:
    rng = np.random.default_rng(3)
    seen = [
        replace(noisy(one, rng, noise[one.scenario // 4 % 2]), run=f"{one.scenario:04d}-r{i}")
        for one in runs
        for i in (1, 2, 3)
        if one.cluster.replication == 1
    ]
    held = frozenset(one.run for one in seen if one.cluster.users == 16)
    found = calibrate(seen, held)
    # 10 % of each run in the mean, three of them: 0.8 of a standard error.
    assert found.chance()["throughput_per_s"] == pytest.approx(0.8 * 0.1 / 3**0.5, rel=0.3)
    by_size = found.chance_by_size()
    assert list(by_size) == ["1 node, 1 copy", "3 nodes, 1 copy"]
    assert list(by_size.values()) == pytest.approx([0.8 * 0.1 / 3**0.5] * 2, rel=0.3)
    assert calibrate(runs[:40], held).chance() == {}


@pytest.mark.slow
def test_a_perfect_model_errs_as_clusters_differ_where_nothing_of_their_size_was_fitted(
    fewer_results: Path, tmp_path: Path, runs: list[Observation]
) -> None:
    """Two of each kind, of which those of three copies differ by a fifth, others by 1 %."""
    names = {path.name for path in (fewer_results / "runs").iterdir()}
    again = tmp_path / "again"
    factors = {1: 1.01, 3: 1.2}
    write_runs(
        again,
        [slower(one, factors[one.cluster.replication]) for one in runs if one.run in names],
    )
    for hold, of_clusters in (("users=16", False), ("replication=3", True)):
        (found,), _ = fit([fewer_results, again], [hold])
        assert found.apart > 0.05
        assert set(found.table["clusters"]) == {2}
        # Runs of either are the same but for that, which is taken off.
        by_chance = math.sqrt(2 / math.pi) * found.apart / math.sqrt(2) if of_clusters else 0.0
        assert found.chance()["throughput_per_s"] == pytest.approx(by_chance, abs=1e-3)
        assert max(found.chance_by_size().values()) < 1e-3


def refusal(found: Sequence[Observation]) -> str:
    result = calibrate(found)
    assert result.calibration is None
    return f"{result.reason} | {result.hint}"


def test_one_mix_cannot_tell_reads_from_writes(runs: list[Observation]) -> None:
    text = refusal([one for one in runs if one.cluster.read_share == 0.5])
    assert "demands of reads and writes can't be told apart: runs have too similar mixes" in text
    assert "0, 25, 50, 75 and 100 % reads" in text


def test_one_load_cannot_tell_the_background(runs: list[Observation]) -> None:
    same = [one for one in runs if one.cluster.users == 16 and one.cluster.nodes == 1]
    assert "the background can't be told from the operations" in refusal(same)


def test_runs_without_writes_are_refused(runs: list[Observation]) -> None:
    assert "no run has writes" in refusal([one for one in runs if one.cluster.read_share == 1])


def test_few_runs_have_no_errors(runs: list[Observation]) -> None:
    assert "3 runs can't give a background and demands" in refusal(runs[:3])


@pytest.mark.parametrize("used", [0.0, float("nan")])
def test_unknown_processor_time_is_refused(used: float, runs: list[Observation]) -> None:
    with pytest.raises(NotIdentified, match="processor time isn't known"):
        fit_work([replace(runs[0], server_cores=used), *runs[1:]])


@pytest.mark.slow
def test_one_node_does_not_tell_what_three_cost_a_machine(runs: list[Observation]) -> None:
    held = frozenset(one.run for one in runs if one.cluster.nodes == 3)
    others = calibrate(runs, held).table.filter(~pl.col("fitted"))
    assert others.get_column("throughput_per_s.predicted").null_count() == others.height
    reasons = others.get_column("reason").to_list()
    assert any("measure one node and several, on one machine" in reason for reason in reasons)


def test_one_node_does_not_tell_what_copies_and_nodes_cost(apart: list[Observation]) -> None:
    one_node = [one for one in apart if one.cluster.nodes == 1]
    held = frozenset(one.run for one in apart if one.cluster.nodes == 3)
    found = calibrate(apart, held)
    assert found.work is not None
    assert "coordinator: can't be told from the others" in "; ".join(found.work.cautions)
    others = found.table.filter(~pl.col("fitted"))
    known = others.filter(pl.col("throughput_per_s.predicted").is_not_null())
    # But reads of the coordinator's own copy are as on one node.
    own = [one.run for one in apart if one.cluster.asked == 1 and one.cluster.replication == 3]
    assert 0 < known.height < len(own)
    assert (
        known.get_column("configuration").str.contains("3 copies, waits for 1/1, 100% reads").all()
    )
    assert known.get_column("throughput_per_s.error").abs().max() < 0.05  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
    reasons = " ".join(others.get_column("reason").drop_nulls().unique())
    assert "measure one node and several, with fewer copies than nodes" in reasons
    fitted = found.table.filter(pl.col("fitted"))
    assert fitted.height == len(one_node)
    assert max(found.errors(fitted=True).values()) < 0.05
    # What couldn't be checked isn't said to have been.
    assert found.calibration is not None
    assert len(found.calibration.errors) == known.height
    assert found.calibration.checked.levels == ("one",)
    assert found.calibration.checked.read_share == (1, 1)


@pytest.mark.slow
def test_three_nodes_tell_what_one_saves_if_some_reads_stay_at_their_coordinator(
    apart: list[Observation], simulated_apart: list[Observation]
) -> None:
    held = frozenset(one.run for one in simulated_apart if one.cluster.nodes == 1)
    errors = calibrate(simulated_apart, held).errors(fitted=False)
    assert errors["throughput_per_s"] < 0.05
    held = frozenset(one.run for one in apart if one.cluster.nodes == 1)
    elsewhere = [one for one in apart if one.cluster.nodes == 1 or one.cluster.replication == 1]
    table = calibrate(elsewhere, held).table.filter(~pl.col("fitted"))
    assert table.get_column("throughput_per_s.predicted").null_count() == table.height


def test_copies_on_every_node_do_not_tell_what_a_hop_costs(runs: list[Observation]) -> None:
    """A coordinator has a copy of its own there: others are hops, and copies written or asked."""
    spread = [one for one in runs if one.cluster.nodes > one.cluster.replication]
    found = fit_work([one for one in runs if one not in spread])
    for one in spread:
        assert "with fewer copies than nodes" in str(found.unknown(one.cluster))


def test_digests_are_as_reads_where_they_cannot_be_told(runs: list[Observation]) -> None:
    quorum = [one for one in runs if one.cluster.asked == one.cluster.waited == 2]
    found = fit_work(quorum)
    assert "digest" not in found.servers
    assert found.unknown(quorum[0].cluster) is None
    assert "isn't in the runs fitted" in str(found.unknown(runs[0].cluster))


def test_digests_left_out_are_as_reads(runs: list[Observation]) -> None:
    asked = [one for one in runs if one.cluster.asked == one.cluster.waited == 2]
    # One run alone asks less, and is no reason to tell what a digest takes.
    few = next(one for one in runs if one.cluster.nodes == 3 and one.cluster.read_share == 0.25)
    rare = replace(few, cluster=few.cluster._replace(read_share=0.001), reads_per_s=1e-4)
    found = fit_work([*asked, rare])
    assert "digest" not in found.servers
    assert any("digest" in caution for caution in found.cautions)
    demands = found.demands_s(asked[-1].cluster)
    assert demands["read_cpu_s"] < SERVERS["read"] + SERVERS["digest"]


def write_runs(path: Path, seen: Sequence[Observation]) -> None:
    """Write runs as `pacelc run` would have."""
    now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    factors = {
        "nodes": [1, 3],
        "replication": [1, 3],
        "consistency": ["ONE", "QUORUM", "ALL"],
        "mix": ["0", "0.25", "0.5", "0.75", "1"],
        "users": [1, 4, 16],
    }
    with Store.open(
        path, create={"name": "fit", "factors": factors}, pacelc_version="0.1.0", now=now
    ) as store:
        for one in seen:
            _write(store, one, now)


def _write(store: Store, one: Observation, now: datetime) -> None:
    measured_s, cluster = 10.0, one.cluster
    rates = {"read": one.reads_per_s, "update": one.writes_per_s}
    times = {
        "read": one.latencies_s.get("read", 0.0),
        "update": one.latencies_s.get("write", 0.0),
    }
    operations: dict[str, Any] = {
        kind: {
            "ok": round(rate * measured_s),
            "latency_ns": {
                "n": round(rate * measured_s),
                "mean": times[kind] * 1e9,
                "p99": times[kind] * 4e9,
            },
        }
        for kind, rate in rates.items()
        if rate > 0
    }
    resources = pl.DataFrame(
        [
            {
                "t_s": t,
                "phase": "measure",
                "node": f"n{n}",
                "role": "node",
                "cpu_user_s": t * one.server_cores / cluster.nodes,
                "cpu_system_s": 0.0,
            }
            for n in range(cluster.nodes)
            for t in (0.0, 10.0)
        ]
    )
    missing = [
        pl.lit(None, dtype=t).alias(c)
        for c, t in RESOURCES_SCHEMA.items()
        if c not in resources.columns
    ]
    level = {1: "ONE", 2: "QUORUM", 3: "ALL"}[cluster.waited]
    settings = {
        "database": "cassandra",
        "users": cluster.users,
        "nodes": cluster.nodes,
        "replication": cluster.replication,
        "client_options": {"coordinator": "round-robin"},
    }
    store.write_run(
        one.run,
        {
            "study": "fit",
            "run": one.run,
            "scenario": {
                "number": one.scenario,
                "factors": {
                    "nodes": cluster.nodes,
                    "replication": cluster.replication,
                    "consistency": level,
                    "mix": f"{cluster.read_share:g}",
                    "users": cluster.users,
                },
                "settings": settings,
            },
            "repetition": 1,
            "seed": one.scenario,
            "started_utc": now,
            "pacelc": "0.1.0",
            "versions": {"cassandra": "5.0.2", "python": "3"},
            "machine": {"cores": 4},
            "consistency": {"read": level, "update": level},
            "result": {
                "measured_s": measured_s,
                "operations": operations,
                "client": {
                    "cpu_user_s": one.client_cores * measured_s,
                    "cpu_system_s": 0.0,
                    "threads": 1,
                },
            },
        },
        pl.DataFrame(schema=SAMPLES_SCHEMA),
        resources.with_columns(missing),
        "#[Histogram log format version 1.3]\n#[StartTime: 0.0 (seconds since epoch)]\n",
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, runs: list[Observation]) -> Path:
    path = tmp_path_factory.mktemp("fit") / "results"
    write_runs(path, runs)
    return path


@pytest.fixture(scope="module")
def fewer_results(tmp_path_factory: pytest.TempPathFactory, runs: list[Observation]) -> Path:
    path = tmp_path_factory.mktemp("fewer") / "results"
    few = [one for one in runs if one.cluster.read_share in {0.0, 0.5, 1.0}]
    write_runs(path, [one for one in few if one.cluster.users < 64])
    return path


def test_stored_runs_are_read_as_they_were(results: Path, runs: list[Observation]) -> None:
    found, left_out = observations(load(results))
    assert left_out == {}
    for one, other in zip(found, runs, strict=True):
        mine, theirs = one.cluster, other.cluster
        assert mine._replace(read_share=0, asked=0, waited=0, reading=None) == theirs._replace(
            read_share=0, asked=0, waited=0, reading=None
        )
        assert mine.read_share == pytest.approx(theirs.read_share, abs=1e-3)
        assert one.server_cores == pytest.approx(other.server_cores)
        assert one.client_cores == pytest.approx(other.client_cores)
        if "write" in one.latencies_s:
            assert mine.waited == theirs.waited
            assert one.latencies_s["write"] == pytest.approx(other.latencies_s["write"])


def changed(results: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same runs with other records."""
    shutil.copytree(results, path)
    for file in path.glob("runs/*/run.json"):
        record = json.loads(file.read_text())
        change(record)
        file.write_text(json.dumps(record))
    return path


def test_runs_whose_servers_were_compiling_are_left_out(
    tmp_path: Path, fewer_results: Path
) -> None:
    path = shutil.copytree(fewer_results, tmp_path / "results")
    compiling, *others = sorted(path.glob("runs/*/run.json"))
    for file, cores in ((compiling, 3.9), (others[0], 1e-3)):
        file.write_text(json.dumps(json.loads(file.read_text()) | {"compiler_cores": cores}))
    found, left_out = observations(load(path))
    assert len(found) == len(others)
    assert [(count, "compiling" in why) for why, count in left_out.items()] == [(1, True)]


def test_runs_whose_reads_asked_further_replicas_are_left_out(
    tmp_path: Path, fewer_results: Path
) -> None:
    def hedge(record: dict[str, Any]) -> None:
        read = record["result"]["operations"].get("read", {"ok": 0})
        few = record["scenario"]["factors"]["users"] < 4
        record["result"]["client"]["hedges"] = 0 if few else read["ok"]

    path = changed(fewer_results, tmp_path / "results", hedge)
    asked = [one for one in load(path).runs.get_column("hedges_per_read") if one]
    found, left_out = observations(load(path))
    assert len(asked) > 0
    assert list(left_out.values()) == [len(asked)]
    assert "further replicas" in next(iter(left_out))
    assert len(found) == load(path).runs.height - len(asked)


def test_runs_whose_processors_were_kept_awake_have_a_model_of_their_own(
    tmp_path: Path, fewer_results: Path
) -> None:
    def wake(record: dict[str, Any]) -> None:
        record["scenario"]["settings"]["awake"] = True

    found, _ = observations(load(fewer_results, changed(fewer_results, tmp_path / "awake", wake)))
    asleep = [one for one in found if "awake" not in dict(one.group)]
    assert len(asleep) == len(found) / 2
    assert not {one.group for one in asleep} & {one.group for one in found if one not in asleep}
    assert not {one.scenario for one in asleep} & {
        one.scenario for one in found if one not in asleep
    }


def test_writes_of_two_kinds_have_one_level_and_no_percentile(
    tmp_path: Path, fewer_results: Path
) -> None:
    def at(level: str | None) -> Path:
        def change(record: dict[str, Any]) -> None:
            operations = record["result"]["operations"]
            if "update" in operations:
                operations["insert"] = operations["update"]
                record["consistency"]["insert"] = level or record["consistency"]["update"]

        return changed(fewer_results, tmp_path / str(level), change)

    found, left_out = observations(load(at(None)))
    assert left_out == {}
    assert all(("write" in one.latencies_s) == (one.writes_per_s > 0) for one in found)
    assert {kind for one in found for kind in one.p99_s} == {"read"}
    _, left_out = observations(load(at("ALL")))
    assert list(left_out) == ["updates and inserts waited for different numbers of copies"]


def test_a_factor_of_another_directory_is_none_of_its_own(
    tmp_path: Path, fewer_results: Path
) -> None:
    def tuned(record: dict[str, Any]) -> None:
        record["scenario"]["factors"]["heap"] = "2GiB"

    path = changed(fewer_results, tmp_path / "tuned", tuned)
    study = json.loads((path / "study.json").read_text())
    study["study"]["factors"]["heap"] = ["2GiB"]
    (path / "study.json").write_text(json.dumps(study))
    found, _ = observations(load(fewer_results, path))
    assert {one.group for one in found} == {(), (("heap", "2GiB"),)}


def test_levels_of_their_own_are_models_of_their_own_in_directories_that_do_not_vary_them(
    tmp_path: Path, fewer_results: Path
) -> None:
    def at(level: str, wal: str) -> Path:
        def change(record: dict[str, Any]) -> None:
            scenario = record["scenario"]
            del scenario["factors"]["consistency"]
            scenario["settings"] |= {"database": "hbase", "consistency": level}
            record["consistency"] = {"read": "STRONG", "update": wal}

        return changed(fewer_results, tmp_path / level, change)

    found, _ = observations(load(at("weak", "ASYNC_WAL"), at("strong", "FSYNC_WAL")))
    assert {dict(one.group)["consistency"] for one in found} == {"weak", "strong"}
    copied = next(one for one in found if one.cluster.replication == 3 and one.writes_per_s > 0)
    rates = rates_of(copied.cluster, 0.0, 5.0)
    # Copies get writes many at a time: each takes its work, and is no request.
    assert rates["write"] == 15
    assert rates["remote"] == rates["wake_remote"] == 0
    assert rates["spread"] == pytest.approx(5 * math.log2(3))


@pytest.mark.slow
def test_a_directory_gives_one_model_that_a_plan_reads(results: Path) -> None:
    (found,), _ = fit(results)
    assert found.name == "database cassandra"
    assert found.table.filter(~pl.col("fitted")).height == 33  # every third of 100
    assert found.errors(fitted=False)["throughput_per_s"] < 0.05
    assert found.calibration is not None
    again = Calibration.parse(found.calibration.to_yaml())
    assert again == found.calibration
    assert again.versions == {"cassandra": "5.0.2"}
    assert (again.host.shared, again.coordinator, again.machine.cores) == (True, "any", 4)
    # With the turns of it and its answer on three nodes, without which none was ever seen.
    request_s = SERVERS["remote"] + 2 * SERVERS["spread"] * math.log2(3)
    assert again.demands["remote_cpu"].value == pytest.approx(request_s, rel=0.02)
    # Waking up the others, of the most copies, as most of such writes at a time share it.
    write_s = SERVERS["write"] + SERVERS["wake_remote"] * 2**0.5 / 3 / (64 / 3) ** SHARED_BY.copies
    assert again.demands["write_cpu"].value == pytest.approx(write_s, rel=0.02)
    assert again.has_intervals
    assert again.checked.read_share == (0, 1)
    assert set(again.checked.levels) == {"one", "quorum", "all"}
    assert len(again.errors) == 33
    assert again.settings(nodes=3).write_wait_s == again.demands["write_wait"].value


@pytest.mark.slow
def test_the_command_leaves_what_a_plan_reads(
    fewer_results: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "models"
    assert call(["model", "fit", str(fewer_results), "--hold", "users=16", "--out", str(out)]) == 0
    printed = capfd.readouterr().out
    assert "processor: waking up for another node, if alone" in printed
    words = " ".join(printed.split())
    assert "3 nodes, 3 copies, waits for 2/2, 50% reads, 16 users held out" in words
    assert "the same, of the network alone held out" in words
    (path,) = out.iterdir()
    assert path.name == "cassandra.yaml"
    asked = ["--rate", "2k", "--mix", "50/50", "--p99", "20ms", "-c", str(path)]
    assert call(["plan", *asked, "--cores", "4"]) == 0
    printed = capfd.readouterr().out
    assert "demands    cassandra, measured by pacelc" in printed
    assert "certainty  it holds with" in printed


@pytest.mark.slow
@pytest.mark.parametrize("dearer", [0.0, 0.3])
def test_the_command_says_what_servers_make_each_other_dearer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], dearer: float
) -> None:
    some = [one for one in clusters() if one.users < 64 and one.read_share in {0.0, 0.5, 1.0}]
    results = tmp_path / "results"
    write_runs(results, [made(one, i, dearer=dearer) for i, one in enumerate(some, start=1)])
    assert call(["model", "fit", str(results)]) == 0
    printed = capfd.readouterr().out
    said = [line for line in printed.splitlines() if line.startswith("beside others: ")]
    line = (
        "beside others: what operations and copies take of their own is "
        "30% more with each doubling of the servers on a machine"
    )
    assert said == ([line] if dearer > 0 else [])


@pytest.mark.slow
def test_runs_that_scatter_too_much_to_tell_a_good_model_are_cautioned_of(
    fewer_results: Path,
    tmp_path: Path,
    runs: list[Observation],
    capfd: pytest.CaptureFixture[str],
) -> None:
    names = {path.name for path in (fewer_results / "runs").iterdir()}
    of_these = [one for one in runs if one.run in names]
    rng = np.random.default_rng(4)
    found: list[Path] = []
    for study in ("monday", "tuesday"):
        found.append(tmp_path / study)
        scatters = [
            slower(one, math.exp(rng.normal(0, 0.3 if one.cluster.replication > 1 else 0.02)))
            for one in of_these
        ]
        write_runs(found[-1], scatters)
    assert call(["model", "fit", *map(str, found), "--hold", "users=16"]) == 0
    printed = capfd.readouterr().out
    cautions = [line for line in printed.splitlines() if "perfect model would" in line]
    (caution,) = cautions
    assert re.fullmatch(
        r"caution: 3 nodes, 3 copies: runs scatter, so that a perfect model would be (1[2-9]|2\d)% "
        "off in throughput; measure for longer, or more often",
        caution,
    )


@pytest.mark.slow
def test_studies_made_twice_have_one_model_whose_runs_are_held_out_by_level(
    fewer_results: Path, tmp_path: Path, runs: list[Observation]
) -> None:
    names = {path.name for path in (fewer_results / "runs").iterdir()}
    again = tmp_path / "again"
    write_runs(again, [slower(one, 1.2) for one in runs if one.run in names])
    told: list[tuple[str, int, int]] = []
    (found,), _ = fit(
        [fewer_results, again], ["users=16", "nodes=1"], lambda *how_far: told.append(how_far)
    )
    assert found.anew == pytest.approx(math.log(1.2) / math.sqrt(2), rel=1e-3)
    held = found.table.filter(~pl.col("fitted"))
    assert held.height == 15 + 6
    assert set(found.table["runs"]) == {2}
    with pytest.raises(InputError, match="given twice"):
        fit([fewer_results, again, fewer_results])
    assert told == [("database cassandra", done, 45) for done in range(46)]
    with pytest.raises(InputError, match="should be FACTOR=LEVEL"):
        fit(fewer_results, ["usres=64"])
    with pytest.raises(InputError, match="no run has users 17") as unknown:
        fit(fewer_results, ["users=16,17"])
    assert "16" in str(unknown.value.hint)


def test_what_differs_between_directories_is_not_averaged(
    fewer_results: Path, tmp_path: Path
) -> None:
    def fewer_factors(record: dict[str, Any]) -> None:
        del record["scenario"]["factors"]["nodes"]

    def larger(record: dict[str, Any]) -> None:
        fewer_factors(record)
        record["scenario"]["settings"]["nodes"] += 3

    one = changed(fewer_results, tmp_path / "one", fewer_factors)
    other = changed(fewer_results, tmp_path / "other", larger)
    alone, _ = observations(load(one))
    both, _ = observations(load(one, other))
    numbers = {run.scenario for run in both}
    assert len(numbers) == 2 * len({run.scenario for run in alone})
    for number in numbers:
        assert len({run.cluster.nodes for run in both if run.scenario == number}) == 1


@pytest.mark.slow
def test_what_others_used_of_a_machine_makes_it_no_smaller(fewer_results: Path) -> None:
    found, _ = observations(load(fewer_results))
    shared = [
        replace(one, cluster=one.cluster._replace(cores=3.4, others_cores=0.6)) for one in found
    ]
    calibration = calibrate(shared, frozenset(one.run for one in shared[::3])).calibration
    assert calibration is not None
    assert calibration.machine.cores == 4
    # Of nodes with cores of their own nothing was checked.
    assert calibration.checked.cores is None
