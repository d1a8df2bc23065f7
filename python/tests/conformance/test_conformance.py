"""What every binding must do, against its real server: one suite for all.

The tests run in the order in which they stand, against one cluster a database; the last ones pause
and kill servers.
"""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from foreign import foreign
from rust_tests import FROZEN, KILLED, NO_MONGOS, SCAN_OF_SETS, pass_in_rust

from pacelc import _engine
from pacelc.clusters.databases.redis import ask
from pacelc.runner.operations import gather_operations

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Bench

LEVELS: dict[str, list[tuple[Any, dict[str, str]]]] = {
    "memory": [("weak", {}), ("quorum", {}), ("strong", {})],
    "redis": [
        ("weak", {"read": "primary", "update": "primary only"}),
        ("quorum", {"update": "WAIT 1 1000"}),
        ("strong", {"update": "WAIT 2 1000"}),
        (
            {"read": "replica", "write": {"wait": 1, "timeout_ms": 250}},
            {"read": "replica", "update": "WAIT 1 250"},
        ),
    ],
    "mongodb": [
        ("weak", {"read": "local from primary", "update": "w: 1"}),
        ("quorum", {"read": "majority from primary", "update": "w: majority"}),
        ("strong", {"read": "linearizable from primary", "update": "w: 3"}),
        (
            {"read": "quorum", "write": "quorum", "session": "causal"},
            {"read": "majority from primary, causal", "update": "w: majority"},
        ),
        (
            {
                "read": {"concern": "available", "preference": "secondary"},
                "write": {"w": 2, "j": True},
            },
            {"read": "available from secondary", "update": "w: 2, j: true"},
        ),
        (
            {
                "read": {"concern": "local", "preference": "nearest"},
                "write": {"w": "majority", "wtimeout_ms": 900},
            },
            {"read": "local from nearest", "update": "w: majority, wtimeout: 900 ms"},
        ),
        (
            {"read": {"concern": "snapshot"}, "write": {"w": 1, "j": False}},
            {"read": "snapshot from primary"},
        ),
    ],
    "cassandra": [
        *(
            (level, {"read": level, "update": level})
            for level in (
                "ONE",
                "TWO",
                "THREE",
                "QUORUM",
                "ALL",
                "LOCAL_ONE",
                "LOCAL_QUORUM",
            )
        ),
        ({"read": "ONE", "write": "ANY"}, {"read": "ONE", "update": "ANY"}),
        ({"read": "ONE", "write": "EACH_QUORUM"}, {"update": "EACH_QUORUM"}),
        ({"read": "SERIAL", "write": "SERIAL", "scan": "ONE"}, {"read": "SERIAL"}),
        (
            {"read": "LOCAL_SERIAL", "write": "LOCAL_SERIAL", "scan": "ONE"},
            {"read": "LOCAL_SERIAL"},
        ),
        ("weak", {"read": "ONE", "update": "ONE"}),
        ("strong", {"read": "ALL", "update": "ALL"}),
    ],
    "hbase": [
        *(
            ({"read": "STRONG", "write": durability}, {"read": "STRONG", "update": durability})
            for durability in ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")
        ),
        ({"read": "TIMELINE", "write": "SYNC_WAL"}, {"read": "TIMELINE"}),
        ("weak", {"read": "TIMELINE", "update": "ASYNC_WAL"}),
        ("strong", {"read": "STRONG", "update": "FSYNC_WAL"}),
    ],
}
LEVELS["valkey"] = LEVELS["redis"]
LEVELS["mongodb-sharding-client"] = [
    ("weak", {"read": "local from primary", "update": "w: 1"}),
    ("quorum", {"read": "majority from primary", "update": "w: majority"}),
    # Of the set that holds the record: each has one member.
    ("strong", {"read": "linearizable from primary", "update": "w: 1"}),
]

RECORDS_DELETED = 20


