"""The runner's lab, with workers or without.

Map
---
open_lab        a context with the lab that ``--workers`` asks for
check_workers   refuse a study that workers can't run
WorkersLab      clusters of this machine, load from workers
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pacelc.errors import InputError
from pacelc.runner.engine import load_engine
from pacelc.runner.lab import LocalLab
from pacelc.runner.reading import CLIENT, Reading
from pacelc.runner.resources import NodeProcess, ProcessSampler, Sampler
from pacelc.workers.connection import Local, Remote, connected, parse
from pacelc.workers.crew import Crew
from pacelc.workers.engine import RayEngine, Readings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from pacelc.study import Settings, Study

__all__ = ["WorkersLab", "check_workers", "open_lab"]


@contextmanager
def open_lab(
    workers: str | None,
    study: Study,
    *,
    lead_s: float,
    workdir: Path | None,
    start_timeout_s: float,
    force_memory: bool = False,
    tell: Callable[[str], None],
) -> Generator[LocalLab]:
    """Yield the lab in which ``study`` is run.

    Parameters
    ----------
    workers
        A number, ``ray://HOST:PORT`` or ``ray:auto``; None for this process alone.
    study
        Refused before Ray is asked, if workers can't run it.
    lead_s
        How long workers get to open their connections before they start together.
    workdir, start_timeout_s, force_memory
        See `LocalLab`.
    tell
        Hears in a line which workers there are.

    Raises
    ------
    InputError
        If ``workers`` or ``study`` is not to be had.
    CannotRun
        If there is no Ray, or workers have another pacelc.
    """
    if workers is None:
        yield LocalLab(workdir=workdir, start_timeout_s=start_timeout_s, force_memory=force_memory)
        return
    where = check_workers(workers, study)
    own = load_engine()
    with connected(where) as ray:
        crew = Crew(ray, where, own.version())
        tell(f"workers: {crew}")
        engine = RayEngine(own, crew, lead_s)
        yield WorkersLab(engine, workdir, start_timeout_s, force_memory, engine.readings)


def check_workers(workers: str, study: Study) -> Local | Remote:
    """Return where the workers are; Ray isn't asked.

    Raises
    ------
    InputError
        If ``workers`` names none, or they can't run ``study``.
    CannotRun
        If this machine belongs to no Ray cluster, and should.
    """
    where = parse(workers)
    for scenario in study.scenarios():
        _refuse(scenario.number, scenario.settings, where)
    return where


def _refuse(number: int, settings: Settings, where: Local | Remote) -> None:
    if settings.warm_up_ceiling_s is not None:
        raise InputError(
            f"scenario {number}: warm_up_ceiling: workers that measure together need a warm-up of "
            "fixed length",
            "leave warm_up_ceiling out, or --workers",
        )
    if settings.database == "memory":
        raise InputError(
            f"scenario {number}: database memory lives in one process: every worker would have its "
            "own",
            "a database with servers",
        )
    if settings.clients:
        raise InputError(
            f"scenario {number}: clients are hosts of the emulated network, which workers are "
            "outside of",
            "leave clients and regions out, or --workers",
        )
    if settings.asks_for_network:
        raise InputError(
            f"scenario {number}: workers are outside the emulated network, which regions and links "
            "ask for, and can't reach its hosts",
            "leave regions, links and network out, or --workers",
        )
    if settings.keeps_operations and isinstance(where, Remote):
        name = (
            "observe"
            if not settings.keeps_all_operations
            else "record_operations"
            if settings.record_operations
            else "faults"
        )
        raise InputError(
            f"scenario {number}: {name}: operations would be recorded on the workers' machines",
            f"leave {name} out, or use --workers N on this machine",
        )


@dataclass(frozen=True)
class WorkersLab(LocalLab):
    """Clusters of this machine, load from workers."""

    readings: Readings = field(default_factory=Readings)

    def check_open_files(self, settings: Settings) -> None:
        """Leave it to the workers, which share the users out, and whose limits are their own."""

    def sampler(self, processes: Sequence[NodeProcess], interval_s: float) -> Sampler:
        """See `Lab`."""
        return _WorkersSampler(processes, interval_s, self.readings)


class _WorkersSampler(ProcessSampler):
    """Servers as ever; the load generator is the workers, and this process is none."""

    def __init__(
        self, processes: Sequence[NodeProcess], interval_s: float, readings: Readings
    ) -> None:
        super().__init__(processes, interval_s)
        self._readings = readings
        self._readings.begin(interval_s)

    def stop(self) -> list[Reading]:
        servers = [reading for reading in super().stop() if reading.role != CLIENT]
        return sorted([*servers, *self._readings.end()], key=lambda reading: reading.unix_s)
