"""HBase, whose servers believe a user's name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from real_servers import STARTS_SOON, first_host

from pacelc import _engine
from pacelc.clusters import ClusterSpec, open_cluster
from pacelc.store import load

from .conftest import probe, run_study

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: external
settings:
  database: hbase
  nodes: 1
  external: {{endpoints: [{address}], region_servers: [{address}], user: bench}}
  records: 100
  warm_up: 100ms
  measure: 500ms
  cool_down: 0s
"""


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_a_study_runs_as_the_user_that_is_named(tmp_path: Path) -> None:
    options = {"first_host": first_host(11), **STARTS_SOON}
    spec = ClusterSpec("hbase", nodes=1, replication=1, options=options)
    with open_cluster(spec, workdir=tmp_path / "servers", timeout_s=240) as cluster:
        address = str(cluster.endpoints[0])
        version = probe(
            {"database": "hbase", "endpoints": [address], "security": {"user": "bench"}}
        )
        assert version is not None
        assert version.startswith(cluster.versions["hbase"].partition("-")[0])
        done = run_study(tmp_path, STUDY.format(address=address))
        assert done.returncode == 0, done.stderr
        assert load(tmp_path / "out").runs["throughput_per_s"].item() > 0
        log = cluster.node("master").log_file.read_text(errors="replace")
        assert "bench" in log
    record = json.loads(next((tmp_path / "out/runs").glob("*/run.json")).read_text())
    assert record["target"]["security"] == {"user": "bench"}


def test_a_password_is_refused_before_anything_is_connected_to() -> None:
    target = {
        "database": "hbase",
        "endpoints": ["127.0.0.1:1"],
        "security": {"password": {"env": "HOME"}},
    }
    with pytest.raises(_engine.EngineError, match="no SASL"):
        probe(target)
