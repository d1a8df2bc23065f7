"""Whether a stored run is what was written, by the checksums in its ``run.json``.

A run may be damaged in ways that can't be seen in one file: a directory that was copied under
another name, or a ``latency.hdr`` from which lines were cut. Less is certain of a run of before
there were checksums: that each file can be opened, that samples, resources, latencies and findings
can be read, and that there are as many operations as its record says. What the columns of
operations and of the read-back hold, which may be large, isn't looked at.

Map
---
checksums       of a run that is about to be written
check_run       a run's directory → its record, or what is wrong with it
read_frame      a run's samples or resources
"""

from __future__ import annotations

import hashlib
import json
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from pacelc.names import counted
from pacelc.store.format import (
    READ_BACK_FILE,
    RESOURCES_SCHEMA,
    SAMPLES_SCHEMA,
    DamagedError,
    RunRecord,
    RunResult,
    StoreError,
    cannot_read,
    check_record,
    conform,
    is_object,
    parse_json,
    read_bytes,
    read_text,
    refuse_endless,
)
from pacelc.store.latency_log import LatencyLog, LatencyLogError, read_latency_log
from pacelc.store.observed import read_observed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["check_run", "checksums", "read_frame", "read_latencies"]

RUN_FILE: Final = "run.json"
SUMS: Final = "sha256"
_FRAMES: Final = {"samples": SAMPLES_SCHEMA, "resources": RESOURCES_SCHEMA}
_UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
_HINT: Final = "running the study again measures this run again, and keeps what is there"


def checksums(document: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the SHA-256 of a run's files, which are in ``folder``, and of its document.

    Raises
    ------
    OSError
        A file can't be read.
    """
    files = {path.name: _sum_of_file(path) for path in sorted(folder.iterdir())}
    return {RUN_FILE: _sum_of_document(document)} | files


def check_run(folder: Path) -> RunRecord:
    """Return the record of a run that is what was written.

    Raises
    ------
    DamagedError
        It isn't.
    NewerFormatError
        A later pacelc wrote it.
    StoreError
        A file can't be read, so nobody can tell.
    """
    path = folder / RUN_FILE
    document = parse_json(read_text(path), str(path))
    record = check_record(RunRecord, document, path)
    if record.run != folder.name:
        raise DamagedError(f"{folder} is a copy of run {record.run}", "move it away")
    if not record.sha256:
        read_frame(folder, "samples")
        read_frame(folder, "resources")
        read_latencies(folder)
        read_observed(folder)
        _check_operations(folder / "operations.parquet", record.result)
        _rows(folder / READ_BACK_FILE)
    for name, expected in record.sha256.items():
        if name == RUN_FILE:
            found = _sum_of_document(document if is_object(document) else {})
        elif "/" in name:
            raise DamagedError(f"{path}: {SUMS}: {name!r} is no file of a run", _HINT)
        else:
            found = _sum_of_stored(folder / name)
        if found != expected:
            raise DamagedError(f"{folder / name} has changed since the run was stored", _HINT)
    return record


def read_frame(folder: Path, what: Literal["samples", "resources"]) -> pl.DataFrame:
    """Return a run's samples or resources.

    Raises
    ------
    StoreError
        They can't be read.
    """
    path = folder / f"{what}.parquet"
    data = BytesIO(read_bytes(path))
    try:
        return conform(pl.read_parquet(data), _FRAMES[what], what, folder.name)
    except _UNREADABLE as error:
        raise DamagedError(f"{path} can't be read: {error}", _HINT) from None
    except StoreError as error:
        raise DamagedError(f"{path}: {error.message}", _HINT) from None


def read_latencies(folder: Path) -> LatencyLog:
    """Return a run's histograms.

    Raises
    ------
    StoreError
        They can't be read.
    """
    path = folder / "latency.hdr"
    try:
        log = read_latency_log(read_text(path))
    except LatencyLogError as error:
        raise DamagedError(f"{path}: {error}", _HINT) from None
    recorded = [interval.histogram for interval in log.intervals if interval.histogram.count]
    if len({(one.unit_exponent, one.sub_bucket_exponent) for one in recorded}) > 1:
        raise DamagedError(f"{path}: its histograms differ in precision", _HINT)
    return log


def _check_operations(path: Path, result: RunResult) -> None:
    rows, kept = _rows(path), result.observed
    if kept is not None and rows is None:
        raise DamagedError(f"{path} is missing", _HINT)
    if rows is None:
        return
    # Without a sample there is every operation, those of the warm-up too.
    measured = sum(
        one.ok + sum(one.fail.values()) + sum(one.unknown.values())
        for one in result.operations.values()
    )
    if rows < measured if kept is None else rows != kept.logged:
        there = f"{measured:,} or more" if kept is None else f"{kept.logged:,}"
        raise DamagedError(f"{path} has {counted(rows, 'row')}, and should have {there}", _HINT)


def _rows(path: Path) -> int | None:
    """Return how many rows a Parquet file says that it has; None if there is no file."""
    if not path.exists():
        return None
    try:
        return pl.scan_parquet(path).select(pl.len()).collect().item()
    except (OSError, *_UNREADABLE) as error:
        raise DamagedError(f"{path} can't be read: {error}", _HINT) from None


def _sum_of_document(document: Mapping[str, Any]) -> str:
    """Return the sum of a document without its sums, however its file is laid out."""
    rest = {key: value for key, value in document.items() if key != SUMS}
    return hashlib.sha256(
        json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()


def _sum_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sum_of_stored(path: Path) -> str:
    try:
        refuse_endless(path)
        return _sum_of_file(path)
    except (FileNotFoundError, IsADirectoryError):
        raise DamagedError(f"{path} is missing", _HINT) from None
    except OSError as error:
        raise cannot_read(path, error) from error
