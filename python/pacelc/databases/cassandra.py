"""Cassandra: any node coordinates; the client says per operation how many copies must answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.databases.facts import OWN_CLUSTER, Facts, YcsbLevel

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

_CONNECTIONS: Final = "each thread of the client has one connection to each node"
_DRIVER: Final = "it is for the Java driver, which isn't used"
_TRACING: Final = (
    "cassandra.tracing",
    *(f"cassandra.tracing.{kind}" for kind in ("read", "scan", "insert", "update", "delete")),
)

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
        "cassandra.readconsistencylevel": YcsbLevel("read", {}),
        "cassandra.writeconsistencylevel": YcsbLevel("write", {}),
    },
    # site.ycsb.db.CassandraCQLClient: both levels are QUORUM (its README says ONE). Scans have the
    # level of reads.
    ycsb_default_levels={"read": "QUORUM", "write": "QUORUM"},
    ycsb_timeout="cassandra.readtimeoutmillis",
    ycsb_accepted={
        "cassandra.connecttimeoutmillis": "connections are made before a run",
        "cassandra.maxconnections": _CONNECTIONS,
        "cassandra.coreconnections": _CONNECTIONS,
        **{
            f"cassandra.tracingfrequency.{kind}": "there is no tracing"
            for kind in ("read", "scan", "insert", "update", "delete")
        },
    },
    ycsb_refused={
        **dict.fromkeys(
            ("hosts", "port", "cassandra.username", "cassandra.password", "cassandra.useSSL"),
            OWN_CLUSTER,
        ),
        "cassandra.keyspace": "tables are in the keyspace pacelc",
        "cassandra.driverconfig": _DRIVER,
        **{
            f"cassandra.driverprofile.{kind}": _DRIVER
            for kind in ("read", "scan", "insert", "update", "delete")
        },
        **dict.fromkeys(_TRACING, "there is no tracing, which would slow the operations down"),
    },
    ycsb_harmless={"cassandra.useSSL": "false", **dict.fromkeys(_TRACING, "false")},
    connections_of_user=lambda _: 0,
    start_s=40.0,
    login="",
    hedging_advice="",
    failover="none needed: any node coordinates",
    partition_note="",
)
