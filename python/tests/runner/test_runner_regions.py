"""What a consistency level costs across regions is what their distance says."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from real_servers import starts_soon

from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.network.regions import round_trip_ms
from pacelc.runner import LocalLab, run_study
from pacelc.store import Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(capability().how != "root", reason=capability().reason or "not root"),
]

STUDY = """
name: regions
factors: {{consistency: [{levels}]}}
settings:
  database: {database}
  nodes: 3
  regions: [iowa-a, south-carolina, tokyo]
  client_region: iowa-b
  users: 1
  warm_up: 2s
  measure: 3s
  cluster_options: {options}
  cool_down: 0s
  workload: {{records: 50, mix: {{update: 1}}}}
order: listed
"""


Records = list[dict[str, Any]]


def measured(database: str, levels: list[str], tmp_path: Path) -> tuple[list[float], Records]:
    """Measure writes at each level; return the medians in ms, and what was recorded."""
    options = json.dumps(starts_soon(database))
    text = STUDY.format(database=database, levels=", ".join(levels), options=options)
    study = Study.parse(text)
    lab = LocalLab(workdir=tmp_path / "work", start_timeout_s=280)
    out = tmp_path / "out"
    with Store.open(out, create=study.as_document()) as store:
        summary = run_study(study, store, lab)
    assert (summary.finished, summary.failed) == (len(levels), 0)
    files = sorted((out / "runs").glob("*/run.json"))
    records: Records = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    writes = [record["result"]["operations"]["update"] for record in records]
    assert all(write["ok"] and not write["fail"] and not write["unknown"] for write in writes)
    roles = set(load(out).nodes.get_column("role"))
    assert {"client", "network"} < roles
    return [write["latency_ns"]["p50"] / 1e6 for write in writes], records


def far_ms(region: str) -> float:
    """Return how long the first node waits for one in a region."""
    there = round_trip_ms("iowa-a", region)
    assert there is not None
    return there


# A machine that compiles something at the same time: an idle one keeps within 2 ms.
MARGIN_MS = 40


@pytest.mark.timeout(600)
def test_cassandras_writes_wait_for_as_many_regions_as_their_level_says(tmp_path: Path) -> None:
    levels = ["LOCAL_QUORUM", "QUORUM", "ALL"]
    (local, quorum, everywhere), records = measured("cassandra", levels, tmp_path)
    assert 0.3 <= local < far_ms("south-carolina")
    assert far_ms("south-carolina") <= quorum <= far_ms("south-carolina") + MARGIN_MS
    assert far_ms("tokyo") <= everywhere <= far_ms("tokyo") + MARGIN_MS
    assert quorum < everywhere
    assert [record["consistency"]["update"] for record in records] == levels
    network = records[0]["network"]
    assert network["regions"] == ["iowa-a", "south-carolina", "tokyo", "iowa-b"]
    # A Java machine that has just started compiles what it is asked to do.
    assert 0 < records[0]["compiler_cores"] < (os.cpu_count() or 1)
    assert records[0]["target"]["datacenters"] == {"iowa": 1, "south-carolina": 1, "tokyo": 1}


@pytest.mark.timeout(300)
def test_rediss_writes_wait_for_as_many_replicas_as_they_ask_for(tmp_path: Path) -> None:
    levels = [f"{{write: {{wait: {count}}}}}" for count in range(3)]
    (none, one, both), records = measured("redis", levels, tmp_path)
    assert 0.3 <= none < far_ms("south-carolina")
    assert far_ms("south-carolina") <= one <= far_ms("south-carolina") + MARGIN_MS
    assert far_ms("tokyo") <= both <= far_ms("tokyo") + MARGIN_MS
    assert one < both
    counters = {(pair["from"], pair["to"]): pair for pair in records[-1]["network"]["counters"]}
    assert counters["client", "n1"]["delivered"] > 0
    assert not any("compiler_cores" in record for record in records)
    assert all(pair["lost"] == 0 for pair in counters.values())
