"""PACELC's letters: each follows from its evidence, and none from too little."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.analysis import Estimate
from pacelc.analysis.classification import (
    ENOUGH,
    MARGIN_PERCENT,
    Answers,
    Side,
    answers_alone,
    partition_letter,
    price_letter,
)

YES, NO, HALF, FEW = Answers(100, 100), Answers(100, 0), Answers(100, 70), Answers(5, 5)
ISOLATE = "isolate primary"


def side(client: str, reads: Answers, writes: Answers, **seen: int) -> Side:
    return Side(ISOLATE, client, reads, writes, **({"acknowledged": 1000, "told": 500} | seen))


@pytest.mark.parametrize(
    ("minority", "majority", "letter"),
    [
        # Cassandra at ONE: both sides take writes.
        ((YES, YES), (YES, YES), "PA"),
        # Reads of a replica that was cut off: what the others write it can't know.
        ((YES, NO), (YES, YES), "PA"),
        ((NO, YES), (YES, NO), "PA"),
        # A majority, or a primary, alone serves.
        ((NO, NO), (YES, YES), "PC"),
        ((YES, YES), (NO, NO), "PC"),
        ((YES, NO), (NO, NO), "PC"),
        ((NO, NO), (NO, NO), "PC"),
        # Reads on both sides, and nothing new to read.
        ((YES, NO), (YES, NO), "PC"),
        ((HALF, HALF), (YES, YES), None),
        ((HALF, HALF), (HALF, HALF), None),
        ((FEW, FEW), (YES, YES), None),
        ((FEW, FEW), (NO, NO), "PC"),
    ],
)
def test_the_letter_follows_from_who_was_served(
    minority: tuple[Answers, Answers], majority: tuple[Answers, Answers], letter: str | None
) -> None:
    both = [side("minority", *minority), side("majority", *majority)]
    assert partition_letter(both).letter == letter
    assert partition_letter(both[::-1]).letter == letter


@pytest.mark.parametrize("seen", [{"lost": 1}, {"stale": 1}])
def test_one_lost_write_or_stale_read_is_enough(seen: dict[str, int]) -> None:
    for client in ("minority", "majority", "both"):
        found = partition_letter([side(client, NO, NO, **seen), side("minority", NO, NO)])
        assert found.letter == "PA"
        assert f"1 of {'1,000' if 'lost' in seen else '500'}" in found.why


def test_too_little_evidence_is_no_letter() -> None:
    assert partition_letter([]).letter is None
    refused = side("minority", NO, NO)
    assert partition_letter([refused]).why == f"{ISOLATE}: no client on the majority's side"
    served = side("majority", YES, YES)
    unread = partition_letter([refused, replace(served, unread=11)])
    assert unread.letter is None
    assert unread.why == f"{ISOLATE}: 11 of 1,000 acknowledged writes could not be read back"
    assert partition_letter([refused, replace(served, unread=10)]).letter == "PC"


def test_one_partition_that_shows_it_decides_over_one_that_does_not() -> None:
    consistent = [side("minority", NO, NO), side("majority", YES, YES)]
    available = [
        replace(side(c, YES, YES), partition="split one") for c in ("minority", "majority")
    ]
    assert partition_letter(consistent).letter == "PC"
    assert partition_letter([*consistent, *available]).letter == "PA"
    alone = [replace(side("majority", YES, YES), partition="split one")]
    assert partition_letter([*consistent, *alone]).letter == "PC"


answers = st.builds(
    lambda due, share: Answers(due, round(due * share)), st.integers(0, 200), st.floats(0, 1)
)
seen_sides = st.lists(
    st.builds(
        lambda client, reads, writes, acknowledged, lost, unread, stale: Side(
            ISOLATE, client, reads, writes, acknowledged, lost, unread, 100, stale
        ),
        st.sampled_from(["minority", "majority", "both"]),
        answers,
        answers,
        st.integers(100, 1000),
        st.sampled_from([0, 0, 3]),
        st.sampled_from([0, 0, 50]),
        st.sampled_from([0, 0, 2]),
    ),
    max_size=3,
    unique_by=lambda s: s.client,
)


@given(seen_sides)
def test_consistent_is_never_said_of_what_lost_or_was_stale_or_not_looked_at(
    sides: list[Side],
) -> None:
    found = partition_letter(sides)
    assert found.why
    if any(s.lost or s.stale for s in sides):
        assert found.letter == "PA"
    if found.letter == "PC":
        assert {"minority", "majority"} <= {s.client for s in sides}
        assert any(s.word == "refused" for s in sides)
        assert all(s.unread <= 0.01 * s.acknowledged for s in sides)
    if found.letter == "PA" and not any(s.lost or s.stale for s in sides):
        assert any(s.writes.ok >= 0.9 * ENOUGH for s in sides)


@given(seen_sides, st.integers(0, 2))
def test_more_service_never_makes_it_less_available(sides: list[Side], which: int) -> None:
    if which < len(sides) and partition_letter(sides).letter == "PA":
        more = list(sides)
        full = Answers(200, 200)
        more[which] = replace(more[which], reads=full, writes=full)
        assert partition_letter(more).letter == "PA"


def price(value: float, half: float | None) -> Estimate:
    ends = (None, None) if half is None else (value - half, value + half)
    return Estimate(value, *ends, n=5, unit=" %")


@pytest.mark.parametrize(
    ("read", "write", "letter"),
    [
        ((50, 10), (50, 10), "EC"),
        ((0, 3), (80, 20), "EC"),
        ((0, 3), (2, 3), "EL"),
        ((-20, 5), (-30, 5), "EL"),
        ((5, 2), (0, 5), "EL"),
        ((5, 30), (5, 30), None),
        ((0, 3), (40, 80), None),
        ((50, None), (50, None), None),
        ((0, 3), (50, None), None),
    ],
)
def test_the_letter_follows_from_the_price(
    read: tuple[float, float | None], write: tuple[float, float | None], letter: str | None
) -> None:
    found = price_letter(
        {"read": price(*read), "update": price(*write)}, weakest="weak", alone=None
    )
    assert found.letter == letter


@given(st.floats(-90, 500), st.floats(0, 200))
def test_a_price_is_said_only_of_an_interval_that_has_none_at_zero(
    value: float, half: float
) -> None:
    found = price_letter({"read": price(value, half)}, weakest="weak", alone=None).letter
    assert (found == "EL") == (value + half < MARGIN_PERCENT)
    assert found != "EC" or value - half > 0
    if found is None:
        assert value - half <= 0 <= MARGIN_PERCENT <= value + half


def test_the_weakest_level_is_quick_only_where_it_is_known_to_wait_for_nobody() -> None:
    assert price_letter({}, weakest="weak", alone=True).letter == "EL"
    assert price_letter({}, weakest="quorum", alone=False).letter is None
    assert price_letter({}, weakest="weak", alone=None).letter is None


@pytest.mark.parametrize(
    ("database", "in_force", "alone"),
    [
        ("redis", {"read": "primary", "update": "primary only"}, True),
        ("redis", {"read": "primary", "update": "WAIT 1 1000"}, False),
        ("mongodb", {"read": "local from primary", "insert": "w: 1, j: true"}, True),
        ("mongodb", {"read": "local from primary", "insert": "w: majority"}, False),
        ("cassandra", {"read": "ONE", "update": "LOCAL_ONE"}, True),
        ("cassandra", {"read": "ONE", "update": "QUORUM"}, False),
        ("hbase", {"read": "TIMELINE", "update": "ASYNC_WAL"}, True),
        ("hbase", {"read": "STRONG", "update": "SYNC_WAL"}, False),
        ("redis", {}, False),
        ("other", {"read": "ONE"}, False),
    ],
)
def test_who_waits_for_nobody(database: str, in_force: dict[str, str], alone: bool) -> None:
    assert answers_alone(database, in_force) is alone
