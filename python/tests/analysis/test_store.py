"""A run is whole or absent, whatever happens to the writer."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store, StoreError, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
STUDY: dict[str, Any] = {
    "name": "tiny",
    "factors": {"consistency": ["weak", "strong"], "users": [1, 2]},
}
LOG = "#[Histogram log format version 1.3]\n"


def run_document(run_id: str = "0001-r1", ok: int = 10, **factors: Any) -> dict[str, Any]:
    labels = {"consistency": "weak", "users": 1, **factors}
    latency = {"n": ok, "mean": 2e6, "p50": 1e6, "p99": 3e6} if ok else {"n": 0}
    return {
        "study": "tiny",
        "run": run_id,
        "scenario": {
            "number": int(run_id[:4]),
            "factors": labels,
            "settings": {"database": "redis"},
        },
        "repetition": int(run_id.split("r")[1]),
        "seed": 5,
        "started_utc": NOW,
        "pacelc": "0.1.0",
        "machine": {"cores": 2},
        "result": {
            "measured_s": 2.0,
            "operations": {"read": {"ok": ok, "fail": {"timeout": 1}, "latency_ns": latency}},
        },
    }


def samples(rows: int = 2) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "t_s": [float(t) for t in range(rows)],
            "interval_s": [1.0] * rows,
            "phase": ["measure"] * rows,
            "operation": ["read"] * rows,
            **{name: [5] * rows for name in ("ok", "fail", "unknown")},
            **{name: [None] * rows for name in SAMPLES_SCHEMA if name.startswith("latency")},
        }
    )


def resources() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "t_s": [0.0, 2.0],
            "phase": ["measure"] * 2,
            "node": ["node-1"] * 2,
            "role": ["primary"] * 2,
            "cpu_user_s": [1.0, 1.6],
            "cpu_system_s": [1.0, 1.2],
            "rss_bytes": [100, 200],
            **{name: [None, None] for name in RESOURCES_SCHEMA if name.startswith(("disk", "net"))},
        }
    )


def write(store: Store, run_id: str = "0001-r1", **changes: Any) -> None:
    store.write_run(run_id, run_document(run_id, **changes), samples(), resources(), LOG)


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        write(store)
        assert store.finished() == {"0001-r1"}
    results = load(tmp_path / "r")
    row = results.runs.row(0, named=True)
    assert (row["users"], row["consistency"], row["throughput_per_s"]) == (1, "weak", 5.0)
    assert (row["latency_ms_mean"], row["read.latency_ms_p99"], row["fail"]) == (2.0, 3.0, 1)
    assert row["cpu_cores.primary"] == pytest.approx(0.4)
    assert row["cpu_share.primary"] == pytest.approx(0.2)
    assert row["memory_bytes.primary"] == 150.0
    assert results.levels == {"consistency": ("weak",), "users": (1,)}
    assert_frame_equal(results.samples.drop("source", "run"), samples().cast(dict(SAMPLES_SCHEMA)))  # pyright: ignore[reportArgumentType]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20),
    extra=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
def test_any_samples_and_any_further_keys_round_trip(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], extra: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("round") / "r"
    frame = samples(len(values)).with_columns(pl.Series("t_s", values))
    with Store.open(path, create=STUDY) as store:
        store.write_run("0001-r1", {**run_document(), "extra": extra}, frame, resources(), LOG)
    assert load(path).samples.get_column("t_s").to_list() == values
    assert json.loads((path / "runs/0001-r1/run.json").read_text())["extra"] == extra


def test_users_of_each_region_have_rows_of_their_own(tmp_path: Path) -> None:
    document = run_document(ok=12)
    reads = {"iowa": 10, "tokyo": 2}
    document["result"]["groups"] = [
        {
            "region": region,
            "users": [first, last],
            "operations": {"read": {"ok": reads[region], "latency_ns": {"n": 1, "p50": 1e6}}},
        }
        for region, first, last in (("iowa", 0, 2), ("tokyo", 3, 3))
    ]
    with Store.open(tmp_path / "r", create=STUDY) as store:
        store.write_run("0001-r1", document, samples(), resources(), LOG)
        store.write_run("0002-r1", run_document("0002-r1"), samples(), resources(), LOG)
    groups = load(tmp_path / "r").groups.select(
        "run", "region", "first_user", "last_user", "ok", "throughput_per_s", "latency_ms_p50"
    )
    assert groups.rows() == [
        ("0001-r1", "iowa", 0, 2, 10, 5.0, 1.0),
        ("0001-r1", "tokyo", 3, 3, 2, 1.0, 1.0),
    ]


def test_a_run_is_written_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        write(store)
        with pytest.raises(StoreError, match="written once"):
            write(store)


def test_two_runners_cannot_have_one_directory(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY):
        with pytest.raises(StoreError, match="another runner") as caught:
            Store.open(tmp_path / "r", create=STUDY)
        assert caught.value.hint
    Store.open(tmp_path / "r", create=STUDY).close()


def test_another_study_is_refused_by_the_field_that_differs(tmp_path: Path) -> None:
    Store.open(tmp_path / "r", create=STUDY).close()
    changed = {**STUDY, "factors": {**STUDY["factors"], "users": [1, 3]}}
    with pytest.raises(StoreError, match=r"factors\.users\[1\] is 2 there, 3 here") as refused:
        Store.open(tmp_path / "r", create=changed)
    assert "--out DIRECTORY" in str(refused.value.hint)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"settings": {"cluster_options": {"first_host": "127.0.1.1", "zookeeper_port": 12000}}},
        {"settings": {"cluster_options.port": 7000}},
        {"overrides": [{"set": {"cluster_options.first_host": "127.0.1.1"}}]},
        {"overrides": [{"when": {"users": 1}, "set": {"cluster_options": {"port": 7000}}}]},
    ],
)
def test_a_study_goes_on_where_its_clusters_listen_elsewhere(
    elsewhere: dict[str, Any], tmp_path: Path
) -> None:
    Store.open(tmp_path / "r", create=STUDY).close()
    Store.open(tmp_path / "r", create={**STUDY, **elsewhere}).close()
    Store.open(tmp_path / "s", create={**STUDY, **elsewhere}).close()
    Store.open(tmp_path / "s", create=STUDY).close()


@pytest.mark.parametrize(
    "counted",
    [
        {"factors": {"cluster_options.port": [7000, 7001], "users": [1, 2]}},
        {"factors": {"users": [1, 2]}, "exclude": [{"cluster_options.port": 7000}]},
        {"factors": {"users": [1, 2]}, "listed": [{"levels": {"cluster_options.port": 7000}}]},
    ],
)
def test_factors_number_the_scenarios_even_those_of_addresses(
    counted: dict[str, Any], tmp_path: Path
) -> None:
    Store.open(tmp_path / "r", create=counted).close()
    other = json.loads(json.dumps(counted).replace("7000", "7007"))
    with pytest.raises(StoreError, match="another study"):
        Store.open(tmp_path / "r", create=other)


def test_a_servers_own_port_is_part_of_its_configuration(tmp_path: Path) -> None:
    Store.open(tmp_path / "r", create=STUDY).close()
    configured = {**STUDY, "settings": {"cluster_options": {"config": {"port": 7000}}}}
    with pytest.raises(StoreError, match="another study: settings is absent there"):
        Store.open(tmp_path / "r", create=configured)


def test_a_study_in_another_order_is_the_same(tmp_path: Path) -> None:
    """What was the default may not be it any more, and then only one of two documents says it."""
    Store.open(tmp_path / "r", create={**STUDY, "order": "blocks"}).close()
    for other in ({}, {"order": "random"}):
        Store.open(tmp_path / "r", create={**STUDY, **other}).close()


def test_a_directory_of_other_things_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match=r"thesis\.tex"):
        Store.open(tmp_path, create=STUDY)
    with pytest.raises(StoreError, match="not a results directory"):
        load(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        load(tmp_path / "nowhere")


def test_a_file_in_the_place_of_the_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("x")
    with pytest.raises(StoreError, match="not a directory"):
        Store.open(tmp_path / "r", create=STUDY)


@pytest.mark.parametrize("name", ["study.json", "runs/0001-r1/run.json"])
def test_a_newer_format_gives_one_clear_error(tmp_path: Path, name: str) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        write(store)
    # A newer format may have renamed everything else.
    (tmp_path / "r" / name).write_text(json.dumps({"format": 99, "renamed": True}))
    with pytest.raises(StoreError, match="format 99") as caught:
        load(tmp_path / "r")
    assert "newer pacelc" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": "x"}, "seed"),
        ({"result": {"measured_s": 0.0, "operations": {}}}, "measured_s"),
        ({"result": {"measured_s": float("nan"), "operations": {}}}, "JSON"),
        ({"run": "0002-r1"}, "0002-r1"),
        ({"machine": {"cpu": object()}}, "no JSON form"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_written(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        with pytest.raises(StoreError, match=words):
            store.write_run("0001-r1", {**run_document(), **change}, samples(), resources(), LOG)
        assert store.finished() == set()
    assert list((tmp_path / "r/runs").iterdir()) == []


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (samples().drop("ok"), "lack the column 'ok'"),
        (samples().with_columns(pl.lit("x").alias("t_s")), "t_s must be"),
        (samples().with_columns(pl.lit(None).alias("ok")), "ok has nulls"),
        (samples().with_columns(pl.lit("cooling").alias("phase")), "cooling"),
        (samples().with_columns(pl.lit(float("inf")).alias("interval_s")), "not finite"),
    ],
)
def test_a_wrong_column_is_named(tmp_path: Path, frame: pl.DataFrame, words: str) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store, pytest.raises(StoreError, match=words):
        store.write_run("0001-r1", run_document(), frame, resources(), LOG)


def test_a_damaged_latency_log_is_refused_at_the_door(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "r", create=STUDY) as store,
        pytest.raises(StoreError, match="line 2"),
    ):
        store.write_run("0001-r1", run_document(), samples(), resources(), LOG + "rubbish\n")


def test_a_full_disk_leaves_no_run_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    written = 0

    def full(descriptor: int, data: memoryview) -> int:
        nonlocal written
        written += len(data)
        if written > 3000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    with Store.open(tmp_path / "r", create=STUDY) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(StoreError, match="no space left") as caught:
                write(store)
        assert "finished runs are kept" in (caught.value.hint or "")
        assert list((tmp_path / "r/runs").iterdir()) == []
        write(store)
        assert store.finished() == {"0001-r1"}


@pytest.mark.parametrize("calls", [1, 2, 3, 4, 5])
def test_a_writer_killed_at_any_file_leaves_no_run(tmp_path: Path, calls: int) -> None:
    program = f"""
        import os, signal, sys
        sys.path.insert(0, {str(__file__.rsplit("/", 1)[0])!r})
        import test_store as t
        store = t.Store.open({str(tmp_path / "r")!r}, create=t.STUDY)
        t.write(store, "0001-r1")
        count, flush = 0, os.fsync
        def dying(descriptor):
            global count
            count += 1
            flush(descriptor)
            if count == {calls}:
                os.kill(os.getpid(), signal.SIGKILL)
        os.fsync = dying
        t.write(store, "0002-r1", users=2)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert load(tmp_path / "r").runs.get_column("run").to_list() == ["0001-r1"]
    with Store.open(tmp_path / "r", create=STUDY) as store:  # the lock died with its holder
        assert [p.name for p in (tmp_path / "r/runs").iterdir()] == ["0001-r1"]
        write(store, "0002-r1", users=2)
    assert load(tmp_path / "r").runs.height == 2


