"""The operations of a run as the engine's checkers take them, and their answers as frames.

The checkers are the crate ``history``; here a log becomes rows for it, of 64 bytes each, as the
engine writes them. Below all rooms, so that the runner, the analysis and the command line ask
alike.

Map
---
ROW                 a row, byte by byte
KINDS, OUTCOMES, ERRORS, ORIGINS    what its numbers mean
Reading             how a run's log is to be read: which registers there are
observe             all that the checkers say of a run
pack                a log → operations on registers
staleness           how stale each read was
fates               what became of each acknowledged write
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pacelc import _engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pacelc.store.format import RunRecord

__all__ = [
    "ERRORS",
    "KINDS",
    "NOTHING",
    "NO_SEQUENCE",
    "ORIGINS",
    "OUTCOMES",
    "ROW",
    "Reading",
    "fates",
    "observe",
    "pack",
    "staleness",
]

# The engine's `history::log`, byte by byte.
ROW: Final = np.dtype(
    [
        ("due_ns", "<u8"),
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("record", "<u8"),
        ("sequence", "<u8"),
        ("read_sequence", "<u8"),
        ("read_writer", "<u4"),
        ("user", "<u4"),
        ("operation", "u1"),
        ("outcome", "u1"),
        ("error", "u1"),
        ("read_origin", "u1"),
        ("torn", "u1"),
        ("fields", "u1", 3),
    ]
)
KINDS: Final = ("read", "update", "insert", "scan", "read_modify_write", "delete")
OUTCOMES: Final = ("ok", "fail", "unknown")
ERRORS: Final = (
    "timeout",
    "server_timeout",
    "connection_refused",
    "connection_lost",
    "unavailable",
    "not_enough_replicas",
    "not_primary",
    "overloaded",
    "not_found",
    "integrity",
    "rejected",
    "other",
    "exists",
)
ORIGINS: Final = ("run", "load", "earlier", "none")
NOTHING: Final = 255
"""In place of a number: there is no such thing."""
NO_SEQUENCE: Final = 2**64 - 1

_WRITES_A_FIELD: Final = ("update", "read_modify_write")
_NEVER: Final = 2**63 - 1
_FATES: Final = ("kept", "lost", "unread", "untold")
_STALENESS: Final = ("row", "least_ns", "most_ns", "least_versions", "most_versions")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a run's log is to be read.

    Attributes
    ----------
    loaded
        Numbers of the records that were loaded: the first, and the first that wasn't.
    fields
        Fields of a record where an update writes one of them and a read reads one, so that each is
        a register; 0 where a record holds one version at a time.
    counted_ns
        Reads that began from the first moment on, and before the second, are counted; the others
        only tell of versions. All, if it is None.
    earlier_unknown
        Whether earlier runs on the same data left writes of unknown outcome.
    clock_uncertainty_ns
        By how much the clocks of several machines may differ.
    sample
        Of a log that is a sample of records: its ``threshold`` and ``hot_records``.
    """

    loaded: tuple[int, int]
    fields: int = 0
    counted_ns: tuple[int, int] | None = None
    earlier_unknown: bool = False
    clock_uncertainty_ns: int = 0
    sample: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, workload: Mapping[str, Any], **more: Any) -> Reading | None:
        """Return how a log of this workload is read; None where reads can't be told apart.

        That is where an update writes one field of several and a read returns all of them: the log
        names the newest write of a row alone.
        """
        first = int(workload.get("insert_start") or 0)
        loaded = (first, first + int(workload["records"]))
        fields = int(workload.get("fields") or 1)
        mix: Mapping[str, float] = workload.get("mix") or {}
        whole = (
            fields == 1
            or bool(workload.get("update_all_fields"))
            or not any(mix.get(kind) for kind in _WRITES_A_FIELD)
        )
        if whole:
            return cls(loaded, **more)
        return None if workload.get("read_all_fields", True) else cls(loaded, fields, **more)

    @classmethod
    def of_log(
        cls,
        workload: Mapping[str, Any],
        *,
        before_measure_s: float,
        measured_s: float,
        kept: Mapping[str, Any] | None,
        uncertainties_ms: Iterable[float],
        earlier_unknown: bool,
    ) -> Reading | None:
        """Return how what a run logged is read; None where it can't tell what reads saw.

        Parameters
        ----------
        kept
            The run's sample, as the engine tells of it; None where every operation was recorded.
        uncertainties_ms
            Of the clock of each worker.
        """
        if kept is not None and kept["lost_operations"] > 0:
            return None
        begin_ns = round(before_measure_s * 1e9)
        # Of a record in the sample all operations are there, so that what is said of it holds.
        sample = (
            None if kept is None else {name: kept[name] for name in ("threshold", "hot_records")}
        )
        return cls.of(
            workload,
            counted_ns=(begin_ns, begin_ns + round(measured_s * 1e9)),
            earlier_unknown=earlier_unknown,
            clock_uncertainty_ns=round(max(uncertainties_ms, default=0.0) * 1e6),
            sample=sample,
        )

    @classmethod
    def of_run(cls, record: RunRecord, columns: Sequence[str]) -> Reading | None:
        """Return how the log of a stored run is read; None where it can't tell what reads saw.

        Parameters
        ----------
        columns
            Those that the log has: older ones lack some.
        """
        result = record.result
        if "read_writer" not in columns:
            return None
        reading = cls.of_log(
            record.scenario.settings["workload"],
            before_measure_s=result.before_measure_s or 0.0,
            measured_s=result.measured_s,
            kept=None if result.observed is None else result.observed.model_dump(),
            uncertainties_ms=(worker.uncertainty_ms for worker in result.workers),
            earlier_unknown=record.earlier_unknown is not False,
        )
        fields_are_registers = reading is not None and reading.fields > 0
        return None if fields_are_registers and "field" not in columns else reading

    def as_json(self) -> str:
        """Return it as the engine reads it."""
        document = {
            "loaded_from": self.loaded[0],
            "loaded_to": self.loaded[1],
            "fields": self.fields,
            "counted_ns": self.counted_ns,
            "earlier_unknown": self.earlier_unknown,
            "clock_uncertainty_ns": self.clock_uncertainty_ns,
            "sample": self.sample,
        }
        return json.dumps(document)


