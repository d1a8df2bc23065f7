"""A study as text: plain data, each value with the place that wrote it.

Map
---
Source          plain data, and a name for every place in it
ASIDE           how keys begin that no document has a meaning for
parse_yaml      YAML text; of networks, calibrations and price lists too
parse_option    the value of an option, which is YAML
read_source     a YAML file, or a built-in study by its name
builtin_names   the built-in studies
builtin_text    one of them, as written
StudyError      ``study.yaml:14: factors.users: a factor needs at least one level``
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc import documents
from pacelc.documents import Place
from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.study.settings import Problem
from pacelc.study.values import Json, named, nearest

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "ASIDE",
    "Source",
    "StudyError",
    "builtin_names",
    "builtin_text",
    "parse_option",
    "parse_yaml",
    "read_source",
]

ASIDE = ("x-", ".")
"""How outermost keys begin that have no meaning but for aliases; a schema can know them by it."""

_BUILTIN = resources.files("pacelc") / "studies"
# Of an error, which may repeat what stands in a document.
_LONGEST_PATH = 120
_LONGEST = 600


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
        parts = (place, _shortened(where, _LONGEST_PATH), _shortened(problem.message, _LONGEST))
        return StudyError(": ".join(part for part in parts if part), problem.hint)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


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


def read_source(study: str | Path, fields: Collection[str]) -> Source:
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
            return parse_yaml(builtin_text(str(study)), f"{study}.yaml", fields)
        hint = nearest(str(study), builtin_names())
        raise StudyError(
            f"there is no study {str(study)!r}, neither a file nor a built-in one", hint
        )
    text = read_text(path, StudyError, "`pacelc studies` lists the built-in studies")
    return parse_yaml(text, path.name, fields)


def parse_yaml(
    text: str,
    name: str,
    fields: Collection[str],
    what: str = "a study is a mapping (name: …, factors: …)",
) -> Source:
    """Return the study in ``text``; ``name`` is what its errors begin with.

    ``what`` says what a document should be, where it isn't of a study. Beside its ``fields``, a
    document may have keys that begin as those in `ASIDE`, or whose values are there for aliases:
    those are left out.

    Raises
    ------
    StudyError
        It is no YAML, no mapping, or more than a study needs.
    """
    try:
        document = documents.parse_yaml(text)
    except documents.DocumentError as error:
        place = name if error.line is None else f"{name}:{error.line}"
        where = Source(name, {}, {error.path: place})
        raise where.error(Problem(error.path, error.problem, error.hint)) from None
    if not isinstance(document.data, dict):
        raise StudyError(f"{name}:1: {what}")
    places = {path: f"{name}:{line}" for path, line in document.lines.items()}
    data = {
        key: value
        for key, value in document.data.items()
        if key in fields or not (key in document.shared or key.startswith(ASIDE))
    }
    return Source(name, data, places)


def parse_option(option: str, text: str) -> Json:
    """Read ``text``, the value of ``option``, as YAML: ``10`` is a number, ``{a: 1}`` a mapping.

    Raises
    ------
    StudyError
        It can't be read. The value isn't repeated: it may hold a password.
    """
    try:
        return documents.parse_yaml(text).data
    except documents.DocumentError as error:
        problem = f"{option}: the value cannot be read: {error.problem}"
        raise StudyError(problem, error.hint) from None
