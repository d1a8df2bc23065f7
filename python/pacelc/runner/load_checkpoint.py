"""What a study has made on an external cluster, and how far its records are loaded.

A cluster of pacelc's own is made anew by each invocation, and its records with it. One of the
user's stays, and so does what was loaded into it: ``load.json``, in the study's directory, says
for each table which of its records are there.

It also holds the marker by which the study knows its tables: a random id that each of them carries
in its metadata. Nothing without the marker is ever dropped or written to, so a missing file means
that every table is somebody else's. The rule itself is the engine's: see
``crates/bindings/src/table.rs``.

Map
---
LoadCheckpoint      ``load.json``, and what follows from it; keeps nothing for other clusters
"""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pacelc.documents import parse_json
from pacelc.errors import CannotRun
from pacelc.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pacelc.runner.engine import Job
    from pacelc.study import PlannedRun

__all__ = ["LoadCheckpoint"]

_FILE = "load.json"
_FIELDS = {"table", "table_id", "container", "data_set", "records"}
_NAMES = {"database", "endpoints", "table"}
_INTERVAL_S = 1.0


@dataclass
class LoadCheckpoint:
    """What an external cluster holds of a run's records.

    Attributes
    ----------
    load_from
        Records below this number are there, and no run has inserted or deleted since.
    is_noted
        Whether this study has made the table, or was about to.
    is_ours
        The same, or one of its name on a cluster that other endpoints name, which may be this one.
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
    is_noted: bool = False
    is_ours: bool = False
    table_id: str | None = None
    """The id that the database gave the table, or those of all that it may be, with blanks between
    them; None where it gives none, or one wasn't noted."""
    container: bool = False
    """Whether what holds the table (a keyspace) was made by this study, too."""

    @classmethod
    def of(cls, run: PlannedRun, directory: Path) -> LoadCheckpoint:
        """Return what is known of the records of ``run``, whose results are in ``directory``."""
        settings = run.scenario.settings
        if settings.external is None:
            return cls(None)
        external = settings.external
        # A table is made for these, too: another number of copies is another table.
        made_for = (
            settings.data_set,
            settings.replication,
            settings.sharding,
            external.region_servers,
            external.region_replicas,
        )
        checkpoint = cls(
            directory / _FILE,
            {
                "database": settings.database,
                "endpoints": list(external.endpoints),
                "table": settings.workload.table,
            },
            repr(made_for),
            settings.workload.records,
            settings.workload.changes_data_set,
        )
        checkpoint._read()
        return checkpoint

    @property
    def is_external(self) -> bool:
        """Whether the cluster is one of the user's."""
        return self.path is not None

    def owned(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``spec`` with what this study's table is known by, and where its load goes on."""
        if not self.is_external:
            return dict(spec)
        # Nothing carries the marker yet that this study made, only what a copy of its results did.
        marker = self.marker if self.is_ours else None
        owner = {**spec["target"]["owner"], "marker": marker, "table_id": self.table_id}
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
        self._write(spoilt=True)

    def made(self, created: Mapping[str, Any]) -> None:
        """Note what `Engine.prepare` says of the table that it has made."""
        self.table_id = created["table_id"]
        self.container = self.container or created["container"]
        self._write()

    def spoil(self) -> None:
        """Note that the records can't be relied on any more, or are not to be."""
        if self.is_ours:
            self.load_from = 0
            self._write(spoilt=True)

    def end(self) -> None:
        """Note that all records were inserted and counted."""
        if self.changes:
            self.spoil()
        else:
            self.reached(self.records)

    def forget(self, *, container: bool) -> None:
        """Note that the table is gone, and whether its container is, too."""
        if self.path is None:
            return
        others = [kept for kept in self._tables() if kept["table"] != self.table]
        if self.container and not container:
            # The last of the study's tables in it takes it along.
            for kept in others:
                if {**kept["table"], "table": ""} == {**self.table, "table": ""}:
                    kept["container"] = True
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
        same = [kept for kept in self._tables() if self._is_named_alike(kept)]
        self.is_ours = bool(same)
        ids = [kept["table_id"] for kept in same]
        # One of unknown id may be the one that is there.
        self.table_id = " ".join(ids) if ids and None not in ids else None
        for kept in same:
            if kept["table"] == self.table:
                self.is_noted = True
                self.container = bool(kept["container"])
                if kept["data_set"] == self.data_set:
                    self.load_from = int(kept["records"])

    def _is_named_alike(self, kept: Mapping[str, Any]) -> bool:
        """Whether an entry may be of this table: a cluster may be named by other endpoints."""
        return all(kept["table"][part] == self.table[part] for part in ("database", "table"))

    def _write(self, *, spoilt: bool = False) -> None:
        others = [kept for kept in self._tables() if kept["table"] != self.table]
        for kept in others:
            if spoilt and self._is_named_alike(kept):
                kept["records"] = 0
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

    def _tables(self) -> list[dict[str, Any]]:
        """Read the marker, and what the file says of tables.

        Raises
        ------
        CannotRun
            It is there and can't be read. To go on without it would be to lose the marker.
        """
        self.marker = self.marker or secrets.token_hex(16)
        try:
            text = "{}" if self.path is None else self.path.read_text("utf-8")
            document = cast("dict[str, Any]", parse_json(text))
            if document.get("marker") is None:
                return []  # no file, or one of before tables were marked
            tables: list[dict[str, Any]] = document["tables"]
            if all(kept.keys() >= _FIELDS and kept["table"].keys() >= _NAMES for kept in tables):
                self.marker = str(document["marker"])
                return tables
        except FileNotFoundError:
            return []  # of clusters of the user's, nothing is this study's yet
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        raise CannotRun(
            f"{self.path}, the list of this study's external tables, can't be read",
            "repair it, or move it away: pacelc then won't drop the tables that the study made",
        )


@dataclass
class _Followed:
    """A load whose progress is written down while it is waited for."""

    job: Job
    checkpoint: LoadCheckpoint
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
            self.checkpoint.reached(int(self.job.progress().get("ok", 0)))
