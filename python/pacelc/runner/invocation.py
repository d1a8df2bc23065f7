"""One invocation of a study: what is planned and what is done, who hears of it, where time goes.

Map
---
Invocation      what the steps of the life cycle share
Summary         how it went
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacelc.runner import events
from pacelc.runner.account import Account, Forecast, Pending, TimeLeft
from pacelc.runner.machine import describe_machine
from pacelc.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pacelc.runner.lab import Lab
    from pacelc.store import Store
    from pacelc.study import PlannedRun

__all__ = ["Invocation", "Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """How an invocation went."""

    finished: int
    """Runs measured and stored now."""
    failed: int
    """Runs that gave no result; the next invocation tries them again."""
    already_there: int
    """Runs that earlier invocations had stored."""
    overhead: Mapping[str, float] | None
    """Shares of the time outside load, warm-up, measuring and cool-down, by activity; None if
    nothing was run."""


class Invocation:
    """What the steps of the life cycle share.

    Parameters
    ----------
    study
        The study's name.
    store
        Where its runs are kept.
    lab
        Engine and clusters.
    observe
        Hears what happens.
    planned
        How many runs the whole schedule has.
    missing
        Those that are to be run, in order.
    """

    def __init__(
        self,
        study: str,
        store: Store,
        lab: Lab,
        observe: events.Observer,
        *,
        planned: int,
        missing: Sequence[PlannedRun],
    ) -> None:
        self.study = study
        self.store = store
        self.lab = lab
        self.observe = observe
        self.planned = planned
        self.already_there = planned - len(missing)
        self.finished = 0
        self.failed = 0
        self.account = Account(self._log_activity)
        self.forecast = Forecast()
        self.burn_in_s = 0.0
        """What is still to come before the run that is under way."""
        self.machine = describe_machine()
        self._pending = Pending(missing)
        self._log_is_broken = False

    # --- Who hears of it ---

    def tell(self, step: str) -> None:
        """Say how a cluster's start or end gets on."""
        self.observe(events.ClusterStep(step))

    def warn(self, message: str) -> None:
        """Say what does not stop the study."""
        self.observe(events.Warned(message))

    # --- What is planned and what is done ---

    def take(self) -> None:
        """Take the next run off those that are pending: it begins, or will never."""
        self._pending.take()

    def add(self, run: PlannedRun) -> None:
        """Plan another run, the next."""
        self._pending.add(run)
        self.planned += 1

    @property
    def position(self) -> int:
        """That of the latest run in the whole schedule, counted from 1."""
        return self.planned - len(self._pending)

    def summary(self) -> Summary:
        """How it went."""
        ran = self.finished + self.failed > 0
        return Summary(
            self.finished,
            self.failed,
            self.already_there,
            self.account.overhead if ran else None,
        )

    # --- Where time goes ---

    def left(self, after: PlannedRun | None = None) -> TimeLeft:
        """Return what the pending runs should take, after one that was the last."""
        return self.forecast.left(self._pending, after)

    def left_with(self, run: PlannedRun) -> TimeLeft:
        """Return what a run whose records are loaded and the pending ones should take."""
        return self.forecast.left_with(run, self._pending).plus(self.burn_in_s)

    def _log_activity(
        self,
        what: str,
        *,
        start_utc: datetime,
        seconds: float,
        scenario: int | None = None,
        run: str | None = None,
    ) -> None:
        try:
            self.store.log_activity(
                what, start_utc=start_utc, seconds=seconds, scenario=scenario, run=run
            )
        except StoreError as error:
            # The account is not worth a run: said once, and the study goes on.
            if not self._log_is_broken:
                self._log_is_broken = True
                self.warn(f"the time account can't be written: {error.message}")
