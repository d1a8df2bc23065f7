"""What holds for every study."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pacelc.study import Study
from pacelc.study.matching import Matches
from pacelc.study.values import same_label

FACTORS = {
    "database": ["memory", "noop"],
    "consistency": ["weak", "quorum", "strong"],
    "users": [1, 2, 4, 8],
    "records": [10, 1000],
    "nodes": [3, 5],
}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.permutations(sorted(FACTORS)))[: draw(st.integers(0, len(FACTORS)))]
    factors = {
        name: draw(st.lists(st.sampled_from(FACTORS[name]), min_size=1, unique=True))  # type: ignore[arg-type]
        for name in names
    }
    exclude = draw(
        st.lists(
            st.sampled_from(names).flatmap(
                lambda name: st.sampled_from(factors[name]).map(lambda x: {name: x})
            ),
            max_size=2,
        )
        if names
        else st.just([])
    )
    return {
        "name": "law",
        "factors": factors,
        "exclude": exclude,
        "settings": {"database": "memory"},
        "repetitions": draw(st.integers(1, 4)),
        "order": draw(st.sampled_from(["random", "blocks", "listed"])),
        "seed": draw(st.integers(0, 2**63 - 1)),
    }


def left_out(document: dict[str, Any]) -> int:
    combinations: list[dict[str, Any]] = [{}]
    for name, levels in document["factors"].items():
        combinations = [{**c, name: level} for c in combinations for level in levels]
    return sum(
        any(all(c[k] == v for k, v in e.items()) for e in document["exclude"]) for c in combinations
    )


@given(documents())
def test_the_factorial_has_the_product_of_the_levels_minus_what_is_excluded(
    document: dict[str, Any],
) -> None:
    size = prod(len(levels) for levels in document["factors"].values()) - left_out(document)
    if size == 0:
        return
    scenarios = Study.from_document(document).scenarios()
    assert len(scenarios) == size
    assert [scenario.number for scenario in scenarios] == list(range(1, size + 1))


@given(documents())
def test_the_schedule_is_a_permutation_of_every_scenario_and_repetition(
    document: dict[str, Any],
) -> None:
    if left_out(document) == prod(len(levels) for levels in document["factors"].values()):
        return
    study = Study.from_document(document)
    planned = [(run.scenario.number, run.repetition) for run in study.schedule()]
    everything = [(s.number, r) for s in study.scenarios() for r in range(1, study.repetitions + 1)]
    assert sorted(planned) == everything
    assert len({run.run_id for run in study.schedule()}) == len(planned)


@given(documents())
def test_the_same_document_gives_the_same_schedule(document: dict[str, Any]) -> None:
    if left_out(document) == prod(len(levels) for levels in document["factors"].values()):
        return
    assert Study.from_document(document).schedule() == Study.from_document(document).schedule()


@given(documents())
def test_a_study_survives_its_document(document: dict[str, Any]) -> None:
    if left_out(document) == prod(len(levels) for levels in document["factors"].values()):
        return
    study = Study.from_document(document)
    assert Study.from_document(study.as_document()).schedule() == study.schedule()


@given(documents())
def test_runs_on_one_cluster_follow_one_another(document: dict[str, Any]) -> None:
    if left_out(document) == prod(len(levels) for levels in document["factors"].values()):
        return
    keys = [run.cluster_key for run in Study.from_document(document).schedule()]
    changes = sum(a != b for a, b in itertools.pairwise(keys))
    assert changes == len(set(keys)) - 1


@given(documents(), st.integers(1, 3))
def test_more_repetitions_leave_the_order_of_the_others_as_it_was(
    document: dict[str, Any], more: int
) -> None:
    if left_out(document) == prod(len(levels) for levels in document["factors"].values()):
        return
    before = [run.run_id for run in Study.from_document(document).schedule()]
    longer = Study.from_document({**document, "repetitions": document["repetitions"] + more})
    assert [run.run_id for run in longer.schedule() if run.run_id in set(before)] == before


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_another_seed_gives_other_runs_in_another_order(one: int, other: int) -> None:
    document: dict[str, Any] = {
        "name": "law",
        "factors": {"users": list(range(1, 21))},
        "settings": {"database": "memory"},
        "repetitions": 2,
    }
    first, second = (
        Study.from_document({**document, "seed": seed}).schedule() for seed in (one, other)
    )
    assert (first == second) == (one == other)
    if one != other:
        assert [run.run_id for run in first] != [run.run_id for run in second]
        assert {run.seed for run in first}.isdisjoint({run.seed for run in second})


def test_blocks_run_every_scenario_once_before_any_a_second_time() -> None:
    document: dict[str, Any] = {
        "name": "law",
        "factors": {"users": [1, 2, 3]},
        "settings": {"database": "memory"},
        "repetitions": 3,
        "order": "blocks",
    }
    assert [run.repetition for run in Study.from_document(document).schedule()] == [
        1,
        1,
        1,
        2,
        2,
        2,
        3,
        3,
        3,
    ]


LABELS = st.sampled_from([1, 2, "1", "2", 1.0, 1.5, "1.5", True, False, "True", "a"])
FACTOR = st.sampled_from("xyz")


@given(
    st.lists(st.dictionaries(FACTOR, LABELS | st.lists(LABELS, max_size=3)), max_size=70),
    st.fixed_dictionaries({"x": LABELS, "y": LABELS, "z": LABELS}),
)
def test_matches_hold_where_each_of_their_factors_has_a_level_that_they_want(
    matches: list[dict[str, Any]], labels: dict[str, Any]
) -> None:
    def holds(match: dict[str, Any]) -> bool:
        return all(
            any(same_label(labels[name], label) for label in wanted)
            if isinstance(wanted, list)
            else same_label(labels[name], wanted)
            for name, wanted in match.items()
        )

    holding = Matches(matches).holding(labels)
    assert [bool(holding >> n & 1) for n in range(len(matches))] == [holds(one) for one in matches]
    assert holding >> len(matches) == 0