def outcomes(result: dict[str, Any], fate: str) -> dict[str, int]:
    """Error kinds of one fate, over all kinds of operation."""
    counts: dict[str, int] = {}
    for kind in result["operations"].values():
        for error, count in kind[fate].items():
            counts[error] = counts.get(error, 0) + count
    return counts


def errors_of(result: dict[str, Any]) -> dict[str, int]:
    return outcomes(result, "fail") | outcomes(result, "unknown")


def all_ok(result: dict[str, Any]) -> int:
    assert not outcomes(result, "fail"), result["operations"]
    assert not outcomes(result, "unknown"), result["operations"]
    return sum(kind["ok"] for kind in result["operations"].values())


@pytest.mark.parametrize("kind", ["read", "update", "scan", "read_modify_write", "insert"])
def test_each_operation_is_done_and_verified(bench: Bench, kind: str) -> None:
    result = bench.run(workload={"mix": {kind: 1.0}})
    assert all_ok(result) > 0
    assert list(result["operations"]) == [kind]


def test_a_scan_may_begin_at_a_key(bench: Bench) -> None:
    assert all_ok(bench.run(workload={"mix": {"scan": 1.0}, "scan_from": "key"})) > 0


@pytest.mark.parametrize("scan_from", ["start", "key"])
def test_one_field_is_read_where_one_is_asked_for(bench: Bench, scan_from: str) -> None:
    mix = {"read": 0.4, "scan": 0.3, "read_modify_write": 0.3}
    workload = {"mix": mix, "read_all_fields": False, "scan_from": scan_from}
    result = bench.run(workload=workload)
    assert all_ok(result) > 0
    assert set(result["operations"]) == set(mix)


def test_fields_of_any_length_and_new_records_read_back(bench: Bench) -> None:
    workload = {
        "table": "lengths",
        "field_length_bytes": 80,
        "field_length_distribution": "uniform",
        "insert_order": "ordered",
        "zero_padding": 12,
        "insert_start": 5_000_000_000,
        "distribution": {"latest": {}},
        "mix": {"read": 0.5, "update": 0.3, "insert": 0.2},
    }
    bench.load(workload=workload)
    assert all_ok(bench.run(consistency="strong", workload=workload)) > 0


def test_an_update_of_all_fields_is_read_back_whole(bench: Bench) -> None:
    mix = {"read": 0.5, "update": 0.5}
    assert (
        all_ok(bench.run(consistency="strong", workload={"mix": mix, "update_all_fields": True}))
        > 0
    )


def test_what_is_deleted_is_not_found(bench: Bench) -> None:
    bench.load(workload={"table": "deleted"})
    workload = {"table": "deleted", "mix": {"delete": 0.5, "read": 0.5}, "records": RECORDS_DELETED}
    # One user, so that its first deletes are measured even where all records are gone in a
    # millisecond.
    result = bench.run(consistency="strong", users=1, measure_s=1.0, workload=workload)
    assert result["operations"]["delete"]["ok"] > 0
    # The last of them may have been missed by reads alone.
    assert set(outcomes(result, "fail")) <= {"not_found"}
    assert result["operations"]["read"]["missed"] > 0
    assert not any("found no record" in text for text in result["warnings"])
    assert not outcomes(result, "unknown")


