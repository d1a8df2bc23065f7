"""What a lost node or region leaves: solved and simulated, and each by what it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_plans import FULL, LED, LEVELS, PAPER, REGIONS, coordinated, load_of, loads, used

from pacelc.calibration.document import PredictionError
from pacelc.cli.plan_text import plan_text
from pacelc.planning import Candidate, Load, Machine, plan
from pacelc.planning.cases import demands_of, settings_of, whole, without_a_node, without_a_region
from pacelc.planning.confirm import Confirmed, Measure, confirm, confirm_without
from pacelc.planning.degraded import Lost, degraded
from pacelc.planning.losses import MOST_EVENTS, Loss, losses
from pacelc.planning.search import solve_clusters, solver_error
from pacelc.planning.solver import solve_many

if TYPE_CHECKING:
    from pacelc.calibration.document import Calibration

A_NODE = Lost("", node=True)


@settings(max_examples=60, deadline=None)
@given(
    load=loads,
    copies=st.integers(3, 5),
    more=st.integers(0, 4),
    levels=st.tuples(*[st.sampled_from(LEVELS[:2])] * 2),
    coordinator=st.sampled_from(["any", "replica"]),
)
def test_without_a_node_the_others_are_as_busy_as_in_the_network(
    load: Load, copies: int, more: int, levels: tuple[str, str], coordinator: str
) -> None:
    """Exactly, and alike: any node holds any copy."""
    load = load.model_copy(update={"read": levels[0], "write": levels[1]})
    one = Candidate(copies + more, copies, Machine(cores=2))
    calibration = coordinated(FULL, coordinator)
    case = without_a_node(whole(load, [one], demands_of(calibration, load)), "")
    records = one.replication / one.nodes
    settings = settings_of(load, one, calibration, one.nodes)
    there = used(degraded(settings, load.rate_per_s, (), A_NODE, records), one.machine.cores)
    assert len(there) == one.nodes - 1
    solved = solve_many(case)
    for share in there.values():
        assert share == pytest.approx(solved.cpu[0, 0], rel=1e-9)


@pytest.mark.parametrize("node", [True, False])
@pytest.mark.parametrize("lost", [0, 1, 2])
@pytest.mark.parametrize("level", ["one", "quorum"])
def test_in_regions_the_others_are_as_busy_as_in_the_network(
    level: str, lost: int, node: bool
) -> None:
    regions = ("iowa", "south-carolina", "oregon")
    load = load_of(2000, level, read_share=0.8, regions=regions)
    one = Candidate(12, 3, Machine(cores=4))
    whole_case = whole(load, [one], demands_of(FULL, load))
    case = (without_a_node if node else without_a_region)(whole_case, regions[lost])
    solved = solve_many(case)
    records = float(case.lost_share[0]) if case.lost else 1.0
    network = degraded(
        settings_of(load, one, FULL, one.nodes), 2000, regions, Lost(regions[lost], node), records
    )
    there = used(network, 4)
    assert len(there) == (11 if node else 8)
    for copy, place in enumerate(case.copies):
        mine = range(regions.index(place.region) + 1, 13, 3)
        for share in (there[f"cpu{i}"] for i in mine if f"cpu{i}" in there):
            assert share == pytest.approx(solved.cpu[0, copy], rel=1e-9)


@pytest.mark.parametrize("regions", REGIONS)
@pytest.mark.parametrize(("read_share", "write"), [(0.8, "one"), (0.8, "quorum"), (1.0, "one")])
def test_who_leads_now_is_as_busy_as_in_the_network(
    regions: tuple[str, ...], read_share: float, write: str
) -> None:
    load = Load.model_validate(
        {"rate_per_s": 700, "read_share": read_share, "read": "one", "write": write}
        | {"limit_s": 0.1, "regions": regions}
    )
    one = Candidate(9, 3, Machine(cores=4))
    case = whole(load, [one], demands_of(LED, load))
    busy = solve_many(case).cpu[0, 0]
    for region in regions or ("",):
        for node in (True, False) if regions else (True,):
            less = (without_a_node if node else without_a_region)(case, region)
            if less.waited_for(load.write) > len(less.copies) - len(less.lost):
                continue
            solved = solve_many(less)
            records = float(less.lost_share[0]) if less.lost else 1.0
            settings = settings_of(load, one, LED, one.nodes)
            network = degraded(settings, load.rate_per_s, regions, Lost(region, node), records)
            there = sorted(used(network, 4).values())
            expected = [
                solved.cpu[0, j]
                for j in range(len(less.copies))
                for _ in range(3 - (j in less.lost))
                if solved.cpu[0, j] > 0
            ]
            assert there == pytest.approx(sorted(expected), rel=1e-9)
            # Another set has nothing to do with it.
            assert solved.cpu[0, 0] == pytest.approx(busy, rel=0.01)
            if less.lost:
                assert records == pytest.approx(1 / 3)


@pytest.mark.parametrize("calibration", [FULL, LED])
def test_records_without_a_copy_are_not_served(calibration: Calibration) -> None:
    load = Load(rate_per_s=100, read_share=0.5, read="one", write="one", limit_s=0.1)
    (loss,) = losses(load, Candidate(4, 1, Machine(cores=2)), calibration, {})
    assert loss.records == pytest.approx(1 / 4)
    assert set(loss.refused) == {"read", "write"}
    assert loss.verdict == "fails"


def test_a_lost_node_takes_levels_and_room_with_it() -> None:
    def lost(level: str, nodes: int, copies: int) -> list:
        load = load_of(500, level, read_share=0.5, percent=90, limit_s=0.02)
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
    load = load_of(500, read_share=1.0, percent=90)
    one = Candidate(3, 3, Machine(cores=2))
    (row,) = solve_clusters(load, [one], PAPER)
    (node,) = losses(load, one, PAPER, {})
    assert node.utilisation == pytest.approx(row.utilisation * 3 / 2)


def test_a_lost_region_moves_its_clients() -> None:
    regions = ("iowa", "oregon", "tokyo")
    load = load_of(100, read_share=0.5, limit_s=0.1, regions=regions)
    one = Candidate(3, 3, Machine(cores=2))
    found = {loss.lost.label: loss for loss in losses(load, one, PAPER, {})}
    assert list(found) == ["iowa", "oregon", "tokyo"]  # each has one node, which is lost with it
    # Then a quorum of Oregon's clients is theirs and Tokyo's.
    assert found["iowa"].percentile_s["read"] == pytest.approx(0.0884, rel=0.15)
    assert found["tokyo"].percentile_s["read"] == pytest.approx(0.0396, rel=0.3)
    assert found["oregon"].verdict == "fails"
    assert all(loss.refused == () for loss in found.values())


@pytest.mark.parametrize(
    ("calibration", "level", "regions"),
    [
        (FULL, "one", REGIONS[0]),
        (FULL, "quorum", REGIONS[1]),
        (FULL, "one", REGIONS[2]),
        (LED, "quorum", REGIONS[0]),
        (LED, "one", REGIONS[1]),
    ],
)
def test_what_is_left_is_simulated_as_it_is_solved(
    regions: tuple[str, ...], level: str, calibration: Calibration
) -> None:
    load = load_of(2000, level, read_share=0.6, percent=95, regions=regions)
    for loss in losses(load, Candidate(6, 3, Machine(cores=4)), calibration, {}):
        if loss.refused:
            assert loss.simulated is None
            continue
        assert loss.simulated is not None
        for kind, measure in loss.simulated.percentile_s.items():
            solved = loss.percentile_s[kind]
            assert measure.value is not None
            assert solved is not None
            assert loss.told_by(kind) == "simulation"
            assert 0.84 * measure.value <= solved <= (1 + solver_error(calibration)) * measure.value


def test_copies_that_were_too_far_are_asked_when_the_near_ones_are_gone() -> None:
    load = load_of(500, "one", read_share=1.0, percent=95, regions=REGIONS[2])
    found = {
        one.lost.label: one for one in losses(load, Candidate(6, 3, Machine(cores=4)), PAPER, {})
    }
    iowa, oregon = found["iowa"].simulated, found["oregon"].simulated
    assert iowa is not None
    assert oregon is not None
    # Clients are there, too: nothing goes far.
    assert iowa.percentile_s["read"].value == pytest.approx(
        oregon.percentile_s["read"].value, rel=0.05
    )


def test_one_of_two_copies_is_a_cluster_of_one() -> None:
    """Two nodes that hold everything, less one: the same as one node that does."""
    load = Load(rate_per_s=600, read_share=0.5, read="one", write="one", limit_s=1)
    left = confirm_without(
        load, Candidate(2, 2, Machine(cores=2)), PAPER, A_NODE, 1.0, most_events=20_000_000, seed=3
    )
    one = confirm(load, Candidate(1, 1, Machine(cores=2)), PAPER, seed=4)
    for kind in ("read", "write"):
        a, b = left.percentile_s[kind], one.percentile_s[kind]
        assert a.value == pytest.approx(b.value, rel=0.03)


def test_a_node_of_many_is_hardly_missed() -> None:
    """Of a large cluster a part is simulated, with as much for each node as in the whole."""
    load = load_of(12_500, read_share=1.0, percent=90)
    large = Candidate(50, 3, Machine(cores=2))
    (loss,) = losses(load, large, PAPER, {})
    before = confirm(load, large, PAPER).percentile_s["read"]
    assert loss.simulated is not None
    assert loss.simulated.simulated_nodes == 48
    after = loss.simulated.percentile_s["read"]
    assert after.value == pytest.approx(before.value, rel=0.03)


def test_losses_share_a_budget_of_events() -> None:
    """So that many regions take no longer than a few."""

    def executor(work, arguments):
        assert len(arguments) == 6
        assert work.keywords["most_events"] * len(arguments) <= 4 * MOST_EVENTS
        return iter([Confirmed("holds", {}, {}, 24)] * 6)

    load = load_of(9000, regions=REGIONS[2])
    found = losses(load, Candidate(24, 3, Machine(cores=4)), PAPER, {}, executor=executor)
    assert all(loss.simulated is not None for loss in found)


def test_what_cannot_be_or_keep_up_is_not_simulated() -> None:
    everyone = Load(rate_per_s=500, read="all", write="all", limit_s=0.02)
    (node,) = losses(everyone, Candidate(6, 3, Machine(cores=2)), PAPER, {})
    assert (node.simulated, node.verdict) == (None, "fails")
    much = Load(rate_per_s=3000, read_share=1.0, limit_s=0.5)
    (node,) = losses(much, Candidate(3, 3, Machine(cores=2)), PAPER, {})
    assert node.utilisation > 1
    assert (node.simulated, node.percentile_s, node.verdict) == (None, {"read": None}, "fails")


def seen(low: float | None, high: float | None) -> Measure:
    value = None if low is None or high is None else (low + high) / 2
    return Measure(value, low, high)


@pytest.mark.parametrize(
    ("read", "write", "solved", "verdict", "by"),
    [
        (seen(0.8, 0.9), seen(0.1, 0.2), 2.0, "holds", "simulation"),
        (seen(0.8, 1.1), seen(0.1, 0.2), 0.1, "can't tell", "simulation"),
        (seen(0.8, 1.1), seen(1.1, 1.2), 0.1, "fails", "simulation"),
        # Too rare to be simulated: what the solver says is said to be its.
        (seen(0.8, 0.9), seen(None, None), 0.3, "holds", "solver"),
        (seen(0.8, 0.9), seen(None, None), 1.3, "fails", "solver"),
        (seen(0.8, 0.9), seen(None, None), None, "can't tell", None),
    ],
)
def test_a_loss_is_judged_by_its_simulation_where_that_can_tell(
    read: Measure, write: Measure, solved: float | None, verdict: str, by: str | None
) -> None:
    times = {"read": read, "write": write}
    simulated = Confirmed("can't tell", times, times, 6)
    loss = Loss(A_NODE, 0.5, (), 0.7, {"read": 0.5, "write": solved}, simulated, 1.0)
    assert (loss.verdict, loss.told_by("read"), loss.told_by("write")) == (
        verdict,
        "simulation",
        by,
    )


def test_what_was_never_steady_decides_nothing() -> None:
    times = {"read": seen(0.8, 0.9), "write": seen(0.1, 0.2)}
    restless = Confirmed("can't tell", times, times, 6, steady=False)
    loss = Loss(A_NODE, 0.5, (), 0.7, {"read": 0.5, "write": 0.1}, restless, 1.0)
    assert loss.verdict == "can't tell"


def test_late_copies_that_end_may_hold_what_the_solver_takes_for_too_much() -> None:
    """Of three copies of each write one is waited for; the others end, and hardly take anything."""
    calibration = PAPER.model_copy(update={"late": "cancel"})
    load = Load(rate_per_s=40_000, read_share=0.0, write="one", limit_s=0.5)
    one = Candidate(4, 3, Machine(cores=2))
    (solved,) = losses(load, one, PAPER, {})
    assert (solved.keeps_up, solved.simulated, solved.verdict) == (False, None, "fails")
    (loss,) = losses(load, one, calibration, {})
    assert loss.utilisation == solved.utilisation > 1
    assert loss.simulated is not None
    assert (loss.keeps_up, loss.verdict) == (True, "holds")
    exact = PredictionError(sizes=3, throughput=0.0, mean=0.0, p99=0.0)
    known = calibration.model_copy(update={"error": exact})
    answer = plan(load, [one], known, at_least=0.0).answer
    assert answer is not None
    assert (answer.prediction, answer.highest_rate_per_s) == (None, None)
    unsure = plan(load, [one], known)
    assert unsure.verdict == "can't tell"
    assert "holds only because late copies end" in plan_text(unsure, "")