def test_failures_count_their_attempts_and_never_hide_a_run(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        for reason in ("first", "second"):
            store.write_failure("0001-r1", reason=reason, hint="h", log_tail="t", when_utc=NOW)
        write(store)
    results = load(tmp_path / "r")
    assert results.failures.select("attempt", "reason").rows() == [(1, "first"), (2, "second")]
    assert results.runs.height == 1


def test_a_torn_line_of_the_timeline_is_left_out_and_not_continued(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        store.log_activity("measure", start_utc=NOW, seconds=2.0, scenario=1)
    with (tmp_path / "r/timeline.jsonl").open("a") as stream:
        stream.write('{"what": "lo')
    results = load(tmp_path / "r")
    assert results.timeline.height == 1
    assert "cut short" in results.problems[0]
    with Store.open(tmp_path / "r", create=STUDY) as store:
        store.log_activity("load", start_utc=NOW, seconds=1.0)
    assert load(tmp_path / "r").timeline.get_column("what").to_list() == ["measure", "load"]


def test_a_time_without_a_zone_is_refused(tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "r", create=STUDY) as store,
        pytest.raises(StoreError, match="no zone"),
    ):
        store.log_activity("load", start_utc=datetime(2026, 1, 1), seconds=1.0)  # noqa: DTZ001


def test_recorded_operations_move_into_the_run(tmp_path: Path) -> None:
    history = tmp_path / "history.parquet"
    pl.DataFrame({"start_ns": [1, 2]}).write_parquet(history)
    with Store.open(tmp_path / "r", create=STUDY) as store:
        store.write_run("0001-r1", run_document(), samples(), resources(), LOG, history)
    assert not history.exists()
    operations = load(tmp_path / "r").operations
    assert operations is not None
    assert operations.collect().rows() == [("r", "0001-r1", 1), ("r", "0001-r1", 2)]


def test_several_directories_are_told_apart(tmp_path: Path) -> None:
    for number, name in enumerate(("b/x", "a/x"), 1):
        with Store.open(tmp_path / name, create=STUDY) as store:
            write(store, f"{number:04d}-r2")
            write(store, f"{number:04d}-r1")
    results = load(tmp_path / "b/x", tmp_path / "a/x")
    runs = results.runs.select("source", "run").rows()
    assert runs == [(of, f"000{n}-r{r}") for n, of in ((1, "b/x"), (2, "a/x")) for r in (1, 2)]
    assert [record.run for record in results.records] == [run for _, run in runs]
    assert results.latency_log("b/x", "0001-r1") == LOG


def test_a_run_without_ok_operations_has_no_latency(tmp_path: Path) -> None:
    with Store.open(tmp_path / "r", create=STUDY) as store:
        write(store, ok=0)
    row = load(tmp_path / "r").runs.row(0, named=True)
    assert (row["throughput_per_s"], row["latency_ms_mean"]) == (0.0, None)


def test_percentiles_of_a_mixture_come_from_the_histograms(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(
        tmp_path / "r", databases=("mongodb",), users=(1,), repetitions=1, mixed=True, measure_s=5
    )
    row = load(path).runs.row(0, named=True)
    # Half the operations take about 2 ms, half about 6: a mean of medians would be 4, which hardly
    # any took.
    assert row["read.latency_ms_p50"] > 5
    assert row["update.latency_ms_p50"] < 3
    assert row["latency_ms_p99"] > row["update.latency_ms_p99"]
