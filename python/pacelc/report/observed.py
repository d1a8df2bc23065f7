"""What a report says of what clients observed: promised, observed and price, level by level.

Map
---
Observations    everything that the template shows of it
observations    from results
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pacelc.analysis.estimate import format_number, marginal_mean
from pacelc.analysis.observed import (
    GUARANTEES,
    Level,
    Seen,
    Stale,
    observed_frame,
    price_group,
    staleness_frame,
)
from pacelc.analysis.observed import observations as observed_levels
from pacelc.databases import display_name
from pacelc.names import counted
from pacelc.plots.witnesses import witness_timeline
from pacelc.store.observed import SESSION_GUARANTEES
from pacelc.study.promises import guarantees

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt
    import polars as pl

    from pacelc.analysis import Comparison, Design, Estimate
    from pacelc.plots import Style
    from pacelc.store import Results
    from pacelc.store.observed import Witness
    from pacelc.study.promises import Promise

__all__ = ["Line", "Observations", "Row", "Shown", "observations"]

NAMES: Final = {
    "linearizable": "linearizable",
    "read_your_writes": "read your writes",
    "monotonic_reads": "monotonic reads",
    "monotonic_writes": "monotonic writes",
    "writes_follow_reads": "writes follow reads",
    "monotonic_writes_across_records": "monotonic writes across records",
    "writes_follow_reads_across_records": "writes follow reads across records",
    "no_aborted_reads": "no read of a failed write",
    "no_unwritten_reads": "no read of what nobody wrote",
    "no_torn_rows": "no row of several writes",
}
_NEARLY_ALL: Final = 0.99
"""From here on two figures would be 1e+02."""
_DEMANDS: Final = {
    "no_aborted_reads": "no read returns a value whose write had failed",
    "no_unwritten_reads": "no read returns a value that nobody wrote",
    "no_torn_rows": "the fields of a row, written together, are read together",
}
MOST_WITNESSES: Final = 24
FEW: Final = 2
"""Missing guarantees that are shorter to name than those there."""


@dataclass(frozen=True)
class Line:
    """A line of a cell: its words, whether they are an alarm, and where its witness is."""

    text: str
    alarm: bool = False
    witness: str | None = None


@dataclass(frozen=True)
class Row:
    """A level: what it promises, what was observed, what it costs."""

    level: str
    promised: str
    observed: tuple[Line, ...]
    price: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Shown:
    """A witness as a figure."""

    name: str
    seen: Seen
    witness: Witness
    title: str
    caption: str

    def draw(self, style: Style) -> alt.TopLevelMixin:
        """Draw it.

        Raises
        ------
        NothingToDraw
            It has too many operations.
        """
        return witness_timeline(
            self.witness,
            self.title,
            _demand(self.seen.guarantee),
            of_a_session=self.seen.guarantee in SESSION_GUARANTEES,
            style=style,
        )


@dataclass(frozen=True, eq=False)
class Observations:
    """Everything that the template shows of what clients observed.

    Attributes
    ----------
    levels
        The analysis, for figures. Empty where nobody looked.
    blocks
        A database, or another group, and its levels.
    evidence
        A group, and rows (level, guarantee, promised, violated in, share, can't be told, words).
    staleness
        A group, and rows (level, reads, stale for certain, possibly, p99.9, versions behind, Γ and
        Δ, found nothing).
    sources
        Where vendors promise what, or say that they don't: document, what it says, address.
    notes
        What couldn't be told, and of what share.
    witnesses
        At most one a group, level and guarantee.
    """

    levels: tuple[Level, ...]
    blocks: tuple[tuple[str, tuple[Row, ...]], ...]
    evidence: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    staleness: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    sources: tuple[tuple[str, str, str], ...]
    notes: tuple[str, ...]
    witnesses: tuple[Shown, ...]
    tables: dict[str, pl.DataFrame]


def observations(
    results: Results, design: Design, comparisons: Sequence[Comparison]
) -> Observations:
    """Return what a report says of what clients observed."""
    levels = observed_levels(results, design)
    if not levels:
        return Observations((), (), (), (), (), (), (), {})
    shown = _witnesses(levels)
    where = {id(w.seen): w.name for w in shown}
    groups: dict[str, list[Level]] = defaultdict(list)
    for level in levels:
        groups[_title(level)].append(level)
    return Observations(
        levels=levels,
        blocks=tuple(
            (title, tuple(_row(level, design, comparisons, where) for level in of))
            for title, of in groups.items()
        ),
        evidence=tuple(
            (title, tuple(_evidence(level, seen) for level in of for seen in _all(level)))
            for title, of in groups.items()
        ),
        staleness=tuple(
            (title, rows)
            for title, of in groups.items()
            if (rows := tuple(_staleness(x, x.stale) for x in of if x.stale is not None))
        ),
        sources=tuple(_sources(levels)),
        notes=tuple(_notes(levels, len(shown))),
        witnesses=shown,
        tables={"observed": observed_frame(levels), "staleness": staleness_frame(levels)},
    )


def _title(level: Level) -> str:
    database = level.group.get("database")
    others = level.group.words(without="database")
    return ", ".join([display_name(database), *others] if database else others)


def _all(level: Level) -> tuple[Seen, ...]:
    return (*level.seen, *level.integrity)


def _demand(guarantee: str) -> str:
    return _DEMANDS.get(guarantee) or guarantees()[guarantee]


def _witnesses(levels: Sequence[Level]) -> tuple[Shown, ...]:
    found = [(level, seen) for level in levels for seen in _all(level) if seen.shown is not None]
    # A broken word is told before what nobody promised.
    found.sort(key=lambda pair: not pair[1].broke_its_word)
    return tuple(
        Shown(
            name=f"witness-{place}",
            seen=seen,
            witness=seen.shown.witness,
            title=_sentence(seen.shown.witness.explanation),
            caption=(
                f"{_title(level)}, {level.level or 'one level'}; {NAMES[seen.guarantee]}: "
                f"{_words(seen)}. Run {seen.shown.run}, of {seen.violated_runs} that showed one."
            ),
        )
        for place, (level, seen) in enumerate(found[:MOST_WITNESSES], 1)
        if seen.shown is not None
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(
    level: Level,
    design: Design,
    comparisons: Sequence[Comparison],
    where: Mapping[int, str],
) -> Row:
    return Row(
        level.level or "one level",
        _promised(level.promises),
        tuple(_observed(level, where)),
        tuple(_price(level, design, comparisons)),
    )


def _promised(promises: Mapping[str, Promise]) -> str:
    """Return what is promised, in a few words: the strongest that says it all."""
    if not promises:
        return "none known for this workload"
    given = {name: promises[name] for name in GUARANTEES if promises[name].strength}
    if (whole := given.get("linearizable")) is not None:
        return f"linearizable{_given(whole)}"
    if not given:
        in_time = promises["eventual"].strength > 0
        return "only that replicas agree in time" if in_time else "nothing"
    alike: dict[str, list[str]] = defaultdict(list)
    for name, promise in given.items():
        alike[_given(promise)].append(NAMES[name])
    said = [f"{_listed(names)}{condition}" for condition, names in alike.items()]
    return f"only: {'; '.join(said)}"


def _listed(names: Sequence[str]) -> str:
    """List session guarantees, or the few that are missing."""
    missing = [NAMES[name] for name in SESSION_GUARANTEES if NAMES[name] not in names]
    if len(missing) > FEW:
        return ", ".join(names)
    return " but ".join(("every session guarantee", *([" and ".join(missing)] if missing else [])))


def _given(promise: Promise) -> str:
    """Return a promise's condition, without its reasons."""
    if promise.condition is None:
        return ""
    condition = promise.condition.partition(":")[0]
    return f", {condition}" if condition.startswith("while") else f", given {condition}"


def _observed(level: Level, where: Mapping[int, str]) -> list[Line]:
    if not level.runs:
        return [Line("not told: see below")]
    lines = [
        Line(
            f"broke its word: {NAMES[seen.guarantee]} violated in {_of_runs(seen)}",
            alarm=True,
            witness=where.get(id(seen)),
        )
        for seen in _all(level)
        if seen.broke_its_word
    ]
    whole, *sessions = level.seen
    if not whole.broke_its_word and whole.runs:
        lines.append(Line(f"not linearizable in {_of_runs(whole)}", witness=where.get(id(whole))))
    if level.stale is not None:
        lines.append(Line(_stale(level.stale)))
    lines += [
        Line(
            f"{NAMES[seen.guarantee]} violated in {_of_runs(seen)}"
            + (f"; {_percent(seen.share)} of reads" if seen.share is not None else ""),
            witness=where.get(id(seen)),
        )
        for seen in sessions
        if seen.violated_runs and not seen.broke_its_word
    ]
    kept = [seen for seen in sessions if seen.runs and not seen.violated_runs]
    if len(kept) == len(sessions):
        lines.append(Line("no session guarantee seen violated"))
    return lines


def _of_runs(seen: Seen) -> str:
    return f"{seen.violated_runs} of {counted(seen.runs, 'run')}"


def _stale(stale: Stale) -> str:
    if stale.certainly.value == 0:
        return f"no read stale for certain, of {stale.reads:,}"
    return f"{_percent(stale.certainly)} of reads stale; p99.9 {_tail(stale)}"


def _tail(stale: Stale) -> str:
    """Return the 99.9th percentile, from its least to its most."""
    least = format_number(stale.least_ms.value)
    if stale.most_ms is None:
        return f"{least} ms at least"
    most = format_number(stale.most_ms.value)
    return f"{least} to {most} ms" if stale.least_ms.value > 0 else f"at most {most} ms"


def _percent(share: Estimate) -> str:
    return share.scaled(100.0, unit=" %").text()


def _price(level: Level, design: Design, comparisons: Sequence[Comparison]) -> list[str]:
    group = price_group(level, design)
    if group is None:
        return []
    if level.level == design.reference:
        said: list[str] = []
        for metric, form in (("latency_ms_p99", "p99 {} ms"), ("throughput_per_s", "{}/s")):
            cells = design.cells(group, level.level, metric)
            if cells.n:
                said.append(form.format(marginal_mean(cells).text()))
        return [*said, "the others are compared with it"] if len(design.levels) > 1 else said
    mine = {
        c.metric.name: c.ratio for c in comparisons if (c.group, c.level) == (group, level.level)
    }
    return [
        f"{title} {_signed(ratio.as_change())}"
        for name, title in (("latency_ms_p99", "p99"), ("throughput_per_s", "throughput"))
        if (ratio := mine.get(name)) is not None
    ]


def _signed(change: Estimate) -> str:
    return f"+{change.text()}" if change.value > 0 else change.text()


def _words(seen: Seen) -> str:
    """Return the verdict: never that something holds, which no run can show."""
    word = None if seen.promise is None else seen.promise.word
    if seen.broke_its_word:
        return "broke its word"
    if seen.violated_runs:
        said = {"if": "violated; promised on a condition", "holds": "broke its word"}
        return said.get(word or "", "violated; not promised")
    return "not seen violated" if seen.runs else "can't tell"


def _evidence(level: Level, seen: Seen) -> tuple[str, ...]:
    promise = seen.promise
    said = {"holds": "yes", "not": "no", "silent": "nothing said"}
    promised = "" if promise is None else said.get(promise.word, _given(promise).lstrip(", "))
    share = ""
    if seen.violated_runs and seen.share is not None:
        share = f"{_percent(seen.share)} of {seen.eligible:,} {seen.unit}"
    elif seen.share_bound is not None:
        share = f"0 of {seen.eligible:,} {seen.unit}; at most {_share(seen.share_bound)}"
    runs = _of_runs(seen) if seen.runs else ""
    if seen.runs_bound is not None:
        runs += f"; at most {_share(seen.runs_bound)}"
    untold = f"{seen.untold:,}" if seen.untold else ""
    name = NAMES[seen.guarantee]
    return (level.level, name, promised, runs, share, untold, _words(seen))


def _share(share: float) -> str:
    """Print a bound: two figures are more than it is worth."""
    return f"{100 * share:.0f} %" if share > _NEARLY_ALL else f"{100 * share:.2g} %"


def _staleness(level: Level, stale: Stale) -> tuple[str, ...]:
    least, most = (f"{x.value:.3g}" for x in (stale.least_versions, stale.most_versions))
    return (
        level.level,
        f"{stale.reads:,}",
        _of_reads(stale.certainly, stale.reads),
        _of_reads(stale.possibly, stale.reads),
        _tail(stale),
        f"{least} to {most}",
        "; ".join(_largest(level, name) for name in ("gamma_ns", "delta_ns")),
        f"{stale.missed:,}",
    )


def _of_reads(share: Estimate, reads: int) -> str:
    return _percent(share) if share.value else f"0 %; at most {_share(min(1.0, 3 / reads))}"


def _sources(levels: Sequence[Level]) -> dict[tuple[str, str, str], None]:
    """Return the sources of what was looked for, each once."""
    said = (seen.promise for level in levels for seen in level.seen if seen.promise is not None)
    return dict.fromkeys(
        (f"{p.source.title}, {p.source.section}", p.source.claim, p.source.url) for p in said
    )


def _largest(level: Level, name: str) -> str:
    """Return the largest Γ or Δ of a run, in ms."""
    found = [getattr(seen.distance, name) for seen in level.each]
    if any(ns is None for ns in found):
        return "without limit"
    least = any(seen.distance.at_least for seen in level.each)
    return format_number(max(found) / 1e6) + (" or more" if least else "")


def _notes(levels: Sequence[Level], shown: int) -> list[str]:
    notes: list[str] = []
    for level in levels:
        who = f"{_title(level)}, {level.level}" if level.level else _title(level)
        if level.share_of_records < 1:
            notes.append(
                f"{who}: operations on {100 * level.share_of_records:.3g} % of the records were "
                "recorded, the hottest and a random sample. Verdicts and quantiles are exact for "
                "these; the share of stale reads is an estimate for all records"
            )
        if level.unread:
            notes.append(
                f"{who}: {counted(level.unread, 'run')} can't be checked: an "
                "update writes one field of several and a read returns all, or operations couldn't "
                "be recorded in time"
            )
        if level.runs and level.stale is None:
            notes.append(
                f"{who}: the versions of reads are unknown: values are too short for a stamp, or "
                "nothing was read"
            )
        if level.deleted_records:
            notes.append(
                f"{who}: a run deleted {counted(level.deleted_records, 'record')}: of such, only "
                "linearizability is checked"
            )
    unpredicted = {
        level.predicted: None for level in levels if level.each and isinstance(level.predicted, str)
    }
    notes += [f"visibility isn't predicted everywhere: {reason}" for reason in unpredicted]
    every = sum(seen.shown is not None for level in levels for seen in _all(level))
    if every > shown:
        notes.append(f"{every - shown} more violations have a witness in their run's observed.json")
    return notes
