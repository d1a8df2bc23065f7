"""`load.json`: an external load that is interrupted goes on, and nothing else is dropped."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from fake_lab import FakeLab, Script
from hypothesis import given
from hypothesis import strategies as st
from typer import Exit

from pacelc.cli.clean import clean
from pacelc.errors import CannotRun
from pacelc.runner import events, run_study
from pacelc.runner.account import Forecast
from pacelc.runner.load_checkpoint import LoadCheckpoint
from pacelc.store import Store
from pacelc.study import PlannedRun, Study

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
name: external
settings:
  database: redis
  nodes: 1
  external: {{endpoints: ['{where}']}}
  records: {records}
  mix: {{{kind}: 1}}
  warm_up: 0s
  measure: 100ms
  cool_down: 0s
repetitions: 2
"""


def study(kind: str = "read", where: str = "db:1", records: int = 100) -> Study:
    return Study.parse(TEXT.format(kind=kind, where=where, records=records))


def planned(
    kind: str = "read", where: str = "db:1", records: int = 100, table: str = "usertable"
) -> PlannedRun:
    settings = Study.parse(
        TEXT.format(kind=kind, where=where, records=records) + f"factors: {{table: [{table}]}}\n"
    )
    return settings.schedule()[0]


SPEC: dict[str, Any] = {"target": {"owner": {"replace": False}}}


def owner(checkpoint: LoadCheckpoint) -> dict[str, Any]:
    return checkpoint.owned(SPEC)["target"]["owner"]


def made(checkpoint: LoadCheckpoint, table_id: str | None = "an id") -> LoadCheckpoint:
    checkpoint.begin()
    checkpoint.made({"table_id": table_id, "container": False})
    return checkpoint


def test_nothing_is_this_studys_before_the_first_load(tmp_path: Path) -> None:
    checkpoint = LoadCheckpoint.of(planned(), tmp_path)
    assert not checkpoint.is_ours
    assert checkpoint.owned(SPEC)["load_from"] == 0
    assert owner(checkpoint)["table_id"] is None
    assert not list(tmp_path.iterdir())


def test_the_marker_is_written_before_anything_is_made_and_is_always_the_same(
    tmp_path: Path,
) -> None:
    checkpoint = LoadCheckpoint.of(planned(), tmp_path)
    checkpoint.begin()
    marker = owner(checkpoint)["marker"]
    assert len(marker) == 32
    orders = LoadCheckpoint.of(planned(table="orders"), tmp_path)
    orders.begin()
    assert (
        owner(orders)["marker"] == owner(LoadCheckpoint.of(planned(), tmp_path))["marker"] == marker
    )
    elsewhere = LoadCheckpoint.of(planned(), tmp_path / "elsewhere")
    assert elsewhere.marker != marker


def test_a_load_goes_on_where_the_last_invocation_stopped(tmp_path: Path) -> None:
    checkpoint = made(LoadCheckpoint.of(planned(), tmp_path))
    checkpoint.reached(60)
    again = LoadCheckpoint.of(planned(), tmp_path)
    assert again.owned(SPEC)["load_from"] == 60
    assert owner(again)["table_id"] == "an id"
    # Before it is made anew, the new one's id isn't known.
    again.begin()
    assert owner(LoadCheckpoint.of(planned(), tmp_path))["table_id"] is None


@pytest.mark.parametrize(
    ("changes", "ours"),
    [({"where": "db:2"}, True), ({"table": "orders"}, False), ({"records": 50}, True)],
)
def test_another_cluster_table_or_data_set_begins_anew(
    tmp_path: Path, changes: dict[str, Any], *, ours: bool
) -> None:
    made(LoadCheckpoint.of(planned(), tmp_path)).reached(60)
    other = LoadCheckpoint.of(planned(**changes), tmp_path)
    assert (other.load_from, other.is_ours) == (0, ours)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"marker": "m", "tables": [1]}'])
def test_a_broken_file_ends_the_run_and_stays(tmp_path: Path, content: str) -> None:
    (tmp_path / "load.json").write_text(content)
    with pytest.raises(CannotRun, match=r"load\.json, the list .* can't be read"):
        LoadCheckpoint.of(planned(), tmp_path)
    assert (tmp_path / "load.json").read_text() == content


def test_a_file_of_before_tables_were_marked_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "load.json").write_text('{"clusters": [{"cluster": {"endpoints": ["db:1"]}}]}')
    assert not LoadCheckpoint.of(planned(), tmp_path).is_ours


