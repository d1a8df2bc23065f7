"""Planning: the sweep's solver against the engine's and the simulator, laws, answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.errors import InputError
from pacelc.networks import Refusal, check, solve, solve_all
from pacelc.calibration.document import Calibration, Checked, Demand, Host, calibration_named
from pacelc.planning import Candidate, Load, Machine, PriceList, candidates, plan
from pacelc.planning.cases import demands_of, whole
from pacelc.planning.confirm import confirm
from pacelc.planning.document import document
from pacelc.planning.losses import losses
from pacelc.planning.reasons import certainty, elasticities
from pacelc.planning.search import solve_clusters, solver_error
from pacelc.planning.solver import solve_many
from pacelc.networks.regional import arrivals, chances, placed

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.search import Row
    from pacelc.networks.quorum import Quorum

PAPER = calibration_named("gandini-2014-cassandra")
FULL = PAPER.model_copy(
    update={
        "demands": {
            **PAPER.demands,
            "coordinator_cpu": Demand(value=1e-4),
            "digest_cpu": Demand(value=0.8e-3),
            "read_repair": Demand(value=0.1),
            "read_uncached": Demand(value=0.6),
        }
    }
)
AFAR = FULL.model_copy(
    update={
        "demands": {
            **FULL.demands,
            "remote_cpu": Demand(value=2e-4),
            "acknowledged_cpu": Demand(value=3e-4),
            "write_wait": Demand(value=1e-3),
            "journal_cpu": Demand(value=2e-4),
            "wake_journal_cpu": Demand(value=5e-5),
            "journal_wait": Demand(value=1e-3),
        }
    }
)
LED = AFAR.model_copy(
    update={
        "coordinator": "leader",
        "acknowledged_to": "everyone",
        "journaled": ("quorum",),
        "demands": {**AFAR.demands, "read_repair": Demand(value=0.0)},
    }
)
LEVELS = ("one", "quorum", "all")
REGIONS = ((), ("iowa", "oregon"), ("iowa", "south-carolina", "oregon"))


def sure(calibration: Calibration, by: float) -> Calibration:
    """The same with intervals that reach so far to either side."""
    demands = {
        name: Demand(value=d.value, low=d.value * (1 - by), high=min(1.0, d.value * (1 + by)))
        for name, d in calibration.demands.items()
    }
    return calibration.model_copy(update={"demands": demands})


loads = st.builds(
    Load,
    rate_per_s=st.floats(10, 6_000),
    read_share=st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
    read=st.sampled_from(LEVELS),
    write=st.sampled_from(LEVELS),
    limit_s=st.just(0.02),
)
clusters = st.builds(
    lambda copies, more, cores: Candidate(copies + more, copies, Machine(cores=cores)),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 6),
)


def settings_of(load: Load, one: Candidate, calibration: Calibration) -> Quorum:
    return calibration.settings(
        nodes=one.nodes,
        cores=one.machine.cores,
        replication=one.replication,
        read=load.read,
        write=load.write,
        read_share=load.read_share,
    )


@settings(max_examples=40, deadline=None)
@given(load=loads, one=clusters)
def test_one_node_of_each_kind_stands_for_the_whole_network(load: Load, one: Candidate) -> None:
    """Utilisations are those of the engine's solution of all nodes; so are means, nearly."""
    solved = solve_many(whole(load, [one], demands_of(FULL)))
    network = arrivals(settings_of(load, one, FULL), load.rate_per_s)
    (found,) = solve_all([network])
    if isinstance(found, Refusal):
        assert found.error == "diverges"
        assert solved.busiest[0] >= 1 - 1e-9
        return
    used = {s.name: s.utilisation for s in found.stations}
    for i in range(1, one.nodes + 1):
        assert used[f"cpu{i}"] == pytest.approx(solved.cpu[0, 0], rel=1e-9)
        assert used.get(f"disk{i}", 0.0) == pytest.approx(solved.disk[0, 0], rel=1e-9)
    if solved.busiest[0] < 0.8:
        for kind in load.kinds:
            response_s = found.of_class(kind).response_s
            if one.replication == 1:  # nothing is split, and the class that leaves is the copy's
                response_s = next(c.response_s for c in found.chains if kind in c.classes)
            assert solved.mean_s[kind][0] == pytest.approx(response_s, rel=0.12)


