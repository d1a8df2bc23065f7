"""What clients observed, from logs of a made-up store with lagging replicas to the report.

The checkers are the real ones: only the operations are made up.
"""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from pacelc import plots
from pacelc.analysis import Design
from pacelc.analysis.observed import Level, Seen, observations
from pacelc.history import Reading, observe
from pacelc.plots.layout import NothingToDraw, TooMuchToDraw
from pacelc.plots.observed import frontier, staleness_distribution, visibility
from pacelc.plots.witnesses import contradiction, version_names, witness_timeline
from pacelc.report import write_report
from pacelc.report.content import build
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store, load
from pacelc.store.observed import Operation, Witness
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pacelc.report import ReportPaths
    from pacelc.store import Results
    from pacelc.store.observed import Observed

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
RECORDS, RUNS, LAG_MS = 4, 3, 30.0
NEVER_NS = 2**63 - 1

# HBase promises all at `strong`, and next to nothing at `weak`. Here both do the opposite.
STUDY = f"""
name: made-up-observed
factors: {{database: [hbase], consistency: [weak, strong]}}
settings:
  observe: true
  measure: 2s
  users: 6
  workload: {{records: {RECORDS}, fields: 1, mix: {{read: 0.7, update: 0.3}}}}
repetitions: {RUNS}
order: listed
"""


def lagging_store(seed: int, lags_ms: Sequence[float], operations: int = 500) -> pl.DataFrame:
    """The log of six sessions; each read is served by a replica that is behind by one of the
    lags."""
    rng = np.random.default_rng(seed)
    free, sequences = np.zeros(6), np.zeros(6, dtype=int)
    rows: list[dict[str, Any]] = []
    for _ in range(operations):
        user = int(np.argmin(free))
        start, took = free[user] + rng.uniform(0.2, 4.0), rng.uniform(0.3, 1.5)
        rows.append(
            {
                "at_ms": start + took / 2,
                "start_ns": int(start * 1e6),
                "end_ns": int((start + took) * 1e6),
                "user": user,
                "record": int(rng.integers(RECORDS)),
                "sequence": int(sequences[user]),
                "outcome": "ok",
                "operation": "update" if rng.random() < 0.3 else "read",
            }
        )
        sequences[user] += 1
        free[user] = start + took
    written: list[list[tuple[float, int, int]]] = [[(-1.0, 0, 0)] for _ in range(RECORDS)]
    for row in sorted(rows, key=lambda row: row["at_ms"]):
        writes: list[tuple[float, int, int]] = written[int(row["record"])]
        if row["operation"] == "update":
            writes.append((row["at_ms"], row["user"] + 1, row["sequence"]))
            continue
        behind_ms = lags_ms[int(rng.integers(len(lags_ms)))]
        there = [write for write in writes if write[0] <= row["at_ms"] - behind_ms]
        _, writer, sequence = there[-1] if there else writes[0]
        row |= {"read_writer": writer, "read_origin": "run" if writer else "load"}
        row["read_sequence"] = sequence
    return pl.DataFrame(rows, infer_schema_length=None).drop("at_ms")


def document(run: Any, strong: float, sample: dict[str, Any] | None) -> dict[str, Any]:
    p99_ns = (10 + 10 * strong + run.repetition) * 1e6
    latency = {"n": 1000, "mean": p99_ns / 4, "p50": p99_ns / 5, "p99": p99_ns}
    # Of one kind, since the percentiles of several are from a log that nobody wrote here.
    operations = {"read": {"ok": 1000, "latency_ns": latency}}
    return {
        "study": "made-up-observed",
        "run": run.run_id,
        "scenario": run.scenario.as_record(),
        "repetition": run.repetition,
        "seed": run.seed,
        "started_utc": NOW,
        "pacelc": "0.1.0",
        "consistency": {},
        "result": {"measured_s": 2.0, "operations": operations, "observed": sample},
    }


def write(
    path: Path,
    lags_ms: dict[str, Sequence[float]],
    *,
    sample: dict[str, Any] | None = None,
    observed: Callable[[int, dict[str, Any]], dict[str, Any] | None] = lambda _, seen: seen,
) -> Path:
    study = Study.parse(STUDY)
    with Store.open(path, create=study.as_document(), now=NOW) as store:
        for run in study.schedule():
            level = str(run.scenario.factors["consistency"])
            log = lagging_store(run.seed % 1000, lags_ms[level])
            store.write_run(
                run.run_id,
                document(run, float(level == "strong"), sample),
                pl.DataFrame(schema=SAMPLES_SCHEMA),
                pl.DataFrame(schema=RESOURCES_SCHEMA),
                "#[Histogram log format version 1.3]\n",
                observed=observed(run.repetition, observe(log, Reading((0, RECORDS)))),
            )
    return path


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lags: dict[str, Sequence[float]] = {"weak": [0.0], "strong": [0.0, LAG_MS]}
    return write(tmp_path_factory.mktemp("observed") / "r", lags)


