"""From runs with a partition to PACELC's letters: what each side saw, what the level costs without.

Evidence on the letter of the partition is taken from runs in which one partition was all that went
wrong, so that what is lost was lost to it. Shares are those of its last third: by then the system
has noticed, or never will, and what it does is its choice. Every write of such a run counts that
was acknowledged, and every read that began after the partition did.

The price without a partition is taken from what was due before the first fault of each run, or from
the whole of a run without: pairs of runs that differ in nothing but the level.

Start here: `letters` (a row a database and level), `sides` (what is behind its first letter),
`served` (the same over time).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from pacelc.analysis.classification import (
    Answers,
    Letter,
    Side,
    answers_alone,
    partition_letter,
    price_letter,
    qualified_letter,
)
from pacelc.analysis.comparison import pairs_of
from pacelc.analysis.estimate import Estimate, geometric_mean_estimate
from pacelc.analysis.qualified import Qualified, qualified
from pacelc.analysis.quality import weaknesses
from pacelc.analysis.unavailability import (
    faults_in_force,
    records_of,
    timed_operations,
    unavailability_of_run,
)
from pacelc.analysis.verdict import CANT_TELL
from pacelc.analysis.versions import LOST, UNREAD, UNTOLD, WRITES, fates, stale_reads
from pacelc.databases import facts_of
from pacelc.names import PARTITIONS
from pacelc.store.format import READ_BACK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pacelc.analysis.design import Design
    from pacelc.store import Results
    from pacelc.store.format import RunRecord

    _Prices = dict[tuple[str, str], dict[str, Estimate]]

__all__ = ["letters", "prices", "read_back_frame", "served", "sides"]

LATE: Final = 1 / 3
"""Of a partition, the last part that tells what a system that has noticed it does."""
LEAST_OPERATIONS: Final = 100
"""Operations of a kind before the first fault, for their median to be one."""
LEAST_PAIRS: Final = 3
"""Pairs for a price to have an interval: that of two is about as wide as anything."""
_READS: Final = ("read", "scan")
_LOGGED: Final = (
    "record",
    "user",
    "sequence",
    "start_ns",
    "end_ns",
    "read_writer",
    "read_sequence",
    "read_origin",
    "torn",
    "field",
    "read_field",
)


# --- Under a partition ---


def sides(results: Results, design: Design) -> pl.DataFrame:
    """Return a row a database, level, partition and side of the client.

    Columns: ``database, level, partition, client, runs``; late in the partition ``reads_due,
    reads_ok, writes_due, writes_ok``; ``reads_longest_s, reads_total_s, writes_longest_s,
    writes_total_s``, time without success, means over runs; ``acknowledged, lost, unread`` writes;
    ``told, stale`` reads.
    """
    rows = [
        {
            "database": _database(record),
            "level": _level(record, design),
            **_seen(record, operations, fault),
            **_kept(results, source, record, operations),
        }
        for source, record, fault, operations in _partitioned_runs(results)
    ]
    frame = pl.DataFrame(rows, schema=_SIDE_SCHEMA)
    keys = ("database", "level", "partition", "client")
    times = [pl.col(name).mean() for name in _SIDE_SCHEMA if name.endswith("_s")]
    counts = [pl.col(name).sum() for name in _COUNTS]
    summed = frame.group_by(keys, maintain_order=True).agg(pl.len().alias("runs"), *counts, *times)
    return summed.sort(
        _place("database", _databases(results)),
        _place("level", design.levels),
        "partition",
        "client",
        maintain_order=True,
    )


def served(results: Results, design: Design) -> pl.DataFrame:
    """Return who was served in each second of the runs that `sides` sums up, runs together.

    Columns: ``partition, database, level, client, kind`` (reads, writes), ``t_s`` (the middle of
    the second), ``due``, ``share`` of it that succeeded; ``begin_s, end_s`` of the partition.
    """
    frames = [
        operations.filter((pl.col("due_s") >= 0) & (pl.col("due_s") < record.result.measured_s))
        .select(
            pl.lit(_partition(record, fault)[0]).alias("partition"),
            pl.lit(_database(record)).alias("database"),
            pl.lit(_level(record, design)).alias("level"),
            pl.lit(_partition(record, fault)[1]).alias("client"),
            pl.when(pl.col("operation").is_in(_READS))
            .then(pl.lit("reads"))
            .otherwise(pl.lit("writes"))
            .alias("kind"),
            (pl.col("due_s").floor() + 0.5).alias("t_s"),
            (pl.col("outcome") == "ok").alias("ok"),
            pl.lit(float(fault["begin_s"])).alias("begin_s"),
            pl.lit(float(fault["end_s"] or record.result.measured_s)).alias("end_s"),
        )
        .group_by("partition", "database", "level", "client", "kind", "t_s")
        .agg(pl.len().alias("due"), pl.col("ok").sum(), pl.col("begin_s", "end_s").first())
        for _, record, fault, operations in _partitioned_runs(results)
    ]
    keys = ("partition", "database", "level", "client", "kind", "t_s")
    if not frames:
        return pl.DataFrame(schema=_SERVED_SCHEMA)
    return (
        pl.concat(frames)
        .group_by(keys)
        .agg(
            pl.col("due").sum(),
            (pl.col("ok").sum() / pl.col("due").sum()).alias("share"),
            pl.col("begin_s").min(),
            pl.col("end_s").max(),
        )
        .sort("partition", _place("database", _databases(results)), *keys[2:])
        .select(_SERVED_SCHEMA.names())
    )


def _databases(results: Results) -> list[str]:
    return [str(name) for name in results.levels.get("database", ())]


def _place(column: str, order: Sequence[str]) -> pl.Expr:
    places = {label: place for place, label in enumerate(order)}
    return pl.col(column).replace_strict(places, default=len(places), return_dtype=pl.Int64)


def _partitioned_runs(
    results: Results,
) -> Iterator[tuple[str, RunRecord, dict[str, Any], pl.DataFrame]]:
    """Yield each run in which one partition was all that went wrong: source, record, it, log."""
    for source, record in records_of(results):
        faults = faults_in_force(record)
        if len(faults) != 1 or faults[0]["fault"] not in PARTITIONS:
            continue
        operations = timed_operations(results, source, record, *_LOGGED)
        if operations is not None:
            yield source, record, faults[0], operations


def _partition(record: RunRecord, fault: Mapping[str, Any]) -> tuple[str, str]:
    """Return which partition it was, and the client's side."""
    entry = next(f for f in record.faults if f.begin_unix_us == fault["begin_unix_us"])
    return f"{entry.fault} {entry.target}", str(entry.details.get("client", "both"))


