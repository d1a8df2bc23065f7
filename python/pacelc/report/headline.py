"""The answer on the first screen: what differs between the levels that are compared, and how sure.

Map
---
Headline    what the template shows of it
headline    from comparisons
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.analysis import ALL_OPERATIONS
from pacelc.analysis.comparison import Verdict
from pacelc.databases import display_name
from pacelc.names import counted
from pacelc.study.compared import LEVELS
from pacelc.study.outlook import TESTED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.analysis import Comparison, Design

__all__ = ["Headline", "Row", "headline"]

LINES: Final = 5
_CHANGES: Final = ("throughput_per_s", "latency_ms_mean", "latency_ms_p99")
_RANKS: Final[tuple[Verdict, ...]] = ("differs", "no difference shown", "can't tell")


@dataclass(frozen=True)
class Row:
    """One level against the reference, in one group.

    Attributes
    ----------
    group, levels
        Such as ``MongoDB, read`` and ``strong instead of weak``.
    changes
        Of throughput, mean and 99th percentile of response time, with intervals.
    verdict
        What the paired tests of throughput and mean response time say together.
    """

    group: str
    levels: str
    changes: tuple[str, ...]
    verdict: str


@dataclass(frozen=True)
class Headline:
    """The first answer.

    Attributes
    ----------
    title
        What was asked.
    sentence
        How many comparisons came out how; empty if nothing was compared.
    rows
        The most telling ones, at most five.
    more
        The others, in the study's order.
    """

    title: str
    sentence: str
    rows: tuple[Row, ...]
    more: tuple[Row, ...]


def headline(design: Design, comparisons: Sequence[Comparison]) -> Headline:
    """Return the first answer.

    Of a group whose runs mix kinds of operations, only the row of all operations is told: by kind,
    throughput follows from the mix.
    """
    whole = set(design.whole_groups)
    told: dict[tuple[object, str], dict[str, Comparison]] = {}
    for c in comparisons:
        if c.group in whole:
            told.setdefault((c.group, c.level), {})[c.metric.name] = c
    found = [of for of in told.values() if any(name in of for name in _CHANGES)]
    ranked = sorted(found, key=_rank)[:LINES]
    verdicts = Counter[Verdict](_verdict(of) for of in found)
    return Headline(
        title=_title(design),
        sentence=_sentence(len(found), verdicts),
        rows=tuple(_row(of) for of in ranked),
        more=tuple(_row(of) for of in found if of not in ranked),
    )


def _title(design: Design) -> str:
    if design.level_factor is None:
        return "What was found"
    if design.level_factor in LEVELS:
        return "What consistency costs"
    return f"What changes with {design.level_factor}"


def _sentence(compared: int, verdicts: Mapping[Verdict, int]) -> str:
    if compared == 0:
        return ""
    differs, alike, untold = (verdicts.get(verdict, 0) for verdict in _RANKS)
    said = f"{differs or 'None'} of {counted(compared, 'comparison')} can be told from chance"
    parts = [f"{alike} show{'s' * (alike == 1)} no difference"] if alike else []
    parts += [f"in {untold} these runs can't tell"] if untold else []
    said += f"; {', and '.join(parts)}" if parts else ""
    return f"{said}. The intervals say how large a change may be."


def _verdict(of: Mapping[str, Comparison]) -> Verdict:
    """Return what the tests say together: a difference in either metric is one."""
    said = {c.paired.verdict for c in _tested(of)}
    if "differs" in said:
        return "differs"
    return "can't tell" if "can't tell" in said else "no difference shown"


def _tested(of: Mapping[str, Comparison]) -> list[Comparison]:
    return [of[name] for name in TESTED if name in of]


def _rank(of: Mapping[str, Comparison]) -> tuple[int, float]:
    changes = [abs(math.log(c.ratio.value)) for c in of.values() if c.ratio is not None]
    return _RANKS.index(_verdict(of)), -max(changes, default=0.0)


def _row(of: Mapping[str, Comparison]) -> Row:
    first = next(iter(of.values()))
    database = first.group.get("database")
    words = [word for word in first.group.words(without="database") if word != ALL_OPERATIONS]
    return Row(
        group=", ".join([display_name(database), *words] if database else words) or "all runs",
        levels=f"{first.level} instead of {first.reference}",
        changes=tuple(_change(of.get(name)) for name in _CHANGES),
        verdict=_said(of),
    )


def _change(c: Comparison | None) -> str:
    if c is None or c.ratio is None:
        return ""
    change = c.ratio.as_change()
    return f"+{change.text()}" if change.value > 0 else change.text()


def _said(of: Mapping[str, Comparison]) -> str:
    verdict = _verdict(of)
    if verdict == "can't tell":
        return next(c.paired.note or verdict for c in _tested(of) if c.paired.verdict == verdict)
    if verdict == "differs":
        metrics = [c.metric.title for c in _tested(of) if c.paired.verdict == verdict]
        return f"differs: {' and '.join(metrics)}"
    return verdict