@settings(max_examples=40, deadline=None)
@given(
    load=loads,
    one=clusters,
    coordinator=st.sampled_from(["any", "replica"]),
    to=st.sampled_from(["coordinator", "everyone"]),
    journaled=st.sampled_from([(), LEVELS]),
)
def test_requests_to_other_nodes_and_journals_load_processors(
    load: Load, one: Candidate, coordinator: str, to: str, journaled: tuple[str, ...]
) -> None:
    """By as much as in the network; one node has no others."""
    calibration = AFAR.model_copy(
        update={"coordinator": coordinator, "acknowledged_to": to, "journaled": journaled}
    )
    solved = solve_many(whole(load, [one], demands_of(calibration)))
    chains = check(arrivals(settings_of(load, one, calibration), load.rate_per_s)).chains
    offered = sum(c.demands_s["cpu1"] * c.arrivals_per_s for c in chains) / one.machine.cores
    assert solved.cpu[0, 0] == pytest.approx(offered, rel=1e-9)
    near = solve_many(whole(load, [one], demands_of(FULL)))
    assert (solved.cpu >= near.cpu * (1 - 1e-12)).all()
    if one.nodes == 1 and not journaled:
        assert solved.cpu == pytest.approx(near.cpu)


def test_writes_wait_for_journals_at_the_levels_that_do() -> None:
    one = Candidate(3, 3, Machine(cores=2))
    none = LED.model_copy(update={"journaled": ()})

    def mean_s(write: str, calibration: Calibration) -> float:
        load = Load.model_validate(
            {"rate_per_s": 1, "read_share": 0.0, "read": "one", "write": write, "limit_s": 0.1}
        )
        found = solve_many(whole(load, [one], demands_of(calibration)))
        return float(found.mean_s["write"][0])

    for write in ("one", "all"):
        assert mean_s(write, LED) == mean_s(write, none)
    # The second of three copies is waited for, and all wait for journals of their own.
    assert 0.4e-3 < mean_s("quorum", LED) - mean_s("quorum", none) < 1.2e-3


@pytest.mark.parametrize("regions", REGIONS)
@pytest.mark.parametrize(("read", "write"), [("one", "quorum"), ("quorum", "one")])
def test_leaders_are_as_busy_as_in_the_network_and_so_are_the_others(
    regions: tuple[str, ...], read: str, write: str
) -> None:
    load = Load.model_validate(
        {"rate_per_s": 700, "read_share": 0.8, "read": read, "write": write, "limit_s": 0.1}
        | {"regions": regions}
    )
    one = Candidate(9, 3, Machine(cores=4))
    solved = solve_many(whole(load, [one], demands_of(LED)))
    chains = check(arrivals(settings_of(load, one, LED), load.rate_per_s, regions)).chains
    for copy in range(3):
        for i in range(copy + 1, 10, 3):
            offered = sum(c.demands_s.get(f"cpu{i}", 0.0) * c.arrivals_per_s for c in chains) / 4
            assert solved.cpu[0, copy] == pytest.approx(offered, rel=1e-9)
    assert solved.cpu[0, 0] > 1.5 * solved.cpu[0, 2]


def test_followers_serve_no_more_reads_and_another_set_does() -> None:
    load = Load(rate_per_s=10, read_share=1.0, read="one", limit_s=0.1)
    sizes = [Candidate(n, c, Machine(cores=2)) for n, c in ((1, 1), (3, 3), (6, 3))]
    alone, three, six = (row.capacity_per_s for row in solve_clusters(load, sizes, LED))
    assert three == pytest.approx(alone)
    assert six == pytest.approx(2 * alone)
    found = plan(load, [Candidate(n, 3, Machine(cores=2)) for n in (3, 4, 5, 6)], LED)
    assert [row.cluster.nodes for row in found.rows] == [3, 6]
    assert found.answer is not None
    assert found.answer.saturates_first == "the leaders' processors"
    with pytest.raises(InputError, match="sets of as many nodes as there are copies"):
        plan(load, [Candidate(4, 3, Machine(cores=2))], LED)


