"""MongoDB: a replica set's primary takes writes; clients say how many members must have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pacelc.databases.facts import OWN_CLUSTER, Facts, YcsbLevel

if TYPE_CHECKING:
    from pacelc.databases.facts import Copies

__all__ = ["MONGODB"]

_READ: Final = re.compile(r"(local|available|majority) from ")
_WRITE: Final = re.compile(r"w: (\d+)")
_ON_DISK: Final = re.compile(r"w: majority|j: true")
"""A majority's writes are in its journals, whatever ``j`` says."""


def _copies_of_level(level: str) -> Copies | None:
    if match := _WRITE.match(level):
        return int(match[1])
    if level.partition(",")[0] == "w: majority":
        return "quorum"
    return 1 if _READ.match(level) else None


MONGODB: Final = Facts(
    name="mongodb",
    display_name="MongoDB",
    replication="one leader",
    copies_of_level=_copies_of_level,
    levels_of="mongodb",
    levels_are_copies=True,
    waits_for_disk=lambda level: bool(_ON_DISK.search(level)),
    answers_alone=("local from", "available from", "w: 1"),
    example_levels=(
        {"read": "majority", "write": {"w": 1}},
        {"read": "linearizable", "write": {"w": "majority"}},
        {"read": "snapshot", "write": {"w": "majority"}},
        {
            "read": {"concern": "local", "preference": "primaryPreferred"},
            "write": {"w": "majority"},
        },
        {"read": {"concern": "local", "preference": "nearest"}, "write": {"w": 1}},
        {"read": {"concern": "majority", "preference": "secondary"}, "write": {"w": "majority"}},
    ),
    has_shards=True,
    scans_need_index=False,
    ycsb_bindings=(
        *("mongodb", "mongodb-async"),
        *("site.ycsb.db.MongoDbClient", "site.ycsb.db.AsyncMongoDbClient"),
    ),
    ycsb_levels={
        # As site.ycsb.db.OptionsSupport writes them into the address.
        "mongodb.writeConcern": YcsbLevel(
            "write",
            {
                "errors_ignored": {"w": 0},
                "unacknowledged": {"w": 0},
                "acknowledged": {"w": 1},
                "journaled": {"w": 1, "j": True},
                "replica_acknowledged": {"w": 2},
                "majority": {"w": "majority"},
            },
        ),
        "mongodb.readPreference": YcsbLevel(
            "read",
            {
                word: {"concern": "local", "preference": preference}
                for word, preference in {
                    "primary": "primary",
                    "primary_preferred": "primaryPreferred",
                    "secondary": "secondary",
                    "secondary_preferred": "secondaryPreferred",
                    "nearest": "nearest",
                }.items()
            },
        ),
    },
    # site.ycsb.db.MongoDbClient connects to `mongodb://localhost:27017/ycsb?w=1`. It sets no read
    # concern and no read preference, which the server takes for local, the driver for primary.
    ycsb_default_levels={"read": "local", "write": {"w": 1}},
    ycsb_timeout="",
    ycsb_accepted=dict.fromkeys(
        ("mongodb.maxconnections", "mongodb.threadsAllowedToBlockForConnectionMultiplier"),
        "the client opens as many connections as its users need",
    ),
    ycsb_refused={
        "mongodb.url": f"{OWN_CLUSTER}; mongodb.writeConcern and mongodb.readPreference, or "
        "consistency, set the levels",
        **dict.fromkeys(("mongodb.username", "mongodb.password", "mongodb.authdb"), OWN_CLUSTER),
        "mongodb.database": "collections are in the database pacelc",
        "mongodb.upsert": "inserts are plain inserts; an upsert is another operation",
        **dict.fromkeys(
            ("mongodb.batchsize", "batchsize"),
            "inserts are sent one by one: the measured operation would be another",
        ),
    },
    ycsb_harmless={"mongodb.upsert": "false", "mongodb.batchsize": "1", "batchsize": "1"},
    connections_of_user=lambda _: 1,
    start_s=8.0,
    login="",
    hedging_advice="",
    failover="the replica set elects another primary",
    partition_note="",
)
