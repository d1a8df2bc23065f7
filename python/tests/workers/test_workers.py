"""What needs no Ray: clocks, the division of a run, the merge of its parts, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc import _engine
from pacelc.errors import CannotRun, InputError
from pacelc.runner.operations import gather_operations
from pacelc.store.latency_log import Histogram, read_latency_log
from pacelc.workers import crew as workers
from pacelc.workers.agent import Agent
from pacelc.workers.clocks import Offset, offset_of
from pacelc.workers.connection import Local, Remote, parse
from pacelc.workers.crew import Lost, Member, WorkerLost
from pacelc.workers.division import agree, divide, part_spec
from pacelc.workers.engine import RayEngine
from pacelc.workers.remote_map import Caller

if TYPE_CHECKING:
    from collections.abc import Callable


# --- Clocks ---


@given(
    offset_s=st.floats(-1e6, 1e6),
    delays=st.lists(
        st.tuples(st.floats(1e-5, 0.5), st.floats(1e-5, 0.5)), min_size=20, max_size=20
    ),
)
def test_the_true_offset_is_within_the_uncertainty(
    offset_s: float, delays: list[tuple[float, float]]
) -> None:
    now = [1_000.0]
    trips = iter(delays)
    taken: list[float] = []

    def ask() -> float:
        there, back = next(trips)
        now[0] += there
        said = now[0] + offset_s
        now[0] += back
        taken.append(there + back)
        return said

    found = offset_of(ask, clock=lambda: now[0], stopwatch=lambda: now[0])
    assert abs(found.offset_s - offset_s) <= found.uncertainty_s + 1e-6
    assert found.uncertainty_s == pytest.approx(min(taken) / 2)
    assert 5 <= len(taken) <= 20
    assert found.here(found.there(5.0)) == pytest.approx(5.0)


# --- Division ---


@given(workers=st.integers(1, 300), more=st.integers(0, 5_000))
def test_every_user_is_someones_and_nobodys_twice(workers: int, more: int) -> None:
    shares = divide(workers + more, workers)
    assert [user for s in shares for user in range(s.first, s.last + 1)] == [*range(workers + more)]
    assert max(s.users for s in shares) - min(s.users for s in shares) <= 1


def spec(users: int, **more: Any) -> dict[str, Any]:
    return {
        "target": {"database": "noop"},
        "workload": {"records": 10, "fields": 1, "field_length_bytes": 100, "mix": {"read": 1.0}},
        "consistency": "weak",
        "users": users,
        "spawn_rate_per_s": 100.0,
        "warm_up_s": 0.5,
        "measure_s": 1.0,
        "operation_timeout_ms": 1_000,
        "seed": 1,
        "arrivals": {"open": {"rate_per_s": 2_000.0, "spread": "constant", "schedule": "shared"}},
        **more,
    }


@given(
    workers=st.integers(1, 20),
    more=st.integers(0, 500),
    offsets=st.lists(st.floats(-1e5, 1e5), min_size=20, max_size=20),
)
def test_all_users_are_in_at_the_same_time_before_measuring_everywhere(
    workers: int, more: int, offsets: list[float]
) -> None:
    whole = spec(workers + more)
    agreement = agree(whole, now_unix_s=1e9, lead_s=2.0)
    assert agreement.start_unix_s == 1e9 + 2
    assert agreement.measure_start_unix_s - agreement.last_unix_s == pytest.approx(0.5, abs=1e-6)
    for number, share in enumerate(divide(whole["users"], workers)):
        clock = Offset(offsets[number], 0.0)
        part = part_spec(whole, number, share, agreement, clock)
        start_unix_s = clock.here(part["start_unix_s"])
        assert start_unix_s >= agreement.start_unix_s - 1e-3
        last_unix_s = start_unix_s + (part["users"] - 1) / part["spawn_rate_per_s"]
        assert last_unix_s == pytest.approx(agreement.last_unix_s, abs=1e-3)
        assert clock.here(part["measure_start_unix_s"]) == pytest.approx(
            agreement.measure_start_unix_s, abs=1e-3
        )
        _engine.check(json.dumps(part))


def test_workers_of_one_machine_write_operations_to_files_of_their_own() -> None:
    whole = spec(4, record_operations="/tmp/operations")
    agreement = agree(whole, 0.0, 0.0)
    names = {
        part_spec(whole, number, share, agreement, Offset(0.0, 0.0))["record_operations"]
        for number, share in enumerate(divide(4, 2))
    }
    assert len(names) == 2


def test_paths_are_whole_for_processes_that_stand_elsewhere() -> None:
    security = {
        "user": "me",
        "password": {"file": "secrets/password"},
        "tls": {"ca_file": "ca.pem", "key_file": "/etc/key.pem", "server_name": "db"},
    }
    whole = spec(
        1, record_operations="out/operations", target={"database": "redis", "security": security}
    )
    (share,) = divide(1, 1)
    part = part_spec(whole, 0, share, agree(whole, 0.0, 0.0), Offset(0.0, 0.0))
    here = str(Path.cwd())
    assert part["record_operations"] == f"{here}/out/operations.0"
    assert part["target"]["security"] == {
        "user": "me",
        "password": {"file": f"{here}/secrets/password"},
        "tls": {"ca_file": f"{here}/ca.pem", "key_file": "/etc/key.pem", "server_name": "db"},
    }
    referred = spec(1, target={"database": "redis", "security": {"password": {"env": "HERE"}}})
    part = part_spec(referred, 0, share, agree(referred, 0.0, 0.0), Offset(0.0, 0.0))
    assert part["target"] == referred["target"]


# --- A run, its parts measured in this process ---


class Crew:
    """As `pacelc.workers.crew.Crew`, with agents that are objects here."""

    def __init__(self, count: int, loses: int | None = None, late_s: float = 0.0) -> None:
        self.members = [Member(number, "", f"node{number}") for number in range(count)]
        self.loses = loses
        self.polls = 0
        self.late_s = late_s
        self.stopped: list[int] = []
        self.answers: list[str] = []

    def complete(self) -> None:
        for member in self.members:
            member.agent = member.agent or Agent()
            member.about = member.agent.about()

    def dismiss(self, member: Member) -> None:
        member.agent = None

    def clock(self, _member: Member) -> Offset:
        return Offset(0.0, 0.001)

    def crowded(self) -> str | None:
        return None

    def ask(
        self,
        members: list[Member],
        method: str,
        arguments: Callable[[Member], tuple[Any, ...]] = lambda _member: (),
        timeout_s: float = 1.0,
    ) -> list[Any]:
        assert timeout_s > 0
        if method == "poll":
            self.polls += 1
        if method == "stop":
            self.stopped += [member.number for member in members]
        answers: list[Any] = []
        for member in members:
            if member.number == self.loses and method == "poll" and self.polls > 2:
                member.agent.stop()
                answers.append(Lost("killed"))
            else:
                given = arguments(member)
                if method == "start" and member.number == 1 and self.late_s:
                    part = json.loads(given[0])
                    part["measure_start_unix_s"] += self.late_s
                    given = (json.dumps(part),)
                answers.append(getattr(member.agent, method)(*given))
        if method == "result":
            self.answers = answers
        return answers


def measured(crew: Crew, **more: Any) -> dict[str, Any]:
    engine = RayEngine(_engine, crew, lead_s=0.3)
    job = engine.run(json.dumps(spec(5, **more)))
    while not job.wait(0.1):
        pass
    assert job.progress()["users"] == 5
    return json.loads(job.result())


def test_the_whole_is_the_sum_of_its_parts() -> None:
    crew = Crew(2)
    whole = measured(crew)
    parts = [json.loads(answer) for answer in crew.answers]
    reads = whole["operations"]["read"]
    assert reads["ok"] == sum(part["operations"]["read"]["ok"] for part in parts)
    assert [worker["ok"] for worker in whole["workers"]] == [
        part["operations"]["read"]["ok"] for part in parts
    ]
    # 2,000 a second of all machines, for a second.
    assert whole["schedule"]["due"] == sum(part["schedule"]["due"] for part in parts)
    assert whole["schedule"]["due"] == pytest.approx(2_000, abs=2)
    one, other, both = [histogram(text) for text in (*parts, whole)]
    assert both.count == reads["ok"]
    assert np.array_equal(one.plus(other).counts, both.counts)
    assert [worker["users"] for worker in whole["workers"]] == [[0, 1], [2, 4]]
    for worker in whole["workers"]:
        assert worker["first_start_skew_ms"] >= 0
    # Of two on an idle machine nobody is told; 100 ms are worth a warning.
    skews = [worker["first_start_skew_ms"] for worker in whole["workers"]]
    assert bool(told_of_skew(whole)) == (max(skews) - min(skews) > 100)


@pytest.mark.parametrize("users", [5, 7])
def test_as_many_operations_are_done_as_were_asked_for_and_no_warm_up_that_was_not(
    users: int, tmp_path: Path
) -> None:
    crew = Crew(3)
    engine = RayEngine(_engine, crew, lead_s=0.3)
    whole = spec(
        users,
        warm_up_s=0.0,
        operations=5_003,
        spawn_rate_per_s=10_000.0,
        measure_s=60.0,
        arrivals={"closed": {"think_s": 0.001, "think": "constant"}},
        record_operations=str(tmp_path / "operations.parquet"),
    )
    job = engine.run(json.dumps(whole))
    while not job.wait(0.1):
        pass
    result = json.loads(job.result())
    assert result["operations"]["read"]["ok"] == 5_003
    assert result["warm_up_s"] == 0
    assert set(result["samples"]["phase"]) == {"measure"}
    # Of users that were in before the last one: a millisecond's work.
    done = pl.read_parquet(gather_operations(tmp_path / "operations.parquet")).height
    assert 5_003 <= done < 5_500


def told_of_skew(result: dict[str, Any]) -> list[str]:
    """A busy machine may have the engine warn, too."""
    return [text for text in result["warnings"] if text.startswith("workers started to measure")]


def histogram(result: dict[str, Any]) -> Histogram:
    return read_latency_log(result["latency_log"]).merged(operation="read")


def test_a_worker_that_starts_late_is_warned_of_by_name() -> None:
    crew = Crew(2, late_s=0.3)
    whole = measured(crew)
    skews = [worker["first_start_skew_ms"] for worker in whole["workers"]]
    assert 0 <= skews[0] < skews[1]
    assert skews[1] > 250
    (warning,) = told_of_skew(whole)
    assert warning.endswith("ms apart (± 2.0 ms): worker 2 on node node1 was the last")


def test_a_lost_worker_is_named_with_its_users_and_the_others_are_stopped() -> None:
    crew = Crew(3, loses=1)
    engine = RayEngine(_engine, crew, lead_s=0.3)
    job = engine.run(json.dumps(spec(6, measure_s=20.0)))
    with pytest.raises(WorkerLost) as caught:
        job.wait(15.0)
    assert caught.value.message.startswith("worker 2 of 3 on node node1 was lost at ")
    assert caught.value.message.endswith(": users 2 to 3 were not measured")
    assert caught.value.log_tail == "killed"
    job.stop()
    assert crew.stopped == [0, 2]
    assert job.wait(5.0)
    # The next run begins with another agent in its place.
    crew.loses = None
    whole = measured(crew)
    assert [worker["users"] for worker in whole["workers"]] == [[0, 0], [1, 2], [3, 4]]
    assert all(worker["ok"] > 0 for worker in whole["workers"])


def test_a_part_that_an_engine_refuses_fails_the_run() -> None:
    crew = Crew(2)
    engine = RayEngine(_engine, crew, lead_s=0.3)
    with pytest.raises(WorkerLost, match=r"^worker 1 of 2 on node node0 failed before the start: "):
        engine.run(json.dumps(spec(2, seed="none")))
    assert crew.stopped == [0, 1]
    job = engine.run(json.dumps(spec(2, threads=0)))
    with pytest.raises(
        WorkerLost, match=r"^worker 1 .*: threads: .*: user 0 was not measured; worker 2 "
    ):
        job.wait(15.0)


def test_users_that_are_not_in_in_time_fail_the_run_and_the_hint_is_the_lead() -> None:
    job = RayEngine(_engine, Crew(2), lead_s=-5.0).run(json.dumps(spec(4)))
    with pytest.raises(
        WorkerLost, match="measuring was to start before every user was in"
    ) as caught:
        job.wait(15.0)
    assert caught.value.hint is not None
    assert "--workers-lead" in caught.value.hint


def test_servers_on_our_loopback_are_out_of_reach_for_workers_elsewhere() -> None:
    crew = Crew(2)
    engine = RayEngine(_engine, crew, lead_s=0.3)
    crew.complete()
    crew.members[1].about["place"] = "elsewhere"
    crew.complete = lambda: None
    target = {"database": "redis", "endpoints": ["127.77.0.1:6379"], "nodes": 1, "replication": 1}
    with pytest.raises(InputError, match=r"^worker 2 on node node1 can't reach 127\.77\.0\.1:6379"):
        engine.run(json.dumps(spec(2, target=target)))


def test_fewer_users_than_workers_are_refused() -> None:
    with pytest.raises(InputError, match="1 user can't be divided among 2 workers"):
        RayEngine(_engine, Crew(2), lead_s=0.0).check(json.dumps(spec(1)))


# --- The crew, on a Ray that is none ---


class Reference:
    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call


class NoRay:
    """What the crew uses of the module `ray`; ``about`` is what every agent says of itself."""

    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **_: None)
    )

    def __init__(self, about: Callable[[], dict[str, Any]]) -> None:
        self.about = about
        self.killed = 0

    def nodes(self) -> list[dict[str, Any]]:
        gone = {"Alive": False, "NodeID": "c", "NodeManagerAddress": "10.0.0.0"}
        alive = [("b", "10.0.0.2"), ("a", "10.0.0.1")]
        return [gone, *({"Alive": True, "NodeID": i, "NodeManagerAddress": at} for i, at in alive)]

    def remote(self, _kind: type) -> Any:
        agent = SimpleNamespace(about=SimpleNamespace(remote=lambda: Reference(self.about)))
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: agent))

    def wait(
        self, references: list[Reference], **_: Any
    ) -> tuple[list[Reference], list[Reference]]:
        return references, []

    def get(self, reference: Reference) -> Any:
        return reference.call()

    def kill(self, _agent: Any) -> None:
        self.killed += 1


EVERYWHERE = Remote("ray:auto", "10.0.0.1:6379")


def test_a_ray_cluster_has_one_worker_on_each_node_that_is_alive() -> None:
    crew = workers.Crew(NoRay(Agent().about), EVERYWHERE, _engine.version())
    assert str(crew) == "2 on 10.0.0.1, 10.0.0.2"


def test_more_workers_than_cores_are_told_of() -> None:
    def about() -> dict[str, Any]:
        return {**Agent().about(), "cores": 2, "host": "small"}

    assert workers.Crew(NoRay(about), Local(2), _engine.version()).crowded() is None
    crowded = workers.Crew(NoRay(about), Local(3), _engine.version()).crowded()
    assert crowded is not None
    assert crowded.startswith("3 workers share the 2 cores of small: ")


@pytest.mark.parametrize("kind", [Agent, Caller])
def test_another_engine_on_a_worker_is_refused(kind: type[Agent]) -> None:
    with pytest.raises(
        CannotRun,
        match=r"^worker 1 of 2 on node 10\.0\.0\.1 has pacelc .*, and here it is 0\.0\.0$",
    ) as caught:
        workers.Crew(NoRay(kind().about), EVERYWHERE, "0.0.0", kind)
    assert caught.value.hint == "pip install 'pacelc[ray]==0.0.0' there"


def test_a_worker_without_pacelc_is_refused() -> None:
    def about() -> dict[str, Any]:
        raise ModuleNotFoundError("No module named 'pacelc'")

    ray = NoRay(about)
    with pytest.raises(CannotRun, match=r"can't begin: pacelc isn't installed there$"):
        workers.Crew(ray, EVERYWHERE, _engine.version())
    assert ray.killed == 1


# --- What is refused before anything starts ---


@pytest.mark.parametrize(
    "text", ["0", "-1", "two", "1001", "ray:", "ray://", "ray://host", "ray://host:99999", "²"]
)
def test_what_workers_may_not_say(text: str) -> None:
    with pytest.raises(InputError, match=r"^--workers "):
        parse(text)


def test_what_workers_may_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert parse("3") == Local(3)
    assert parse("ray://head:10001") == Remote("ray://head:10001", "ray://head:10001")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert parse("ray:auto") == Remote("ray:auto", "10.0.0.1:6379")
    monkeypatch.delenv("RAY_ADDRESS")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(CannotRun, match="belongs to no Ray cluster"):
        parse("ray:auto")


def pacelc(directory: Path, settings: str, *options: str, path: str = "") -> tuple[int, list[str]]:
    study = directory / "study.yaml"
    study.write_text(f"name: s\nfactors: {{users: [1]}}\nsettings: {{{settings}}}\n")
    command = [sys.executable, "-m", "pacelc", "run", str(study), "--out", str(directory / "out")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (path, *sys.path) if p)}
    done = subprocess.run(
        [*command, *options], check=False, capture_output=True, text=True, env=env, timeout=60
    )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("settings", "options", "line"),
    [
        ("database: memory", ("--workers", "2"), "error: scenario 1: database memory lives in one"),
        (
            "database: noop, warm_up_ceiling: 60s, warm_up: 10s",
            ("--workers", "2"),
            "error: scenario 1: warm_up_ceiling: workers that measure together need a warm-up of",
        ),
        (
            "database: redis, regions: [iowa], clients: {iowa: 1}",
            ("--workers", "2"),
            "error: scenario 1: clients are hosts of the emulated network, which workers are",
        ),
        (
            "database: noop, record_operations: true",
            ("--workers", "ray://127.0.0.1:1"),
            "error: scenario 1: record_operations: operations would be recorded on the workers'",
        ),
    ],
)
def test_a_study_that_workers_cannot_run_is_refused_before_ray_is_asked(
    tmp_path: Path, settings: str, options: tuple[str, ...], line: str
) -> None:
    status, (error, hint) = pacelc(tmp_path, settings, *options)
    assert status == 2
    assert error.startswith(line)
    assert hint.startswith("hint: ")


def test_a_ray_that_is_not_there_is_one_line_within_seconds(tmp_path: Path) -> None:
    begin_s = time.monotonic()
    status, (error, hint) = pacelc(tmp_path, "database: noop", "--workers", "ray://127.0.0.1:1")
    assert status == 3
    assert error == (
        "error: --workers ray://127.0.0.1:1: no Ray answers at 127.0.0.1:1: Connection refused"
    )
    assert hint.startswith("hint: `ray start --head`")
    assert time.monotonic() - begin_s < 20


def test_without_ray_installed_it_says_how_to(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError(\"No module named 'ray'\")\n")
    status, (error, hint) = pacelc(tmp_path, "database: noop", "--workers", "2", path=str(tmp_path))
    assert status == 3
    assert error == "error: --workers needs Ray, which can't be imported: No module named 'ray'"
    assert hint == "hint: pip install 'pacelc[ray]'"
