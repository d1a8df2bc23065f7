"""Arguments and files that several verbs have."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated, TypeAlias

import typer

from pacelc.errors import CannotRun, InputError
from pacelc.study import builtin_names

__all__ = ["OptionalStudyArgument", "SetOption", "StudyArgument", "read_text", "write_text"]


def _complete_study(incomplete: str) -> list[str]:
    return [name for name in builtin_names() if name.startswith(incomplete)]


StudyArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="A study: a YAML file, or a built-in one's name.", autocompletion=_complete_study
    ),
]
OptionalStudyArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="A study: a YAML file, or a built-in one's name.",
        autocompletion=_complete_study,
        show_default=False,
    ),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Change a factor's levels, a setting, or take a preset. Repeatable.",
    ),
]


def read_text(path: Path) -> str:
    """Return the text of a file that the caller named."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file that the caller named."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written: {error.strerror}") from None