@pytest.mark.parametrize("regions", [("iowa",), *REGIONS[1:]])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("repair", [0.0, 0.1])
def test_utilisations_in_regions_are_those_of_the_whole_network(
    repair: float, regions: tuple[str, ...], level: str
) -> None:
    load = Load.model_validate(
        {"rate_per_s": 2000, "read_share": 0.8, "read": level, "write": level, "limit_s": 0.1}
        | {"regions": regions}
    )
    one = Candidate(12, 3, Machine(cores=4))
    demands = FULL.demands | {"read_repair": Demand(value=repair)}
    calibration = FULL.model_copy(update={"demands": demands})
    solved = solve_many(whole(load, [one], demands_of(calibration)))
    found = solve(arrivals(settings_of(load, one, calibration), 2000, regions))
    used = {s.name: s.utilisation for s in found.stations}
    for copy, place in enumerate(placed(3, regions)):
        there = range(regions.index(place.region) + 1, 13, len(regions))
        for name, share in (("cpu", solved.cpu), ("disk", solved.disk)):
            each = [used[f"{name}{i}"] for i in there]
            assert np.mean(each) == pytest.approx(share[0, copy], rel=1e-9)
            # Of reads that go further, too, the first of those near sends the record.
            if len(regions) == 1 or (level != "all" and repair == 0):
                assert each == pytest.approx([share[0, copy]] * len(there), rel=1e-9)


def test_copies_far_away_are_asked_equally_often() -> None:
    regions = ("iowa", "oregon", "tokyo")
    load = Load.model_validate(
        {"rate_per_s": 900, "read_share": 1.0, "read": "quorum", "limit_s": 1, "regions": regions}
    )
    one = Candidate(9, 9, Machine(cores=4))
    solved = solve_many(whole(load, [one], demands_of(FULL)))
    found = solve(arrivals(settings_of(load, one, FULL), 900, regions))
    used = {s.name: s.utilisation for s in found.stations}
    # Three at home, and two of Oregon's three.
    oregon = [used[f"cpu{i}"] for i in (2, 5, 8)]
    assert oregon == pytest.approx([solved.cpu[0, 3]] * 3, rel=1e-9)


def solved_and_simulated(
    load: Load, one: Candidate, calibration: Calibration, *, least: float
) -> tuple[Row, Confirmed]:
    """A cluster's percentiles may be too slow by the solver's stated error, and hardly too fast."""
    (row,) = solve_clusters(load, [one], calibration)
    found = confirm(load, one, calibration)
    for kind, measure in found.percentile_s.items():
        assert measure.value is not None
        assert measure.low is not None
        assert row.percentile_s[kind] <= (1 + solver_error(calibration)) * measure.value
        assert row.percentile_s[kind] >= least * measure.low
    return row, found


