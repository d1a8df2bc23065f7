"""Runs as a calibration needs them, in one small file: to share them, and to fit them again.

A results directory has some megabytes a study; what a model is fitted from are some twenty numbers
a run. The file is Parquet with a row a run, which any tool for data frames opens; columns that
others add are ignored.

Map
---
write_dataset   runs → a file
read_dataset    a file → its runs
gathered        directories and files → their runs
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import polars as pl
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    ValidationError,
    model_validator,
)

from pacelc.calibration.runs import KINDS, Configuration, Run, runs_of, waits_for_disk
from pacelc.databases import FACTS
from pacelc.errors import InputError
from pacelc.files import write_bytes
from pacelc.former_names import current_names
from pacelc.names import counted
from pacelc.networks.quorum import Coordinator  # noqa: TC001 - pydantic reads annotations
from pacelc.store import load, parquet_bytes
from pacelc.study.copies import is_a_level

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["gathered", "read_dataset", "write_dataset"]

_SUFFIX: Final = ".parquet"
_HINT: Final = "such files are written by `pacelc model dataset RESULTS --out FILE`"
_ROUNDED: Final = 1e-6

_Positive = Annotated[float, Field(gt=0)]
_NotNegative = Annotated[float, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]


def _known_database(name: str) -> str:
    if name not in FACTS:
        raise ValueError(f"no such database: there are {', '.join(FACTS)}")
    return name


class _Row(BaseModel):
    """A run in the file: a :class:`~pacelc.calibration.runs.Run`, in its units."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    run: str
    study: str
    study_name: str
    database: Annotated[str, AfterValidator(_known_database)]
    started_unix_s: _Positive
    group: Annotated[Json[dict[str, str | int | float | bool]], AfterValidator(current_names)]
    factors: Annotated[Json[dict[str, str]], AfterValidator(current_names)]
    levels: Json[dict[str, str]]
    versions: Json[dict[str, str]]
    nodes: _Count
    replication: _Count
    asked: _Count
    waited: _Count
    users: _Count
    read_share: _Share
    coordinator: Coordinator
    cores: _Positive
    shared: bool
    reads_per_s: _NotNegative
    writes_per_s: _NotNegative
    read_latency_s: _Positive | None
    write_latency_s: _Positive | None
    read_p99_s: _Positive | None
    write_p99_s: _Positive | None
    server_cores: _Positive
    client_cores: _NotNegative

    @model_validator(mode="after")
    def _sizes_fit_together(self) -> Self:
        if max(self.asked, self.waited) > self.replication:
            raise ValueError("operations wait for more copies than there are")
        if self.replication > self.nodes:
            raise ValueError("there are more copies than nodes")
        for copies in (self.asked, self.waited):
            if not is_a_level(copies, self.replication):
                raise ValueError(
                    f"no level waits for {copies} of {counted(self.replication, 'copy')}"
                )
        return self

    @model_validator(mode="after")
    def _measures_fit_together(self) -> Self:
        rates = {"read": self.reads_per_s, "write": self.writes_per_s}
        times = {"read": self.read_latency_s, "write": self.write_latency_s}
        slow = {"read": self.read_p99_s, "write": self.write_p99_s}
        if not any(rates.values()):
            raise ValueError("there were no operations")
        for kind in KINDS:
            if rates[kind] > 0 and times[kind] is None:
                raise ValueError(f"there is no latency of {kind}s")
            if rates[kind] == 0 and (times[kind], slow[kind]) != (None, None):
                raise ValueError(f"there is a latency of {kind}s, and there were none")
        if abs(self.read_share - self.reads_per_s / sum(rates.values())) > _ROUNDED:
            raise ValueError("read_share isn't that of the rates")
        return self


def write_dataset(found: Sequence[Run], path: Path) -> None:
    """Write runs to a file, which ends in ``.parquet``.

    Raises
    ------
    InputError
        It is called something else.
    CannotRun
        It can't be written.
    """
    if path.suffix != _SUFFIX:
        raise InputError(f"{path}: should end in {_SUFFIX}", f"{path.stem}{_SUFFIX}")
    rows = [_row(one) for one in _renamed(found)]
    write_bytes(path, parquet_bytes(pl.DataFrame(rows, infer_schema_length=None)))


