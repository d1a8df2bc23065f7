"""What clients observed at each level, beside what the level promises.

The run is the unit: operations of a run share its cluster and its minute, so that a thousand stale
reads of one run are one observation of what the next run would show. Hence shares are means over
runs, each load counting the same, with binomial intervals across runs. Where no run showed a
violation, there are two upper bounds:

- of the *runs* that would show one: 1 - 0.05^(1/n), the exact binomial bound after none of n. The
  share of operations isn't larger either, and this is the end of its interval;
- of the *operations*: 3/N, the rule of three (Hanley and Lippman-Hand 1983). It supposes that
  operations are independent, which those of a run aren't: the truth may be higher.

Map
---
Seen            one guarantee at one level: what was promised, what was observed
Stale           how stale reads were
Level           everything observed at one level of one group
observations    from results, in the study's order
price_group     where the same level's price is
observed_frame, staleness_frame     the same as tables
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import polars as pl

from pacelc.analysis.design import ALL_OPERATIONS
from pacelc.analysis.estimate import Cells, Estimate, marginal_mean, none_bound, share_estimate
from pacelc.analysis.pbs import cannot_tell, predicted_of_reads
from pacelc.analysis.summary import estimate_columns
from pacelc.store.observed import SESSION_GUARANTEES
from pacelc.study.promises import promised, promises

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pacelc.analysis.design import Design, Group
    from pacelc.store import Results
    from pacelc.store.format import RunRecord
    from pacelc.store.observed import Observed, Witness
    from pacelc.study.promises import Promise

__all__ = [
    "GUARANTEES",
    "Level",
    "Seen",
    "Shown",
    "Stale",
    "observations",
    "observed_frame",
    "price_group",
    "staleness_frame",
]

GUARANTEES: Final = ("linearizable", *SESSION_GUARANTEES)
"""That are promised or not, and looked for, in the order in which they are shown."""
INTEGRITY: Final = ("no_aborted_reads", "no_unwritten_reads", "no_torn_rows")
"""What no level promises in so many words, and every one is expected to keep."""
_AS_MONOTONIC_READS: Final = ("monotonic_writes", "writes_follow_reads")
"""A session sees these only where its reads don't go back, too: see the crate's ``sessions``."""
_TAIL: Final = 0.999


@dataclass(frozen=True)
class Shown:
    """A witness, and the run that it is from."""

    run: str
    witness: Witness


@dataclass(frozen=True)
class Seen:
    """One guarantee at one level.

    Attributes
    ----------
    promise
        The weakest that the workload's kinds of operation have; None where nobody says anything.
    runs, violated_runs
        Runs in which something was eligible, and those that showed a violation.
    eligible, violated, untold
        Operations of these runs, or records where the guarantee is ``linearizable``: of how many
        something was demanded, how many broke it, of how many it can't be told.
    share
        Violated among those that can be told, 0 … 1, across runs; None where none can be told.
    shown
        The violation with the fewest operations.
    """

    guarantee: str
    promise: Promise | None
    runs: int
    violated_runs: int
    eligible: int
    violated: int
    untold: int
    share: Estimate | None
    shown: Shown | None

    @property
    def unit(self) -> str:
        """What is counted."""
        return "records" if self.guarantee == "linearizable" else "reads"

    @property
    def runs_bound(self) -> float | None:
        """No larger share of runs would show a violation, with 95 % confidence, after none did."""
        return none_bound(self.runs) if self.runs and not self.violated_runs else None

    @property
    def share_bound(self) -> float | None:
        """No larger share of operations is a violation, were they independent, after none was."""
        told = self.eligible - self.untold
        return min(1.0, 3 / told) if told and not self.violated_runs else None

    @property
    def broke_its_word(self) -> bool:
        """Whether it was promised without a condition, and seen violated."""
        word = None if self.promise is None else self.promise.word
        return self.violated_runs > 0 and (word == "holds" or self.guarantee in INTEGRITY)


@dataclass(frozen=True)
class Stale:
    """How stale reads were, across runs.

    Attributes
    ----------
    reads, missed
        Reads whose write is known; reads that found nothing.
    certainly, possibly
        Share of reads that were stale for certain; and of those that weren't fresh for certain.
    least_ms, most_ms
        The 99.9th percentile of staleness, at least and at most; ``most_ms`` is None where nothing
        says in some run.
    least_versions, most_versions
        The same in versions.
    """

    reads: int
    missed: int
    certainly: Estimate
    possibly: Estimate
    least_ms: Estimate
    most_ms: Estimate | None
    least_versions: Estimate
    most_versions: Estimate


@dataclass(frozen=True, eq=False)
class Level:
    """What clients observed at one level of one group, over its runs.

    Attributes
    ----------
    runs
        Whose operations were recorded and could be read.
    unread
        Runs that were to be observed, and whose log can't say what reads saw.
    share_of_records
        The smallest share of the loaded records that a run's sample had.
    seen
        One entry a guarantee that was looked for.
    integrity
        Of :data:`INTEGRITY`, those that were violated.
    each
        What each run observed.
    predicted
        The visibility that a model predicts of its reads, ``from_ns, probability``; or why it
        can't tell.
    """

    group: Group
    level: str
    runs: int
    unread: int
    share_of_records: float
    deleted_records: int
    promises: dict[str, Promise]
    seen: tuple[Seen, ...]
    integrity: tuple[Seen, ...]
    stale: Stale | None
    each: tuple[Observed, ...]
    predicted: pl.DataFrame | str

    @property
    def panel(self) -> str:
        """What figures call its group."""
        return str(self.group)


def observations(results: Results, design: Design) -> tuple[Level, ...]:
    """Return what clients observed, a group and level at a time; nothing where nobody looked."""
    if not results.findings.height and not any(map(_was_to_be_observed, results.records)):
        return ()
    sources = results.runs.get_column("source")
    records = {(s, r.run): r for s, r in zip(sources, results.records, strict=True)}
    found: list[Level] = []
    for group, members in _groups(results, design).items():
        rows = pl.concat(design.of_group(member) for member in members).unique(
            ["source_", "run"], maintain_order=True
        )
        for level in design.levels:
            runs = rows.filter(pl.col("level") == level).sort(
                "load", "source_", "scenario", "repetition"
            )
            keys = list(runs.select("source_", "run").iter_rows())
            of_runs = [
                (load, records[key], results.observed(*key))
                for load, key in zip(runs.get_column("load"), keys, strict=True)
            ]
            if any(seen is not None or _was_to_be_observed(r) for _, r, seen in of_runs):
                predicted = _predicted(results, [(key, records[key]) for key in keys])
                found.append(_level(group, level, of_runs, predicted))
    return tuple(found)


def _was_to_be_observed(record: RunRecord) -> bool:
    return bool(record.scenario.settings.get("observe"))


def _groups(results: Results, design: Design) -> dict[Group, list[Group]]:
    """Return groups, with the design's of each: a run observes all kinds of operation."""
    groups: dict[Group, list[Group]] = {}
    for group in design.groups:
        whole = group if "operation" in results.factors else group.without("operation")
        groups.setdefault(whole, []).append(group)
    return groups


