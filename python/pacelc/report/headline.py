"""The answer on the first screen: what differs between the levels that are compared, and how sure.

Map
---
Headline    what the template shows of it
headline    from comparisons; where nothing is compared, from what was measured
of_paper    how a paper's findings came out
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import ALL_OPERATIONS, METRICS
from pacelc.analysis.comparison import Verdict
from pacelc.analysis.estimate import format_number
from pacelc.analysis.verdict import CANT_TELL, said
from pacelc.names import counted
from pacelc.study.compared import LEVELS
from pacelc.study.outlook import TESTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pacelc.analysis import Comparison, Design, Group
    from pacelc.analysis.verdict import Reason
    from pacelc.papers import Finding
    from pacelc.papers.cited import Paper
    from pacelc.store import Results

__all__ = ["Headline", "Row", "headline", "of_paper"]

LINES: Final = 12
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

    @property
    def cells(self) -> tuple[str, ...]:
        """All of it, in a row."""
        return (self.group, self.levels, *self.changes, self.verdict)


@dataclass(frozen=True)
class Headline:
    """The first answer.

    Attributes
    ----------
    title
        What was asked.
    sentence
        How many comparisons came out how; where nothing was compared, why, and what was measured.
    rows
        In the study's order: of more than twelve, those with the clearest verdicts and, among
        them, the largest changes.
    more
        The others, in the study's order.
    """

    title: str
    sentence: str
    rows: tuple[Row, ...]
    more: tuple[Row, ...]


def headline(
    results: Results, design: Design, comparisons: Sequence[Comparison], means: pl.DataFrame
) -> Headline:
    """Return the first answer.

    Of a group whose runs mix kinds of operations, only the row of all operations is told: by kind,
    throughput follows from the mix.

    Parameters
    ----------
    means
        What :func:`pacelc.analysis.by_load` returned.
    """
    whole = set(design.whole_groups)
    told: dict[tuple[object, str], dict[str, Comparison]] = {}
    for c in comparisons:
        if c.group in whole:
            told.setdefault((c.group, c.level), {})[c.metric.name] = c
    found = [of for of in told.values() if any(name in of for name in _CHANGES)]
    first = sorted(found, key=_rank)[:LINES]
    return Headline(
        title=_title(design),
        sentence=_sentence(found) if found else _measured(results, design, means),
        rows=tuple(_row(of) for of in found if of in first),
        more=tuple(_row(of) for of in found if of not in first),
    )


def of_paper(paper: Paper, findings: Sequence[Finding]) -> str:
    """Say how a paper's findings came out."""
    verdicts = Counter(f.verdict for f in findings)
    parts = [
        f"{number} {one if number == 1 else several}"
        for verdict, one, several in (
            ("holds", "holds", "hold"),
            ("violated", "is contradicted", "are contradicted"),
        )
        if (number := verdicts[verdict])
    ]
    if untold := verdicts[CANT_TELL]:
        parts.append(f"for {untold} these runs can't tell{_reasons(f.reason for f in findings)}")
    of = counted(len(findings), "finding")
    were = "was" if len(findings) == 1 else "were"
    return f"{of} of {paper.short} {were} tested: {', '.join(parts)}."


def _reasons(reasons: Iterable[Reason | None]) -> str:
    """Say how often each reason withheld an answer."""
    counts = Counter(reason for reason in reasons if reason is not None)
    return f" ({', '.join(f'{why}: {n}' for why, n in counts.items())})" if counts else ""


def _title(design: Design) -> str:
    if design.level_factor is None:
        return "What these runs show"
    if design.level_factor in LEVELS:
        return "What consistency costs"
    return f"What changes with {design.level_factor}"


