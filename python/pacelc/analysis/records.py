"""Tables that a regression or an advice can start from: runs, or a CSV file.

Start here: :func:`records_of_runs`, :func:`records_of_csv`; papers' are in
:mod:`pacelc.papers.records`. Whatever the source, columns that mean the same have the same name:

read_share, write_share        of the operations, 0 to 1
read_replicas, write_replicas  nodes that a read, a write waits for, of ``replication``
write_consistency              (write_replicas - 1) / (replication - 1): 0, ½, 1 with three copies
read_latency_s, write_latency_s
thousand_threads               threads, or users, in thousands

Reads are reads and scans; writes are all others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis.regression import Caution
from pacelc.databases import facts_of
from pacelc.delimited import read_frame
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.store import load
from pacelc.store.format import items
from pacelc.study.copies import copies_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pacelc.databases import Copies
    from pacelc.store import Results, RunRecord

__all__ = [
    "Naming",
    "Records",
    "parse_mix",
    "records_of_csv",
    "records_of_runs",
    "runs_frame",
]

_READS: Final = frozenset({"read", "scan"})
_MIX: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*[/:]\s*([0-9]+(?:\.[0-9]+)?)\s*")


@dataclass(frozen=True)
class Naming:
    """Names of a study's factors."""

    load: str = "users"
    mix: str = "mix"
    setting: str = "setting"


@dataclass(frozen=True, eq=False)
class Records:
    """A table, with what a row of it is.

    Attributes
    ----------
    frame
        One row an observation.
    source
        Where it is from, for people.
    labels
        Names of the rows.
    cautions
        What weakens anything that is made of it.
    others
        Columns that must be equal for rows to be comparable at one load, mix and setting.
    """

    frame: pl.DataFrame
    source: str
    labels: tuple[str, ...]
    cautions: tuple[Caution, ...]
    others: tuple[str, ...] = ()


def records_of_csv(path: Path, naming: Naming | None = None) -> Records:
    """Read a table; the columns above are added where the file has what they follow from.

    Raises
    ------
    InputError
        The file can't be read, or holds no rows.
    """
    frame = read_frame(path)
    if frame.height == 0:
        raise InputError(f"{path}: there are no rows")
    labels = tuple(f"row {i + 1} of {path.name}" for i in range(frame.height))
    caution = Caution(
        "unit",
        "each row is assumed to be an independent run: rows of one run (seconds, users, "
        "operations) would make every standard error too small",
    )
    if "run" in frame.columns and frame.get_column("run").is_duplicated().any():
        caution = Caution(
            "unit",
            f"{counted(frame.height, 'row')} of "
            f"{counted(frame.get_column('run').n_unique(), 'run')}: rows of one "
            "run aren't independent, and every error is too small; give one row a run",
        )
    return Records(_derived(frame, naming or Naming()), path.name, labels, (caution,))


def records_of_runs(directory: Path, naming: Naming | None = None) -> Records:
    """Read the runs of a results directory, one row a run.

    Raises
    ------
    InputError
        There are no finished runs.
    StoreError
        It is not a results directory, or is damaged.
    """
    results = load(directory)
    naming = naming or Naming()
    frame = runs_frame(results, naming)
    if frame.height == 0:
        raise InputError(
            f"{directory}: there are no finished runs", "`pacelc run` resumes the study"
        )
    labels = tuple(f"run {run}" for run in frame.get_column("run"))
    own = {naming.load, naming.mix, naming.setting, "level", "consistency"}
    others = dict.fromkeys(("database", "nodes", *results.factors))
    return Records(
        frame,
        f"{counted(frame.height, 'run')} of {directory.name}",
        labels,
        tuple(_cautions_of(results)),
        tuple(name for name in others if name in frame.columns and name not in own),
    )


