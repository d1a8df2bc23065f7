"""What Prometheus is told while a study runs."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from fake_lab import FakeLab
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_openmetrics,
)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from pacelc.errors import InputError
from pacelc.runner import events, run_study
from pacelc.runner.account import TimeLeft
from pacelc.runner.metrics import Address, Metrics, parse_address, serving
from pacelc.store import Store, load
from pacelc.study import PlannedRun, Study

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

STUDY = """
name: watched
factors:
  consistency: [weak, strong]
  read-share: {"50 %": {mix: {read: 1, update: 1}}}
settings: {database: memory, measure: 1s, warm_up: 0s, cool_down: 0s, records: 100}
order: listed
"""

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def planned() -> list[PlannedRun]:
    return list(Study.parse(STUDY).schedule())


def scrape(metrics: Metrics) -> Samples:
    """What both text formats say, which must be the same."""
    registry = CollectorRegistry()
    registry.register(metrics)
    plain = samples(parse_text(generate_latest(registry).decode()))
    strict = samples(parse_openmetrics(openmetrics.generate_latest(registry).decode()))
    assert plain == strict
    return plain


def samples(families: Any) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(of: Samples, name: str, **labels: str) -> float | None:
    return of.get((name, tuple(sorted(labels.items()))))


def operations(ok: int, fail: int = 0, p99_ns: int | None = 3_000_000) -> dict[str, Any]:
    return {
        "read": {
            "ok": ok,
            "fail": fail,
            "unknown": 0,
            "latency_sum_ns": ok * 2_000_000,
            "p50_ns": None if p99_ns is None else 1_000_000,
            "p99_ns": p99_ns,
        }
    }


def progressed(run: PlannedRun, elapsed_s: float, **more: Any) -> events.Progressed:
    return events.Progressed(
        run=run,
        job=more.pop("job", 1),
        phase=more.pop("phase", "measure"),
        elapsed_s=elapsed_s,
        whole_s=20.0,
        users=4,
        ok=0,
        fail=0,
        unknown=0,
        throughput_per_s=1234.5,
        p99_ms=3.0,
        time_left=more.pop("left", TimeLeft(60.0)),
        operations=more.pop("operations", {}),
    )


def started(run: PlannedRun, position: int = 1) -> events.RunStarted:
    return events.RunStarted(run, position, 2, TimeLeft(90.0))


def finished(run: PlannedRun) -> events.RunFinished:
    return events.RunFinished(run, 1, 2, 1, 0, 0, 1.0, 1.0, ())


def heard(*seen: events.Event) -> Samples:
    metrics = Metrics()
    for event in seen:
        metrics(event)
    return scrape(metrics)


def test_before_anything_runs_there_is_nothing_but_zeros() -> None:
    seen = heard()
    assert value(seen, "pacelc_phase", phase="idle") == 1
    assert {v for (name, _), v in seen.items() if name != "pacelc_phase"} == {0.0}


def test_a_running_second_is_told_in_base_units() -> None:
    run = planned()[0]
    seen = heard(
        events.StudyStarted("watched", 2, 0, TimeLeft(120.0)),
        started(run),
        progressed(run, 1.0, operations=operations(500, fail=3)),
    )
    assert value(seen, "pacelc_operations_total", operation="read", outcome="ok") == 500
    assert value(seen, "pacelc_operations_total", operation="read", outcome="fail") == 3
    assert value(seen, "pacelc_operations_total", operation="read", outcome="unknown") == 0
    assert value(seen, "pacelc_latency_seconds", operation="read", quantile="0.5") == 0.001
    assert value(seen, "pacelc_latency_seconds", operation="read", quantile="0.99") == 0.003
    assert value(seen, "pacelc_latency_seconds_count", operation="read") == 500
    assert value(seen, "pacelc_latency_seconds_sum", operation="read") == 1.0
    assert value(seen, "pacelc_throughput_ops_per_second") == 1234.5
    assert value(seen, "pacelc_users") == 4
    assert value(seen, "pacelc_time_left_seconds") == 60
    assert value(seen, "pacelc_runs_left") == 2
    assert value(seen, "pacelc_phase", phase="measure") == 1
    assert sum(v for (name, _), v in seen.items() if name == "pacelc_phase") == 1
    labels = {
        "study": "watched",
        "run": "0001-r1",
        "database": "memory",
        "factor_consistency": "weak",
        "factor_read_share": "50 %",
    }
    assert value(seen, "pacelc_run_info", **labels) == 1


def test_names_keep_the_conventions() -> None:
    run = planned()[0]
    registry, metrics = CollectorRegistry(), Metrics()
    registry.register(metrics)
    for event in (started(run), progressed(run, 1.0, operations=operations(5))):
        metrics(event)
    families = list(parse_openmetrics(openmetrics.generate_latest(registry).decode()))
    assert len(families) == len({family.name for family in families}) == 9
    for family in families:
        assert re.fullmatch(r"pacelc_[a-z_]+[a-z]", family.name)
        assert family.documentation.endswith(".")
        assert not re.search(r"_(total|count|sum|bucket|ms|ns|percent)$", family.name)
        for sample in family.samples:
            assert (family.type == "counter") == sample.name.endswith("_total")
            assert all(re.fullmatch(r"[a-z_]+", name) for name in sample.labels)


def test_what_is_only_true_of_a_running_second_ends_with_the_run() -> None:
    run = planned()[0]
    end = finished(run), events.RunFailed(run, 1, 2, "no", None)
    for result, event in zip(("finished", "failed"), end, strict=True):
        seen = heard(
            events.StudyStarted("watched", 2, 0, TimeLeft(120.0)),
            started(run),
            progressed(run, 1.0, operations=operations(500)),
            event,
        )
        names = {name for name, _ in seen}
        assert not names & {"pacelc_users", "pacelc_throughput_ops_per_second", "pacelc_run_info"}
        assert value(seen, "pacelc_latency_seconds", operation="read", quantile="0.99") is None
        assert value(seen, "pacelc_operations_total", operation="read", outcome="ok") == 500
        assert value(seen, "pacelc_runs_total", result=result) == 1
        assert value(seen, "pacelc_runs_left") == 1
        assert value(seen, "pacelc_phase", phase="idle") == 1


def test_a_second_without_operations_has_no_percentiles() -> None:
    run = planned()[0]
    seen = heard(started(run), progressed(run, 1.0, operations=operations(0, p99_ns=None)))
    assert value(seen, "pacelc_latency_seconds", operation="read", quantile="0.99") is None
    assert value(seen, "pacelc_latency_seconds_count", operation="read") == 0


JOBS = st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=5), min_size=1, max_size=4)


@given(JOBS, st.booleans(), st.booleans())
def test_counters_never_fall_and_end_at_the_sum_of_all_jobs(
    jobs: list[list[int]], own_runs: bool, seen_empty: bool
) -> None:
    """Each job (a burn-in, a run) counts from nothing; what Prometheus sees goes on."""
    runs = planned()
    metrics = Metrics()
    last = 0.0
    for number, counts in enumerate(jobs):
        run = runs[number % 2 if own_runs else 0]
        if own_runs or number == 0:
            metrics(started(run))
        if seen_empty:
            # Before its first whole second a job has no operations to show.
            metrics(progressed(run, 0.25, job=number))
        for second, count in enumerate(sorted((*counts, max(counts))), 1):
            shown = operations(count)
            metrics(progressed(run, float(second), job=number, operations=shown))
            now = value(scrape(metrics), "pacelc_operations_total", operation="read", outcome="ok")
            assert now is not None
            assert now >= last
            last = now
    assert last == sum(max(counts) for counts in jobs)


def test_a_job_that_shows_itself_later_than_a_shorter_one_ended_counts_from_nothing() -> None:
    run = planned()[0]
    seen = heard(
        started(run),
        progressed(run, 0.25, job=1, operations=operations(500)),
        progressed(run, 0.5, job=2, operations=operations(700)),
    )
    assert value(seen, "pacelc_operations_total", operation="read", outcome="ok") == 1200


def test_a_time_left_that_is_only_a_limit_is_not_told() -> None:
    run = planned()[0]
    seen = heard(started(run), progressed(run, 1.0, left=TimeLeft(86_400.0, is_limit=True)))
    assert value(seen, "pacelc_time_left_seconds") is None


def test_every_phase_is_named_while_it_lasts() -> None:
    run = planned()[0]
    steps: list[tuple[events.Event, str]] = [
        (events.ClusterStarting("key", "memory", 3), "cluster-up"),
        (events.ClusterUp("key", "memory", 1.0, {}), "idle"),
        (started(run), "prepare"),
        (events.Loading(run, 100, 10, TimeLeft(70.0)), "load"),
        (progressed(run, 0.1, phase="burn-in"), "burn-in"),
        (progressed(run, 0.1, phase=""), "open"),
        (progressed(run, 0.2, phase="warm-up"), "warm-up"),
        (progressed(run, 0.3, phase="something new"), "something new"),
        (finished(run), "idle"),
        (events.Cooling(5.0, TimeLeft(50.0)), "cool-down"),
        (events.StudyFinished(1, 0, 0, 1.0, None), "idle"),
    ]
    metrics = Metrics()
    for event, phase in steps:
        metrics(event)
        seen = scrape(metrics)
        on = [labels for (name, labels), v in seen.items() if name == "pacelc_phase" and v == 1]
        assert on == [(("phase", phase),)]


class SlowJob:
    """A job of the fake that lasts two looks, and has operations to show."""

    def __init__(self, job: Any) -> None:
        self.job, self.looks = job, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.job, name)

    def wait(self, timeout_s: float) -> bool:
        self.looks += 1
        return self.looks > 2 and self.job.wait(timeout_s)

    def progress(self) -> Mapping[str, Any]:
        shown = operations(100 * self.looks)
        return {"phase": "measure", "elapsed_s": float(self.looks), "operations": shown}


def test_what_the_engine_shows_reaches_prometheus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, metrics = FakeLab(), Metrics()
    begin = type(lab.engine).run
    monkeypatch.setattr(type(lab.engine), "run", lambda self, spec: SlowJob(begin(self, spec)))
    seen: list[Samples] = []

    def observe(event: events.Event) -> None:
        metrics(event)
        if isinstance(event, events.Progressed):
            seen.append(scrape(metrics))

    study = Study.parse(STUDY)
    with Store.open(tmp_path / "out", create=study.as_document()) as store:
        run_study(study, store, lab, observe=observe)
    counts = [value(s, "pacelc_operations_total", operation="read", outcome="ok") for s in seen]
    assert counts == [100, 200, 300, 400]
    assert value(scrape(metrics), "pacelc_runs_total", result="finished") == 2


# --- The address ---


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9464", Address("127.0.0.1", 9464)),
        ("127.0.0.1:9464", Address("127.0.0.1", 9464)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("[::1]:9464", Address("::1", 9464)),
        ("localhost:0", Address("localhost", 0)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize("text", ["", "9464", "host", "host:", "host:port", ":65536", ":-1", ":²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="should be HOST:PORT"):
        parse_address(text)


def test_without_a_host_only_this_machine_is_answered() -> None:
    with serving(Metrics(), parse_address(":0")) as at:
        assert at.host == "127.0.0.1"
        with (
            pytest.raises(OSError, match="refused"),
            socket.create_connection(("127.0.0.2", at.port), timeout=5),
        ):
            pass


def get(url: str, accept: str = "text/plain") -> tuple[str, str]:
    with urlopen(Request(url, headers={"Accept": accept}), timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_whoever_asks_for_openmetrics_gets_it() -> None:
    with serving(Metrics(), Address("127.0.0.1", 0)) as at:
        kind, text = get(f"http://{at}/metrics", "application/openmetrics-text; version=1.0.0")
        assert kind.startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        kind, text = get(f"http://{at}/metrics")
        assert kind.startswith("text/plain")
        # The load generator is this process.
        assert "process_cpu_seconds_total" in {
            s.name for family in parse_text(text) for s in family.samples
        }
    with pytest.raises(OSError, match="refused"):
        get(f"http://{at}/metrics")


# --- The command ---


@contextmanager
def pacelc(directory: Path, *options: str) -> Generator[subprocess.Popen[str]]:
    study = directory / "study.yaml"
    study.write_text(STUDY.replace("measure: 1s", "measure: 3s"), encoding="utf-8")
    command = [sys.executable, "-m", "pacelc", "run", str(study), "--out", str(directory / "out")]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_running_study_can_be_scraped_and_exports_each_run(tmp_path: Path) -> None:
    with pacelc(tmp_path, "--metrics", "127.0.0.1:0", "--ycsb-output", "text") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("metrics: http://127.0.0.1:")
        url = line.split()[1]
        seen: list[Samples] = []
        end_s = time.monotonic() + 60
        while not seen or value(seen[-1], "pacelc_runs_total", result="finished") == 0:
            assert time.monotonic() < end_s
            seen.append(samples(parse_text(get(url)[1])))
            time.sleep(0.1)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == f"{tmp_path / 'out'}\n"
    rates = [value(s, "pacelc_throughput_ops_per_second") or 0.0 for s in seen]
    assert max(rates) > 1000
    phases = {
        dict(labels)["phase"]
        for s in seen
        for (name, labels), v in s.items()
        if name == "pacelc_phase" and v == 1
    }
    assert "measure" in phases
    runs = {dict(labels)["run"] for s in seen for name, labels in s if name == "pacelc_run_info"}
    assert "0001-r1" in runs
    for run in ("0001-r1", "0002-r1"):
        path = tmp_path / "out" / "export" / f"{run}.ycsb.txt"
        assert f"wrote {path}" in err
        ok = load(tmp_path / "out").runs.filter(run=run)["ok"].item()
        lines = [line.split(", ") for line in path.read_text(encoding="utf-8").splitlines()]
        assert sum(int(v) for _, name, v in lines if name == "Return=OK") == ok


def test_a_port_in_use_ends_it_in_one_line_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pacelc(tmp_path, "--metrics", f":{port}") as process:
            out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err.splitlines() == [
        f"error: --metrics 127.0.0.1:{port}: address already in use",
        "hint: give another port or host",
    ]
    assert not (tmp_path / "out").exists()
