"""The runner's parts, each by itself."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.databases import facts_of
from pacelc.runner.account import Account, Forecast, Pending
from pacelc.runner.compiling import CompilerWatch
from pacelc.runner.engine import run_spec
from pacelc.runner.interruption import Interrupted, interruptible
from pacelc.runner.machine import describe_machine
from pacelc.runner.operations import gather_operations
from pacelc.runner.record import run_record
from pacelc.runner.resources import Reading, resources_frame
from pacelc.study import PlannedRun, Study


def planned(*overrides: str) -> PlannedRun:
    text = "name: p\nsettings: {database: redis, warm_up: 1s, measure: 10s, cool_down: 5s}\n"
    return Study.parse(text, overrides).schedule()[0]


def reading(unix_s: float, cpu_s: float = 0.0) -> Reading:
    return Reading(unix_s, "primary", "primary", cpu_s, 0.0, 1, 2, 3, None, None)


def test_readings_count_from_the_start_of_measuring() -> None:
    frame = resources_frame(
        [reading(u) for u in (90.0, 98.5, 99.5, 100.0, 104.9, 105.05, 106.0)], 100.0, 5.0, 1.0
    )
    assert frame["t_s"].to_list() == pytest.approx([-0.5, 0.0, 4.9, 5.05])
    assert frame["phase"].to_list() == ["warm-up", "measure", "measure", "measure"]


def test_no_readings_are_an_empty_frame_of_the_right_columns() -> None:
    assert resources_frame([], 0.0, 1.0, 0.0).height == 0


def test_the_engine_is_told_what_the_settings_say() -> None:
    run = planned(
        "distribution=uniform", "mix={read: 3, insert: 1}", "operation_timeout=250ms", "users=7"
    )
    spec = run_spec(run, {"database": "redis"}, None)
    assert spec["workload"]["mix"] == {"read": 0.75, "insert": 0.25}
    assert (spec["workload"]["distribution"], spec["operation_timeout_ms"], spec["users"]) == (
        "uniform",
        250,
        7,
    )
    assert spec["seed"] == run.seed


def test_the_engine_is_told_its_own_options_and_not_those_of_the_servers() -> None:
    target = {"database": "cassandra", "directory": "/data", "options": {"heap_mib": 512}}
    run = planned("client_options.coordinator=token-aware", "cluster_options.port=17000")
    assert run_spec(run, target, None)["target"] == {
        "database": "cassandra",
        "options": {"coordinator": "token-aware"},
    }


def test_a_zipfian_workload_is_told_its_exponent() -> None:
    assert run_spec(planned(), {}, None)["workload"]["distribution"] == {"zipfian": {"theta": 0.99}}
    shaped = planned("distribution={zipfian: {theta: 0.5}}")
    assert run_spec(shaped, {}, None)["workload"]["distribution"] == {"zipfian": {"theta": 0.5}}


def test_arrivals_are_told_as_the_engine_names_them() -> None:
    def told(*overrides: str) -> object:
        return run_spec(planned(*overrides), {}, None)["arrivals"]

    def scheduled(spread: str, schedule: str) -> object:
        return {"open": {"rate_per_s": 500.0, "spread": spread, "schedule": schedule}}

    assert told("think_time=20ms") == {"closed": {"think_s": 0.02, "think": "constant"}}
    assert told("arrivals=target", "rate=500") == scheduled("constant", "user")
    assert told("arrivals=constant", "rate=500") == scheduled("constant", "shared")
    assert told("arrivals=poisson", "rate=500", "schedule=user") == scheduled("exponential", "user")


def test_a_kind_that_never_succeeded_has_latencies_of_nothing() -> None:
    result: Any = {
        "measured_s": 1.0,
        "warm_up_s": 0.0,
        "before_measure_s": 0.0,
        "steady": None,
        "started_unix_s": 0.0,
        "consistency": {},
        "operations": {
            "read": {"ok": 0, "fail": {"timeout": 3}, "unknown": {}, "latency_ns": None}
        },
        "samples": {},
        "latency_log": "",
        "schedule": None,
        "client": {},
        "warnings": [],
    }
    record = run_record("p", planned(), result, {}, {}, {}, "0", {"network": {"hosts": []}})
    assert record["result"]["operations"]["read"]["latency_ns"] == {"n": 0}
    assert record["network"] == {"hosts": []}


def test_the_machine_says_how_many_cores_it_has() -> None:
    machine = describe_machine()
    assert machine["cores"] == len(os.sched_getaffinity(0))
    assert int(machine["memory_bytes"]) > 2**20


def test_what_compilers_of_servers_use_is_told_by_their_threads_names() -> None:
    assert CompilerWatch([os.getpid()]).used() is None
    told, end = threading.Event(), threading.Event()

    def compile_() -> None:
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text("C2 CompilerThread0")
        told.set()
        while not end.is_set():
            hashlib.sha256(bytes(1 << 20))

    thread = threading.Thread(target=compile_)
    thread.start()
    told.wait()
    watch = CompilerWatch([os.getpid(), 1 << 30])
    time.sleep(0.5)
    used = watch.used()
    end.set()
    thread.join()
    assert used is not None
    assert 0.1 < used.cores < 1.1
    assert used.share is not None
    assert 0.1 < used.share <= 1


def test_the_first_signal_interrupts_and_the_second_does_not_tear_the_tear_down() -> None:
    with pytest.raises(Interrupted) as caught, interruptible():  # noqa: PT012 - the second signal is the point
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
    assert caught.value.exit_status == 143


def test_handlers_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_time_outside_load_warm_up_measuring_and_cool_down_is_overhead() -> None:
    now = 0.0
    account = Account(lambda *_args, **_kwargs: None, clock=lambda: now)
    with account.activity("cluster-up"):
        now += 2.0
    with account.activity("load"):
        now += 3.0
    account.add_phases(planned(), datetime.now(UTC).timestamp(), 1.5, 1.0, 4.0)
    now += 5.0
    shares = {"cluster-up": 0.2, "spawn": 0.05, "not accounted for": 0.0}
    assert account.overhead == pytest.approx(shares)
    now += 10.0
    assert account.overhead["not accounted for"] == pytest.approx(0.475)


def test_an_activity_is_logged_however_it_ends() -> None:
    logged: list[str] = []
    account = Account(lambda what, **_kwargs: logged.append(what))
    with pytest.raises(ZeroDivisionError), account.activity("load"):
        raise ZeroDivisionError
    assert logged == ["load"]


def left_s(forecast: Forecast, runs: list[PlannedRun], after: PlannedRun | None = None) -> float:
    return forecast.left(Pending(runs), after).seconds


def test_the_forecast_learns_what_starts_and_overheads_cost() -> None:
    run, forecast = planned(), Forecast()
    before = left_s(forecast, [run, run])
    forecast.cluster_took("redis", 30.0)
    forecast.run_took(run, 13.0)
    # A start, a load, two runs with the user's start, and the rest between them.
    assert before == pytest.approx(2 + 0.1 + 2 * (0.1 + 11 + 0.5) + 5)
    assert left_s(forecast, [run, run]) == pytest.approx(30 + 0.1 + 2 * 13 + 5)
    assert left_s(forecast, [run], after=run) == pytest.approx(5 + 13)


def test_the_forecast_has_the_time_in_which_users_start() -> None:
    many, forecast = planned("users=200"), Forecast()
    assert forecast.run_s(many) == pytest.approx(20 + 11 + 0.5)
    forecast.run_took(many, 32.5)
    assert forecast.run_s(planned("users=100")) == pytest.approx(10 + 11 + 1.5)


def test_the_forecast_has_a_load_only_where_one_is_needed() -> None:
    forecast = Forecast()
    read, insert = planned("records=1000000"), planned("records=1000000", "mix={insert: 1}")
    forecast.cluster_took("redis", 0.0)
    forecast.load_took(read, 200.0)
    forecast.run_took(read, 11.0)
    assert left_s(forecast, [read] * 100, after=read) == pytest.approx(100 * (5 + 11))
    assert left_s(forecast, [read] * 100) == pytest.approx(200 + 100 * 11 + 99 * 5)
    assert left_s(forecast, [insert] * 3) == pytest.approx(3 * (200 + 11) + 2 * 5)
    fewer = planned("records=500000")
    assert left_s(forecast, [fewer], after=read) == pytest.approx(5 + 100 + 11)
    assert forecast.load_s(planned("database=noop", f"records={10**10}")) == 0


def test_the_forecast_has_a_burn_in_once_a_cluster() -> None:
    forecast = Forecast()
    burnt, usual = planned("burn_in=60s"), planned()
    assert left_s(forecast, [burnt, burnt]) == pytest.approx(60 + left_s(forecast, [usual, usual]))
    anew = planned("burn_in=60s", "fresh=cluster")
    assert left_s(forecast, [anew, anew]) == pytest.approx(2 * left_s(forecast, [burnt]))


def test_the_forecast_learns_how_soon_a_number_of_operations_is_done() -> None:
    run, forecast = planned("operations=1000"), Forecast()
    forecast.run_took(run, 2.0)
    forecast.run_took(run, 4.0)
    assert forecast.run_s(run) == pytest.approx(3.0)
    assert forecast.run_s(planned("operations=2000")) == pytest.approx(1.1 + 2 * 1.9)
    assert forecast.run_s(planned("operations=1000", "measure=1s")) == pytest.approx(2.1)
    # What operations took says nothing of a run that ends by time.
    assert forecast.run_s(planned()) == pytest.approx(0.1 + 11 + 0.5)


def test_until_a_database_has_done_its_operations_the_time_left_is_a_limit() -> None:
    counted, timed, forecast = planned("operations=1000"), planned(), Forecast()
    assert forecast.left(Pending([timed, counted])).is_limit
    assert forecast.left_with(counted, Pending([timed])).is_limit
    assert not forecast.left(Pending([timed])).is_limit
    forecast.run_took(planned("operations=1000", "database=mongodb"), 2.0)
    assert forecast.left(Pending([counted])).is_limit
    forecast.run_took(counted, 2.0)
    assert not forecast.left(Pending([timed, counted])).is_limit


KINDS = [
    planned(*more)
    for more in (
        (),
        ("users=20",),
        ("records=5000",),
        ("mix={insert: 1}",),
        ("operations=500",),
        ("fresh=cluster", "burn_in=7s"),
        ("database=mongodb",),
        ("database=mongodb", "operations=700", "cool_down=3s"),
        ("database=noop",),
    )
]


def plain_s(forecast: Forecast, runs: list[PlannedRun], after: PlannedRun | None) -> float:
    """What they take, one after the other."""
    seconds = 0.0
    for run in runs:
        settings = run.scenario.settings
        before = None if after is None else after.scenario.settings
        goes_on = after is not None and after.cluster_key == run.cluster_key
        if before is not None and goes_on and before.fresh != "cluster":
            seconds += before.cool_down_s
            if before.next_needs_fresh_data or before.data_set != settings.data_set:
                seconds += forecast.load_s(run)
        else:
            start_s = {"redis": 30.0}.get(settings.database, facts_of(settings.database).start_s)
            seconds += start_s + forecast.load_s(run) + settings.burn_in_s
        seconds += forecast.run_s(run)
        after = run
    return seconds


@given(
    st.lists(st.sampled_from(KINDS), max_size=12),
    st.lists(st.none() | st.sampled_from(KINDS), max_size=20),
    st.lists(st.tuples(st.sampled_from(KINDS), st.floats(0, 100)), max_size=4),
)
def test_the_time_left_by_parts_is_that_of_each_run_after_the_other(
    runs: list[PlannedRun],
    steps: list[PlannedRun | None],
    took: list[tuple[PlannedRun, float]],
) -> None:
    forecast, pending, after = Forecast(), Pending(runs), None
    forecast.cluster_took("redis", 30.0)
    for run, seconds in took:
        forecast.run_took(run, seconds)
        forecast.load_took(run, seconds)
    for added in steps:
        if added is not None:
            pending.add(added)
            runs = [added, *runs]
        elif runs:
            pending.take()
            after, *runs = runs
        assert len(pending) == len(runs)
        left = forecast.left(pending, after).seconds
        assert left == pytest.approx(plain_s(forecast, runs, after))
        assert all(n > 0 for _, n in pending.parts(after))


def test_a_hundred_times_as_many_runs_have_no_more_kinds_of_parts() -> None:
    few, many = Pending(KINDS * 2), Pending(KINDS * 200)
    assert len(list(many.parts(None))) == len(list(few.parts(None)))


def test_operations_of_all_threads_are_gathered_in_the_order_of_their_starts(
    tmp_path: Path,
) -> None:
    def row(start_ns: int, *, read: bool, error: int) -> bytes:
        numbers = np.array(
            [start_ns - 3, start_ns, start_ns + 5, 7, 1, 3 if read else 2**64 - 1], dtype="<u8"
        ).tobytes()
        return (
            numbers
            + np.array([2, 4], dtype="<u4").tobytes()
            + bytes([0, 0 if error == 255 else 2, error])
            + bytes(5)
        )

    path = tmp_path / "operations.parquet"
    (tmp_path / "operations.parquet.0").write_bytes(row(20, read=True, error=255))
    (tmp_path / "operations.parquet.1").write_bytes(row(10, read=False, error=0))
    frame = pl.read_parquet(gather_operations(path))
    assert frame["start_ns"].to_list() == [10, 20]
    assert frame["due_ns"].to_list() == [7, 17]
    assert frame["outcome"].to_list() == ["unknown", "ok"]
    assert frame["error"].to_list() == ["timeout", None]
    assert frame["read_sequence"].to_list() == [None, 3]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["operations.parquet"]
