"""How a run is divided: whose users are whose, and when everybody starts.

Map
---
Share           one worker's users
divide          all users → a share each
Agreement       the moments that all keep
agree           when everybody opens, starts and measures
part_spec       the run's specification → one worker's
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.workers.clocks import Offset

__all__ = ["Agreement", "Share", "agree", "divide", "part_spec"]

_MARGIN_S = 0.5
"""From when the last user should be in to when its absence would fail the run."""


@dataclass(frozen=True, slots=True)
class Share:
    """Users ``first`` to ``last`` of all, both included, counted from 0."""

    first: int
    last: int
    worker: int = 0
    """Whose they are, counted from 0."""
    workers: int = 1
    """Of so many."""

    @property
    def users(self) -> int:
        """How many they are."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        """As people say it."""
        return f"user {self.first}" if self.users == 1 else f"users {self.first} to {self.last}"


def divide(users: int, workers: int) -> list[Share]:
    """Return shares that follow each other and differ by one user at most."""
    bounds = [users * worker // workers for worker in range(workers + 1)]
    return [
        Share(first, end - 1, worker, workers)
        for worker, (first, end) in enumerate(pairwise(bounds))
    ]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Moments by the driver's clock, in seconds since 1970."""

    start_unix_s: float
    """Connections are open everywhere; the first users start."""
    measure_start_unix_s: float
    """All users are in and warm; measuring begins."""


def agree(spec: Mapping[str, Any], now_unix_s: float, lead_s: float) -> Agreement:
    """Return when everybody starts: ``lead_s`` from now, which is for opening connections."""
    start_unix_s = now_unix_s + lead_s
    spawn_s = spec["users"] / spec["spawn_rate_per_s"]
    return Agreement(start_unix_s, start_unix_s + spawn_s + _MARGIN_S + spec["warm_up_s"])


def part_spec(
    spec: Mapping[str, Any], worker: int, share: Share, agreement: Agreement, clock: Offset
) -> dict[str, Any]:
    """Return what ``worker``'s engine is told, in its own clock's time.

    What a worker must know of its number to keep out of the others' way is said here.
    """
    part = {
        **spec,
        "users": share.users,
        "first_user": share.first,
        "all_users": spec["users"],
        # So that no two insert the same record.
        "worker": share.worker,
        "workers": share.workers,
        # Everywhere the last user is in at the same time.
        "spawn_rate_per_s": spec["spawn_rate_per_s"] * share.users / spec["users"],
        "start_unix_s": clock.there(agreement.start_unix_s),
        "measure_start_unix_s": clock.there(agreement.measure_start_unix_s),
    }
    if spec.get("record_operations") is not None:
        # Threads add their number to the name; it must be another one for each worker.
        part["record_operations"] = f"{spec['record_operations']}.{worker}"
    return part
