"""What is true of a database whoever runs it: `Facts`, which each database's file fills in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pydantic import JsonValue

__all__ = ["OWN_CLUSTER", "Copies", "Facts", "Replication", "YcsbLevel"]

OWN_CLUSTER: Final = "pacelc starts the cluster that it measures, and knows its addresses"
"""Why YCSB's properties for addresses and for users of the database are refused."""

Replication: TypeAlias = Literal["leaderless", "one leader", "a leader a partition", "unknown"]
"""Who coordinates an operation: any node; the leader of all records of a replica set; the one
server that has the record's partition."""

Copies: TypeAlias = int | Literal["quorum", "all"]


@dataclass(frozen=True)
class YcsbLevel:
    """A property of YCSB's for a level.

    Parameters
    ----------
    kind
        The kind of operation that it is for.
    words
        The level that each of its words means, in the database's terms; empty: the words are the
        database's own.
    """

    kind: Literal["read", "write"]
    words: Mapping[str, JsonValue]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What rooms above and beside the clusters know of a database, by its name.

    Nothing here has a default: whoever adds a database has decided each.

    Parameters
    ----------
    name
        In studies and on the command line.
    display_name
        As its makers write it.
    replication
        Who coordinates an operation.
    copies_of_level
        The text of a level in force → how many copies an operation waits for, 0 where any node's
        answer will do; None where the level isn't a number of copies.
    levels_of
        The database whose levels it has: itself, or one that it is a fork of.
    levels_are_copies
        Whether levels differ in the number of copies alone. If not, a calibration fits each level
        apart.
    waits_for_disk
        The text of a write's level in force → whether it waits until a log is on disk.
    answers_alone
        How levels in force begin at which one node answers without waiting for another.
    example_levels
        Levels of its own that ``pacelc levels`` shows beside weak, quorum and strong.
    has_shards
        Whether its records can be spread over several replica sets.
    scans_need_index
        Whether scans from a key need the client's option ``scan_index``.
    ycsb_bindings
        YCSB's bindings for it: names that its scripts know, and classes.
    ycsb_levels
        YCSB's properties for its levels.
    ycsb_default_levels
        The level of each kind in YCSB's binding where no property gives one.
    ycsb_timeout
        YCSB's property for the milliseconds after which its client gives an operation up; empty:
        it has none.
    ycsb_accepted, ycsb_refused
        YCSB's other properties for it, and why each changes nothing here, or can't be had.
    ycsb_harmless
        The value that a refused property may have, because it changes nothing.
    connections_of_user
        The levels in force → how many connections each user has of its own; 0 where users share.
    start_s
        Seconds until three nodes serve: a first guess, before this machine has shown its own.
    login
        The command of its own client, with places for ``user``, ``password_file``, ``host`` and
        ``port``; empty where pacelc's own clusters have no users.
    hedging_advice
        What makes its client send fewer slow reads to further replicas; empty: it sends none.
    failover
        Who takes over from a lost node in clusters that pacelc starts: letters are of those alone.
    partition_note
        What its results under a partition don't say, to be added to them; empty: nothing.
    """

    name: str
    display_name: str
    replication: Replication
    copies_of_level: Callable[[str], Copies | None]
    levels_of: str
    levels_are_copies: bool
    waits_for_disk: Callable[[str], bool]
    answers_alone: Sequence[str]
    example_levels: Sequence[JsonValue]
    has_shards: bool
    scans_need_index: bool
    ycsb_bindings: Sequence[str]
    ycsb_levels: Mapping[str, YcsbLevel]
    ycsb_default_levels: Mapping[str, JsonValue]
    ycsb_timeout: str
    ycsb_accepted: Mapping[str, str]
    ycsb_refused: Mapping[str, str]
    ycsb_harmless: Mapping[str, str]
    connections_of_user: Callable[[Collection[str]], int]
    start_s: float
    login: str
    hedging_advice: str
    failover: str
    partition_note: str
