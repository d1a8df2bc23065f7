"""A lying server under the engine's load: lies are found, and truth is within every interval."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pacelc import _engine
from pacelc.history import Reading, fates, observe, staleness
from pacelc.runner.operations import gather_operations
from pacelc.runner.read_back import read_back_frame

from .lying import LyingServer, behind, jumping, late, newest

if TYPE_CHECKING:
    from pathlib import Path

LAG_NS = 20_000_000
OPERATIONS = 1600
"""Of a run, so that it is as long as it has to be on a busy machine."""


@dataclass(frozen=True)
class Run:
    """A run on a lying server, seen from both sides."""

    log: pl.DataFrame
    reading: Reading
    observed: dict[str, Any]
    reads: pl.DataFrame
    """What the checkers say of each read, and the truth."""
    read_back: pl.DataFrame
    server: LyingServer

    def violated(self, name: str) -> int:
        return next(f["violated"] for f in self.observed["findings"] if f["name"] == name)

    def broken(self) -> set[str]:
        verdicts = {f["name"]: f["verdict"] for f in self.observed["findings"]}
        assert "unknown" not in verdicts.values()
        return {name for name, verdict in verdicts.items() if verdict == "violated"}

    def outside(self) -> pl.DataFrame:
        """Return the reads whose true staleness isn't between least and most."""
        return self.reads.filter(
            ~pl.col("true_ns").is_between("least_ns", pl.col("most_ns").fill_null(2**63 - 1))
            | ~pl.col("true_versions").is_between("least_versions", "most_versions")
        )

    def writes(self) -> pl.DataFrame:
        """With their versions' true places."""
        updates = self.log.filter(pl.col("operation") == "update")
        return updates.join(self.server.written(), on=["user", "sequence"], validate="1:1")


def run(server: LyingServer, path: Path, **workload: Any) -> Run:
    workload = {
        "records": 8,
        "insert_order": "ordered",
        "fields": 1,
        "field_length_bytes": 64,
        "mix": {"read": 0.5, "update": 0.5},
        "distribution": "uniform",
        "update_all_fields": True,
    } | workload
    with server.running() as address:
        spec: dict[str, Any] = {
            "target": {"database": "redis", "endpoints": [address]},
            "workload": workload,
            "consistency": "weak",
            "users": 4,
            "spawn_rate_per_s": 1000.0,
            # A think time, so that some reads run beside no write of their record.
            "arrivals": {"closed": {"think_s": 0.002, "think": "exponential"}},
            "warm_up_s": 0.0,
            "measure_s": 60.0,
            "operations": OPERATIONS,
            "operation_timeout_ms": 5000,
            "seed": 1,
            "record_operations": str(path),
        }
        text = json.dumps(spec)
        _engine.prepare(text).result()
        _engine.load(text).result()
        server.is_measuring = True
        _engine.run(text).result()
        server.is_measuring = False
        records = list(range(workload["records"]))
        read_back = read_back_frame(json.loads(_engine.read_back(text, records, 10.0).result()))
    log = pl.read_parquet(gather_operations(path))
    assert log["outcome"].unique().to_list() == ["ok"]
    reading = Reading.of(workload)
    assert reading is not None
    told, truth = staleness(log, reading), server.truth()
    reads = told.join(truth, on=["user", "sequence"], suffix="_served", maintain_order="left")
    assert log.height >= OPERATIONS
    assert reads.height == told.height == log.filter(pl.col("operation") == "read").height
    for column in ("record", "read_writer", "read_sequence"):
        assert reads[column].equals(reads[f"{column}_served"]), "it isn't what was served"
    return Run(log, reading, observe(log, reading), reads, read_back, server)


LIES = {
    "honest": newest,
    "late": late(LAG_NS),
    "one behind": behind(1),
    "three behind": behind(3),
    "jumping": jumping(behind(2)),
}


@dataclass(frozen=True)
class Told:
    lie: str
    writers: str
    run: Run


def one_run_each(*writers: str) -> pytest.MarkDecorator:
    runs = [f"{lie}, {who}" for lie in LIES for who in writers]
    return pytest.mark.parametrize("told", runs, indirect=True, scope="module")


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    lie, writers = request.param.split(", ")
    path = tmp_path_factory.mktemp("lie") / "operations"
    return Told(lie, writers, run(LyingServer(LIES[lie]), path, writers=writers))