def test_an_update_of_a_deleted_record_is_as_documented_and_nothing_is_called_corrupt(
    bench: Bench,
) -> None:
    for read_all_fields in (True, False):
        # Names of their own: HBase's replicas of a table that was made anew follow late.
        few = {"table": f"revived_{read_all_fields}".lower(), "records": 50}
        bench.load(workload=few)
        mix = {"read": 0.4, "update": 0.3, "delete": 0.2, "scan": 0.1}
        result = bench.run(
            measure_s=1.0, workload=few | {"mix": mix, "read_all_fields": read_all_fields}
        )
        assert set(outcomes(result, "fail")) <= {"not_found"}, result["operations"]
        assert not outcomes(result, "unknown")
        # docs/reference/levels.md
        finds_none = bench.database in {"memory", "mongodb"}
        updates = result["operations"]["update"]
        assert bool(updates["fail"].get("not_found")) is finds_none, updates
    # Where an update asks whether there is a record, none is brought back in part.
    if bench.database == "cassandra":
        few = {"table": "revived", "records": 50}
        bench.load(workload=few)
        serial = {"read": "QUORUM", "write": "SERIAL"}
        result = bench.run(measure_s=1.0, consistency=serial, workload=few | {"mix": mix})
        assert result["operations"]["update"]["fail"].get("not_found")
        assert set(outcomes(result, "fail")) == {"not_found"}


def test_every_level_is_in_force_as_asked(bench: Bench) -> None:
    for level, expected in LEVELS[bench.name]:
        result = bench.run(
            consistency=level, measure_s=0.3, workload={"mix": {"read": 0.5, "update": 0.5}}
        )
        assert all_ok(result) > 0, level
        for kind, text in expected.items():
            assert text in result["consistency"][kind], (level, result["consistency"])


OURS = {"marker": "0123456789abcdef"}
NOT_OURS = "isn't this study's"


def needs_server(bench: Bench) -> None:
    if bench.cluster is None:
        pytest.skip("a table inside this process is nobody else's")


def test_whatever_has_the_tables_name_and_is_not_this_studys_is_refused(bench: Bench) -> None:
    needs_server(bench)
    for what, there in foreign(bench).items():
        there.make()
        target = bench.target | {"owner": OURS, "options": there.options}
        spec = json.dumps(bench.spec(target=target, workload={"table": there.table, "records": 5}))
        for step in (_engine.prepare, _engine.clear, _engine.load):
            with pytest.raises(_engine.EngineError, match=NOT_OURS):
                step(spec).result()
        assert there.is_there(), what
        assert not bench.clear(table=there.table), what


def test_a_table_that_this_study_made_is_known_by_its_marker_and_its_id(bench: Bench) -> None:
    needs_server(bench)
    made = bench.prepare(table="made", owner=OURS)
    assert bench.load(workload={"table": "made", "records": 5}, owner=OURS, prepare=False) == 5
    # Made anew, as often as it likes; by a study with another marker, never.
    made = bench.prepare(table="made", owner=OURS | {"table_id": made["table_id"]})
    another = {"marker": "another0marker00"}
    others = [another, {}]
    if made["table_id"] is not None:
        # A copy has our marker, and an id of its own.
        others.append(OURS | {"table_id": "another"})
    for other in others:
        with pytest.raises(_engine.EngineError, match=NOT_OURS):
            bench.prepare(table="made", owner=other)
    # Whatever else it is: a table of fewer fields is this study's, too.
    bench.prepare(table="made", owner=OURS, fields=1)
    bench.prepare(table="made", owner=another | {"replace": True})
    with pytest.raises(_engine.EngineError, match=NOT_OURS):
        bench.clear(table="made", owner=OURS)
    assert bench.clear(table="made", owner=another)
    assert not bench.clear(table="made", owner=another)


def test_making_one_table_gives_no_leave_to_drop_another(bench: Bench) -> None:
    needs_server(bench)
    bench.load(workload={"table": "orders", "records": 7})
    bench.prepare(table="made", owner=OURS)
    with pytest.raises(_engine.EngineError, match=NOT_OURS):
        bench.prepare(table="orders", owner=OURS)
    spec = bench.spec(workload={"table": "orders", "records": 7}, load_from=7)
    assert json.loads(_engine.load(json.dumps(spec)).result()) == {"records": 7}
    assert bench.clear(table="orders")
    assert bench.clear(table="made", owner=OURS)


