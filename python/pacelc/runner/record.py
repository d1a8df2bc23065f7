"""From what the engine and the kernel say to what the store keeps.

Map
---
run_record          ``run.json``
samples_frame       the engine's samples
totals              ok, fail, unknown, throughput and p99 of a whole run, for people
notes               what a person should know of a run
explain             any exception as a failure: reason, hint, log tail
full_disk           what to end a study with where an exception says that a disk is full
"""

from __future__ import annotations

import errno
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from pacelc.errors import CannotRun, one_line
from pacelc.runner.engine import EngineResult, is_engine_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.study import PlannedRun

__all__ = [
    "Failure",
    "Totals",
    "explain",
    "full_disk",
    "notes",
    "run_record",
    "samples_frame",
    "totals",
]


def run_record(  # noqa: PLR0917 - the parts of a record, in its order
    study: str,
    run: PlannedRun,
    result: EngineResult,
    target: Mapping[str, Any],
    versions: Mapping[str, str],
    machine: Mapping[str, Any],
    pacelc_version: str,
    cluster: Mapping[str, Any],
    faults: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the content of ``run.json``; `cluster` is what else there is to say of the cluster."""
    return {
        "study": study,
        "run": run.run_id,
        "scenario": run.scenario.as_record(),
        "repetition": run.repetition,
        "seed": run.seed,
        "started_utc": datetime.fromtimestamp(result["started_unix_s"], UTC),
        "pacelc": pacelc_version,
        "versions": dict(versions),
        "machine": dict(machine),
        "target": dict(target),
        **cluster,
        "consistency": result["consistency"],
        "faults": [dict(fault) for fault in faults],
        "result": {
            "measured_s": result["measured_s"],
            "warm_up_s": result["warm_up_s"],
            "before_measure_s": result["before_measure_s"],
            "steady": result["steady"],
            "schedule": result["schedule"],
            "operations": _operation_records(result["operations"]),
            "client": result["client"],
            "machine_speed": result.get("machine_speed"),
            "observed": result.get("observed"),
            "groups": [
                {**group, "operations": _operation_records(group["operations"])}
                for group in result.get("groups", [])
            ],
            "workers": result.get("workers", []),
            "warnings": result["warnings"],
        },
    }


def _operation_records(kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    # The engine has no summary of no latencies; the store has one with n = 0.
    return {
        kind: {**stats, "latency_ns": stats.get("latency_ns") or {"n": 0}}
        for kind, stats in kinds.items()
    }


def samples_frame(result: EngineResult) -> pl.DataFrame:
    """Return the engine's samples, one row an interval and operation."""
    return pl.DataFrame(result["samples"], strict=False)


@dataclass(frozen=True, slots=True)
class Totals:
    """A run in five numbers."""

    ok: int
    fail: int
    unknown: int
    throughput_per_s: float
    p99_ms: float | None
    """Of the slowest kind of operation."""


def totals(result: EngineResult) -> Totals:
    """Sum up a run for people; reports take their numbers from the histograms."""
    kinds = result["operations"].values()
    ok = sum(int(kind["ok"]) for kind in kinds)
    p99s = [float(latency_ns["p99"]) for kind in kinds if (latency_ns := kind.get("latency_ns"))]
    return Totals(
        ok=ok,
        fail=sum(sum(kind["fail"].values()) for kind in kinds),
        unknown=sum(sum(kind["unknown"].values()) for kind in kinds),
        throughput_per_s=ok / result["measured_s"] if result["measured_s"] > 0 else 0.0,
        p99_ms=max(p99s) / 1e6 if p99s else None,
    )


def notes(result: EngineResult) -> tuple[str, ...]:
    """Return what a person should know of a run: warnings, and an example of each error."""
    examples = (
        f"{kind}: {error}: {' '.join(str(example).split())}"
        for kind, stats in result["operations"].items()
        for error, example in stats.get("examples", {}).items()
    )
    return (*result["warnings"], *examples)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt gave no run."""

    reason: str
    hint: str | None
    log_tail: str


def explain(error: Exception, log_tail: str = "") -> Failure:
    """Return ``error`` as a failure.

    An error with a ``message`` is meant for people. Any other is a bug of ours: it is recorded with
    its traceback, and the study goes on, since the hours that it has measured so far are worth more
    than a clean crash.
    """
    own_tail = getattr(error, "log_tail", None)
    tail = own_tail if isinstance(own_tail, str) and own_tail else log_tail
    if isinstance(getattr(error, "message", None), str) or is_engine_error(error):
        hint = getattr(error, "hint", None)
        return Failure(one_line(error), hint if isinstance(hint, str) else None, tail)
    if (full := full_disk(error)) is not None:
        return Failure(one_line(error), full.hint, tail)
    where = "".join(traceback.format_exception(error))
    return Failure(
        f"internal error: {type(error).__name__}: {one_line(error)}",
        "please report it, with the log tail",
        where,
    )


_FULL = (errno.ENOSPC, errno.EDQUOT)


def full_disk(error: BaseException) -> CannotRun | None:
    """Return what to end a study with, if ``error`` is that a disk of pacelc's own is full.

    Whatever comes next would fail for the same reason. Engine and Polars say it in words alone,
    Rust's. A server whose disk is full is no such error: it frees its disk when it ends.
    """
    cause: BaseException | None = error
    while cause is not None:
        number = cause.errno if isinstance(cause, OSError) else None
        if number in _FULL or any(f"(os error {one})" in one_line(cause) for one in _FULL):
            return CannotRun(
                f"the study ends, because a disk is full: {one_line(error)}",
                "free some space and start the study again: finished runs are kept",
            )
        cause = cause.__cause__
    return None
