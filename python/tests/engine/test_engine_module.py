"""The compiled module: its stub, its errors, its determinism, its hearing of Ctrl-C."""

from __future__ import annotations

import _thread
import ast
import contextlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacelc
from pacelc import _engine
from pacelc.study.model import LONGEST_OPERATION_S, MOST_THREADS, MOST_USERS


def spec(**changes: Any) -> str:
    workload = {
        "records": 100,
        "fields": 10,
        "field_length_bytes": 100,
        "mix": {"read": 0.5, "update": 0.5},
    } | changes.pop("workload", {})
    return json.dumps(
        {
            "target": {"database": "memory"},
            "workload": workload,
            "consistency": "weak",
            "users": 2,
            "spawn_rate_per_s": 1000.0,
            "warm_up_s": 0.0,
            "measure_s": 0.2,
            "operation_timeout_ms": 1000,
            "seed": 1,
        }
        | changes
    )


INSERTS = {"mix": {"update": 0.0, "insert": 1.0}, "field_length_bytes": 32, "fields": 1}


def test_the_stub_names_what_the_module_has() -> None:
    stub = ast.parse((Path(pacelc.__file__).parent / "_engine.pyi").read_text())
    named = {
        node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    } - {"KindProgress", "Progress"}
    assert named == {name for name in dir(_engine) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"users": 0}, "users"),
        ({"measure_s": 0.0}, "measure_s"),
        ({"warm_up_s": -1.0}, "warm_up_s"),
        ({"spawn_rate_per_s": 0.0}, "spawn_rate_per_s"),
        ({"operation_timeout_ms": 0}, "operation_timeout_ms"),
        ({"threads": 0}, "threads"),
        ({"workload": {"mix": {"read": 0.4}}}, "mix"),
        ({"workload": {"field_length_bytes": 0}}, "field_length_bytes"),
        ({"nonsense": 1}, "nonsense"),
        ({"target": {"database": "oracle"}}, "oracle"),
        ({"consistency": "strongest"}, "strongest"),
    ],
)
def test_bad_input_is_one_line_that_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(_engine.EngineError, match=field) as error:
        _engine.check(spec(**changes))
    assert "\n" not in error.value.message
    assert error.value.hint


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("users", MOST_USERS),
        ("threads", MOST_THREADS),
        ("operation_timeout_ms", LONGEST_OPERATION_S * 1000),
    ],
)
def test_a_study_has_the_engines_limits(field: str, most: int) -> None:
    _engine.check(spec(**{field: most}))
    with pytest.raises(_engine.EngineError, match=field):
        _engine.check(spec(**{field: most + 1}))


@given(st.text(max_size=40))
def test_no_text_upsets_the_module(text: str) -> None:
    for call in (
        lambda: _engine.check(text),
        lambda: _engine.resolve_consistency("redis", text, text),
    ):
        with pytest.raises(_engine.EngineError):
            call()


@given(seed=st.integers(0, 2**64 - 1), user=st.integers(0, 9))
def test_the_same_seed_issues_the_same_operations(seed: int, user: int) -> None:
    text = spec(seed=seed, users=10)
    assert _engine.operations(text, user, 50) == _engine.operations(text, user, 50)
    assert _engine.operations(text, user, 50) != _engine.operations(text, (user + 1) % 10, 50)


def test_what_is_previewed_is_what_is_issued(tmp_path: Path) -> None:
    from pacelc.runner.operations import gather_operations

    path = tmp_path / "operations"
    text = spec(users=1, record_operations=str(path), workload={"mix": {"update": 1.0}})
    _engine.run(text).result()
    issued = pl_read(gather_operations(path))
    previewed = _engine.operations(text, 0, 10)
    first = issued[0]["sequence"]
    assert first < 10
    assert issued[0]["operation"] == previewed[first][0]


def test_due_times_are_recorded_as_they_were_drawn(tmp_path: Path) -> None:
    import polars as pl

    from pacelc.runner.operations import gather_operations

    path = tmp_path / "operations"
    arrivals = {"open": {"rate_per_s": 2000.0, "spread": "exponential", "schedule": "shared"}}
    _engine.run(spec(arrivals=arrivals, record_operations=str(path), measure_s=2.0)).result()
    log = pl.read_parquet(gather_operations(path))
    assert (log["due_ns"] <= log["start_ns"]).all()
    gaps = log["due_ns"].sort().diff().drop_nulls()
    # Of an exponential distribution the deviation is the mean.
    assert 0.7 < gaps.std() / gaps.mean() < 1.4
    assert log.height > 500


