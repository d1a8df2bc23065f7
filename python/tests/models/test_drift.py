"""What runs share at a time is taken off, chance is left, and standard errors say what is known."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pacelc.models.configuration import configurations
from pacelc.models.drift import steadied
from pacelc.models.observations import Cluster, Observation

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIOS, REPETITIONS, APART_S = 30, 3, 2.5
CHANCE = 0.05


def truth(scenario: int) -> float:
    """Operations a second."""
    return 1000.0 * 1.05**scenario


def runs(
    seed: int,
    *,
    shared: float = 0.0,
    forgotten_s: float = 30.0,
    repetitions: int = REPETITIONS,
    slower: float | None = None,
    nodes: int = 3,
    chance: float = CHANCE,
    of_reads: float = 0.0,
) -> list[Observation]:
    """Runs in blocks, of which each has all scenarios in an order of its own.

    By chance throughput differs, and mean times of reads by themselves. On a machine whose speed,
    which was measured, differs by ``slower`` from run to run, of which throughput is the power of
    -1.5.
    """
    rng = np.random.default_rng(seed)
    numbers = [int(n) for _ in range(repetitions) for n in rng.permutation(SCENARIOS)]
    keeps = math.exp(-APART_S / forgotten_s)
    common = rng.normal(0, shared)
    found: list[Observation] = []
    for i, number in enumerate(numbers):
        common = keeps * common + rng.normal(0, shared * math.sqrt(1 - keeps**2))
        factor = math.exp(common + rng.normal(0, chance))
        step_ns: float | None = None
        if slower is not None:
            slow = slower * rng.normal(1 if nodes > 1 else -1, 1)
            step_ns = 1.1 * math.exp(slow)
            factor *= math.exp(-1.5 * slow)
        rate = truth(number) * factor
        cluster = Cluster(nodes, nodes, 1, 1, 8, 0.5, coordinator="replica", cores=2.0, shared=True)
        found.append(
            Observation(
                *(f"{number:04d}-{i}", number, (), cluster, rate / 2, rate / 2),
                latencies_s={
                    "read": 8 / rate * math.exp(rng.normal(0, of_reads)),
                    "write": 8 / rate,
                },
                p99_s={"read": 40 / rate, "write": 40 / rate},
                server_cores=1.5,
                client_cores=0.2,
                database="cassandra",
                started_unix_s=1e9 + 1e4 * nodes + i * APART_S,
                machine_step_ns=step_ns,
            )
        )
    return found


def means(
    found: list[Observation],
    rate: Callable[[Observation], float] = lambda one: one.throughput_per_s,
) -> np.ndarray:
    """Logarithms of means over truth, by scenario, less what is common to all."""
    of: dict[int, list[float]] = defaultdict(list)
    for one in found:
        of[one.scenario].append(math.log(rate(one) / truth(one.scenario)))
    values = np.array([np.mean(of[number]) for number in sorted(of)])
    return values - values.mean()


def off(found: list[Observation]) -> float:
    return float(np.sqrt(np.mean(means(found) ** 2)))


@pytest.mark.parametrize(("shared", "forgotten_s"), [(0.25, 10.0), (0.25, 30.0), (0.4, 120.0)])
def test_what_is_shared_at_a_time_is_taken_off(shared: float, forgotten_s: float) -> None:
    found = [runs(seed, shared=shared, forgotten_s=forgotten_s) for seed in range(5)]
    before = [off(one) for one in found]
    after = [off(steadied(one).observations) for one in found]
    assert np.mean(after) < 0.75 * np.mean(before)


def test_chance_is_not_taken_for_it() -> None:
    before = [off(runs(seed)) for seed in range(6)]
    after = [off(steadied(runs(seed)).observations) for seed in range(6)]
    assert np.mean(after) < 1.05 * np.mean(before)


@pytest.mark.parametrize(
    ("shared", "forgotten_s", "slower"),
    [(0.0, 30.0, None), (0.2, 10.0, None), (0.2, 60.0, None), (0.3, 300.0, None), (0.1, 30.0, 0.1)],
)
def test_standard_errors_are_what_means_are_off_by(
    shared: float, forgotten_s: float, slower: float | None
) -> None:
    squares: list[float] = []
    said: list[float] = []
    for seed in range(6):
        made = runs(seed, shared=shared, forgotten_s=forgotten_s, slower=slower)
        found = steadied(made).observations
        squares += (means(found) ** 2).tolist()
        said += [
            (one.standard_errors["throughput_per_s"] / one.measured["throughput_per_s"]) ** 2
            for one in configurations(found, frozenset())
        ]
    assert 0.8 < math.sqrt(np.mean(squares) / np.mean(said)) < 1.25


def test_chance_of_one_kind_is_no_larger_for_what_is_shared() -> None:
    """All of throughput was shared, which says nothing of reads' own scatter."""
    squares: list[float] = []
    said: list[float] = []
    for seed in range(6):
        made = runs(seed, shared=0.4, forgotten_s=120.0, chance=0.002, of_reads=0.1)
        found = steadied(made).observations
        squares += (means(found, lambda one: 1 / one.latencies_s["read"]) ** 2).tolist()
        said += [
            (one.standard_errors["read.latency_s"] / one.measured["read.latency_s"]) ** 2
            for one in configurations(found, frozenset())
        ]
    assert 0.8 < math.sqrt(np.mean(squares) / np.mean(said)) < 1.25


