"""What is asked of the database, and whether one run gave it.

A run's verdict has five values, since a number is the database's only if nothing else stood in the
way:

- *held*: every limit was kept, by enough operations to say so.
- *failed*: one was not.
- *client*: one was not, but the load generator was late or had no time left. Being late can only
  add to a latency, so a run that held in spite of it did hold.
- *users*: one was not, but the database answered in time whatever it was asked: operations waited
  because all users were busy.
- *unclear*: too few operations.

Percentiles are of everything that was due and wanted an answer. An operation that got none
(unknown), or had not begun when measuring ended, is later than any limit: leaving it out would make
an overloaded server look fast.

Map
---
Objective       the limits; how many operations and users they need
Seen            what one run showed of them
Verdict         what follows
judge           Objective, Seen → Verdict
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SHARES_BEYOND", "Objective", "Outcome", "Seen", "Verdict", "judge"]

Outcome: TypeAlias = Literal["held", "failed", "client", "users", "unclear"]

SHARES_BEYOND: Final = {"p50": 0.5, "p99": 0.01, "p999": 0.001}
"""Share of operations that a percentile lets be slower."""

_ENOUGH_BEYOND: Final = 100
"""Observations beyond a percentile, so that chance moves their number by a tenth."""

_ENOUGH_FOR_A_MEAN: Final = 1_000

_MARGIN: Final = 1.1
"""Arrivals vary, so a little more is measured than is needed."""

_PATIENCE_S: Final = 0.1
"""Stands in for a latency limit where there is none."""

_LAG_SHARE: Final = 0.1
"""Of the tightest limit: a client that is later than this can't be told from a slow server."""

_LEAST_LAG_S: Final = 0.0001
"""What the engine's own punctuality is good for."""

_BUSY: Final = 0.9
"""A load thread busier than this has no time left to be punctual."""

_MANY_WAITED: Final = 0.1


@dataclass(frozen=True)
class Objective:
    """Limits that a run must keep, all of them.

    Attributes
    ----------
    latency_s
        Limits of ``mean``, ``p50``, ``p99``, ``p999`` of response time, from when an operation was
        due.
    errors
        Largest share of due operations that failed, are unknown, or had not started at the end.
    """

    latency_s: Mapping[str, float]
    errors: float

    @property
    def operations_needed(self) -> int:
        """Operations that it takes to judge every limit."""
        needed = [
            _ENOUGH_FOR_A_MEAN if name == "mean" else round(_ENOUGH_BEYOND / SHARES_BEYOND[name])
            for name in self.latency_s
        ]
        return max(needed, default=_ENOUGH_FOR_A_MEAN)

    @property
    def patience_s(self) -> float:
        """The longest limit."""
        return max(self.latency_s.values(), default=_PATIENCE_S)

    @property
    def lag_limit_s(self) -> float:
        """How late the client's p99 start may be."""
        tightest_s = min(self.latency_s.values(), default=_PATIENCE_S)
        return max(_LAG_SHARE * tightest_s, _LEAST_LAG_S)

    def measure_s(self, rate_per_s: float, shortest_s: float, ceiling_s: float) -> float:
        """Seconds of measuring that give enough operations at a rate, no more than the ceiling."""
        needed_s = _MARGIN * self.operations_needed / rate_per_s
        return min(max(shortest_s, math.ceil(needed_s)), max(shortest_s, ceiling_s))

    def lowest_rate(self, ceiling_s: float) -> int:
        """Lowest rate that can be judged within the ceiling."""
        return max(1, math.ceil(_MARGIN * self.operations_needed / ceiling_s))

    def users(self, rate_per_s: float, least: int, most: int) -> int:
        """Users that can't be what limits a rate: as many as operations come in one longest limit.

        By Little's law: if so many users were all busy, operations would take as long as the limit
        on average, and the database would have failed.
        """
        return max(least, min(most, math.ceil(rate_per_s * self.patience_s)))

    def as_document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "latency_ms": {name: 1000 * limit_s for name, limit_s in self.latency_s.items()},
            "errors": self.errors,
        }

    def __str__(self) -> str:
        """Return the limits in one line: ``p99 ≤ 20 ms, errors ≤ 0.1 %``."""
        limits = [f"{name} ≤ {1000 * limit_s:g} ms" for name, limit_s in self.latency_s.items()]
        return ", ".join([*limits, f"errors ≤ {100 * self.errors:g} %"])


