"""Which runs become which files.

Map
---
export          writes what was asked for, and says where
export_path     where a run's file is by default
one_run         one run in one format, as bytes
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.errors import InputError
from pacelc.export import jepsen, ycsb
from pacelc.export.tables import runs_table, samples_table
from pacelc.files import write_atomically
from pacelc.outside import as_csv
from pacelc.store import load, parquet_bytes
from pacelc.store.disk import raise_storage_error
from pacelc.store.format import read_study, read_text, refuse_not_results
from pacelc.store.reader import run_ids
from pacelc.store.whole import check_run, read_latencies
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["FORMATS", "STDOUT", "TABLES", "export", "export_path", "one_run"]

STDOUT: Final = Path("-")
_YCSB: Final = {
    "ycsb-text": ycsb.as_text,
    "ycsb-json": ycsb.as_json,
    "ycsb-json-array": ycsb.as_json_array,
}
# The end of a run's file; the tables' are their formats' names.
_SUFFIX: Final = {
    "ycsb-text": ".ycsb.txt",
    "ycsb-json": ".ycsb.json",
    "ycsb-json-array": ".ycsb-array.json",
    "hdr": ".hdr",
    "jepsen": ".jepsen.edn",
}
_TABLE_FORMATS: Final = {"csv": as_csv, "parquet": parquet_bytes}
_TABLES: Final = {"runs": runs_table, "samples": samples_table}

FORMATS: Final = (*_SUFFIX, *_TABLE_FORMATS)
"""What :func:`export` can write: one file a run, or for the last two one a table."""
TABLES: Final = tuple(_TABLES)
"""The tables, for formats that have them."""


def export(
    directory: Path,
    fmt: str,
    *,
    runs: Sequence[str] = (),
    table: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> list[Path]:
    """Write stored runs in another format.

    Parameters
    ----------
    directory
        A results directory.
    fmt
        One of :data:`FORMATS`.
    runs
        Names of runs; none for all.
    table
        One of :data:`TABLES`; None for all, and for formats of runs.
    out
        Where: the file, if one run or table is named, and else the directory. By default a
        directory in the results, :data:`STDOUT` for standard output.
    force
        Whether files that are there may be replaced.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    InputError
        There is no such run, or a file is in the way.
    StoreError
        Results can't be read, or a file can't be written.
    """
    chosen = _choose(directory, runs)
    if fmt in _TABLE_FORMATS:
        contents = _of_tables(directory, chosen, fmt, TABLES if table is None else (table,))
        named, option = table is not None, "name a table with --table"
    elif table is not None:
        formats = " and ".join(_TABLE_FORMATS)
        raise InputError(f"--table {table}: {fmt} has no tables", f"only {formats} have")
    else:
        contents = {f"{run}{_SUFFIX[fmt]}": partial(one_run, directory, run, fmt) for run in chosen}
        named, option = len(runs) == 1, "name a run with --run"
    if out == STDOUT:
        if len(contents) > 1:
            asked = f"{len(contents)} are asked for"
            raise InputError(f"standard output takes one file, and {asked}", option)
        for content in contents.values():
            sys.stdout.buffer.write(content())
        sys.stdout.buffer.flush()
        return []
    if named and out is not None and not out.is_dir():
        targets = dict(zip((out,), contents.values(), strict=True))
    else:
        folder = out or directory / "export"
        targets = {folder / name: content for name, content in contents.items()}
    _write(targets, force=force)
    return list(targets)


def export_path(directory: Path, run: str, fmt: str) -> Path:
    """Return where :func:`export` writes a run if nothing else is said."""
    return directory / "export" / f"{run}{_SUFFIX[fmt]}"


def one_run(directory: Path, run: str, fmt: str) -> bytes:
    """Return one run in a format of runs."""
    folder = directory / "runs" / run
    record = check_run(folder)
    if fmt == "jepsen":
        return jepsen.as_edn(folder)
    if fmt == "hdr":
        return read_text(folder / "latency.hdr").encode()
    return _YCSB[fmt](ycsb.measurements(record, read_latencies(folder))).encode()


def _choose(directory: Path, runs: Sequence[str]) -> list[str]:
    if not (directory / "study.json").is_file():
        refuse_not_results(directory)
    read_study(directory)  # a newer format is refused here
    there = run_ids(directory)
    if not there:
        raise InputError(f"{directory} has no finished run", "`pacelc run` continues a study")
    for run in runs:
        if run not in there:
            raise InputError(f"{directory} has no finished run {run!r}", nearest(run, there))
    return list(dict.fromkeys(runs)) or there


def _of_tables(
    directory: Path, chosen: Sequence[str], fmt: str, names: Sequence[str]
) -> dict[str, Callable[[], bytes]]:
    results = load(directory).whole()
    write = _TABLE_FORMATS[fmt]

    def content(name: str) -> bytes:
        return write(_TABLES[name](results).filter(pl.col("run").is_in(chosen)))

    return {f"{name}.{fmt}": partial(content, name) for name in names}


def _write(targets: Mapping[Path, Callable[[], bytes]], *, force: bool) -> None:
    # Looked at before anything is written, so that a refusal leaves nothing behind.
    for path in targets:
        if path.exists() and not force:
            raise InputError(f"{path} is already there", "--force replaces it")
    for path, content in targets.items():
        data = content()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except OSError as error:
            raise_storage_error(error, path)
