# ruff: noqa: E501 - what is written and printed stands here word for word
"""Every mistake is one line that says where, and a hint where one is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.study import Study, StudyError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "name: a\nsettings:\n  database: memory\n"

MISTAKES = {
    "a factor without levels": (
        HEAD + "factors:\n  users: []\n",
        "study.yaml:5: factors.users: a factor needs at least one level",
        None,
    ),
    "a factor without anything": (
        HEAD + "factors:\n  users:\n",
        "study.yaml:5: factors.users: a factor needs at least one level",
        None,
    ),
    "an unknown field": (
        HEAD + "fators: {}\n",
        "study.yaml:4: fators: a study has no such field",
        "did you mean factors?",
    ),
    "an unknown setting": (
        HEAD + "  warmup: 3\n",
        "study.yaml:4: settings.warmup: there is no setting 'warmup'",
        "did you mean warm_up?",
    ),
    "an unknown workload setting": (
        HEAD + "  workload:\n    recrods: 3\n",
        "study.yaml:5: settings.workload.recrods: workload has no setting 'recrods'",
        "did you mean records?",
    ),
    "half of a mix": (
        HEAD + "  workload.mix.read: 1\n",
        "study.yaml:4: settings.workload.mix.read: there is no setting 'workload.mix.read'",
        "set workload.mix as a whole",
    ),
    "a value out of range": (
        HEAD + "factors:\n  users:\n    - 1\n    - 0\n",
        "study.yaml:7: factors.users.1: should be greater than 0, not 0",
        None,
    ),
    "shards without a word of how": (
        HEAD + "  shards: 2\n",
        "study.yaml:4: settings.shards: there are 2 shards, and sharding is none",
        "set sharding to client or mongos",
    ),
    "shards of another database": (
        HEAD + "  sharding: client\n",
        "study.yaml:4: settings.sharding: only MongoDB has shards, not memory",
        "leave sharding out, or say none",
    ),
    "nodes that are not shards times members": (
        "name: a\nsettings:\n  database: mongodb\n  sharding: client\n  shards: 2\n  replication: 2\n  nodes: 5\n",
        "study.yaml:5: settings.shards: 2 shards with 2 members each are 4 nodes, not 5",
        "set nodes to 4: they are all data nodes together",
    ),
    "keys of an external cluster hashed here": (
        "name: a\nsettings:\n  database: mongodb\n  nodes: 1\n  sharding: client\n  external: {endpoints: ['a:1']}\n",
        "study.yaml:5: settings.sharding: an external cluster is one set of endpoints: keys can't be hashed over several",
        "set sharding to mongos, where the endpoints are those of mongos",
    ),
    "a set's name behind mongos": (
        "name: a\nsettings:\n  database: mongodb\n  nodes: 1\n  sharding: mongos\n  external: {endpoints: ['a:1'], replica_set: rs0}\n",
        "study.yaml:6: settings.external: external.replica_set is rs0, and sharding is mongos",
        "leave replica_set out: mongos knows its shards",
    ),
    "more members than a shard has": (
        "name: a\nsettings:\n  database: mongodb\n  sharding: client\n  shards: 2\n  nodes: 4\n  consistency: {write: {w: 3}}\n",
        "study.yaml:7: settings.consistency: MongoDB can't satisfy w: 3: the replica set has 2 members",
        "set `replication: 3` or more, or a lower w",
    ),
    "no duration": (
        HEAD + "  measure: 3 parsecs\n",
        "study.yaml:4: settings.measure: should be a duration such as 10s, 5m or 300 (seconds), not '3 parsecs'",
        None,
    ),
    "a value in a level": (
        HEAD + "factors:\n  size:\n    small: {records: 1}\n    large: {records: -1}\n",
        "study.yaml:7: factors.size.large.records: should be greater than or equal to 1, not -1",
        None,
    ),
    "an unknown operation": (
        HEAD + "  workload: {mix: {raed: 1}}\n",
        (
            "study.yaml:4: settings.workload.mix.raed: should be 'read', 'update', 'insert', 'scan', 'read_modify_write' "
            "or 'delete', not 'raed'"
        ),
        "did you mean read?",
    ),
    "an unknown distribution": (
        HEAD + "  workload: {distribution: zipfan}\n",
        (
            "study.yaml:4: settings.workload.distribution: should be 'uniform', 'zipfian', 'ycsb-zipfian', 'latest', "
            "'hotspot', 'exponential' or 'sequential', not 'zipfan'"
        ),
        "did you mean zipfian?",
    ),
    "an unknown order": (
        HEAD + "order: randm\n",
        "study.yaml:4: order: should be 'random', 'blocks' or 'listed', not 'randm'",
        "did you mean random?",
    ),
    "a key twice": (
        "name: a\nname: b\n",
        "study.yaml:2: name: is there twice, first in line 1",
        None,
    ),
    "a factor that means nothing": (
        HEAD + "factors:\n  speed: [1, 2]\n",
        (
            "study.yaml:5: factors.speed: no setting has this name, so each level needs its settings "
            "(level: {setting: value})"
        ),
        "write `level: {setting: value}` for each level",
    ),
    "a level twice": (
        HEAD + "factors:\n  users: [1, 1]\n",
        "study.yaml:5: factors.users: levels 1 and 2 are the same",
        None,
    ),
    "two factors for one setting": (
        HEAD + "factors:\n  users: [1, 2]\n  load: {low: {users: 1}}\n",
        "study.yaml:6: factors.load: sets users, which factor users sets too",
        None,
    ),
    "an excluded factor that is none": (
        HEAD + "factors:\n  users: [1, 2]\nexclude:\n  - {user: 1}\n",
        "study.yaml:7: exclude.0.user: the study has no factor 'user'",
        "did you mean users?",
    ),
    "an excluded level that is none": (
        HEAD + "factors:\n  users: [1, 2]\nexclude:\n  - {users: 3}\n",
        "study.yaml:7: exclude.0.users: factor users has no level '3'",
        "known: 1, 2",
    ),
    "everything excluded": (
        HEAD + "factors:\n  users: [1]\nexclude:\n  - {users: 1}\n",
        "study.yaml:6: exclude: every combination is left out",
        "exclude fewer, or add levels",
    ),
    "more copies than nodes": (
        HEAD + "  nodes: 2\n  replication: 3\n",
        "study.yaml:5: settings.replication: replication 3 needs as many nodes, and there are 2",
        None,
    ),
    "no database": (
        "name: a\nfactors: {users: [1]}\n",
        "study.yaml: settings: no database is named",
        "add `database: redis` to settings, or a factor called database",
    ),
    "clusters that can't be shared": (
        HEAD + "factors: {nodes: [3, 5], users: [1]}\ncluster: {shared_by: [users]}\n",
        "study.yaml:5: cluster.shared_by: scenarios 1 and 2 would share a cluster but need different ones",
        "add the factor that changes the cluster to shared_by, or leave `cluster` out",
    ),
    "a factor that results have already": (
        HEAD + "factors:\n  run: {a: {users: 1}}\n",
        "study.yaml:5: factors.run: results have a column of this name already",
        "rename the factor",
    ),
    "no mapping": (
        "- a\n",
        "study.yaml:1: a study is a mapping (name: …, factors: …)",
        None,
    ),
    "an unknown setting in a preset": (
        HEAD + "presets:\n  small:\n    mesure: 1s\n",
        "study.yaml:6: presets.small.mesure: there is no setting 'mesure'",
        "did you mean measure?",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_line_and_field(mistake: str) -> None:
    text, message, hint = MISTAKES[mistake]
    with pytest.raises(StudyError) as caught:
        Study.parse(text)
    assert (caught.value.message, caught.value.hint) == (message, hint)


SET_MISTAKES = {
    "users": (
        "--set users: should be key=value",
        "for example --set measure=10s or --set users=1,2,4",
    ),
    "mesure=1s": (
        "--set mesure: the study has no factor and no setting 'mesure'",
        "did you mean measure?",
    ),
    "preset=small": (
        "--set preset: the study has no preset 'small'",
        "the study has no presets",
    ),
    "users=0": ("--set users: should be greater than 0, not 0", None),
    "size=tiny": ("--set size: factor size has no level 'tiny'", "known: large, small"),
    "measure=soon": (
        "--set measure: should be a duration such as 10s, 5m or 300 (seconds), not 'soon'",
        None,
    ),
}


@pytest.mark.parametrize("assignment", SET_MISTAKES)
def test_a_mistake_on_the_command_line_names_its_option(assignment: str) -> None:
    text = HEAD + "factors: {users: [1, 2], size: {small: {records: 1}, large: {records: 2}}}\n"
    with pytest.raises(StudyError) as caught:
        Study.parse(text, [assignment])
    assert (caught.value.message, caught.value.hint) == SET_MISTAKES[assignment]


def test_a_study_that_is_not_there_is_looked_for_among_the_built_in_ones() -> None:
    with pytest.raises(StudyError) as caught:
        Study.load("quickstrt")
    assert caught.value.hint == "did you mean quickstart?"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no such file"):
        Study.load(tmp_path / "no.yaml")


def test_a_hint_repeats_no_name_that_is_longer_than_a_line() -> None:
    with pytest.raises(StudyError) as caught:
        Study.parse(
            f"name: x\nsettings: {{database: memory}}\nfactors: {{{'ab' * 500}: {{a: {{}}}}}}\n"
            "exclude: [{b: 1}]\n"
        )
    assert len(f"{caught.value.message} {caught.value.hint}") < 200