@pytest.fixture(scope="module")
def results(directory: Path) -> Results:
    return load(directory)


@pytest.fixture(scope="module")
def levels(results: Results) -> tuple[Level, ...]:
    return observations(results, Design.of(results))


@pytest.fixture(scope="module")
def report(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    return write_report(directory, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def text(report: ReportPaths) -> str:
    return as_text(report.html.read_text())


def as_text(page: str) -> str:
    body = re.sub(r"(?s)<style>.*?</style>", "", page)
    body = re.sub(r'src="data:[^"]*"', "", body)
    body = re.sub(r"</(td|th|div)>", " | ", body)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).split())


def seen(level: Level, guarantee: str) -> Seen:
    return next(s for s in level.seen if s.guarantee == guarantee)


# The analysis


def test_a_promise_that_was_seen_violated_is_a_broken_word(levels: tuple[Level, ...]) -> None:
    weak, strong = levels
    broken = seen(strong, "monotonic_reads")
    assert broken.promise is not None
    assert broken.promise.word == "holds"
    assert broken.violated_runs == broken.runs == RUNS
    assert broken.broke_its_word
    assert broken.shown is not None
    clean = seen(weak, "linearizable")
    assert (clean.violated_runs, clean.runs, clean.broke_its_word) == (0, RUNS, False)


def test_shares_are_means_over_runs(results: Results, levels: tuple[Level, ...]) -> None:
    found = seen(levels[1], "monotonic_reads")
    shares = [
        row["share"]
        for row in results.sessions.filter(pl.col("guarantee") == "monotonic_reads").to_dicts()
        if row["violated"]
    ]
    assert found.share is not None
    assert found.share.value == pytest.approx(np.mean(shares))
    assert found.share.n == RUNS
    assert found.share.low is not None
    assert found.share.high is not None
    assert 0 < found.share.low < found.share.value < found.share.high < 1


def test_after_no_violation_there_are_bounds_of_runs_and_of_operations(
    levels: tuple[Level, ...],
) -> None:
    clean = seen(levels[0], "read_your_writes")
    assert clean.share is not None
    assert (clean.share.value, clean.share.low) == (0, 0)
    assert clean.share.high == pytest.approx(clean.runs_bound)
    assert clean.runs_bound == pytest.approx(1 - 0.05 ** (1 / RUNS))
    assert clean.share_bound == pytest.approx(3 / (clean.eligible - clean.untold))
    broken = seen(levels[1], "read_your_writes")
    assert (broken.runs_bound, broken.share_bound) == (None, None)


def test_reads_are_as_stale_as_the_replica_lags(levels: tuple[Level, ...]) -> None:
    weak, strong = (level.stale for level in levels)
    assert weak is not None
    assert strong is not None
    assert weak.certainly.value == 0
    assert 0.1 < strong.certainly.value < 0.5
    assert strong.most_ms is not None
    assert strong.least_ms.value < LAG_MS
    assert strong.most_ms.value > LAG_MS - 2


def test_what_a_session_sees_of_writes_is_promised_no_better_than_monotonic_reads(
    levels: tuple[Level, ...],
) -> None:
    # HBase's timeline reads keep the order of writes, and go back in time.
    weak = levels[0]
    assert seen(weak, "monotonic_reads").promise == seen(weak, "monotonic_writes").promise
    across = seen(weak, "monotonic_writes_across_records").promise
    assert across is not None
    assert across.word == "not"


def test_nothing_was_observed_of_runs_without_a_log(ferreira: Results) -> None:
    assert observations(ferreira, Design.of(ferreira)) == ()


# The report


