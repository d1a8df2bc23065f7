"""What faults cost: time without success, time to notice, time to recover, errors.

Everything counts from when an operation was *due*. A closed loop asks nothing while it waits for an
answer, so it can't tell for how long nobody would have been served; with a schedule, operations are
due whether or not the database answers. The log has those times. Of runs whose log is older,
`due_ns` finds them again: a constant schedule's follow from its rate and from the order of the
starts; of a Poisson process the start stands for them. A closed loop has none, and `weaknesses`
says so.

The words, for operations of one kind:

silence
    A stretch in which operations were due and none succeeded: from the last success before it, or
    from when the first operation after that was due, to the next success.
unavailable
    A silence longer than any that is usual: 0.1 s, ten operations' due times, twice the longest
    silence before the first fault, whichever is longest.
detected
    After a fault began, the first operation that didn't succeed, or the first silence to become
    unavailability, whichever came first.
steady again
    From when on five intervals in a row had a throughput within the band: mean ± the larger of 10 %
    and three standard deviations of the intervals of the last 10 s before the run's first fault.
    Catching up is not steady. An interval is as long as 20 successes take, 0.1 s at least. Looked
    for from when the fault was detected until the next one begins.

Start here: `unavailability` and `recovery` (rows of runs), `estimates` (repetitions together).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pacelc.analysis.estimate import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.store import Results
    from pacelc.store.format import FaultEntry, RunRecord

    Floats = NDArray[np.float64]

__all__ = [
    "RECOVERY_METRICS",
    "UNAVAILABILITY_METRICS",
    "due_ns",
    "estimates",
    "faults_frame",
    "faults_in_force",
    "operations_by_run",
    "records_of",
    "recovery",
    "recovery_of_run",
    "silences",
    "steady_again_s",
    "threshold_s",
    "timed_operations",
    "unavailability",
    "unavailability_of_run",
]

LEAST_S: Final = 0.1
DUE_TIMES: Final = 10
USUAL: Final = 2.0
BEFORE_S: Final = 10.0
BAND: Final = 0.10
DEVIATIONS: Final = 3.0
STEADY: Final = 5
PER_INTERVAL: Final = 20
LONGEST_INTERVAL_S: Final = 5.0

UNAVAILABILITY_METRICS: Final = {
    "longest_s": "longest time without success",
    "total_s": "total time without success",
}
RECOVERY_METRICS: Final = {
    "detected_s": "time to detect",
    "success_after_begin_s": "first success after the fault began",
    "success_after_end_s": "first success after it ended",
    "steady_after_begin_s": "steady again after the fault began",
    "steady_after_end_s": "steady again after it ended",
}


# --- Pure functions ---


def due_ns(
    operations: pl.DataFrame, *, arrivals: str, rate_per_s: float | None, shared: bool, users: int
) -> NDArray[np.int64]:
    """Return when each operation was due, in the rows' order and on their clock.

    Parameters
    ----------
    operations
        ``start_ns``, ``user``: all of a run from its first on.
    arrivals, rate_per_s, users
        The run's settings.
    shared
        Whether whoever is free takes what is due next, or each user has a schedule of its own.

    Notes
    -----
    Operations start in the order in which they are due, so the k-th to start was due at
    ``origin + k / rate``. None starts before it is due and those on time start when they are, so
    the origin is the least of ``start - k / rate``.
    """
    start = operations.get_column("start_ns").cast(pl.Int64).to_numpy()
    if arrivals in ("closed", "poisson") or rate_per_s is None or start.size == 0:
        return start.copy()
    if arrivals == "target" or not shared:
        user = operations.get_column("user").to_numpy()
        gap_ns = users / rate_per_s * 1e9
        due = np.empty_like(start)
        for number in np.unique(user):
            own = user == number
            due[own] = _constant_due(start[own], gap_ns)
        return due
    return _constant_due(start, 1e9 / rate_per_s)


def _constant_due(start: NDArray[np.int64], gap_ns: float) -> NDArray[np.int64]:
    order = np.argsort(start, kind="stable")
    number = np.empty(start.size, dtype=np.float64)
    number[order] = np.arange(start.size)
    origin = float(np.min(start - number * gap_ns))
    return np.minimum(start, np.round(origin + number * gap_ns).astype(np.int64))


def silences(due_s: Floats, end_s: Floats, ok: NDArray[np.bool_], until_s: float) -> Floats:
    """Return every stretch from 0 to ``until_s`` without success while something was due.

    Returns
    -------
    (n, 2) array
        Begin and end of each, in order; one between any two successes, however short.
    """
    order = np.argsort(end_s, kind="stable")
    ends, dues = end_s[order], due_s[order]
    successes = np.sort(end_s[ok])
    successes = successes[(successes > 0) & (successes < until_s)]
    begins = np.concatenate(([0.0], successes))
    # Of what had not ended yet: when the first was due.
    first_due = np.append(np.minimum.accumulate(dues[::-1])[::-1], np.inf)
    waiting = first_due[np.searchsorted(ends, begins, side="right")]
    begins = np.maximum(begins, waiting)
    found = np.column_stack((begins, np.append(successes, until_s)))
    return found[found[:, 0] < found[:, 1]]


def threshold_s(before: Floats, rate_per_s: float) -> float:
    """Return how long a silence must be to be unavailability.

    Parameters
    ----------
    before
        Silences before the first fault.
    rate_per_s
        Operations of the kind that were due a second.
    """
    usual = USUAL * float((before[:, 1] - before[:, 0]).max()) if before.size else 0.0
    return max(LEAST_S, DUE_TIMES / rate_per_s if rate_per_s > 0 else 0.0, usual)


def steady_again_s(
    success_s: Floats, *, first_fault_s: float, from_s: float, until_s: float
) -> float | None:
    """Return how long after ``from_s`` throughput was steady again; see the module.

    Parameters
    ----------
    success_s
        When operations succeeded.
    first_fault_s
        When the run's first fault began: what was before is the band.

    Returns
    -------
    float or None
        None if it never was, or if nothing is known of how things were before.
    """
    begin_s = max(0.0, first_fault_s - BEFORE_S)
    before = success_s[(success_s >= begin_s) & (success_s < first_fault_s)]
    length_s = first_fault_s - begin_s
    if before.size < PER_INTERVAL * STEADY:
        return None
    width_s = min(max(LEAST_S, PER_INTERVAL * length_s / before.size), LONGEST_INTERVAL_S)
    intervals = int(length_s / width_s)
    if intervals < STEADY:
        return None
    usual = _counts(before, first_fault_s - intervals * width_s, width_s, intervals)
    band = max(BAND * float(usual.mean()), DEVIATIONS * float(usual.std(ddof=1)))
    # A hair more, since 2.0 s are 20 intervals of 0.1 s whatever floating point says.
    counts = _counts(success_s, from_s, width_s, int((until_s - from_s) / width_s + 1e-6))
    inside = np.abs(counts - usual.mean()) <= band
    if inside.size < STEADY:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(inside, STEADY).all(axis=1)
    return float(np.argmax(runs)) * width_s if runs.any() else None


def _steady_since(
    since_s: float, success_s: Floats, *, first_fault_s: float, from_s: float, until_s: float
) -> float | None:
    """Return `steady_again_s`, looked for ``from_s`` on and counted from ``since_s``."""
    found = steady_again_s(success_s, first_fault_s=first_fault_s, from_s=from_s, until_s=until_s)
    return None if found is None else from_s - since_s + found


def _counts(times_s: Floats, begin_s: float, width_s: float, number: int) -> NDArray[np.int64]:
    edges = begin_s + width_s * np.arange(max(0, number) + 1)
    return np.diff(np.searchsorted(times_s[np.argsort(times_s)], edges)).astype(np.int64)


def unavailability_of_run(
    operations: pl.DataFrame, *, first_fault_s: float | None, measured_s: float
) -> list[dict[str, Any]]:
    """Return a row a kind of operation: how long nothing of it succeeded, and its errors.

    Parameters
    ----------
    operations
        ``operation``, ``due_s``, ``end_s`` (from the beginning of measuring), ``outcome``,
        ``error``.
    first_fault_s
        When the first fault began; None if there was none.
    """
    rows: list[dict[str, Any]] = []
    for kind in _kinds(operations):
        due, end, ok, part = _arrays(operations, kind)
        found = silences(due, end, ok, measured_s)
        limit = _limit(found, due, first_fault_s, measured_s)
        lengths = found[:, 1] - found[:, 0]
        long = lengths[lengths > limit]
        rows.append(
            {
                "operation": kind,
                "threshold_s": limit,
                "longest_s": float(long.max()) if long.size else 0.0,
                "total_s": float(long.sum()),
                **_outcomes(part.filter((pl.col("due_s") >= 0) & (pl.col("due_s") < measured_s))),
            }
        )
    return rows


def recovery_of_run(
    operations: pl.DataFrame, faults: Sequence[Mapping[str, Any]], *, measured_s: float
) -> list[dict[str, Any]]:
    """Return a row a fault and kind of operation: when it was noticed, and when it was over.

    Parameters
    ----------
    operations
        As `unavailability_of_run` takes them.
    faults
        ``begin_s``, ``end_s`` (None where it went on), in the order of beginnings.
    """
    rows: list[dict[str, Any]] = []
    begins = sorted(float(fault["begin_s"]) for fault in faults)
    for number, fault in enumerate(faults, 1):
        begin_s, end_s = float(fault["begin_s"]), fault["end_s"]
        until_s = min([b for b in begins if b > begin_s], default=measured_s)
        for kind in _kinds(operations):
            due, end, ok, part = _arrays(operations, kind)
            limit = _limit(silences(due, end, ok, measured_s), due, begins[0], measured_s)
            success = np.sort(end[ok])
            row: dict[str, Any] = {"number": number, "operation": kind}
            row |= _detected(part, begin_s, until_s, measured_s, limit)
            # An isolated primary serves on until it notices: that is not the end of it.
            noticed_s = begin_s + (row["detected_s"] or 0.0)
            row["success_after_begin_s"] = _first(end[ok & (due >= begin_s)], begin_s)
            row["steady_after_begin_s"] = _steady_since(
                begin_s, success, first_fault_s=begins[0], from_s=noticed_s, until_s=until_s
            )
            if end_s is None or end_s >= measured_s:
                row |= {"success_after_end_s": None, "steady_after_end_s": None}
            else:
                later_s = min([b for b in begins if b > end_s], default=measured_s)
                row["success_after_end_s"] = _first(end[ok & (end >= end_s)], end_s)
                row["steady_after_end_s"] = _steady_since(
                    end_s,
                    success,
                    first_fault_s=begins[0],
                    from_s=max(end_s, noticed_s),
                    until_s=later_s,
                )
            due_now = (pl.col("due_s") >= begin_s) & (pl.col("due_s") < until_s)
            rows.append(row | _outcomes(part.filter(due_now)))
    return rows


def _kinds(operations: pl.DataFrame) -> list[str]:
    return sorted(operations.get_column("operation").unique().to_list())


def _arrays(
    operations: pl.DataFrame, kind: str
) -> tuple[Floats, Floats, NDArray[np.bool_], pl.DataFrame]:
    part = operations.filter(pl.col("operation") == kind)
    return (
        part.get_column("due_s").to_numpy(),
        part.get_column("end_s").to_numpy(),
        (part.get_column("outcome") == "ok").to_numpy(),
        part,
    )


def _limit(found: Floats, due: Floats, first_fault_s: float | None, measured_s: float) -> float:
    until_s = measured_s if first_fault_s is None else first_fault_s
    # Without a fault nothing is known to be usual: what was seen may be what is looked for.
    before = found[:0] if first_fault_s is None else found[found[:, 1] <= until_s]
    number = int(np.count_nonzero((due >= 0) & (due < until_s)))
    return threshold_s(before, number / until_s if until_s > 0 else 0.0)


def _detected(
    part: pl.DataFrame, begin_s: float, until_s: float, measured_s: float, limit_s: float
) -> dict[str, Any]:
    wrong = part.filter((pl.col("outcome") != "ok") & (pl.col("end_s") >= begin_s)).sort("end_s")
    found: list[tuple[float, str]] = []
    if wrong.height and wrong.item(0, "end_s") < until_s:
        found.append((float(wrong.item(0, "end_s")), str(wrong.item(0, "error"))))
    due, end, ok, _ = _arrays(part, str(part.item(0, "operation")))
    for begin, stop in silences(due, end, ok, measured_s):
        noticed_s = max(float(begin), begin_s) + limit_s
        if noticed_s < min(float(stop), until_s):
            found.append((noticed_s, "silence"))
            break
    if not found:
        return {"detected_s": None, "detected_by": None}
    at_s, by = min(found)
    return {"detected_s": at_s - begin_s, "detected_by": by}


def _first(times_s: Floats, from_s: float) -> float | None:
    return float(times_s.min()) - from_s if times_s.size else None


def _outcomes(part: pl.DataFrame) -> dict[str, Any]:
    """Count what was due, what became of it, and errors by kind."""
    wrong = part.filter(pl.col("outcome") != "ok")
    errors = wrong.group_by("error").len().sort("len", "error", descending=[True, False])
    outcome = part.get_column("outcome")
    return {
        "due": part.height,
        "ok": int((outcome == "ok").sum()),
        "fail": int((outcome == "fail").sum()),
        "unknown": int((outcome == "unknown").sum()),
        "errors": json.dumps(dict(errors.iter_rows())),
    }


# --- Runs ---


def faults_frame(results: Results) -> pl.DataFrame:
    """Return a row a fault of every run, in seconds from the beginning of measuring.

    Columns: ``source, run, scenario, repetition, number, fault, target, nodes, by, planned_at_s,
    planned_for_s, begin_s, end_s, begin_unix_us, end_unix_us, took_ms, error``; ``number`` counts
    from 1 in each run.
    """
    rows = [
        {
            "source": source,
            "run": record.run,
            "scenario": record.scenario.number,
            "repetition": record.repetition,
            "number": number,
            **_fault_row(record, fault),
        }
        for source, record in records_of(results)
        for number, fault in enumerate(record.faults, 1)
    ]
    return pl.DataFrame(rows, schema=_FAULTS_SCHEMA)


def _fault_row(record: RunRecord, fault: FaultEntry) -> dict[str, Any]:
    start_us = round(record.started_utc.timestamp() * 1e6)

    def since_start(unix_us: int | None) -> float | None:
        return None if unix_us is None else (unix_us - start_us) / 1e6

    took = None if fault.begin_unix_us is None else fault.begin_unix_us - fault.asked_unix_us
    return {
        "fault": fault.fault,
        "target": fault.target,
        "nodes": " ".join(fault.nodes),
        "by": fault.by,
        "planned_at_s": fault.planned_at_s,
        "planned_for_s": fault.planned_for_s,
        "begin_s": since_start(fault.begin_unix_us),
        "end_s": since_start(fault.end_unix_us),
        "begin_unix_us": fault.begin_unix_us,
        "end_unix_us": fault.end_unix_us,
        "took_ms": None if took is None else took / 1e3,
        "error": fault.error,
    }


def operations_by_run(results: Results) -> Iterator[tuple[str, RunRecord, pl.DataFrame]]:
    """Yield source, record and operations of every run that had faults and recorded operations.

    Operations have ``operation, outcome, error, due_s, end_s``, in seconds from the beginning of
    measuring.
    """
    for source, record in records_of(results):
        if faults_in_force(record):
            operations = timed_operations(results, source, record)
            if operations is not None:
                yield source, record, operations


def unavailability(results: Results) -> pl.DataFrame:
    """Return a row a run and kind of operation, of runs with faults and single operations.

    Columns: ``source, run, scenario, repetition, arrivals, operation, level, threshold_s,
    longest_s, total_s, due, ok, fail, unknown, errors`` (JSON: kind of error to count). Only what
    was due while measuring counts.
    """
    rows = [
        _key(source, record, row)
        for source, record, operations in operations_by_run(results)
        for row in unavailability_of_run(
            operations,
            first_fault_s=faults_in_force(record)[0]["begin_s"],
            measured_s=record.result.measured_s,
        )
    ]
    return pl.DataFrame(rows, schema=_UNAVAILABILITY_SCHEMA)


def recovery(results: Results) -> pl.DataFrame:
    """Return a row a run, fault and kind of operation.

    Columns: ``source, run, scenario, repetition, arrivals, number`` and ``fault`` (which one),
    ``operation, level, detected_s, detected_by, success_after_begin_s, success_after_end_s,
    steady_after_begin_s, steady_after_end_s``; ``due, ok, fail, unknown, errors`` of what was due
    from its beginning to the next one's, or to the end of measuring.
    """
    rows: list[dict[str, Any]] = []
    for source, record, operations in operations_by_run(results):
        faults = faults_in_force(record)
        for row in recovery_of_run(operations, faults, measured_s=record.result.measured_s):
            fault = faults[int(row["number"]) - 1]
            row["fault"] = f"{fault['fault']} {fault['target']}"
            rows.append(_key(source, record, row))
    return pl.DataFrame(rows, schema=_RECOVERY_SCHEMA)


def records_of(results: Results) -> list[tuple[str, RunRecord]]:
    """Return every run's record, with its source."""
    return list(zip(results.runs.get_column("source"), results.records, strict=True))


