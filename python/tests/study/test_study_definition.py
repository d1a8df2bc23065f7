# ruff: noqa: E501 - what is written and printed stands here word for word
"""What a study's YAML means."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from pacelc.study import Settings, Study, StudyError, builtin_names
from pacelc.study.definition import _cluster_name
from pacelc.study.schema import study_schema

ROOT = Path(__file__).parents[3]

EXAMPLE = """
name: example
factors:
  database: [memory, noop]
  operation:
    read: {workload: {mix: {scan: 1}, scan_length: 1000}}
    write: {workload.mix: {insert: 1}}
  users: 1..3
exclude:
  - {database: noop, operation: read}
overrides:
  - when: {database: memory, users: [2, 3]}
    set: {measure: 2s, spawn_rate: 5}
settings: {measure: 1s, records: 50}
"""


def levels(study: Study) -> list[tuple[object, ...]]:
    return [tuple(scenario.factors.values()) for scenario in study.scenarios()]


def test_the_last_factor_changes_fastest() -> None:
    assert levels(Study.parse(EXAMPLE))[:4] == [
        ("memory", "read", 1),
        ("memory", "read", 2),
        ("memory", "read", 3),
        ("memory", "write", 1),
    ]


def test_a_level_applies_its_settings() -> None:
    first = Study.parse(EXAMPLE).scenarios()[0].settings
    assert (first.workload.mix, first.workload.scan_length, first.workload.records) == (
        {"scan": 1.0},
        1000,
        50,
    )


def test_a_mix_is_replaced_not_merged() -> None:
    fourth = Study.parse(EXAMPLE).scenarios()[3].settings
    assert fourth.workload.shares == {"insert": 1.0}


def test_an_override_holds_where_all_of_its_conditions_do() -> None:
    measured = {
        tuple(s.factors.values()): s.settings.measure_s for s in Study.parse(EXAMPLE).scenarios()
    }
    assert measured[("memory", "read", 1)] == 1.0
    assert measured[("memory", "read", 2)] == 2.0
    assert measured[("noop", "write", 2)] == 1.0


def test_a_study_without_factors_has_one_scenario() -> None:
    study = Study.parse("name: one\nsettings: {database: memory}\n")
    assert [scenario.label for scenario in study.scenarios()] == ["memory"]


def test_durations_are_read_with_their_unit() -> None:
    text = "name: d\nsettings: {database: memory, warm_up: 250ms, measure: 1.5h, cool_down: 2m, operation_timeout: 3}\n"
    settings = Study.parse(text).scenarios()[0].settings
    times = (
        settings.warm_up_s,
        settings.measure_s,
        settings.cool_down_s,
        settings.operation_timeout_s,
    )
    assert times == (0.25, 5400.0, 120.0, 3.0)


def test_scenarios_that_need_the_same_cluster_share_it() -> None:
    text = "name: c\nfactors: {database: [memory, noop], users: [1, 2], nodes: [3, 5]}\n"
    keys = {run.cluster_key for run in Study.parse(text).schedule()}
    assert keys == {"memory-n3-rf3", "memory-n5-rf3", "noop-n3-rf3", "noop-n5-rf3"}


def test_shared_by_asks_for_clusters_of_their_own() -> None:
    text = "name: c\nfactors: {database: [memory], users: [1, 2]}\ncluster: {shared_by: [database, users]}\n"
    assert {run.cluster_key for run in Study.parse(text).schedule()} == {"memory-1", "memory-2"}


def test_clusters_of_which_the_short_names_are_alike_are_two() -> None:
    def study(*cores: float) -> Study:
        return Study.parse(f"name: c\nfactors: {{database: [redis], cores: {list(cores)}}}\n")

    # 24 bits tell clusters apart in a name: among some thousand are two with the same.
    found: dict[str, float] = {}
    for number in range(1, 40_000):
        cores = number / 1024
        key = _cluster_name(Settings(database="redis", cores=cores))
        if key in found:
            break
        found[key] = cores
    keys = [run.cluster_key for run in study(found[key], cores).schedule()]
    assert sorted(keys) == [key, f"{key}-2"]
    assert study(cores, cores / 2).schedule()[0].cluster_key == key


def test_levels_that_hold_the_hyphen_between_them_share_no_cluster() -> None:
    text = "name: c\nfactors: {a: {x-y: {}, x: {}}, b: {z: {}, y-z: {}}}\n"
    text += "settings: {database: memory}\ncluster: {shared_by: [a, b]}\n"
    runs = sorted(Study.parse(text).schedule(), key=lambda run: run.run_id)
    assert [run.cluster_key for run in runs] == ["x-y-z", "x-y-y-z", "x-z", "x-y-z-2"]


def test_replication_follows_a_small_cluster() -> None:
    study = Study.parse("name: r\nfactors: {nodes: [1, 2, 5]}\nsettings: {database: memory}\n")
    assert [scenario.settings.replication for scenario in study.scenarios()] == [1, 2, 3]


def test_set_replaces_levels_and_goes_over_every_setting() -> None:
    study = Study.parse(EXAMPLE, ["users=1,7", "duration=9s", "operation=write", "repetitions=2"])
    assert levels(study) == [
        ("memory", "write", 1),
        ("memory", "write", 7),
        ("noop", "write", 1),
        ("noop", "write", 7),
    ]
    assert {scenario.settings.measure_s for scenario in study.scenarios()} == {9.0}
    assert study.repetitions == 2


def test_set_goes_over_a_preset_whatever_their_order() -> None:
    text = EXAMPLE + "presets: {small: {measure: 3s, users: [1]}}\n"
    for order in (["preset=small", "measure=4s"], ["measure=4s", "preset=small"]):
        study = Study.parse(text, order)
        assert {scenario.settings.measure_s for scenario in study.scenarios()} == {4.0}
        assert {scenario.factors["users"] for scenario in study.scenarios()} == {1}


def test_set_may_take_away_a_level_that_an_exclusion_names() -> None:
    assert len(Study.parse(EXAMPLE, ["database=memory"]).scenarios()) == 6


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_study_and_each_of_its_presets_loads(name: str) -> None:
    study = Study.load(name)
    assert study.name == name
    assert study.title
    for preset in study.presets:
        assert Study.load(name, [f"preset={preset}"]).schedule()


@pytest.mark.parametrize("name", builtin_names())
def test_a_built_in_study_says_itself_how_long_it_rests(name: str) -> None:
    assert "cool_down" in Study.load(name).settings


def test_a_study_that_says_nothing_of_rest_takes_little_time_for_it() -> None:
    (scenario,) = Study.parse("name: d\nsettings: {database: memory}\n").scenarios()
    assert scenario.settings.cool_down_s <= scenario.settings.measure_s / 100


def test_ferreira_2024_has_the_papers_200_scenarios() -> None:
    scenarios = Study.load("ferreira-2024").scenarios()
    count = dict.fromkeys(("cassandra", "mongodb", "redis"), 0)
    for scenario in scenarios:
        count[scenario.settings.database] += 1
        settings = scenario.settings
        assert (settings.measure_s, settings.cool_down_s, settings.spawn_rate_per_s) == (
            300.0,
            60.0,
            10.0,
        )
        assert settings.workload.shares in ({"scan": 1.0}, {"insert": 1.0})
        assert settings.client_region == "iowa-a"
        home, away = ("iowa-b", "iowa-c", "iowa-f"), ("iowa-b", "south-carolina-b", "oregon-a")
        places = {"single": home, "multi": away}[str(scenario.factors["deployment"])]
        assert tuple(settings.regions) == places
    assert count == {"cassandra": 80, "mongodb": 80, "redis": 40}
    assert [s.factors["deployment"] for s in scenarios] == ["single"] * 100 + ["multi"] * 100


def test_ferreira_2024_asks_for_the_papers_levels() -> None:
    asked = {
        (s.settings.database, s.factors["consistency"]): s.settings.consistency
        for s in Study.load("ferreira-2024").scenarios()
    }
    assert asked == {
        ("cassandra", "weak"): "ONE",
        ("cassandra", "strong"): "ALL",
        ("mongodb", "weak"): {"read": "local", "write": {"w": 1}},
        ("mongodb", "strong"): {"read": "linearizable", "write": {"w": 3}},
        ("redis", "weak"): {"read": "primary", "write": {"wait": 1}},
        ("redis", "strong"): {"read": "primary", "write": {"wait": 2}},
    }


def test_the_published_schema_is_current() -> None:
    published = ROOT / "docs" / "reference" / "study.schema.json"
    assert published.read_text(encoding="utf-8") == study_schema(), (
        "run `pacelc schema > docs/reference/study.schema.json`"
    )


def test_the_schema_knows_every_field_of_the_example() -> None:
    properties = json.loads(study_schema())["properties"]
    assert {"name", "factors", "exclude", "overrides", "settings"} <= set(properties)
    settings = properties["settings"]["properties"]
    assert {"measure", "duration", "workload", "workload.records", "records"} <= set(settings)


@pytest.mark.parametrize("key", ["x-base", ".base", "x-"])
def test_a_key_for_aliases_is_known_by_its_beginning_to_a_study_and_its_schema(key: str) -> None:
    [pattern] = json.loads(study_schema())["patternProperties"]
    assert re.search(pattern, key)
    assert Study.parse(f"name: x\n{key}: {{a: 1}}\nsettings: {{database: memory}}\n").scenarios()


@pytest.mark.parametrize("key", ["base", "x", "a.b", "ax-b"])
def test_another_key_is_no_field_unless_an_alias_names_its_value(key: str) -> None:
    [pattern] = json.loads(study_schema())["patternProperties"]
    assert not re.search(pattern, key)
    with pytest.raises(StudyError, match="a study has no such field"):
        Study.parse(f"name: x\n{key}: {{a: 1}}\nsettings: {{database: memory}}\n")


def test_the_references_example_is_a_study() -> None:
    text = (ROOT / "docs" / "reference" / "study.md").read_text(encoding="utf-8")
    example = text.partition('```yaml title="journal-cost.yaml"\n')[2].partition("```")[0]
    assert len(Study.parse(example).schedule()) == 30


@pytest.mark.parametrize(
    ("study", "changes", "scenarios", "runs"),
    [
        # 3 databases by (6 workloads by 3 sizes by 4 users, and 50 users).
        ("kumarasinghe-2015", [], 366, 366),
        ("kumarasinghe-2015", ["preset=small"], 45, 135),
        # 12 users by (2 kinds by 3 levels, and 5 mixes by 3 settings).
        ("vyas-2022", [], 252, 252),
        ("vyas-2022", ["preset=small"], 24, 72),
        # Cassandra: 2 workloads by (2 sizes without copies, and 3 distributions by 3 levels);
        # MongoDB: the same.
        ("haughian-2016", [], 44, 132),
        ("haughian-2016", ["preset=all-sizes"], 164, 492),
        ("haughian-2016", ["preset=small"], 24, 120),
        # By cores 8; by nodes 2 sizes of one node and 4 of several, by copies 3 (MongoDB: 2), each
        # by 8 users.
        ("gandini-2014", [], 3 * 8 + 3 * 6 * 8 + 8 * 8, 4640),
        # 3 databases by (3 numbers of cores, and 3 numbers of nodes and 2 of copies by 3 users).
        ("gandini-2014", ["preset=small"], 54, 162),
    ],
)
def test_a_papers_study_has_its_scenarios(
    study: str, changes: list[str], scenarios: int, runs: int
) -> None:
    loaded = Study.load(study, changes)
    assert (len(loaded.scenarios()), len(loaded.schedule())) == (scenarios, runs)


def test_haughians_copies_and_sets_grow_with_the_cluster() -> None:
    found = {
        (
            s.factors["database"],
            s.factors["cluster"],
            s.settings.nodes,
            s.settings.replication,
            s.settings.sharding,
            s.settings.shards,
        )
        for s in Study.load("haughian-2016", ["preset=all-sizes"]).scenarios()
    }
    assert found == {
        *(("cassandra", "non-replicated", n, 1, "none", 1) for n in (1, 3, 6, 9, 12)),
        *(
            ("cassandra", "replicated", n, c, "none", 1)
            for n, c in ((3, 2), (6, 4), (9, 6), (12, 8))
        ),
        ("mongodb", "non-replicated", 1, 1, "none", 1),
        *(("mongodb", "non-replicated", n, 1, "client", n) for n in (3, 6, 9, 12)),
        ("mongodb", "replicated", 3, 3, "none", 1),
        *(("mongodb", "replicated", n, 3, "client", n // 3) for n in (6, 9, 12)),
    }


def test_gandinis_experiments_are_on_the_papers_machines() -> None:
    scenarios = Study.load("gandini-2014").scenarios()
    found = {(s.settings.users == 50, s.settings.nodes, s.settings.cores) for s in scenarios}
    assert found == {
        *((True, 1, float(cores)) for cores in range(1, 9)),
        *((False, nodes, 2.0) for nodes in (1, 2, 4, 8, 16)),
        (False, 1, 1.0),
    }
    assert {s.settings.nodes for s in scenarios if s.settings.replication > 1} == {4}
    assert {s.settings.memory_bytes for s in scenarios} == {15 << 29}
    (delay_s,) = {s.settings.links["*"].delay_s for s in scenarios}
    assert delay_s == pytest.approx(227e-6)
    assert {tuple(s.settings.workload.shares.items()) for s in scenarios} == {
        (("read", 0.5), ("update", 0.5))
    }
    sets = {
        (s.settings.nodes, s.settings.replication, s.settings.sharding, s.settings.shards)
        for s in scenarios
        if s.settings.database == "mongodb"
    }
    assert sets == {
        (1, 1, "none", 1),
        *((n, 1, "client", n) for n in (2, 4, 8, 16)),
        (4, 2, "client", 2),
        (4, 4, "none", 1),
    }


def test_gandinis_small_preset_shares_the_machine_and_its_loopback_network() -> None:
    for scenario in Study.load("gandini-2014", ["preset=small"]).scenarios():
        settings = scenario.settings
        assert settings.nodes * (settings.cores or 2) <= 1.6
        assert settings.memory_bytes is None
        assert not settings.asks_for_network


def test_an_exclusion_and_a_condition_may_hold_ranges() -> None:
    text = """
