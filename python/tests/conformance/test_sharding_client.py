"""``sharding: client`` on two real sets: each key in one of them, and only its keys with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pymongo
import pytest
from rust_tests import NO_MONGOS, SCAN_OF_SETS, pass_in_rust

from pacelc import _engine
from pacelc.runner.engine import engine_target
from pacelc.runner.operations import gather_operations

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

RECORDS = 2000
# Keys that tell their record: user0000000, user0000001, …
WORKLOAD = {"records": RECORDS, "table": "shares", "insert_order": "ordered", "zero_padding": 7}


@pytest.fixture(scope="module")
def loaded(sharded: Bench) -> Bench:
    assert sharded.load(workload=WORKLOAD) == RECORDS
    return sharded


def keys_by_set(bench: Bench) -> list[set[str]]:
    """What each set holds, asked of its member alone."""
    held: list[set[str]] = []
    for replica_set in bench.target["sets"]:
        (address,) = replica_set["endpoints"]
        with pymongo.MongoClient(f"mongodb://{address}/?directConnection=true") as client:
            held.append({str(d["_id"]) for d in client["pacelc"]["shares"].find({}, {"_id": 1})})
    return held


def set_of(key: str, sets: int) -> int:
    """As docs/reference/mongodb.md has it."""
    number = 0xCBF29CE484222325
    for octet in key.encode():
        number = (number ^ octet) * 0x100000001B3 % 2**64
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = (number ^ number >> 33) * factor % 2**64
    number ^= number >> 33
    return number * sets >> 64


def test_each_node_says_its_set_and_each_set_has_a_primary(sharded: Bench) -> None:
    assert sharded.cluster is not None
    nodes = [(node.name, node.role) for node in sharded.cluster.nodes]
    assert nodes == [("shard1-primary", "primary"), ("shard2-primary", "primary")]
    assert sharded.target["sharding"] == "client"
    assert [replica_set["name"] for replica_set in sharded.target["sets"]] == ["shard1", "shard2"]
    assert "replica_set" not in sharded.target


def test_every_record_is_in_the_set_that_the_documentation_says(loaded: Bench) -> None:
    held = keys_by_set(loaded)
    assert sum(len(keys) for keys in held) == RECORDS
    expected: list[set[str]] = [set(), set()]
    for number in range(RECORDS):
        key = f"user{number:07d}"
        expected[set_of(key, 2)].add(key)
    assert held == expected
    # Six standard deviations of a fair coin.
    assert all(abs(len(keys) - RECORDS / 2) < 6 * (RECORDS / 4) ** 0.5 for keys in held)


def test_every_key_is_found(loaded: Bench, tmp_path: Path) -> None:
    path = tmp_path / "operations"
    result = loaded.run(
        users=1,
        measure_s=60.0,
        operations=RECORDS,
        record_operations=str(path),
        workload=WORKLOAD | {"distribution": "sequential"},
    )
    read = result["operations"]["read"]
    assert (read["ok"], read["fail"], read["unknown"]) == (RECORDS, {}, {})
    seen = pl.read_parquet(gather_operations(path)).get_column("record")
    assert seen.n_unique() == RECORDS


def test_a_mixed_load_with_scans_is_without_errors(sharded: Bench) -> None:
    mix = {"read": 0.4, "update": 0.2, "insert": 0.1, "scan": 0.3}
    for scan_from in ("start", "key"):
        table = {"table": "mixed", "mix": mix, "scan_from": scan_from}
        sharded.load(workload=table)
        result = sharded.run(measure_s=1.5, consistency="quorum", workload=table)
        assert set(result["operations"]) == set(mix)
        for kind in result["operations"].values():
            assert kind["ok"] > 0
            assert (kind["fail"], kind["unknown"]) == ({}, {})


def test_a_scan_is_one_of_the_union_and_no_set_is_taken_for_a_router(sharded: Bench) -> None:
    """In Rust, where what a scan hands over can be seen."""
    target = json.dumps(engine_target(sharded.target, {}))
    names = ("--ignored", "--exact", SCAN_OF_SETS, NO_MONGOS)
    pass_in_rust("mongodb", *names, passed=2, PACELC_TEST_TARGET=target)


def test_killing_a_sets_only_member_fails_its_keys_and_no_others(
    loaded: Bench, tmp_path: Path
) -> None:
    assert loaded.cluster is not None
    path = tmp_path / "operations"
    spec = loaded.spec(
        users=8,
        measure_s=8.0,
        operation_timeout_ms=5_000,
        record_operations=str(path),
        workload=WORKLOAD | {"mix": {"read": 0.5, "update": 0.5}},
    )
    job = _engine.run(json.dumps(spec))
    while job.progress()["phase"] != "measure":
        assert not job.wait(0.02), "it has ended"
    assert not job.wait(1.0), "it has ended"
    loaded.cluster.node("shard2-primary").kill()
    result = json.loads(job.result())
    assert sum(kind["ok"] for kind in result["operations"].values()) > 0
    frame = pl.read_parquet(gather_operations(path))
    sets = pl.Series([set_of(f"user{n:07d}", 2) for n in frame.get_column("record")])
    wrong = frame.with_columns(sets.alias("set")).filter(pl.col("outcome") != "ok")
    assert wrong.height > 0
    assert wrong.get_column("set").unique().to_list() == [1]
    # The other set's keys went on being served after the first error.
    after = frame.with_columns(sets.alias("set")).filter(
        pl.col("start_ns") > wrong.get_column("end_ns").min()
    )
    assert after.filter(pl.col("set") == 0, pl.col("outcome") == "ok").height > 0
