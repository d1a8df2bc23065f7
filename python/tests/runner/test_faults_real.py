"""Faults in real servers, and what they cost as measured: margins are wide, machines are busy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from real_servers import STARTS_SOON, first_host, needs_namespaces

from pacelc.analysis.unavailability import faults_frame, recovery, unavailability
from pacelc.runner import events, run_study
from pacelc.runner.lab import LocalLab
from pacelc.store import Results, Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

HOST = first_host(5)

COMMON = """
settings:
  users: 20
  spawn_rate: 100
  arrivals: constant
  rate: 300
  operation_timeout: 1s
  warm_up: 1s
  cool_down: 0s
  workload: {records: 300, mix: {read: 0.5, update: 0.5}}
"""

REDIS = f"""
name: redis-faults
factors:
  fault:
    pause: {{faults: [{{at: 2s, fault: pause, target: primary, for: 2s}}]}}
    kill: {{faults: [{{at: 2s, fault: kill, target: primary, for: 2s}}]}}
    dead: {{faults: [{{at: 2s, fault: kill, target: replica1}}]}}
order: listed
{COMMON}
  database: redis
  measure: 6s
  cluster_options: {{first_host: {HOST}, appendonly: true}}
"""

# Twenty users, and not more: while all wait for a primary that is away, no operation starts. While
# it is slow they do 200 operations a second, of 300 that are due.
CUT_OFF = f"""
name: redis-cut-off
factors:
  fault:
    isolated:
      measure: 7s
      faults: [{{at: 1s, fault: isolate, target: primary, client: majority, for: 2s}}]
    slow:
      measure: 6s
      faults: [{{at: 1s, fault: slow, target: primary, delay: 50ms, for: 1s}}]
order: listed
{COMMON}
  database: redis
"""

# Long enough for the others to elect twice, each time after 10 s: two that stand at the same time
# share the votes.
MONGODB = f"""
name: mongodb-faults
{COMMON}
  database: mongodb
  measure: 30s
  cluster_options: {{first_host: {HOST}}}
  consistency: quorum
  faults: [{{at: 1s, fault: kill, target: primary, for: 26s}}]
"""


# Enough users for what waits for an election, and for a link that is slow. Behind the slow one a
# call may wait for longer than a machine that is busy with another cluster stands still.
MONGODB_CUT_OFF = f"""
name: mongodb-cut-off
factors:
  fault:
    slow:
      measure: 6s
      operation_timeout: 5s
      faults: [{{at: 1s, fault: slow, target: primary, delay: 50ms, for: 3s}}]
    isolated:
      measure: 29s
      faults: [{{at: 1s, fault: isolate, target: primary, client: majority, for: 26s}}]
order: listed
{COMMON.replace("users: 20", "users: 300").replace("spawn_rate: 100", "spawn_rate: 1000")}
  database: mongodb
  consistency: quorum
"""

HBASE_OPTIONS = STARTS_SOON | {"config": {"zookeeper.session.timeout": 4000}}

# A region server's session ends after 4 s, the least that ZooKeeper grants. The second run asks
# whether the cluster came to serve again.
HBASE_CUT_OFF = f"""
name: hbase-cut-off
factors:
  fault:
    isolated:
      measure: 9s
      faults: [{{at: 1s, fault: isolate, target: node2, client: majority, for: 7s}}]
    none: {{measure: 5s}}
order: listed
{COMMON}
  database: hbase
  replication: 1
  consistency: strong
  network: namespaces
  cluster_options: {json.dumps(HBASE_OPTIONS)}
