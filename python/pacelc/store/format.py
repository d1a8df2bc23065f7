"""What a results directory holds: names, columns, records, and the checks that they pass.

Start here: :class:`RunRecord` (``run.json``), :data:`SAMPLES_SCHEMA`, :data:`RESOURCES_SCHEMA`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn, TypeGuard, TypeVar

import polars as pl
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)

from pacelc import documents
from pacelc.errors import CannotRun
from pacelc.former_names import current_names, current_scenario, current_study

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
"""The version of the layout above. It rises when a reader of the old layout would misread the new
one."""

READ_BACK_FILE: Final = "read_back.parquet"

RUN_ID: Final = re.compile(r"[0-9]{4,}-r[0-9]+")
"""Scenario number, repetition: ``0012-r1``. Zero-padded, so that names sort as the study ordered
them."""

SAMPLES_SCHEMA: Final = pl.Schema(
    {
        "t_s": pl.Float64,
        "interval_s": pl.Float64,
        "phase": pl.String,
        "operation": pl.String,
        "ok": pl.UInt64,
        "fail": pl.UInt64,
        "unknown": pl.UInt64,
        "latency_ns_mean": pl.Float64,
        "latency_ns_p50": pl.UInt64,
        "latency_ns_p90": pl.UInt64,
        "latency_ns_p99": pl.UInt64,
        "latency_ns_p999": pl.UInt64,
        "latency_ns_max": pl.UInt64,
    }
)
"""Columns of ``samples.parquet``. ``t_s`` is the interval's start, 0 where measuring begins;
latencies are of ok operations and null in an interval that had none."""

RESOURCES_SCHEMA: Final = pl.Schema(
    {
        "t_s": pl.Float64,
        "phase": pl.String,
        "node": pl.String,
        "role": pl.String,
        "cpu_user_s": pl.Float64,
        "cpu_system_s": pl.Float64,
        "rss_bytes": pl.Int64,
        "disk_read_bytes": pl.Int64,
        "disk_write_bytes": pl.Int64,
        "net_rx_bytes": pl.Int64,
        "net_tx_bytes": pl.Int64,
    }
)
"""Columns of ``resources.parquet``. CPU seconds and bytes moved are cumulative; null where
the platform has no count. A row is a server, the load generator or :data:`pacelc.names.MACHINE`."""

_REQUIRED: Final = {
    "samples": ("t_s", "interval_s", "phase", "operation", "ok", "fail", "unknown"),
    "resources": ("t_s", "phase", "node", "role", "cpu_user_s", "cpu_system_s"),
}
_R = TypeVar("_R", bound=BaseModel)

Count = Annotated[int, Field(ge=0, le=2**53)]
"""What every reader of JSON holds exactly, and sums of which a column holds."""
_PHASES: Final = {"warm-up", "measure"}


class StoreError(CannotRun):
    """A results directory can't be used as asked; ``message`` names the path or the field."""


class DamagedError(StoreError):
    """What is in a file isn't what pacelc wrote there, or the file is missing."""


class StorageError(StoreError):
    """The operating system refuses to write: every further result would be lost, too."""


class NewerFormatError(StoreError):
    """A later pacelc wrote the file."""


class Record(BaseModel):
    """Checked where it enters. Keys that this version does not know are kept: they only add."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class LatencyStats(Record):
    """Latency of the ok operations of one kind, in nanoseconds; null where there were none."""

    n: Count
    mean: float | None = None
    stdev: float | None = None
    min: float | None = None
    max: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    p9999: float | None = None


class OperationStats(Record):
    """Outcomes of one kind of operation while measuring; not ok, by kind of error."""

    ok: Count
    missed: Count = 0
    """Of the ok ones, those that found no record, or fewer than there must be."""
    fail: dict[str, Count] = Field(default_factory=dict)
    unknown: dict[str, Count] = Field(default_factory=dict)
    latency_ns: LatencyStats
    service_ns: LatencyStats | None = None
    """From an operation's start, where latency counts from when it was due."""


class ScheduleStats(Record):
    """How a schedule was kept while measuring."""

    rate_per_s: PositiveFloat
    due: Count
    not_started: Count
    """Of those due, when measuring ended."""
    waited: Count
    """Of those due, for a user to be free."""
    lag_ns: LatencyStats | None = None
    """From when an operation was due and its user free to its start: the client's own doing."""


class ClientStats(Record):
    """What the load generator used while measuring; ``busy_fraction`` of its busiest thread."""

    cpu_user_s: NonNegativeFloat = 0.0
    cpu_system_s: NonNegativeFloat = 0.0
    threads: Count = 0
    busy_fraction: NonNegativeFloat | None = None
    hedges: Count | None = None
    """Requests beside the first of an operation, because that one was slow to be answered."""