@dataclass(frozen=True)
class Seen:
    """What one run showed.

    Attributes
    ----------
    due, ok, fail, unknown, not_started, waited
        Operations: see ``result.schedule`` of a run. What timed out is unknown here, reads too: it
        took longer than any limit, where other failures have an answer.
    late
        For each limit on a percentile, ok operations that took longer.
    late_service
        The same from their actual start.
    mean_s, mean_service_s
        Of ok operations; None if there were none.
    busy_fraction, lag_p99_s
        The client's.
    """

    due: int
    ok: int
    fail: int
    unknown: int
    not_started: int
    waited: int
    late: Mapping[str, int]
    late_service: Mapping[str, int]
    mean_s: float | None
    mean_service_s: float | None
    busy_fraction: float
    lag_p99_s: float

    @property
    def errors(self) -> float:
        """Share of due operations that failed, are unknown, or had not started."""
        return (self.fail + self.unknown + self.not_started) / max(1, self.due)


@dataclass(frozen=True)
class Verdict:
    """What a run says of the objective, and by what limit if it did not hold."""

    outcome: Outcome
    limit: str | None = None

    @property
    def held(self) -> bool:
        """Whether every limit was kept."""
        return self.outcome == "held"

    def __str__(self) -> str:
        """Return it for people."""
        match self.outcome:
            case "held":
                return "held"
            case "failed":
                return f"failed ({self.limit})"
            case "client":
                return f"the client was late ({self.limit})"
            case "users":
                return f"too few users ({self.limit})"
            case "unclear":
                return f"too few operations ({self.limit})"


def judge(objective: Objective, seen: Seen) -> Verdict:
    """Return what a run says of an objective."""
    broken: list[str] = []
    unclear: list[str] = []
    in_time = True
    for name, limit_s in objective.latency_s.items():
        kept, kept_in_service = _kept(name, limit_s, seen)
        in_time = in_time and kept_in_service is not False
        if kept is False:
            broken.append(name)
        elif kept is None:
            unclear.append(name)
    answered = (seen.fail + seen.unknown) / max(1, seen.due) <= objective.errors
    if seen.errors > objective.errors:
        broken.append("errors")
    if not broken:
        return Verdict("unclear", unclear[0]) if unclear else Verdict("held")
    if not answered:
        # Nothing that the client does makes a database refuse.
        return Verdict("failed", "errors")
    if seen.busy_fraction > _BUSY or seen.lag_p99_s > objective.lag_limit_s:
        return Verdict("client", broken[0])
    if in_time and seen.waited > _MANY_WAITED * seen.due:
        return Verdict("users", broken[0])
    return Verdict("failed", broken[0])


def _kept(name: str, limit_s: float, seen: Seen) -> tuple[bool | None, bool | None]:
    """Whether a limit was kept from the due time, and from the actual start; None: can't tell."""
    if name == "mean":
        if seen.ok < _ENOUGH_FOR_A_MEAN or seen.mean_s is None:
            return None, None
        service_s = seen.mean_s if seen.mean_service_s is None else seen.mean_service_s
        return seen.mean_s <= limit_s, service_s <= limit_s
    share = SHARES_BEYOND[name]
    return (
        _below(share, seen.late[name] + seen.unknown + seen.not_started, seen.due - seen.fail),
        _below(share, seen.late_service[name] + seen.unknown, seen.ok + seen.unknown),
    )


def _below(share: float, beyond: int, n: int) -> bool | None:
    if max(beyond, share * n) < _ENOUGH_BEYOND:
        return None
    return beyond <= share * n
