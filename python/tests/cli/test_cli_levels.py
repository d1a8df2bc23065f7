"""``pacelc levels`` and its page: what each level promises."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pacelc.study.promises import guarantees, promised, promises

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "levels.md"


def sources(records: list[dict[str, Any]]) -> str:
    """Return all sources as the page lists them."""
    found = [
        promise["source"]
        for record in records
        for pair in record["pairs"]
        for promise in pair["promises"]
    ]
    lines = [f"- [{s['title']}, {s['section']}]({s['url']}): {s['claim']}" for s in found]
    return "\n".join(dict.fromkeys(lines))


def test_the_page_shows_what_the_command_prints(pacelc: Callable[..., Any]) -> None:
    """PACELC_UPDATE_SNAPSHOTS=1 writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    table, listed = pacelc("levels").out, sources(json.loads(pacelc("levels", "--json").out))
    anew, tables = re.subn(r"(?s)(?<=```text\n)database .*?(?=```\n)", lambda _: table, page)
    anew, lists = re.subn(r"(?s)(?<=our words:\n\n).*?(?=\n\n## )", lambda _: listed, anew)
    assert (tables, lists) == (1, 1)
    if os.environ.get("PACELC_UPDATE_SNAPSHOTS") == "1":
        PAGE.write_text(anew, encoding="utf-8")
    assert anew == PAGE.read_text(encoding="utf-8")


def test_one_level_of_one_database_is_shown_with_its_sources(pacelc: Callable[..., Any]) -> None:
    printed = pacelc("levels", "cassandra", "--level", "{read: ONE, write: ALL}")
    [row] = [line for line in printed.out.splitlines() if line.startswith("cassandra")]
    assert " ".join(row.split()) == "cassandra ONE ALL no no 1 no 1 1 1 no 1 2"
    assert "sources:" in printed.out
    assert "https://cassandra.apache.org/" in printed.out


def test_json_says_the_same_in_full(pacelc: Callable[..., Any]) -> None:
    [record] = json.loads(pacelc("levels", "redis", "--level", "strong", "--json").out)
    assert (record["database"], record["level"]) == ("redis", "strong")
    [pair] = record["pairs"]
    assert [promise["guarantee"] for promise in pair["promises"]] == list(guarantees())
    first = pair["promises"][0]
    assert first["word"] == "if"
    assert "neither fails nor is replaced" in first["condition"]


def test_levels_that_a_cluster_does_not_have_are_left_out_unless_asked_for(
    pacelc: Callable[..., Any],
) -> None:
    printed = pacelc("levels", "redis", "--replication", "1")
    assert printed.status == 0
    assert "replica " not in printed.out.partition("\n\n")[0]
    refused = pacelc("levels", "redis", "--replication", "1", "--level", "{read: replica}")
    assert (refused.status, refused.out) == (2, "")
    assert "hint: " in refused.err


@pytest.mark.parametrize("arguments", [["reddis"], ["--level", "ONE"], ["redis", "--level", "{"]])
def test_a_mistake_is_one_line(arguments: list[str], pacelc: Callable[..., Any]) -> None:
    printed = pacelc("levels", *arguments)
    assert (printed.status, printed.out) == (2, "")
    assert printed.err.startswith("error: ")


def test_a_binding_without_replicas_promises_nothing(pacelc: Callable[..., Any]) -> None:
    assert promises("memory", "strong") == ()
    assert pacelc("levels", "memory").out.startswith("This database has no replicas")


def test_a_workload_has_the_weakest_promise_of_its_kinds() -> None:
    mixed = promises("cassandra", {"read": "SERIAL", "scan": "ALL", "update": "SERIAL"})
    words = {
        kinds: promised(mixed, kinds)["linearizable"].word
        for kinds in [
            ("read", "update"),
            ("read_modify_write",),
            ("read", "update", "insert"),
            ("scan", "update"),
        ]
    }
    assert list(words.values()) == ["holds", "holds", "not", "if"]
    assert promised(mixed, ["read"]) == {}