def observe(operations: pl.DataFrame, reading: Reading) -> dict[str, Any]:
    """Return what clients observed: findings, staleness, visibility (see ``observed.json``).

    Parameters
    ----------
    operations
        The columns of ``operations.parquet``, in any order.
    """
    return json.loads(_engine.observe(_rows(_in_order(operations)), reading.as_json()))


def pack(operations: pl.DataFrame, reading: Reading) -> bytes:
    """Return the operations on registers that a log is, as the engine's packed rows."""
    return _engine.pack_log(_rows(_in_order(operations)), reading.as_json())


def staleness(operations: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Return the reads whose version's write is known, with how stale each was.

    Returns
    -------
    DataFrame
        The columns of ``operations``, and ``least_ns, most_ns`` (null where nothing says), for how
        long the version had been replaced; ``least_versions, most_versions``, how many were newer.
    """
    ordered = _in_order(operations)
    found = np.frombuffer(
        _engine.staleness_of_reads(_rows(ordered), reading.as_json()), dtype="<i8"
    ).reshape(-1, len(_STALENESS))
    columns = {name: found[:, place] for place, name in enumerate(_STALENESS)}
    told = pl.DataFrame(columns).with_columns(
        pl.when(pl.col("most_ns") < _NEVER).then("most_ns").alias("most_ns")
    )
    numbered = ordered.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return numbered.join(told, on="row", how="inner", maintain_order="left").drop("row")


def fates(
    operations: pl.DataFrame, read_back: pl.DataFrame, reading: Reading, *, one_version: bool
) -> pl.DataFrame:
    """Return the acknowledged writes of a run, with what became of each.

    Parameters
    ----------
    read_back
        The columns of ``read_back.parquet``: the records as they were after the run.
    one_version
        Whether a record holds one version at a time.

    Returns
    -------
    DataFrame
        ``record, operation, start_ns, end_ns, fate``: ``kept`` (it, or something that may follow
        it, is there), ``lost``, ``unread``, or ``untold`` where the record's version can't tell.
        Records that were deleted are left out.
    """
    ordered = _in_order(operations)
    after = read_back.filter(pl.col("state") != "unread").with_columns(
        pl.lit("read").alias("operation"), pl.lit("ok").alias("outcome")
    )
    after = after.with_columns(
        pl.when(pl.col("state") == "missing")
        .then(pl.lit("none"))
        .otherwise(_origin(after))
        .alias("read_origin")
    )
    codes = np.frombuffer(
        _engine.fates_of_writes(
            _rows(ordered), _rows(after), reading.as_json(), one_version=one_version
        ),
        dtype="u1",
    )
    words = pl.Series("fate", codes).cast(pl.UInt32)
    named = words.replace_strict(dict(enumerate(_FATES)), default=None, return_dtype=pl.String)
    found = ordered.select("record", "operation", "start_ns", "end_ns", named)
    return found.drop_nulls("fate").sort("end_ns", "record")


def _in_order(operations: pl.DataFrame) -> pl.DataFrame:
    """In each user's own order."""
    return operations.sort("start_ns", "user", "sequence", maintain_order=True)


def _rows(frame: pl.DataFrame) -> bytes:
    """Return a log as the engine's rows; columns that it lacks are as if nothing had been noted."""
    rows = np.zeros(frame.height, dtype=ROW)
    rows["error"] = NOTHING
    for name in ("due_ns", "start_ns", "end_ns", "record", "sequence", "user"):
        if name in frame.columns:
            rows[name] = frame.get_column(name).to_numpy()
    rows["operation"] = _numbers(frame, "operation", KINDS)
    rows["outcome"] = _numbers(frame, "outcome", OUTCOMES)
    rows["read_origin"] = NOTHING
    if "read_writer" in frame.columns:
        rows["read_writer"] = frame.get_column("read_writer").fill_null(0).to_numpy()
        sequences = frame.get_column("read_sequence").cast(pl.UInt64).fill_null(NO_SEQUENCE)
        rows["read_sequence"] = sequences.to_numpy()
        origins = frame.select(_origin(frame).alias("read_origin"))
        rows["read_origin"] = _numbers(origins, "read_origin", ORIGINS)
    if "torn" in frame.columns:
        rows["torn"] = frame.get_column("torn").fill_null(value=False).to_numpy()
    if "field" in frame.columns:
        one, read = (
            (frame.get_column(name).cast(pl.UInt32) + 1).fill_null(0).to_numpy()
            for name in ("field", "read_field")
        )
        both = one | read << 12
        rows["fields"] = np.stack([both >> shift & 255 for shift in (0, 8, 16)], axis=-1)
    return rows.tobytes()


def _origin(frame: pl.DataFrame) -> pl.Expr:
    """Return where a version is from; logs of before it was noted have the load, and the run."""
    if "read_origin" in frame.columns:
        return pl.col("read_origin")
    return (
        pl.when(pl.col("read_writer") == 0)
        .then(pl.lit("load"))
        .when(pl.col("read_writer").is_not_null())
        .then(pl.lit("run"))
    )


def _numbers(frame: pl.DataFrame, column: str, words: Sequence[str]) -> np.ndarray:
    numbers = {word: number for number, word in enumerate(words)}
    found = frame.get_column(column).replace_strict(numbers, default=NOTHING, return_dtype=pl.UInt8)
    return found.fill_null(NOTHING).to_numpy()
