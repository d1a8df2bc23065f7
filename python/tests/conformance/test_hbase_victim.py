"""A region server that stands still, then one that is killed: what HBase's client makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from conftest import bench_of
from rust_tests import FROZEN, KILLED, pass_in_rust

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


def test_reads_are_hedged_and_nothing_that_was_acknowledged_is_lost(tmp_path: Path) -> None:
    with bench_of("hbase", tmp_path) as bench:
        for test in (FROZEN, KILLED):
            pass_in_rust("real_server", "--ignored", test, passed=1, **environment(bench))


def environment(bench: Bench) -> dict[str, str]:
    assert bench.cluster is not None
    servers = [node for node in bench.cluster.nodes if node.role == "regionserver"]
    return {
        "PACELC_HBASE_MASTERS": ",".join(bench.target["endpoints"]),
        "PACELC_HBASE_VICTIM_PID": str(servers[-1].pid),
    }
