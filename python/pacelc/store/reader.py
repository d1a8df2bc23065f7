"""Reading results directories into frames."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from pacelc.former_names import ROLES
from pacelc.names import MACHINE, NO_IDLE_STATES, NOT_SERVERS, WHOLE_NUMBER, counted
from pacelc.store.format import (
    READ_BACK_FILE,
    RESOURCES_SCHEMA,
    RUN_ID,
    SAMPLES_SCHEMA,
    Activity,
    FailureRecord,
    LatencyStats,
    NewerFormatError,
    RunRecord,
    RunResult,
    StoreError,
    StudyFile,
    is_array,
    is_object,
    items,
    parse_json,
    read_bytes,
    read_record,
    read_study,
    read_text,
    refuse_not_results,
    validate,
)
from pacelc.store.observed import Observed, frames, read_observed
from pacelc.store.whole import check_run, read_frame, read_latencies

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Results:
    """What one or more studies measured, as Polars frames.

    A run is known by ``source`` and ``run`` in every frame.

    Attributes
    ----------
    paths : tuple of Path
        The directories, in the order given; ``source`` is the name of one of them.
    studies : tuple of dict
        Their resolved definitions.
    factors : tuple of str
        Names of the factors, in the studies' order; each is a column of ``runs``.
    levels : dict of str to tuple
        Levels of each factor in the studies' order. The first one is the reference level.
    records : tuple of RunRecord
        ``run.json`` of every run, in the order of ``runs``.
    runs : DataFrame
        One row a run: ``source, study, run, scenario, repetition, seed, started_utc,
        cluster_started_utc`` (null in older runs), the factors, ``measured_s``;
        ``throughput_per_s`` (ok operations a second), ``latency_ms_mean`` and ``latency_ms_p50`` …
        ``_p9999`` over all operations, ``ok``, ``fail``, ``unknown``, ``missed``; the same by
        operation as ``<operation>.throughput_per_s`` and so on; ``cpu_cores.<role>`` (mean cores in
        use, mean over the role's nodes), ``cpu_share.<role>`` (of the machine's cores),
        ``memory_bytes.<role>``; ``others_cores`` (cores that processes used which are neither the
        servers nor the load generator); ``compiler_cores`` (used by the servers' just-in-time
        compilers; null where they have none) and ``compiler_share`` (of the servers' processor
        time); ``machine_step_ns`` (what a step of arithmetic took on the load generator's machine:
        how fast it was meanwhile); ``client_busy_fraction``; ``hedges_per_read`` (further requests
        for each read or scan, because the first one was slow); ``warnings``.
    nodes : DataFrame
        One row a run and node: ``role, cpu_cores, cpu_share, memory_bytes, memory_bytes_max`` and,
        where known, ``disk_read_bytes_per_s``, ``disk_write_bytes_per_s``, ``net_rx_bytes_per_s``,
        ``net_tx_bytes_per_s``; measure phase only.
    groups : DataFrame
        One row a run, group of users and kind of operation, of runs with users in several places:
        ``region, first_user, last_user, operation, ok, fail, unknown, throughput_per_s,
        latency_ms_mean`` and ``latency_ms_p50`` … ``_p9999``; measure phase only.
    samples, resources : DataFrame
        As stored, with ``source`` and ``run``.
    failures, timeline : DataFrame
        As stored, with ``source``.
    operations : LazyFrame or None
        Single operations of the runs that recorded them.
    read_back : LazyFrame or None
        Records that were read back after faults: ``record, state, read_writer, read_sequence,
        read_origin``.
    findings, staleness, sessions, visibility : DataFrame
        What clients observed, of the runs whose operations were recorded: see
        `pacelc.store.observed.frames`.
    damaged : dict of (str, str) to str
        Source and name of each run that was left out, and what is wrong with it.
    problems : tuple of str
        What else could not be read, and was left out.
    """

    paths: tuple[Path, ...]
    studies: tuple[dict[str, Any], ...]
    factors: tuple[str, ...]
    levels: dict[str, tuple[str | int | float | bool, ...]]
    records: tuple[RunRecord, ...]
    runs: pl.DataFrame
    nodes: pl.DataFrame
    groups: pl.DataFrame
    samples: pl.DataFrame
    resources: pl.DataFrame
    failures: pl.DataFrame
    timeline: pl.DataFrame
    findings: pl.DataFrame
    staleness: pl.DataFrame
    sessions: pl.DataFrame
    visibility: pl.DataFrame
    operations: pl.LazyFrame | None = None
    read_back: pl.LazyFrame | None = None
    damaged: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    problems: tuple[str, ...] = field(default=())

    def whole(self) -> Results:
        """Return these results if no run was left out as damaged.

        Raises
        ------
        StoreError
            One was.
        """
        for what in self.damaged.values():
            raise StoreError(what, "run the study again, or move the run's directory away")
        return self

    def without(self, runs: Collection[tuple[str, str]]) -> Results:
        """Return these results without some runs, given by source and name."""
        key = {"source": pl.String, "run": pl.String}
        gone = pl.DataFrame(sorted(runs), schema=key, orient="row")

        def rest(frame: pl.DataFrame) -> pl.DataFrame:
            return frame.join(gone, on=list(key), how="anti", maintain_order="left")

        def lazily(frame: pl.LazyFrame | None) -> pl.LazyFrame | None:
            on = list(key)
            return None if frame is None else frame.join(gone.lazy(), on=on, how="anti")

        sources = self.runs.get_column("source")
        return replace(
            self,
            records=tuple(
                record
                for source, record in zip(sources, self.records, strict=True)
                if (source, record.run) not in runs
            ),
            operations=lazily(self.operations),
            read_back=lazily(self.read_back),
            **{name: rest(getattr(self, name)) for name in _BY_RUN},
        )

    def __repr__(self) -> str:
        """Say in a line what there is."""
        named = ", ".join(path.name for path in self.paths)
        varied = f", by {', '.join(self.factors)}" if self.factors else ""
        attempts = self.failures.height
        failed = f"; {counted(attempts, 'failed attempt')}" if attempts else ""
        return f"<Results of {named}: {counted(self.runs.height, 'run')}{varied}{failed}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the means of each combination of levels."""
        by = [*(["source"] if len(self.paths) > 1 else []), *self.factors]
        means = ("throughput_per_s", "latency_ms_p50", "latency_ms_p99")
        measured = [pl.len().alias("runs"), *(pl.col(name).mean() for name in means)]
        groups = self.runs.group_by(by or pl.lit("all").alias("runs of"), maintain_order=True)
        table = groups.agg(measured)._repr_html_()  # pyright: ignore[reportPrivateUsage] - IPython's
        return f"<p>{escape(repr(self))}</p>{table}"

    @property
    def has_due_times(self) -> bool:
        """Whether the single operations say when they were due, as of later versions they do."""
        log = self.operations
        return log is not None and "due_ns" in log.collect_schema().names()

    def latency_log(self, source: str, run: str) -> str:
        """Text of a run's interval log (``latency.hdr``).

        Raises
        ------
        StoreError
            There is no such run.
        """
        return read_text(self._folder(source, run) / "latency.hdr")

    def frame_of(self, source: str, run: str, file: str) -> pl.DataFrame | None:
        """Return a Parquet file of one run, such as ``operations.parquet``; None if it has none.

        Many times faster than to look for the run in the frame of all runs.
        """
        path = self._folder(source, run) / file
        return pl.read_parquet(path) if path.is_file() else None

    def observed(self, source: str, run: str) -> Observed | None:
        """Return what the clients of one run observed; None if nobody looked."""
        return read_observed(self._folder(source, run))

    def _folder(self, source: str, run: str) -> Path:
        for path, name in zip(self.paths, _source_names(self.paths), strict=True):
            if name == source and RUN_ID.fullmatch(run):
                return path / "runs" / run
        raise StoreError(f"no run {run!r} of {source!r} in these results")


