"""``--set key=value``: what a command line changes in a study.

A key is, in this order: ``preset``; a factor of the study; ``repetitions``, ``order``, ``seed`` or
``cluster.shared_by``; any setting. A factor's value is its new levels (``users=1,2,4``; for a
factor whose levels have settings, a choice among them). A setting goes over everything the study
says, so that ``--set measure=10s`` means what it says even where an override of the study sets
``measure`` too.

Map
---
parse_assignment    ``users=1,2,4`` → ``("users", "1,2,4")``
apply_assignments   the assignments, applied to a study's plain data
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from pacelc.study.settings import settable_names, settable_path
from pacelc.study.source import Source, StudyError, parse_option
from pacelc.study.values import (
    Json,
    expand_levels,
    label_of,
    named,
    nearest,
    no_level,
    same_label,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["apply_assignments", "parse_assignment", "parse_value"]

_STUDY_KEYS = ("compare", "repetitions", "order", "seed")
_SHARED_BY = "cluster.shared_by"


def parse_assignment(text: str) -> tuple[str, str]:
    """Return the key and the value of ``key=value``.

    Raises
    ------
    StudyError
        If there is no key or no ``=``.

    Examples
    --------
    >>> parse_assignment("users=1,2,4")
    ('users', '1,2,4')
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        # Whatever it is, it may hold a password.
        known = key.strip() in settable_names()
        raise StudyError(
            f"--set {key.strip()}: should be key=value" if known else "--set should be key=value",
            "for example --set measure=10s or --set users=1,2,4",
        )
    return key.strip(), value.strip()


def apply_assignments(source: Source, assignments: Iterable[str]) -> Source:
    """Return ``source`` with ``assignments`` applied in turn.

    Raises
    ------
    StudyError
        If a key or a preset is unknown, or a value cannot be that key's.
    """
    pairs = [parse_assignment(text) for text in assignments]
    changed = Source(source.name, copy.deepcopy(source.data), dict(source.places))
    # Presets first: what is set by hand goes over what a preset sets, in whatever order they were
    # given.
    for key, value in pairs:
        if key == "preset":
            for preset in value.split(","):
                _apply_preset(changed, preset.strip())
    for key, value in pairs:
        if key != "preset":
            _assign(changed, key, parse_value(f"--set {named(key)}", value), f"--set {named(key)}")
    return changed


def _apply_preset(source: Source, name: str) -> None:
    presets = source.data.get("presets")
    known = presets if isinstance(presets, dict) else {}
    preset = known.get(name)
    if not isinstance(preset, dict):
        hint = nearest(name, known) if known else "the study has no presets"
        raise StudyError(f"--set preset: the study has no preset {name!r}", hint)
    for key, value in preset.items():
        place = source.places.get(("presets", name, key), f"preset {name}")
        _assign(source, key, value, place)


def parse_value(option: str, text: str) -> Json:
    """Read ``text`` as YAML: ``10`` is a number, ``1,2`` a list, ``{scan: 1}`` a mapping."""
    bracketed = f"[{text}]" if "," in text and text[0] not in "[{\"'" else text
    value = parse_option(option, bracketed)
    return text if value is None else value


def _assign(source: Source, key: str, value: Json, place: str) -> None:
    data, places = source.data, source.places
    factors = data.get("factors")
    if isinstance(factors, dict) and key in factors:
        factors[key] = _new_levels(key, factors[key], value, place)
        _forget(places, ("factors", key))
        places[("factors", key)] = place
    elif key in _STUDY_KEYS:
        data[key] = value
        places[(key,)] = place
    elif key == _SHARED_BY:
        data["cluster"] = {"shared_by": value if isinstance(value, list) else [value]}
        places[("cluster",)] = place
    elif settable_path(key) is not None:
        overrides = data.setdefault("overrides", [])
        if not isinstance(overrides, list):
            return  # the study itself is wrong there, and says so when it is validated
        overrides.append({"when": {}, "set": {key: value}})
        places[("overrides", len(overrides) - 1)] = place
    else:
        known = [
            *(factors if isinstance(factors, dict) else ()),
            *_STUDY_KEYS,
            _SHARED_BY,
            "preset",
            *settable_names(),
        ]
        raise StudyError(
            f"{place}: the study has no factor and no setting {named(key)!r}", nearest(key, known)
        )


def _new_levels(key: str, levels: Json, value: Json, place: str) -> Json:
    chosen: list[Json] = value if isinstance(value, list) else [value]
    if not isinstance(levels, dict):
        return chosen
    try:
        labels = [label_of(level) for level in expand_levels(chosen)]
    except ValueError as error:
        raise StudyError(f"{place}: {error}") from None
    for level, label in zip(expand_levels(chosen), labels, strict=True):
        if not any(same_label(label, known) for known in levels):
            raise StudyError(f"{place}: {no_level(key, level)}", nearest(str(label), levels))
    return {
        name: settings
        for name, settings in levels.items()
        if any(same_label(name, label) for label in labels)
    }


def _forget(places: dict[tuple[str | int, ...], str], path: tuple[str | int, ...]) -> None:
    for known in [known for known in places if known[: len(path)] == path]:
        del places[known]
