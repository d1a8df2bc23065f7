"""Which files are written, and which are never touched."""

from __future__ import annotations

import csv
import io
import os
from typing import TYPE_CHECKING

import polars as pl
import pytest
from stored_runs import forget_sums

from pacelc.cli.entry import call
from pacelc.cli.export import Format, Table
from pacelc.cli.watch import YcsbFormat
from pacelc.errors import InputError
from pacelc.export import FORMATS, STDOUT, TABLES, export
from pacelc.store import Store, StoreError, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_command_line_has_every_format() -> None:
    assert tuple(Format) == FORMATS
    assert tuple(Table) == TABLES
    assert {f"ycsb-{fmt}" for fmt in YcsbFormat} < set(FORMATS)


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_format_is_one_file_a_run_or_table(fmt: str, measured: Path, tmp_path: Path) -> None:
    written = export(measured, fmt, out=tmp_path / "new" / "folder")
    assert sorted(tmp_path.rglob("*.*")) == sorted(written)
    names = TABLES if fmt in ("csv", "parquet") else ("0001-r1", "0002-r1")
    assert sorted(path.name.partition(".")[0] for path in written) == sorted(names)


def test_interval_logs_are_copied_as_they_are(measured: Path, tmp_path: Path) -> None:
    (path,) = export(measured, "hdr", runs=["0002-r1"], out=tmp_path / "my.hdr")
    assert path == tmp_path / "my.hdr"
    assert path.read_bytes() == (measured / "runs/0002-r1/latency.hdr").read_bytes()


def test_a_named_run_goes_into_a_directory_that_is_there(measured: Path, tmp_path: Path) -> None:
    assert export(measured, "hdr", runs=["0002-r1"], out=tmp_path) == [tmp_path / "0002-r1.hdr"]


def test_the_default_is_the_results_own_directory(
    make_study: Callable[[Path], Path], tmp_path: Path
) -> None:
    directory = make_study(tmp_path / "study")
    (path,) = export(directory, "ycsb-text", runs=["0001-r1"])
    assert path == directory / "export" / "0001-r1.ycsb.txt"
    # What is exported into a results directory is no part of it.
    with Store.open(directory) as store:
        assert store.finished() == {"0001-r1"}


@pytest.fixture
def make_study(measured: Path) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        for source in (measured / "study.json", *(measured / "runs/0001-r1").iterdir()):
            target = path / source.relative_to(measured)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        return path

    return make


def test_nothing_is_replaced_and_nothing_written_beside_it(measured: Path, tmp_path: Path) -> None:
    (tmp_path / "0002-r1.hdr").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="already there") as caught:
        export(measured, "hdr", out=tmp_path)
    assert caught.value.hint == "--force replaces it"
    assert [path.name for path in tmp_path.iterdir()] == ["0002-r1.hdr"]
    assert (tmp_path / "0002-r1.hdr").read_text(encoding="utf-8") == "mine"
    assert len(export(measured, "hdr", out=tmp_path, force=True)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0001-r1.hdr", "0002-r1.hdr"]


def test_a_full_disk_leaves_no_half_a_file(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StoreError, match="no space left"):
        export(measured, "csv", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_log_is_refused_by_name(
    make_study: Callable[[Path], Path], tmp_path: Path
) -> None:
    directory = make_study(tmp_path / "study")
    (directory / "runs/0001-r1/latency.hdr").write_text("0,1,1,!!\n", encoding="utf-8")
    with pytest.raises(StoreError, match=r"latency\.hdr has changed since the run was stored"):
        export(directory, "hdr", runs=["0001-r1"], out=STDOUT)
    forget_sums(directory)
    with pytest.raises(StoreError, match=r"latency\.hdr: line 1"):
        export(directory, "ycsb-json", runs=["0001-r1"], out=STDOUT)


def test_standard_output_gets_the_file_and_nothing_else(
    measured: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    export(measured, "ycsb-text", runs=["0001-r1"], out=tmp_path / "file")
    arguments = ["export", str(measured), "--run", "0001-r1", "--out", "-"]
    assert call([*arguments, "--format", "ycsb-text"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == (tmp_path / "file").read_bytes()
    assert err == b""
    assert call([*arguments, "--format", "parquet", "--table", "runs"]) == 0
    out, _ = capfdbinary.readouterr()
    assert pl.read_parquet(io.BytesIO(out))["run"].to_list() == ["0001-r1"]


def test_tables_hold_what_the_store_holds(measured: Path, tmp_path: Path) -> None:
    results = load(measured)
    for fmt in ("csv", "parquet"):
        export(measured, fmt, out=tmp_path)
    runs = pl.read_parquet(tmp_path / "runs.parquet")
    shared = [name for name in results.runs.columns if name != "warnings"]
    assert runs.select(shared).equals(results.runs.select(shared))
    assert pl.read_parquet(tmp_path / "samples.parquet").equals(results.samples)
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["run"] for row in rows] == ["0001-r1", "0002-r1"]
    assert [int(row["users"]) for row in rows] == [1, 4]
    for name in ("throughput_per_s", "read.latency_ms_p99", "scan.latency_ms_mean"):
        assert [float(row[name]) for row in rows] == results.runs[name].to_list()
    assert rows[0]["started_utc"].endswith("Z")
    with (tmp_path / "samples.csv").open(encoding="utf-8", newline="") as stream:
        measured_rows = [row for row in csv.DictReader(stream) if row["phase"] == "measure"]
    ok = sum(int(row["ok"]) for row in measured_rows if row["run"] == "0001-r1")
    assert ok == int(rows[0]["ok"])


def test_errors_and_levels_have_columns_of_their_own(
    make_study: Callable[[Path], Path], tmp_path: Path
) -> None:
    directory = make_study(tmp_path / "study")
    forget_sums(directory)
    path = directory / "runs/0001-r1/run.json"
    text = path.read_text(encoding="utf-8")
    text = text.replace('"fail": {}', '"fail": {"overloaded": 3}', 1)
    text = text.replace('"warnings": []', '"warnings": ["one", "two, three"]')
    path.write_text(text, encoding="utf-8")
    export(directory, "parquet", table="runs", out=tmp_path / "runs.parquet")
    runs = pl.read_parquet(tmp_path / "runs.parquet")
    assert [runs[name][0] for name in runs.columns if name.endswith(".fail.overloaded")] == [3]
    assert runs["warnings"].to_list() == ["one; two, three"]
    assert all(kind in (pl.String, pl.Float64, pl.Int64, pl.Datetime) for kind in runs.dtypes)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--format", "hdr", "--run", "0001-r9"], "has no finished run '0001-r9'"),
        (["--format", "hdr", "--table", "runs"], "hdr has no tables"),
        (["--format", "csv", "--out", "-"], "standard output takes one file"),
        (["--format", "hdr", "--out", "-"], "standard output takes one file"),
    ],
)
def test_a_mistake_is_one_line_with_a_hint(
    arguments: list[str], line: str, measured: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(["export", str(measured), *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    error, hint = err.splitlines()
    assert line in error
    assert hint.startswith("hint: ")


def test_results_without_runs_are_refused(tmp_path: Path) -> None:
    with Store.open(tmp_path / "new", create={"name": "s"}):
        pass
    with pytest.raises(InputError, match="no finished run"):
        export(tmp_path / "new", "csv")
    with pytest.raises(StoreError, match="not a results directory"):
        export(tmp_path, "csv")
