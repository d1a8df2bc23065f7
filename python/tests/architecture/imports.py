"""Who uses whom: files of the Python package by their imports, Rust modules by their paths."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "python/pacelc"
CRATES = ROOT / "crates"

Graph = dict[str, frozenset[str]]


def python_files() -> Graph:
    """Return what each file of the package imports, for types alone too."""
    files = {_module(path): path for path in PACKAGE.rglob("*.py")}
    return {name: _imported(path, files) - {name} for name, path in files.items()}


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, files: Mapping[str, Path]) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            # `from pacelc.plots import layout` uses the file, not what its package has.
            names |= {name for name in inside if name in files or name.endswith("._engine")}
            if not inside <= names:
                names.add(node.module)
    return frozenset(name for name in names if name in files or name == "pacelc._engine")


def rust_modules(crate: Path) -> Graph:
    """Return what each file of a crate uses of others, but for the modules that it is in."""
    source = crate / "src"
    files = {_path(path, source): path for path in source.rglob("*.rs")}
    used: Graph = {}
    for name, path in files.items():
        code = _without_tests(path.read_text(encoding="utf-8"))
        found = {_file_of(text, name, files) for text in _paths(code)} - {name, ""}
        if "for_database!" in code:  # which names every binding
            found |= {other for other in files if f"$crate{other[5:]}::" in _macro(source)}
        used[name] = frozenset(other for other in found if not name.startswith(f"{other}::"))
    return used


def _macro(source: Path) -> str:
    """Return the text of the crate's own list of bindings, if it has one."""
    text = (source / "lib.rs").read_text(encoding="utf-8")
    return text[text.index("macro_rules! for_database") :] if "macro_rules! for_d" in text else ""


def _path(file: Path, source: Path) -> str:
    parts = file.relative_to(source).with_suffix("").parts
    return "::".join(("crate", *(parts[:-1] if parts[-1] in {"lib", "mod"} else parts)))


def _without_tests(code: str) -> str:
    code = re.sub(r"#\[cfg\(test\)\]\s*(pub\(crate\) )?mod \w+ \{.*\Z", "", code, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", code)


def _paths(code: str) -> Iterator[str]:
    for match in re.finditer(r"\buse\s+((?:crate|super|self)\b[^;]*);", code):
        yield from _leaves(match[1])
    for match in re.finditer(r"\b(?:crate|super)(?:::\w+)+", code):
        yield match[0]


def _leaves(tree: str, before: str = "") -> Iterator[str]:
    """Yield the paths of a `use`: ``a::{b, c::d}`` is ``a::b`` and ``a::c::d``."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        yield before + head.partition(" as ")[0].strip()
        return
    depth, part = 0, ""
    for character in rest.rpartition("}")[0] + ",":
        if character == "," and depth == 0:
            if part.strip():
                yield from _leaves(part, before + head)
            part = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        part += character


def _file_of(path: str, name: str, files: Mapping[str, Path]) -> str:
    """Return the file that a path leads to, seen from the module `name`; empty: none."""
    parts, here = path.split("::"), name.split("::")
    if parts[0] == "self":
        parts = [*here, *parts[1:]]
    while parts and parts[0] == "super":
        here.pop()
        parts = [*here, *parts[1:]] if parts[1:2] != ["super"] else parts[1:]
    for length in range(len(parts), 0, -1):
        if (file := "::".join(parts[:length])) in files:
            return file
    return ""


def circles(used: Mapping[str, AbstractSet[str]]) -> list[list[str]]:
    """Return groups whose members all use each other, directly or not (Tarjan 1972)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        stack.append(name)
        for other in sorted(used.get(name, frozenset())):
            if other not in numbers:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], numbers[other])
        if lowest[name] == numbers[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(used):
        if name not in numbers:
            visit(name)
    return found
