"""Runs read from a file are what they were, and nothing else is taken for some."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.calibration.dataset import gathered, read_dataset, write_dataset
from pacelc.calibration.runs import Configuration, Run, points_of
from pacelc.cli.entry import call
from pacelc.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.text(min_size=1, max_size=8)
SECONDS = st.floats(1e-9, 1e6)
SIZES = ((1, 1, 1, 1), (3, 3, 2, 2))


def run(number: int, shape: tuple[int, int, int, int], share: float, users: int) -> Run:
    """Throughput, latencies and processor time are plain functions of the configuration."""
    configuration = Configuration(*shape, users, share, "any", 2.0, shared=True)
    rate = 1000.0 * users / (1 + 0.1 * users) / shape[1]
    kinds = {"read": share > 0, "write": share < 1}
    return Run(
        name=f"results/{number:04}-r1",
        study="results",
        study_name="calibration",
        configuration=configuration,
        reads_per_s=rate * share,
        writes_per_s=rate * (1 - share),
        latencies_s={kind: users / rate for kind, there in kinds.items() if there},
        p99_s={kind: 3 * users / rate for kind, there in kinds.items() if there},
        server_cores=rate * 1e-4,
        client_cores=rate * 2e-5,
        database="cassandra",
        started_unix_s=1e9 + number,
        factors={"nodes": str(shape[0]), "users": str(users), "mix": str(share)},
    )


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    every = itertools.product(SIZES, (0.0, 0.5, 1.0), (1, 16))
    return [run(number, *one) for number, one in enumerate(every, start=1)]


@pytest.fixture
def file(tmp_path: Path, runs: list[Run]) -> Path:
    path = tmp_path / "runs.parquet"
    write_dataset(runs, path)
    return path


@given(
    named=st.dictionaries(WORDS, WORDS, max_size=3),
    group=st.dictionaries(WORDS, st.one_of(WORDS, st.integers(), st.booleans()), max_size=3),
    latency_s=SECONDS,
    p99_s=st.none() | SECONDS,
    cores=st.floats(0.1, 64),
    shared=st.booleans(),
)
def test_a_run_that_is_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, runs: list[Run], **drawn: Any
) -> None:
    reads = next(one for one in runs if one.reads_per_s > 0 and one.writes_per_s == 0)
    one = replace(
        reads,
        factors=drawn["named"],
        levels=drawn["named"],
        versions=drawn["named"],
        group=tuple(drawn["group"].items()),
        latencies_s={"read": drawn["latency_s"]},
        p99_s={} if drawn["p99_s"] is None else {"read": drawn["p99_s"]},
        configuration=reads.configuration._replace(cores=drawn["cores"], shared=drawn["shared"]),
    )
    path = tmp_path_factory.mktemp("written") / "one.parquet"
    write_dataset([one], path)
    (again,) = read_dataset(path)
    assert again == replace(one, name=f"{path}:{one.name}", study=f"{path}:{one.study}")


@pytest.mark.parametrize("level", ["w: majority", "w: majority, j: false", "w: 2, j: true", "w: 2"])
def test_levels_say_again_whether_writes_wait_for_a_disk(
    tmp_path: Path, runs: list[Run], level: str
) -> None:
    writes = next(one for one in runs if one.configuration.waited == 2 and one.reads_per_s == 0)
    path = tmp_path / "one.parquet"
    write_dataset([replace(writes, database="mongodb", levels={"update": level})], path)
    (again,) = read_dataset(path)
    assert again.configuration.on_disk == (level != "w: 2")


def test_files_put_together_tell_their_studies_apart_and_not_where_they_lay(
    tmp_path: Path, runs: list[Run]
) -> None:
    files = [tmp_path / "one.parquet", tmp_path / "other.parquet", tmp_path / "both.parquet"]
    write_dataset(runs[:2], files[0])
    write_dataset(runs[2:4], files[1])
    together, _ = gathered(files[:2])
    write_dataset(together, files[2])
    frame = pl.read_parquet(files[2])
    assert frame["study"].to_list() == ["results", "results", "results-2", "results-2"]
    names = [one.name.rpartition("/")[2] for one in runs[:4]]
    assert frame["run"].to_list() == [
        f"{study}/{name}" for study, name in zip(frame["study"], names, strict=True)
    ]


def test_clusters_of_two_files_are_two(tmp_path: Path, runs: list[Run]) -> None:
    files = [tmp_path / "half.parquet", tmp_path / "other.parquet"]
    for path, own in zip(files, (runs[::2], runs[1::2]), strict=True):
        write_dataset(own, path)
    found, left_out = gathered(files)
    assert left_out == {}
    assert len({point.cluster for point in points_of(found)}) == 2 * len(SIZES)


def test_a_run_is_not_taken_twice(file: Path, tmp_path: Path, runs: list[Run]) -> None:
    other = tmp_path / "other.parquet"
    write_dataset(runs[-1:], other)
    with pytest.raises(InputError, match="is the same run as"):
        gathered([file, other])
    with pytest.raises(InputError, match="given twice"):
        gathered([file, file])
    frame = pl.read_parquet(file)
    pl.concat([frame, frame.head(1)]).write_parquet(file)
    with pytest.raises(InputError, match="is the same run as"):
        gathered([file])


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        ("users", 0, "row 2: users: Input should be greater than or equal to 1"),
        ("server_cores", float("nan"), "row 2: server_cores: Input should be a finite number"),
        ("read_share", 1.5, "row 2: read_share: "),
        ("coordinator", "me", "row 2: coordinator: Input should be 'any', 'replica' or 'leader'"),
        ("factors", "users", "row 2: factors: Invalid JSON"),
        ("waited", 4, "row 2: operations wait for more copies than there are"),
        ("replication", 7, "row 2: there are more copies than nodes"),
        ("write_latency_s", None, "row 2: there is no latency of writes"),
        ("read_latency_s", 0.1, "row 2: there is a latency of reads, and there were none"),
        ("read_p99_s", 0.1, "row 2: there is a latency of reads, and there were none"),
        ("read_share", 0.5, "row 2: read_share isn't that of the rates"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    file: Path, column: str, value: object, named: str
) -> None:
    frame = pl.read_parquet(file)
    values = frame.get_column(column).to_list()
    values[1] = value
    frame.with_columns(pl.Series(column, values)).write_parquet(file)
    with pytest.raises(InputError) as refused:
        read_dataset(file)
    assert named in refused.value.message
    assert "pacelc model dataset" in str(refused.value.hint)


def test_copies_that_no_level_waits_for_are_named(file: Path) -> None:
    sizes = [pl.lit(5).alias(name) for name in ("nodes", "replication")]
    pl.read_parquet(file).with_columns(*sizes, pl.lit(2).alias("waited")).write_parquet(file)
    with pytest.raises(InputError, match="row 1: no level waits for 2 of 5 copies"):
        read_dataset(file)


def test_what_is_no_file_of_runs_is_refused(tmp_path: Path, file: Path) -> None:
    missing = tmp_path / "missing.parquet"
    with pytest.raises(InputError, match="there is no such file"):
        read_dataset(missing)
    text = tmp_path / "text.parquet"
    text.write_text("nodes,users\n")
    with pytest.raises(InputError, match="isn't a Parquet file"):
        read_dataset(text)
    other = tmp_path / "other.parquet"
    pl.read_parquet(file).drop("users").write_parquet(other)
    with pytest.raises(InputError, match="isn't a file of runs: there is no users"):
        read_dataset(other)
    none = tmp_path / "none.parquet"
    pl.read_parquet(file).clear().write_parquet(none)
    with pytest.raises(InputError, match="no runs that a model can be fitted to"):
        gathered([none])


def test_columns_of_others_are_left_alone(file: Path, runs: list[Run]) -> None:
    frame = pl.read_parquet(file)
    more = pl.Series("note", np.arange(frame.height))
    frame.with_columns(more).select(sorted([*frame.columns, "note"])).write_parquet(file)
    assert [one.configuration for one in read_dataset(file)] == [one.configuration for one in runs]


def test_the_command_writes_runs_to_one_file(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], runs: list[Run]
) -> None:
    out = tmp_path / "again.parquet"
    assert call(["model", "dataset", str(file), "--out", str(out)]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{out}\n"
    assert printed.err == f"{len(runs)} runs written\n"
    assert len(read_dataset(out)) == len(runs)
    assert call(["model", "dataset", str(file), "--out", str(tmp_path / "runs.csv")]) == 2
    assert "hint: runs.parquet" in capfd.readouterr().err
