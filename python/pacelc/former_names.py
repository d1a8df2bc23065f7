"""Former names in stored documents, replaced where such a document is read.

Everything after that knows the current names only. A document is never rewritten.

Map
---
SETTINGS            former names of settings, and of factors that have a setting's name
ROLES               former names of roles, in ``resources.parquet``
current_names       a mapping whose keys are settings or factors
current_scenario    a scenario, as ``run.json`` and the records of failures have it
current_study       a study's definition, as its YAML file and ``study.json`` have it
current_place       a path into a study's definition
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ROLES",
    "SETTINGS",
    "current_names",
    "current_place",
    "current_scenario",
    "current_study",
]

_T = TypeVar("_T")

SETTINGS: Final[Mapping[str, str]] = {"awake": "no_idle_states"}
ROLES: Final[Mapping[str, str]] = {"awake": "no_idle_states"}

_NAMES: Final[frozenset[tuple[str, ...]]] = frozenset(
    {
        *(("settings",), ("factors",), ("factors", "*", "*"), ("presets", "*"), ("exclude", "*")),
        *(("overrides", "*", "when"), ("overrides", "*", "set")),
        *(("listed", "*", "levels"), ("listed", "*", "set")),
    }
)
"""Places in a study whose keys are settings or factors; ``*`` is any key or index.

Keys elsewhere are the user's own: a level may well be called ``awake``.
"""
_SHARED_BY: Final = ("cluster", "shared_by")


def current_names(names: Mapping[str, _T]) -> dict[str, _T]:
    """Return a mapping with the current names of settings or factors for keys.

    Where it has the current name, too, both stay: whoever checks the document refuses the former.

    Examples
    --------
    >>> current_names({"users": 8, "awake": True})
    {'users': 8, 'no_idle_states': True}
    """
    return {
        key if SETTINGS.get(key, key) in names else SETTINGS[key]: value
        for key, value in names.items()
    }


def current_scenario(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario with the current names of its factors and settings."""
    return {
        key: current_names(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for key, value in scenario.items()
    }


def current_study(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's definition with current names of factors and settings.

    Examples
    --------
    >>> current_study({"factors": {"idle": {"awake": {"awake": True}, "asleep": {}}}})
    {'factors': {'idle': {'awake': {'no_idle_states': True}, 'asleep': {}}}}
    """
    return cast("dict[str, Any]", _current(study, ()))


def current_place(place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Return where a value of a study is once the study has its current names.

    Examples
    --------
    >>> current_place(("factors", "idle", "awake", "awake"))
    ('factors', 'idle', 'awake', 'no_idle_states')
    """
    return tuple(
        SETTINGS.get(str(part), part) if _has_names(place[:depth]) else part
        for depth, part in enumerate(place)
    )


def _current(value: object, place: tuple[str | int, ...]) -> object:
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        inner = {key: _current(one, (*place, key)) for key, one in known.items()}
        return current_names(inner) if _has_names(place) else inner
    if isinstance(value, list):
        items = cast("list[object]", value)
        if place == _SHARED_BY:
            return [SETTINGS.get(name, name) if isinstance(name, str) else name for name in items]
        return [_current(one, (*place, index)) for index, one in enumerate(items)]
    return value


def _has_names(place: tuple[str | int, ...]) -> bool:
    """Tell whether the keys at a place of a study are settings or factors."""
    return any(
        len(place) == len(known)
        and all(own in ("*", part) for own, part in zip(known, place, strict=True))
        for known in _NAMES
    )
