"""What is exported for YCSB's readers, beside what YCSB 0.17 itself printed.

``ycsb-0.17.0`` holds what its client printed with each exporter, for a database that fails one
operation in five, a schedule (``text-both``), and a database that always fails (``dead``).
"""

from __future__ import annotations

import csv
import json
import math
import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hdrh.histogram as hdrh
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.export.ycsb import (
    Measurement,
    _java,
    as_json,
    as_json_array,
    as_text,
    measurements,
)
from pacelc.store.format import RunRecord, read_record
from pacelc.store.latency_log import read_latency_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RECORDED = Path(__file__).parent / "ycsb-0.17.0"
KINDS = ("read", "update", "insert", "scan", "read_modify_write")
# What YCSB's scripts look for: the metric in brackets, the measurement, a number as Java writes it.
LINE = re.compile(r"\[([^\]]+)\], ([^,]+), (NaN|-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?)")
# Java's garbage collector, and the end of its clients: pacelc has neither.
NOT_OURS = re.compile(r"TOTAL_GC|(Intended-)?CLEANUP$")
# YCSB puts a read-modify-write that failed among the others.
NOT_ITS = {"READ-MODIFY-WRITE-FAILED", "Intended-READ-MODIFY-WRITE-FAILED"}


def number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else float(text)


def parsed(text: str) -> list[Measurement]:
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(found)
    return [Measurement(m[1], m[2], number(m[3])) for m in found if m is not None]


