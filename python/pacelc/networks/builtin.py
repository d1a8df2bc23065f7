"""The networks that come with pacelc, by name, with the settings that each has.

Map
---
BUILTIN         name → what it is, its settings, the function that builds it
builtin         build one, with ``KEY=VALUE`` settings
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, ValidationError

from pacelc.databases import display_name
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.networks.gandini import Gandini, gandini
from pacelc.networks.quorum import Quorum, quorum
from pacelc.papers.gandini_2014 import CONFIGURATIONS
from pacelc.study.copies import LEVELS, Level
from pacelc.study.settings import tidy
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pacelc.networks.network import Network

__all__ = ["BUILTIN", "Builtin", "builtin"]


@dataclass(frozen=True)
class Builtin:
    """A network with settings.

    Attributes
    ----------
    about
        What it is, in a line.
    settings
        The model of its settings.
    defaults
        Of its settings, where they differ from the model's.
    build
        From settings to the network.
    """

    about: str
    settings: type[BaseModel]
    defaults: Mapping[str, Any]
    build: Callable[[Any], Network]

    def fields(self) -> dict[str, Any]:
        """Return each setting with its default, by its name in ``KEY=VALUE``."""
        return {
            field.alias or name: self.defaults.get(field.alias or name, field.default)
            for name, field in self.settings.model_fields.items()
        }


def _gandini(database: str, nodes: int, copies: int) -> Builtin:
    shape = f"{counted(nodes, 'node')}" + (f", {counted(copies, 'copy')}" if copies > 1 else "")
    return Builtin(
        f"{display_name(database)}, {shape}, as Gandini et al. 2014 model it",
        Gandini,
        {},
        lambda settings: gandini(database, nodes, copies, cast("Gandini", settings)),
    )


def _quorum(level: Level) -> Builtin:
    return Builtin(
        f"a cluster with copies; reads and writes wait for {level}",
        Quorum,
        {"read": level, "write": level},
        lambda settings: quorum(cast("Quorum", settings)),
    )


BUILTIN: Final[Mapping[str, Builtin]] = {
    **{
        f"gandini-{database}-{nodes}{f'x{copies}' if copies > 1 else ''}": _gandini(
            database, nodes, copies
        )
        for database, nodes, copies in CONFIGURATIONS
    },
    **{f"quorum-{level}": _quorum(level) for level in LEVELS},
}
"""By name."""


def builtin(name: str, assignments: Sequence[str] = ()) -> Network:
    """Return a built-in network.

    Parameters
    ----------
    name
        One of :data:`BUILTIN`.
    assignments
        ``KEY=VALUE`` each.

    Raises
    ------
    InputError
        There is no such network, no such setting, or a value doesn't fit.

    Examples
    --------
    >>> builtin("gandini-cassandra-1", ["users=30", "cpu=fcfs"]).users
    30
    """
    if name not in BUILTIN:
        raise InputError(f"there is no network {name!r}", nearest(name, BUILTIN))
    chosen = BUILTIN[name]
    values = dict(chosen.defaults)
    for text in assignments:
        key, sign, value = text.partition("=")
        if not sign or key not in chosen.fields():
            raise InputError(
                f"--set {text}: {name} has no setting {key!r}"
                if sign
                else f"--set {text}: should be KEY=VALUE",
                nearest(key, chosen.fields()),
            )
        values[key] = value
    try:
        settings = chosen.settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        message, hint = tidy(first)
        raise InputError(f"--set {first['loc'][0]}=: {message}", hint) from None
    return chosen.build(settings)