def test_only_what_was_begun_carries_the_marker(tmp_path: Path) -> None:
    made(LoadCheckpoint.of(planned(), tmp_path))
    for changes, ours in (({}, True), ({"where": "db:2"}, True), ({"table": "orders"}, False)):
        checkpoint = LoadCheckpoint.of(planned(**changes), tmp_path)
        assert (owner(checkpoint)["marker"] is not None) == ours
        assert checkpoint.is_noted == (changes == {})


def test_a_table_that_other_endpoints_name_too_is_of_any_id_that_was_noted(tmp_path: Path) -> None:
    made(LoadCheckpoint.of(planned(), tmp_path), "one").reached(60)
    made(LoadCheckpoint.of(planned(where="db:2"), tmp_path), "two").reached(70)
    # It was made anew, so that what the first entry knew of its records is of the past.
    again = LoadCheckpoint.of(planned(), tmp_path)
    assert (again.load_from, set(str(again.table_id).split())) == (0, {"one", "two"})
    LoadCheckpoint.of(planned(), tmp_path).begin()
    assert LoadCheckpoint.of(planned(where="db:2"), tmp_path).table_id is None


def test_another_number_of_copies_is_another_table(tmp_path: Path) -> None:
    text = TEXT.format(kind="read", where="db:1", records=100).replace("nodes: 1", "nodes: 3")
    runs = Study.parse(text + "factors: {replication: [1, 3]}\n").schedule()
    once, thrice = (next(r for r in runs if r.scenario.settings.replication == n) for n in (1, 3))
    made(LoadCheckpoint.of(once, tmp_path)).reached(100)
    assert LoadCheckpoint.of(once, tmp_path).load_from == 100
    assert LoadCheckpoint.of(thrice, tmp_path).load_from == 0


def test_the_last_table_takes_the_keyspace_along(tmp_path: Path) -> None:
    first = LoadCheckpoint.of(planned(table="first"), tmp_path)
    first.begin()
    first.made({"table_id": "one", "container": True})
    made(LoadCheckpoint.of(planned(table="second"), tmp_path), "two")
    LoadCheckpoint.of(planned(table="first"), tmp_path).forget(container=False)
    assert LoadCheckpoint.of(planned(table="second"), tmp_path).container


def test_tables_are_kept_apart(tmp_path: Path) -> None:
    for table, records in (("first", 10), ("second", 20), ("first", 30)):
        made(LoadCheckpoint.of(planned(table=table), tmp_path)).reached(records)
    assert LoadCheckpoint.of(planned(table="first"), tmp_path).load_from == 30
    assert LoadCheckpoint.of(planned(table="second"), tmp_path).load_from == 20
    LoadCheckpoint.of(planned(table="first"), tmp_path).forget(container=True)
    assert not LoadCheckpoint.of(planned(table="first"), tmp_path).is_noted
    assert LoadCheckpoint.of(planned(table="second"), tmp_path).load_from == 20


def test_a_run_that_inserts_leaves_nothing_to_go_on_from(tmp_path: Path) -> None:
    checkpoint = made(LoadCheckpoint.of(planned("insert"), tmp_path))
    checkpoint.reached(100)
    checkpoint.end()
    again = LoadCheckpoint.of(planned("insert"), tmp_path)
    assert (again.load_from, again.is_ours, again.table_id) == (0, True, "an id")


@given(progress=st.lists(st.integers(0, 1_000), max_size=20))
def test_progress_never_goes_back(
    tmp_path_factory: pytest.TempPathFactory, progress: list[int]
) -> None:
    directory = tmp_path_factory.mktemp("checkpoint")
    checkpoint = made(LoadCheckpoint.of(planned(records=1_000), directory))
    for records in progress:
        checkpoint.reached(records)
    kept = LoadCheckpoint.of(planned(records=1_000), directory)
    assert kept.load_from == max(progress, default=0)


def test_clusters_of_pacelcs_own_have_no_checkpoint(tmp_path: Path) -> None:
    run = Study.parse("name: a\nsettings: {database: memory}\n").schedule()[0]
    checkpoint = made(LoadCheckpoint.of(run, tmp_path))
    checkpoint.reached(5)
    checkpoint.end()
    assert checkpoint.owned(SPEC) == SPEC
    assert not list(tmp_path.iterdir())


