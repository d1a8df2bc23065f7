"""HBase: each region has one server; levels say what of its write-ahead log a write waits for."""

from __future__ import annotations

import re
from typing import Final

from pacelc.databases.facts import OWN_CLUSTER, Facts, YcsbLevel

__all__ = ["HBASE"]

_ONE_COPY: Final = re.compile(r"STRONG|TIMELINE|\w+_WAL|USE_DEFAULT")
_ON_DISK: Final = re.compile(r"(SYNC|FSYNC)_WAL|USE_DEFAULT")

_DURABILITIES: Final = ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")

HBASE: Final = Facts(
    name="hbase",
    display_name="HBase",
    replication="a leader a partition",
    copies_of_level=lambda level: 1 if _ONE_COPY.fullmatch(level) else None,
    levels_of="hbase",
    levels_are_copies=False,
    waits_for_disk=lambda level: bool(_ON_DISK.fullmatch(level)),
    answers_alone=("TIMELINE", "STRONG", "ASYNC_WAL", "SKIP_WAL"),
    example_levels=(
        {"read": "STRONG", "write": "SKIP_WAL"},
        {"read": "TIMELINE", "write": "SKIP_WAL"},
        {"read": "TIMELINE", "write": "FSYNC_WAL"},
    ),
    has_shards=False,
    scans_need_index=False,
    ycsb_bindings=(
        *("hbase1", "hbase2", "hbase10", "hbase12", "hbase14", "hbase20"),
        *("site.ycsb.db.hbase1.HBaseClient1", "site.ycsb.db.hbase2.HBaseClient2"),
    ),
    ycsb_levels={"durability": YcsbLevel("write", {word: word for word in _DURABILITIES})},
    # site.ycsb.db.hbase2.HBaseClient2: Durability.USE_DEFAULT, and a Get that asks for nothing,
    # which HBase's client reads as Consistency.STRONG.
    ycsb_default_levels={"read": "STRONG", "write": "USE_DEFAULT"},
    ycsb_timeout="",
    ycsb_accepted={
        "columnfamily": "HBase's table is made with a family of its own",
        "writebuffersize": "writes aren't buffered",
        "hbase.scanfilteroperator": "scans have no filter",
    },
    ycsb_refused={
        **dict.fromkeys(("hbase.zookeeper.quorum", "principal", "keytab"), OWN_CLUSTER),
        "clientbuffering": "writes are sent one by one: the measured operation would be another",
        "hbase.usepagefilter": "a scan asks for as many rows as it needs",
        "hbase.usescanvaluefiltering": "scans have no filter",
    },
    ycsb_harmless={
        "clientbuffering": "false",
        "hbase.usepagefilter": "true",
        "hbase.usescanvaluefiltering": "false",
    },
    connections_of_user=lambda _: 0,
    start_s=25.0,
    login="",
    hedging_advice="HBase's client does so after 10 ms: fewer users, or client_options: "
    "{timeline: any}",
    failover="the master gives a lost server's regions to others",
    partition_note="; files are in a local directory here, so how HDFS fences a failed server was "
    "not measured",
)