class MachineSpeed(Record):
    """How fast the load generator's machine itself was while measuring.

    A fixed piece of arithmetic, clocked now and then on its processors: neighbours of a virtual
    machine slow it down, its own load doesn't.
    """

    step_ns: PositiveFloat
    """What a step of arithmetic took on average."""
    bursts: PositiveInt
    """Of so many readings."""


class WorkerStats(Record):
    """One of several machines that measured a run together."""

    name: str
    node: str
    users: tuple[Count, Count]
    """The first and the last of its users, counted from 0."""
    offset_ms: float
    """Its clock minus the driver's; the truth is within ``uncertainty_ms`` of it."""
    uncertainty_ms: NonNegativeFloat
    first_start_skew_ms: float | None = None
    """From the agreed start of measuring to its first measured operation; null if it had none."""
    ok: Count
    client: ClientStats = ClientStats()


class LogSample(Record):
    """Which operations of a run were kept: all of a sample of the records, and none of others."""

    operations: Count
    """That there were, warm-up included."""
    logged: Count
    """That ``operations.parquet`` has."""
    lost_operations: Count = 0
    """Of records in the sample, that could not be written in time: what they were nobody knows."""
    threshold: Annotated[float, Field(gt=0, le=1)]
    """A record is in it if its hash, as a fraction, is below: it weighs 1 / ``threshold``."""
    hot_records: list[Count]
    """Or if it is one of these, the hottest of the key distribution, each of which weighs 1."""
    share_of_records: Annotated[float, Field(ge=0, le=1)]
    """Expected, of the records loaded."""
    limit_bytes: Count
    """That the engine was to write at most."""

    @property
    def is_whole(self) -> bool:
        """Whether every operation was kept."""
        return self.threshold == 1 and self.lost_operations == 0


class GroupStats(Record):
    """What the users of one place did, where users were in several."""

    region: str
    users: tuple[Count, Count]
    """The first and the last of them, counted from 0, as single operations name their user."""
    operations: dict[str, OperationStats]
    client: ClientStats = ClientStats()


class RunResult(Record):
    """What one run measured."""

    measured_s: PositiveFloat
    warm_up_s: NonNegativeFloat = 0.0
    before_measure_s: NonNegativeFloat | None = None
    """From the run's origin, which single operations count from, to the start of measuring."""
    steady: bool | None = None
    """Whether throughput and latency were steady at the warm-up's end; null if nobody looked."""
    operations: dict[str, OperationStats]
    schedule: ScheduleStats | None = None
    client: ClientStats = ClientStats()
    """Of all workers together; ``busy_fraction`` of the busiest."""
    machine_speed: MachineSpeed | None = None
    """None where it couldn't be told, or where there were several machines."""
    observed: LogSample | None = None
    """None where no operations were kept, or all of them."""
    groups: list[GroupStats] = Field(default_factory=list["GroupStats"])
    """Empty where all users were in one place."""
    workers: list[WorkerStats] = Field(default_factory=list["WorkerStats"])
    """Empty where pacelc's own process was the load generator."""
    warnings: list[str] = Field(default_factory=list)


class ScenarioRecord(Record):
    """One combination of factor levels, and every setting that followed from it."""

    number: Count
    factors: Annotated[dict[str, str | int | float | bool], AfterValidator(current_names)]
    settings: Annotated[dict[str, Any], AfterValidator(current_names)] = Field(default_factory=dict)


class NodeSize(Record):
    """What limits one node, and what the kernel counted of it during the run."""

    servers: list[str] = Field(default_factory=list)
    cpu_quota_us: int | None = None
    """Microseconds of processor time that it may use in each ``cpu_period_us``."""
    cpu_period_us: int | None = None
    cpus: list[int] | None = None
    """The processors that it is bound to, where affinity limits it."""
    memory_limit_bytes: int | None = None
    throttled: Count | None = None
    """Periods in which it stood still, its time being used up."""
    throttled_s: NonNegativeFloat | None = None
    """How long, summed over processors."""
    peak_memory_bytes: Count | None = None
    """Page cache included, since the cluster started."""
    limit_hits: Count | None = None
    """How often memory had to be reclaimed for more to be had."""
    oom_kills: Count | None = None
    """Since the cluster started."""


class SizesRecord(Record):
    """The sizes of a cluster's nodes: what was asked for, and what is in force."""

    mechanism: str
    cores: PositiveFloat | None = None
    memory_bytes: Count | None = None
    nodes: dict[str, NodeSize] = Field(default_factory=dict)