def test_a_keyspace_with_tables_keeps_its_replication(bench: Bench) -> None:
    if bench.database != "cassandra":
        pytest.skip("only Cassandra's keyspaces are replicated")
    bench.prepare(table="others")
    once = bench.target | {"owner": OURS, "replication": 1}
    spec = json.dumps(bench.spec(target=once, workload={"table": "made"}))
    says = r"is replicated as \{'class': .* and holds the table"
    with pytest.raises(_engine.EngineError, match=says):
        _engine.prepare(spec).result()
    made = json.loads(_engine.clear(spec, container=True).result())
    assert made == {"table": False, "container": False}
    assert bench.clear(table="others")


def test_nothing_is_written_into_another_server_that_answers_at_the_same_address(
    bench: Bench,
) -> None:
    needs_server(bench)
    table = {"table": "resumed", "records": 9}
    # What this study loaded half is gone; what is there now is somebody else's, or nothing.
    bench.load(workload=table | {"records": 3})
    with pytest.raises(_engine.EngineError, match=NOT_OURS):
        bench.load(workload=table, owner=OURS, prepare=False, load_from=3)
    spec = bench.spec(workload=table | {"records": 3}, load_from=3)
    assert json.loads(_engine.load(json.dumps(spec)).result()) == {"records": 3}
    updates = table | {"mix": {"update": 1.0}}
    with pytest.raises(_engine.EngineError, match=NOT_OURS):
        bench.run(workload=updates, target=bench.target | {"owner": OURS})
    assert bench.clear(table="resumed")
    with pytest.raises(_engine.RecordsLost, match="is gone"):
        bench.load(workload=table, owner=OURS, prepare=False, load_from=3)
    assert not bench.clear(table="resumed")


def test_an_insert_whose_index_is_refused_may_have_taken_effect(bench: Bench) -> None:
    if bench.database not in {"redis", "valkey"}:
        pytest.skip("its inserts are one command")
    assert bench.cluster is not None
    bench.load(workload={"table": "indexed"})
    ask(bench.cluster.nodes[0], "DEL indexed_index", "SET indexed_index 1")
    result = bench.run(workload={"table": "indexed", "mix": {"insert": 1.0}})
    assert not outcomes(result, "fail")
    assert set(outcomes(result, "unknown")) == {"rejected"}
    assert bench.clear(table="indexed")


def test_a_value_that_no_writer_wrote_is_an_integrity_error(bench: Bench) -> None:
    if bench.database != "cassandra":  # whose schema refuses the question
        # Records of nine fields, read as records of ten: each read lacks a field.
        nine = {"table": "nine", "fields": 9}
        bench.load(workload=nine)
        result = bench.run(workload=nine | {"fields": 10})
        assert result["operations"]["read"]["ok"] == 0
        assert set(outcomes(result, "fail")) == {"integrity"}
    # Fields of another length than was written.
    result = bench.run(workload={"field_length_bytes": 99})
    assert result["operations"]["read"]["ok"] == 0
    assert set(outcomes(result, "fail")) == {"integrity"}


def test_a_read_of_a_record_that_is_not_there_is_served_and_missed(bench: Bench) -> None:
    bench.load(workload={"table": "few", "records": 10})
    for read_all_fields in (True, False):
        workload = {"table": "few", "read_all_fields": read_all_fields}
        result = bench.run(workload=workload)
        assert not outcomes(result, "fail")
        reads = result["operations"]["read"]
        assert 0 < reads["missed"] < reads["ok"]
        assert any("found no record" in text for text in result["warnings"])


def test_two_runs_with_the_same_seed_issue_the_same_operations(
    bench: Bench, tmp_path: Path
) -> None:
    def issued(name: str) -> pl.DataFrame:
        path = tmp_path / name
        bench.run(
            record_operations=str(path),
            workload={"mix": {"read": 0.5, "update": 0.4, "read_modify_write": 0.1}},
        )
        frame = pl.read_parquet(gather_operations(path))
        return frame.select("user", "sequence", "operation", "record").sort("user", "sequence")

    first, second = issued("first"), issued("second")
    both = first.join(second, on=["user", "sequence"], suffix="_again")
    assert both.height > 10
    assert both["operation"].equals(both["operation_again"])
    assert both["record"].equals(both["record_again"])


