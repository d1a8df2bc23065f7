"""Arguments that several verbs have.

Map
---
…Argument, …Option  as Typer reads them
whole, number       an option that is a number, as every program writes it
limit_s             an objective's limit
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from pacelc.errors import InputError
from pacelc.numerals import parse_number, parse_whole
from pacelc.study import builtin_names
from pacelc.study.values import instead, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T", int, float)

__all__ = [
    "CompareOption",
    "ForceMemoryOption",
    "JsonOption",
    "LoadFactorOption",
    "MixFactorOption",
    "OptionalStudyArgument",
    "QuietOption",
    "SetOption",
    "SettingFactorOption",
    "StartTimeoutOption",
    "StudyArgument",
    "WorkdirOption",
    "limit_s",
    "number",
    "whole",
]


def whole(*names: str, least: int | None = None, most: int | None = None, **told: Any) -> Any:
    """Return an option that is a whole number, which Typer alone would read as Python does.

    ``told`` is what Typer takes for help.
    """
    read = _reader(parse_whole, least, most)
    return typer.Option(*names, min=least, max=most, parser=read, **told)


def number(*names: str, least: float | None = None, most: float | None = None, **told: Any) -> Any:
    """Return an option that is a number; else as `whole`."""
    read = _reader(parse_number, least, most)
    return typer.Option(*names, min=least, max=most, parser=read, **told)


def _reader(parse: Callable[[str], T], least: T | None, most: T | None) -> Callable[[Any], T]:
    def read(given: Any) -> T:
        # A default is a number already.
        try:
            value = parse(given) if isinstance(given, str) else given
        except ValueError as error:
            raise typer.BadParameter(f"{error}{instead(given)}") from None
        if least is not None and value < least:
            raise typer.BadParameter(f"should be at least {least:,}{instead(value)}")
        if most is not None and value > most:
            raise typer.BadParameter(f"should be at most {most:,}{instead(value)}")
        return value

    return read


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
StartTimeoutOption: TypeAlias = Annotated[
    str, typer.Option(help="How long up to 3 nodes may take until they serve; more in proportion.")
]
WorkdirOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Directory for the servers' data.", show_default="the system's temporary one"
    ),
]
ForceMemoryOption: TypeAlias = Annotated[
    bool,
    typer.Option("--force-memory", help="Start a cluster even if memory seems too small for it."),
]
QuietOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say only what goes wrong, and print the answer.")
]
CompareOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="FACTOR",
        help="The factor whose levels are compared; by default what the study says.",
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LoadFactorOption: TypeAlias = Annotated[
    str, typer.Option(help="Name of the factor with the users.")
]
MixFactorOption: TypeAlias = Annotated[
    str, typer.Option(help="Name of the factor with mixes such as 70/30.")
]
SettingFactorOption: TypeAlias = Annotated[
    str, typer.Option(help="Name of the factor with settings such as 1R-3W.")
]


def limit_s(option: str, text: str) -> float:
    """Return the limit of an objective, in seconds.

    Raises
    ------
    InputError
        It is no duration, or has no unit: most people mean milliseconds.
    """
    number = text.strip()
    if number.replace(".", "", 1).isdecimal():
        raise InputError(
            f"{option} {text}: should have a unit", f"{option} {number}ms, or {option} {number}s"
        )
    try:
        limit = parse_duration_s(text)
    except ValueError:
        raise InputError(
            f"{option} {text}: should be a duration", f"for example {option} 20ms"
        ) from None
    if limit <= 0:
        raise InputError(f"{option} {text}: should be above 0", f"for example {option} 20ms")
    return limit
