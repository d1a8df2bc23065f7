"""Where a study's time goes, and how much of it is left.

Map
---
Account     times activities, logs each, and knows the shares of those that measured nothing
Pending     the runs that are still to come
Forecast    planned durations plus what starts, loads and overheads took so far → time left
TimeLeft    what is left, or at most
spawn_s     until all users have started
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pacelc.databases import facts_of
from pacelc.names import ASKED_FOR, NOT_ACCOUNTED_FOR
from pacelc.study.settings import KEEPS_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from pacelc.study import PlannedRun, Settings

__all__ = ["Account", "Forecast", "Log", "Pending", "TimeLeft", "spawn_s"]

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
        self._seconds: dict[str, float] = {}

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
        self._seconds[what] = self._seconds.get(what, 0.0) + seconds
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
    def overhead(self) -> dict[str, float]:
        """Shares of the time outside load, warm-up, measuring and cool-down, by activity."""
        elapsed_s = self.elapsed_s
        if elapsed_s <= 0:
            return {}
        unknown_s = max(0.0, elapsed_s - sum(self._seconds.values()))
        seconds = {**self._seconds, NOT_ACCOUNTED_FOR: unknown_s}
        return {what: s / elapsed_s for what, s in seconds.items() if what not in ASKED_FOR}


def spawn_s(settings: Settings) -> float:
    """Return the seconds until all users have started."""
    return settings.users / settings.spawn_rate_per_s


class Part(NamedTuple):
    """A part of the time that runs take, of which a study has few kinds and many of each."""

    what: str
    """``start`` of a cluster, ``load``, ``passes`` (of a length that is known), a ``run`` that ends
    by time, or ``count``: measuring that ends with a number of operations."""
    database: str
    seconds: float
    """As planned; of a ``count``, the most."""
    amount: int = 0
    """Records or operations."""


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """What is expected to be left of a study."""

    seconds: float
    is_limit: bool = False
    """Whether it may be much less: runs end with a number of operations, whose time isn't known."""

    def plus(self, seconds: float) -> TimeLeft:
        """Return so much more, or less."""
        return replace(self, seconds=max(0.0, self.seconds + seconds))


class Pending:
    """Runs that are still to come, in order, and what their time consists of.

    The parts are counted as runs come and go, so that to ask for them takes no longer for a
    hundred thousand runs than for ten.
    """

    def __init__(self, runs: Iterable[PlannedRun]) -> None:
        self._runs: deque[PlannedRun] = deque()
        self._parts: Counter[Part] = Counter()
        """Of all runs, but for what comes before the first, which depends on what ran last."""
        for run in runs:
            if self._runs:
                self._parts.update(_parts_before(run, self._runs[-1]))
            self._parts.update(_parts_of(run))
            self._runs.append(run)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._runs)

    def take(self) -> None:
        """Take the first one off."""
        gone = [*_parts_of(run := self._runs.popleft())]
        if self._runs:
            gone += _parts_before(self._runs[0], run)
        for part in gone:
            self._parts[part] -= 1
            if not self._parts[part]:
                del self._parts[part]

    def add(self, run: PlannedRun) -> None:
        """Put one before the others."""
        if self._runs:
            self._parts.update(_parts_before(self._runs[0], run))
        self._parts.update(_parts_of(run))
        self._runs.appendleft(run)

    def parts(self, after: PlannedRun | None) -> Iterator[tuple[Part, int]]:
        """Give each part and how many there are; ``after`` is the run before the first."""
        yield from self._parts.items()
        if self._runs:
            yield from ((part, 1) for part in _parts_before(self._runs[0], after))


def _parts_before(run: PlannedRun, after: PlannedRun | None) -> Iterator[Part]:
    """Give the parts between ``run`` and the one before it, if there is any."""
    settings = run.scenario.settings
    loads = Part("load", settings.database, 0.0, settings.workload.records)
    before = None if after is None else after.scenario.settings
    goes_on = after is not None and after.cluster_key == run.cluster_key
    if before is not None and goes_on and before.fresh != "cluster":
        yield Part("passes", "", before.cool_down_s)
        if before.next_needs_fresh_data or before.data_set != settings.data_set:
            yield loads
    else:
        yield Part("start", settings.database, 0.0)
        yield loads
        yield Part("passes", "", settings.burn_in_s)