@pytest.mark.parametrize("regions", REGIONS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_simulation_is_within_the_solvers_error(regions: tuple[str, ...], level: str) -> None:
    load = Load.model_validate(
        {"rate_per_s": 3000, "read_share": 0.7, "read": level, "write": level, "limit_s": 1}
        | {"regions": regions}
    )
    row, found = solved_and_simulated(load, Candidate(6, 3, Machine(cores=4)), FULL, least=0.95)
    for kind in found.percentile_s:
        mean = found.mean_s[kind].value
        assert mean is not None
        assert row.mean_s[kind] == pytest.approx(mean, rel=0.08)


@settings(max_examples=40, deadline=None)
@given(load=loads, one=clusters, more=st.integers(1, 5))
def test_more_nodes_never_do_less(load: Load, one: Candidate, more: int) -> None:
    """Where clients know who holds a record: else more of them get to a node that doesn't."""
    larger = one._replace(nodes=one.nodes + more)
    less, most = solve_clusters(
        load, [one, larger], FULL.model_copy(update={"coordinator": "replica"})
    )
    assert most.capacity_per_s >= less.capacity_per_s * (1 - 1e-12)
    assert most.utilisation <= less.utilisation * (1 + 1e-12)
    for kind in load.kinds:
        small, large = less.percentile_s[kind], most.percentile_s[kind]
        if math.isfinite(small):
            assert large <= small * 1.02


@settings(max_examples=40, deadline=None)
@given(load=loads, one=clusters, part=st.floats(0.1, 0.95))
def test_what_holds_holds_with_less(load: Load, one: Candidate, part: float) -> None:
    (row,) = solve_clusters(load, [one], FULL)
    less = load.model_copy(update={"rate_per_s": load.rate_per_s * part})
    (easier,) = solve_clusters(less, [one], FULL)
    for kind, seconds in row.percentile_s.items():
        if math.isfinite(seconds):
            assert easier.percentile_s[kind] <= seconds * 1.02


@settings(max_examples=30, deadline=None)
@given(load=loads, some=st.lists(clusters, min_size=2, max_size=6))
def test_a_cluster_is_solved_as_it_is_alone(load: Load, some: list[Candidate]) -> None:
    together = solve_clusters(load, some, FULL)
    for row, one in zip(together, some, strict=True):
        (alone,) = solve_clusters(load, [one], FULL)
        assert row.utilisation == pytest.approx(alone.utilisation, rel=1e-12)
        for kind in load.kinds:
            a, b = row.percentile_s[kind], alone.percentile_s[kind]
            assert a == pytest.approx(b, rel=1e-9, nan_ok=True)


def test_one_queue_is_m_m_1() -> None:
    """With everything else at 0 a disk is M/M/1, whose percentiles are known."""
    zero = dict.fromkeys(("read_cpu", "client_round_trip", "node_round_trip"), Demand(value=0.0))
    disk = PAPER.model_copy(update={"demands": {**PAPER.demands, **zero}})
    load = Load(rate_per_s=4000, read_share=1.0, limit_s=1)
    solved = solve_many(whole(load, [Candidate(1, 1, Machine(cores=2))], demands_of(disk)))
    mean_s = 170e-6 / (1 - 4000 * 170e-6)
    assert solved.mean_s["read"][0] == pytest.approx(mean_s, rel=0.02)
    assert solved.slowest_s[0] == pytest.approx(mean_s * math.log(100), rel=0.02)


def test_copies_are_asked_from_the_nearest_on() -> None:
    copies = placed(5, ("iowa", "oregon", "tokyo"))
    assert [copy.region for copy in copies] == ["iowa", "iowa", "oregon", "oregon", "tokyo"]
    assert [copy.distance_s for copy in copies] == [0.0, 0.0, 0.0396, 0.0396, 0.1217]
    assert chances(copies, 3) == (1.0, 1.0, 0.5, 0.5, 0.0)
    assert sum(chances(copies, 4)) == 4


def test_a_quorum_waits_for_the_nearest_majority() -> None:
    regions = ("iowa", "south-carolina", "oregon")
    for level, round_trip_s in (("one", 0.0), ("quorum", 0.0364), ("all", 0.0396)):
        load = Load.model_validate(
            {"rate_per_s": 10, "read": level, "write": level, "limit_s": 1, "regions": regions}
        )
        (row,) = solve_clusters(load, [Candidate(3, 3, Machine(cores=4))], PAPER)
        assert round_trip_s < row.mean_s["write"] < round_trip_s + 0.005


@pytest.fixture(scope="module")
def found():
    load = Load(rate_per_s=8_000, read_share=0.5, limit_s=0.012)
    machines = [Machine(cores=2), Machine(cores=4)]
    return plan(load, candidates(range(3, 20), [3], machines), sure(PAPER, 0.1))


def test_the_simulator_confirms_the_answer_and_nothing_smaller_holds(found) -> None:
    answer = found.answer
    assert answer is not None
    assert answer.simulated.verdict == "holds"
    again = confirm(found.load, answer.row.cluster, found.calibration, seed=77)
    for kind, measure in again.percentile_s.items():
        first = answer.simulated.percentile_s[kind]
        assert measure.low <= first.high
        assert measure.high >= first.low
    simulated = {row.cluster for row, _ in found.simulated}
    for row in found.rows:
        if row.cluster == answer.row.cluster:
            break
        slow = max(row.percentile_s.values())
        may_hold = slow <= found.load.limit_s * (1 + solver_error(found.calibration))
        assert row.cluster in simulated or not may_hold
    for row, seen in found.simulated[:-2]:
        assert seen.verdict != "holds", row.cluster


def test_the_highest_rate_holds_and_more_does_not(found) -> None:
    answer = found.answer
    scale = {
        kind: one.value / answer.row.percentile_s[kind]
        for kind, one in answer.simulated.percentile_s.items()
    }
    for factor, holds in ((0.99, True), (1.02, False)):
        rate = answer.highest_rate_per_s * factor
        load = found.load.model_copy(update={"rate_per_s": rate})
        (row,) = solve_clusters(load, [answer.row.cluster], found.calibration)
        slow = [row.percentile_s[kind] * scale[kind] for kind in scale]
        assert (max(slow) <= load.limit_s) is holds


def test_the_sweep_and_the_document_have_everything(found) -> None:
    frame = found.frame()
    assert frame.height == 34
    assert frame["cores_in_all"].is_sorted()
    assert set(frame["state"]) <= {"holds", "fails", "saturated", "can't tell"}
    assert frame["simulated"].drop_nulls().len() == len(found.simulated)
    plain = document(found)
    assert plain["verdict"] == "holds"
    assert plain["candidates"] == 34
    assert plain["answer"]["cluster"]["nodes"] == found.answer.row.cluster.nodes


def test_certainty_grows_with_the_cluster_and_is_unknown_without_intervals() -> None:
    load = Load(rate_per_s=8_000, read_share=0.5, limit_s=0.012)
    shares = [
        certainty(load, Candidate(n, 3, Machine(cores=2)), sure(PAPER, 0.2), {})
        for n in (7, 9, 11, 14, 30)
    ]
    assert all(share is not None for share in shares)
    assert shares == sorted(shares)
    assert shares[0] < 0.5 < shares[-1] == 1.0
    assert certainty(load, Candidate(9, 3, Machine(cores=2)), PAPER, {}) is None


@pytest.mark.slow
def test_more_certainty_never_takes_a_smaller_cluster() -> None:
    load = Load(rate_per_s=4_000, read_share=0.5, limit_s=0.012)
    some = candidates(range(3, 30), [3], [Machine(cores=2)])
    sizes = []
    for at_least in (0.0, 0.9, 0.999):
        answer = plan(load, some, sure(PAPER, 0.2), at_least=at_least).answer
        assert answer is not None
        assert answer.certainty is not None
        assert answer.certainty >= at_least
        sizes.append(answer.row.cluster.nodes)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_elasticities_of_the_capacity_add_up_to_minus_one() -> None:
    """Twice all that a station does, half of what it can do: Euler's theorem."""
    load = Load(rate_per_s=3_000, read_share=0.5, limit_s=1)
    one = Candidate(6, 3, Machine(cores=2))
    found = {e.demand: e for e in elasticities(load, one, PAPER)}
    cpu = found["read_cpu"].capacity + found["write_cpu"].capacity
    assert cpu == pytest.approx(-1, abs=0.01)
    assert found["read_cpu"].percentile > 0
    assert found["read_disk"].capacity == 0
    times = sum(e.percentile for name, e in found.items() if name != "read_uncached")
    # All times scaled leave utilisations, and so the percentile, higher than by their scale.
    assert times > 1


@pytest.mark.slow
def test_a_lost_node_takes_levels_and_room_with_it() -> None:
    def lost(level: str, nodes: int, copies: int) -> list:
        load = Load.model_validate(
            {"rate_per_s": 500, "read": level, "write": level, "limit_s": 0.02}
        )
        return list(losses(load, Candidate(nodes, copies, Machine(cores=2)), PAPER, {}))

    (node,) = lost("quorum", 6, 3)
    assert (node.records, node.refused, node.verdict) == (0.5, (), "holds")
    (node,) = lost("all", 6, 3)
    assert (node.refused, node.verdict) == (("read", "write"), "fails")
    (node,) = lost("quorum", 2, 2)
    assert node.refused == ("read", "write")
    (node,) = lost("one", 2, 2)
    assert (node.records, node.refused, node.verdict) == (1.0, (), "holds")
    # Of 3 nodes that all hold everything, the two left do all reads.
    load = Load(rate_per_s=500, read_share=1.0, limit_s=0.02)
    one = Candidate(3, 3, Machine(cores=2))
    (row,) = solve_clusters(load, [one], PAPER)
    (node,) = losses(load, one, PAPER, {})
    assert node.utilisation == pytest.approx(row.utilisation * 3 / 2)


@pytest.mark.slow
def test_a_lost_region_moves_its_clients() -> None:
    regions = ("iowa", "oregon", "tokyo")
    load = Load.model_validate({"rate_per_s": 100, "limit_s": 0.1, "regions": regions})
    one = Candidate(3, 3, Machine(cores=2))
    found = {loss.lost.label: loss for loss in losses(load, one, PAPER, {})}
    assert list(found) == ["iowa", "oregon", "tokyo"]  # each has one node, which is lost with it
    # Then a quorum of Oregon's clients is theirs and Tokyo's.
    assert found["iowa"].percentile_s["read"] == pytest.approx(0.0884, rel=0.15)
    assert found["tokyo"].percentile_s["read"] == pytest.approx(0.0396, rel=0.3)
    assert found["oregon"].verdict == "fails"
    assert all(loss.refused == () for loss in found.values())


def test_the_answer_says_where_the_calibration_was_not_checked() -> None:
    load = Load(rate_per_s=500, read_share=0.5, limit_s=0.02)
    some = candidates([3], [3], [Machine(cores=2)])
    wide = Checked(
        users=(0, 100),
        nodes=(1, 3),
        replication=(1, 3),
        cores=(1, 8),
        read_share=(0, 1),
        rate_per_s=(1, 1000),
        utilisation=(0, 0.9),
        levels=("quorum",),
    )
    inside = plan(load, some, PAPER.model_copy(update={"checked": wide})).answer
    assert inside is not None
    assert inside.outside == ()
    narrow = wide.model_copy(update={"nodes": (1, 2), "levels": ("one",), "users": None})
    outside = plan(load, some, PAPER.model_copy(update={"checked": narrow})).answer
    assert outside is not None
    assert outside.outside == (
        "nodes 3: checked for 1 to 2",
        "level quorum: checked for one",
        "never checked, as far as the calibration says: users",
    )
    of_one_machine = PAPER.model_copy(
        update={"checked": wide.model_copy(update={"cores": None}), "host": Host(shared=True)}
    )
    alone = plan(load, some, of_one_machine).answer
    assert alone is not None
    assert alone.outside == (
        "nodes with processors of their own: checked where all nodes shared a machine's",
    )


@pytest.mark.parametrize("discipline", ["ps", "fcfs", "siro"])
@pytest.mark.parametrize("scv", [0.1, 1.0])
@pytest.mark.parametrize("calibration", [FULL, AFAR, LED], ids=["full", "afar", "led"])
def test_the_solver_knows_of_order_and_of_how_variable_times_are(
    calibration: Calibration, scv: float, discipline: str
) -> None:
    calibration = calibration.model_copy(update={"discipline": discipline, "scv": scv})
    load = Load(rate_per_s=2500, read_share=0.7, limit_s=1)
    solved_and_simulated(load, Candidate(6, 3, Machine(cores=2)), calibration, least=0.85)


@pytest.mark.parametrize("late", ["serve", "cancel"])
def test_times_that_vary_little_take_a_small_cluster(late: str) -> None:
    # Exponential ones would have a p99 of 4.6 ms without any load, and none of any size would hold.
    demands = {
        "read_cpu": Demand(value=1e-3),
        "write_cpu": Demand(value=1e-3),
        **{
            name: Demand(value=0.0)
            for name in ("client_round_trip", "node_round_trip", "read_uncached", "write_uncached")
        },
    }
    calibration = PAPER.model_copy(
        update={"demands": demands, "scv": 0.05, "late": late, "coordinator": "replica"}
    )
    load = Load(rate_per_s=10, read_share=1.0, read="one", write="one", limit_s=0.003)
    found = plan(load, candidates(range(1, 4), [1], [Machine(cores=2)]), calibration)
    assert found.verdict == "holds"
    assert found.answer is not None
    assert found.answer.row.cluster.nodes == 1
    assert found.idle_s < load.limit_s


def test_reads_that_take_no_processor_time_are_planned() -> None:
    demands = {"read_cpu": Demand(value=0.0), "write_cpu": Demand(value=3e-4)}
    calibration = PAPER.model_copy(update={"demands": {**PAPER.demands, **demands}})
    load = Load(rate_per_s=100, read_share=0.5, limit_s=0.05)
    found = plan(load, candidates(range(3, 5), [3], [Machine(cores=2)]), calibration)
    assert found.answer is not None
    assert "read_cpu" not in {one.demand for one in found.answer.elasticities}


def test_where_none_holds_it_is_said() -> None:
    load = Load(rate_per_s=100_000, limit_s=0.02)
    nothing = plan(load, candidates([3, 4], [3], [Machine(cores=2)]), PAPER)
    assert (nothing.verdict, nothing.answer, nothing.simulated) == ("none holds", None, ())
    slow = Load(rate_per_s=10, limit_s=0.001)
    assert plan(slow, candidates([3], [3], [Machine(cores=2)]), PAPER).verdict == "none holds"


def test_rare_operations_make_it_impossible_to_tell() -> None:
    load = Load(rate_per_s=1000, read_share=0.9999, percent=99.9, limit_s=0.05)
    rare = confirm(load, Candidate(3, 3, Machine(cores=4)), PAPER)
    assert rare.verdict == "can't tell"
    assert rare.percentile_s["write"].value is None


def test_candidates_come_smallest_or_cheapest_first(tmp_path: Path) -> None:
    plain = candidates([3, 4, 8], [3], [Machine(cores=8), Machine(cores=2)])
    assert [(c.nodes, c.machine.cores) for c in plain][:3] == [(3, 2), (4, 2), (8, 2)]
    (tmp_path / "prices.yaml").write_text(
        "currency: EUR\nmachines:\n"
        "  - {name: big, cores: 8, memory: 32GiB, price_per_hour: 0.1}\n"
        "  - {name: small, cores: 2, price_per_hour: 0.09}\n"
    )
    prices = PriceList.load(tmp_path / "prices.yaml")
    priced = candidates([3, 4], [3], prices.machines)
    assert [(c.nodes, c.machine.name) for c in priced] == [
        (3, "small"),
        (3, "big"),
        (4, "small"),
        (4, "big"),
    ]
    assert prices.machines[0].memory_bytes == 32 * 2**30
    with pytest.raises(InputError, match="no cluster can be"):
        candidates([2], [3], prices.machines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machines: [{name: a, cores: 2}]", "a machine needs a name and a price_per_hour"),
        ("machines: [{name: a, coers: 2, price_per_hour: 1}]", "a machine has no such field"),
        ("machines: [{name: a, price_per_hour: 1}]", "machines.0.cores: is missing"),
        ("machines: []", "machines"),
    ],
)
def test_a_price_list_is_checked(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        PriceList.load(tmp_path / "prices.yaml")
    assert message in caught.value.message
    assert caught.value.hint is not None


def test_a_price_list_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("- 1")
    with pytest.raises(InputError, match="a price list is a mapping"):
        PriceList.load(tmp_path / "prices.yaml")


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (("iowa", "oregno"), "there is no region 'oregno'"),
        (("iowa", "iowa"), "named twice"),
        (("iowa", "oregon", "tokyo", "sydney"), "sydney has none"),
    ],
)
def test_regions_are_checked(regions: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        placed(3, regions)


def test_large_clusters_are_simulated_in_part() -> None:
    load = Load(rate_per_s=50_000, read_share=0.5, limit_s=0.1)
    part = confirm(load, Candidate(200, 3, Machine(cores=2)), PAPER)
    assert part.simulated_nodes == 48
    (row,) = solve_clusters(load, [Candidate(200, 3, Machine(cores=2))], PAPER)
    assert part.mean_s["read"].value == pytest.approx(row.mean_s["read"], rel=0.05)
    assert np.isfinite(row.utilisation)


def test_a_calibration_that_lacks_what_operations_take_is_refused() -> None:
    demands = {name: one for name, one in PAPER.demands.items() if name != "write_cpu"}
    half = PAPER.model_copy(update={"demands": demands})
    some = candidates([3], [3], [Machine(cores=4)])
    with pytest.raises(InputError, match="has no write_cpu, and there are writes"):
        plan(Load(rate_per_s=100, limit_s=0.02), some, half)
    reads = plan(Load(rate_per_s=100, read_share=1.0, limit_s=0.02), some, half)
    assert reads.verdict == "holds"


def test_a_database_that_takes_no_time_is_refused() -> None:
    nothing = dict.fromkeys(("read_cpu", "write_cpu", "read_disk", "write_disk"), Demand(value=0.0))
    with pytest.raises(InputError, match="nothing takes any time"):
        plan(
            Load(rate_per_s=100, limit_s=0.02),
            candidates([3], [3], [Machine(cores=4)]),
            PAPER.model_copy(update={"demands": nothing}),
        )


def test_what_the_calibration_does_not_name_is_told_where_it_matters() -> None:
    load = Load(rate_per_s=500, read_share=0.5, limit_s=0.02)
    some = candidates([3], [3], [Machine(cores=2)])
    full = plan(load, some, PAPER).answer
    assert full is not None
    assert full.assumed == ("read_uncached 1",)
    demands = {name: one for name, one in PAPER.demands.items() if name != "read_disk"}
    less = plan(load, some, PAPER.model_copy(update={"demands": demands})).answer
    assert less is not None
    assert set(less.assumed) == {"read_uncached 1", "read_disk 170us"}


def test_a_certainty_needs_intervals() -> None:
    load = Load(rate_per_s=500, limit_s=0.02)
    some = candidates([3], [3], [Machine(cores=2)])
    with pytest.raises(InputError, match="the demands have no intervals"):
        plan(load, some, PAPER, at_least=0.9)


def test_reads_and_writes_at_a_time_take_more() -> None:
    load = Load(rate_per_s=1_000, read_share=0.25, limit_s=0.02)
    some = [Candidate(n, 3, Machine(cores=2)) for n in (3, 4)]
    mixing = PAPER.model_copy(update={"mixing": 0.4})
    more = {name: d.times(1.3) if "cpu" in name else d for name, d in PAPER.demands.items()}
    slower = PAPER.model_copy(update={"demands": more})
    alike, plain, found = (solve_clusters(load, some, one) for one in (slower, PAPER, mixing))
    assert found == alike
    assert found != plain
    assert solve_clusters(load.model_copy(update={"read_share": 1.0}), some, mixing) == (
        solve_clusters(load.model_copy(update={"read_share": 1.0}), some, PAPER)
    )
    answered = plan(load, some, mixing)
    assert answered.rows == tuple(found)
    assert answered.calibration == mixing


@pytest.mark.slow
def test_what_is_too_rare_for_one_cluster_is_not_tried_on_all() -> None:
    load = Load(rate_per_s=1000, read_share=0.9999, percent=99.9, limit_s=0.05)
    found = plan(load, candidates(range(3, 30), [3], [Machine(cores=4)]), PAPER)
    assert (found.verdict, len(found.simulated)) == ("can't tell", 1)
    assert found.simulated[0][1].rare == ("write",)


def test_what_no_size_gets_below_is_known() -> None:
    """The network's round trips and services, without any waiting."""
    some = candidates(range(3, 40), [3], [Machine(cores=4)])
    slow = plan(Load(rate_per_s=10, limit_s=0.0005), some, PAPER)
    assert slow.verdict == "none holds"
    # The fewer nodes there are, the fewer operations get to one that doesn't hold the record.
    (row,) = solve_clusters(Load(rate_per_s=10, limit_s=0.0005), [some[0]], PAPER)
    assert slow.idle_s == pytest.approx(max(row.percentile_s.values()), rel=0.01)


@pytest.mark.parametrize("level", LEVELS)
def test_copies_too_far_to_be_asked_are_left_out_of_the_network(level: str) -> None:
    load = Load.model_validate(
        {"rate_per_s": 500, "read_share": 1.0, "read": level, "limit_s": 1, "regions": REGIONS[2]}
    )
    one = Candidate(6, 3, Machine(cores=4))
    found = confirm(load, one, FULL.model_copy(update={"demands": PAPER.demands}))
    (row,) = solve_clusters(load, [one], PAPER)
    assert found.percentile_s["read"].value == pytest.approx(row.percentile_s["read"], rel=0.1)


@pytest.mark.slow
def test_whoever_answers_the_plan_is_the_same() -> None:
    """Even by somebody who works ahead, and in the other order."""

    def backwards(work, arguments):
        answers = [work(*some) for some in reversed(arguments)]
        return reversed(answers)

    load = Load(rate_per_s=8_000, read_share=0.5, limit_s=0.012)
    some = candidates(range(3, 14), [3], [Machine(cores=2)])
    assert document(plan(load, some, PAPER, turns=backwards)) == document(plan(load, some, PAPER))
