"""A region server that stands still, then one that is killed: what HBase's client makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rust_tests import FROZEN, KILLED, pass_in_rust

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]


def test_reads_are_hedged_and_nothing_that_was_acknowledged_is_lost(region_servers: Bench) -> None:
    assert region_servers.cluster is not None
    nodes = [node for node in region_servers.cluster.nodes if node.role == "regionserver"]
    environment = {
        "PACELC_HBASE_MASTERS": ",".join(region_servers.target["endpoints"]),
        "PACELC_HBASE_VICTIM_PID": str(nodes[-1].pid),
    }
    for test in (FROZEN, KILLED):
        pass_in_rust("real_server", "--ignored", test, passed=1, **environment)
