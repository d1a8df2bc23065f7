"""What clients of real servers in three regions observe is what their levels are known for."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

STUDY = """
name: observed
title: What clients observe
settings:
  nodes: 3
  regions: [iowa, oregon, tokyo]
  clients: {iowa: 15, tokyo: 15}
  observe: true
  arrivals: poisson
  rate: 50
  spawn_rate: 100
  workload: {records: 5, fields: 1, field_length: 100, mix: {read: 0.6, update: 0.4}}
  warm_up: 3s
  measure: 8s
  cool_down: 0s
  operation_timeout: 5s
order: listed
"""
STALE = {
    "redis": "{read: replica, write: weak}",
    "mongodb": "{read: {concern: local, preference: secondary}, write: {w: 1}}",
    "cassandra": "ONE",
}
"""The weakest reads of replicas."""
LINEARIZABLE = {
    "redis": "weak",
    "mongodb": "{read: linearizable, write: {w: majority}}",
    "cassandra": "{read: SERIAL, scan: QUORUM, write: SERIAL}",
    "hbase": "{read: STRONG, write: SYNC_WAL}",
}
"""What promises it, while nothing fails."""


def measured(database: str, tmp_path: Path) -> Results:
    """Return the results of one run a level: the stale one first, where there is one."""
    levels = [level[database] for level in (STALE, LINEARIZABLE) if database in level]
    study = Study.parse(
        f"{STUDY}factors: {{database: [{database}], consistency: {levels}}}\n".replace("'", "")
    )
    lab = LocalLab(workdir=tmp_path / "work", start_timeout_s=280)
    with Store.open(tmp_path / "out", create=study.as_document()) as store:
        summary = run_study(study, store, lab)
    assert (summary.finished, summary.failed) == (len(levels), 0)
    return load(tmp_path / "out")


@pytest.mark.parametrize("database", LINEARIZABLE)
def test_levels_show_what_they_are_known_for(database: str, tmp_path: Path) -> None:
    results = measured(database, tmp_path)
    runs = results.runs.get_column("run").to_list()
    verdicts = {
        (row["run"], row["finding"]): row["verdict"]
        for row in results.findings.iter_rows(named=True)
    }
    # Nothing is read that nobody wrote, or that is of two writes at once.
    for run in runs:
        for finding in ("no_aborted_reads", "no_unwritten_reads", "no_torn_rows"):
            assert verdicts[run, finding] == "holds", (run, finding)
    strong = runs[-1]
    assert verdicts[strong, "linearizable"] == "holds"
    # Where an operation takes half a second, nothing may be demanded of any session.
    assert "violated" not in {verdict for (run, _), verdict in verdicts.items() if run == strong}
    staleness = results.staleness.filter(pl.col("q") == 1.0)
    assert staleness.filter(pl.col("run") == strong)["stale"].to_list() == [0]
    if database in STALE:
        weak = staleness.row(by_predicate=pl.col("run") == runs[0], named=True)
        assert verdicts[runs[0], "linearizable"] == "violated"
        assert weak["stale"] > 0
        # An acknowledged write has to get to the farthest replica.
        there = round_trip_ms("iowa", "tokyo")
        assert there is not None
        assert 0.3 < weak["least_ns"] / 1e6 / (there / 2) < 2.5