_BY_RUN: Final = (
    *("runs", "nodes", "groups", "samples", "resources"),
    *("findings", "staleness", "sessions", "visibility"),
)
"""Frames of `Results` that have rows of runs."""


def load(*directories: str | os.PathLike[str]) -> Results:
    """Read one or more results directories. A study may still be running: complete runs are read.

    Parameters
    ----------
    directories
        Results directories, at least one.

    Returns
    -------
    Results

    Raises
    ------
    StoreError
        A directory is not one of results, or is of a newer format. Damaged runs are no error:
        see `Results.damaged`.

    Examples
    --------
    >>> results = load("results/ferreira")          # doctest: +SKIP
    >>> results.runs.select("database", "users", "throughput_per_s")  # doctest: +SKIP
    """
    if not directories:
        raise StoreError("no results directory was given")
    paths = tuple(Path(d) for d in directories)
    studies: list[StudyFile] = []
    for path in paths:
        if not (path / "study.json").is_file():
            refuse_not_results(path)
        studies.append(read_study(path))

    runs: list[_Run] = []
    damaged: dict[tuple[str, str], str] = {}
    failures: list[dict[str, Any]] = []
    activities: list[dict[str, Any]] = []
    problems: list[str] = []
    sources = _source_names(paths)
    for path, source in zip(paths, sources, strict=True):
        for run_id in run_ids(path):
            run = _read(partial(_read_run, source, path / "runs" / run_id))
            if isinstance(run, str):
                damaged[source, run_id] = run
            else:
                runs.append(run)
        for file in sorted((path / "failures").glob("[0-9]*.json")):
            failure = _read(partial(read_record, FailureRecord, file))
            if isinstance(failure, str):
                problems.append(failure)
            else:
                failures.append({"source": source, **_failure_row(failure)})
        timeline, left_out = _read_timeline(path / "timeline.jsonl")
        activities.extend({"source": source, **activity} for activity in timeline)
        problems += left_out

    records = [run.record for run in runs]
    factors, levels = _factors(records, studies)
    return Results(
        paths=paths,
        studies=tuple(s.study for s in studies),
        factors=factors,
        levels=levels,
        records=tuple(records),
        runs=_runs_frame([run.row for run in runs], factors, levels),
        nodes=_stack([run.nodes for run in runs], _NODES_SCHEMA),
        groups=pl.DataFrame([row for run in runs for row in run.groups], schema=_GROUPS_SCHEMA),
        samples=_stack([run.samples for run in runs], SAMPLES_SCHEMA),
        resources=_stack([run.resources for run in runs], RESOURCES_SCHEMA),
        failures=pl.DataFrame(failures, schema=_FAILURES_SCHEMA),
        timeline=pl.DataFrame(activities, schema=_TIMELINE_SCHEMA),
        **frames(run.observed for run in runs if run.observed is not None),
        operations=_concatenated(run.operations for run in runs),
        read_back=_concatenated(run.read_back for run in runs),
        damaged=damaged,
        problems=tuple(problems),
    )


