"""Where a study's time goes, and how much of it is left.

Map
---
Account     times activities, logs each, and knows the share that measured nothing
Forecast    planned durations plus what starts, loads and overheads took so far → time left
spawn_s     until all users have started
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from pacelc.databases import facts_of
from pacelc.study.settings import KEEPS_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from pacelc.study import PlannedRun, Settings

__all__ = ["Account", "Forecast", "Log", "spawn_s"]

# What a study is for. Everything else (starting servers, making tables, spawning users, writing) is
# its overhead.
_PURPOSEFUL = frozenset({"load", "warm-up", "measure", "cool-down"})

_FIRST_GUESS_RUN_OVERHEAD_S = 0.5
_FIRST_GUESS_LOADED_PER_S = 10_000


class Log(Protocol):
    """Where activities are kept: `pacelc.store.Store.log_activity`."""

    def __call__(
        self,
        what: str,
        *,
        start_utc: datetime,
        seconds: float,
        scenario: int | None = None,
        run: str | None = None,
    ) -> None:
        """Keep one activity."""
        ...


class Account:
    """The time account of one invocation."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._begin_s = clock()
        self._purposeful_s = 0.0

    @contextmanager
    def activity(self, what: str, run: PlannedRun | None = None) -> Generator[None]:
        """Time what happens inside, and log it however it ends."""
        start_utc, begin_s = datetime.now(UTC), self._clock()
        try:
            yield
        finally:
            self.add(what, start_utc, self._clock() - begin_s, run)

    def add(
        self, what: str, start_utc: datetime, seconds: float, run: PlannedRun | None = None
    ) -> None:
        """Log an activity that was timed elsewhere."""
        if what in _PURPOSEFUL:
            self._purposeful_s += seconds
        self._log(
            what,
            start_utc=start_utc,
            seconds=seconds,
            scenario=None if run is None else run.scenario.number,
            run=None if run is None else run.run_id,
        )

    def add_phases(
        self,
        run: PlannedRun,
        measure_start_unix_s: float,
        before_measure_s: float,
        warm_up_s: float,
        measured_s: float,
    ) -> None:
        """Log a run's phases from the engine's own times; before the warm-up users are spawned."""
        start_utc = datetime.fromtimestamp(measure_start_unix_s, UTC)
        spawn_s = max(0.0, before_measure_s - warm_up_s)
        if spawn_s > 0:
            self.add("spawn", start_utc - timedelta(seconds=before_measure_s), spawn_s, run)
        if warm_up_s > 0:
            self.add("warm-up", start_utc - timedelta(seconds=warm_up_s), warm_up_s, run)
        self.add("measure", start_utc, measured_s, run)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the account was opened."""
        return self._clock() - self._begin_s

    @property
    def overhead_share(self) -> float:
        """Share of the time outside load, warm-up, measuring and cool-down."""
        elapsed_s = self.elapsed_s
        return max(0.0, 1 - self._purposeful_s / elapsed_s) if elapsed_s > 0 else 0.0


def spawn_s(settings: Settings) -> float:
    """Return the seconds until all users have started."""
    return settings.users / settings.spawn_rate_per_s


class Forecast:
    """Estimates the time left from the schedule and from what took how long so far."""

    def __init__(self) -> None:
        self._starts_s: dict[str, float] = {}
        self._loads: dict[str, tuple[int, float]] = {}
        self._overheads_s: dict[str, list[float]] = {}

    def cluster_took(self, database: str, seconds: float) -> None:
        """Learn how long a cluster's start took."""
        self._starts_s[database] = seconds

    def load_took(self, run: PlannedRun, seconds: float) -> None:
        """Learn how long loading a run's records took."""
        settings = run.scenario.settings
        self._loads[settings.database] = settings.workload.records, seconds

    def run_took(self, run: PlannedRun, seconds: float) -> None:
        """Learn how long a run took, without its load and its cool-down."""
        # Below 0 where a number of operations ended measuring before its time was up.
        overheads_s = self._overheads_s.setdefault(run.scenario.settings.database, [])
        overheads_s.append(seconds - _planned_s(run))

    def run_s(self, run: PlannedRun) -> float:
        """Return the seconds that a run is expected to take, without its load and cool-down."""
        # Of a database that hasn't run yet, what the others took says more than a guess.
        seen = self._overheads_s.get(run.scenario.settings.database) or [
            overhead_s for others in self._overheads_s.values() for overhead_s in others
        ]
        overhead_s = sum(seen) / len(seen) if seen else _FIRST_GUESS_RUN_OVERHEAD_S
        return max(0.0, _planned_s(run) + overhead_s)

    def load_s(self, run: PlannedRun) -> float:
        """Return the seconds that loading a run's records is expected to take."""
        settings = run.scenario.settings
        if settings.database == KEEPS_NOTHING:
            return 0.0
        records, seconds = self._loads.get(settings.database, (_FIRST_GUESS_LOADED_PER_S, 1.0))
        return seconds * settings.workload.records / records

    def left_s(self, runs: Iterable[PlannedRun], after: PlannedRun | None = None) -> float:
        """Return the seconds that ``runs`` should take; ``after`` is the run before the first."""
        seconds = 0.0
        for run in runs:
            settings = run.scenario.settings
            before = None if after is None else after.scenario.settings
            goes_on = after is not None and after.cluster_key == run.cluster_key
            if before is not None and goes_on and before.fresh != "cluster":
                seconds += before.cool_down_s
                if before.next_needs_fresh_data or before.data_set != settings.data_set:
                    seconds += self.load_s(run)
            else:
                seconds += self._starts_s.get(
                    settings.database, facts_of(settings.database).start_s
                )
                seconds += self.load_s(run) + settings.burn_in_s
            seconds += self.run_s(run)
            after = run
        return seconds


def _planned_s(run: PlannedRun) -> float:
    settings = run.scenario.settings
    return spawn_s(settings) + settings.warm_up_s + settings.measure_s
