"""What a simulation says of one cluster."""

from __future__ import annotations

import pytest
from made_plans import FULL, LEVELS, PAPER, REGIONS, load_of

from pacelc.planning import Candidate, Load, Machine
from pacelc.planning.confirm import confirm
from pacelc.planning.search import solve_clusters


def test_rare_operations_make_it_impossible_to_tell() -> None:
    load = Load(rate_per_s=1000, read_share=0.9999, percent=99.9, limit_s=0.05)
    rare = confirm(load, Candidate(3, 3, Machine(cores=4)), PAPER)
    assert rare.verdict == "can't tell"
    assert rare.rare == ("write",)
    assert rare.percentile_s["write"].value is None


def test_large_clusters_are_simulated_in_part() -> None:
    load, one = load_of(50_000, read_share=0.5), Candidate(200, 3, Machine(cores=2))
    part = confirm(load, one, PAPER)
    (row,) = solve_clusters(load, [one], PAPER)
    assert part.simulated_nodes == 48
    assert part.mean_s["read"].value == pytest.approx(row.mean_s["read"], rel=0.05)


@pytest.mark.parametrize("level", LEVELS)
def test_copies_too_far_to_be_asked_are_left_out_of_the_network(level: str) -> None:
    load = load_of(500, level, read_share=1.0, regions=REGIONS[2])
    one = Candidate(6, 3, Machine(cores=4))
    (row,) = solve_clusters(load, [one], FULL)
    found = confirm(load, one, FULL)
    assert found.percentile_s["read"].value == pytest.approx(row.percentile_s["read"], rel=0.1)


def test_a_limit_is_held_or_not_by_the_whole_interval() -> None:
    load, one = load_of(500, read_share=0.5), Candidate(6, 3, Machine(cores=4))
    found = confirm(load, one, FULL)
    slowest = max(found.percentile_s.values(), key=lambda one: one.value)
    assert found.verdict == "holds"
    low, high = slowest.low, slowest.high
    verdicts = [
        confirm(load.model_copy(update={"limit_s": limit_s}), one, FULL).verdict
        for limit_s in (low / 2, high * 2)
    ]
    assert verdicts == ["fails", "holds"]
