"""What a study has made on an external cluster, and how far its records are loaded.

A cluster of pacelc's own is made anew by each invocation, and its records with it. One of the
user's stays, and so does what was loaded into it: ``load.json``, in the study's directory, says
for each table which of its records are there.

It also holds the marker by which the study knows its tables: a random id that each of them carries
in its metadata. Nothing without the marker is ever dropped or written to, so a broken or missing
file means that every table is somebody else's. The rule itself is the engine's: see
``crates/bindings/src/table.rs``.

Map
---
LoadLedger      ``load.json``, and what follows from it; keeps nothing for other clusters
"""

from __future__ import annotations

import contextlib
import json
import secrets
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
        Whether this study has made the table, or was about to.
    """

    path: Path | None
    """None for a cluster of pacelc's own."""
    table: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Database, endpoints and name of the table."""
    data_set: str = ""
    records: int = 0
    changes: bool = False
    """Whether the run that is loaded for leaves other records behind than it finds."""
    marker: str = ""
    load_from: int = 0
    is_ours: bool = False
    table_id: str | None = None
    """The id that the database gave the table; None where it gives none, or it wasn't noted."""
    container: bool = False
    """Whether what holds the table (a keyspace) was made by this study, too."""

    @classmethod
    def of(cls, run: PlannedRun, directory: Path) -> LoadLedger:
        """Return what is known of the records of ``run``, whose results are in ``directory``."""
        settings = run.scenario.settings
        if settings.external is None:
            return cls(None)
        ledger = cls(
            directory / _FILE,
            {
                "database": settings.database,
                "endpoints": list(settings.external.endpoints),
                "table": settings.workload.table,
            },
            repr(settings.data_set),
            settings.workload.records,
            settings.workload.changes_data_set,
        )
        ledger._read()
        return ledger

    @property
    def is_external(self) -> bool:
        """Whether the cluster is one of the user's."""
        return self.path is not None

    def owned(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``spec`` with what this study's table is known by, and where its load goes on."""
        if not self.is_external:
            return dict(spec)
        owner = {**spec["target"]["owner"], "marker": self.marker, "table_id": self.table_id}
        return {
            **spec,
            "target": {**spec["target"], "owner": owner},
            "load_from": self.load_from,
        }

    def begin(self) -> None:
        """Note, before a table is made, that it will be this study's, and that it has no record.

        Its id isn't known before it is there. Until it is noted, the marker alone tells.
        """
        self.load_from, self.is_ours, self.table_id = 0, True, None
        self._write()

    def made(self, created: Mapping[str, Any]) -> None:
        """Note what `Engine.prepare` says of the table that it has made."""
        self.table_id = created["table_id"]
        self.container = self.container or created["container"]
        self._write()

    def spoil(self) -> None:
        """Note that a run is about to insert or delete."""
        if self.is_ours:
            self.load_from = 0
            self._write()

    def end(self) -> None:
        """Note that all records were inserted and counted."""
        if self.changes:
            self.spoil()
        else:
            self.reached(self.records)

    def forget(self) -> None:
        """Note that the table is gone, and was not made anew."""
        if self.path is not None:
            _, others = self._document()
            self._replace(others)

    def follow(self, job: Job) -> Job:
        """Return ``job``, its progress written down about once a second and at its end."""
        return job if self.path is None else cast("Job", _Followed(job, self))

    def reached(self, records: int) -> None:
        """Note that so many records, from the first on, are there."""
        if self.path is not None and records > self.load_from:
            self.load_from = records
            self._write()

    def _read(self) -> None:
        kept, _ = self._document()
        if kept is not None:
            self.is_ours = True
            self.table_id = kept.get("table_id")
            self.container = bool(kept.get("container"))
            if kept.get("data_set") == self.data_set:
                self.load_from = int(kept.get("records", 0))

    def _write(self) -> None:
        _, others = self._document()
        kept = {
            "table": self.table,
            "table_id": self.table_id,
            "container": self.container,
            "data_set": self.data_set,
            "records": self.load_from,
        }
        self._replace([*others, kept])

    def _replace(self, tables: list[dict[str, Any]]) -> None:
        if self.path is not None:
            document = {"marker": self.marker, "tables": tables}
            write_atomically(self.path, json.dumps(document, indent=1).encode() + b"\n")

    def _document(self) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """Read the marker, and what the file says of this table and of the others.

        Of a broken file nothing is believed, and its marker is replaced.
        """
        try:
            document = json.loads("{}" if self.path is None else self.path.read_text("utf-8"))
            marker, tables = str(document["marker"]), list(document["tables"])
            this = [kept for kept in tables if kept["table"] == self.table]
            others = [kept for kept in tables if kept["table"] != self.table]
        except (OSError, ValueError, LookupError, TypeError):
            marker, this, others = self.marker or secrets.token_hex(16), [], []
        self.marker = marker
        return (this[0] if this else None), others


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
