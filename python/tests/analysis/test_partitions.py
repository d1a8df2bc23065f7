"""Runs with a partition, made up: from what is stored to the letters that a reader is told."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from stored_runs import forget_sums

from pacelc.analysis import Design
from pacelc.analysis.partitions import letters, read_back_frame, served, sides
from pacelc.plots import served_in_partitions
from pacelc.plots.layout import NothingToDraw
from pacelc.report import write_report
from pacelc.report.figures import FIGURES
from pacelc.report.partitions import partitions
from pacelc.runner.read_back import read_back_record
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Results, Store, load
from pacelc.store.format import READ_BACK_FILE
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.study import PlannedRun

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
START_US = int(NOW.timestamp() * 1e6)
BEFORE_S, MEASURED_S, RATE = 2.0, 20.0, 100
BEGIN_S, END_S = 6.0, 15.0
SLOWER = {"weak": 1.0, "quorum": 1.5, "strong": 1.02}

STUDY = """
name: made-up-partition
factors:
  consistency: [weak, quorum, strong]
  side:
    one: {faults: [{at: 6s, fault: isolate, target: primary, client: minority, for: 9s}]}
    two: {faults: [{at: 6s, fault: isolate, target: primary, client: majority, for: 9s}]}
settings:
  {database: mongodb, measure: 20s, arrivals: constant, rate: 100, users: 200, fields: 1}
repetitions: 2
order: listed
"""


def log_of(run: PlannedRun) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reads and inserts in turn. The first level loses what the cut-off primary took."""
    level = str(run.scenario.factors["consistency"])
    alone = run.scenario.factors["side"] == "one"
    number = np.arange(int((BEFORE_S + MEASURED_S) * RATE))
    due = number / RATE
    cut = (due >= BEFORE_S + BEGIN_S) & (due < BEFORE_S + END_S)
    # It serves until it notices, and the others once they have elected.
    noticed = due >= BEFORE_S + BEGIN_S + 3
    refused = cut & (noticed if alone and level == "weak" else ~noticed if not alone else cut)
    insert = number % 2 == 1
    rng = np.random.default_rng(run.seed)
    took = 0.002 * SLOWER[level] * np.exp(rng.normal(0, 0.02)) * np.ones(due.size)
    operations = pl.DataFrame(
        {
            "due_ns": (due * 1e9).astype(np.uint64),
            "start_ns": (due * 1e9).astype(np.uint64),
            "end_ns": ((due + took) * 1e9).astype(np.uint64),
            "user": (number % 200).astype(np.uint32),
            "operation": np.where(insert, "insert", "read"),
            "outcome": np.where(refused, "fail", "ok"),
            "error": [("not_primary" if r else None) for r in refused],
            "record": np.where(insert, 1000 + number, number % 50).astype(np.uint64),
            "sequence": number.astype(np.uint64),
            "read_writer": [None if i else 0 for i in insert],
            "read_sequence": [None if i else 1 for i in insert],
        },
        schema_overrides={
            "error": pl.String,
            "read_writer": pl.UInt32,
            "read_sequence": pl.UInt64,
        },
    )
    lost = insert & cut & ~refused & (alone and level == "weak")
    there = pl.DataFrame({"record": 1000 + number[insert], "gone": (lost | refused)[insert]})
    read_back = there.select(
        pl.col("record").cast(pl.UInt64),
        pl.when("gone").then(pl.lit("missing")).otherwise(pl.lit("found")).alias("state"),
        pl.lit(None, pl.UInt32).alias("read_writer"),
        pl.lit(None, pl.UInt64).alias("read_sequence"),
    )
    return operations, read_back


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("partition")
    study = Study.parse(STUDY)
    samples = pl.DataFrame(
        {
            "t_s": np.arange(20.0),
            "interval_s": 1.0,
            "phase": "measure",
            "operation": "read",
            "ok": 100,
            "fail": 0,
            "unknown": 0,
            **{name: None for name in SAMPLES_SCHEMA if name.startswith("latency")},
        }
    )
    with Store.open(root / "r", create=study.as_document(), now=NOW) as store:
        for run in study.schedule():
            operations, read_back = log_of(run)
            operations.write_parquet(root / "o.parquet")
            read_back.write_parquet(root / READ_BACK_FILE)
            kept = read_back_record(
                operations,
                read_back,
                before_measure_s=BEFORE_S,
                errors={},
                level="linearizable from primary",
                error=None,
            )
            store.write_run(
                run.run_id,
                document(run) | {"read_back": kept},
                samples,
                pl.DataFrame(schema=RESOURCES_SCHEMA),
                "#[Histogram log format version 1.3]\n",
                root / "o.parquet",
                root / READ_BACK_FILE,
            )
    return root / "r"