def test_samples_add_up_to_totals_and_the_log_has_each_second(bench: Bench) -> None:
    result = bench.run(warm_up_s=0.5, measure_s=2.0)
    samples = pl.DataFrame(result["samples"]).filter(pl.col("phase") == "measure")
    assert samples["ok"].sum() == result["operations"]["read"]["ok"]
    assert result["latency_log"].count("Tag=read.ok") >= 2


def test_what_the_server_receives_is_what_was_asked_for(bench: Bench) -> None:
    """In Rust, where what the server received, and what its errors say, can be seen."""
    options: dict[str, tuple[tuple[str, ...], int]] = {
        "cassandra": ((), 4),
        "mongodb": (("--skip", SCAN_OF_SETS, "--skip", NO_MONGOS), 6),
    }
    if bench.name not in options:
        pytest.skip("there is no server to look at from Rust")
    others, passed = options[bench.name]
    target = json.dumps(bench.target)
    pass_in_rust(
        bench.name,
        *("--ignored", "--test-threads=1"),
        *others,
        passed=passed,
        PACELC_TEST_TARGET=target,
    )


def test_a_user_stays_or_roams_where_the_database_has_a_choice(bench: Bench) -> None:
    """Reads of a replica by one user: what is read is right, whichever node gives it."""
    levels: dict[str, Any] = {
        "redis": {"read": "replica"},
        "valkey": {"read": "replica"},
        "mongodb": {"read": {"concern": "local", "preference": "nearest"}},
        "cassandra": "weak",
        "hbase": "weak",
    }
    level = levels.get(bench.database, "weak")
    for session in ("sticky", "roaming"):
        spec = bench.spec(
            target=bench.target | {"session": session},
            users=1,
            consistency=level,
            operations=200,
            measure_s=30.0,
        )
        if bench.database == "memory" or (bench.database == "mongodb" and session == "sticky"):
            with pytest.raises(_engine.EngineError, match=f"session: {session}"):
                _engine.check(json.dumps(spec))
            continue
        result = json.loads(_engine.run(json.dumps(spec)).result())
        read = result["operations"]["read"]
        assert (read["ok"], read["fail"], read["unknown"]) == (200, {}, {})


def test_the_hbase_clients_own_tests_pass(bench: Bench) -> None:
    """Tests in Rust, beside the client's code: regions that move, replicas, batches, admin."""
    if bench.database != "hbase":
        pytest.skip("it is HBase's client")
    masters = ",".join(bench.target["endpoints"])
    # Others' writes are synced, and with them what was written before: this one is alone.
    alone = "replicas_follow_writes_that_nobody_asks_to_be_synced"
    # Those with a victim have a cluster of their own.
    victims = ("--skip", FROZEN, "--skip", KILLED)
    others = ("--test-threads=4", "--skip", alone, *victims)
    pass_in_rust("real_server", "--ignored", alone, passed=1, PACELC_HBASE_MASTERS=masters)
    pass_in_rust("real_server", "--ignored", *others, passed=13, PACELC_HBASE_MASTERS=masters)


def test_nothing_listening_is_refused_in_one_line(bench: Bench) -> None:
    if bench.cluster is None:
        pytest.skip("there is no server to be missing")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    address = f"127.0.0.1:{port}"
    target = bench.target | {"endpoints": [address]}
    if "primary" in target:
        target["primary"] = address
    if "sets" in target:
        target["sets"] = [replica_set | {"endpoints": [address]} for replica_set in target["sets"]]
    with pytest.raises(_engine.ConnectError, match="can't be reached") as error:
        _engine.run(json.dumps(bench.spec(target=target))).result()
    assert error.value.hint
    assert "\n" not in error.value.message