class _EngineError(Exception):
    """By its name, one of the engine's."""


class _RecordsLostError(_EngineError):
    """The same."""


_EngineError.__name__ = "EngineError"
_RecordsLostError.__name__ = "RecordsLostError"


def test_records_that_were_lost_meanwhile_are_loaded_again(tmp_path: Path) -> None:
    loads: list[int] = []

    def on_load(spec: Any) -> None:
        loads.append(spec.get("load_from", 0))
        if loads[-1] == 100:
            raise _RecordsLostError

    checkpoint = LoadCheckpoint.of(study().schedule()[0], tmp_path / "out")
    with Store.open(tmp_path / "out", create=study().as_document()) as store:
        made(checkpoint).reached(100)
        lab = FakeLab(Script(on_load=on_load))
        assert run_study(study(), store, lab).finished == 2
    assert loads == [100, 0]
    # What isn't this study's any more is refused before anything is made.
    assert [step for step in lab.diary if step in {"clear", "prepare"}] == ["clear", "prepare"]
    assert json.loads((tmp_path / "out/load.json").read_text())["tables"][0]["records"] == 100


@pytest.mark.parametrize(("there", "learns"), [(0, 1), (60, 0)])
def test_only_a_whole_load_says_how_long_one_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: int, learns: int
) -> None:
    learnt: list[PlannedRun] = []
    monkeypatch.setattr(Forecast, "load_took", lambda _self, run, _seconds: learnt.append(run))
    with Store.open(tmp_path / "out", create=study().as_document()) as store:
        made(LoadCheckpoint.of(study().schedule()[0], tmp_path / "out")).reached(there)
        assert run_study(study(), store, FakeLab()).finished == 2
    assert len(learnt) == learns


def test_a_load_that_goes_on_is_as_slow_as_what_it_has_inserted_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("pacelc.runner.loading.time", SimpleNamespace(monotonic=lambda: now))
    told: list[float] = []

    def shown(job: Any, _cluster: object, tell: Any = None) -> str:
        nonlocal now
        if tell is not None and job.checkpoint.load_from == 80:
            now += 30.0
            tell({"ok": 90})
        return job.result()

    def observe(event: events.Event) -> None:
        if isinstance(event, events.Loading) and event.inserted == 90:
            told.append(event.time_left.seconds)

    monkeypatch.setattr("pacelc.runner.loading.drive", shown)
    with Store.open(tmp_path / "out", create=study().as_document()) as store:
        made(LoadCheckpoint.of(study().schedule()[0], tmp_path / "out")).reached(80)
        run_study(study(), store, FakeLab(), observe=observe)
    # 10 records took 30 s, and 10 are left; then come two runs, of less than 2 s together.
    assert [30 < seconds < 32 for seconds in told] == [True]


def test_of_a_server_that_is_away_nothing_is_concluded(tmp_path: Path) -> None:
    away = iter([True])

    def on_load(_spec: Any) -> None:
        if next(away, False):
            raise _EngineError

    with Store.open(tmp_path / "out", create=study().as_document()) as store:
        made(LoadCheckpoint.of(study().schedule()[0], tmp_path / "out")).reached(60)
        lab = FakeLab(Script(on_load=on_load))
        assert run_study(study(), store, lab).failed == 1
    assert not {"clear", "prepare"} & set(lab.diary)


def test_fresh_data_is_loaded_before_every_run(tmp_path: Path) -> None:
    text = TEXT.format(kind="update", where="db:1", records=100) + "  fresh: data\n"
    text = text.replace("repetitions: 2\n  fresh: data\n", "  fresh: data\nrepetitions: 2\n")
    fresh = Study.parse(text)
    with Store.open(tmp_path / "out", create=fresh.as_document()) as store:
        lab = FakeLab()
        assert run_study(fresh, store, lab).finished == 2
    assert lab.diary.count("prepare") == 2


@pytest.mark.parametrize("more", [{}, {"saturation": {"objective": "p99 < 10ms"}}])
def test_what_has_made_nothing_has_nothing_to_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    Store.open(tmp_path / "out", create={**study().as_document(), **more}).close()
    with pytest.raises(Exit) as ended:
        clean(tmp_path / "out")
    assert ended.value.exit_code == 0
    said = capsys.readouterr()
    assert (said.out, said.err.startswith("nothing to drop")) == ("", True)