class FaultEntry(Record):
    """One fault that was put into the cluster; times in microseconds since 1970."""

    fault: str
    target: str
    by: str
    """``schedule``, ``hand``, or ``server``: a node that ended because of a fault."""
    details: dict[str, Any] = Field(default_factory=dict)
    nodes: list[str] = Field(default_factory=list[str])
    planned_at_s: float | None = None
    """From the start of measuring; null by hand."""
    planned_for_s: float | None = None
    asked_unix_us: int
    begin_unix_us: int | None = None
    """From when it was in force; null if it could not be carried out."""
    end_asked_unix_us: int | None = None
    end_unix_us: int | None = None
    done: list[str] = Field(default_factory=list[str])
    error: str | None = None


class ReadBackInserts(Record):
    """What became of the inserts of a run with faults that were acknowledged."""

    acknowledged: Count
    found: Count
    missing: Count
    """Lost: the database says that there is no such record."""
    unread: Count
    """Neither: the record could not be read."""
    first_missing_s: float | None = None
    """When the first of the missing was acknowledged, from the start of measuring."""
    last_missing_s: float | None = None
    examples: list[Count] = Field(default_factory=list[int])
    """Numbers of missing records."""


class ReadBackOthers(Record):
    """Inserts of it that were not acknowledged, and how many of them are there all the same."""

    fail: Count
    unknown: Count
    found: Count


class ReadBackEntry(Record):
    """What was read back after a run with faults, at the database's strongest level."""

    level: str | None = None
    error: str | None = None
    """Why nothing was; null if something was."""
    errors: dict[str, Count] = Field(default_factory=dict[str, int])
    """Why records are unread: how many by kind of error."""
    inserts: ReadBackInserts
    unacknowledged: ReadBackOthers


class RunRecord(Record):
    """``run.json``."""

    format: int
    study: str
    run: str
    scenario: ScenarioRecord
    repetition: Count
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    started_utc: datetime
    pacelc: str
    versions: dict[str, str] = Field(default_factory=dict)
    machine: dict[str, Any] = Field(default_factory=dict)
    target: dict[str, Any] = Field(default_factory=dict)
    consistency: dict[str, str] = Field(default_factory=dict)
    sizes: SizesRecord | None = None
    """None where the nodes shared all that the machine has."""
    compiler_cores: NonNegativeFloat | None = None
    """Mean of what the servers' just-in-time compilers used, warm-up included; None where no server
    has one, or its processes can't be seen."""
    compiler_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """Of the servers' processor time over the same interval; None in older runs, too."""
    cluster_started_utc: datetime | None = None
    """Runs of one cluster have it in common; None in older runs, and of external clusters."""
    resized_from_nodes: list[int] = Field(default_factory=list)
    """The numbers of nodes that its cluster had before, if it has grown or shrunk."""
    faults: list[FaultEntry] = Field(default_factory=list[FaultEntry])
    earlier_unknown: bool | None = None
    """Whether writes of unknown outcome may have been left on its data before; None where nobody
    has noted it."""
    read_back: ReadBackEntry | None = None
    """None where nothing went wrong, or nothing was written."""
    result: RunResult
    sha256: dict[str, str] = Field(default_factory=dict[str, str])
    """Of each file of the run; see `pacelc.store.whole`. Empty in older runs."""

    @property
    def machine_cores(self) -> float | None:
        """The machine's cores that pacelc and its servers could run on."""
        return _positive(self.machine.get("cores"))

    @property
    def allowed_cores(self) -> float | None:
        """Processor time that they could have: less where a control group has a quota."""
        cores, quota = self.machine_cores, _positive(self.machine.get("cpu_quota_cores"))
        return cores if cores is None or quota is None else min(cores, quota)


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


class FailureRecord(Record):
    """``failures/<run_id>.<attempt>.json``: an attempt that gave no run."""

    format: int
    run: str
    attempt: int
    reason: str
    hint: str | None = None
    log_tail: str = ""
    when_utc: datetime
    scenario: Annotated[dict[str, Any], AfterValidator(current_scenario)] = Field(
        default_factory=dict
    )


class Activity(Record):
    """One line of ``timeline.jsonl``."""

    what: str
    scenario: int | None = None
    run: str | None = None
    start_utc: datetime
    seconds: NonNegativeFloat


class StudyFile(Record):
    """``study.json``."""

    format: int
    pacelc: str
    created_utc: datetime
    study: Annotated[dict[str, Any], AfterValidator(current_study)]


# --- Checks at the door
# -----------------------------------------------------------------------------------------------