def data_nodes(bench: Bench) -> list[Any]:
    assert bench.cluster is not None
    return [node for node in bench.cluster.nodes if node.role not in {"zookeeper", "master"}]


def until_it_measures(job: Any) -> None:
    while job.progress()["phase"] != "measure":
        assert not job.wait(0.02), "it has ended"


@contextmanager
def standing_still(nodes: list[Any]) -> Iterator[None]:
    """Servers that answer nobody within the block."""
    for node in nodes:
        node.pause()
    try:
        yield
    finally:
        for node in nodes:
            node.resume()


def test_requests_beside_those_asked_for_are_counted(bench: Bench) -> None:
    """HBase's weak reads ask the other replicas after 10 ms; nothing else is asked twice."""
    for consistency, hedged in (("weak", bench.database == "hbase"), ("strong", False)):
        spec = bench.spec(consistency=consistency, users=16, measure_s=1.5)
        job = _engine.run(json.dumps(spec))
        if bench.cluster is not None:
            until_it_measures(job)
            with standing_still(data_nodes(bench)[-1:]):
                time.sleep(0.3)
        assert (json.loads(job.result())["client"]["hedges"] > 0) == hedged, consistency


def test_silence_is_a_time_out_which_a_write_may_survive_and_a_read_cannot(bench: Bench) -> None:
    if bench.cluster is None:
        pytest.skip("there is no server to be silent")
    nodes = data_nodes(bench)
    job = _engine.run(
        json.dumps(
            bench.spec(
                measure_s=2.5,
                operation_timeout_ms=400,
                workload={"mix": {"update": 0.5, "read": 0.5}},
                consistency="strong",
                users=16,
            )
        )
    )
    until_it_measures(job)
    time.sleep(0.5)
    with standing_still(nodes):
        time.sleep(1.0)
    result = json.loads(job.result())
    assert result["operations"]["update"]["ok"] > 0
    read, update = result["operations"]["read"], result["operations"]["update"]
    # Of MongoDB, the driver's monitor may notice first: connections are then lost.
    assert update["unknown"], result["operations"]
    assert update["unknown"].get("timeout", 0) + read["fail"].get("timeout", 0) >= 1, result
    assert not read["unknown"]
    assert "timeout" not in update["fail"]


def test_a_server_killed_in_the_middle_fails_clearly_and_ends_in_time(bench: Bench) -> None:
    if bench.cluster is None:
        pytest.skip("there is no server to kill")
    load = {"workload": {"mix": {"read": 0.5, "update": 0.5}}, "consistency": "strong"}
    # After the silence, nodes find each other again.
    end_s = time.monotonic() + 30
    while errors_of(bench.run(operation_timeout_ms=2_000, **load)):
        assert time.monotonic() < end_s
    start = time.monotonic()
    job = _engine.run(json.dumps(bench.spec(measure_s=3.0, operation_timeout_ms=1_000, **load)))
    until_it_measures(job)
    time.sleep(1.0)
    for node in data_nodes(bench):
        node.kill()
    result = json.loads(job.result())
    assert time.monotonic() - start < 3.0 + 1.0 + 25.0
    assert sum(kind["ok"] for kind in result["operations"].values()) > 0
    failed, unknown = outcomes(result, "fail"), outcomes(result, "unknown")
    assert failed or unknown
    # No connection is a failure without effect; a broken one, or silence, is not known of a write.
    assert set(failed) <= {
        "connection_refused",
        "connection_lost",
        "unavailable",
        "not_primary",
        "overloaded",
        "server_timeout",
        "timeout",
        "other",
    }, result["operations"]
    assert set(unknown) <= {
        "connection_lost",
        "timeout",
        "server_timeout",
        "not_enough_replicas",
        "not_primary",
        "other",
    }, result["operations"]