def _cautions_of(results: Results) -> list[Caution]:
    runs = results.runs
    found: list[Caution] = []
    if not runs.select("source", "scenario").is_duplicated().any():
        found.append(
            Caution(
                "unit",
                "every scenario ran once: the variation between repetitions is unknown, and the "
                "errors rest on the model alone",
            )
        )
    if results.damaged:
        left_out = ", ".join(run for _, run in results.damaged)
        found.append(Caution("damaged", f"damaged runs are left out: {left_out}"))
    warned = runs.filter(pl.col("warnings").list.len() > 0).height
    if warned:
        found.append(
            Caution(
                "runs",
                f"{warned} of {counted(runs.height, 'run')} with warnings: `pacelc report` "
                f"lists them",
            )
        )
    return found


def runs_frame(results: Results, naming: Naming) -> pl.DataFrame:
    """Return ``Results.runs`` with the columns above; lists and times are left out."""
    runs = results.runs
    if runs.height == 0:
        return runs
    shares = [_read_share(record) for record in results.records]
    replicas = [_replicas_in_force(record) for record in results.records]
    by_run = pl.DataFrame(
        {
            "run": [record.run for record in results.records],
            "started_utc": [record.started_utc for record in results.records],
            "_share": shares,
            "_read": [reads for reads, _ in replicas],
            "_write": [writes for _, writes in replicas],
        },
        schema_overrides={"_share": pl.Float64, "_read": pl.Int64, "_write": pl.Int64},
    )
    kept = [
        name
        for name, kind in runs.schema.items()
        if kind.is_numeric() or isinstance(kind, pl.String | pl.Boolean)
    ]
    by_run = by_run.with_columns(pl.col("started_utc").cast(runs.schema["started_utc"]))
    frame = runs.join(by_run, on=["run", "started_utc"], how="left", maintain_order="left")
    frame = frame.select(*kept, "_share", "_read", "_write")
    for side, kinds in _sides(runs.columns).items():
        weight = pl.sum_horizontal(pl.col(f"{kind}.ok").fill_null(0) for kind in kinds)
        total = pl.sum_horizontal(
            (pl.col(f"{kind}.ok") * pl.col(f"{kind}.latency_ms_mean")).fill_null(0)
            for kind in kinds
        )
        frame = frame.with_columns(
            pl.when(weight > 0).then(total / weight / 1e3).alias(f"{side}_latency_s")
        )
    frame = _derived(frame, naming)
    fallback = {"read_share": "_share", "read_replicas": "_read", "write_replicas": "_write"}
    frame = frame.with_columns(
        (pl.coalesce(name, other) if name in frame.columns else pl.col(other)).alias(name)
        for name, other in fallback.items()
    ).drop(*fallback.values())
    return _consistency(frame.with_columns((1 - pl.col("read_share")).alias("write_share")))


def parse_mix(text: str) -> float | None:
    """Return the share of reads in a mix such as ``70/30``; None if it is none or isn't 100 %.

    Examples
    --------
    >>> parse_mix("70/30"), parse_mix("70/40"), parse_mix("most")
    (0.7, None, None)
    """
    found = _MIX.fullmatch(text)
    if found is None:
        return None
    reads, writes = float(found[1]), float(found[2])
    return reads / 100 if abs(reads + writes - 100) < 1e-9 else None  # noqa: PLR2004 - per cent


def _derived(frame: pl.DataFrame, naming: Naming) -> pl.DataFrame:
    """Add the columns that follow from others; none that is there is replaced."""
    columns = frame.schema
    added = {**_from_mix(frame, naming.mix), **_from_setting(frame, naming.setting)}
    for side in ("read", "write"):
        for unit, per_second in (("us", 1e6), ("ms", 1e3)):
            if f"{side}_latency_{unit}" in columns:
                added[f"{side}_latency_s"] = pl.col(f"{side}_latency_{unit}") / per_second
    load_column = naming.load if naming.load in columns else "threads"
    if load_column in columns and columns[load_column].is_numeric():
        added["thousand_threads"] = pl.col(load_column) / 1000
    frame = frame.with_columns(
        column.alias(name) for name, column in added.items() if name not in columns
    )
    if "read_share" in frame.columns and "write_share" not in frame.columns:
        frame = frame.with_columns((1 - pl.col("read_share")).alias("write_share"))
    return _consistency(frame)