@one_run_each("shared", "single")
def test_every_lie_is_found_and_nothing_else(told: Told) -> None:
    broken, reads = told.run.broken(), told.run.reads
    match told.lie:
        case "honest":
            assert broken == set()
            assert reads["true_ns"].max() == reads["least_ns"].max() == 0
            return
        case "late":
            # It is a state in which the server once was: what is behind is behind in good order.
            assert broken == {"linearizable", "read_your_writes"}
            # What was replaced before that isn't served.
            assert told.run.observed["distance"]["delta_ns"] <= LAG_NS
        case "jumping":
            assert broken >= {"linearizable", "read_your_writes", "monotonic_reads"}
        case _:
            assert broken >= {"linearizable", "read_your_writes"}
            assert "monotonic_reads" not in broken
    assert not broken & {"no_aborted_reads", "no_unwritten_reads", "no_torn_rows"}
    summary = told.run.observed["staleness"]
    truly_stale = (reads["true_versions"] > 0).sum()
    assert 0 < summary["stale"] <= truly_stale <= summary["reads"] - summary["fresh"]


@one_run_each("shared", "single")
def test_the_true_staleness_is_within_every_reads_interval(told: Told) -> None:
    assert told.run.outside().is_empty(), told.run.outside()


@one_run_each("single")
def test_with_one_writer_a_record_versions_are_told_exactly(told: Told) -> None:
    reads, writes = told.run.reads.with_row_index("read"), told.run.writes()
    both = reads.join(writes, on="record", suffix="_w")
    beside = both.filter(
        (pl.col("start_ns_w") <= pl.col("end_ns")) & (pl.col("end_ns_w") >= pl.col("start_ns"))
    )
    alone = reads.join(beside, on="read", how="anti")
    assert alone.height > reads.height // 4
    assert alone["least_versions"].equals(alone["most_versions"])
    assert alone["least_versions"].cast(pl.Int64).equals(alone["true_versions"].cast(pl.Int64))
    # In time no closer than the operations themselves: replaced while the next version was being
    # written, served while the read was under way.
    next_write = both.filter(pl.col("place_w") == pl.col("place") + 1)
    took_ns = pl.col("end_ns") - pl.col("start_ns") + pl.col("end_ns_w") - pl.col("start_ns_w")
    assert next_write.filter(pl.col("most_ns") - pl.col("least_ns") > took_ns).is_empty()
    assert next_write.height >= (reads["true_versions"] > 0).sum()


@one_run_each("shared", "single")
def test_broken_sessions_are_counted_one_by_one(told: Told) -> None:
    places = pl.concat(
        [
            told.run.reads.select("user", "sequence", "record", "place", own=None),
            told.run.writes().select("user", "sequence", "record", place=None, own="place"),
        ],
        how="vertical_relaxed",
    ).sort("user", "sequence")
    before = (
        pl.col(name).cum_max().shift(1).forward_fill().over("user", "record")
        for name in ("place", "own")
    )
    read, written = (pl.col("place") < known for known in before)
    truth = places.select(monotonic_reads=read.sum(), read_your_writes=written.sum()).row(
        0, named=True
    )
    for name, count in truth.items():
        found = told.run.violated(name)
        # Between writers whose order isn't certain nothing can be proved.
        assert found == count if told.writers == "single" else found <= count, name


def test_writes_that_were_acknowledged_and_forgotten_are_lost(tmp_path: Path) -> None:
    forgetful = run(LyingServer(forgets_every=20), tmp_path / "operations", records=200)
    assert {"linearizable", "read_your_writes"} <= forgetful.broken()
    assert forgetful.outside().is_empty(), forgetful.outside()
    told = fates(forgetful.log, forgetful.read_back, forgetful.reading, one_version=True)
    truth = forgetful.writes().join(forgetful.server.survivors(), on="record")
    lost = truth.filter(pl.col("place") > pl.col("survivor"))
    found = told.filter(pl.col("fate") == "lost")
    assert found.height > 0
    # Of writes of one record that overlapped, nobody knows which was last.
    assert found.join(lost, on=["record", "start_ns", "end_ns"], how="anti").is_empty()
    assert set(told["fate"]) == {"kept", "lost"}


def test_an_honest_server_loses_nothing(tmp_path: Path) -> None:
    honest = run(LyingServer(), tmp_path / "operations")
    told = fates(honest.log, honest.read_back, honest.reading, one_version=True)
    assert told.height == honest.writes().height
    assert set(told["fate"]) == {"kept"}
