"""`cores` and `memory`: settings like any other, that make another cluster."""

from __future__ import annotations

import pytest

from pacelc.runner.lab import cluster_spec
from pacelc.study import Study, StudyError


def test_sizes_are_settings_and_factors_and_make_other_clusters() -> None:
    runs = Study.parse(
        "name: a\nsettings: {database: redis, memory: 1.5GiB}\nfactors:\n"
        "  cores: [1, 0.5]\n  room: {small: {memory: 512MiB}, usual: {}}\n"
    ).schedule()
    sizes = {(s.cores, s.memory_bytes) for s in (run.scenario.settings for run in runs)}
    assert sizes == {
        (1.0, 512 << 20),
        (1.0, 3 << 29),
        (0.5, 512 << 20),
        (0.5, 3 << 29),
    }
    assert len({run.cluster_key for run in runs}) == 4


def test_with_idle_states_disabled_a_cluster_is_one_of_its_own() -> None:
    text = "name: a\nfactors: {no_idle_states: [false, true]}\nsettings: {database: redis}\n"
    usual, disabled = Study.parse(text).schedule()
    assert usual.cluster_key == "redis-n3-rf3" != disabled.cluster_key
    assert not cluster_spec(usual.scenario.settings).no_idle_states
    assert cluster_spec(disabled.scenario.settings).no_idle_states


def test_without_sizes_a_cluster_is_named_as_it_always_was() -> None:
    (run,) = Study.parse("name: a\nsettings: {database: redis}\n").schedule()
    assert run.cluster_key == "redis-n3-rf3"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{database: redis, cores: 0}", "settings.cores: should be greater than 0"),
        ("{database: redis, memory: much}", "settings.memory: should be an amount such as 2GiB"),
        ("{database: memory, cores: 1}", "memory is inside the engine: it has no nodes"),
        (
            "{database: redis, memory: 1GiB, external: {endpoints: ['a:1']}}",
            "cores and memory of an external cluster's nodes can't be set",
        ),
        (
            "{database: redis, no_idle_states: true, external: {endpoints: ['a:1']}}",
            "only a cluster that pacelc starts can have idle states disabled",
        ),
        (
            "{database: memory, no_idle_states: true}",
            "settings.no_idle_states: only a cluster that pacelc starts",
        ),
    ],
)
def test_a_size_that_cannot_be_is_refused_where_it_is_written(settings: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study.parse(f"name: a\nsettings: {settings}\n").schedule()