"""


def run(text: str, directory: Path) -> tuple[Results, list[events.Event]]:
    study = Study.parse(text)
    heard: list[events.Event] = []
    lab = LocalLab(workdir=directory, start_timeout_s=280)
    with Store.open(directory / "out", create=study.as_document()) as store:
        summary = run_study(study, store, lab, observe=heard.append)
    assert (summary.finished, summary.failed) == (len(study.schedule()), 0), heard
    return load(directory / "out"), heard


def row(results: Results, run_id: str) -> dict[str, Any]:
    return next(r for r in faults_frame(results).to_dicts() if r["run"] == run_id)


def packets_cut(directory: Path, run_id: str) -> int:
    record = json.loads((directory / f"out/runs/{run_id}/run.json").read_text())
    return sum(pair["cut"] for pair in record["network"]["counters"])


@pytest.mark.timeout(280)
def test_redis_is_unavailable_for_as_long_as_its_primary_is_paused_or_dead(tmp_path: Path) -> None:
    results, heard = run(REDIS, tmp_path)
    for name, fault in (("0001-r1", "pause"), ("0002-r1", "kill")):
        happened = row(results, name)
        assert (happened["fault"], happened["nodes"], happened["by"]) == (
            fault,
            "primary",
            "schedule",
        )
        assert 2.0 <= happened["begin_s"] < 3.5
        long_s = happened["end_s"] - happened["begin_s"]
        assert 4.0 <= happened["end_s"] < 7
        parts = unavailability(results).to_dicts()
        for part in (p for p in parts if p["run"] == name):
            # A machine that stands still makes it longer, never shorter.
            assert long_s - 0.8 <= part["longest_s"] < long_s + 3, part
            assert part["longest_s"] <= part["total_s"]
        assert {p["operation"] for p in parts} == {"read", "update"}
        for part in (p for p in recovery(results).to_dicts() if p["run"] == name):
            assert long_s - 0.8 <= part["success_after_begin_s"] < long_s + 3
            assert 0 <= part["detected_s"] < 4
    # A replica that is dead costs a primary's clients nothing, and the run is no failure.
    dead = [p for p in unavailability(results).to_dicts() if p["run"] == "0003-r1"]
    assert max(p["longest_s"] for p in dead) < 3
    assert row(results, "0003-r1")["end_s"] > 5.5, "it stays dead until measuring is over"
    # All three were run on one cluster, which was waited for after the faults.
    assert sum(isinstance(event, events.ClusterUp) for event in heard) == 1
    settled = results.timeline.filter(results.timeline["what"] == "settle")
    assert settled.height == 2
    assert results.runs["ok"].min() > 0


@pytest.mark.timeout(280)
def test_a_primary_that_is_cut_off_or_far_away_costs_what_the_network_does(tmp_path: Path) -> None:
    needs_namespaces()
    results, _ = run(CUT_OFF, tmp_path)
    isolated, slow = (row(results, name) for name in ("0001-r1", "0002-r1"))
    assert (isolated["error"], slow["error"]) == (None, None)
    long_s = isolated["end_s"] - isolated["begin_s"]
    assert 0.5 < long_s < 5
    for part in unavailability(results).to_dicts():
        # What was lost is sent again, later and later: TCP's time-outs come on top.
        expected = (long_s - 0.8, long_s + 5) if part["run"] == "0001-r1" else (0.0, 3.0)
        assert expected[0] <= part["longest_s"] < expected[1], part
    # Counters are a run's own: the second one's cluster is the first one's, and nothing was cut.
    assert packets_cut(tmp_path, "0001-r1") > 0
    assert packets_cut(tmp_path, "0002-r1") == 0
    # Both ways are 50 ms longer for 1 of 6 seconds, or for nearly 2 on a busy machine.
    reads = results.records[1].result.operations["read"].latency_ns
    assert reads.p50 is not None
    assert reads.p99 is not None
    assert reads.p50 < 20e6
    assert reads.p99 > 95e6


@pytest.mark.timeout(280)
def test_mongodb_elects_another_primary_when_it_is_killed(tmp_path: Path) -> None:
    results, _ = run(MONGODB, tmp_path)
    happened = row(results, "0001-r1")
    assert (happened["nodes"], happened["error"]) == ("node1", None)
    [update] = [r for r in recovery(results).to_dicts() if r["operation"] == "update"]
    # While the first is dead, the others serve: after an election, which takes a time-out of 10 s.
    assert 0.2 < update["success_after_begin_s"] < happened["end_s"] - happened["begin_s"]
    assert 0 <= update["detected_s"] < 3
    assert update["ok"] > 0
    assert update["fail"] + update["unknown"] > 0


@pytest.mark.timeout(280)
def test_mongodb_is_well_when_its_links_are_and_has_another_primary_when_one_is_cut_off(
    tmp_path: Path,
) -> None:
    needs_namespaces()
    results, _ = run(MONGODB_CUT_OFF, tmp_path)
    slow, isolated = (row(results, name) for name in ("0001-r1", "0002-r1"))
    assert (slow["error"], isolated["error"]) == (None, None)
    assert (slow["nodes"], isolated["nodes"]) == ("node1", "node1")
    parts = {(part["run"], part["operation"]): part for part in recovery(results).to_dicts()}
    for operation in ("read", "update"):
        # A slow link makes calls wait, and no longer than it is slow.
        part = parts["0001-r1", operation]
        told = {name: value for name, value in part.items() if name not in ("source", "run")}
        assert part["success_after_begin_s"] < 3, told
        assert part["success_after_end_s"] < 2, told
        assert part["ok"] > 0.7 * part["due"], told
        part = parts["0002-r1", operation]
        assert part["success_after_end_s"] < 3, part
        assert part["ok"] > 0
    # The one that was cut off could serve nobody, and another was elected meanwhile.
    long_s = isolated["end_s"] - isolated["begin_s"]
    read = parts["0002-r1", "read"]
    assert 1 < read["success_after_begin_s"] < long_s + 3
    assert read["fail"] + read["unknown"] > 0


@pytest.mark.timeout(280)
def test_hbase_serves_again_with_the_region_server_that_was_cut_off(tmp_path: Path) -> None:
    needs_namespaces()
    results, heard = run(HBASE_CUT_OFF, tmp_path)
    isolated = row(results, "0001-r1")
    assert (isolated["nodes"], isolated["error"]) == ("node2", None)
    parts = [part for part in recovery(results).to_dicts() if part["run"] == "0001-r1"]
    for part in parts:
        assert part["ok"] > 0
        assert part["fail"] + part["unknown"] > 0, "a third of the table was away"
    # Its session had ended, so it ended itself when it heard so, and was started again: the same
    # cluster serves the next run, which finds every record.
    assert sum(isinstance(event, events.ClusterUp) for event in heard) == 1
    steps = [event.message for event in heard if isinstance(event, events.ClusterStep)]
    assert any("3 region servers and no region on its way" in step for step in steps[-10:])
    for stats in results.records[1].result.operations.values():
        assert not stats.fail
        # Twenty users wait a second where a busy machine stands still that long.
        assert sum(stats.unknown.values()) <= 40
        assert stats.ok > 300, "of 750 that are due"
