"""Runs kept in a file are what they were, and nothing else is taken for some."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import clusters, made

from pacelc.cli.door import call
from pacelc.errors import InputError
from pacelc.calibration.fit import fit
from pacelc.calibration.dataset import gathered, keep, kept

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.calibration.observations import Observation

WORDS = st.text(min_size=1, max_size=8)
SECONDS = st.floats(1e-9, 1e6)


@pytest.fixture(scope="module")
def runs() -> list[Observation]:
    """Of a third of the configurations; each as a directory has it."""
    some = [one for one in clusters() if one.users < 64 and one.read_share in {0.0, 0.5, 1.0}]
    return [
        replace(
            made(one, number),
            run=f"results/{number:04}-r1",
            study="results",
            database="cassandra",
            started_unix_s=1e9 + number,
            factors={"nodes": str(one.nodes), "users": str(one.users), "number": str(number)},
        )
        for number, one in enumerate(some, start=1)
    ]


@pytest.fixture
def file(tmp_path: Path, runs: list[Observation]) -> Path:
    path = tmp_path / "runs.parquet"
    keep(runs, path)
    return path


@given(
    named=st.dictionaries(WORDS, WORDS, max_size=3),
    group=st.dictionaries(WORDS, st.one_of(WORDS, st.integers(), st.booleans()), max_size=3),
    latency_s=SECONDS,
    p99_s=st.none() | SECONDS,
    step_ns=st.none() | SECONDS,
    others=st.floats(0, 64),
)
def test_what_is_kept_is_what_it_was(
    tmp_path_factory: pytest.TempPathFactory, runs: list[Observation], **drawn: Any
) -> None:
    reads = next(one for one in runs if one.reads_per_s > 0 and one.writes_per_s == 0)
    one = replace(
        reads,
        scenario=0,
        factors=drawn["named"],
        levels=drawn["named"],
        versions=drawn["named"],
        group=tuple(drawn["group"].items()),
        latencies_s={"read": drawn["latency_s"]},
        p99_s={} if drawn["p99_s"] is None else {"read": drawn["p99_s"]},
        machine_step_ns=drawn["step_ns"],
        cluster=reads.cluster._replace(others_cores=drawn["others"], reading=None),
    )
    path = tmp_path_factory.mktemp("kept") / "one.parquet"
    keep([one], path)
    (again,) = kept(path)
    assert again == replace(one, run=f"{path}:{one.run}", study=f"{path}:{one.study}")


@pytest.mark.parametrize("level", ["w: majority", "w: majority, j: false", "w: 2, j: true", "w: 2"])
def test_what_levels_say_of_journals_is_read_again(
    tmp_path: Path, runs: list[Observation], level: str
) -> None:
    writes = next(one for one in runs if one.cluster.waited == 2 and one.reads_per_s == 0)
    path = tmp_path / "one.parquet"
    keep([replace(writes, levels={"update": level})], path)
    (again,) = kept(path)
    assert again.cluster.journaled == (level != "w: 2")


@pytest.mark.slow
def test_a_model_fitted_to_the_file_is_the_model_of_the_runs(
    file: Path, tmp_path: Path, runs: list[Observation]
) -> None:
    (found,), left_out = fit(file, ["users=16"])
    assert left_out == {}
    assert found.table.height == len(runs)
    assert found.table.filter(~pl.col("fitted")).height == len(runs) / 3
    assert found.errors(fitted=False)["throughput_per_s"] < 0.05
    half = tmp_path / "half.parquet"
    keep(runs[::2], half)
    other = tmp_path / "other.parquet"
    keep(runs[1::2], other)
    (merged,), _ = fit([half, other], ["users=16"])
    # Clusters of two files are two: what they share is told of each.
    assert merged.table.height == found.table.height


def test_files_put_together_tell_their_studies_apart_and_not_where_they_lay(
    tmp_path: Path, runs: list[Observation]
) -> None:
    files = [tmp_path / "one.parquet", tmp_path / "other.parquet", tmp_path / "both.parquet"]
    keep(runs[:2], files[0])
    keep(runs[2:4], files[1])
    together, _ = gathered(files[:2])
    keep(together, files[2])
    frame = pl.read_parquet(files[2])
    assert frame["study"].to_list() == ["results", "results", "results-2", "results-2"]
    names = [one.run.rpartition("/")[2] for one in runs[:4]]
    assert frame["run"].to_list() == [
        f"{study}/{name}" for study, name in zip(frame["study"], names, strict=True)
    ]


@pytest.mark.slow
def test_runs_held_out_can_be_those_that_have_several_levels(
    file: Path, runs: list[Observation]
) -> None:
    (found,), _ = fit(file, ["nodes=3 and users=4,16", "nodes=1 and users=1"])
    held = found.table.filter(~pl.col("fitted")).get_column("configuration").to_list()
    assert len(held) == sum(
        (one.cluster.nodes == 3 and one.cluster.users > 1)
        or (one.cluster.nodes == 1 and one.cluster.users == 1)
        for one in runs
    )
    with pytest.raises(InputError, match="no run has all of these"):
        fit(file, ["number=1 and number=2"])
    with pytest.raises(InputError, match="should be FACTOR=LEVEL"):
        fit(file, ["nodes=3 and 4"])


def test_a_run_is_not_taken_twice(file: Path, tmp_path: Path, runs: list[Observation]) -> None:
    other = tmp_path / "other.parquet"
    keep(runs[-1:], other)
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
        ("replication", 7, "row 2: there are more copies, or entries, than nodes"),
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
        kept(file)
    assert named in refused.value.message
    assert "pacelc model keep" in str(refused.value.hint)


def test_copies_that_no_level_waits_for_are_named(file: Path) -> None:
    sizes = [pl.lit(5).alias(name) for name in ("nodes", "replication")]
    pl.read_parquet(file).with_columns(*sizes, pl.lit(2).alias("waited")).write_parquet(file)
    with pytest.raises(InputError, match="row 1: no level waits for 2 of 5 copies"):
        kept(file)


def test_what_is_no_file_of_runs_is_refused(tmp_path: Path, file: Path) -> None:
    missing = tmp_path / "missing.parquet"
    with pytest.raises(InputError, match="there is no such file"):
        kept(missing)
    text = tmp_path / "text.parquet"
    text.write_text("nodes,users\n")
    with pytest.raises(InputError, match="isn't a Parquet file"):
        kept(text)
    other = tmp_path / "other.parquet"
    pl.read_parquet(file).drop("users").write_parquet(other)
    with pytest.raises(InputError, match="isn't a file of runs: there is no users"):
        kept(other)
    none = tmp_path / "none.parquet"
    pl.read_parquet(file).clear().write_parquet(none)
    with pytest.raises(InputError, match="no runs that a model can be fitted to"):
        gathered([none])


def test_columns_of_others_are_left_alone(file: Path, runs: list[Observation]) -> None:
    frame = pl.read_parquet(file)
    more = pl.Series("note", np.arange(frame.height))
    frame.with_columns(more).select(sorted([*frame.columns, "note"])).write_parquet(file)
    assert [one.cluster for one in kept(file)] == [one.cluster for one in runs]


def test_the_command_keeps_runs_in_one_file(
    file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], runs: list[Observation]
) -> None:
    out = tmp_path / "again.parquet"
    assert call(["model", "keep", str(file), "--out", str(out)]) == 0
    printed = capfd.readouterr()
    assert printed.out == f"{out}\n"
    assert printed.err == f"{len(runs)} runs kept\n"
    assert len(kept(out)) == len(runs)
    assert call(["model", "keep", str(file), "--out", str(tmp_path / "runs.csv")]) == 2
    assert "hint: runs.parquet" in capfd.readouterr().err
