"""``pacelc levels``: what levels mean for each database, and what each promises."""

from __future__ import annotations

import json
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pacelc.cli.options import whole
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.databases import FACTS, facts_of
from pacelc.errors import InputError
from pacelc.runner.engine import is_refusal, load_engine
from pacelc.study.assignments import parse_value
from pacelc.study.promises import Pair, guarantees, promises

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pacelc.study.values import Json

__all__ = ["levels"]

_Row: TypeAlias = "tuple[str, Json, tuple[Pair, ...]]"

_ALIASES = ("weak", "quorum", "strong")

# Of guarantees, in the table's head.
_SHORT = {
    "linearizable": "lin",
    "sequential_per_key": "seq",
    "read_your_writes": "ryw",
    "monotonic_reads": "mr",
    "monotonic_writes": "mw",
    "writes_follow_reads": "wfr",
    "monotonic_writes_across_records": "mw+",
    "writes_follow_reads_across_records": "wfr+",
    "bounded_staleness": "bound",
    "eventual": "ev",
}
_WORDS = {"holds": "yes", "not": "no", "silent": "-"}


def levels(
    database: Annotated[
        str | None,
        typer.Argument(metavar="DATABASE", help="Only this one, with its vendor's documents."),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", metavar="LEVEL", help="Only this level, as a study names it."),
    ] = None,
    nodes: Annotated[int, whole("--nodes", least=1, help="Nodes of the cluster.")] = 3,
    replication: Annotated[int, whole("--replication", least=1, help="Copies of each record.")] = 3,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print levels, promises and sources as JSON.")
    ] = False,
) -> None:
    """Print what each level means and promises, by database.

    \b
    pacelc levels
    pacelc levels cassandra
    pacelc levels cassandra --level '{read: ONE, write: ALL}' --replication 5
    """  # noqa: D301 - \b keeps the lines of the example apart
    if level is not None and database is None:
        raise InputError("--level needs a database", "pacelc levels cassandra --level QUORUM")
    load_engine()
    asked: list[tuple[str, Json]]
    if database is not None and level is not None:
        asked = [(database, parse_value("--level", level))]
    else:
        own = [facts.name for facts in FACTS.values() if facts.levels_of == facts.name]
        names = own if database is None else [database]
        asked = [
            (name, term) for name in names for term in (*_ALIASES, *facts_of(name).example_levels)
        ]
    rows: list[_Row] = []
    for name, term in asked:
        try:
            rows.append((name, term, promises(name, term, max(nodes, replication), replication)))
        except Exception as error:
            # Of the levels that nobody has asked for, those that such a cluster has.
            if level is not None or term in _ALIASES or not is_refusal(error):
                raise
    if as_json:
        put(json.dumps([_record(*row) for row in rows], indent=2))
    else:
        put(_text(rows, sources=database is not None))


def _record(database: str, term: Json, pairs: tuple[Pair, ...]) -> dict[str, Any]:
    return {
        "database": database,
        "level": term,
        "pairs": [pair.model_dump(mode="json", exclude_none=True) for pair in pairs],
    }


def _text(rows: list[_Row], *, sources: bool) -> str:
    """Return a table of levels and promises, with its conditions, terms and sources below."""
    if not any(pairs for *_, pairs in rows):
        return "This database has no replicas: levels have no effect, and nothing is promised."
    every = [promise for *_, pairs in rows for pair in pairs for promise in pair.promises]
    conditions = list(dict.fromkeys(p.condition for p in every if p.condition is not None))
    cells = [
        [
            database,
            term if term in _ALIASES else "",
            pair.read + _only(pair.reads, "read", pairs, "scans"),
            pair.write + _only(pair.writes, "update", pairs, "deletes"),
            *(
                _WORDS.get(promise.word) or str(conditions.index(promise.condition or "") + 1)
                for promise in pair.promises
            ),
        ]
        for database, term, pairs in rows
        for pair in pairs
    ]
    parts = [
        aligned(["database", "level", "read", "write", *_SHORT.values()], cells),
        "yes, no; -: its vendor says nothing; a number: yes on this condition:",
        _listed((str(number), text) for number, text in enumerate(conditions, start=1)),
        "of records, all fields of which are written together:",
        _listed((_SHORT[name], f"{name}: {meaning}") for name, meaning in guarantees().items()),
    ]
    if sources:
        parts += [
            "sources:",
            "\n".join(
                f"{source.title}, {source.section}\n  {source.url}\n{_indented(source.claim)}"
                for source in dict.fromkeys(promise.source for promise in every)
            ),
        ]
    return "\n\n".join(parts)


def _only(kinds: tuple[str, ...], main: str, pairs: tuple[Pair, ...], others: str) -> str:
    """Return which kinds a row is of, where the promises of others differ."""
    return "" if len(pairs) == 1 or main in kinds else f" ({others})"


def _listed(entries: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        line
        for name, text in entries
        for line in wrap(f"{name:<7}{text}", 100, subsequent_indent=" " * 7)
    )


def _indented(text: str) -> str:
    return "\n".join(wrap(text, 100, initial_indent="  ", subsequent_indent="  "))