_Runs = list[tuple[float, "RunRecord", "Observed | None"]]


def _predicted(
    results: Results, runs: Iterable[tuple[tuple[str, str], RunRecord]]
) -> pl.DataFrame | str:
    """Return what is predicted of the reads of all runs together; or why it can't be told."""
    frames: list[pl.DataFrame] = []
    for (source, run), record in runs:
        if (reason := cannot_tell(record)) is not None:
            return reason
        operations = results.frame_of(source, run, "operations.parquet")
        if operations is not None:
            said = predicted_of_reads(record, operations)
            if isinstance(said, str):
                return said
            frames.append(said)
    if not frames:
        return "no operations were recorded"
    reads = pl.col("reads")
    mean = (pl.col("probability") * reads).sum() / reads.sum()
    return pl.concat(frames).group_by("from_ns").agg(mean.alias("probability")).sort("from_ns")


def _level(group: Group, level: str, runs: _Runs, predicted: pl.DataFrame | str) -> Level:
    known = [(load, record, seen) for load, record, seen in runs if seen is not None]
    said = _promises(record for _, record, _ in runs)
    samples = [record.result.observed for _, record, _ in known if record.result.observed]
    seen = [_seen(name, known, said) for name in GUARANTEES]
    broken = [_seen(name, known, {}) for name in INTEGRITY]
    return Level(
        group=group,
        level=level,
        runs=len(known),
        unread=sum(seen is None and _was_to_be_observed(record) for _, record, seen in runs),
        share_of_records=min((s.share_of_records for s in samples), default=1.0),
        deleted_records=sum(seen.deleted_records for *_, seen in known),
        promises=said,
        seen=tuple(seen),
        integrity=tuple(finding for finding in broken if finding.violated),
        stale=_stale(known),
        each=tuple(seen for *_, seen in known),
        predicted=predicted,
    )


