"""Cassandra: any node coordinates; the client says per operation how many copies must answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.databases.facts import OWN_CLUSTER, Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.databases.facts import Copies

__all__ = ["CASSANDRA"]

_COPIES: Final[Mapping[str, Copies]] = {
    "ANY": 0,  # a note of the write, at whichever node, will do
    "ONE": 1,
    "LOCAL_ONE": 1,
    "TWO": 2,
    "THREE": 3,
    "QUORUM": "quorum",
    "LOCAL_QUORUM": "quorum",
    "ALL": "all",
}

CASSANDRA: Final = Facts(
    name="cassandra",
    display_name="Cassandra",
    replication="leaderless",
    copies_of_level=lambda level: _COPIES.get(level.partition(",")[0]),
    levels_of="cassandra",
    levels_are_copies=True,
    # Its commit log is synced periodically; no write waits for that.
    waits_for_disk=lambda _: False,
    answers_alone=("ANY", "ONE", "LOCAL_ONE"),
    example_levels=(
        {"read": "ONE", "write": "ANY"},
        {"read": "QUORUM", "write": "ONE"},
        {"read": "ONE", "write": "ALL"},
        {"read": "ALL", "write": "ONE"},
        "LOCAL_ONE",
        "LOCAL_QUORUM",
        {"read": "LOCAL_QUORUM", "write": "EACH_QUORUM"},
        {"read": "SERIAL", "scan": "QUORUM", "write": "SERIAL"},
        {"read": "LOCAL_SERIAL", "scan": "LOCAL_QUORUM", "write": "LOCAL_SERIAL"},
    ),
    has_shards=False,
    scans_need_index=False,
    ycsb_bindings=("cassandra-cql", "cassandra2-cql", "site.ycsb.db.CassandraCQLClient"),
    ycsb_levels={
        "cassandra.readconsistencylevel": "read",
        "cassandra.writeconsistencylevel": "write",
    },
    ycsb_default_level="QUORUM",
    ycsb_accepted={},
    ycsb_refused={
        "hosts": OWN_CLUSTER,
        "port": OWN_CLUSTER,
        "cassandra.keyspace": "tables are in the keyspace pacelc",
    },
    ycsb_harmless={},
    start_s=40.0,
    login="",
    hedging_advice="",
    partition_note="",
)