def _parts_of(run: PlannedRun) -> Iterator[Part]:
    """Give the parts of a run whose records are loaded."""
    settings = run.scenario.settings
    before_s = spawn_s(settings) + settings.warm_up_s
    if settings.operations is None:
        yield Part("run", settings.database, before_s + settings.measure_s)
    else:
        yield Part("passes", "", before_s)
        yield Part("count", settings.database, settings.measure_s, settings.operations)


@dataclass(slots=True)
class _Mean:
    n: int = 0
    total: float = 0.0

    def add(self, value: float, n: int = 1) -> None:
        self.n += n
        self.total += value

    @property
    def value(self) -> float:
        return self.total / self.n


class Forecast:
    """Estimates the time left from the schedule and from what took how long so far."""

    def __init__(self) -> None:
        self._starts_s: dict[str, float] = {}
        self._loads: dict[str, tuple[int, float]] = {}
        self._overheads_s: defaultdict[str, _Mean] = defaultdict(_Mean)
        self._operations_s: defaultdict[str, _Mean] = defaultdict(_Mean)
        # Of a database that hasn't run yet, what the others took says more than a guess.
        self._any_overhead_s = _Mean()

    def cluster_took(self, database: str, seconds: float) -> None:
        """Learn how long a cluster's start took."""
        self._starts_s[database] = seconds

    def load_took(self, run: PlannedRun, seconds: float) -> None:
        """Learn how long loading all of a run's records took."""
        settings = run.scenario.settings
        self._loads[settings.database] = settings.workload.records, seconds

    def run_took(self, run: PlannedRun, seconds: float) -> None:
        """Learn how long a run took, without its load and its cool-down."""
        settings = run.scenario.settings
        before_s = spawn_s(settings) + settings.warm_up_s
        if settings.operations is not None:
            took_s = max(0.0, seconds - before_s)
            self._operations_s[settings.database].add(took_s, settings.operations)
            return
        overhead_s = seconds - before_s - settings.measure_s
        self._overheads_s[settings.database].add(overhead_s)
        self._any_overhead_s.add(overhead_s)

    def run_s(self, run: PlannedRun) -> float:
        """Return the seconds that a run is expected to take, without its load and cool-down."""
        return sum(map(self._price_s, _parts_of(run)))

    def load_s(self, run: PlannedRun) -> float:
        """Return the seconds that loading a run's records is expected to take."""
        settings = run.scenario.settings
        return self._price_s(Part("load", settings.database, 0.0, settings.workload.records))

    def left(self, pending: Pending, after: PlannedRun | None = None) -> TimeLeft:
        """Return what ``pending`` should take; ``after`` is the run before the first."""
        return self._sum(pending.parts(after))

    def left_with(self, run: PlannedRun, pending: Pending) -> TimeLeft:
        """Return what a run whose records are loaded and then ``pending`` should take."""
        return self._sum(chain(((part, 1) for part in _parts_of(run)), pending.parts(run)))

    def _sum(self, parts: Iterable[tuple[Part, int]]) -> TimeLeft:
        seconds, is_limit = 0.0, False
        for part, n in parts:
            seconds += n * self._price_s(part)
            is_limit |= part.what == "count" and part.database not in self._operations_s
        return TimeLeft(seconds, is_limit)

    def _price_s(self, part: Part) -> float:
        database = part.database
        match part.what:
            case "start":
                return self._starts_s.get(database, facts_of(database).start_s)
            case "load":
                if database == KEEPS_NOTHING:
                    return 0.0
                records, seconds = self._loads.get(database, (_FIRST_GUESS_LOADED_PER_S, 1.0))
                return seconds * part.amount / records
            case "run":
                seen = self._overheads_s.get(database, self._any_overhead_s)
                overhead_s = seen.value if seen.n else _FIRST_GUESS_RUN_OVERHEAD_S
                return max(0.0, part.seconds + overhead_s)
            case "count" if database in self._operations_s:
                return min(part.seconds, self._operations_s[database].value * part.amount)
            case _:
                return part.seconds