def _from_mix(frame: pl.DataFrame, mix: str) -> dict[str, pl.Expr | pl.Series]:
    if frame.schema.get(mix) == pl.String:
        shares = [parse_mix(str(text)) for text in frame.get_column(mix)]
        return {"read_share": pl.Series(shares, dtype=pl.Float64)}
    if "read_percent" in frame.columns:
        return {"read_share": pl.col("read_percent") / 100}
    return {"read_share": 1 - pl.col("write_share")} if "write_share" in frame.columns else {}


def _from_setting(frame: pl.DataFrame, setting: str) -> dict[str, pl.Expr | pl.Series]:
    if frame.schema.get(setting) != pl.String:
        return {}
    settings = frame.get_column(setting)
    known = "replication" in frame.columns and frame.schema["replication"].is_integer()
    copies = frame.get_column("replication") if known else [None] * len(settings)
    pairs = [copies_of(str(text), one) for text, one in zip(settings, copies, strict=True)]
    return {
        f"{side}_replicas": pl.Series([p[i] if p else None for p in pairs], dtype=pl.Int64)
        for i, side in enumerate(("read", "write"))
    }


def _consistency(frame: pl.DataFrame) -> pl.DataFrame:
    if "write_consistency" in frame.columns or "write_replicas" not in frame.columns:
        return frame
    # A table of settings without its number of copies: all of them is the most that one waits for.
    copies = pl.col("replication") if "replication" in frame.columns else pl.max("write_replicas")
    return frame.with_columns(
        pl.when(copies > 1)
        .then((pl.col("write_replicas") - 1) / (copies - 1))
        .alias("write_consistency")
    )


def _sides(columns: Sequence[str]) -> dict[str, list[str]]:
    kinds = [name.removesuffix(".ok") for name in columns if name.endswith(".ok")]
    sides = {
        "read": [kind for kind in kinds if kind in _READS],
        "write": [kind for kind in kinds if kind not in _READS],
    }
    return {side: kinds for side, kinds in sides.items() if kinds}


def _read_share(record: RunRecord) -> float | None:
    """Return the share of reads that was asked for; without one, the share that was done."""
    settings: dict[str, object] = record.scenario.settings
    mix = dict(items(dict(items(settings.get("workload"))).get("mix")))
    shares = {kind: float(v) for kind, v in mix.items() if isinstance(v, int | float)}
    shares = shares or {kind: float(o.ok) for kind, o in record.result.operations.items()}
    total = sum(shares.values())
    return sum(v for kind, v in shares.items() if kind in _READS) / total if total else None


def _replicas_in_force(record: RunRecord) -> tuple[int | None, int | None]:
    """Return how many nodes reads and writes waited for, where their sum says what a read sees."""
    settings: dict[str, object] = record.scenario.settings
    facts = facts_of(str(settings.get("database", record.scenario.factors.get("database", ""))))
    if facts.replication != "leaderless":
        return None, None
    copies = settings.get("replication")
    known = {
        kind: _replicas(facts.copies_of_level(level), copies if isinstance(copies, int) else None)
        for kind, level in record.consistency.items()
    }
    reads = {count for kind, count in known.items() if kind in _READS}
    writes = {count for kind, count in known.items() if kind not in _READS}
    return _only(reads), _only(writes)


def _only(counts: set[int | None]) -> int | None:
    return next(iter(counts)) if len(counts) == 1 else None


def _replicas(count: Copies | None, copies: int | None) -> int | None:
    if not isinstance(count, str):
        return count or None
    if copies is None:
        return None
    return copies if count == "all" else copies // 2 + 1