def _read(read: Callable[[], _T]) -> _T | str:
    """Return what is read, or what is wrong with it."""
    try:
        return read()
    except NewerFormatError:
        raise
    except StoreError as error:
        return error.message


@dataclass(frozen=True, eq=False)
class _Run:
    """What one run adds to each frame."""

    record: RunRecord
    row: dict[str, Any]
    groups: list[dict[str, Any]]
    samples: pl.DataFrame
    resources: pl.DataFrame
    nodes: pl.DataFrame
    operations: pl.LazyFrame | None
    read_back: pl.LazyFrame | None
    observed: tuple[str, str, Observed] | None


def _read_run(source: str, folder: Path) -> _Run:
    record = check_run(folder)
    key = [pl.lit(source).alias("source"), pl.lit(record.run).alias("run")]
    resources = read_frame(folder, "resources").with_columns(pl.col("node", "role").replace(ROLES))
    usage = _node_usage(resources, record.machine_cores)
    nodes = usage.filter(pl.col("role") != MACHINE)
    row = _run_row(source, record, folder)
    row["others_cores"] = _others_cores(usage)
    row["compiler_share"] = _compiler_share(record, resources)
    observed = read_observed(folder)
    return _Run(
        record=record,
        row=row | _role_usage(nodes),
        groups=[{"source": source, **group} for group in _group_rows(record)],
        samples=read_frame(folder, "samples").select(*key, pl.all()),
        resources=resources.select(*key, pl.all()),
        nodes=nodes.select(*key, pl.all()),
        operations=_scanned(folder / "operations.parquet", key),
        read_back=_scanned(folder / READ_BACK_FILE, key),
        observed=None if observed is None else (source, record.run, observed),
    )


def _concatenated(frames: Iterable[pl.LazyFrame | None]) -> pl.LazyFrame | None:
    found = [frame for frame in frames if frame is not None]
    return pl.concat(found, how="diagonal_relaxed") if found else None


