"""Stale reads, lost writes: nothing is accused that may be innocent, and every proof is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.analysis.versions import fates, stale_reads
from pacelc.store.format import RunRecord

SCHEMA = {
    "operation": pl.String,
    "outcome": pl.String,
    "record": pl.UInt64,
    "user": pl.UInt32,
    "sequence": pl.UInt64,
    "start_ns": pl.UInt64,
    "end_ns": pl.UInt64,
    "read_writer": pl.UInt32,
    "read_sequence": pl.UInt64,
}
READ_BACK = {
    "record": pl.UInt64,
    "state": pl.String,
    "read_writer": pl.UInt32,
    "read_sequence": pl.UInt64,
}
LOAD = (0, 7)
"""The version that the load left in each record."""


@dataclass(frozen=True)
class Op:
    kind: str
    record: int
    start: int
    point: int
    end: int
    outcome: str


@st.composite
def some_operations(draw: st.DrawFn) -> list[Op]:
    def one() -> st.SearchStrategy[Op]:
        times = st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(0, 9))
        return st.builds(
            lambda kind, record, t, outcome: Op(
                kind, record, t[0], t[0] + t[1], t[0] + t[1] + t[2], outcome
            ),
            st.sampled_from(["read", "update"]),
            st.integers(0, 1),
            times,
            st.sampled_from(["ok", "ok", "ok", "unknown", "fail"]),
        )

    return draw(st.lists(one(), min_size=1, max_size=25))


def rows(ops: list[Op], read: dict[int, tuple[int, int]]) -> pl.DataFrame:
    """A log: operation number n is user n's first."""
    return pl.DataFrame(
        [
            (op.kind, op.outcome, op.record, n, n, op.start, op.end, *read.get(n, (None, None)))
            for n, op in enumerate(ops)
        ],
        schema=SCHEMA,
        orient="row",
    )


def atomic(ops: list[Op]) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
    """What reads return, and what is there at last, if each takes effect at its point."""
    now = {0: LOAD, 1: LOAD}
    read: dict[int, tuple[int, int]] = {}
    for n, op in sorted(enumerate(ops), key=lambda item: (item[1].point, item[0])):
        if op.kind == "read":
            read[n] = now[op.record]
        elif op.outcome != "fail":
            now[op.record] = (n + 1, n)
    return read, now


def read_back(now: dict[int, tuple[int, int]]) -> pl.DataFrame:
    found = [(record, "found", *version) for record, version in now.items()]
    return pl.DataFrame(found, schema=READ_BACK, orient="row")


def run_with(**workload: Any) -> RunRecord:
    """A run's record, of records that hold one version at a time unless it says otherwise."""
    usual = {"records": 5, "fields": 3, "update_all_fields": True, "mix": {"update": 1.0}}
    document = {
        "format": 1,
        "study": "s",
        "run": "0001-r1",
        "scenario": {"number": 1, "factors": {}, "settings": {"workload": usual | workload}},
        "repetition": 1,
        "seed": 1,
        "started_utc": "2026-01-01T00:00:00Z",
        "pacelc": "0",
        "earlier_unknown": False,
        "result": {"measured_s": 1.0, "operations": {}},
    }
    return RunRecord.model_validate(document)


RUN = run_with()
IN_PARTS = run_with(update_all_fields=False)


def stale(log: pl.DataFrame) -> pl.DataFrame:
    found = stale_reads(log, RUN)
    assert found is not None
    return found


@settings(max_examples=60)
@given(some_operations())
def test_a_register_that_is_atomic_is_never_accused(ops: list[Op]) -> None:
    read, now = atomic(ops)
    log = rows(ops, read)
    assert not stale(log)["stale"].any()
    assert set(fates(log, read_back(now), RUN)["fate"]) <= {"kept"}


def too_old(ops: list[Op], record: int, version: tuple[int, int], before: int | None) -> bool:
    """Whether an acknowledged write follows the version's and precedes `before`: by the word."""
    if version == LOAD:
        end: float = -1
    else:
        write = ops[version[1]]
        end = write.end if write.outcome == "ok" else float("inf")
    return any(
        w.kind == "update"
        and w.outcome == "ok"
        and w.record == record
        and w.start > end
        and (before is None or w.end < before)
        for w in ops
    )