def test_the_report_opens_with_promised_observed_and_price(text: str) -> None:
    start = text.index("What each level promised")
    first = text[start : text.index("What consistency cost")]
    weak, strong = first.index("weak |"), first.index("strong |")
    assert re.search(
        r"only that replicas agree in time \| not linearizable in 0 of 3 runs \| no read stale for "
        r"certain, of [\d,]+ \| no session guarantee seen violated \| \| p99 12.0 \[9.8; 14.8\] ms",
        first[weak:strong],
    )
    assert re.search(
        r"strong \| linearizable \| broke its word: linearizable violated in 3 of 3 runs how \|.*"
        r"[\d.]+ (± [\d.]+|\[.*\]) % of reads stale; p99.9 [\d.]+ to [\d.]+ ms .*p99 \+8\d ",
        first[strong:],
    )


def test_what_was_not_seen_violated_is_never_said_to_hold(text: str) -> None:
    table = text[text.index("guarantee by guarantee") : text.index("How stale reads were")]
    assert table.count("| not seen violated |") == 7
    assert table.count("| broke its word |") == 7
    assert "0 of 3 runs; at most 63 %" in table
    assert "holds" not in table[: table.index("Where vendors say")]
    assert "https://hbase.apache.org/" in table


def test_every_witness_of_the_table_is_a_figure(report: ReportPaths) -> None:
    page, folder = report.html.read_text(), report.html.parent
    linked = re.findall(r'href="#(witness-\d+)"', page)
    assert len(linked) == len(set(linked)) == 7
    for name in linked:
        assert f'<figure id="{name}">' in page
        assert (folder / "figures" / f"{name}.svg").is_file()
    observed = pl.read_csv(folder / "tables/observed.csv")
    assert observed.filter(pl.col("witness").is_not_null()).height == 7
    assert observed.get_column("source").str.starts_with("https://").all()


def test_what_could_not_be_told_is_said(tmp_path: Path) -> None:
    sample = {
        "operations": 9,
        "logged": 4,
        "lost_operations": 0,
        "threshold": 0.25,
        "hot_records": [0],
        "share_of_records": 0.4,
        "limit_bytes": 100,
    }
    lags: dict[str, Sequence[float]] = {"weak": [0.0], "strong": [0.0]}

    def all_but_the_first(repetition: int, found: dict[str, Any]) -> dict[str, Any] | None:
        return None if repetition == 1 else {**found, "deleted_records": 5}

    path = write(tmp_path / "r", lags, sample=sample, observed=all_but_the_first)
    said = " ".join(build(load(path)).observed.notes)
    assert "HBase, weak: operations on 40 % of the records were recorded" in said
    assert "HBase, weak: 1 run can't be checked: an update writes one field" in said
    assert "HBase, weak: a run deleted 10 records" in said


def test_a_study_of_which_nothing_can_be_told_says_so(tmp_path: Path) -> None:
    def nothing(_: int, seen: dict[str, Any]) -> None:
        assert seen["operations"]

    lags: dict[str, Sequence[float]] = {"weak": [0.0], "strong": [0.0]}
    path = write(tmp_path / "r", lags, observed=nothing)
    found = build(load(path)).observed
    ((_, rows),) = found.blocks
    assert [line.text for row in rows for line in row.observed] == ["not told: see below"] * 2
    assert "HBase, weak: 3 runs can't be checked" in found.notes[0]
    assert {row[-1] for _, part in found.evidence for row in part} == {"can't tell"}


# The figures


@pytest.mark.parametrize("style", [plots.SCREEN, plots.PAPER], ids=lambda s: s.name)
def test_figures_name_their_groups_and_units(
    style: plots.Style, results: Results, levels: tuple[Level, ...]
) -> None:
    for chart, unit in (
        (frontier(levels, Design.of(results), style=style), "p99 latency (ms)"),
        (staleness_distribution(levels, style=style), "replaced (ms)"),
        (visibility(levels, style=style), "acknowledged (ms)"),
    ):
        svg = plots.svg_text(chart)
        ET.fromstring(svg)
        assert "HBase" in svg
        assert unit in svg
        assert "weak" in svg


def test_where_no_read_was_stale_the_frontier_is_of_the_tail(
    results: Results, levels: tuple[Level, ...]
) -> None:
    fresh = plots.svg_text(frontier(levels[:1], Design.of(results)))
    assert "p99.9 of staleness, at most (ms)" in fresh
    assert "p99.9 of staleness" not in plots.svg_text(frontier(levels, Design.of(results)))