_ASKING: Final = frozenset({"read", "scan", "read_modify_write"})
"""Kinds of operations that ask again when an answer is late, where a client does so at all."""
_PERCENTILES: Final = ("p50", "p90", "p95", "p99", "p999", "p9999")
_PERCENTS: Final = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)

_RUNS_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(("source", "study", "run"), pl.String),
        **dict.fromkeys(("scenario", "repetition", "seed"), pl.Int64),
        **dict.fromkeys(("started_utc", "cluster_started_utc"), pl.Datetime("us", "UTC")),
        **dict.fromkeys(("measured_s", "warm_up_s"), pl.Float64),
        **dict.fromkeys(("ok", "fail", "unknown", "missed"), pl.Int64),
        "throughput_per_s": pl.Float64,
        **{f"latency_ms_{name}": pl.Float64 for name in ("mean", "max", *_PERCENTILES)},
        "client_busy_fraction": pl.Float64,
        "hedges_per_read": pl.Float64,
        "others_cores": pl.Float64,
        "compiler_cores": pl.Float64,
        "compiler_share": pl.Float64,
        "machine_step_ns": pl.Float64,
        "warnings": pl.List(pl.String),
    }
)
"""Columns that every frame of runs has, even one of no runs."""
_NODES_SCHEMA: Final = pl.Schema(
    {
        "node": pl.String,
        "role": pl.String,
        "cpu_cores": pl.Float64,
        "cpu_share": pl.Float64,
        "memory_bytes": pl.Float64,
        "memory_bytes_max": pl.Int64,
        "disk_read_bytes_per_s": pl.Float64,
        "disk_write_bytes_per_s": pl.Float64,
        "net_rx_bytes_per_s": pl.Float64,
        "net_tx_bytes_per_s": pl.Float64,
    }
)
_GROUPS_SCHEMA: Final = pl.Schema(
    {
        **dict.fromkeys(("source", "run", "region"), pl.String),
        **dict.fromkeys(("first_user", "last_user"), pl.Int64),
        "operation": pl.String,
        **dict.fromkeys(("ok", "fail", "unknown"), pl.Int64),
        "throughput_per_s": pl.Float64,
        **{f"latency_ms_{name}": pl.Float64 for name in ("mean", "max", *_PERCENTILES)},
    }
)
_FAILURES_SCHEMA: Final = pl.Schema(
    {
        "source": pl.String,
        "run": pl.String,
        "attempt": pl.Int64,
        "when_utc": pl.Datetime("us", "UTC"),
        "reason": pl.String,
        "hint": pl.String,
        "log_tail": pl.String,
        "factors": pl.String,
    }
)
_TIMELINE_SCHEMA: Final = pl.Schema(
    {
        "source": pl.String,
        "what": pl.String,
        "scenario": pl.Int64,
        "run": pl.String,
        "start_utc": pl.Datetime("us", "UTC"),
        "seconds": pl.Float64,
    }
)


def _group_rows(record: RunRecord) -> list[dict[str, Any]]:
    """Return a row for each group of users and kind of operation."""
    return [
        {
            "run": record.run,
            "region": group.region,
            "first_user": group.users[0],
            "last_user": group.users[1],
            "operation": kind,
            "ok": stats.ok,
            "fail": sum(stats.fail.values()),
            "unknown": sum(stats.unknown.values()),
            "throughput_per_s": stats.ok / record.result.measured_s,
            **{f"latency_ms_{name}": ms for name, ms in _stats_ms(stats.latency_ns).items()},
        }
        for group in record.result.groups
        for kind, stats in sorted(group.operations.items())
    ]