def _promises(records: Iterable[RunRecord]) -> dict[str, Promise]:
    """Return each guarantee's weakest promise over the runs' levels, as clients see it."""
    from pacelc import _engine  # noqa: PLC0415 - reports are written without it elsewhere

    weakest: dict[str, Promise] = {}
    asked: list[tuple[Any, ...]] = []
    for record in records:
        settings = record.scenario.settings
        database = settings.get("database", record.scenario.factors.get("database"))
        kinds = set(cast("dict[str, Any]", settings.get("workload", {})).get("mix") or ())
        size = (settings.get("nodes", 3), settings.get("replication", 3))
        question = (database, settings.get("consistency"), *size, kinds)
        if question in asked:
            continue
        asked.append(question)
        try:
            pairs = promises(str(database), settings.get("consistency"), *size)
        except _engine.Refused:
            return {}
        for name, promise in promised(pairs, kinds).items():
            known = weakest.setdefault(name, promise)
            if promise.strength < known.strength:
                weakest[name] = promise
    reads = weakest.get("monotonic_reads")
    if reads is not None and reads.word != "holds":
        for name in _AS_MONOTONIC_READS:
            # Of two conditions, that of monotonic reads: it includes the other wherever both are.
            if name in weakest and reads.strength <= weakest[name].strength:
                weakest[name] = reads
    return weakest


def _seen(name: str, runs: Sequence[tuple[float, RunRecord, Observed]], said: Any) -> Seen:
    findings = [
        (load, record.run, finding)
        for load, record, seen in runs
        if (finding := seen.finding(name)) is not None and finding.eligible
    ]
    told = [
        (load, finding.violated / of, of)
        for load, _, finding in findings
        if (of := finding.eligible - finding.untold) > 0
    ]
    witnesses = [Shown(run, f.witness) for _, run, f in findings if f.witness is not None]
    return Seen(
        guarantee=name,
        promise=said.get(name),
        # A run of which nothing can be told has shown nothing, either way.
        runs=sum(f.eligible > f.untold or f.violated > 0 for *_, f in findings),
        violated_runs=sum(f.violated > 0 for *_, f in findings),
        eligible=sum(f.eligible for *_, f in findings),
        violated=sum(f.violated for *_, f in findings),
        untold=sum(f.untold for *_, f in findings),
        share=_share(told) if told else None,
        shown=min(witnesses, key=lambda s: len(s.witness.operations), default=None),
    )


def _mean(values: Sequence[tuple[float, float]]) -> Estimate:
    """Mean over loads of (load, value), across runs."""
    return marginal_mean(_cells(values))


