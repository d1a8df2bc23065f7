"""Documents that users have stored under former names are read as if they had the current ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pacelc.calibration.dataset import read_dataset
from pacelc.cli.run import chooser
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store, StoreError, load
from pacelc.study import Study, StudyError

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
name: old
factors: {database: [redis, valkey], awake: [false, true]}
settings: {nodes: 1, replication: 1, awake: true}
exclude: [{awake: true, database: redis}]
overrides: [{when: {awake: true}, set: {awake: true, users: 2}}]
presets: {small: {awake: [true], users: 4}}
cluster: {shared_by: [database, awake]}
"""
SIMPLE = "name: s\nfactors: {awake: [false, true]}\nsettings: {database: redis}\n"
NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def test_a_study_file_has_the_current_names_once_it_is_read() -> None:
    for changes in ([], ["preset=small"]):
        former = Study.parse(WHOLE, changes)
        current = Study.parse(WHOLE.replace("awake", "no_idle_states"), changes)
        assert former.as_document() == current.as_document()
        assert former.schedule() == current.schedule()
        assert "awake" not in json.dumps(former.as_document())
    listed = "{number: 7, levels: {awake: true}, set: {awake: true}}"
    (one,) = Study.parse(f"{SIMPLE}listed: [{listed}]\n").scenarios()
    assert one.settings.no_idle_states
    assert one.factors == {"no_idle_states": True}


def test_a_level_that_is_called_as_the_setting_was_keeps_its_name() -> None:
    levels = "{awake: {awake: true}, asleep: {awake: false}}"
    first, second = Study.parse(
        f"name: a\nfactors: {{idle: {levels}}}\nsettings: {{database: redis}}\n"
    ).scenarios()
    assert (first.factors, first.settings.no_idle_states) == ({"idle": "awake"}, True)
    assert (second.factors, second.settings.no_idle_states) == ({"idle": "asleep"}, False)


def test_an_option_with_a_former_name_is_told_the_current_one() -> None:
    study = Study.parse(SIMPLE)
    with pytest.raises(StudyError) as refused:
        Study.parse(SIMPLE, ["awake=true"])
    assert refused.value.hint == "its name is now no_idle_states"
    with pytest.raises(StudyError) as refused:
        chooser(study.name, study.scenarios(), ["awake=true"])
    assert refused.value.hint == "its name is now no_idle_states"


def test_a_mistake_in_a_former_study_is_told_by_its_line() -> None:
    with pytest.raises(StudyError, match=r"study\.yaml:3: settings\.no_idle_states: "):
        Study.parse("name: a\nsettings: {database: redis,\n  awake: much}\n").scenarios()
    with pytest.raises(StudyError, match="there is no setting 'awake'"):
        Study.parse(
            "name: a\nsettings: {database: redis, awake: true, no_idle_states: true}\n"
        ).scenarios()


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """Return a results directory as it was written under former names."""
    with Store.open(tmp_path / "r", create=Study.parse(SIMPLE).as_document()) as store:
        store.write_run("0002-r1", _run(), _samples(), _resources(), _LOG)
        store.write_failure(
            "0001-r1",
            reason="r",
            hint="h",
            log_tail="",
            when_utc=NOW,
            scenario={"number": 1, "factors": {"awake": False}, "settings": {"awake": False}},
        )
    path = tmp_path / "r" / "study.json"
    document = json.loads(path.read_text())
    document["study"]["factors"] = {"awake": document["study"]["factors"].pop("no_idle_states")}
    path.write_text(json.dumps(document))
    return tmp_path / "r"


_LOG = "#[Histogram log format version 1.3]\n"


def _run() -> dict[str, Any]:
    return {
        "study": "s",
        "run": "0002-r1",
        "scenario": {
            "number": 2,
            "factors": {"awake": True},
            "settings": {"database": "redis", "awake": True},
        },
        "repetition": 1,
        "seed": 5,
        "started_utc": NOW,
        "pacelc": "0.1.0",
        "result": {"measured_s": 2.0, "operations": {"read": {"ok": 0, "latency_ns": {"n": 0}}}},
    }


def _samples() -> pl.DataFrame:
    row: dict[str, Any] = dict.fromkeys(SAMPLES_SCHEMA)
    row |= {"t_s": 0.0, "interval_s": 1.0, "phase": "measure", "operation": "read"}
    return pl.DataFrame([row | dict.fromkeys(("ok", "fail", "unknown"), 0)])


def _resources() -> pl.DataFrame:
    rows = [
        {"t_s": t_s, "phase": "measure", "node": name, "role": name, "cpu_user_s": used}
        for name in ("client", "awake", "machine")
        for t_s, used in ((0.0, 0.0), (2.0, 1.0))
    ]
    empty = dict.fromkeys(RESOURCES_SCHEMA)
    return pl.DataFrame([empty | row | {"cpu_system_s": 0.0} for row in rows])


def test_a_results_directory_is_read_with_the_current_names(former: Path) -> None:
    results = load(former)
    (record,) = results.records
    assert record.scenario.factors == {"no_idle_states": True}
    assert record.scenario.settings == {"database": "redis", "no_idle_states": True}
    assert results.studies[0]["factors"] == {"no_idle_states": [False, True]}
    assert results.factors == ("no_idle_states",)
    assert results.failures["factors"].to_list() == ["no_idle_states False"]
    # It is known by its role, and is no node; what it used isn't the machine's.
    assert set(results.resources["role"]) == {"client", "no_idle_states", "machine"}
    assert set(results.resources["node"]) == {"client", "no_idle_states", "machine"}
    assert results.nodes["role"].to_list() == ["client"]
    assert results.runs["others_cores"].to_list() == [0.0]


@pytest.mark.parametrize("text", [SIMPLE, SIMPLE.replace("awake", "no_idle_states")])
def test_a_results_directory_is_continued_and_its_study_stays_as_it_was(
    former: Path, text: str
) -> None:
    before = (former / "study.json").read_bytes()
    with Store.open(former, create=Study.parse(text).as_document()) as store:
        assert store.finished() == {"0002-r1"}
        assert Study.from_document(store.study).factors == {"no_idle_states": [False, True]}
    assert (former / "study.json").read_bytes() == before
    other = Study.parse(text.replace("[false, true]", "[true]")).as_document()
    with pytest.raises(StoreError, match=r"another study: factors\.no_idle_states"):
        Store.open(former, create=other)


def test_a_dataset_is_read_with_the_current_names(tmp_path: Path) -> None:
    row = {
        "run": "a/0001-r1",
        "study": "a",
        "study_name": "a",
        "database": "redis",
        "started_unix_s": 1e9,
        "group": '{"database": "redis", "awake": true}',
        "factors": '{"awake": "True", "users": "1"}',
        **dict.fromkeys(("levels", "versions"), "{}"),
        **dict.fromkeys(("nodes", "replication", "asked", "waited", "users"), 1),
        **dict.fromkeys(("reads_per_s", "read_share", "cores", "server_cores"), 1.0),
        **dict.fromkeys(("read_latency_s", "read_p99_s"), 0.1),
        **dict.fromkeys(("writes_per_s", "client_cores"), 0.0),
        **dict.fromkeys(("write_latency_s", "write_p99_s")),
        "coordinator": "leader",
        "shared": True,
    }
    pl.DataFrame([row]).write_parquet(tmp_path / "old.parquet")
    (one,) = read_dataset(tmp_path / "old.parquet")
    assert one.group == (("database", "redis"), ("no_idle_states", True))
    assert one.factors == {"no_idle_states": "True", "users": "1"}