def test_throughput_and_latencies_change_together_and_clusters_keep_their_means() -> None:
    found = runs(1, shared=0.25)
    result = steadied(found)
    assert 0.1 < result.most["cassandra"] < 2
    for one, other in zip(found, result.observations, strict=True):
        assert one.run == other.run
        factor = other.throughput_per_s / one.throughput_per_s
        assert other.latencies_s["read"] == pytest.approx(one.latencies_s["read"] / factor)
        assert other.p99_s["write"] == pytest.approx(one.p99_s["write"] / factor)
        assert (other.server_cores, other.cluster) == (one.server_cores, one.cluster)
    levels = [
        np.mean([math.log(one.throughput_per_s) for one in those])
        for those in (found, result.observations)
    ]
    assert levels[0] == pytest.approx(levels[1])


def test_a_slow_machine_is_taken_off_and_more_so_where_its_speed_is_known() -> None:
    found = [runs(seed, slower=0.1) for seed in range(6)]
    unknown = [[replace(run, machine_step_ns=None) for run in one] for one in found]
    assert np.mean([off(one) for one in found]) > 1.5 * CHANCE / math.sqrt(REPETITIONS)
    known_off, unknown_off = (
        np.mean([off(steadied(one).observations) for one in those]) for those in (found, unknown)
    )
    assert known_off < 1.15 * CHANCE / math.sqrt(REPETITIONS)
    assert known_off < 0.7 * unknown_off


def test_a_cluster_measured_on_a_slow_machine_is_compared_as_on_the_same() -> None:
    def ratio(found: list[Observation]) -> float:
        logs: dict[int, list[float]] = {1: [], 3: []}
        for one in found:
            logs[one.cluster.nodes].append(math.log(one.throughput_per_s))
        return float(np.mean(logs[3]) - np.mean(logs[1]))

    found = [*runs(1, slower=0.1, nodes=1), *runs(2, slower=0.1, nodes=3)]
    assert ratio(found) < -0.2
    assert ratio(steadied(found).observations) == pytest.approx(0, abs=0.05)


def test_a_cluster_of_which_speeds_are_unknown_hides_no_other_ones() -> None:
    known = runs(2, slower=0.1)
    unknown = [replace(one, run=f"n1-{one.run}") for one in runs(3, nodes=1)]
    together = steadied([*known, *unknown]).observations
    assert off(together[: len(known)]) == pytest.approx(off(steadied(known).observations))


def test_what_else_is_fitted_changes_nothing() -> None:
    found = runs(2, slower=0.1)
    others = [
        replace(
            one,
            run=f"other-{one.run}",
            database="mongodb",
            machine_step_ns=2 * (one.machine_step_ns or 0),
            started_unix_s=one.started_unix_s + 1e6,
        )
        for one in runs(3, slower=0.1)
    ]
    assert steadied([*found, *others]).observations[: len(found)] == steadied(found).observations


def test_a_machine_that_has_nothing_to_do_with_it_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    found = [
        [replace(run, machine_step_ns=math.exp(rng.normal(0, 0.1))) for run in runs(seed)]
        for seed in range(6)
    ]
    after = [off(steadied(one).observations) for one in found]
    assert np.mean(after) < 1.05 * np.mean([off(one) for one in found])
    always_the_same = [replace(run, machine_step_ns=1.1) for run in found[0]]
    assert off(steadied(always_the_same).observations) < 1.1 * off(found[0])


