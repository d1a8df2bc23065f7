"""What a run with faults keeps of its writes: counts that add up, and nothing lost that isn't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.runner.read_back import (
    READ_BACK_SCHEMA,
    read_back_frame,
    read_back_record,
    records_to_read,
    unread,
)
from pacelc.store.format import ReadBackEntry

if TYPE_CHECKING:
    from pathlib import Path

LOG = {
    "end_ns": pl.UInt64,
    "operation": pl.String,
    "outcome": pl.String,
    "record": pl.UInt64,
}


def record_of(log: pl.DataFrame, answer: dict[str, Any], **more: Any) -> dict[str, Any]:
    more = {"errors": {}, "level": "ALL", "error": None} | more
    return read_back_record(log, read_back_frame(answer), before_measure_s=2.0, **more)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ok", "fail", "unknown"]),
            st.sampled_from(["found", "missing", "unread"]),
        ),
        max_size=40,
    )
)
def test_every_insert_is_counted_once(inserts: list[tuple[str, str]]) -> None:
    log = pl.DataFrame(
        [(n * 10**9, "insert", outcome, n) for n, (outcome, _) in enumerate(inserts)],
        schema=LOG,
        orient="row",
    )
    places = {
        state: [n for n, (_, there) in enumerate(inserts) if there == state]
        for state in ("found", "missing", "unread")
    }
    nobody = [None] * len(places["found"])
    kept = record_of(log, {**places, "writer": nobody, "sequence": nobody, "origin": nobody})
    acknowledged = [state for outcome, state in inserts if outcome == "ok"]
    parts = kept["inserts"]
    assert parts["acknowledged"] == len(acknowledged)
    for state in ("found", "missing", "unread"):
        assert parts[state] == acknowledged.count(state)
    others = [(outcome, state) for outcome, state in inserts if outcome != "ok"]
    assert kept["unacknowledged"]["found"] == sum(state == "found" for _, state in others)
    assert sum(kept["unacknowledged"][word] for word in ("fail", "unknown")) == len(others)
    lost = [n for n, insert in enumerate(inserts) if insert == ("ok", "missing")]
    assert parts["examples"] == lost[:20]
    if lost:
        assert (parts["first_missing_s"], parts["last_missing_s"]) == (lost[0] - 2, lost[-1] - 2)
    assert ReadBackEntry.model_validate(kept).inserts.missing == len(lost)


def test_what_nobody_could_read_is_neither_there_nor_lost() -> None:
    log = pl.DataFrame([(1, "insert", "ok", 7), (2, "insert", "ok", 8)], schema=LOG, orient="row")
    kept = record_of(log, unread([7]), level=None, error="the cluster didn't come to serve again")
    parts = kept["inserts"]
    # The second isn't even in the answer.
    assert (parts["acknowledged"], parts["found"], parts["missing"], parts["unread"]) == (
        2,
        0,
        0,
        2,
    )


def test_a_record_that_was_deleted_is_not_looked_for() -> None:
    log = pl.DataFrame(
        [(1, "insert", "ok", 7), (2, "delete", "unknown", 7)], schema=LOG, orient="row"
    )
    missing = unread([]) | {"missing": [7]}
    assert record_of(log, missing)["inserts"]["acknowledged"] == 0


def test_records_are_read_that_were_inserted_or_have_one_version_and_were_updated(
    tmp_path: Path,
) -> None:
    log = pl.DataFrame(
        [
            (1, "insert", "unknown", 9),
            (2, "insert", "ok", 7),
            (3, "update", "ok", 3),
            (4, "update", "unknown", 4),
            (5, "read", "ok", 5),
            (6, "update", "ok", 7),
        ],
        schema=LOG,
        orient="row",
    )
    path = tmp_path / "operations.parquet"
    log.write_parquet(path)
    assert records_to_read(path, updates=True) == [3, 7, 9]
    assert records_to_read(path, updates=False) == [7, 9]


def test_the_engines_answer_is_a_row_a_record() -> None:
    answer = {"found": [4, 2], "writer": [0, None], "sequence": [4, None], "origin": ["load", None]}
    frame = read_back_frame(answer | {"missing": [1], "unread": [3]})
    assert frame.schema == READ_BACK_SCHEMA
    assert frame.rows() == [
        (1, "missing", None, None, None),
        (2, "found", None, None, None),
        (3, "unread", None, None, None),
        (4, "found", 0, 4, "load"),
    ]
