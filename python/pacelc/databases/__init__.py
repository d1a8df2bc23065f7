"""Databases as data: one file each, of what is true of it whoever runs it; below all other rooms.

How its servers are started is in `pacelc.clusters.databases`, how it is spoken to in the engine's
bindings, what its levels are in the engine's core.

Map
---
FACTS           by name, in the order in which help lists them
facts_of        the same of any name: of a database that isn't known, nothing is
display_name    a database as its makers write it
Facts           what each file fills in
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pacelc.databases.cassandra import CASSANDRA
from pacelc.databases.facts import Copies, Facts, Replication, YcsbLevel
from pacelc.databases.hbase import HBASE
from pacelc.databases.mongodb import MONGODB
from pacelc.databases.redis import REDIS, VALKEY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FACTS", "Copies", "Facts", "Replication", "YcsbLevel", "display_name", "facts_of"]

FACTS: Final[Mapping[str, Facts]] = {
    facts.name: facts for facts in (REDIS, VALKEY, MONGODB, CASSANDRA, HBASE)
}


_UNKNOWN: Final = Facts(
    name="",
    display_name="",
    replication="unknown",
    copies_of_level=lambda _: None,
    levels_of="",
    levels_are_copies=False,
    waits_for_disk=lambda _: False,
    answers_alone=(),
    example_levels=(),
    has_shards=False,
    scans_need_index=False,
    ycsb_bindings=(),
    ycsb_levels={},
    ycsb_default_levels={},
    ycsb_timeout="",
    ycsb_accepted={},
    ycsb_refused={},
    ycsb_harmless={},
    connections_of_user=lambda _: 0,
    start_s=0.0,
    login="",
    hedging_advice="",
    failover="",
    partition_note="",
)


def facts_of(database: str) -> Facts:
    """Return what is known of a database: of another's run, or of the engine's own, nothing."""
    return FACTS.get(database) or replace(_UNKNOWN, name=database, display_name=database)


def display_name(database: str) -> str:
    """Return a database as its makers write it; one that isn't known, as it is named."""
    return facts_of(database).display_name