def document(run: PlannedRun) -> dict[str, Any]:
    one = run.scenario.factors["side"] == "one"
    weak = run.scenario.factors["consistency"] == "weak"
    fault = {
        "fault": "isolate",
        "target": "primary",
        "by": "schedule",
        "nodes": ["node1"],
        "details": {"client": "minority" if one else "majority"},
        "asked_unix_us": START_US,
        "begin_unix_us": START_US + int(BEGIN_S * 1e6),
        "end_unix_us": START_US + int(END_S * 1e6),
    }
    return {
        "study": "made-up-partition",
        "run": run.run_id,
        "scenario": run.scenario.as_record(),
        "repetition": run.repetition,
        "seed": run.seed,
        "started_utc": NOW,
        "pacelc": "0.1.0",
        "consistency": {
            "read": "local from primary",
            "insert": "w: 1" if weak else "w: majority",
        },
        "faults": [fault],
        "result": {
            "measured_s": MEASURED_S,
            "warm_up_s": BEFORE_S,
            "before_measure_s": BEFORE_S,
            "operations": {
                kind: {"ok": 900, "latency_ns": {"n": 0}} for kind in ("read", "insert")
            },
        },
    }


@pytest.fixture(scope="module")
def results(directory: Path) -> Results:
    return load(directory)


def test_each_side_is_counted_late_in_the_partition_and_its_losses_whenever(
    results: Results,
) -> None:
    seen = {(r["level"], r["client"]): r for r in sides(results, Design.of(results)).to_dicts()}
    assert len(seen) == 6
    weak, quorum = seen["weak", "minority"], seen["quorum", "minority"]
    # The last three of nine seconds, two runs.
    assert (weak["reads_due"], weak["writes_due"], weak["runs"]) == (300, 300, 2)
    assert (weak["reads_ok"], weak["writes_ok"]) == (0, 0)
    # What it took in the three seconds before it noticed.
    assert (weak["lost"], weak["unread"]) == (300, 0)
    assert (quorum["lost"], quorum["acknowledged"]) == (0, 2200 - 900)
    assert (quorum["told"], quorum["stale"]) == (2 * 250, 0)
    assert quorum["writes_longest_s"] == pytest.approx(9.0, abs=0.05)
    assert weak["writes_longest_s"] == pytest.approx(6.0, abs=0.05)
    elected = seen["quorum", "majority"]
    assert (elected["writes_ok"], elected["writes_due"]) == (300, 300)
    assert elected["writes_total_s"] == pytest.approx(3.0, abs=0.05)


def test_the_truth_comes_back_as_letters(results: Results) -> None:
    design = Design.of(results)
    found = letters(results, design, sides(results, design))
    assert found.select("level", "letters").rows() == [
        ("weak", "PA/EL"),
        ("quorum", "PC/EC"),
        ("strong", "PC/EL"),
    ]
    why = dict(found.select("level", "partition_why").iter_rows())
    assert why["weak"].endswith("300 of 1,600 acknowledged writes lost (client with the minority)")
    assert "none of 3,200 acknowledged writes lost, none of 1,600 reads stale" in why["quorum"]
    assert "the majority's side was served, the minority's side was refused" in why["quorum"]
    price = found.row(1, named=True)["else_why"]
    [percent] = re.findall(r"insert \+([\d.]+)", price)
    assert float(percent) == pytest.approx(50, abs=6)
    assert "(n=4)" in price


def spoiled(directory: Path, to: Path, changes: dict[str, Any]) -> pl.DataFrame:
    """Return the letters of the same runs, with something else in the record of each."""
    shutil.copytree(directory, to)
    forget_sums(to)
    for file in to.glob("runs/*/run.json"):
        record = json.loads(file.read_text())
        client = changes.get("client", {})
        record["result"]["client"] = (record["result"].get("client") or {}) | client
        record |= {name: value for name, value in changes.items() if name != "client"}
        file.write_text(json.dumps(record))
    found = load(to)
    design = Design.of(found)
    return letters(found, design, sides(found, design))


