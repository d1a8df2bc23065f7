"""Writing a results directory: one writer at a time, each run whole or absent."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from pacelc.files import flush_directory, write_all, write_atomically, write_new
from pacelc.store.disk import (
    drop_torn_line,
    move_in,
    parquet_bytes,
    raise_storage_error,
    take_lock,
)
from pacelc.store.format import (
    FORMAT,
    READ_BACK_FILE,
    RESOURCES_SCHEMA,
    RUN_ID,
    SAMPLES_SCHEMA,
    Activity,
    DamagedError,
    RunRecord,
    StoreError,
    conform,
    is_array,
    is_object,
    read_study,
    refuse_not_results,
    utc_text,
    validate,
)
from pacelc.store.latency_log import LatencyLogError, read_latency_log
from pacelc.store.observed import OBSERVED_FILE, Observed
from pacelc.store.reader import run_ids
from pacelc.store.whole import RUN_FILE, SUMS, check_run, checksums

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    import polars as pl


DAMAGED: Final = "damaged"
"""Where damaged runs are kept that were measured again."""
_UNFINISHED: Final = re.compile(rf"\.{RUN_ID.pattern}\.(operations|[0-9]+)")
_HALF_WRITTEN: Final = re.compile(rf"\.(study|load|saturation|{RUN_ID.pattern}\.[0-9]+)\.json\.tmp")


_OF_FACTORS: Final = frozenset({"exclude", "when", "levels"})
"""Where a study's keys are names of factors: scenarios are numbered by them, whatever they set."""


