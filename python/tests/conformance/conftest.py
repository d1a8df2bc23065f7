"""A real cluster for each database of the suite, and one way to run the engine against it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from real_servers import first_host, starts_soon

from pacelc import _engine
from pacelc.clusters import Cluster, ClusterSpec, open_cluster
from pacelc.databases import FACTS
from pacelc.runner.engine import engine_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = 500
FIELDS = 10
FIELD_LENGTH = 100


@dataclass
class Bench:
    """A database to hold against the suite."""

    name: str
    """In `DATABASES`."""
    database: str
    target: dict[str, Any]
    cluster: Cluster | None
    """None for the binding inside the process."""

    def spec(self, **changes: Any) -> dict[str, Any]:
        workload = {
            "records": RECORDS,
            "fields": FIELDS,
            "field_length_bytes": FIELD_LENGTH,
            "mix": {"read": 1.0},
            "distribution": "uniform",
            "scan_length": 20,
            "table": "conformance",
        } | changes.pop("workload", {})
        return {
            "target": self.target,
            "workload": workload,
            "consistency": "weak",
            "users": 4,
            "spawn_rate_per_s": 1_000.0,
            "warm_up_s": 0.0,
            "measure_s": 0.3,
            "operation_timeout_ms": 10_000,
            "seed": 7,
        } | changes

    def run(self, **changes: Any) -> dict[str, Any]:
        return json.loads(_engine.run(json.dumps(self.spec(**changes))).result())

    def load(self, *, owner: Any = None, prepare: bool = True, **changes: Any) -> int:
        text = json.dumps(self.spec(**changes, target=self.target | {"owner": owner}))
        if prepare:
            _engine.prepare(text).result()
        return json.loads(_engine.load(text).result())["records"]

    def prepare(self, table: str, owner: Any = None, fields: int = FIELDS) -> dict[str, Any]:
        return json.loads(_engine.prepare(self._of_table(table, owner, fields)).result())

    def clear(self, table: str, owner: Any = None) -> bool:
        return json.loads(_engine.clear(self._of_table(table, owner, FIELDS)).result())["table"]

    def _of_table(self, table: str, owner: Any, fields: int) -> str:
        workload = {"table": table, "fields": fields}
        return json.dumps(self.spec(workload=workload, target=self.target | {"owner": owner}))


@contextmanager
def bench_of(name: str, workdir: Path) -> Iterator[Bench]:
    if name == "memory":
        yield Bench(name, name, {"database": "memory"}, None)
        return
    here = {"first_host": first_host(8)}
    if name == SHARDED:
        spec = ClusterSpec("mongodb", 2, 1, here, sharding="client", shards=2)
    else:
        options = here | starts_soon(name)
        if name == "cassandra":
            options |= {"config": {"materialized_views_enabled": True}}
        if name == "mongodb":  # commands that make it fail on cue
            options |= {"parameters": {"enableTestCommands": 1}}
        spec = ClusterSpec(name, 3, 3, options)
    database = spec.database
    with open_cluster(spec, workdir=workdir, timeout_s=240) as cluster:
        # Scans from a key need the index; see the binding's documentation.
        asked = {"scan_index": True} if FACTS[database].scans_need_index else {}
        target = engine_target(cluster.target(), asked)
        yield Bench(name, database, target, cluster)


SHARDED = "mongodb-sharding-client"
"""Two sets of one member, over which the binding hashes keys."""
DATABASES = ("memory", "redis", "valkey", "mongodb", SHARDED, "cassandra", "hbase")


def _param(name: str) -> Any:
    marks = () if name == "memory" else (pytest.mark.cluster, pytest.mark.timeout(600))
    return pytest.param(name, marks=marks, id=name)


@pytest.fixture(scope="module", params=[_param(name) for name in DATABASES])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    with bench_of(request.param, tmp_path_factory.mktemp(request.param)) as bench:
        assert bench.load() == RECORDS
        yield bench


@pytest.fixture
def region_servers(tmp_path: Path) -> Iterator[Bench]:
    """An HBase of a test's own, which may break it."""
    with bench_of("hbase", tmp_path) as bench:
        yield bench


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_of(SHARDED, tmp_path_factory.mktemp(SHARDED)) as bench:
        yield bench
