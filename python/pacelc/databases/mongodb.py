"""MongoDB: a replica set's primary takes writes; clients say how many members must have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pacelc.databases.facts import OWN_CLUSTER, Facts

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
    ycsb_levels={},
    ycsb_default_level="",
    ycsb_accepted={},
    ycsb_refused={
        "mongodb.url": f"{OWN_CLUSTER}; consistency sets the write concern",
        "mongodb.upsert": "inserts are plain inserts; an upsert is another operation",
        **dict.fromkeys(
            ("mongodb.batchsize", "batchsize"),
            "inserts are sent one by one: the measured operation would be another",
        ),
    },
    ycsb_harmless={"mongodb.upsert": "false"},
    start_s=8.0,
    login="",
    hedging_advice="",
    partition_note="",
)
