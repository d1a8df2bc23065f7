"""Which runs decide nothing, and why: a report says it once, and its rows refer to it.

Map
---
LeftOut     what the template shows of it
left_out    from weaknesses
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, get_args

from pacelc.analysis.design import described
from pacelc.analysis.quality import Quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis import Weakness
    from pacelc.store import Results

__all__ = ["LeftOut", "left_out"]

_BRIEFLY: Final = (
    ("; left out: {}", "; without the disqualified runs"),
    ("{}; with them", "with the disqualified runs"),
)
"""How verdicts put the reasons into their evidence, and what a row says instead."""


@dataclass(frozen=True)
class LeftOut:
    """Runs that decide nothing about speed or service.

    Attributes
    ----------
    runs, of
        How many, and of how many.
    reasons
        Kinds of weakness; what was wrong, and in how many runs.
    rows
        A row a scenario: its words, its disqualified runs, the kinds of weakness.
    said
        The reasons as verdicts say them, the longest first.
    """

    runs: int
    of: int
    reasons: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    said: tuple[str, ...]

    def briefly(self, text: str) -> str:
        """Return evidence without the reasons, which stand above it."""
        for reasons in self.said:
            for theirs, ours in _BRIEFLY:
                text = text.replace(theirs.format(reasons), ours)
        return text


def left_out(results: Results, weak: Sequence[Weakness]) -> LeftOut:
    """Return the runs that decide nothing about speed or service."""
    scenarios = {
        (source, record.run): described(record.scenario.factors) or "all runs"
        for source, record in zip(results.runs.get_column("source"), results.records, strict=True)
    }
    # What is damaged wasn't read at all: its weakness says so.
    told = [
        (w.kind, w.disqualifies)
        for w in weak
        if w.disqualifies is not None and not w.disqualifies.runs.isdisjoint(scenarios)
    ]
    rows: dict[str, tuple[list[str], list[str]]] = {}
    runs = 0
    for key, words in scenarios.items():
        if kinds := [kind for kind, one in told if key in one.runs]:
            runs += 1
            names, why = rows.setdefault(words, ([], []))
            names.append(key[1])
            why += kinds
    said = {
        "; ".join(one.because for _, one in told if quantity in one.of)
        for quantity in get_args(Quantity)
    }
    return LeftOut(
        runs,
        len(scenarios),
        tuple((kind, one.because) for kind, one in told),
        tuple(
            (words, ", ".join(names), ", ".join(dict.fromkeys(why)))
            for words, (names, why) in rows.items()
        ),
        tuple(sorted(filter(None, said), key=len, reverse=True)),
    )