class Store:
    """The one writer of a results directory.

    Made by :meth:`open`; close it, or use it in a ``with`` statement.

    Attributes
    ----------
    path : Path
        The results directory.
    study : dict
        The resolved study definition that the directory was made for.
    damaged : dict of str to str
        The runs that :meth:`finished` found damaged, and what is wrong with each.
    """

    def __init__(
        self, path: Path, study: dict[str, Any], lock: int, *, begun: bool = False
    ) -> None:
        self.path = path
        self.study = study
        self.damaged: dict[str, str] = {}
        self._whole: dict[str, Mapping[str, Any]] = {}
        self._lock: int | None = lock
        self._scratch: Path | None = None
        self._begun = begun

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: Mapping[str, Any] | None = None,
        pacelc_version: str | None = None,
        now: datetime | None = None,
    ) -> Self:
        """Open a results directory for writing, and hold it until closed or the process ends.

        Parameters
        ----------
        path
            The directory. It is made, with its parents, if ``create`` is given and it does not
            exist.
        create
            The resolved study definition (plain JSON values). A directory that already holds a
            study is continued if the definitions are equal, refused if they differ. Without it, the
            directory must exist.
        pacelc_version
            Recorded in a new ``study.json``; by default that of the installed package.
        now
            Time of creation, for a new directory; by default the clock's.

        Raises
        ------
        StoreError
            The directory can't be written, belongs to another study or to another program, has a
            newer format, or another runner holds it.
        """
        path = Path(path)
        study_file = path / "study.json"
        if create is None and not study_file.is_file():
            refuse_not_results(path)
        if create is not None:
            _refuse_foreign(path)
        try:
            (path / "runs").mkdir(parents=True, exist_ok=True)
            (path / "failures").mkdir(exist_ok=True)
            lock = take_lock(path)
        except OSError as error:
            raise_storage_error(error, path)
        try:
            study = None if create is None else _plain_json(create, "the study definition")
            begun = not study_file.is_file()
            if not begun:
                study = _stored_study(path, study)
            elif study is None:
                refuse_not_results(path)
            else:
                document = {
                    "format": FORMAT,
                    "pacelc": pacelc_version or _installed_version(),
                    "created_utc": utc_text(now or datetime.now(UTC)),
                    "study": study,
                }
                write_atomically(study_file, _json_bytes(document, "study.json"))
            _clear_leftovers(path)
        except OSError as error:
            os.close(lock)
            raise_storage_error(error, path)
        except BaseException:
            os.close(lock)
            raise
        return cls(path, study, lock, begun=begun)

    @staticmethod
    def check(path: str | os.PathLike[str], create: Mapping[str, Any]) -> None:
        """Refuse what `open` would refuse of a directory, and write nothing.

        Raises
        ------
        StoreError
            It can't be written, or belongs to another study or to another program.
        """
        path = Path(path)
        there = next(
            folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists()
        )
        if not there.is_dir():
            raise_storage_error(NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), path)
        if not os.access(there, os.W_OK | os.X_OK):
            raise_storage_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)
        _refuse_foreign(path)
        if (path / "study.json").is_file():
            _stored_study(path, _plain_json(create, "the study definition"))

    def withdraw(self) -> None:
        """Forget a study that was begun here and refused: changed, it may be begun here again."""
        if self._begun:
            (self.path / "study.json").unlink()

    def close(self) -> None:
        """Let the next runner have the directory. Closing twice is harmless."""
        self._drop_scratch()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def finished(self) -> set[str]:
        """Names of the runs that are whole: what a resumed study need not repeat.

        Raises
        ------
        StoreError
            A file can't be read, or is of a newer format, so nobody can tell.
        """
        for run_id in run_ids(self.path):
            if run_id not in self._whole and run_id not in self.damaged:
                try:
                    record = check_run(self.path / "runs" / run_id)
                except DamagedError as error:
                    self.damaged[run_id] = error.message
                else:
                    self._whole[run_id] = record.scenario.settings
        return set(self._whole)

    def settings(self, run_id: str) -> Mapping[str, Any]:
        """Return the settings that a run had which is whole; older runs have fewer."""
        return self._whole[run_id]

    def scratch(self, run_id: str) -> Path:
        """Make an empty directory for what a run writes while it is measured, and return it.

        It is gone as soon as the run is written or has failed, and when the store is closed.
        """
        self._drop_scratch()
        self._scratch = self.path / "runs" / f".{run_id}.operations"
        self._scratch.mkdir()
        return self._scratch

    def _drop_scratch(self) -> None:
        if self._scratch is not None:
            # What can't be removed now is when the store is opened again.
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def write_run(  # noqa: PLR0917 - the parts of a run, in the order of its files
        self,
        run_id: str,
        run: Mapping[str, Any],
        samples: pl.DataFrame,
        resources: pl.DataFrame,
        latency_log: str,
        operations: Path | None = None,
        read_back: Path | None = None,
        observed: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write one complete run, or nothing. A damaged one in its place goes to ``damaged/``.

        Parameters
        ----------
        run_id
            Scenario number and repetition, ``0012-r1``.
        run
            The content of ``run.json``: see :class:`RunRecord`. ``format`` is added if it is
            missing.
        samples
            Columns of :data:`SAMPLES_SCHEMA`; one row an interval and operation.
        resources
            Columns of :data:`RESOURCES_SCHEMA`; one row a reading and node.
        latency_log
            Text of an HdrHistogram interval log, tags ``<operation>.<outcome>``, nanoseconds.
        operations
            A Parquet file of single operations, if a history was recorded. It is moved into the
            run.
        read_back
            A Parquet file of the records that were read back after faults. It is moved, too.
        observed
            The content of ``observed.json``, if the checkers were asked.

        Returns
        -------
        Path
            The run's directory.

        Raises
        ------
        StoreError
            A value is missing or of the wrong type (the field is named), the run exists, or the
            disk is full.
        """
        self._check_open()
        final = self.path / "runs" / run_id
        document, record = self._new_run(run_id, run)
        samples = conform(samples, SAMPLES_SCHEMA, "samples", run_id)
        resources = conform(resources, RESOURCES_SCHEMA, "resources", run_id)
        try:
            read_latency_log(latency_log)
        except LatencyLogError as error:
            raise StoreError(f"run {run_id}: latency log: {error}") from error

        temporary = self.path / "runs" / f".{run_id}.{os.getpid()}"
        try:
            temporary.mkdir()
            try:
                write_new(temporary / "samples.parquet", parquet_bytes(samples))
                write_new(temporary / "resources.parquet", parquet_bytes(resources))
                write_new(temporary / "latency.hdr", latency_log.encode())
                if operations is not None:
                    move_in(Path(operations), temporary / "operations.parquet")
                if read_back is not None:
                    move_in(Path(read_back), temporary / READ_BACK_FILE)
                if observed is not None:
                    seen = _plain_json(dict(observed), f"run {run_id}")
                    validate(Observed, seen, f"run {run_id}: {OBSERVED_FILE}")
                    write_new(temporary / OBSERVED_FILE, _json_bytes(seen, f"run {run_id}"))
                document[SUMS] = checksums(document, temporary)
                write_new(temporary / RUN_FILE, _json_bytes(document, f"run {run_id}"))
                flush_directory(temporary)
                if run_id in self.damaged:
                    self._set_aside(final)
                temporary.rename(final)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            flush_directory(final.parent)
        except OSError as error:
            raise_storage_error(error, final)
        self._drop_scratch()
        self._whole[run_id] = record.scenario.settings
        return final

    def write_failure(
        self,
        run_id: str,
        *,
        reason: str,
        hint: str | None = None,
        log_tail: str = "",
        scenario: Mapping[str, Any] | None = None,
        when_utc: datetime | None = None,
    ) -> Path:
        """Keep what is known of an attempt that gave no run.

        Attempts count from 1; a failure never hides a later run. What the attempt left in its
        scratch directory goes first: on a full disk, it makes room for this file.

        Parameters
        ----------
        run_id
            The run attempted.
        reason, hint
            What went wrong, and what to check.
        log_tail
            The last lines of the server's or client's log.
        scenario
            Number, factors and settings, as in ``run.json``.
        when_utc
            By default, now.
        """
        self._check_open()
        if not RUN_ID.fullmatch(run_id):
            raise StoreError(
                f"run name {run_id!r} is not like 0012-r1 (scenario number, repetition)"
            )
        self._drop_scratch()
        folder = self.path / "failures"
        attempts = [
            int(p.name.split(".")[1])
            for p in folder.glob(f"{run_id}.*.json")
            if re.fullmatch("[0-9]+", p.name.split(".")[1])
        ]
        attempt = 1 + max(attempts, default=0)
        document: dict[str, Any] = {
            "format": FORMAT,
            "run": run_id,
            "attempt": attempt,
            "reason": reason,
            "hint": hint,
            "log_tail": log_tail,
            "when_utc": utc_text(when_utc or datetime.now(UTC)),
            "scenario": dict(scenario or {}),
        }
        path = folder / f"{run_id}.{attempt}.json"
        try:
            write_atomically(path, _json_bytes(document, f"failure of {run_id}"))
        except OSError as error:
            raise_storage_error(error, path)
        return path

    def log_activity(
        self,
        what: str,
        *,
        start_utc: datetime,
        seconds: float,
        scenario: int | None = None,
        run: str | None = None,
        **details: Any,
    ) -> None:
        """Add one line to the time account.

        Parameters
        ----------
        what
            ``cluster-up``, ``load``, ``warm-up``, ``measure``, ``cool-down``, ``cluster-down``,
            ``fetch``, or another word.
        start_utc, seconds
            When it began (aware of its zone) and how long it took.
        scenario, run
            What it was for, if for one.
        details
            Anything else worth keeping (plain JSON values).
        """
        self._check_open()
        line = {
            "what": what,
            "scenario": scenario,
            "run": run,
            "start_utc": utc_text(start_utc),
            "seconds": seconds,
            **details,
        }
        validate(Activity, line, "activity")
        path = self.path / "timeline.jsonl"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                write_all(
                    descriptor,
                    json.dumps(line, allow_nan=False, ensure_ascii=False).encode() + b"\n",
                )
            finally:
                os.close(descriptor)
        except OSError as error:
            raise_storage_error(error, path)
        except (TypeError, ValueError) as error:
            raise StoreError(f"activity {what!r} can't be written as JSON: {error}") from error

    def _new_run(self, run_id: str, run: Mapping[str, Any]) -> tuple[dict[str, Any], RunRecord]:
        """Return the content of ``run.json`` of a run that isn't there, as written and as read."""
        if not RUN_ID.fullmatch(run_id):
            raise StoreError(
                f"run name {run_id!r} is not like 0012-r1 (scenario number, repetition)"
            )
        if run_id in self.finished():
            raise StoreError(
                f"run {run_id} is already in {self.path}: a run is written once",
                "ask finished() first",
            )
        document = _plain_json({"format": FORMAT, **run}, f"run {run_id}")
        record = validate(RunRecord, document, f"run {run_id}")
        if record.run != run_id or record.format != FORMAT:
            raise StoreError(
                f"run {run_id}: run.json names run {record.run!r}, format {record.format}"
            )
        return document, record

    def _set_aside(self, damaged: Path) -> None:
        """Move a damaged run to where it hides no other."""
        folder = self.path / DAMAGED
        folder.mkdir(exist_ok=True)
        number = 1
        while os.path.lexists(folder / f"{damaged.name}.{number}"):
            number += 1
        damaged.rename(folder / f"{damaged.name}.{number}")
        flush_directory(folder)
        del self.damaged[damaged.name]

    def _check_open(self) -> None:
        if self._lock is None:
            raise StoreError(f"{self.path} was closed", "open the store again to write")


def _clear_leftovers(path: Path) -> None:
    """Remove what a writer that died left half-written. The lock says that none is alive.

    Only what has the name of ours: other hidden files are somebody's.
    """
    for leftover in (path / "runs").iterdir():
        if _UNFINISHED.fullmatch(leftover.name) and leftover.is_dir():
            shutil.rmtree(leftover)
    for leftover in (*path.iterdir(), *(path / "failures").iterdir()):
        if _HALF_WRITTEN.fullmatch(leftover.name) and leftover.is_file():
            leftover.unlink()
    drop_torn_line(path / "timeline.jsonl")


def _stored_study(path: Path, given: dict[str, Any] | None) -> dict[str, Any]:
    """Return the study that a directory was made for, which must be the one given, if any."""
    stored = read_study(path).study
    if given is not None:
        _check_same_study(path, stored, given)
    return stored


def _check_same_study(path: Path, stored: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    difference = _first_difference(_what_is_measured(stored), _what_is_measured(given))
    if difference is not None:
        where, was, now = difference
        raise StoreError(
            f"{path} holds another study: {where} is {was} there, {now} here",
            "give the changed study a directory of its own with --out DIRECTORY; runs of two "
            "definitions can't be mixed",
        )


def _what_is_measured(study: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study without what changes no run: its order, its clusters' hosts and ports."""
    kept = {
        key: value if key in _OF_FACTORS else _leave_out_addresses(value)
        for key, value in study.items()
        if key != "order"
    }
    if is_object(factors := study.get("factors")):
        kept["factors"] = {name: _leave_out_addresses(levels) for name, levels in factors.items()}
    overrides = kept.get("overrides")
    if is_array(overrides):
        kept["overrides"] = [one for one in overrides if is_object(one) and one.get("set")]
    return {key: value for key, value in kept.items() if value not in ({}, [])}


def _leave_out_addresses(value: object, options: str = "") -> object:
    """Leave them out; ``options`` begins the names of a cluster's options in this value."""
    if is_array(value):
        return [_leave_out_addresses(item) for item in value]
    if not is_object(value):
        return value
    kept: dict[str, object] = {}
    for key, item in value.items():
        if key in _OF_FACTORS:
            kept[key] = item
            continue
        prefix, _, option = f"{options}{key}".partition(".")
        if prefix == "cluster_options" and (
            option in ("first_host", "port") or option.endswith("_port")
        ):
            continue
        inner = _leave_out_addresses(item, "cluster_options." if key == "cluster_options" else "")
        if key != "cluster_options" or inner:
            kept[key] = inner
    return kept


def _first_difference(
    stored: object, given: object, where: str = ""
) -> tuple[str, str, str] | None:
    """Path, stored and given value of the first place at which two JSON values differ."""
    if is_object(stored) and is_object(given):
        for key in dict.fromkeys((*stored, *given)):
            path = f"{where}.{key}" if where else key
            if key not in stored or key not in given:
                was, now = (
                    _short(side[key]) if key in side else "absent" for side in (stored, given)
                )
                return path, was, now
            found = _first_difference(stored[key], given[key], path)
            if found is not None:
                return found
        return None
    if is_array(stored) and is_array(given) and len(stored) == len(given):
        for i, (a, b) in enumerate(zip(stored, given, strict=True)):
            found = _first_difference(a, b, f"{where}[{i}]")
            if found is not None:
                return found
        return None
    return None if stored == given else (where or "the definition", _short(stored), _short(given))


_SHOWN = 60


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _refuse_foreign(path: Path) -> None:
    """Refuse a directory that holds something else than a study."""
    if path.is_dir() and not (path / "study.json").exists() and (others := _foreign_entries(path)):
        raise StoreError(
            f"{path} has no study.json but holds {', '.join(others[:3])}",
            "give the study an empty or new directory, or restore the study.json of this one",
        )


def _foreign_entries(path: Path) -> list[str]:
    """Return what may be in the way of a new study: also the runs of one that lost its name."""
    own = {"runs", "failures", ".lock", ".study.json.tmp"}
    runs = [f"runs/{run_id}" for run_id in run_ids(path)]
    return sorted((*(p.name for p in path.iterdir() if p.name not in own), *runs))


def _plain_json(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return the value as JSON would give it back, so that what is compared is what is stored."""
    plain: dict[str, Any] = json.loads(_json_bytes(value, what))
    return plain


def _json_bytes(value: object, what: str) -> bytes:
    def encode(item: object) -> object:
        if isinstance(item, datetime):
            return utc_text(item)
        if isinstance(item, Path):
            return str(item)
        raise TypeError(f"{type(item).__name__} has no JSON form")

    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=encode)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{what} can't be written as JSON: {error}") from error
    return text.encode() + b"\n"


def _installed_version() -> str:
    try:
        return metadata.version("pacelc")
    except metadata.PackageNotFoundError:
        return "0+unknown"
