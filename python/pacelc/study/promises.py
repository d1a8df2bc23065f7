"""What a consistency level promises, and where its vendor says so.

A promise belongs to a pair of levels, one of reads and one of writes, and is about one record, all
fields of which are written together. The engine has the promises
(``crates/core/src/consistency``); checkers' findings have the same names of guarantees.

Map
---
Source, Promise, Pair   as the engine tells them
promises                a level → its pairs
promised                pairs and kinds of operation → each guarantee's promise
guarantees              each guarantee's name → what it demands
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pacelc.study.values import Json

__all__ = ["Pair", "Promise", "Source", "guarantees", "promised", "promises"]

_STRENGTH = {"not": 0, "silent": 0, "if": 1, "holds": 2}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Source(_Frozen):
    """Where a vendor says something: a document, its section, its address, and what is said."""

    title: str
    section: str
    url: str
    claim: str


class Promise(_Frozen):
    """A guarantee, and the vendor's word on it."""

    guarantee: str
    word: Literal["holds", "if", "not", "silent"]
    condition: str | None = None
    """Of the word ``if``."""
    source: Source

    @property
    def strength(self) -> int:
        """How much is promised: 0 nothing, 1 on a condition, 2 all."""
        return _STRENGTH[self.word]


class Pair(_Frozen):
    """What is promised of records read by some kinds of operation and written by others."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    read: str
    write: str
    promises: tuple[Promise, ...]


_PAIRS = TypeAdapter(tuple[Pair, ...])


def promises(
    database: str, consistency: Json, nodes: int = 3, replication: int = 3
) -> tuple[Pair, ...]:
    """Return what a level, as a study names it, promises; nothing for a binding without replicas.

    Raises
    ------
    _engine.Refused
        For a level that the database doesn't have, or that such a cluster can't satisfy.

    Examples
    --------
    >>> pair = promises("cassandra", {"read": "SERIAL", "scan": "ONE", "write": "SERIAL"})[0]
    >>> pair.promises[0].guarantee, pair.promises[0].word
    ('linearizable', 'holds')
    """
    from pacelc import _engine  # noqa: PLC0415 - definitions can be read without it

    answer = _engine.promises(database, json.dumps(consistency), nodes, replication)
    return _PAIRS.validate_json(answer)


def promised(pairs: Iterable[Pair], kinds: Collection[str]) -> dict[str, Promise]:
    """Return each guarantee's weakest promise among the pairs that a workload's kinds make.

    Parameters
    ----------
    kinds
        The workload's kinds of operation. A workload that doesn't both read and write has no pair,
        and no promises.

    Examples
    --------
    >>> level = {"read": "SERIAL", "scan": "ONE", "update": "SERIAL", "insert": "ONE"}
    >>> pairs = promises("cassandra", level)
    >>> promised(pairs, ["read", "update"])["linearizable"].word
    'holds'
    >>> promised(pairs, ["read", "insert"])["linearizable"].word
    'not'
    """
    there = set(kinds)
    if "read_modify_write" in there:
        there |= {"read", "update"}
    weakest: dict[str, Promise] = {}
    for pair in pairs:
        if there.isdisjoint(pair.reads) or there.isdisjoint(pair.writes):
            continue
        for promise in pair.promises:
            known = weakest.setdefault(promise.guarantee, promise)
            if promise.strength < known.strength:
                weakest[promise.guarantee] = promise
    return weakest


def guarantees() -> dict[str, str]:
    """Return what each guarantee demands, in the order in which reports list them."""
    from pacelc import _engine  # noqa: PLC0415 - definitions can be read without it

    return dict(_engine.guarantees())