def test_neither_order_nor_units_matter() -> None:
    found = runs(2, shared=0.25)
    usual = {one.run: one.throughput_per_s for one in steadied(found).observations}
    other = [
        replace(one, reads_per_s=7 * one.reads_per_s, writes_per_s=7 * one.writes_per_s)
        for one in found[::-1]
    ]
    again = steadied(other).observations
    assert [one.run for one in again] == [one.run for one in found[::-1]]
    assert {one.run: one.throughput_per_s / 7 for one in again} == pytest.approx(usual, rel=1e-3)


def test_without_repetitions_nothing_is_known_of_it() -> None:
    found = runs(3, shared=0.25, repetitions=1)
    assert steadied(found) == (found, {}, {}, {}, {}, {})


def of_study(one: Observation, study: str, factor: float) -> Observation:
    """The same run in a study whose clusters are so many times as fast."""
    return replace(
        one,
        study=study,
        run=f"{study}/{one.run}",
        reads_per_s=factor * one.reads_per_s,
        writes_per_s=factor * one.writes_per_s,
        latencies_s={kind: s / factor for kind, s in one.latencies_s.items()},
    )


def test_clusters_started_anew_count_as_their_mean() -> None:
    factors = {"monday": 1.1, "tuesday": 1 / 1.1}
    found = [
        of_study(one, study, factor)
        for seed, (study, factor) in enumerate(factors.items())
        for one in runs(seed, shared=0.1, forgotten_s=10.0)
    ]
    once = [
        replace(one, database="hbase", started_unix_s=one.started_unix_s + 1e6)
        for one in runs(1, shared=0.25)
    ]
    result = steadied([*found, *once])
    assert "hbase" in result.most
    assert result.observations[len(found) :] == steadied(once).observations
    result = result._replace(observations=result.observations[: len(found)])
    # Of what runs share at a time something is left in each cluster's own.
    assert list(result.anew) == ["cassandra"]
    assert result.anew["cassandra"] == pytest.approx(math.sqrt(2) * math.log(1.1), rel=0.5)
    level: dict[str, list[float]] = defaultdict(list)
    for one in result.observations:
        level[one.study].append(math.log(one.throughput_per_s))
        under_way = one.latencies_s["write"] * one.throughput_per_s
        assert under_way == pytest.approx(8)
    assert np.mean(level["monday"]) == pytest.approx(np.mean(level["tuesday"]))
    logs = [math.log(one.throughput_per_s) for one in found]
    assert np.mean([np.mean(those) for those in level.values()]) == pytest.approx(np.mean(logs))
    said = [
        one.standard_errors["throughput_per_s"] / one.measured["throughput_per_s"]
        for one in configurations(result.observations, frozenset())
    ]
    assert 0.7 < off(result.observations) / math.sqrt(np.mean(np.square(said))) < 1.3
    assert steadied(runs(0, shared=0.1)).anew == {}


def test_clusters_differ_beyond_what_all_of_their_study_do() -> None:
    """Studies by 30 %, and each cluster by 6 % of its own; of one study or kind nobody knows."""

    def differing(seed: int) -> list[Observation]:
        rng = np.random.default_rng(seed)
        return [
            of_study(
                replace(one, run=f"{nodes}/{one.run}", scenario=one.scenario + 100 * nodes),
                study,
                math.exp(faster + own),
            )
            for study, faster in (("a", rng.normal(0, 0.3)), ("b", 0.0), ("c", 0.3))
            for nodes in (1, 2, 3, 4)
            for own in (rng.normal(0, 0.06),)
            for one in runs(seed, chance=1e-3, nodes=nodes, repetitions=1)
        ]

    told = [steadied(differing(seed)).apart["cassandra"] for seed in range(40)]
    assert np.sqrt(np.mean(np.square(told))) == pytest.approx(0.06, rel=0.15)
    found = differing(1)
    assert steadied([one for one in found if one.study == "a"]).apart == {}
    assert steadied([one for one in found if one.cluster.nodes == 2]).apart == {}


def test_clusters_compare_by_what_they_have_in_common() -> None:
    # Of the first and the third no run is of the same scenario; of the last none is of another's.
    studies = {"a": (1.3, 0, 14), "b": (1.0, 10, 24), "c": (0.9, 20, 30), "apart": (2.0, 50, 60)}
    found = [
        replace(of_study(one, study, factor), scenario=number)
        for study, (factor, first, end) in studies.items()
        for one in runs(1, chance=1e-4)
        for number in (one.scenario + (50 if first >= SCENARIOS else 0),)
        if first <= number < end
    ]
    middle = math.prod(factor for factor, _, end in studies.values() if end <= SCENARIOS) ** (1 / 3)
    for one in steadied(found).observations:
        usual = 2.0 if one.study == "apart" else middle
        assert one.throughput_per_s == pytest.approx(usual * truth(one.scenario % 50), rel=2e-3)