def objects(text: str) -> list[Measurement]:
    """The objects of a stream that is no document."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        document, end = decoder.raw_decode(text, at)
        found.append(Measurement(**document))
        at = end + 1
    return found


def payload(values_ns: Iterable[int]) -> str:
    histogram = hdrh.HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values_ns:
        histogram.record_value(value)
    return histogram.encode().decode()


def summary(values_ns: list[int]) -> dict[str, Any]:
    ordered = sorted(values_ns)

    def at(percent: float) -> int:
        return ordered[math.ceil(percent * len(ordered) / 100) - 1]

    if not ordered:
        return {"n": 0}
    return {
        "n": len(ordered),
        "mean": sum(ordered) / len(ordered),
        "min": ordered[0],
        "max": ordered[-1],
        "p95": at(95),
        "p99": at(99),
    }


def run(
    latencies_ns: Mapping[str, list[int]],
    errors: Mapping[str, Mapping[str, Mapping[str, int]]],
    *,
    measured_s: float = 2.0,
    schedule: bool = False,
) -> list[Measurement]:
    """Measurements of a made-up run; what failed took 5 ms, of which 4 ms were its service."""
    operations: dict[str, Any] = {}
    log: list[str] = []
    clocks = {"": 5_000_000, ".service": 4_000_000} if schedule else {"": 5_000_000}
    for kind, values in latencies_ns.items():
        operations[kind] = {
            "ok": len(values),
            "latency_ns": summary(values),
            **errors.get(kind, {}),
        }
        if schedule:
            operations[kind]["service_ns"] = summary([value // 2 for value in values])
        if missed := errors.get(kind, {}).get("missed"):
            for clock, part in {"": 1, ".service": 2}.items():
                for outcome, of in {"ok": values, "missed": values[:missed]}.items():
                    log.append(
                        f"Tag={kind}.{outcome}{clock},0.000,1.000,5.000,"
                        f"{payload([value // part for value in of])}"
                    )
        for outcome, counts in errors.get(kind, {}).items():
            if outcome == "missed":
                continue
            for clock, value in clocks.items():
                failed = payload([value] * sum(counts.values()))
                log.append(f"Tag={kind}.{outcome}{clock},0.000,1.000,5.000,{failed}")
    record = RunRecord.model_validate(
        {
            "format": 1,
            "study": "s",
            "run": "0001-r1",
            "scenario": {"number": 1, "factors": {}},
            "repetition": 1,
            "seed": 1,
            "started_utc": "2026-01-05T09:00:00Z",
            "pacelc": "0.1.0",
            "result": {"measured_s": measured_s, "operations": operations},
        }
    )
    return measurements(record, read_latency_log("\n".join(log)))


ERRORS = {
    kind: {"fail": {"not_found": 7, "unavailable": 3}, "unknown": {"timeout": 2}} for kind in KINDS
}
LATENCIES_NS = {kind: [i * 1_000_000 for i in range(1, 101)] for kind in KINDS}


def blocks(lines: Iterable[Measurement]) -> dict[str, list[tuple[str, type]]]:
    """By metric, its measurements in their order with the types of their values."""
    return {
        metric: [(line.measurement, type(line.value)) for line in of]
        for metric, of in groupby(lines, key=lambda line: line.metric)
        if not NOT_OURS.match(metric)
    }


@pytest.mark.parametrize("name", ["text", "text-both", "dead"])
def test_its_own_lines_are_written_as_it_wrote_them(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text(encoding="utf-8")
    assert as_text(parsed(text)) == text


def test_its_own_objects_are_written_as_it_wrote_them() -> None:
    text = (RECORDED / "json.txt").read_text(encoding="utf-8")
    assert as_json(objects(text)) == text


def test_its_own_array_is_written_as_it_wrote_it() -> None:
    for name in ("json-array", "dead"):
        text = (RECORDED / f"{name}.json").read_text(encoding="utf-8")
        lines = [
            Measurement(**{**document, "value": float(document["value"])})
            if document["value"] == "NaN"
            else Measurement(**document)
            for document in json.loads(text)
        ]
        assert as_json_array(lines) == text


@pytest.mark.parametrize(("name", "schedule"), [("text", False), ("text-both", True)])
def test_every_block_has_its_names_order_and_units(name: str, schedule: bool) -> None:
    its = blocks(parsed((RECORDED / f"{name}.txt").read_text(encoding="utf-8")))
    ours = blocks(run(LATENCIES_NS, ERRORS, schedule=schedule))
    assert set(ours) - set(its) == {m for m in NOT_ITS if schedule or "Intended" not in m}
    assert set(its) <= set(ours)
    for metric, lines in its.items():
        head = [line for line in lines if not line[0].startswith("Return=")]
        assert ours[metric][: len(head)] == head
        # The order of the others is that of its hash table.
        assert sorted(map(str, ours[metric])) == sorted(map(str, lines))


def test_a_kind_that_never_went_well_is_written_as_it_writes_it() -> None:
    its = parsed((RECORDED / "dead.txt").read_text(encoding="utf-8"))
    lines = [line for line in its if line.metric == "READ" and "Return" not in line.measurement]
    ours = run({"read": []}, {"read": {"unknown": {"timeout": 9}}})
    assert as_text([line for line in ours if line.metric == "READ"]) == as_text(
        [*lines, Measurement("READ", "Return=ERROR", 9)]
    )


def test_a_run_shorter_than_half_a_millisecond_has_a_throughput() -> None:
    lines = run({"read": [2000] * 5}, {}, measured_s=10e-6)
    assert lines[:2] == [
        Measurement("OVERALL", "RunTime(ms)", 0),
        Measurement("OVERALL", "Throughput(ops/sec)", pytest.approx(500_000)),
    ]


def test_numbers_mean_what_its_numbers_mean() -> None:
    lines = {line[:2]: line.value for line in run(LATENCIES_NS, ERRORS, schedule=True)}
    # Its throughput counts what failed, too: 5 kinds of 112 in 2 s.
    assert lines["OVERALL", "RunTime(ms)"] == 2000
    assert lines["OVERALL", "Throughput(ops/sec)"] == 280.0
    assert lines["READ", "Operations"] == 100
    assert lines["READ", "Return=OK"] == 100
    assert lines["READ", "Return=NOT_FOUND"] == 7
    assert lines["READ", "Return=SERVICE_UNAVAILABLE"] == 3
    assert lines["READ", "Return=ERROR"] == 2
    # The service time is READ, the latency from the schedule Intended-READ, both microseconds.
    assert lines["READ", "99thPercentileLatency(us)"] == 49_500
    assert lines["Intended-READ", "99thPercentileLatency(us)"] == 99_000
    assert lines["Intended-READ", "AverageLatency(us)"] == 50_500.0
    assert lines["READ-FAILED", "Operations"] == lines["Intended-READ-FAILED", "Operations"] == 12
    assert lines["READ-FAILED", "MaxLatency(us)"] == pytest.approx(4_000, rel=0.001)
    assert lines["Intended-READ-FAILED", "MaxLatency(us)"] == pytest.approx(5_000, rel=0.001)


@pytest.mark.parametrize("schedule", [False, True])
def test_reads_that_found_nothing_are_not_found_and_failed_there(schedule: bool) -> None:
    errors: Any = {"read": {"missed": 40}, "scan": {"missed": 40}}
    latencies_ns = {kind: LATENCIES_NS[kind] for kind in ("read", "scan")}
    lines = {line[:2]: line.value for line in run(latencies_ns, errors, schedule=schedule)}
    assert (lines["READ", "Return=OK"], lines["READ", "Return=NOT_FOUND"]) == (60, 40)
    assert (lines["READ", "Operations"], lines["READ-FAILED", "Operations"]) == (60, 40)
    metric = "Intended-READ" if schedule else "READ"
    least_us, most_us = (lines[metric, f"{name}Latency(us)"] for name in ("Min", "Max"))
    assert least_us == pytest.approx(41_000, rel=0.001)
    assert most_us == pytest.approx(100_000, rel=0.001)
    assert lines[f"{metric}-FAILED", "MaxLatency(us)"] == pytest.approx(40_000, rel=0.001)
    # A scan that finds less than it asks for is ok.
    assert (lines["SCAN", "Return=OK"], lines["SCAN", "Operations"]) == (100, 100)
    assert ("SCAN-FAILED", "Operations") not in lines


def test_a_spreadsheets_reader_has_three_columns_a_line() -> None:
    text = as_text(run(LATENCIES_NS, ERRORS, schedule=True))
    rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    assert {len(row) for row in rows} == {3}
    assert [float(row[2]) for row in rows] == [line.value for line in parsed(text)]


COUNTS = st.dictionaries(
    st.sampled_from(["timeout", "not_found", "integrity", "overloaded", "other"]),
    st.integers(0, 30),
)


@given(
    latencies_ns=st.dictionaries(
        st.sampled_from([*KINDS, "delete"]), st.lists(st.integers(1, 10**10), max_size=20)
    ),
    errors=st.dictionaries(
        st.sampled_from([*KINDS, "delete"]),
        st.fixed_dictionaries({"fail": COUNTS, "unknown": COUNTS}),
    ),
    measured_s=st.floats(0.1, 1e5),
    schedule=st.booleans(),
)
def test_nothing_is_lost_and_all_three_forms_say_the_same(
    latencies_ns: dict[str, list[int]],
    errors: dict[str, dict[str, dict[str, int]]],
    measured_s: float,
    schedule: bool,
) -> None:
    lines = run(latencies_ns, errors, measured_s=measured_s, schedule=schedule)
    done = 0
    for kind, values in latencies_ns.items():
        metric = kind.upper().replace("_", "-")
        failed = sum(sum(counts.values()) for counts in errors.get(kind, {}).values())
        done += len(values) + failed
        block = {line.measurement: line.value for line in lines if line.metric == metric}
        if not values and not failed:
            assert block == {}
            continue
        assert block["Operations"] == len(values)
        returned = {name: count for name, count in block.items() if name.startswith("Return=")}
        if kind != "read_modify_write":
            assert sum(returned.values()) == len(values) + failed
        counts = [
            line.value
            for line in lines
            if line.metric == f"{metric}-FAILED" and line.measurement == "Operations"
        ]
        assert counts == ([failed] if failed else [])
    (overall,) = [line for line in lines if line.measurement == "Throughput(ops/sec)"]
    assert overall.value * measured_s == pytest.approx(done)
    assert json.dumps(parsed(as_text(lines))) == json.dumps(lines)
    array = json.loads(as_json_array(lines))
    assert array == [json.loads(json.dumps(o._asdict())) for o in objects(as_json(lines))]
    assert [(o["metric"], o["measurement"]) for o in array] == [line[:2] for line in lines]


@given(
    st.floats(allow_infinity=False, allow_nan=False) | st.floats(1e-5, 1e-1) | st.floats(1e6, 1e9)
)
def test_a_number_in_java_notation_is_the_same_number(value: float) -> None:
    text = _java(value)
    assert float(text) == value
    assert re.fullmatch(r"-?[0-9]+\.[0-9]+(E-?[0-9]+)?", text)
    plain = value == 0 or 1e-3 <= abs(value) < 1e7
    assert ("E" not in text) == plain
    assert plain or re.match(r"-?[1-9]\.", text)


def test_a_measured_run_says_what_its_record_says(measured: Path) -> None:
    folder = measured / "runs" / "0002-r1"
    record = read_record(RunRecord, folder / "run.json")
    log = read_latency_log((folder / "latency.hdr").read_text(encoding="utf-8"))
    lines = {line[:2]: line.value for line in measurements(record, log)}
    for kind, stats in record.result.operations.items():
        metric = kind.upper().replace("_", "-")
        assert lines[metric, "Operations"] == stats.ok > 0
        assert stats.latency_ns.p99 is not None
        assert lines[metric, "99thPercentileLatency(us)"] == stats.latency_ns.p99 // 1000