name: ranges
factors: {records: [10, 20], users: 1..6}
exclude:
  - {records: 10, users: [1, "3..5"]}
  - {records: 20, users: 2..6}
overrides:
  - when: {users: 5..6}
    set: {measure: 7s}
settings: {database: memory, measure: 1s}
"""
    study = Study.parse(text)
    assert levels(study) == [(10, 2), (10, 6), (20, 1)]
    assert [s.settings.measure_s for s in study.scenarios()] == [1.0, 7.0, 1.0]
    again = Study.from_document(study.as_document())
    assert again.scenarios() == study.scenarios()


def test_a_range_beyond_a_factors_levels_is_refused() -> None:
    text = (
        "name: r\nfactors: {users: 1..3}\nexclude: [{users: 3..4}]\nsettings: {database: memory}\n"
    )
    with pytest.raises(StudyError, match="factor users has no level '4'"):
        Study.parse(text)


def test_a_level_that_only_a_preset_has_may_be_named() -> None:
    text = """
name: p
factors: {users: [1]}
overrides: [{when: {users: 64}, set: {measure: 9s}}]
settings: {database: memory, measure: 1s}
presets: {many: {users: [64]}}
"""
    assert Study.parse(text).scenarios()[0].settings.measure_s == 1.0
    assert Study.parse(text, ["preset=many"]).scenarios()[0].settings.measure_s == 9.0


MANY = "name: m\nsettings: {database: memory}\nfactors: {users: [1..50], think_time: [1..50]}\n"
LONGEST_S = 10


@pytest.mark.parametrize(
    ("part", "line", "scenarios"),
    [
        ("exclude", "- {users: A, think_time: B}\n", 1),
        ("overrides", "- {when: {users: A, think_time: B}, set: {measure: N}}\n", 2_500),
        ("overrides", "- {when: {}, set: {measure: N}}\n", 2_500),
    ],
)
def test_thousands_of_exclusions_and_overrides_take_seconds(
    part: str, line: str, scenarios: int
) -> None:
    lines = "".join(
        line.replace("A", str(n // 50 % 50 + 1)).replace("B", str(n % 50 + 1)).replace("N", f"{n}s")
        for n in range(1, 5_000)
        if n % 2_500
    )
    begun = time.process_time()
    found = Study.parse(f"{MANY}{part}:\n{lines}").scenarios()
    assert time.process_time() - begun < LONGEST_S
    assert len(found) == scenarios
    assert found[-1].settings.measure_s == (300 if part == "exclude" else 4_999)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "- {when: {users: 1..50}, set: {measure: N}}\n",
            "levels in ranges, and 100,000 are the most",
        ),
        ("- {set: {client_options.oN: 1}}\n", "more than 1,000,000 settings of matching overrides"),
    ],
)
def test_overrides_that_nobody_wrote_by_hand_are_refused(line: str, said: str) -> None:
    lines = "".join(line.replace("N", str(n)) for n in range(4_000))
    with pytest.raises(StudyError, match=rf"study.yaml:4: overrides: .*{said}"):
        Study.parse(f"{MANY}overrides:\n{lines}")


def test_an_exclusion_may_name_one_of_levels_that_are_mappings() -> None:
    level = {"read": "primary", "write": {"wait": 1}}
    label = json.dumps(level, separators=(",", ":"))
    study = Study.parse(
        "name: m\nsettings: {database: redis}\n"
        f"factors: {{users: [1, 2], consistency: [weak, {json.dumps(level)}]}}\n"
        f"exclude: [{{consistency: weak, users: 1}}, {{consistency: '{label}', users: 2}}]\n"
    )
    found = [(one.factors["users"], one.settings.consistency) for one in study.scenarios()]
    assert found == [(1, level), (2, "weak")]
