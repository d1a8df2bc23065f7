"""Runs with faults, made up: from what is stored to what a reader is told."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from pacelc.analysis import weaknesses
from pacelc.analysis.unavailability import (
    RECOVERY_METRICS,
    UNAVAILABILITY_METRICS,
    estimates,
    faults_frame,
    recovery,
    unavailability,
)
from pacelc.plots import faults_over_time, throughput_over_time
from pacelc.plots.layout import NothingToDraw
from pacelc.plots.save import spec_of
from pacelc.report import write_report
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.report import ReportPaths
    from pacelc.store import Results

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
START_US = int(NOW.timestamp() * 1e6)
BEFORE_S, MEASURED_S, RATE = 2.0, 12.0, 200
OUTAGES_S = (1.5, 2.0, 2.5)
"""Of the repetitions: the truth."""

STUDY = """
name: made-up-faults
factors: {fault: {paused: {faults: [{at: 4s, fault: pause, target: primary, for: 2s}]}}}
settings: {database: redis, measure: 12s, arrivals: ARRIVALS, users: 50}
repetitions: 3
order: listed
"""


def operations(outage_s: float, path: Path) -> Path:
    """Every second one reads, which nothing disturbs; updates fail while the primary is gone."""
    number = np.arange(int((BEFORE_S + MEASURED_S) * RATE))
    start = number / RATE
    update = number % 2 == 1
    out = update & (start >= BEFORE_S + 4) & (start < BEFORE_S + 4 + outage_s)
    pl.DataFrame(
        {
            "start_ns": (start * 1e9).astype(np.uint64),
            "end_ns": ((start + 0.001) * 1e9).astype(np.uint64),
            "user": (number % 50).astype(np.uint32),
            "operation": np.where(update, "update", "read"),
            "outcome": np.where(out, "fail", "ok"),
            "error": [("connection_refused" if o else None) for o in out],
        },
        schema_overrides={"error": pl.String},
    ).write_parquet(path)
    return path


@pytest.fixture
def directory(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    arrivals = getattr(request, "param", "constant, rate: 200")
    study = Study.parse(STUDY.replace("ARRIVALS", arrivals))
    samples = pl.DataFrame(
        {
            "t_s": np.arange(12.0),
            "interval_s": 1.0,
            "phase": "measure",
            "operation": "read",
            "ok": 100,
            "fail": 0,
            "unknown": 0,
            **{name: None for name in SAMPLES_SCHEMA if name.startswith("latency")},
        }
    )
    with Store.open(tmp_path / "r", create=study.as_document(), now=NOW) as store:
        for run, outage_s in zip(study.schedule(), OUTAGES_S, strict=True):
            store.write_run(
                run.run_id,
                document(run, outage_s),
                samples,
                pl.DataFrame(schema=RESOURCES_SCHEMA),
                "#[Histogram log format version 1.3]\n",
                operations(outage_s, tmp_path / "o.parquet"),
            )
    return tmp_path / "r"


def document(run: Any, outage_s: float) -> dict[str, Any]:
    fault = {
        "fault": "pause",
        "target": "primary",
        "by": "schedule",
        "nodes": ["primary"],
        "planned_at_s": 4.0,
        "planned_for_s": 2.0,
        "asked_unix_us": START_US + 3_999_000,
        "begin_unix_us": START_US + 4_000_000,
        "end_unix_us": START_US + 4_000_000 + int(outage_s * 1e6),
    }
    by_server = {**fault, "by": "server", "begin_unix_us": START_US + 100, "end_unix_us": None}
    kinds = ("read", "update")
    return {
        "study": "made-up-faults",
        "run": run.run_id,
        "scenario": run.scenario.as_record(),
        "repetition": run.repetition,
        "seed": run.seed,
        "started_utc": NOW,
        "pacelc": "0.1.0",
        "consistency": {"read": "primary", "update": "primary only"},
        "faults": [fault, by_server],
        "result": {
            "measured_s": MEASURED_S,
            "warm_up_s": BEFORE_S,
            "before_measure_s": BEFORE_S,
            "schedule": {"rate_per_s": 200.0, "due": 2400, "not_started": 7, "waited": 0},
            "operations": {kind: {"ok": 1000, "latency_ns": {"n": 0}} for kind in kinds},
        },
    }


def test_faults_are_told_in_seconds_of_their_run(directory: Path) -> None:
    frame = faults_frame(load(directory))
    pause = frame.filter(pl.col("by") == "schedule")
    assert pause["begin_s"].to_list() == [4.0] * 3
    assert pause["end_s"].to_list() == [4.0 + outage for outage in OUTAGES_S]
    assert pause["took_ms"].to_list() == [1.0] * 3
    assert frame["number"].to_list() == [1, 2] * 3


def test_the_truth_comes_back_by_kind_with_its_level_and_its_interval(directory: Path) -> None:
    results = load(directory)
    frame = unavailability(results)
    update = frame.filter(pl.col("operation") == "update")
    assert update["longest_s"].to_list() == pytest.approx(list(OUTAGES_S), abs=0.02)
    assert update["level"].unique().to_list() == ["primary only"]
    assert update["due"].to_list() == [1200] * 3
    assert json.loads(update["errors"][0]) == {"connection_refused": 150}
    assert frame.filter(pl.col("operation") == "read")["longest_s"].to_list() == [0.0] * 3
    means = estimates(frame, UNAVAILABILITY_METRICS)
    row = means.filter((pl.col("operation") == "update") & (pl.col("metric") == "longest_s"))
    assert row["value"].item() == pytest.approx(2.0, abs=0.02)
    # Student's t with two degrees of freedom, on the logarithm: 2 exp(4.303 * 0.25 / √3).
    assert row["high"].item() == pytest.approx(3.72, abs=0.03)
    assert (row["n"].item(), row["runs"].item()) == (3, 3)
    after = recovery(results).filter(pl.col("operation") == "update")
    assert after["fault"].unique().to_list() == ["pause primary"], "not what the server did itself"
    assert after["success_after_begin_s"].to_list() == pytest.approx(list(OUTAGES_S), abs=0.02)
    assert after["detected_by"].unique().to_list() == ["connection_refused"]
    never = estimates(recovery(results), RECOVERY_METRICS).filter(
        (pl.col("operation") == "read") & (pl.col("metric") == "detected_s")
    )
    assert never.select("value", "n", "runs").row(0) == (None, 0, 3)


def test_the_report_draws_and_tells_faults(directory: Path, tmp_path: Path) -> None:
    paths = write_report(directory, tmp_path / "report")
    page = paths.html.read_text()
    assert 'id="figure-faults"' in page
    section = re.search(r'(?s)<h2 id="faults">(.*?)<h2 ', page)
    assert section is not None
    assert "never (0 of 3 runs)" in section[1]
    assert '<td class="n">pause primary</td>' in section[1]
    names = {path.name for path in (*paths.tables, *paths.figures)}
    assert {"faults.csv", "unavailability.csv", "recovery.csv", "faults.svg"} <= names
    results = load(directory)
    shown = json.dumps(spec_of(faults_over_time(results)))
    assert '"label": "pause primary"' in shown
    assert '"begin_s": 4.0' in shown
    from pacelc.analysis import Design

    assert '"begin_s": 4.0' in json.dumps(
        spec_of(throughput_over_time(results, Design.of(results)))
    )


def test_without_faults_there_is_nothing_to_draw_and_no_section(
    ferreira: Results, report: ReportPaths
) -> None:
    with pytest.raises(NothingToDraw, match="no run with faults"):
        faults_over_time(ferreira)
    assert 'id="faults"' not in report.html.read_text()


@pytest.mark.parametrize(
    ("directory", "text"),
    [
        ("closed", "all 3 runs had faults and a closed loop"),
        ("poisson, rate: 200", "all 3 runs had faults and Poisson arrivals"),
        ("constant, rate: 200", "up to 7 operations that were due had not started"),
    ],
    indirect=["directory"],
)
def test_a_load_that_can_not_tell_is_a_weakness(directory: Path, text: str) -> None:
    found = [w.text for w in weaknesses(load(directory)) if w.kind == "schedule"]
    assert any(text in what for what in found), found
    assert len(found) == (1 if text.startswith("up to") else 2)