def _run_row(source: str, record: RunRecord, folder: Path) -> dict[str, Any]:
    result, began = record.result, record.cluster_started_utc
    row: dict[str, Any] = {
        "source": source,
        "study": record.study,
        "run": record.run,
        "scenario": record.scenario.number,
        "repetition": record.repetition,
        "seed": record.seed,
        "started_utc": record.started_utc.astimezone(UTC),
        "cluster_started_utc": None if began is None else began.astimezone(UTC),
        **record.scenario.factors,
        "measured_s": result.measured_s,
        "warm_up_s": result.warm_up_s,
    }
    for name in ("database", "users", "nodes", "replication", *_sharding(record)):
        value = record.scenario.settings.get(name)
        if name not in row and isinstance(value, str | int | float):
            row[name] = value
    ok = sum(o.ok for o in result.operations.values())
    row["ok"] = ok
    row["fail"] = sum(sum(o.fail.values()) for o in result.operations.values())
    row["unknown"] = sum(sum(o.unknown.values()) for o in result.operations.values())
    row["missed"] = sum(o.missed for o in result.operations.values())
    row["throughput_per_s"] = ok / result.measured_s
    for name, value in _all_operations_latency(result, folder).items():
        row[f"latency_ms_{name}"] = value
    for kind, stats in sorted(result.operations.items()):
        row[f"{kind}.ok"] = stats.ok
        row[f"{kind}.fail"] = sum(stats.fail.values())
        row[f"{kind}.unknown"] = sum(stats.unknown.values())
        row[f"{kind}.missed"] = stats.missed
        row[f"{kind}.throughput_per_s"] = stats.ok / result.measured_s
        for name, value in _stats_ms(stats.latency_ns).items():
            row[f"{kind}.latency_ms_{name}"] = value
    row["client_busy_fraction"] = result.client.busy_fraction
    row["hedges_per_read"] = _hedges_per_read(result)
    speed = result.machine_speed
    row["machine_step_ns"] = None if speed is None else speed.step_ns
    row["compiler_cores"] = record.compiler_cores
    row["warnings"] = list(result.warnings)
    return row


def _scanned(path: Path, key: Sequence[pl.Expr]) -> pl.LazyFrame | None:
    """Return a file that not every run has, with the run's name."""
    return pl.scan_parquet(path).select(*key, pl.all()) if path.is_file() else None


def _sharding(record: RunRecord) -> tuple[str, ...]:
    """Return the settings that say how records are spread, where they are."""
    spread = record.scenario.settings.get("sharding", "none")
    return () if spread == "none" else ("sharding", "shards")


def _stats_ms(stats: LatencyStats) -> dict[str, float | None]:
    names = ("mean", "max", *_PERCENTILES)
    values = {name: getattr(stats, name) for name in names}
    return {name: None if value is None else value / 1e6 for name, value in values.items()}


def _all_operations_latency(result: RunResult, folder: Path) -> dict[str, float | None]:
    """Latency over all kinds; percentiles of a mixture come from the histograms."""
    kinds = [stats for stats in result.operations.values() if stats.ok > 0]
    if len(kinds) == 1:
        return _stats_ms(kinds[0].latency_ns)
    means = [(s.ok, s.latency_ns.mean) for s in kinds if s.latency_ns.mean is not None]
    maxima = [s.latency_ns.max for s in kinds if s.latency_ns.max is not None]
    row: dict[str, float | None] = {
        "mean": sum(n * mean for n, mean in means) / sum(n for n, _ in means) / 1e6
        if means
        else None,
        "max": max(maxima) / 1e6 if maxima else None,
        **dict.fromkeys(_PERCENTILES),
    }
    if kinds:
        merged = read_latencies(folder).merged(outcome="ok")
        if merged.count:
            row |= {
                name: merged.percentile(p) / 1e6
                for name, p in zip(_PERCENTILES, _PERCENTS, strict=True)
            }
    return row


def _node_usage(resources: pl.DataFrame, cores: float | None) -> pl.DataFrame:
    """Mean use of each node while measuring, from the first and last of cumulative counts."""
    span = pl.col("t_s").last() - pl.col("t_s").first()
    cpu = pl.col("cpu_user_s") + pl.col("cpu_system_s")
    rates = [
        ((pl.col(name).drop_nulls().last() - pl.col(name).drop_nulls().first()) / span).alias(
            f"{name}_per_s"
        )
        for name in ("disk_read_bytes", "disk_write_bytes", "net_rx_bytes", "net_tx_bytes")
    ]
    usage = (
        resources.lazy()
        .filter(pl.col("phase") == "measure")
        .sort("t_s", maintain_order=True)
        .group_by("node", "role", maintain_order=True)
        .agg(
            pl.len().alias("readings"),
            ((cpu.last() - cpu.first()) / span).alias("cpu_cores"),
            pl.col("rss_bytes").mean().alias("memory_bytes"),
            pl.col("rss_bytes").max().alias("memory_bytes_max"),
            *rates,
        )
        # In older runs this was a loop that spun: its processor time is no load.
        .with_columns(
            pl.when(pl.col("role") == MACHINE)
            .then(
                pl.col("cpu_cores")
                - pl.col("cpu_cores").filter(pl.col("role") == NO_IDLE_STATES).sum()
            )
            .otherwise(pl.col("cpu_cores"))
            .clip(lower_bound=0)
        )
        .filter(pl.col("role") != NO_IDLE_STATES)
        # One reading has no difference: its rate is unknown, not 0/0.
        .with_columns(
            pl.when(pl.col("readings") > 1).then(pl.col(name)).otherwise(None).alias(name)
            for name in ("cpu_cores", *(e.meta.output_name() for e in rates))
        )
        .with_columns((pl.col("cpu_cores") / pl.lit(cores, dtype=pl.Float64)).alias("cpu_share"))
    )
    return usage.select(pl.col(name).cast(dtype) for name, dtype in _NODES_SCHEMA.items()).collect()


