"""One rung: a stored run, as the search sees it.

Live or resumed, a rung is read from what was stored, so that both see the same.

Map
---
Rung            rate, users, what was measured, the verdict
read_rung       a run's directory → Rung
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from pacelc.saturation.objective import SHARES_BEYOND, Objective, Seen, Verdict, judge
from pacelc.saturation.search import Trial
from pacelc.store import StoreError
from pacelc.store.whole import check_run, read_frame, read_latencies

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.store import Histogram

__all__ = ["Rung", "read_rung"]


@dataclass(frozen=True)
class Rung:
    """One run of a search or of a ladder; latencies of ok operations, in milliseconds.

    Throughput is what was answered while measuring, whenever it was due.
    """

    run: str
    rate_per_s: int
    repetition: int
    users: int
    measured_s: float
    throughput_per_s: float
    mean_ms: float | None
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    seen: Seen
    verdict: Verdict

    @property
    def trial(self) -> Trial:
        """What the search needs of it."""
        return Trial(self.rate_per_s, self.verdict.held)

    def as_document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "run": self.run,
            "rate_per_s": self.rate_per_s,
            "repetition": self.repetition,
            "users": self.users,
            "measured_s": self.measured_s,
            "throughput_per_s": self.throughput_per_s,
            "mean_ms": self.mean_ms,
            "p50_ms": self.p50_ms,
            "p99_ms": self.p99_ms,
            "p999_ms": self.p999_ms,
            "errors": self.seen.errors,
            "waited": self.seen.waited / max(1, self.seen.due),
            "client_busy_fraction": self.seen.busy_fraction,
            "client_lag_p99_ms": 1000 * self.seen.lag_p99_s,
            "outcome": self.verdict.outcome,
            "limit": self.verdict.limit,
        }


def read_rung(folder: Path, objective: Objective) -> Rung:
    """Return a stored run as a rung.

    Raises
    ------
    StoreError
        If the run is damaged, or none of a search.
    """
    record = check_run(folder)
    schedule = record.result.schedule
    if schedule is None:
        raise StoreError(
            f"{folder} has no schedule: it is no run of a search", "move its directory away"
        )
    log = read_latencies(folder)
    latency = log.merged(outcome="ok")
    service = log.merged(outcome="ok", service=True)
    operations = record.result.operations.values()
    limits_s = {name: s for name, s in objective.latency_s.items() if name in SHARES_BEYOND}
    lag = schedule.lag_ns
    timed_out = sum(kind.fail.get("timeout", 0) for kind in operations)
    seen = Seen(
        due=schedule.due,
        ok=sum(kind.ok for kind in operations),
        fail=sum(sum(kind.fail.values()) for kind in operations) - timed_out,
        unknown=sum(sum(kind.unknown.values()) for kind in operations) + timed_out,
        not_started=schedule.not_started,
        waited=schedule.waited,
        late={name: _slower(latency, s) for name, s in limits_s.items()},
        late_service={name: _slower(service, s) for name, s in limits_s.items()},
        mean_s=latency.mean() / 1e9 if latency.count else None,
        mean_service_s=service.mean() / 1e9 if service.count else None,
        busy_fraction=record.result.client.busy_fraction or 0.0,
        lag_p99_s=0.0 if lag is None or lag.p99 is None else lag.p99 / 1e9,
    )
    return Rung(
        run=record.run,
        rate_per_s=round(schedule.rate_per_s),
        repetition=record.repetition,
        users=int(record.scenario.settings.get("users", 0)),
        measured_s=record.result.measured_s,
        throughput_per_s=_answered_per_s(folder, record.result.measured_s),
        mean_ms=None if seen.mean_s is None else 1000 * seen.mean_s,
        p50_ms=_percentile_ms(latency, 50),
        p99_ms=_percentile_ms(latency, 99),
        p999_ms=_percentile_ms(latency, 99.9),
        seen=seen,
        verdict=judge(objective, seen),
    )


def _answered_per_s(folder: Path, measured_s: float) -> float:
    """Return the operations answered a second while measuring, whenever they were due.

    A run's own throughput counts those that were due while measuring. Past saturation these wait
    behind what the warm-up has left, although the server does as much as it can.
    """
    samples = read_frame(folder, "samples")
    inside = samples.filter((pl.col("t_s") >= 0) & (pl.col("t_s") < measured_s))
    return int(inside.get_column("ok").sum()) / measured_s


def _slower(histogram: Histogram, limit_s: float) -> int:
    _, high = histogram.bounds()
    return int(histogram.counts[high > limit_s * 1e9].sum())


def _percentile_ms(histogram: Histogram, percent: float) -> float | None:
    return histogram.percentile(percent) / 1e6 if histogram.count else None
