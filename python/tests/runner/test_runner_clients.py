"""Users in several regions are one run, and each region's users are as far away as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.network.regions import round_trip_ms
from pacelc.runner import LocalLab, run_study
from pacelc.store import Results, Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(capability().how != "root", reason=capability().reason or "not root"),
]

SETTINGS = """
settings:
  nodes: 3
  regions: [iowa, oregon, tokyo]
  clients: {iowa: 3, tokyo: 1}
  spawn_rate: 100
  warm_up: 2s
  measure: 6s
  record_operations: true
  cool_down: 0s
  operation_timeout: 5s
order: listed
"""

MARGIN_MS = 40
"""Of a machine that compiles something at the same time: an idle one keeps within 2 ms."""


def measured(study_text: str, tmp_path: Path) -> Results:
    study = Study.parse(study_text + SETTINGS)
    lab = LocalLab(workdir=tmp_path / "work", start_timeout_s=280)
    with Store.open(tmp_path / "out", create=study.as_document()) as store:
        summary = run_study(study, store, lab)
    assert (summary.finished, summary.failed) == (len(study.scenarios()), 0)
    return load(tmp_path / "out")


def way_ms(one: str, other: str) -> float:
    there = round_trip_ms(one, other)
    assert there is not None
    return there


def median_ms(results: Results, run: str, region: str, kind: str) -> float:
    """Return the median of a group's operations, none of which went wrong."""
    where = {"run": run, "region": region, "operation": kind}
    row = results.groups.row(
        by_predicate=pl.all_horizontal(pl.col(n) == v for n, v in where.items()), named=True
    )
    assert row["ok"] > 0
    assert (row["fail"], row["unknown"]) == (0, 0)
    return row["latency_ms_p50"]


def one_run_of_all(results: Results, number: int) -> dict[str, Any]:
    """Check that the groups add up to the run; return it."""
    run = results.runs.row(number, named=True)
    record = results.records[number]
    groups = results.groups.filter(pl.col("run") == run["run"])
    assert run["users"] == 4
    assert groups.get_column("ok").sum() == run["ok"]
    assert [(g.region, g.users) for g in record.result.groups] == [
        ("iowa", (0, 2)),
        ("tokyo", (3, 3)),
    ]
    assert sum(g.client.cpu_user_s for g in record.result.groups) == pytest.approx(
        record.result.client.cpu_user_s
    )
    return run


@pytest.mark.timeout(300)
def test_rediss_users_are_near_its_primary_or_as_far_as_the_link_is_long(tmp_path: Path) -> None:
    study = """
name: clients
factors:
  how:
    closed: {}
    open: {arrivals: constant, rate: 16, schedule: user}
    roaming: {session: roaming}
  database: [redis]
  consistency:
    replica: {consistency: {read: replica}}
  workload:
    half: {records: 50, mix: {read: 1, update: 1}}
"""
    results = measured(study, tmp_path)
    far = way_ms("iowa", "tokyo")
    for number in (0, 1):
        run = one_run_of_all(results, number)["run"]
        # Writes are the primary's, in Iowa; reads the nearest replica's: in Oregon, and in Tokyo.
        assert median_ms(results, run, "iowa", "update") < MARGIN_MS
        assert far <= median_ms(results, run, "tokyo", "update") <= far + MARGIN_MS
        near = way_ms("iowa", "oregon")
        assert near <= median_ms(results, run, "iowa", "read") <= near + MARGIN_MS
        assert median_ms(results, run, "tokyo", "read") < MARGIN_MS
    # Those that roam take Oregon's replica and Tokyo's in turn, half of the way there by far.
    roaming = one_run_of_all(results, 2)["run"]
    where = (pl.col("run") == roaming) & (pl.col("operation") == "read")
    means_ms = dict(results.groups.filter(where).select("region", "latency_ms_mean").iter_rows())
    for region in ("iowa", "tokyo"):
        mean_ms = (way_ms(region, "oregon") + way_ms(region, "tokyo")) / 2
        assert mean_ms - 15 <= means_ms[region] <= mean_ms + MARGIN_MS / 2
    # A rate is everybody's, by users: three quarters of 16 a second for 6 s are Iowa's.
    open_run = results.runs.row(1, named=True)["run"]
    due = results.groups.filter(pl.col("run") == open_run).group_by("region").agg(pl.sum("ok"))
    assert dict(due.iter_rows()) == pytest.approx({"iowa": 72, "tokyo": 24}, abs=2)
    schedule = results.records[1].result.schedule
    assert schedule is not None
    assert schedule.due == pytest.approx(96, abs=2)
    assert results.operations is not None
    users = results.operations.select(pl.col("user").unique()).collect().to_series()
    assert sorted(users) == [0, 1, 2, 3]