def read_dataset(path: Path) -> list[Run]:
    """Return the runs of a file.

    Raises
    ------
    InputError
        There is no such file; it isn't one of runs; a value of it can't be.
    """
    try:
        frame = pl.read_parquet(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file", _HINT) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: isn't a Parquet file: {reason}", _HINT) from None
    missing = [name for name in _Row.model_fields if name not in frame.columns]
    if missing:
        raise InputError(f"{path}: isn't a file of runs: there is no {missing[0]}", _HINT)
    found: list[Run] = []
    for number, row in enumerate(frame.select(list(_Row.model_fields)).iter_rows(named=True), 1):
        try:
            found.append(_run(_Row.model_validate(row), path))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "".join(f"{part}: " for part in first["loc"])
            what = first["msg"].removeprefix("Value error, ")
            raise InputError(f"{path}: row {number}: {where}{what}", _HINT) from None
    return found


def gathered(paths: Sequence[Path]) -> tuple[list[Run], dict[str, int]]:
    """Return the runs of directories and files, and why how many others can't be used.

    Raises
    ------
    InputError
        A directory, a file or a run is given twice; one isn't what it should be; there are no runs
        that can be used.
    """
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError(
            "a directory is given twice",
            "give several of one study, each in a directory of its own",
        )
    files = [path for path in paths if path.suffix == _SUFFIX and not path.is_dir()]
    directories = [path for path in paths if path not in files]
    found, left_out = runs_of(load(*directories)) if directories else ([], {})
    for path in files:
        found += read_dataset(path)
    seen: dict[tuple[float, ...], str] = {}
    for one in found:
        measured = (one.started_unix_s, one.throughput_per_s, one.server_cores)
        if measured in seen:
            raise InputError(
                f"{one.name} is the same run as {seen[measured]}",
                "give a file of runs, or the directories that they were written from",
            )
        seen[measured] = one.name
    if not found:
        why = "; ".join(f"{reason} ({count})" for reason, count in left_out.items())
        names = ", ".join(str(path) for path in paths)
        raise InputError(f"{names}: there are no runs that a model can be fitted to", why)
    return found, left_out


def _renamed(found: Sequence[Run]) -> list[Run]:
    """Return runs whose studies' names are without the files that they were read from.

    Where files lie is nobody else's business. Studies that are called alike are numbered.
    """
    names: dict[str, str] = {}
    for study in dict.fromkeys(one.study for one in found):
        own = study.rpartition(":")[2]
        alike = chain([own], (f"{own}-{number}" for number in count(2)))
        names[study] = next(name for name in alike if name not in names.values())
    return [
        replace(one, study=name, name=f"{name}/{one.name.rpartition('/')[2]}")
        for one in found
        for name in (names[one.study],)
    ]


def _row(one: Run) -> dict[str, Any]:
    known: dict[str, Any] = {**vars(one), **one.configuration._asdict(), "run": one.name}
    for name in ("group", "factors", "levels", "versions"):
        known[name] = json.dumps(dict(known[name]), ensure_ascii=False)
    for kind in KINDS:
        known[f"{kind}_latency_s"] = one.latencies_s.get(kind)
        known[f"{kind}_p99_s"] = one.p99_s.get(kind)
    return {name: known[name] for name in _Row.model_fields}


def _run(row: _Row, path: Path) -> Run:
    known = row.model_dump()

    def of(what: str) -> dict[str, float]:
        values = {kind: known[f"{kind}_{what}"] for kind in KINDS}
        return {kind: value for kind, value in values.items() if value is not None}

    # What its levels say is in no column of its own.
    known["on_disk"] = waits_for_disk(row.database, row.levels)
    return Run(
        # Files may have runs, and directories, of the same name.
        name=f"{path}:{row.run}",
        study=f"{path}:{row.study}",
        configuration=Configuration(**{name: known[name] for name in Configuration._fields}),
        group=tuple(row.group.items()),
        latencies_s=of("latency_s"),
        p99_s=of("p99_s"),
        **{
            name: known[name]
            for name in (
                *("reads_per_s", "writes_per_s", "server_cores", "client_cores", "database"),
                *("study_name", "versions", "started_unix_s", "factors", "levels"),
            )
        },
    )
