"""A spec that exists can be started."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pacelc.clusters import DATABASES, ClusterSpec, FetchError, SpecError
from pacelc.clusters.checking import checked

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.clusters.spec import Option


def test_an_unknown_database_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SpecError) as caught:
        checked(ClusterSpec("casandra"))
    assert "casandra" in caught.value.message
    assert "did you mean 'cassandra'" in str(caught.value.hint)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SpecError, match="cache_gb") as caught:
        checked(ClusterSpec("mongodb", options={"cache_gb": 1}))
    assert "cache_gib" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("database", "nodes", "replication", "options"),
    [
        ("redis", 0, None, {}),
        ("cassandra", 3, 4, {}),
        ("cassandra", 3, 0, {}),
        ("redis", 3, 2, {}),
        ("mongodb", 3, 1, {}),
        ("mongodb", 51, None, {}),
        ("mongodb", 3, None, {"mongos": 7}),
        ("redis", 3, None, {"appendfsync": "sometimes"}),
        ("redis", 3, None, {"appendonly": "yes"}),
        ("redis", 3, None, {"port": True}),
        ("redis", 3, None, {"port": 99999}),
        ("valkey", 3, None, {"port": 0}),
        ("mongodb", 3, None, {"port": 65536}),
        ("cassandra", 3, None, {"storage_port": -1}),
        ("hbase", 3, None, {"zookeeper_port": 65536}),
        ("redis", 3, None, {"config": ["maxmemory"]}),
        ("redis", 3, None, {"config": {"requirepass": "x"}}),
        ("valkey", 3, None, {"config": {"primaryauth": "x"}}),
        ("cassandra", 3, None, {"datacenters": ["a", "b"]}),
        ("cassandra", 1, None, {"datacenters": ["a' OR"]}),
        ("cassandra", 3, None, {"heap_mib": 16}),
        ("cassandra", 3, None, {"server": "/usr/bin/cassandra"}),
        ("hbase", 3, None, {"heap_mib": 1}),
        ("hbase", 3, None, {"jvm_flags": "-Xint"}),
        ("redis", 3, None, {"first_host": "192.168.0.1"}),
        ("redis", 3, None, {"first_host": "127.255.255.254"}),
        ("redis", 3, None, {"first_host": "localhost"}),
    ],
)
def test_what_no_cluster_can_be_is_refused_before_anything_starts(
    database: str, nodes: int, replication: int | None, options: dict[str, Option]
) -> None:
    with pytest.raises(SpecError):
        checked(ClusterSpec(database, nodes=nodes, replication=replication, options=options))


@pytest.mark.parametrize("database", DATABASES)
def test_replication_is_one_copy_a_node_unless_said_otherwise(database: str) -> None:
    assert ClusterSpec(database, nodes=2).copies == 2


def test_a_spec_cannot_be_changed_through_the_options_it_was_given() -> None:
    options = {"appendonly": True}
    spec = ClusterSpec("redis", options=options)
    options["appendonly"] = False
    assert json.dumps(dict(spec.options)) == '{"appendonly": true}'


def test_a_redis_that_keeps_nobody_out_is_refused(tmp_path: Path) -> None:
    server = tmp_path / "redis-server"
    server.write_text("#!/bin/sh\necho Redis server v=5.0.7 sha=00000000:0\n")
    server.chmod(0o755)
    spec = ClusterSpec("redis", options={"server": str(server)})
    with pytest.raises(FetchError, match=r"is 5\.0\.7, which can't keep other users") as caught:
        DATABASES["redis"].software(spec, lambda _line: None)
    assert "server: packaged" in str(caught.value.hint)