def test_letters_rest_on_no_disqualified_runs_except_those_that_a_lost_write_proves(
    directory: Path, tmp_path: Path
) -> None:
    busy = spoiled(directory, tmp_path / "busy", {"client": {"busy_fraction": 0.9}})
    assert busy["letters"].to_list() == ["PA/EL", "PC/E?", "PC/E?"]
    assert busy["else_reason"].to_list() == [None, "disqualified", "disqualified"]
    assert busy["else_why"][1].startswith(
        "the client was busy up to 90% of its time in all 12 runs"
    )
    node = {"primary": {"memory_limit_bytes": 1 << 30, "oom_kills": 1}}
    sizes = {"mechanism": "cgroup v2", "nodes": node}
    killed = spoiled(directory, tmp_path / "killed", {"sizes": sizes})
    assert killed["letters"].to_list() == ["PA/EL", "can't tell", "can't tell"]
    assert killed["partition_reason"].to_list() == [None, "disqualified", "disqualified"]


def test_letters_say_what_takes_over(directory: Path, tmp_path: Path) -> None:
    def running(database: str) -> str:
        path = tmp_path / database
        shutil.copytree(directory, path)
        forget_sums(path)
        for file in path.glob("runs/*/run.json"):
            record = json.loads(file.read_text())
            record["scenario"]["settings"]["database"] = database
            file.write_text(json.dumps(record))
        found = load(path)
        shown = partitions(found, Design.of(found))
        [(*_, summed)] = shown.summary[1]
        assert shown.summary[0][-1] == "failover"
        assert {row[3] for row in shown.evidence} == {summed}
        return summed

    assert running("redis") == "none: pacelc starts no Sentinel, so no replica takes over"
    assert running("mongodb") == "the replica set elects another primary"


def test_a_letter_that_means_contradict_says_so(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "r"
    shutil.copytree(directory, path)
    forget_sums(path)
    for file in path.glob("runs/*/run.json"):
        if json.loads(file.read_text())["scenario"]["factors"]["consistency"] == "strong":
            log = file.with_name("operations.parquet")
            took = pl.col("end_ns") - pl.col("due_ns")
            slow = pl.when(pl.col("sequence") % 20 < 2).then(10).otherwise(1)
            pl.read_parquet(log).with_columns(
                end_ns=(pl.col("due_ns") + took * slow).cast(pl.UInt64)
            ).write_parquet(log)
    found = load(path)
    design = Design.of(found)
    why = dict(letters(found, design, sides(found, design)).select("level", "else_why").iter_rows())
    assert "by means instead of medians it would be EC: " in why["strong"]
    assert "by means" not in why["quorum"]


def test_what_was_read_back_is_a_row_a_run(results: Results) -> None:
    frame = read_back_frame(results)
    lost = frame.filter(pl.col("missing") > 0)
    assert (frame.height, lost.height) == (12, 2)
    assert lost["first_missing_s"].to_list() == pytest.approx([BEGIN_S] * 2, abs=0.1)
    assert lost["last_missing_s"].to_list() == pytest.approx([BEGIN_S + 3] * 2, abs=0.1)
    assert (frame["acknowledged"] == frame["found"] + frame["missing"] + frame["unread"]).all()


def test_the_figure_has_every_second_of_both_sides(results: Results) -> None:
    data = served(results, Design.of(results))
    assert data["t_s"].unique().len() == 20
    cut = data.filter((pl.col("level") == "quorum") & (pl.col("t_s") == 10.5))
    assert dict(cut.filter(pl.col("kind") == "writes").select("client", "share").iter_rows()) == {
        "minority": 0.0,
        "majority": 1.0,
    }


def test_the_report_begins_with_the_letters(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tuple(figure for figure in FIGURES if figure.name == "partitions")
    monkeypatch.setattr("pacelc.report.write.FIGURES", own)
    paths = write_report(directory, tmp_path / "report")
    page = paths.html.read_text()
    answer = re.search(r'(?s)id="answer">(.*?)</section>', page)
    assert answer is not None
    assert answer[1].index("PA/EL") < answer[1].index("PC/EC")
    assert "of throughput" not in answer[1]
    assert 'id="figure-partitions"' in page
    assert "Acknowledged inserts, read back" in page
    names = {path.name for path in (*paths.tables, *paths.figures)}
    assert {"letters.csv", "partitions.csv", "read_back.csv", "partitions.svg"} <= names


def test_without_a_partition_there_are_no_letters(ferreira_dir: Path) -> None:
    results = load(ferreira_dir)
    design = Design.of(results)
    assert letters(results, design, sides(results, design)).height == 0
    with pytest.raises(NothingToDraw, match="no run had a partition"):
        served_in_partitions(results, design)
    assert partitions(results, design).summary == ((), ())