def _seen(record: RunRecord, operations: pl.DataFrame, fault: Mapping[str, Any]) -> dict[str, Any]:
    measured_s = record.result.measured_s
    begin_s, end_s = float(fault["begin_s"]), min(fault["end_s"] or measured_s, measured_s)
    late = operations.filter(
        (pl.col("due_s") >= end_s - LATE * (end_s - begin_s)) & (pl.col("due_s") < end_s)
    )
    partition, client = _partition(record, fault)
    row: dict[str, Any] = {
        "partition": partition,
        "client": client,
        **_answers(late, "reads", _READS, end_s),
        **_answers(late, "writes", WRITES, end_s),
    }
    silent = unavailability_of_run(operations, first_fault_s=begin_s, measured_s=measured_s)
    for name, kinds in (("reads", _READS), ("writes", WRITES)):
        own = [kind for kind in silent if kind["operation"] in kinds]
        for metric in ("longest_s", "total_s"):
            row[f"{name}_{metric}"] = max((float(k[metric]) for k in own), default=None)
    return row | _stale(record, operations, begin_s)


def _answers(late: pl.DataFrame, name: str, kinds: Sequence[str], end_s: float) -> dict[str, int]:
    """Count what was due late in a partition, and what succeeded before it ended."""
    own = late.filter(pl.col("operation").is_in(kinds))
    ok = own.filter((pl.col("outcome") == "ok") & (pl.col("end_s") <= end_s))
    return {f"{name}_due": own.height, f"{name}_ok": ok.height}


