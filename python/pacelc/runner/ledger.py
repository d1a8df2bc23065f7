"""How far the load of an external cluster has come, so that it goes on where it was interrupted.

A cluster of pacelc's own is made anew by each invocation, and its records with it. One of the
user's stays, and so does what was loaded into it: ``load.json``, in the study's directory, says
which records those are. It also says that the table is this study's, which alone may drop it.

Map
---
LoadLedger      ``load.json``, and what follows from it; keeps nothing for other clusters
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pacelc.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pacelc.runner.engine import Job
    from pacelc.study import PlannedRun

__all__ = ["LoadLedger"]

_FILE = "load.json"
_INTERVAL_S = 1.0


@dataclass
class LoadLedger:
    """What an external cluster holds of a run's records.

    Attributes
    ----------
    load_from
        Records below this number are there, and no run has inserted or deleted since.
    is_ours
        Whether this study made the table.
    """

    path: Path | None
    """None for a cluster of pacelc's own."""
    cluster: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data_set: str = ""
    records: int = 0
    changes: bool = False
    """Whether the run that is loaded for leaves other records behind than it finds."""
    load_from: int = 0
    is_ours: bool = False

    @classmethod
    def of(cls, run: PlannedRun, directory: Path) -> LoadLedger:
        """Return what is known of the records of ``run``, whose results are in ``directory``."""
        settings = run.scenario.settings
        if settings.external is None:
            return cls(None)
        ledger = cls(
            directory / _FILE,
            {"database": settings.database, "endpoints": list(settings.external.endpoints)},
            repr(settings.data_set),
            settings.workload.records,
            settings.workload.changes_data_set,
        )
        ledger._read()
        return ledger

    @property
    def is_loaded(self) -> bool:
        """Whether nothing is left to be inserted."""
        return 0 < self.records <= self.load_from

    def permitted(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``spec`` with leave to drop the table, if this study made it."""
        if not self.is_ours:
            return dict(spec)
        return {**spec, "target": {**spec["target"], "protect_records": False}}

    def continued(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``spec`` with the first record that is still to be loaded."""
        return {**spec, "load_from": self.load_from} if self.load_from else dict(spec)

    def begin(self) -> None:
        """Note that the table is this study's, and holds no record that can be relied on."""
        self.load_from, self.is_ours = 0, True
        self._write()

    def spoil(self) -> None:
        """Note that a run is about to insert or delete."""
        if self.is_ours:
            self.begin()

    def end(self) -> None:
        """Note that all records were inserted and counted."""
        if self.changes:
            self.spoil()
        else:
            self.reached(self.records)

    def follow(self, job: Job) -> Job:
        """Return ``job``, its progress written down about once a second and at its end."""
        return job if self.path is None else cast("Job", _Followed(job, self))

    def reached(self, records: int) -> None:
        """Note that so many records, from the first on, are there."""
        if self.path is not None and records > self.load_from:
            self.load_from = records
            self._write()

    def _read(self) -> None:
        for kept in self._clusters():
            if kept.get("cluster") == self.cluster:
                self.is_ours = True
                if kept.get("data_set") == self.data_set:
                    self.load_from = int(kept.get("records", 0))

    def _write(self) -> None:
        if self.path is not None:
            kept = {"cluster": self.cluster, "data_set": self.data_set, "records": self.load_from}
            others = [other for other in self._clusters() if other.get("cluster") != self.cluster]
            document = {"clusters": [*others, kept]}
            write_atomically(self.path, json.dumps(document, indent=1).encode() + b"\n")

    def _clusters(self) -> list[dict[str, Any]]:
        """Return what the file says of each cluster; of a broken file nothing is believed."""
        try:
            document = json.loads("{}" if self.path is None else self.path.read_text("utf-8"))
            return list(document["clusters"])
        except (OSError, ValueError, LookupError, TypeError):
            return []


@dataclass
class _Followed:
    """A load whose progress is written down while it is waited for."""

    job: Job
    ledger: LoadLedger
    written_s: float = field(default_factory=time.monotonic)
    ending: bool = False

    def wait(self, timeout_s: float) -> bool:
        try:
            done = self.job.wait(timeout_s)
        except BaseException:
            # Ctrl-C, which stops the job.
            self._write()
            raise
        if done or self.ending or time.monotonic() - self.written_s >= _INTERVAL_S:
            self._write()
        return done

    def progress(self) -> Mapping[str, Any]:
        return self.job.progress()

    def stop(self) -> None:
        self.ending = True
        self.job.stop()

    def result(self) -> str:
        return self.job.result()

    def _write(self) -> None:
        self.written_s = time.monotonic()
        # A disk that is full costs the resumption, not the load.
        with contextlib.suppress(OSError):
            self.ledger.reached(int(self.job.progress().get("ok", 0)))