def _sentence(found: Sequence[Mapping[str, Comparison]]) -> str:
    verdicts = Counter[Verdict](_verdict(of) for of in found)
    differs, alike, untold = (verdicts.get(verdict, 0) for verdict in _RANKS)
    told = f"{differs or 'None'} of {counted(len(found), 'comparison')} can be told from chance"
    cant_tell = f"these runs can't tell{_reasons(map(_reason, found))}"
    parts = [f"{alike} show{'s' * (alike == 1)} no difference"] if alike else []
    parts += [f"in {untold} {cant_tell}"] if untold else []
    if untold == len(found):
        told += f": {cant_tell}"
    elif parts:
        told += f"; {', and '.join(parts)}"
    return f"{told}. The intervals say how large a change may be."


def _measured(results: Results, design: Design, means: pl.DataFrame) -> str:
    """Say why nothing was compared, and between what throughput was."""
    if not results.runs.height:
        return "No run is finished."
    if design.level_factor is not None:
        why = f"No two levels of {design.level_factor} have finished runs of the same scenario"
    elif varied := [name for name in results.factors if name != design.load_factor]:
        loads = [design.load_factor] if design.load_factor else []
        varies = f"varies {_listed([*varied, *loads])}, and names none of them to compare"
        why = f"The study compares no levels: it {varies}"
    else:
        of = "varies the load alone" if design.load_factor else "has one scenario"
        why = f"The study compares no levels: it {of}"
    whole = {group.labels: group for group in design.whole_groups}
    names = design.groups[0].names if design.groups else ()
    rates = sorted(
        (row["value"], _words(whole[key]), row["load"])
        for row in means.filter(pl.col("metric") == "throughput_per_s").iter_rows(named=True)
        if (key := tuple(row[name] for name in names)) in whole
    )
    told = f"{why}."
    if not rates:
        return told
    ends = dict.fromkeys((rates[0], rates[-1]))
    least_to_most = " to ".join(
        f"{format_number(value)} {METRICS['throughput_per_s'].unit} ({group}"
        + (f", {design.load_factor} {load:g})" if design.load_factor else ")")
        for value, group, load in ends
    )
    return f"{told} Mean throughput was {'from ' * (len(ends) > 1)}{least_to_most}."


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _reason(of: Mapping[str, Comparison]) -> Reason | None:
    """Return why a comparison has no answer; None if it has one."""
    if _verdict(of) != CANT_TELL:
        return None
    return next((c.paired.reason for c in _tested(of) if c.paired.verdict == CANT_TELL), None)


def _verdict(of: Mapping[str, Comparison]) -> Verdict:
    """Return what the tests say together: a difference in either metric is one."""
    verdicts = {c.paired.verdict for c in _tested(of)}
    if "differs" in verdicts:
        return "differs"
    return CANT_TELL if CANT_TELL in verdicts else "no difference shown"


def _tested(of: Mapping[str, Comparison]) -> list[Comparison]:
    return [of[name] for name in TESTED if name in of]


def _rank(of: Mapping[str, Comparison]) -> tuple[int, float]:
    changes = [abs(math.log(c.ratio.value)) for c in of.values() if c.ratio is not None]
    return _RANKS.index(_verdict(of)), -max(changes, default=0.0)


def _row(of: Mapping[str, Comparison]) -> Row:
    first = next(iter(of.values()))
    return Row(
        group=_words(first.group),
        levels=f"{first.level} instead of {first.reference}",
        changes=tuple(_change(of.get(name)) for name in _CHANGES),
        verdict=_said(of),
    )


def _words(group: Group) -> str:
    return ", ".join(word for word in group.words() if word != ALL_OPERATIONS) or "all runs"


def _change(c: Comparison | None) -> str:
    if c is None or c.ratio is None:
        return ""
    change = c.ratio.as_change()
    return f"+{change.text()}" if change.value > 0 else change.text()


def _said(of: Mapping[str, Comparison]) -> str:
    verdict = _verdict(of)
    if verdict == CANT_TELL:
        paired = next(c.paired for c in _tested(of) if c.paired.verdict == verdict)
        # Why runs are disqualified stands above.
        return said(verdict, paired.reason) if paired.reason == "disqualified" else paired.note
    if verdict == "differs":
        metrics = [c.metric.title for c in _tested(of) if c.paired.verdict == verdict]
        return f"differs: {' and '.join(metrics)}"
    return verdict
