"""What a scenario's consistency level asks for, checked by the engine before anything starts.

The engine alone knows each database's terms, and what a cluster of a given shape can satisfy: `WAIT
3` with two replicas is refused here, not as ten thousand time-outs afterwards.

Map
---
resolve_levels      kind of operation → level in force, or the refusal, at the line that asks for it
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pacelc.errors import one_line
from pacelc.study.settings import Leaf, Problem, Settings
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["resolve_levels"]


class _Resolver(Protocol):
    Refused: type[Exception]

    def resolve_consistency(self, database: str, consistency_json: str, shape_json: str) -> str: ...
    def bindings(self) -> list[str]: ...


def _engine() -> _Resolver | None:
    try:
        engine = import_module("pacelc._engine")
    except ImportError:
        return None  # definitions can be read without it; running them can't
    return cast("_Resolver", engine)


def resolve_levels(
    settings: Settings, leaves: Mapping[tuple[str, ...], Leaf] | None = None
) -> dict[str, str]:
    """Return the level in force for each kind of operation.

    Raises
    ------
    Problem
        At the place of the level, or of the database, that can't be had.
    """
    engine = _engine()
    if engine is None:
        return {}
    places = {path[0]: leaf.origin for path, leaf in (leaves or {}).items() if len(path) == 1}
    known = engine.bindings()
    if settings.database not in known:
        place = places.get("database", ("settings", "database"))
        raise Problem(
            place, f"there is no database {settings.database!r}", nearest(settings.database, known)
        )
    shape: dict[str, object] = {"nodes": settings.nodes, "replication": settings.replication}
    try:
        answer = engine.resolve_consistency(
            settings.database, json.dumps(settings.consistency), json.dumps(shape)
        )
    except engine.Refused as error:
        place = places.get("consistency", ("settings", "consistency"))
        raise Problem(place, one_line(error), getattr(error, "hint", None)) from None
    return cast("dict[str, str]", json.loads(answer))