def _kept(
    results: Results, source: str, record: RunRecord, operations: pl.DataFrame
) -> dict[str, int]:
    """Count acknowledged writes whose fate can be told, if anybody has looked."""
    nothing = {"acknowledged": 0, "lost": 0, "unread": 0}
    after = results.frame_of(source, record.run, READ_BACK_FILE)
    if after is None or record.read_back is None:
        return nothing
    found = fates(operations, after, record)
    fate = found.filter(pl.col("fate") != UNTOLD).get_column("fate")
    return {
        "acknowledged": fate.len(),
        "lost": int((fate == LOST).sum()),
        "unread": int((fate == UNREAD).sum()),
    }


def _stale(record: RunRecord, operations: pl.DataFrame, begin_s: float) -> dict[str, int]:
    found = stale_reads(operations, record)
    if found is None:
        return {"told": 0, "stale": 0}
    begin_ns = (begin_s + (record.result.before_measure_s or 0.0)) * 1e9
    late = found.filter(pl.col("start_ns") >= begin_ns).get_column("stale")
    return {"told": late.len(), "stale": int(late.sum())}


def read_back_frame(results: Results) -> pl.DataFrame:
    """Return what was read back, a row a run: acknowledged inserts, found, missing, unread.

    Columns: ``source, run, scenario, repetition, level, acknowledged, found, missing, unread,
    first_missing_s, last_missing_s, examples, unacknowledged, unacknowledged_found, error``.
    """
    rows = [
        {
            "source": source,
            "run": record.run,
            "scenario": record.scenario.number,
            "repetition": record.repetition,
            "level": kept.level,
            **kept.inserts.model_dump(exclude={"examples"}),
            "examples": " ".join(map(str, kept.inserts.examples)),
            "unacknowledged": kept.unacknowledged.fail + kept.unacknowledged.unknown,
            "unacknowledged_found": kept.unacknowledged.found,
            "error": kept.error,
        }
        for source, record in records_of(results)
        if (kept := record.read_back) is not None
    ]
    return pl.DataFrame(rows, schema=_READ_BACK_SCHEMA)


# --- Without one ---


Typical = Literal["median", "mean"]
"""What stands for a run's operations of a kind."""
_TYPICALS: Final[tuple[Typical, ...]] = ("median", "mean")


def prices(results: Results, design: Design, typical: Typical = "median") -> _Prices:
    """Return, by database and level, how much longer each kind takes than at the weakest level.

    In per cent, as the geometric mean over pairs of runs that differ in the level alone, or of
    clusters where levels had their own (`pacelc.analysis.comparison.pairs_of`); of medians, since a
    stretch of seconds has few operations in its tail. The weakest level is the study's first.

    Parameters
    ----------
    typical
        Medians decide letters; with means it is told where they would decide otherwise.
    """
    times: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    for source, record in records_of(results):
        others = [str(v) for k, v in record.scenario.factors.items() if k != design.level_factor]
        run = {
            "source_": source,
            "cluster_started_utc": record.cluster_started_utc,
            "repetition": record.repetition,
            "others": "\0".join(others),
        }
        for kind, time_ns in _times_ns(results, source, record, typical).items():
            key = (_database(record), _level(record, design), kind)
            times.setdefault(key, []).append({**run, "time_ns": time_ns})
    frames = {key: pl.DataFrame(rows, schema=_TIMES_SCHEMA) for key, rows in times.items()}
    found: dict[tuple[str, str], dict[str, Estimate]] = {}
    for (database, level, kind), runs in frames.items():
        reference = frames.get((database, design.reference, kind))
        if level == design.reference or reference is None:
            continue
        _, pairs = pairs_of((reference, runs), ("repetition", "others"), "time_ns")
        if not len(pairs):
            continue
        ratio = geometric_mean_estimate(pairs[:, 1] / pairs[:, 0])
        if len(pairs) < LEAST_PAIRS:
            ratio = ratio.without_interval("no interval: too few pairs")
        found.setdefault((database, level), {})[kind] = ratio.as_change()
    return found


