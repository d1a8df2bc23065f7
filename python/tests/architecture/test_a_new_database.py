"""Whoever adds a database hears of every place that it lacks, by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pacelc import _engine, databases
from pacelc.clusters.databases import registry
from pacelc.clusters.protocol import Database
from pacelc.databases import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[3]
FACTS_OF = "python/pacelc/databases: FACTS"
SERVERS = "python/pacelc/clusters/databases/registry.py: DATABASES"
LEVELS = "crates/core/src/consistency: levels and promises"
BINDING = "crates/bindings/src/lib.rs: for_database!, DATABASES"
CONFORMANCE = "python/tests/conformance/conftest.py: DATABASES"
PAGE = "docs/reference/levels.md"


def lacking(name: str) -> Iterator[str]:
    """Yield the places in which a database should be named, and isn't."""
    if name not in databases.FACTS:
        yield FACTS_OF
    known: Mapping[str, object] = registry.DATABASES
    if name not in known:
        yield SERVERS
    elif absent := members() - set(dir(known[name])):
        yield f"python/pacelc/clusters/protocol.py: Database: {', '.join(sorted(absent))}"
    try:
        _engine.promises(name, json.dumps("weak"), 3, 3)
    except _engine.Refused:
        yield LEVELS
    if name not in _engine.bindings():
        yield BINDING
    conformance = (ROOT / "python/tests/conformance/conftest.py").read_text(encoding="utf-8")
    if f'"{name}"' not in conformance[conformance.index("\nDATABASES = ") :].splitlines()[1]:
        yield CONFORMANCE
    page = (ROOT / "docs/reference/levels.md").read_text(encoding="utf-8")
    known = databases.FACTS.get(name)
    if f"| {name if known is None else known.levels_of} | weak |" not in page:
        yield PAGE


def members() -> set[str]:
    """Return what a database's file must have."""
    return {name for name in vars(Database) if not name.startswith("_")}


@pytest.mark.parametrize("name", FACTS)
def test_a_database_lacks_nothing(name: str) -> None:
    assert list(lacking(name)) == []


def test_every_database_that_has_servers_has_facts() -> None:
    assert set(registry.DATABASES) == set(FACTS)
    assert all(name == facts.name for name, facts in FACTS.items())


def test_a_made_up_database_lacks_every_place_until_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everywhere = [FACTS_OF, SERVERS, LEVELS, BINDING, CONFORMANCE, PAGE]
    assert list(lacking("oracle-of-delphi")) == everywhere
    facts = replace(FACTS["redis"], name="oracle-of-delphi", levels_of="oracle-of-delphi")
    monkeypatch.setattr(databases, "FACTS", {**FACTS, facts.name: facts})
    assert list(lacking(facts.name)) == everywhere[1:]
    monkeypatch.setattr(registry, "DATABASES", {facts.name: object()})
    said = next(lacking(facts.name))
    assert said.startswith("python/pacelc/clusters/protocol.py: Database: ")
    assert {"leader", "memory", "plan", "serve"} <= set(said.rpartition(": ")[2].split(", "))
