"""What others may have by a table's name, database by database, made in the database's own way."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pymongo

from pacelc.clusters.databases.cassandra import query
from pacelc.clusters.databases.redis import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conftest import Bench

__all__ = ["Foreign", "foreign"]


@dataclass(frozen=True)
class Foreign:
    """Something of somebody else's."""

    table: str
    make: Callable[[], object]
    is_there: Callable[[], bool]
    """Whether it is there as it was made; it is taken away then."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the binding that is to leave it alone."""


def eventually(ask: Callable[[], object]) -> None:
    """Ask until it is answered: the other nodes hear of a new table a moment later."""
    end_s = time.monotonic() + 10
    while True:
        try:
            ask()
        except OSError:
            if time.monotonic() > end_s:
                raise
            time.sleep(0.1)
        else:
            return


def foreign(bench: Bench) -> dict[str, Foreign]:
    """What has a table's name, by what it is."""
    return {
        "redis": _redis,
        "valkey": _redis,
        "mongodb": _mongodb,
        "cassandra": _cassandra,
        "hbase": _hbase,
    }[bench.database](bench)


def _redis(bench: Bench) -> dict[str, Foreign]:
    table = "mine"
    assert bench.cluster is not None
    primary = bench.cluster.nodes[0]

    def keys(key: str, command: str, *, scan_index: bool) -> Foreign:
        return Foreign(
            table,
            lambda: ask(primary, command),
            lambda: ask(primary, f"EXISTS {key}", f"DEL {key}") == [1, 1],
            {"scan_index": scan_index},
        )

    return {
        "a key with the prefix": keys(f"{table}:mine", f"SET {table}:mine 1", scan_index=True),
        "a record's key": keys(f"{table}:user1", f"HSET {table}:user1 a 1", scan_index=False),
        "a key of the index's name": keys(
            f"{table}_index", f"ZADD {table}_index 0 mine", scan_index=True
        ),
        "a key of the owner's name": keys(
            f"{table}_owner", f"HSET {table}_owner mine 1", scan_index=False
        ),
    }


def _mongodb(bench: Bench) -> dict[str, Foreign]:
    table = "mine"

    def within(work: Callable[[Any], Any]) -> list[Any]:
        """Do it in each set."""
        sets = bench.target.get("sets") or [
            {"endpoints": bench.target["endpoints"], "name": bench.target["replica_set"]}
        ]
        answers: list[Any] = []
        for each in sets:
            address = f"mongodb://{','.join(each['endpoints'])}/?replicaSet={each['name']}"
            with pymongo.MongoClient[dict[str, Any]](address) as client:
                answers.append(work(client["pacelc"]))
        return answers

    def made_by(make: Callable[[Any], object]) -> Foreign:
        def is_there() -> bool:
            there = within(lambda database: table in database.list_collection_names())
            within(lambda database: database.drop_collection(table))
            return all(there)

        return Foreign(table, lambda: within(make), is_there)

    return {
        "documents": made_by(lambda database: database[table].insert_one({"name": "mine"})),
        "an empty collection": made_by(lambda database: database.create_collection(table)),
        "a view": made_by(
            lambda database: database.create_collection(table, viewOn="others", pipeline=[])
        ),
        "an index alone": made_by(lambda database: database[table].create_index("name")),
    }


def _cassandra(bench: Bench) -> dict[str, Foreign]:
    table = "mine"
    assert bench.cluster is not None
    endpoint = bench.cluster.endpoints[0]

    def execute(*statements: str) -> bool:
        for statement in statements:
            text = statement.format(table=f"pacelc.{table}")
            eventually(partial(query, endpoint, text))
        return True

    def made_by(*statements: str, unmade_by: Sequence[str] = ("DROP TABLE {table}",)) -> Foreign:
        return Foreign(
            table,
            lambda: execute(*statements),
            lambda: execute("SELECT * FROM {table}", *unmade_by),
        )

    other = "CREATE TABLE {table} (id int PRIMARY KEY, name text, balance decimal)"
    return {
        "other columns": made_by(other, "INSERT INTO {table} (id, balance) VALUES (1, 3.5)"),
        "other columns, empty": made_by(other),
        "fewer fields": made_by("CREATE TABLE {table} (key text PRIMARY KEY, field0 text)"),
        "other types": made_by("CREATE TABLE {table} (key text PRIMARY KEY, field0 int)"),
        "a view": made_by(
            "CREATE TABLE pacelc.base (key text PRIMARY KEY, name text)",
            "CREATE MATERIALIZED VIEW {table} AS SELECT key FROM pacelc.base "
            "WHERE key IS NOT NULL PRIMARY KEY (key)",
            unmade_by=["DROP MATERIALIZED VIEW {table}", "DROP TABLE pacelc.base"],
        ),
        "a comment of its own": made_by(f"{other} WITH comment = 'pacelc owner'"),
    }


def _hbase(bench: Bench) -> dict[str, Foreign]:
    # Names of their own: replicas of a table that was made anew follow late.
    return {
        "a table, empty": Foreign(
            "empty", lambda: bench.prepare(table="empty"), lambda: bench.clear(table="empty")
        ),
        "a table with rows": Foreign(
            "rows",
            lambda: bench.load(workload={"table": "rows", "records": 5}),
            lambda: bench.clear(table="rows"),
        ),
    }