def test_a_kind_that_one_study_alone_has_is_as_if_all_had_it() -> None:
    """Else what three nodes cost would be what the machine cost that only they were measured on."""
    studies = {
        "slow": (1.0, (1, 3)),
        "fast": (1.5, (1, 3)),
        "again": (1.5, (3,)),
        "one": (1.5, (2,)),
    }
    found = [
        of_study(
            replace(one, run=f"{nodes}/{one.run}", scenario=one.scenario + 100 * nodes),
            study,
            factor,
        )
        for study, (factor, sizes) in studies.items()
        for nodes in sizes
        for one in runs(1, chance=1e-4, nodes=nodes)
    ]
    steady = steadied(found).observations
    middle = (1.0 * 1.5 * 1.5) ** (1 / 3)
    for one in steady:
        # Of two nodes nothing says how fast the others were at the time.
        usual = 1.5 if one.study == "one" else middle
        rate = usual * truth(one.scenario % 100)
        assert one.throughput_per_s == pytest.approx(rate, rel=2e-3)


def test_what_little_speeds_differ_by_within_a_cluster_isnt_carried_to_another_machine() -> None:
    """Where it hardly differs, what throughput has to do with it is chance, other in each."""
    rng = np.random.default_rng(5)
    found = [
        of_study(
            replace(
                one,
                run=f"{nodes}/{one.run}",
                scenario=one.scenario + 100 * nodes,
                machine_step_ns=times * math.exp(rng.normal(0, 0.01)),
                started_unix_s=one.started_unix_s + 1e6 * times,
            ),
            study,
            1 / times,
        )
        for study, times in (("slow", 2.0), ("fast", 1.0))
        for nodes in (1, 2, 3)
        for one in runs(nodes, nodes=nodes)
    ]
    level: dict[int, list[float]] = defaultdict(list)
    for one in steadied(found).observations:
        level[one.cluster.nodes].append(
            math.log(one.throughput_per_s / truth(one.scenario % 100)) + math.log(2) / 2
        )
    assert [np.mean(those) for those in level.values()] == pytest.approx([0, 0, 0], abs=0.02)


def test_it_is_told_of_studies_that_their_machines_were_unlike() -> None:
    studies = {"monday": 1.5, "tuesday": 1.0, "wednesday": 3.0, "thursday": None}
    found = [
        replace(one, study=study, run=f"{study}/{one.run}", machine_step_ns=step_ns)
        for study, step_ns in studies.items()
        for one in runs(1, shared=0.1)
    ]
    assert steadied(found).machines == {"cassandra": 3.0}
    assert steadied(found[: len(found) // 4]).machines == {}


def test_it_is_told_of_clusters_for_which_their_machine_did_nobody_knows_how_much() -> None:
    """One was measured while it was faster, and hardly changed; others as it came and went."""
    rng = np.random.default_rng(7)
    study = "results"
    found = [
        of_study(one, study, 1.0) for nodes in (2, 4) for one in runs(1, slower=0.1, nodes=nodes)
    ]
    assert steadied(found).unsure == {}
    for one in runs(2, nodes=3):
        slow = rng.normal(-0.15, 0.015)
        found.append(
            replace(
                of_study(one, study, math.exp(-1.5 * slow)),
                run=f"n3-{one.run}",
                machine_step_ns=1.1 * math.exp(slow),
            )
        )
    ((database, (one,)),) = steadied(found).unsure.items()
    assert (database, one.study, one.cluster.nodes) == ("cassandra", study, 3)
    assert one.low < (1 + one.machine) ** 1.5 - 1 < one.high
    assert one.low < one.throughput < one.high
    assert math.log((1 + one.high) / (1 + one.low)) > 0.2


def test_each_cluster_has_its_own() -> None:
    quiet, restless = runs(4), runs(5, shared=0.3)
    smaller = [
        replace(
            one,
            run=f"n1-{one.run}",
            scenario=100 + one.scenario,
            cluster=one.cluster._replace(nodes=1, replication=1),
            started_unix_s=one.started_unix_s + 1000,
        )
        for one in quiet
    ]
    together = steadied([*restless, *smaller]).observations
    assert together[: len(restless)] == steadied(restless).observations