def test_a_prediction_is_a_dashed_line(levels: tuple[Level, ...]) -> None:
    said = pl.DataFrame({"from_ns": [1e6, 1e7], "probability": [0.5, 1.0]})
    predicted = tuple(replace(level, predicted=said) for level in levels)
    assert "dashed: predicted" in plots.svg_text(visibility(predicted))
    assert "dashed" not in plots.svg_text(visibility(levels))
    assert levels[0].predicted == "the model is of Cassandra, which writes to all copies alike"


def test_of_no_observations_there_is_nothing_to_draw(results: Results) -> None:
    for draw in (
        lambda: frontier((), Design.of(results)),
        lambda: staleness_distribution(()),
        lambda: visibility(()),
    ):
        with pytest.raises(NothingToDraw):
            draw()


def test_of_reads_that_were_all_fresh_no_staleness_is_drawn(levels: tuple[Level, ...]) -> None:
    def fresh(seen: Observed) -> Observed:
        bins = [one for one in seen.staleness.bins if one.from_ns == 0]
        return seen.model_copy(
            update={"staleness": seen.staleness.model_copy(update={"bins": bins})}
        )

    all_fresh = tuple(
        replace(level, each=tuple(fresh(seen) for seen in level.each)) for level in levels
    )
    with pytest.raises(NothingToDraw, match="fresh"):
        staleness_distribution(all_fresh)


def operation(session: int, action: str, version: int, start_ms: float, **more: Any) -> Operation:
    whole = {
        "session": session,
        "action": action,
        "fate": "ok",
        "key": 7,
        "version": version,
        "start_ns": round(start_ms * 1e6),
        "end_ns": round(start_ms * 1e6) + 1_000_000,
    }
    return Operation.model_validate(whole | more)


def test_versions_are_numbered_in_the_order_of_their_writes() -> None:
    loaded, absent = 2**64 - 2, 2**64 - 1
    operations = [
        operation(1, "read", loaded, 0),
        operation(1, "write", 500, 2),
        operation(2, "write", 100, 4),
        operation(3, "read", 100, 6),
        operation(3, "read", absent, 8, key=9),
    ]
    assert version_names(operations) == {
        (7, loaded): "A v0",
        (7, 500): "A v1",
        (7, 100): "A v2",
        (9, absent): "B nothing",
    }


def test_the_arrow_leads_from_what_had_settled_it_to_the_read_that_missed_it() -> None:
    newer = operation(2, "write", 200, 3)
    first = operation(1, "read", 200, 5)
    stale = operation(1, "read", 100, 8)
    operations = [operation(2, "write", 100, 0), newer, first, stale]
    names = version_names(operations)
    assert contradiction(operations, names, of_a_session=False) == (newer, stale)
    assert contradiction(operations, names, of_a_session=True) == (first, stale)


def test_a_read_of_what_failed_has_no_arrow() -> None:
    failed = operation(2, "write", 100, 0, fate="failed")
    read = operation(1, "read", 100, 5)
    names = version_names([failed, read])
    assert contradiction([failed, read], names, of_a_session=False) == (None, read)


def test_a_timeline_says_who_did_what_and_when() -> None:
    operations = [
        operation(2, "write", 100, 1000),
        operation(4, "write", 300, 1001.5, fate="unknown", end_ns=NEVER_NS),
        operation(2, "write", 200, 1300),
        operation(1, "read", 100, 1340.25),
    ]
    witness = Witness(explanation="", operations=operations)
    svg = plots.svg_text(witness_timeline(witness, "Why", "that", of_a_session=False))
    ET.fromstring(svg)
    for said in (
        "Why",
        "Demanded: that",
        "session 4",
        "writes v2, no answer",
        "writes v3",
        "reads v1, older than v3",
        "39.2 ms later",
        "341.25",
    ):
        assert f">{said}" in svg, said


def test_a_witness_that_nobody_could_follow_is_not_drawn() -> None:
    witness = Witness(
        explanation="", operations=[operation(1, "write", n, 2.0 * n) for n in range(20)]
    )
    with pytest.raises(TooMuchToDraw, match="20 operations"):
        witness_timeline(witness, "", "", of_a_session=False)


def test_the_file_holds_what_the_frames_hold(directory: Path, results: Results) -> None:
    stored = json.loads((directory / "runs/0002-r1/observed.json").read_text())
    frame = results.findings.filter(
        (pl.col("run") == "0002-r1") & (pl.col("finding") == "linearizable")
    )
    (finding,) = (f for f in stored["findings"] if f["name"] == "linearizable")
    assert frame.get_column("witness").to_list() == [finding["witness"]["explanation"]]
