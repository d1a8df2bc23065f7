"""A count and its noun agree: ``1 user``, ``2 users``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import pacelc

PACKAGE = Path(pacelc.__file__).parent
# What messages count. Of `{n} % of reads` and the like, the noun isn't what is counted.
NOUNS = (
    "candidates|clusters|coefficients|copies|cores|cycles|demands|faults|lines|links|members|nodes|"
    "operations|pairs|rates|records|region servers|regions|repetitions|replicas|replica sets|"
    "replications|rows|runs|scenarios|servers|shards|sizes|steps|threads|users|values|visits|workers"
)
COUNTED = re.compile(rf" ({NOUNS})\b(?!/)")
# Papers have cells and sizes of their own, which are printed numbers.
FILES = [
    path.relative_to(PACKAGE)
    for path in sorted(PACKAGE.rglob("*.py"))
    if "papers" not in path.relative_to(PACKAGE).parts
]


def uncounted(source: str) -> list[str]:
    """Return what stands before such a noun in text, and may be 1."""
    found: list[str] = []
    for text in ast.walk(ast.parse(source)):
        if not isinstance(text, ast.JoinedStr):
            continue
        for before, after in zip(text.values, text.values[1:], strict=False):
            if not isinstance(before, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            noun = COUNTED.match(str(after.value))
            number = ast.unparse(before.value)
            # Of decimals, there are never 1; a constant is known not to be 1.
            spec = "" if before.format_spec is None else ast.unparse(before.format_spec)
            if noun is None or re.search(r"\.\d", spec):
                continue
            if not re.fullmatch(r"[\w.]*\b_?[A-Z][A-Z_]*(\[.*\])?", number):
                found.append(f"{{{number}}} {noun[1]}")
    return found


def test_what_may_be_one_is_found() -> None:
    assert uncounted('f"{n} users of {name}"') == ["{n} users"]
    assert uncounted("f\"{counted(n, 'user')} of {MOST:,} users\"") == []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_count_and_its_noun_agree(path: Path) -> None:
    assert uncounted((PACKAGE / path).read_text(encoding="utf-8")) == []