def faults_in_force(record: RunRecord) -> list[dict[str, Any]]:
    """Return the faults that came about while measuring, in the order of their beginnings."""
    rows = [_fault_row(record, fault) for fault in record.faults if fault.by != "server"]
    measured_s = record.result.measured_s
    inside = [r for r in rows if r["begin_s"] is not None and 0 <= r["begin_s"] < measured_s]
    return sorted(inside, key=lambda row: float(row["begin_s"]))


def _key(source: str, record: RunRecord, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "source": source,
        "run": record.run,
        "scenario": record.scenario.number,
        "repetition": record.repetition,
        "arrivals": str(record.scenario.settings.get("arrivals", "closed")),
        "level": record.consistency.get(str(row["operation"]), ""),
        **row,
    }


def timed_operations(
    results: Results, source: str, record: RunRecord, *more: str
) -> pl.DataFrame | None:
    """Return a run's operations on the clock that its measuring began; None if it has none.

    Parameters
    ----------
    more
        Columns to keep, as stored, beside ``operation, outcome, error, due_s, end_s``.
    """
    before_s = record.result.before_measure_s
    frame = results.frame_of(source, record.run, "operations.parquet")
    if frame is None or before_s is None:
        return None
    kept = [name for name in more if name in frame.columns]
    if frame.height == 0:
        return None
    due = _stored_or_found_due_ns(frame, record)
    return frame.select(
        "operation",
        "outcome",
        "error",
        pl.Series("due_s", due / 1e9 - before_s),
        (pl.col("end_ns").cast(pl.Float64) / 1e9 - before_s).alias("end_s"),
        *kept,
    )