def _others_cores(usage: pl.DataFrame) -> float | None:
    """Return what the machine used beyond the nodes; None where a part isn't known."""
    machine = usage.filter(pl.col("role") == MACHINE).get_column("cpu_cores")
    nodes = usage.filter(pl.col("role") != MACHINE).get_column("cpu_cores")
    if not machine.len() or machine.null_count() or nodes.null_count():
        return None
    # The machine counts in ticks, processes exactly: nothing else ran where a tick is missing.
    return max(float(machine.sum()) - float(nodes.sum()), 0.0)


def _compiler_share(record: RunRecord, resources: pl.DataFrame) -> float | None:
    """Return the compilers' part of what servers used; None where it isn't known.

    An older run has the compilers' cores alone, warm-up included: so have the servers' here.
    """
    if record.compiler_share is not None or record.compiler_cores is None:
        return record.compiler_share
    servers = resources.filter(~pl.col("role").is_in((*NOT_SERVERS, MACHINE)))
    cpu = pl.col("cpu_user_s") + pl.col("cpu_system_s")
    span = pl.col("t_s").last() - pl.col("t_s").first()
    of_node = ((cpu.last() - cpu.first()) / span).fill_nan(None).alias("cores")
    used = float(servers.sort("t_s").group_by("node").agg(of_node).get_column("cores").sum())
    return min(record.compiler_cores / used, 1.0) if used > 0 else None


def _hedges_per_read(result: RunResult) -> float | None:
    """Return what a read asked for beside its first request; None where nobody counted."""
    reads = sum(one.ok for kind, one in result.operations.items() if kind in _ASKING)
    if result.client.hedges is None or reads == 0:
        return None
    return result.client.hedges / reads


def _role_usage(nodes: pl.DataFrame) -> dict[str, float | None]:
    by_role = nodes.group_by("role", maintain_order=True).agg(
        pl.col("cpu_cores", "cpu_share", "memory_bytes").mean()
    )
    return {
        f"{name}.{row['role']}": row[name]
        for row in by_role.iter_rows(named=True)
        for name in ("cpu_cores", "cpu_share", "memory_bytes")
    }


def _failure_row(failure: FailureRecord) -> dict[str, Any]:
    text = ", ".join(f"{name} {label}" for name, label in items(failure.scenario.get("factors")))
    return {
        "run": failure.run,
        "attempt": failure.attempt,
        "when_utc": failure.when_utc.astimezone(UTC),
        "reason": failure.reason,
        "hint": failure.hint,
        "log_tail": failure.log_tail,
        "factors": text,
    }


def _factors(
    records: Sequence[RunRecord], studies: Sequence[StudyFile]
) -> tuple[tuple[str, ...], dict[str, tuple[str | int | float | bool, ...]]]:
    """Return factors and their levels, both in the study's order.

    Scenarios are numbered in the study's order, so the order of first appearance is that order,
    provided that a scenario with each level was run. The definition, where it lists labels, settles
    what the runs so far can't.
    """
    declared: dict[str, list[str]] = {}
    for study in studies:
        factors: object = study.study.get("factors")
        for name, levels in items(factors):
            labels = [str(x) for x in _labels(levels) if isinstance(x, str | int | float)]
            declared.setdefault(name, []).extend(labels)
    seen: dict[str, dict[str, str | int | float | bool]] = {}
    for record in sorted(records, key=lambda r: r.scenario.number):
        for name, label in record.scenario.factors.items():
            seen.setdefault(name, {}).setdefault(str(label), label)
    names = list(dict.fromkeys((*(name for name in declared if name in seen), *seen)))
    ordered = {
        name: tuple(
            _numbers_if_all(
                [
                    seen[name][text]
                    for text in dict.fromkeys((*declared.get(name, ()), *seen[name]))
                    if text in seen[name]
                ]
            )
        )
        for name in names
    }
    return tuple(ordered), ordered


