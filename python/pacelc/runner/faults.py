"""A run's schedule of faults: followed from the beginning of measuring, undone at its end.

The engine says when measuring begins as soon as it knows: when the last user is in, or a quarter of
a second before a warm-up that ends by itself is over. Faults are scheduled from that moment:
asking for the phase again and again would notice it late by up to one pause. When a fault began is
recorded to the microsecond, and it is that which the analysis counts from.

Map
---
FaultFollower   follows one run's schedule on one cluster; hears of faults by hand too
fault_spec      a study's fault as clusters know it
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from typing import TYPE_CHECKING, Any

from pacelc.clusters.faults.rules import FaultSpec
from pacelc.errors import PacelcError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pacelc.clusters.faults.injection import FaultRecord, Injector
    from pacelc.study.faults import Fault

__all__ = ["FaultFollower", "fault_spec"]


def fault_spec(fault: Fault) -> FaultSpec:
    """Return a study's fault as clusters know it."""
    return FaultSpec(
        fault.fault,
        fault.target,
        direction=fault.direction,
        client=fault.client,
        delay_s=fault.delay_s,
        jitter_s=fault.jitter_s,
        loss=fault.loss,
        duplicate=fault.duplicate,
        reorder=fault.reorder,
    )


class FaultFollower:
    """Follows one run's schedule, in a thread of its own.

    Parameters
    ----------
    injector
        Of the run's cluster.
    faults
        The schedule.
    measure_s
        When measuring ends: whatever has no end of its own ends then, but for killed nodes.
    seed
        The run's, for targets that are chosen.
    warn
        Hears in a line of a fault that could not be carried out.
    """

    def __init__(
        self,
        injector: Injector,
        faults: Sequence[Fault],
        *,
        measure_s: float,
        seed: int,
        warn: Callable[[str], None],
    ) -> None:
        self._injector = injector
        self._faults = tuple(faults)
        self._measure_s = measure_s
        self._seed = seed
        self._warn = warn
        self._standing = injector.active
        self._first = len(injector.records)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._begin_s = 0.0
        injector.clock.set()

    @property
    def waits(self) -> bool:
        """Whether it is yet to be told when measuring begins."""
        return bool(self._faults) and self._thread is None

    def hear(self, progress: Mapping[str, Any]) -> None:
        """Hear what the engine says of itself; the schedule begins with the measured phase."""
        begin_unix_s = progress.get("measure_start_unix_s")
        if self.waits and begin_unix_s is not None:
            # By the clock of the run: it and the engine's were set when the run began.
            away_s = float(begin_unix_s) - self._injector.clock.unix_us() / 1e6
            self._begin_s = time.monotonic() + away_s
            self._thread = threading.Thread(target=self._follow, name="pacelc-faults", daemon=True)
            self._thread.start()

    def check(self) -> None:
        """Make sure that every server runs, but for those that faults of this run have ended.

        Raises
        ------
        NodeDied
            One has ended that no fault has hit.
        """
        self._injector.check_servers(self._first)

    def stop(self) -> None:
        """End the schedule where it is and end every fault; servers may not serve yet."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._injector.heal()

    @property
    def records(self) -> tuple[FaultRecord, ...]:
        """The faults of this run, by hand too; those that it began with come first."""
        return (*self._standing, *self._injector.records[self._first :])

    def _follow(self) -> None:
        begun: dict[int, FaultRecord] = {}
        for at_s, ends, number in self._steps():
            if self._ended.wait(max(0.0, self._begin_s + at_s - time.monotonic())):
                return
            if ends and number in begun:
                self._injector.end(begun[number])
            elif not ends:
                with contextlib.suppress(PacelcError):
                    begun[number] = self._begin(number)
        # By hand or by schedule: what nobody has ended goes on until here, so that no operation of
        # another phase meets it. A killed node stays dead, and is started when the run is over.
        if not self._ended.wait(max(0.0, self._begin_s + self._measure_s - time.monotonic())):
            for record in self._injector.active:
                if record.fault != "kill":
                    self._injector.end(record)

    def _steps(self) -> list[tuple[float, bool, int]]:
        """When what happens: seconds, whether a fault ends (such come first), its number."""
        begins = [(fault.at_s, False, number) for number, fault in enumerate(self._faults)]
        ends = [
            (fault.end_s, True, number)
            for number, fault in enumerate(self._faults)
            if fault.end_s is not None
        ]
        return sorted([*begins, *ends], key=lambda step: (step[0], not step[1], step[2]))

    def _begin(self, number: int) -> FaultRecord:
        fault = self._faults[number]
        digest = hashlib.blake2b(f"{self._seed}/fault/{number}".encode(), digest_size=8).digest()
        try:
            record = self._injector.begin(
                fault_spec(fault),
                by="schedule",
                seed=int.from_bytes(digest, "big"),
                planned_at_s=fault.at_s,
                planned_for_s=fault.for_s,
            )
        except PacelcError as error:
            self._injector.note_failure(fault_spec(fault), one_line(error), fault.at_s, fault.for_s)
            self._warn(f"{fault} could not be carried out: {one_line(error)}")
            raise
        if record.error is not None:
            self._warn(f"{fault}: {record.error}")
        return record