def _stored_or_found_due_ns(frame: pl.DataFrame, record: RunRecord) -> NDArray[np.int64]:
    if "due_ns" in frame.columns and frame.get_column("due_ns").null_count() == 0:
        return frame.get_column("due_ns").cast(pl.Int64).to_numpy()
    settings = record.scenario.settings
    return due_ns(
        frame,
        arrivals=str(settings.get("arrivals", "closed")),
        rate_per_s=settings.get("rate_per_s"),
        shared=settings.get("schedule", "shared") == "shared",
        users=int(settings.get("users", 1)),
    )


def estimates(frame: pl.DataFrame, metrics: Mapping[str, str]) -> pl.DataFrame:
    """Return means over the repetitions of each scenario, with their intervals.

    Parameters
    ----------
    frame
        What `unavailability` or `recovery` returned.
    metrics
        `UNAVAILABILITY_METRICS` or `RECOVERY_METRICS`.

    Returns
    -------
    DataFrame
        ``source, scenario``, (``number, fault``,) ``operation, level, metric, title, value, low,
        high, n, runs, method``: ``n`` runs of ``runs`` have a value. Where none has, ``value`` is
        null.
    """
    names = [
        name
        for name in ("source", "scenario", "number", "fault", "operation", "level")
        if name in frame.columns
    ]
    rows: list[dict[str, Any]] = []
    for key, part in frame.group_by(names, maintain_order=True):
        for metric, title in metrics.items():
            values = part.get_column(metric).drop_nulls()
            row: dict[str, Any] = dict(zip(names, key, strict=True))
            row |= {"metric": metric, "title": title, "n": values.len(), "runs": part.height}
            if values.len():
                estimate = mean_estimate(values.to_numpy(), unit=" s")
                row |= {"value": estimate.value, "low": estimate.low, "high": estimate.high}
                row["method"] = estimate.method
            rows.append(row)
    schema = {name: frame.schema[name] for name in names}
    return pl.DataFrame(rows, schema=pl.Schema({**schema, **_ESTIMATES}))