def _times_ns(
    results: Results, source: str, record: RunRecord, typical: Typical
) -> dict[str, float]:
    """Return the median or mean of each kind while nothing was wrong, in nanoseconds."""
    faults = [f for f in record.faults if f.by != "server"]
    if not faults:
        summaries = {kind: s.latency_ns for kind, s in record.result.operations.items()}
        return {
            kind: time_ns
            for kind, summary in summaries.items()
            if (time_ns := summary.p50 if typical == "median" else summary.mean)
            and summary.n >= LEAST_OPERATIONS
        }
    begun = faults_in_force(record)
    operations = timed_operations(results, source, record)
    if operations is None or len(begun) < len(faults):
        return {}
    before = operations.filter(
        (pl.col("outcome") == "ok")
        & (pl.col("due_s") >= 0)
        & (pl.col("end_s") < float(begun[0]["begin_s"]))
    )
    took_ns = (pl.col("end_s") - pl.col("due_s")) * 1e9
    time_ns = took_ns.median() if typical == "median" else took_ns.mean()
    kinds = before.group_by("operation").agg(time_ns.alias("time_ns"), pl.len()).sort("operation")
    return {
        row["operation"]: float(row["time_ns"])
        for row in kinds.iter_rows(named=True)
        if row["len"] >= LEAST_OPERATIONS and row["time_ns"] > 0
    }


# --- Both ---


def letters(results: Results, design: Design, seen: pl.DataFrame) -> pl.DataFrame:
    """Return a row a database and level of the runs with faults and of those without.

    Parameters
    ----------
    seen
        What `sides` returned.

    Returns
    -------
    DataFrame
        ``database, level, failover, letters, partition, partition_reason, partition_why, else,
        else_reason, else_why``; ``letters`` such as ``PA/EL``, with ``?`` for what can't be told,
        and a reason's kind for each. ``failover`` says who takes over in these clusters. Empty
        where no run had a partition.
    """
    if seen.height == 0:
        return pl.DataFrame(schema=_LETTERS_SCHEMA)
    weak = weaknesses(results)
    serving = qualified(results, design, "service", weak)
    seen_rest = sides(serving.results, serving.design) if serving.without else seen
    price = _priced(results, design, qualified(results, design, "speed", weak))
    rows: list[dict[str, str | None]] = []
    for database, level in seen.select("database", "level").unique(maintain_order=True).iter_rows():
        own, rest = (
            [_side(row) for row in frame.iter_rows(named=True)]
            for frame in (
                every.filter((pl.col("database") == database) & (pl.col("level") == level))
                for every in (seen, seen_rest)
            )
        )
        under = partition_letter(own)
        if not any(side.lost or side.stale for side in own):  # which nothing else excuses
            under = qualified_letter(under, partition_letter(rest), serving.without)
        without = price(database, level)
        pair = "/".join(x.letter or f"{kind}?" for kind, x in (("P", under), ("E", without)))
        facts = facts_of(database)
        rows.append(
            {
                "database": database,
                "level": level,
                "failover": facts.failover,
                "letters": pair if pair != "P?/E?" else CANT_TELL,
                "partition": under.letter or CANT_TELL,
                "partition_reason": under.reason,
                "partition_why": under.why + (facts.partition_note if under.letter else ""),
                "else": without.letter or CANT_TELL,
                "else_reason": without.reason,
                "else_why": without.why,
            }
        )
    return pl.DataFrame(rows, schema=_LETTERS_SCHEMA)


