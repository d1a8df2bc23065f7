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
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.workers.clocks import Offset

__all__ = ["Agreement", "Share", "agree", "divide", "part_spec"]

_COMING_IN_S = 0.5
"""From when the last user starts to when its absence would fail the run, at least."""


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
    last_unix_s: float
    """The last users start, everywhere."""
    measure_start_unix_s: float
    """Measuring begins, after the warm-up that was asked for."""
    is_kept: bool
    """Whether measuring begins at that very moment, or on each worker as soon as it can."""


def agree(spec: Mapping[str, Any], now_unix_s: float, lead_s: float) -> Agreement:
    """Return when everybody starts: ``lead_s`` from now, which is for opening connections.

    A moment to measure from must leave users time to come in. The warm-up is that time, and where
    it is too short for it, nobody waits for one: users load the servers as soon as they are in, and
    more load than was asked for would be another experiment.
    """
    start_unix_s = now_unix_s + lead_s
    last_unix_s = start_unix_s + (spec["users"] - 1) / spec["spawn_rate_per_s"]
    return Agreement(
        start_unix_s,
        last_unix_s,
        last_unix_s + spec["warm_up_s"],
        is_kept=spec["warm_up_s"] >= _COMING_IN_S,
    )


def part_spec(
    spec: Mapping[str, Any], worker: int, share: Share, agreement: Agreement, clock: Offset
) -> dict[str, Any]:
    """Return what ``worker``'s engine is told, in its own clock's time.

    What a worker must know of its number to keep out of the others' way is said here.
    """
    spawn_rate_per_s = spec["spawn_rate_per_s"] * share.users / spec["users"]
    part = {
        **_with_whole_paths(spec),
        "users": share.users,
        "first_user": share.first,
        "all_users": spec["users"],
        # So that no two insert the same record.
        "worker": share.worker,
        "workers": share.workers,
        # Everywhere the last user is in at the same time.
        "spawn_rate_per_s": spawn_rate_per_s,
        "start_unix_s": clock.there(agreement.last_unix_s - (share.users - 1) / spawn_rate_per_s),
    }
    if agreement.is_kept:
        part["measure_start_unix_s"] = clock.there(agreement.measure_start_unix_s)
    if part.get("record_operations") is not None:
        # Threads add their number to the name; it must be another one for each worker.
        part["record_operations"] = f"{part['record_operations']}.{worker}"
    return part


def _with_whole_paths(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``spec`` for a process that stands in another directory."""
    whole = dict(spec)
    if spec.get("record_operations") is not None:
        whole["record_operations"] = str(Path(spec["record_operations"]).absolute())
    security: Mapping[str, Any] | None = spec["target"].get("security")
    if security is not None:
        named = {
            part: {
                name: str(Path(value).absolute())
                if name == "file" or name.endswith("_file")
                else value
                for name, value in references.items()
            }
            for part, references in security.items()
            if part in ("password", "tls")
        }
        whole["target"] = {**spec["target"], "security": {**security, **named}}
    return whole