def _labels(levels: object) -> list[object]:
    """Return the labels of ``[a, b]``, ``{a: settings, b: settings}`` or ``[{label: a, …}, …]``."""
    if is_object(levels):
        return list(levels)
    if is_array(levels):
        return [x.get("label") if is_object(x) else x for x in levels]
    return []


def _numbers_if_all(labels: list[str | int | float | bool]) -> list[str | int | float | bool]:
    """Labels as whole numbers if every one is: ``"10"`` users must sort after ``"2"``."""
    texts = [str(label) for label in labels]
    if all(WHOLE_NUMBER.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    return list(labels) if len({type(label) for label in labels}) == 1 else list(texts)


def _runs_frame(
    rows: list[dict[str, Any]],
    factors: Sequence[str],
    levels: Mapping[str, Sequence[str | int | float | bool]],
) -> pl.DataFrame:
    leading = ["source", "study", "run", "scenario", "repetition", "seed"]
    leading += ["started_utc", "cluster_started_utc"]
    clash = sorted(
        set(factors)
        & {
            *leading,
            "measured_s",
            "ok",
            "fail",
            "unknown",
            "missed",
            "throughput_per_s",
            "warnings",
        }
    )
    if clash:
        raise StoreError(
            f"a factor can't be named {clash[0]!r}: that is a column of every run",
            "rename it in the study",
        )
    for row in rows:
        for name in factors:
            if name in row and levels[name] and isinstance(levels[name][0], int):
                row[name] = int(row[name])
            elif name in row and levels[name] and isinstance(levels[name][0], str):
                row[name] = str(row[name])
    columns = list(dict.fromkeys((*leading, *factors, *(name for row in rows for name in row))))
    if not rows:
        return pl.DataFrame(schema={**_RUNS_SCHEMA, **dict.fromkeys(factors, pl.String)})
    table = {name: [row.get(name) for row in rows] for name in columns}
    try:
        frame = pl.DataFrame(table, strict=False, infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            f"the runs can't be put in one table: {error}", "load the directories one by one"
        ) from error
    # A column of which nothing is known has a type all the same.
    return frame.with_columns(pl.col(name).cast(kind) for name, kind in _RUNS_SCHEMA.items())


def _stack(frames: list[pl.DataFrame], schema: pl.Schema) -> pl.DataFrame:
    if frames:
        return pl.concat(frames, how="diagonal_relaxed")
    return pl.DataFrame(schema={"source": pl.String, "run": pl.String, **schema})


def _source_names(paths: Sequence[Path]) -> list[str]:
    """Short names for the directories; where two share one, the parent's is put in front."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [f"{path.resolve().parent.name}/{path.resolve().name}" for path in paths]
    if len(set(names)) < len(names):
        names = [f"{name}#{i}" for i, name in enumerate(names, 1)]
    return names


def run_ids(path: Path) -> list[str]:
    """Names of the runs in a results directory, in the study's order; they may be damaged."""
    folder = path / "runs"
    if not folder.is_dir():
        return []
    ids = [p.name for p in folder.iterdir() if RUN_ID.fullmatch(p.name)]
    return sorted(ids, key=lambda name: tuple(int(part) for part in name.split("-r")))


def _read_timeline(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the activities, and what is wrong with lines that were left out."""
    if not path.is_file():
        return [], []
    lines = read_bytes(path).decode("utf-8", errors="replace").split("\n")
    problems = [f"{path}: the last line was cut short and is left out"] if lines.pop() else []
    activities: list[dict[str, Any]] = []
    damaged: list[str] = []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        try:
            activity = validate(Activity, parse_json(line, where), where)
        except StoreError as error:
            damaged.append(error.message)
            continue
        activities.append(
            {
                "what": activity.what,
                "scenario": activity.scenario,
                "run": activity.run,
                "start_utc": activity.start_utc.astimezone(UTC),
                "seconds": activity.seconds,
            }
        )
    if damaged:
        more = f" (and {counted(len(damaged) - 1, 'line')} more)" if len(damaged) > 1 else ""
        problems.append(f"{damaged[0]}{more}")
    return activities, problems