@pytest.mark.parametrize("records", [[], [0, 99, 100]])
def test_records_are_read_back_by_number(records: list[int]) -> None:
    text = spec(workload={"table": "read_back"})
    _engine.load(text).result()
    answer = json.loads(_engine.read_back(text, records, 10.0).result())
    assert answer["found"] == records[:2]
    assert answer["missing"] == records[2:]
    assert (answer["writer"], answer["sequence"]) == ([0] * len(records[:2]), records[:2])
    assert answer["origin"] == ["load"] * len(records[:2])
    assert (answer["unread"], answer["errors"]) == ([], {})


def test_a_run_tells_its_own_versions_from_those_of_runs_before(tmp_path: Path) -> None:
    import polars as pl

    from pacelc.runner.engine import new_run_tag
    from pacelc.runner.operations import gather_operations

    def log(tag: int, name: str) -> pl.DataFrame:
        path = tmp_path / name
        mix = {"read": 0.5, "update": 0.4, "read_modify_write": 0.1}
        workload = {"table": "origins", "mix": mix, "update_all_fields": True}
        text = spec(record_operations=str(path), run=tag, measure_s=0.3, workload=workload)
        if name == "first":
            _engine.load(text).result()
        _engine.run(text).result()
        return pl.read_parquet(gather_operations(path))

    tags = [new_run_tag() for _ in range(2)]
    assert tags[0] != tags[1]
    assert all(0 < tag < 2**28 for tag in tags)
    first, second = log(tags[0], "first"), log(tags[1], "second")
    reads = pl.col("operation") != "update"
    # The same users and counts as in the first run, whose writes are taken for none of these.
    assert set(first.filter(reads)["read_origin"]) == {"load", "run"}
    assert set(second.filter(reads)["read_origin"]) == {"earlier", "run"}
    assert first.filter(~reads)["read_origin"].null_count() == first.filter(~reads).height
    for frame in (first, second):
        own = frame.filter(pl.col("read_origin") == "run").select(
            "record",
            (pl.col("read_writer") - 1).alias("user"),
            pl.col("read_sequence").alias("sequence"),
        )
        assert own.height > 100
        assert own.join(frame, on=["record", "user", "sequence"], how="anti").is_empty()
        assert not frame["torn"].any()
        assert frame["field"].null_count() == frame.height


def test_a_sample_has_all_operations_of_its_records_and_every_version_is_found_in_it(
    tmp_path: Path,
) -> None:
    import polars as pl

    from pacelc.runner.operations import gather_operations

    workload = {"table": "observed", "mix": {"read": 0.6, "update": 0.4}, "update_all_fields": True}
    # The sixteen hottest of them have 13 % of the operations, more than half of the room.
    workload |= {"records": 1_000, "distribution": {"zipfian": {"theta": 0.5}}}
    changes = {"run": 5, "users": 1, "operations": 20_000, "measure_s": 30.0, "workload": workload}
    _engine.load(spec(**changes)).result()
    logs: list[pl.DataFrame] = []
    results: list[dict[str, Any]] = []
    # One user does the same operations again.
    for limit in (None, 64 * 3_000):
        path = tmp_path / f"operations-{limit}"
        text = spec(**changes, record_operations=str(path), operations_limit_bytes=limit)
        results.append(json.loads(_engine.run(text).result()))
        logs.append(pl.read_parquet(gather_operations(path, results[-1]["observed"])))
    (everything, sample), observed = logs, results[1]["observed"]
    assert results[0]["observed"] is None
    assert (observed["operations"], everything.height) == (20_000, 20_000)
    assert observed["lost_operations"] == 0
    assert 500 < observed["logged"] == sample.height <= 3_000
    assert 0 < observed["threshold"] < observed["share_of_records"] < 1
    assert observed["hot_records"] == list(range(len(observed["hot_records"]) or 1))
    identity = ["user", "sequence", "record", "operation"]
    expected = everything.filter(pl.col("record").is_in(sample["record"].unique().implode()))
    assert sample.select(identity).equals(expected.select(identity))
    reads = sample.filter(pl.col("operation") == "read")
    own = reads.filter(pl.col("read_origin") == "run")
    assert own.height > 10
    assert own.join(
        sample, left_on=["record", "read_sequence"], right_on=["record", "sequence"], how="anti"
    ).is_empty()


