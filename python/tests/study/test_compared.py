"""Which factor is compared, and how its levels take turns."""

from __future__ import annotations

from itertools import groupby

import pytest

from pacelc.study import Study, StudyError
from pacelc.study.compared import compared_factor, load_factor

SETTINGS = "settings: {database: redis, measure: 1s}"
APPEND = """
  appendonly:
    off: {cluster_options: {appendonly: false}}
    on: {cluster_options: {appendonly: true}}
"""


@pytest.mark.parametrize(
    ("levels", "said", "compared"),
    [
        ({"database": ["redis"], "consistency": ["weak"], "users": [1, 2]}, None, "consistency"),
        ({"mix": ["a", "b"], "setting": ["1R-3W", "3R-1W"]}, None, "setting"),
        ({"appendonly": ["off", "on"], "users": [1, 2]}, None, "appendonly"),
        ({"database": ["redis"], "driver": ["a", "b"], "users": [1, 2]}, None, "driver"),
        ({"database": ["redis", "hbase"], "users": [1, 2]}, None, "database"),
        ({"users": [1, 2]}, None, None),
        ({"version": ["7", "8"], "driver": ["a", "b"]}, None, None),
        ({"version": ["7", "8"], "driver": ["a", "b"]}, "version", "version"),
        ({"consistency": ["weak", "strong"], "nodes": [1, 3]}, "nodes", "nodes"),
    ],
)
def test_what_is_compared_follows_from_the_factors_or_is_said(
    levels: dict[str, list[object]], said: str | None, compared: str | None
) -> None:
    assert compared_factor(levels, said) == compared


def test_only_numbers_scale_a_load() -> None:
    assert load_factor({"users": ["few", "many"], "threads": [1, 2]}) == "threads"
    assert load_factor({"nodes": [1, 2]}) is None


def study(text: str) -> Study:
    return Study.parse(f"name: x\n{SETTINGS}\n{text}")


def clusters(of: Study) -> list[tuple[str, list[str]]]:
    """Clusters as they are started, each with its runs' levels of appendonly."""
    runs = of.schedule()
    return [
        (key, [str(run.scenario.factors["appendonly"]) for run in group])
        for key, group in groupby(runs, key=lambda run: run.cluster_key)
    ]


def test_levels_with_clusters_of_their_own_take_turns_on_fresh_ones() -> None:
    of = study(f"factors:{APPEND}  users: [1, 2]\nrepetitions: 4")
    started = clusters(of)
    assert len(started) == len({key for key, _ in started}) == 8
    for first, second in zip(started[::2], started[1::2], strict=True):
        # A block: each level once, with all users, on a cluster of its own.
        assert {level for _, levels in (first, second) for level in levels} == {"off", "on"}
        assert len(set(first[1])) == 1
        assert len(first[1]) == 2
    repetitions = [run.repetition for run in of.schedule()]
    assert repetitions == sorted(repetitions)
    assert all(run.takes_turns for run in of.schedule())
    # Neither level is always the first of its block.
    assert {levels[0] for _, levels in started[::2]} == {"off", "on"}


def test_only_what_is_compared_takes_turns() -> None:
    """Two databases are two questions: Redis's clusters alternate, then Valkey's do."""
    of = study(f"factors:\n  database: [redis, valkey]{APPEND}compare: appendonly\nrepetitions: 3")
    databases = [str(run.scenario.factors["database"]) for run in of.schedule()]
    assert [name for name, _ in groupby(databases)] == ["redis", "valkey"]
    assert len(clusters(of)) == 12


@pytest.mark.parametrize("order", ["random", "listed"])
def test_other_orders_keep_a_cluster_for_all_its_repetitions(order: str) -> None:
    of = study(f"factors:{APPEND}  users: [1, 2]\nrepetitions: 4\norder: {order}")
    assert [len(levels) for _, levels in clusters(of)] == [8, 8]
    assert not any(run.takes_turns for run in of.schedule())


def test_levels_that_share_a_cluster_alternate_on_it() -> None:
    of = study("factors: {consistency: [weak, strong]}\nrepetitions: 5")
    runs = of.schedule()
    assert len({run.cluster_key for run in runs}) == 1
    blocks = [{str(r.scenario.factors["consistency"]) for r in runs[i : i + 2]} for i in (0, 2, 4)]
    assert blocks == [{"weak", "strong"}] * 3


def test_a_factor_that_isnt_there_is_refused_in_its_place() -> None:
    with pytest.raises(StudyError, match=r"compare.*no factor 'appendony'") as error:
        study(f"factors:{APPEND}  users: [1, 2]\ncompare: appendony")
    assert "appendonly" in str(error.value.hint)