def _priced(results: Results, design: Design, rest: Qualified) -> Callable[[str, str], Letter]:
    """Return what gives the letter without a partition of a database at a level."""
    paid: dict[Typical, tuple[_Prices, _Prices]] = {}
    for typical in _TYPICALS:
        every = prices(results, design, typical)
        few = prices(rest.results, rest.design, typical) if rest.without else every
        paid[typical] = every, few
    in_force: dict[tuple[str, str], dict[str, str]] = {}
    for _, record in records_of(results):
        in_force.setdefault((_database(record), _level(record, design)), {}).update(
            record.consistency
        )

    def by(typical: Typical, key: tuple[str, str]) -> Letter:
        every, few = (
            price_letter(found.get(key, {}), weakest=design.reference, alone=None)
            for found in paid[typical]
        )
        return qualified_letter(every, few, rest.without)

    def price(database: str, level: str) -> Letter:
        if len({name for known, name in in_force if known == database}) == 1:
            alone = "one level was measured, and nothing to compare it with"
            return Letter(None, alone, "not measured")
        if level == design.reference:
            waits_for_nobody = answers_alone(database, in_force[database, level])
            return price_letter({}, weakest=level, alone=waits_for_nobody)
        letter, other = by("median", (database, level)), by("mean", (database, level))
        if letter.letter and other.letter and letter.letter != other.letter:
            contradicted = f"; by means instead of medians it would be {other}: {other.why}"
            return replace(letter, why=letter.why + contradicted)
        return letter

    return price


def _side(row: Mapping[str, Any]) -> Side:
    return Side(
        row["partition"],
        row["client"],
        Answers(row["reads_due"], row["reads_ok"]),
        Answers(row["writes_due"], row["writes_ok"]),
        *(row[name] for name in ("acknowledged", "lost", "unread", "told", "stale")),
    )


def _database(record: RunRecord) -> str:
    return str(record.scenario.settings.get("database", ""))


def _level(record: RunRecord, design: Design) -> str:
    return "" if design.level_factor is None else str(record.scenario.factors[design.level_factor])


_COUNTS: Final = (
    *(f"{kind}_{what}" for kind in ("reads", "writes") for what in ("due", "ok")),
    *("acknowledged", "lost", "unread", "told", "stale"),
)
_SIDE_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(("database", "level", "partition", "client"), pl.String),
        **dict.fromkeys(_COUNTS, pl.Int64),
        **{
            f"{kind}_{metric}_s": pl.Float64
            for kind in ("reads", "writes")
            for metric in ("longest", "total")
        },
    }
)
_SERVED_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(("partition", "database", "level", "client", "kind"), pl.String),
        "t_s": pl.Float64,
        "due": pl.Int64,
        **dict.fromkeys(("share", "begin_s", "end_s"), pl.Float64),
    }
)
_LETTERS_SCHEMA: Final = pl.Schema(
    dict.fromkeys(
        (
            *("database", "level", "failover", "letters"),
            *("partition", "partition_reason", "partition_why"),
            *("else", "else_reason", "else_why"),
        ),
        pl.String,
    )
)
_TIMES_SCHEMA: Final = pl.Schema(
    {
        "source_": pl.String,
        "cluster_started_utc": pl.Datetime("us", "UTC"),
        "repetition": pl.Int64,
        "others": pl.String,
        "time_ns": pl.Float64,
    }
)
_READ_BACK_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(("source", "run"), pl.String),
        **dict.fromkeys(("scenario", "repetition"), pl.Int64),
        "level": pl.String,
        **dict.fromkeys(("acknowledged", "found", "missing", "unread"), pl.Int64),
        **dict.fromkeys(("first_missing_s", "last_missing_s"), pl.Float64),
        "examples": pl.String,
        **dict.fromkeys(("unacknowledged", "unacknowledged_found"), pl.Int64),
        "error": pl.String,
    }
)
