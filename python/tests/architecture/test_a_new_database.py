"""Whoever adds a database hears of every place that it lacks, by name."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pacelc import _engine, databases
from pacelc.clusters.databases import registry
from pacelc.clusters.protocol import Database
from pacelc.databases import FACTS, Facts, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[3]
FACTS_OF = "python/pacelc/databases: FACTS"
SERVERS = "python/pacelc/clusters/databases/registry.py: DATABASES"
LEVELS = "crates/core/src/consistency: levels and promises"
HINT = "crates/core/src/consistency/mod.rs: resolve, the hint"
ALIASES = "crates/core/src/consistency/mod.rs: alias_table"
BINDING = "crates/bindings/src/lib.rs: for_database!, DATABASES"
IN_TESTS = {
    "python/tests/conformance/conftest.py: DATABASES": r'^DATABASES = \(.*"{}"',
    "python/tests/conformance/test_conformance.py: LEVELS": r'^(    |LEVELS\[)"{}"(: \[$|\] = )',
    "python/tests/conformance/foreign.py: foreign": r'^        "{}": _',
    "python/tests/clusters/test_databases.py: BAD_OPTIONS": r'^    "{}": \{{',
}
PAGES = {
    "docs/reference/levels.md": "| {0.name} | weak |",
    **{
        f"docs/reference/{page}.md": "{0.display_name}"
        for page in ("external", "access", "sizes", "faults", "sessions")
    },
}


def lacking(name: str) -> Iterator[str]:
    """Yield the places in which a database should be named, and isn't."""
    if name not in databases.FACTS:
        yield FACTS_OF
    servers: Mapping[str, object] = registry.DATABASES
    if name not in servers:
        yield SERVERS
    elif absent := members() - set(dir(servers[name])):
        yield f"python/pacelc/clusters/protocol.py: Database: {', '.join(sorted(absent))}"
    # Of a fork: the database whose levels it has.
    own = facts_of(facts_of(name).levels_of or name)
    yield from lacking_in_engine(name, own.name)
    for place, pattern in IN_TESTS.items():
        text = (ROOT / place.partition(":")[0]).read_text(encoding="utf-8")
        if not re.search(pattern.format(re.escape(name)), text, re.MULTILINE):
            yield place
    for page, words in PAGES.items():
        if words.format(own) not in (ROOT / page).read_text(encoding="utf-8"):
            yield page


def lacking_in_engine(name: str, own_levels: str) -> Iterator[str]:
    """Yield those of the engine's places."""
    try:
        _engine.promises(name, json.dumps("weak"), 3, 3)
    except _engine.Refused:
        yield LEVELS
    with pytest.raises(_engine.Refused) as refused:
        _engine.promises("", json.dumps("weak"), 3, 3)
    if name not in re.findall(r"\w+", refused.value.hint or ""):
        yield HINT
    if own_levels not in {row["database"] for row in json.loads(_engine.levels())}:
        yield ALIASES
    if name not in _engine.bindings():
        yield BINDING


def members() -> set[str]:
    """Return what a database's file must have."""
    return {name for name in vars(Database) if not name.startswith("_")}


@pytest.mark.parametrize("name", FACTS)
def test_a_database_lacks_nothing(name: str) -> None:
    assert list(lacking(name)) == []


def test_every_database_that_has_servers_has_facts() -> None:
    assert set(registry.DATABASES) == set(FACTS)
    assert all(name == facts.name for name, facts in FACTS.items())


def test_a_fact_that_is_left_out_is_an_error() -> None:
    assert {(f.default, f.default_factory) for f in fields(Facts)} == {(MISSING, MISSING)}


def test_a_made_up_database_lacks_every_place_until_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everywhere = [FACTS_OF, SERVERS, LEVELS, HINT, ALIASES, BINDING, *IN_TESTS, *PAGES]
    assert list(lacking("oracle-of-delphi")) == everywhere
    facts = replace(
        FACTS["redis"], name="oracle-of-delphi", display_name="Delphi", levels_of="oracle-of-delphi"
    )
    monkeypatch.setattr(databases, "FACTS", {**FACTS, facts.name: facts})
    assert list(lacking(facts.name)) == everywhere[1:]
    monkeypatch.setattr(registry, "DATABASES", {facts.name: object()})
    said = next(lacking(facts.name))
    assert said.startswith("python/pacelc/clusters/protocol.py: Database: ")
    assert {"leader", "memory", "plan", "serve"} <= set(said.rpartition(": ")[2].split(", "))