def validate(
    model: type[_R], document: object, where: str, kind: type[StoreError] = StoreError
) -> _R:
    """Check a document against a record; the error names the first field that is wrong."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]) or "the document"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise kind(f"{where}: {name}: {first['msg']}{more}") from error


def conform(
    frame: pl.DataFrame, schema: pl.Schema, what: Literal["samples", "resources"], run_id: str
) -> pl.DataFrame:
    """Bring a frame to the stored types, or say which column can't be; further columns stay."""
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise StoreError(
            f"run {run_id}: {what} lack the column {missing[0]!r}",
            f"the columns are {', '.join(schema)}",
        )
    extra = [name for name in frame.columns if name not in schema]
    columns: list[pl.Series] = []
    for name, dtype in schema.items():
        try:
            column = frame.get_column(name)
            columns.append(column if column.dtype == dtype else column.cast(dtype))
        except pl.exceptions.PolarsError as error:
            found = frame.schema[name]
            raise StoreError(
                f"run {run_id}: {what}: {name} must be {dtype}, found {found}: {error}"
            ) from error
    frame = pl.DataFrame([*columns, *(frame.get_column(name) for name in extra)])
    for name in _REQUIRED[what]:
        if frame.get_column(name).null_count():
            raise StoreError(f"run {run_id}: {what}: {name} has nulls")
    # In one step: a study has a thousand such frames.
    floats = [name for name, dtype in schema.items() if dtype == pl.Float64]
    for name, finite in frame.select(pl.col(floats).is_finite().all()).row(0, named=True).items():
        if not finite:
            raise StoreError(f"run {run_id}: {what}: {name} has values that are not finite")
    phases = set(frame.get_column("phase").unique()) - _PHASES
    if phases:
        raise StoreError(
            f"run {run_id}: {what}: phase {min(phases)!r} is neither 'warm-up' nor 'measure'"
        )
    return frame


def parse_json(text: str, where: str) -> object:
    """Read JSON that came from a file named ``where``."""
    try:
        return documents.parse_json(text)
    except documents.DocumentError as error:
        line = "" if error.line is None else f":{error.line}"
        raise DamagedError(f"{where}{line}: {error.problem}", _RESTORE) from None


_RESTORE: Final = "the file is damaged: restore it from a copy, or move it away"


def read_record(model: type[_R], path: Path) -> _R:
    """Read and check one JSON file."""
    return check_record(model, parse_json(read_text(path), str(path)), path)


def check_record(model: type[_R], document: object, path: Path) -> _R:
    """Check what one JSON file holds."""
    # Before anything else: a newer format may have renamed what we are about to look for.
    if is_object(document):
        version = document.get("format")
        if isinstance(version, int) and version > FORMAT:
            raise NewerFormatError(
                f"{path} has format {version}; this pacelc reads up to {FORMAT}",
                "install a newer pacelc to read these results",
            )
    return validate(model, document, str(path), DamagedError)


def read_study(path: Path) -> StudyFile:
    """Read ``study.json``."""
    return read_record(StudyFile, path / "study.json")


def refuse_not_results(path: Path) -> NoReturn:
    """Say why ``path`` is not a results directory."""
    if not path.exists():
        raise StoreError(f"{path} does not exist", "give the directory that a study wrote")
    raise StoreError(
        f"{path} is not a results directory (no study.json)",
        "give the directory that a study wrote",
    )


def read_text(path: Path) -> str:
    """Read a text file."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedError(f"{path} is not UTF-8: {error}", _RESTORE) from None


def read_bytes(path: Path) -> bytes:
    """Read a file."""
    try:
        refuse_endless(path)
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise DamagedError(f"{path} can't be read: {error.strerror}", _RESTORE) from None
    except OSError as error:
        raise cannot_read(path, error) from error


def refuse_endless(path: Path) -> None:
    """Refuse a device or a pipe in a file's place: it may have no end, or no beginning."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DamagedError(f"{path} is no file, but a device or a pipe", _RESTORE)


def cannot_read(path: Path, error: OSError) -> StoreError:
    """Return the error of a file that is there, but that nobody can look into."""
    return StoreError(
        f"{path} can't be read: {error.strerror or error}",
        "check the directory's permissions and its disk",
    )


def utc_text(moment: datetime) -> str:
    """ISO 8601 in UTC; a time without a zone is refused."""
    if moment.tzinfo is None:
        raise StoreError(f"time {moment.isoformat()} has no zone", "use datetime.now(UTC)")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def items(value: object) -> list[tuple[str, object]]:
    """Members of a JSON object, or none if it isn't one."""
    return list(value.items()) if is_object(value) else []
