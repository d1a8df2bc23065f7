"""A study as text: YAML to plain data, each value with the place that wrote it.

Map
---
Source          plain data, and a name for every place in it
read_source     a YAML file, or a built-in study by its name
builtin_names   the built-in studies
builtin_text    one of them, as written
StudyError      ``study.yaml:14: factors.users: a factor needs at least one level``
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.study.values import Json, named, nearest

if TYPE_CHECKING:
    from pacelc.study.settings import Problem

__all__ = ["Source", "StudyError", "builtin_names", "builtin_text", "parse_yaml", "read_source"]

Place: TypeAlias = tuple[str | int, ...]

_BUILTIN = resources.files("pacelc") / "studies"
_DEEPEST = 100
# A word, not a sign: what can't be read may be an alias, a tag or an escape, as passwords look.
# The parser's own words, such as '<stream end>', stay.
_QUOTED = re.compile(r"""(["'])(?!<[a-z ]+>\1).{2,}\1""")
_MOST_VALUES = 1_000_000


class StudyError(InputError):
    """A study cannot be used. The message begins with the file, line and field at fault."""


@dataclass(frozen=True, slots=True)
class Source:
    """A study's plain data and where each value of it was written."""

    name: str
    """File name, or the built-in study's name."""
    data: dict[str, Json]
    places: dict[Place, str] = field(default_factory=dict[Place, str])
    """For each path its place, such as ``study.yaml:14`` or ``--set users``."""

    def error(self, problem: Problem) -> StudyError:
        """Return ``problem`` as the one line that a person reads."""
        place = next(
            (
                self.places[problem.path[:n]]
                for n in range(len(problem.path), -1, -1)
                if problem.path[:n] in self.places
            ),
            self.name,
        )
        # An option names its field; a path into the document would not help.
        where = "" if place.startswith("--set") else ".".join(map(named, problem.path))
        return StudyError(
            ": ".join(part for part in (place, where, problem.message) if part), problem.hint
        )


def builtin_names() -> list[str]:
    """Return the names of the built-in studies."""
    return sorted(
        entry.name.removesuffix(".yaml")
        for entry in _BUILTIN.iterdir()
        if entry.name.endswith(".yaml")
    )


def builtin_text(name: str) -> str:
    """Return the YAML of a built-in study."""
    return (_BUILTIN / f"{name}.yaml").read_text(encoding="utf-8")


def read_source(study: str | Path) -> Source:
    """Read the study called ``study``: a path to a YAML file, or a built-in study's name.

    Raises
    ------
    StudyError
        If there is no such study, or it is no YAML mapping.
    """
    path = Path(study)
    looks_like_path = (
        isinstance(study, Path) or path.suffix in (".yaml", ".yml") or len(path.parts) > 1
    )
    if not looks_like_path and not path.is_file():
        if str(study) in builtin_names():
            return parse_yaml(builtin_text(str(study)), f"{study}.yaml")
        hint = nearest(str(study), builtin_names())
        raise StudyError(
            f"there is no study {str(study)!r}, neither a file nor a built-in one", hint
        )
    text = read_text(path, StudyError, "`pacelc studies` lists the built-in studies")
    return parse_yaml(text, path.name)


def parse_yaml(
    text: str, name: str, what: str = "a study is a mapping (name: …, factors: …)"
) -> Source:
    """Return the study in ``text``; ``name`` is what its errors begin with.

    ``what`` says what a document should be, where it isn't of a study.
    """
    try:
        document: object = cast("Any", YAML(typ="rt")).load(io.StringIO(text))
    except MarkedYAMLError as error:
        marked = cast("Any", error)
        line = "" if marked.problem_mark is None else f":{marked.problem_mark.line + 1}"
        problem = " ".join(str(marked.problem or marked.context or "this is no YAML").split())
        raise StudyError(f"{name}{line}: {_without_values(problem)}") from None
    except YAMLError:
        raise StudyError(f"{name}: this is no YAML") from None
    except RecursionError:
        raise StudyError(f"{name}: nested more than {_DEEPEST} deep") from None
    _refuse_vast(document, name)
    if not isinstance(document, Mapping):
        raise StudyError(f"{name}:1: {what}")
    places = {path: f"{name}:{line}" for path, line in _lines(cast("object", document), ())}
    return Source(name, cast("dict[str, Json]", _plain(cast("object", document))), places)


def _without_values(problem: str) -> str:
    """Return the parser's words, and of what it quotes no more than the name of a key."""
    told, quote, rest = problem.partition(" with value ")
    return told if quote else _QUOTED.sub("…", told + rest)


def _refuse_vast(document: object, name: str) -> None:
    """Refuse what is so large, as aliases of aliases make it, that nobody meant it."""
    ahead, count = [(document, 0)], 0
    while ahead:
        value, depth = ahead.pop()
        count += 1
        if depth > _DEEPEST or count > _MOST_VALUES:
            raise StudyError(
                f"{name}: more than {_MOST_VALUES:,} values, or nested more than {_DEEPEST} deep",
                "aliases (*) repeat what they stand for, and those in it",
            )
        if isinstance(value, Mapping):
            ahead += [
                (inner, depth + 1) for inner in cast("Mapping[object, object]", value).values()
            ]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            ahead += [(inner, depth + 1) for inner in cast("Sequence[object]", value)]


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return {
            str(key): _plain(inner) for key, inner in cast("Mapping[object, object]", value).items()
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in cast("Sequence[object]", value)]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)


def _lines(value: object, path: Place) -> Iterator[tuple[Place, int]]:
    """Yield the line of every key and item, counted from 1."""
    if isinstance(value, CommentedMap):
        mapping = cast("dict[object, object]", value)
        for key, inner in mapping.items():
            yield (*path, str(key)), cast("Any", value).lc.key(key)[0] + 1
            yield from _lines(inner, (*path, str(key)))
    elif isinstance(value, CommentedSeq):
        for index, inner in enumerate(cast("list[object]", value)):
            yield (*path, index), cast("Any", value).lc.item(index)[0] + 1
            yield from _lines(inner, (*path, index))
