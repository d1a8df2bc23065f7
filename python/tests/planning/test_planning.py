"""Planning: answers, candidates, prices, and what is said with an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from made_plans import LED, PAPER

from pacelc.calibration.document import Checked, Demand
from pacelc.errors import InputError
from pacelc.planning import Candidate, Load, Machine, PriceList, candidates, plan
from pacelc.planning.confirm import confirm
from pacelc.planning.diagnostics import elasticities
from pacelc.planning.document import document
from pacelc.planning.search import solve_clusters, solver_error

if TYPE_CHECKING:
    from pathlib import Path


def test_where_nodes_lead_only_whole_sets_are_candidates() -> None:
    load = Load(rate_per_s=10, read_share=1.0, read="one", limit_s=0.1)
    found = plan(load, [Candidate(n, 3, Machine(cores=2)) for n in (3, 4, 5, 6)], LED)
    assert [row.cluster.nodes for row in found.rows] == [3, 6]
    assert found.answer is not None
    assert found.answer.saturates_first == "the leaders' processors"
    with pytest.raises(InputError, match="must be a multiple of the replication"):
        plan(load, [Candidate(4, 3, Machine(cores=2))], LED)


@pytest.fixture(scope="module")
def found():
    load = Load(rate_per_s=8_000, read_share=0.5, limit_s=0.012)
    machines = [Machine(cores=2), Machine(cores=4)]
    return plan(load, candidates(range(3, 20), [3], machines), PAPER)


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
        update={
            "checked": wide.model_copy(update={"cores": None}),
            "machine": PAPER.machine.model_copy(update={"shared": True}),
        }
    )
    alone = plan(load, some, of_one_machine).answer
    assert alone is not None
    assert alone.outside == (
        "nodes with their own processors: checked only with nodes that share a machine",
    )


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


@pytest.mark.slow
def test_whoever_answers_the_plan_is_the_same() -> None:
    """Even by somebody who works ahead, and in the other order."""

    def backwards(work, arguments):
        answers = [work(*some) for some in reversed(arguments)]
        return reversed(answers)

    load = Load(rate_per_s=2_000, read_share=0.5, limit_s=0.012)
    some = candidates(range(3, 7), [3], [Machine(cores=2)])
    assert document(plan(load, some, PAPER, executor=backwards)) == document(
        plan(load, some, PAPER)
    )
