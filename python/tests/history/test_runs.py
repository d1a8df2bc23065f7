"""Histories of our own runs: checked, exported, and read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.export import export
from pacelc.export.jepsen import as_edn, with_processes
from pacelc.history.files import check_file
from pacelc.history.registers import ABSENT, EARLIER, LOADED, of_run, packed

if TYPE_CHECKING:
    from pathlib import Path

_NEVER = 2**63 - 1


def test_a_database_in_memory_is_linearizable(recorded: Path) -> None:
    run = recorded / "runs/0001-r1"
    checked = check_file(run)
    assert checked.verdict == "holds", checked
    assert (checked.format, checked.sessions) == ("native", 4)
    log = pl.read_parquet(run / "operations.parquet")
    kinds = log["operation"].value_counts()
    twice = kinds.filter(pl.col("operation") == "read_modify_write")["count"].sum()
    assert log.height <= checked.operations <= log.height + twice
    assert check_file(run / "operations.parquet") == checked


def test_a_read_that_is_made_stale_is_found(recorded: Path, tmp_path: Path) -> None:
    log = pl.read_parquet(recorded / "runs/0001-r1/operations.parquet")
    end = log["end_ns"].max()
    # The first acknowledged update is read again, by a new user, when all is over.
    first = log.filter((pl.col("operation") == "update") & (pl.col("outcome") == "ok")).row(
        0, named=True
    )
    later = log.filter(
        (pl.col("record") == first["record"])
        & pl.col("operation").is_in(["update", "delete"])
        & (pl.col("outcome") == "ok")
        & (pl.col("start_ns") > first["end_ns"])
    )
    assert later.height
    stale = {
        **first,
        "operation": "read",
        "user": 9,
        "sequence": 1,
        "due_ns": end + 1,
        "start_ns": end + 1,
        "end_ns": end + 2,
        "read_writer": first["user"] + 1,
        "read_sequence": first["sequence"],
        "read_origin": "run",
    }
    path = tmp_path / "operations.parquet"
    pl.concat([log, pl.DataFrame([stale], schema=log.schema)]).write_parquet(path)
    checked = check_file(path)
    assert checked.verdict == "violated"
    version = f"{first['user']}.{first['sequence']}"
    assert f"session 9 read {version}, but register {first['record']} can" in str(
        checked.explanation
    )
    assert checked.witness[-1].session == 9
    assert [row.value for row in checked.witness].count(version) == 2


def test_what_is_exported_is_read_again_as_it_was(recorded: Path, tmp_path: Path) -> None:
    (path,) = export(recorded, "jepsen", runs=["0001-r1"], out=tmp_path / "run.edn")
    assert check_file(path).verdict == "holds"
    told = with_processes(of_run(recorded / "runs/0001-r1/operations.parquet"))
    is_read = ~pl.col("is_write")
    expected = told.with_columns(
        pl.col("process").cast(pl.UInt32).alias("session"),
        pl.when(is_read & (pl.col("outcome") != "ok"))
        .then(ABSENT)
        .when(pl.col("version") == LOADED)
        .then(0)
        .when(pl.col("version") < EARLIER)
        .then(pl.col("version") + 1)
        .otherwise("version")
        .cast(pl.UInt64)
        .alias("version"),
        pl.when(pl.col("outcome") == "unknown").then(_NEVER).otherwise("end_ns").alias("end_ns"),
    )
    assert expected.filter(
        (pl.col("version") >= EARLIER) & (pl.col("version") != ABSENT)
    ).is_empty()
    assert expected.filter(pl.col("version") == ABSENT).height > 0
    # What was loaded is written first.
    keys = told.filter(pl.col("key") < 20)["key"].unique().sort()
    lines = path.read_bytes().splitlines(keepends=True)
    loads, own = lines[: 2 * keys.len()], lines[2 * keys.len() :]
    assert all(
        b":type :invoke, :f :write, :value [%d 0]" % key in line
        for key, line in zip(keys, loads, strict=False)
    )
    assert all(b":type :ok" in line for line in loads[keys.len() :])
    assert _rows(_engine.pack_history(b"".join(own))) == _rows(packed(expected))


@pytest.mark.parametrize(
    ("reads", "verdict"),
    [
        ({10: "load", 40: "run"}, "holds"),
        # User 0's first write is no load.
        ({40: "load"}, "violated"),
        ({10: "earlier", 40: "run"}, "holds"),
        ({2: "load", 10: "earlier"}, "violated"),
        ({2: "earlier", 10: "load"}, "violated"),
    ],
)
def test_what_was_there_before_a_run_is_exported(
    reads: dict[int, str], verdict: str, recorded: Path, tmp_path: Path
) -> None:
    log = pl.read_parquet(recorded / "runs/0001-r1/operations.parquet")
    update = log.filter((pl.col("operation") == "update") & (pl.col("outcome") == "ok"))
    write = {**update.row(0, named=True), "user": 0, "sequence": 0, "start_ns": 20, "end_ns": 30}
    rows = [write] + [
        {
            **write,
            "operation": "read",
            "user": 1,
            "sequence": start_ns,
            "start_ns": start_ns,
            "end_ns": start_ns + 5,
            "read_writer": 1 if origin == "run" else 0,
            "read_sequence": 0,
            "read_origin": origin,
        }
        for start_ns, origin in reads.items()
    ]
    pl.DataFrame(rows, schema=log.schema).write_parquet(tmp_path / "operations.parquet")
    exported = tmp_path / "run.edn"
    exported.write_bytes(as_edn(tmp_path))
    checked = check_file(exported)
    assert checked.verdict == verdict, checked


def _rows(data: bytes) -> list[bytes]:
    rows = np.frombuffer(data[8:], dtype="V48")
    return sorted(row.tobytes() for row in rows)


def test_a_user_in_doubt_goes_on_as_another_process() -> None:
    frame = pl.DataFrame(
        {
            "session": [0, 1, 0, 0],
            "outcome": ["unknown", "ok", "unknown", "ok"],
            "of_rmw": [False] * 4,
        }
    )
    assert with_processes(frame)["process"].to_list() == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            pl.when(pl.lit(value=False)).then(pl.col("read_writer", "read_origin")),
            "reads returned values without a stamp",
        ),
        (pl.lit(2**41, pl.UInt64).alias("sequence"), "user . has no operation 2199023255552"),
    ],
)
def test_a_log_that_tells_no_versions_is_refused(
    change: pl.Expr, problem: str, recorded: Path, tmp_path: Path
) -> None:
    path = tmp_path / "operations.parquet"
    log = pl.read_parquet(recorded / "runs/0001-r1/operations.parquet")
    log.with_columns(change).write_parquet(path)
    with pytest.raises(InputError, match=problem):
        check_file(path)