def test_the_samples_of_workers_are_brought_to_the_smallest(tmp_path: Path) -> None:
    from pacelc.runner.operations import gather_operations

    path = tmp_path / "operations"
    results: list[str] = []
    for worker, limit in enumerate((64 * 1_000, 64 * 8_000)):
        changes = {"users": 1, "first_user": worker, "all_users": 2, "workers": 2, "worker": worker}
        text = spec(
            **changes,
            operations=40_000,
            measure_s=30.0,
            record_operations=f"{path}.{worker}",
            operations_limit_bytes=limit,
            workload={
                "mix": {"read": 1.0},
                "distribution": {"hotspot": {"hot_set_fraction": 0.05}},
            },
        )
        results.append(_engine.run(text).result())
    parts = [json.loads(result)["observed"] for result in results]
    merged = json.loads(_engine.merge(results))["observed"]
    assert parts[0]["threshold"] < parts[1]["threshold"]
    assert merged["threshold"] == parts[0]["threshold"]
    assert merged["hot_records"] == min((part["hot_records"] for part in parts), key=len)
    assert merged["operations"] == 40_000
    log = pl_frame(gather_operations(path, merged))
    of_workers = [set(log.filter(log["user"] == user)["record"]) for user in range(2)]
    assert of_workers[0] == of_workers[1]
    assert log.height < sum(part["logged"] for part in parts)


def pl_frame(path: Path) -> Any:
    import polars as pl

    return pl.read_parquet(path)


def pl_read(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    return pl.read_parquet(path).head(10).to_dicts()


def test_waiting_lets_other_threads_run() -> None:
    ticks = 0
    job = _engine.run(spec(measure_s=1.0))
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    job.wait(30.0)
    done.set()
    thread.join()
    assert ticks > 3, "it would be 0 or 1 if waiting kept others from running"


def test_ctrl_c_is_heard_while_waiting_and_stops_the_job() -> None:
    job = _engine.run(spec(measure_s=600.0))
    threading.Timer(0.5, _thread.interrupt_main).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        job.wait(60.0)
    assert time.monotonic() - start < 30
    with pytest.raises(_engine.Stopped):
        job.result()


def test_progress_tells_of_the_run() -> None:
    job = _engine.run(spec(measure_s=2.2, warm_up_s=2.0, workload=INSERTS))
    phases, starts = set(), {}
    while not job.wait(0.02):
        progress = job.progress()
        phases.add(progress["phase"])
        starts.setdefault(progress["measure_start_unix_s"], time.time())
    assert {"warm-up", "measure"} <= phases
    progress = job.progress()
    assert progress["phase"] == "done"
    # When measuring begins is told before it does, and doesn't change.
    [start] = starts.keys() - {None}
    assert starts[start] < start
    assert json.loads(job.result())["started_unix_s"] == pytest.approx(start, abs=1e-6)
    assert progress["ok"] > 0
    assert progress["p99_ns"]


def test_a_job_that_is_dropped_stops() -> None:
    before = threading.active_count()
    job = _engine.run(spec(measure_s=600.0))
    del job
    deadline = time.monotonic() + 10
    names: list[str] = []
    while time.monotonic() < deadline:
        names = []
        for thread in Path("/proc/self/task").glob("*/comm"):
            # One may end between being found and being read.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                names.append(thread.read_text())
        if not any(name.startswith("pacelc-") for name in names):
            break
        time.sleep(0.05)
    assert not [name for name in names if name.startswith("pacelc-")]
    assert threading.active_count() == before


def test_the_documented_table_of_aliases_is_the_engines() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "levels.md").read_text()
    for row in json.loads(_engine.levels()):
        line = f"| {row['database']} | {row['alias']} | {row['read']} | {row['write']} |"
        assert line in page
