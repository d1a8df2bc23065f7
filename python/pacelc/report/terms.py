"""What the labels of a study mean: a level by what was in force, a mix by its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pacelc.databases import FACTS, display_name
from pacelc.study.compared import LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pacelc.store import Results
    from pacelc.store.format import RunRecord

__all__ = ["labels", "mix_words", "shown_label"]

_SAID_ELSEWHERE: Final = frozenset({"consistency", "workload"})


def shown_label(factor: str, label: str) -> str:
    """Return a label as it is read: a database as its makers write it."""
    return display_name(label) if factor == "database" and label in FACTS else label


def mix_words(mix: Mapping[str, float]) -> str:
    """Return a mix of operations in words.

    Examples
    --------
    >>> mix_words({"read": 0.1, "update": 0.9}), mix_words({"scan": 1})
    ('10 % read, 90 % update', 'scan only')
    """
    if len(mix) == 1:
        return f"{next(iter(mix))} only"
    whole = sum(mix.values())
    return ", ".join(f"{100 * share / whole:.3g} % {kind}" for kind, share in mix.items() if share)


def labels(results: Results) -> tuple[tuple[str, str, str], ...]:
    """Return (factor, label, what it means) of each label that doesn't say so itself."""
    rows: list[tuple[str, str, str]] = []
    declared: dict[str, Any] = {}
    for study in results.studies:
        declared |= study.get("factors", {})
    for factor in results.factors:
        runs: dict[str, list[RunRecord]] = {str(x): [] for x in results.levels.get(factor, ())}
        for record in results.records:
            if factor in record.scenario.factors:
                runs.setdefault(str(record.scenario.factors[factor]), []).append(record)
        mixes = {label: _mixes(of) for label, of in runs.items()}
        # One that leaves the mix to another factor, or as it is, says nothing of it.
        tells = len({tuple(mix) for mix in mixes.values()}) > 1 and all(
            len(mix) == 1 for mix in mixes.values()
        )
        sets = _mapping(declared.get(factor))
        for label, of in runs.items():
            if factor in LEVELS:
                meaning = _in_force(of)
            elif tells:
                meaning = mixes[label][0]
            else:
                meaning = _settings(_mapping(sets.get(label)))
            if of and meaning and meaning != label:
                rows.append((factor, label, meaning))
    return tuple(rows)


def _mixes(records: Iterable[RunRecord]) -> list[str]:
    found = (_mapping(record.scenario.settings.get("workload")) for record in records)
    return list(dict.fromkeys(mix_words(w["mix"]) for w in found if "mix" in w))


def _in_force(records: Iterable[RunRecord]) -> str:
    """Return what was in force at a level, database by database."""
    found: dict[str, dict[str, str]] = {}
    for record in records:
        scenario = record.scenario
        database = scenario.settings.get("database", scenario.factors.get("database", ""))
        found.setdefault(str(database), {}).update(record.consistency)
    return "; ".join(
        " ".join(filter(None, (display_name(database), _kinds(texts))))
        for database, texts in found.items()
        if texts
    )


def _kinds(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} {text}" for kind, text in sorted(texts.items()))


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _settings(declared: Mapping[str, Any]) -> str:
    """Return what a label sets, as the study has it."""
    said = ((name, value) for name, value in declared.items() if name not in _SAID_ELSEWHERE)
    return "; ".join(f"{name} {_value(value)}" for name, value in said)


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if of := _mapping(value):
        return ", ".join(f"{name} {_value(each)}" for name, each in of.items())
    return str(value)
