"""Arguments that several verbs of ``pacelc model`` have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from pacelc.cli.options import whole
from pacelc.errors import InputError
from pacelc.numerals import parse_whole
from pacelc.study.values import expand_levels, is_builtin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.networks import Network

__all__ = [
    "NetworkArgument",
    "NetworkSetOption",
    "ReplicationsOption",
    "SeedOption",
    "UsersOption",
    "milliseconds",
    "network_named",
    "numbers_of_users",
    "time_s",
]


_JMT: Final = (".jsimg", ".jsimw", ".jsim", ".jmodel", ".jmva", ".jaba", ".jlqn", ".xml")


def _complete_network(incomplete: str) -> list[str]:
    from pacelc.networks import BUILTIN  # noqa: PLC0415 - data frames take long to import

    return [name for name in BUILTIN if name.startswith(incomplete)]


NetworkArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NETWORK",
        help="A YAML or JSON file, JMT's .jsimg, or a built-in network's name.",
        autocompletion=_complete_network,
    ),
]
NetworkSetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Change a setting of a built-in network, or users=N of any. Repeatable.",
    ),
]
ReplicationsOption: TypeAlias = Annotated[int, whole(help="Independent runs, at least 2.")]
SeedOption: TypeAlias = Annotated[int, whole(help="The same seed gives the same result.")]
UsersOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="N,…", help="One row for each number of users, such as 1..30 or 1,2,4,8."),
]


def numbers_of_users(text: str) -> list[int]:
    """Return the numbers in ``1..4,8``.

    Examples
    --------
    >>> numbers_of_users("1..4,8")
    [1, 2, 3, 4, 8]
    """
    try:
        levels = expand_levels([part.strip() for part in text.split(",")])
        users = [parse_whole(str(level)) for level in levels]
    except ValueError:
        users = []
    if not users or min(users) < 1:
        raise InputError(f"--users {text}: should be numbers above 0", "--users 1..30, or 1,2,4,8")
    return users


def time_s(option: str, text: str) -> float:
    """Return a time of an option, such as ``60s`` or ``1.5ms``, in seconds."""
    from pacelc.networks.times import parse_time  # noqa: PLC0415 - data frames take long to import

    try:
        return parse_time(text)
    except ValueError as error:
        raise InputError(f"{option} {text}: {error}") from None


def milliseconds(seconds: float | None) -> str:
    """Return a time in milliseconds with four digits; a dash for None.

    Examples
    --------
    >>> milliseconds(0.0061234), milliseconds(None)
    ('6.123', '-')
    """
    return "-" if seconds is None else f"{seconds * 1e3:.4g}"


def network_named(name: str, assignments: Sequence[str] = ()) -> Network:
    """Return a network of a file, or a built-in one.

    A file is read as JMT's if its name ends as those of JMT's tools do.

    Raises
    ------
    InputError
        There is none, or it can't be used.
    """
    # Data frames take long to import.
    from pacelc.networks import BUILTIN, Network, NetworkError, builtin  # noqa: PLC0415

    if is_builtin(name, BUILTIN, "network"):
        return builtin(name, assignments)
    path = Path(name)
    if path.suffix in _JMT:
        from pacelc.jsimg import read_jsimg  # noqa: PLC0415 - only for such files

        network = read_jsimg(path)
    else:
        network = Network.load(path)
    for text in assignments:
        key, _, value = text.partition("=")
        try:
            users = parse_whole(value) if key == "users" else 0
        except ValueError:
            users = 0
        if users < 1:
            raise NetworkError(
                f"--set {text}: of a file only the number of users can be set", "--set users=20"
            )
        network = network.with_users(users)
    return network
