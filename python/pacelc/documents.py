"""YAML and JSON of others: read into plain data, in bounded time and memory.

A document of a kilobyte may stand for a thousand million values (aliases of aliases), hold numbers
that nothing can store, or be nested more deeply than Python can follow. So YAML is read event by
event, and refused at the first that is too much.

YAML is 1.2 with its core schema: null, true, false, whole numbers, decimal numbers, text. Anchors,
aliases and merge keys (``<<``) work; a key that is there twice and other tags are refused.

Map
---
parse_yaml      text → plain data, with the line of every key and item
parse_json      text → plain data
DocumentError   what is wrong, its line and the path to it
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    StreamEndEvent,
    StreamStartEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue as Json

__all__ = ["Document", "DocumentError", "Place", "parse_json", "parse_yaml"]

Place: TypeAlias = tuple[str | int, ...]

_LONGEST: Final = 2**20
"""Characters of YAML, and of its values where aliases repeat them."""
_MOST_VALUES: Final = 50_000
_DEEPEST: Final = 100
_DEEPEST_STORED: Final = 2 * _DEEPEST
"""Of JSON, in which records of ours hold documents."""
_LONGEST_NUMBER: Final = 100
_MOST_BITS: Final = 64

_REPEATED = "aliases (*) repeat what they stand for, and those in it"
_NO_YAML = "this is no YAML"
_QUOTE = "text that begins with {} needs quotes"
_SYNTAX = "compare the indentation, brackets and quotes with the lines above"

_CORE = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
# Python and YAML 1.1 read them as numbers, YAML 1.2 doesn't.
_UNDERSCORED = re.compile(
    r"[-+]?(?=[^_]*_)(0x[0-9a-fA-F_]+|0[bo][0-7_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9_]+)?)"
)
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_SCALARS: Final = {
    f"{_CORE}null": (type(None),),
    f"{_CORE}bool": (bool,),
    f"{_CORE}int": (int,),
    f"{_CORE}float": (int, float),
}
_TEXT: Final = ("!", f"{_CORE}str")

_SURROGATE = re.compile("[\ud800-\udfff]")
# A word, not a sign: what can't be read may be an alias, a tag or an escape, as passwords look.
# The parser's own words, such as '<stream end>', stay.
_QUOTED = re.compile(r"""(["'])(?:<[a-z ]+>|.|([^"']{2,}))\1""")


class DocumentError(ValueError):
    """A document can't be used."""

    def __init__(
        self, problem: str, line: int | None = None, path: Place = (), hint: str | None = None
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        """Counted from 1."""
        self.path = path
        """The keys and items that the line is in, as far as it is known."""
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data and where it was written."""

    data: Json
    lines: dict[Place, int] = field(default_factory=dict[Place, int])
    """For the path of each key and item its line, counted from 1."""
    shared: frozenset[str] = frozenset()
    """Keys of the outermost mapping whose values have an anchor that an alias names."""


class _Node(NamedTuple):
    """A value that anchors may have named, so that it can be at several places."""

    line: int
    value: Json | dict[str, tuple[int, _Node]] | list[_Node]
    values: int
    """In it and itself."""
    length: int
    """Characters of its scalars and keys."""
    height: int
    """1 for a scalar."""


def parse_yaml(text: str) -> Document:
    """Return the one document in ``text``; empty text is null.

    Raises
    ------
    DocumentError
        It is no YAML, or what nobody wrote by hand.
    """
    if len(text) > _LONGEST:
        raise DocumentError(f"is longer than {_LONGEST:,} characters")
    reader = _YamlReader(text)
    node = reader.document()
    lines: dict[Place, int] = {}
    return Document(_plain(node, (), lines), lines, reader.shared())


def parse_json(text: str) -> object:
    """Return plain data.

    Raises
    ------
    DocumentError
        It is no JSON, nested more deeply than any record, or has text or numbers that none has.
    """
    try:
        document: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(f"is not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise DocumentError(f"is nested more than {_DEEPEST_STORED} deep") from None
    except ValueError:
        raise DocumentError("has a number that is too long") from None
    ahead: list[tuple[object, int]] = [(document, 1)]
    while ahead:
        value, depth = ahead.pop()
        if depth > _DEEPEST_STORED:
            raise DocumentError(f"is nested more than {_DEEPEST_STORED} deep")
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            ahead += [(inner, depth + 1) for both in members.items() for inner in both]
        elif isinstance(value, list):
            ahead += [(inner, depth + 1) for inner in cast("list[object]", value)]
        elif isinstance(value, str) and _SURROGATE.search(value):
            raise DocumentError("has half of a character (a lone surrogate)")
        elif isinstance(value, float) and not math.isfinite(value):
            raise DocumentError("has a number that isn't finite")
    return document


class _YamlReader:
    """Events to nodes; each alias is the node that its anchor named."""

    def __init__(self, text: str) -> None:
        self._events = self._parsed(text)
        self._anchors: dict[str, _Node | None] = {}
        """None while the value is being read."""
        self._anchored: dict[str, _Node] = {}
        """Outermost key → its value, where that has an anchor."""
        self._aliased: list[_Node] = []
        self._own = self._values = self._length = 0
        self._too_much: DocumentError | None = None
        self._path: list[str | int] = []

    def _parsed(self, text: str) -> Iterator[Any]:
        """Yield the events of the document; whatever the parser raises is an error in it."""
        yaml: Any = YAML(typ="safe", pure=True)
        try:
            yield from yaml.parse(text)
        except MarkedYAMLError as error:
            marked = cast("Any", error)
            line = None if marked.problem_mark is None else marked.problem_mark.line + 1
            problem = " ".join(str(marked.problem or marked.context or _NO_YAML).split())
            told = _QUOTED.sub(lambda quoted: "…" if quoted[2] else quoted[0], problem)
            raise DocumentError(told, line, hint=_SYNTAX) from None
        except YAMLError as error:
            # Of the characters themselves, before the first event.
            line = text.count("\n", 0, getattr(error, "position", 0)) + 1
            raise DocumentError("a character that text can't have", line) from None
        except Exception:  # noqa: BLE001 - such as the assertion that a version is known
            line = yaml.reader.line + 1
            raise DocumentError(_NO_YAML, line, tuple(self._path), _SYNTAX) from None

    def document(self) -> _Node:
        """Return the only document."""
        node = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                if node is not None:
                    raise self._error(event, "a second document begins", "use a file for each")
                version = cast("Any", event).version
                if version is not None and tuple(version)[:2] != (1, 2):
                    raise self._error(event, "should be YAML 1.2", "leave the line %YAML out")
                node = self._node(next(self._events), 1)
            elif not isinstance(event, DocumentEndEvent | StreamStartEvent | StreamEndEvent):
                raise self._error(event, _NO_YAML)
        # What is wrong in any line is said before what aliases make of the whole.
        if self._too_much is not None:
            raise self._too_much
        return node or _Node(1, None, 1, 0, 1)

    def shared(self) -> frozenset[str]:
        """Return the outermost keys whose values stand elsewhere too."""
        aliased = {id(node) for node in self._aliased}
        return frozenset(key for key, node in self._anchored.items() if id(node) in aliased)

    def _error(self, event: Any, problem: str, hint: str | None = None) -> DocumentError:
        return DocumentError(problem, event.start_mark.line + 1, tuple(self._path), hint)

    def _count(self, event: Any, values: int, length: int) -> None:
        self._values += values
        self._length += length
        if self._too_much is None and (self._values > _MOST_VALUES or self._length > _LONGEST):
            problem = f"more than {_MOST_VALUES:,} values, or {_LONGEST:,} characters of them"
            self._too_much = self._error(event, problem, _REPEATED)

    def _node(self, event: Any, depth: int) -> _Node:
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        if depth > _DEEPEST:
            raise self._error(event, f"nested more than {_DEEPEST} deep")
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        values, length = self._values, self._length
        self._count(event, 1, 0)
        self._own += 1
        if self._own > _MOST_VALUES:
            raise self._error(event, f"more than {_MOST_VALUES:,} values")
        children: list[_Node] = []
        value: Json | dict[str, tuple[int, _Node]] | list[_Node]
        if _is(event, ScalarEvent):
            value = self._scalar(event)
        else:
            is_mapping = _is(event, MappingStartEvent)
            if event.tag not in (None, "!", _CORE + ("map" if is_mapping else "seq")):
                raise self._unknown_tag(event)
            if is_mapping:
                value = self._mapping(depth)
                children = [node for _, node in value.values()]
            else:
                value = children = self._sequence(depth)
        node = _Node(
            event.start_mark.line + 1,
            value,
            min(self._values - values, _MOST_VALUES + 1),
            min(self._length - length, _LONGEST + 1),
            1 + max((child.height for child in children), default=0),
        )
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: Any, depth: int) -> _Node:
        if event.anchor not in self._anchors:
            problem = "an alias (*) without an anchor (&) above it"
            raise self._error(event, problem, _QUOTE.format("*"))
        node = self._anchors[event.anchor]
        if node is None:
            raise self._error(event, "an alias (*) inside of what it stands for")
        self._aliased.append(node)
        self._count(event, node.values, node.length)
        if depth + node.height - 1 > _DEEPEST:
            raise self._error(event, f"nested more than {_DEEPEST} deep", _REPEATED)
        return node

    def _sequence(self, depth: int) -> list[_Node]:
        items: list[_Node] = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            self._path.append(len(items))
            items.append(self._node(event, depth + 1))
            self._path.pop()
        return items

    def _mapping(self, depth: int) -> dict[str, tuple[int, _Node]]:
        own: dict[str, tuple[int, _Node]] = {}
        merged: list[_Node] | None = None
        while not isinstance(event := next(self._events), CollectionEndEvent):
            line = event.start_mark.line + 1
            if not _is(event, ScalarEvent):
                raise self._error(
                    event, "a key should be text or a number", _QUOTE.format("{ or [")
                )
            is_merge = event.value == "<<" and event.tag is None and not event.style
            key = str(self._scalar(event))
            self._path.append(key)
            if is_merge:
                if merged is not None:
                    raise self._error(event, "is there twice", "give << a list: [*a, *b]")
                merged = self._merged(event, self._node(next(self._events), depth + 1))
            elif key in own:
                raise self._error(event, f"is there twice, first in line {own[key][0]}")
            else:
                event = next(self._events)
                own[key] = (line, self._node(event, depth + 1))
                if depth == 1 and event.anchor is not None and not isinstance(event, AliasEvent):
                    self._anchored[key] = own[key][1]
            self._path.pop()
        found: dict[str, tuple[int, _Node]] = {}
        for node in reversed(merged or ()):  # of two that have a key, the first one's holds
            found |= cast("dict[str, tuple[int, _Node]]", node.value)
        return found | own

    def _merged(self, event: Any, node: _Node) -> list[_Node]:
        nodes = cast("list[_Node]", node.value) if isinstance(node.value, list) else [node]
        if not all(isinstance(each.value, dict) for each in nodes):
            raise self._error(event, "should be the alias of a mapping, or a list of such aliases")
        return nodes

    def _scalar(self, event: Any) -> Json:
        text, tag = cast("str", event.value), cast("str | None", event.tag)
        self._count(event, 0, len(text))
        if tag in _TEXT or (tag is None and event.style):
            return self._text(event, text)
        value = self._plain_scalar(event, text)
        if tag is None:
            return value
        if tag not in _SCALARS:
            raise self._unknown_tag(event)
        # To Python, true is a number.
        if not isinstance(value, _SCALARS[tag]) or (isinstance(value, bool) and "bool" not in tag):
            raise self._error(event, f"is no {tag.removeprefix(_CORE)}, as its tag (!!) says")
        return float(value) if tag.endswith("float") and isinstance(value, int) else value

    def _plain_scalar(self, event: Any, text: str) -> Json:
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if _INTEGER.fullmatch(text):
            if len(text) <= _LONGEST_NUMBER:  # of 4,301 digits Python reads none
                number = int(text, 0 if text[:2] in ("0o", "0x") else 10)
                if -(2 ** (_MOST_BITS - 1)) <= number < 2 ** (_MOST_BITS - 1):
                    return number
            raise self._error(event, f"a whole number of more than {_MOST_BITS} bits")
        if _NOT_FINITE.fullmatch(text):
            raise self._error(event, "a number should be finite")
        if _DECIMAL.fullmatch(text):
            if math.isfinite(value := float(text)):
                return value
            raise self._error(event, "the number is too large")
        if _UNDERSCORED.fullmatch(text):
            raise self._error(event, "a number is written without _", "text like it needs quotes")
        return self._text(event, text)

    def _text(self, event: Any, text: str) -> str:
        if "\0" in text:
            raise self._error(event, "text can't have the character 0")
        if not _SURROGATE.search(text):
            return text
        try:  # JSON writes some characters as two halves
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self._error(event, "half of a character (a lone surrogate)") from None

    def _unknown_tag(self, event: Any) -> DocumentError:
        return self._error(event, "an unknown tag (!)", f"leave it out; {_QUOTE.format('!')}")


def _is(event: Any, kind: type) -> bool:
    """Tell an event's kind; the attributes of ruamel.yaml's events have no types."""
    return isinstance(event, kind)


def _plain(node: _Node, path: Place, lines: dict[Place, int]) -> Json:
    """Return a node's value, made anew at each of its places; ``lines`` gets those of its parts."""
    if isinstance(node.value, dict):
        mapping: dict[str, Json] = {}
        for key, (line, inner) in cast("dict[str, tuple[int, _Node]]", node.value).items():
            lines[*path, key] = line
            mapping[key] = _plain(inner, (*path, key), lines)
        return mapping
    if isinstance(node.value, list):
        sequence: list[Json] = []
        for index, inner in enumerate(cast("list[_Node]", node.value)):
            lines[*path, index] = inner.line
            sequence.append(_plain(inner, (*path, index), lines))
        return sequence
    return node.value