def broken_own_writes(results: Results, run: str) -> tuple[int, int]:
    """Return how many reads missed their user's own acknowledged write, and of how many reads.

    A read is late for certain that finds the loaded value, or an older one of the user's own.
    """
    assert results.operations is not None
    log = results.operations.filter((pl.col("run") == run) & (pl.col("outcome") == "ok"))
    written: dict[tuple[int, int], int] = {}
    broken = reads = 0
    for row in log.sort("user", "start_ns").collect().iter_rows(named=True):
        place = (row["user"], row["record"])
        if row["operation"] == "update":
            written[place] = row["sequence"]
        elif place in written and row["read_writer"] is not None:
            reads += 1
            own = row["read_writer"] == row["user"] + 1
            broken += row["read_writer"] == 0 or (own and row["read_sequence"] < written[place])
    return broken, reads


@pytest.mark.timeout(400)
def test_mongodbs_users_read_nearby_and_a_causal_session_sees_its_own_writes(
    tmp_path: Path,
) -> None:
    study = """
name: clients
factors:
  database: [mongodb]
  consistency:
    weak: {consistency: {read: {concern: local, preference: secondary}, write: {w: 1}}}
    causal: {consistency: {read: {concern: local, preference: secondary}, write: {w: 1},
             session: causal}}
    majority: {consistency: {read: {concern: majority, preference: secondary},
               write: {w: majority}, session: causal}}
    nearest: {consistency: {read: {concern: local, preference: nearest}, write: {w: majority}}}
    roaming: {consistency: {read: {concern: local, preference: nearest}}, session: roaming}
  workload:
    # An own record is met again soon.
    few: {records: 8, distribution: uniform, mix: {read: 1, update: 1}, update_all_fields: true}
"""
    results = measured(study, tmp_path)
    weak, causal, majority, nearest, roaming = (
        one_run_of_all(results, number)["run"] for number in range(5)
    )
    far, near = way_ms("iowa", "tokyo"), way_ms("iowa", "oregon")
    assert median_ms(results, weak, "iowa", "update") < MARGIN_MS
    assert far <= median_ms(results, weak, "tokyo", "update") <= far + MARGIN_MS
    # A member tells how far it is in a message of its own, after the next batch was asked for.
    assert near <= median_ms(results, majority, "iowa", "update") <= 2 * near + MARGIN_MS
    for region in ("iowa", "tokyo"):
        assert median_ms(results, nearest, region, "read") < MARGIN_MS
    # The nearest member is the least busy, so most reads are its; others are the farthest's.
    longest_ms = {
        run: results.groups.filter(
            (pl.col("run") == run) & (pl.col("region") == "iowa") & (pl.col("operation") == "read")
        )["latency_ms_p99"].item()
        for run in (nearest, roaming)
    }
    assert longest_ms[nearest] < far <= longest_ms[roaming]
    levels = [record.consistency["read"] for record in results.records[:3]]
    assert levels == [
        "local from secondary",
        "local from secondary, causal",
        "majority from secondary, causal",
    ]
    broken, _ = broken_own_writes(results, weak)
    assert broken > 0
    for run in (causal, majority):
        broken, reads = broken_own_writes(results, run)
        assert reads > 50
        assert broken == 0