@settings(max_examples=60)
@given(some_operations(), st.data())
def test_whatever_reads_return_what_is_proven_is_found(ops: list[Op], data: st.DataObject) -> None:
    versions = {
        record: [
            LOAD,
            *(
                (n + 1, n)
                for n, op in enumerate(ops)
                if op.kind == "update" and op.record == record
            ),
        ]
        for record in (0, 1)
    }
    read = {
        n: data.draw(st.sampled_from(versions[op.record]))
        for n, op in enumerate(ops)
        if op.kind == "read"
    }
    # A read that began after a write was over proves it, too: the engine's own tests ask for those.
    found = {row[:3] for row in stale(rows(ops, read)).filter("stale").iter_rows()}
    expected = {
        (op.record, op.start, op.end)
        for n, op in enumerate(ops)
        if op.kind == "read" and op.outcome == "ok" and too_old(ops, op.record, read[n], op.start)
    }
    assert expected <= found
    now = {record: data.draw(st.sampled_from(versions[record])) for record in (0, 1)}
    lost = fates(rows(ops, read), read_back(now), RUN).filter(pl.col("fate") == "lost")
    if any(too_old(ops, record, now[record], None) for record in (0, 1)):
        assert lost.height


def log(*operations: dict[str, Any]) -> pl.DataFrame:
    base = {"outcome": "ok", "user": 0, "read_writer": None, "read_sequence": None}
    return pl.DataFrame([base | operation for operation in operations], schema=SCHEMA)


def test_an_insert_that_is_not_there_is_lost_whatever_versions_can_tell() -> None:
    operations = log(
        {"operation": "insert", "record": 5, "sequence": 0, "start_ns": 1, "end_ns": 2},
        {"operation": "insert", "record": 6, "sequence": 1, "start_ns": 3, "end_ns": 4},
        {"operation": "insert", "record": 7, "sequence": 2, "start_ns": 5, "end_ns": 6},
        {"operation": "update", "record": 6, "sequence": 3, "start_ns": 7, "end_ns": 8},
        {"operation": "insert", "record": 8, "sequence": 4, "start_ns": 9, "end_ns": 9}
        | {"outcome": "unknown"},
        {"operation": "insert", "record": 9, "sequence": 5, "start_ns": 9, "end_ns": 9},
        {"operation": "delete", "record": 9, "sequence": 6, "start_ns": 9, "end_ns": 9},
    )
    after = pl.DataFrame(
        [(5, "missing", None, None), (6, "found", 1, 1), (7, "unread", None, None)],
        schema=READ_BACK,
        orient="row",
    )
    found = fates(operations, after, RUN)
    assert found.select("record", "fate").rows() == [
        (5, "lost"),
        (6, "kept"),
        (7, "unread"),
        (6, "lost"),
    ]
    untold = fates(operations, after, IN_PARTS)
    assert untold.select("record", "fate").rows()[-1] == (6, "untold")


def test_a_version_that_nobody_in_the_log_wrote_accuses_nobody() -> None:
    write = {"operation": "update", "record": 1, "sequence": 0, "start_ns": 1, "end_ns": 2}
    read = {"operation": "read", "record": 1, "sequence": 1, "start_ns": 3, "end_ns": 4}
    operations = log(write, read | {"read_writer": 44, "read_sequence": 44})
    assert stale(operations).height == 0
    assert stale_reads(operations, IN_PARTS) is None


def test_where_each_field_is_a_register_reads_are_of_their_own_field() -> None:
    run = run_with(update_all_fields=False, read_all_fields=False)
    rows = [
        {"operation": "update", "user": 0, "sequence": 0, "start_ns": 1, "end_ns": 2, "field": 0},
        {"operation": "update", "user": 1, "sequence": 0, "start_ns": 3, "end_ns": 4, "field": 1},
        {"operation": "read", "user": 2, "sequence": 0, "start_ns": 5, "end_ns": 6, "field": 0}
        | {"read_writer": 1, "read_sequence": 0},
    ]
    empty = {"record": 1, "outcome": "ok", "read_field": None}
    fields = {"field": pl.UInt16, "read_field": pl.UInt16}
    operations = pl.DataFrame([empty | row for row in rows], schema=SCHEMA | fields)
    found = stale_reads(operations, run)
    assert found is not None
    assert found["stale"].to_list() == [False]
    # A log of before fields were noted can't tell.
    assert stale_reads(operations.drop("field", "read_field"), run) is None