_KEY: Final = {
    "source": pl.String,
    "run": pl.String,
    "scenario": pl.Int64,
    "repetition": pl.Int64,
}
_COUNTS: Final = {
    **dict.fromkeys(("due", "ok", "fail", "unknown"), pl.Int64),
    "errors": pl.String,
}
_FAULTS_SCHEMA: Final = pl.Schema(
    {
        **_KEY,
        "number": pl.Int64,
        **dict.fromkeys(("fault", "target", "nodes", "by"), pl.String),
        **dict.fromkeys(("planned_at_s", "planned_for_s", "begin_s", "end_s"), pl.Float64),
        **dict.fromkeys(("begin_unix_us", "end_unix_us"), pl.Int64),
        "took_ms": pl.Float64,
        "error": pl.String,
    }
)
_UNAVAILABILITY_SCHEMA: Final = pl.Schema(
    {
        **_KEY,
        **dict.fromkeys(("arrivals", "operation", "level"), pl.String),
        **dict.fromkeys(("threshold_s", "longest_s", "total_s"), pl.Float64),
        **_COUNTS,
    }
)
_RECOVERY_SCHEMA: Final = pl.Schema(
    {
        **_KEY,
        "arrivals": pl.String,
        "number": pl.Int64,
        **dict.fromkeys(("fault", "operation", "level"), pl.String),
        **dict.fromkeys(RECOVERY_METRICS, pl.Float64),
        "detected_by": pl.String,
        **_COUNTS,
    }
)
_ESTIMATES: Final = {
    "metric": pl.String,
    "title": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "runs": pl.Int64,
    "method": pl.String,
}