def _share(values: Sequence[tuple[float, float, int]]) -> Estimate:
    """Share over loads of (load, share, of how many), across runs."""
    shares = _cells([(load, share) for load, share, _ in values])
    return share_estimate(shares, _cells([(load, float(of)) for load, _, of in values]))


def _cells(values: Sequence[tuple[float, float]]) -> Cells:
    by_load: dict[float, list[float]] = {}
    for load, value in values:
        by_load.setdefault(load, []).append(value)
    return Cells(tuple(by_load), tuple(np.array(of, dtype=np.float64) for of in by_load.values()))


def _of_all(estimated: float | None, of_the_sample: float) -> float:
    return of_the_sample if estimated is None else estimated


def _stale(runs: Sequence[tuple[float, RunRecord, Observed]]) -> Stale | None:
    known = [(load, seen.staleness) for load, _, seen in runs if seen.staleness.reads]
    tails = [
        (load, quantile)
        for load, staleness in known
        for quantile in staleness.quantiles
        if quantile.q == _TAIL
    ]
    if not known or not tails:
        return None

    def tail(value: Callable[[Any], float]) -> Estimate:
        return _mean([(load, value(quantile)) for load, quantile in tails])

    bounded = all(quantile.most_ns is not None for _, quantile in tails)
    return Stale(
        reads=sum(staleness.reads for _, staleness in known),
        missed=sum(seen.missed for *_, seen in runs),
        certainly=_share(
            [(load, _of_all(s.stale_share, s.stale / s.reads), s.reads) for load, s in known]
        ),
        possibly=_share(
            [(load, 1 - _of_all(s.fresh_share, s.fresh / s.reads), s.reads) for load, s in known]
        ),
        least_ms=tail(lambda q: q.least_ns / 1e6),
        most_ms=tail(lambda q: q.most_ns / 1e6) if bounded else None,
        least_versions=tail(lambda q: q.least_versions),
        most_versions=tail(lambda q: q.most_versions),
    )


def price_group(level: Level, design: Design) -> Group | None:
    """Return the design's group that has the price of a level: of all operations together."""
    whole = [g for g in design.groups if level.group in (g, g.without("operation"))]
    return next((g for g in whole if g.get("operation") == ALL_OPERATIONS), next(iter(whole), None))


def observed_frame(levels: Sequence[Level]) -> pl.DataFrame:
    """Return a row a group, level and guarantee.

    ``group, level, guarantee, promised, condition, source, runs, violated_runs, eligible, violated,
    untold``, the share of operations as an estimate, ``runs_bound, share_bound, witness_run,
    witness``.
    """
    rows = [
        {
            "group": level.panel,
            "level": level.level,
            "guarantee": seen.guarantee,
            "promised": None if seen.promise is None else seen.promise.word,
            "condition": None if seen.promise is None else seen.promise.condition,
            "source": None if seen.promise is None else seen.promise.source.url,
            **{
                name: getattr(seen, name)
                for name in ("runs", "violated_runs", "eligible", "violated", "untold")
            },
            **estimate_columns(seen.share),
            "runs_bound": seen.runs_bound,
            "share_bound": seen.share_bound,
            "witness_run": None if seen.shown is None else seen.shown.run,
            "witness": None if seen.shown is None else seen.shown.witness.explanation,
        }
        for level in levels
        for seen in (*level.seen, *level.integrity)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def staleness_frame(levels: Sequence[Level]) -> pl.DataFrame:
    """Return a row a group, level and measure of staleness: ``group, level, measure``, estimate."""
    rows = [
        {
            "group": level.panel,
            "level": level.level,
            "measure": name,
            **estimate_columns(getattr(level.stale, name)),
        }
        for level in levels
        if level.stale is not None
        for name in (
            "certainly",
            "possibly",
            "least_ms",
            "most_ms",
            "least_versions",
            "most_versions",
        )
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
