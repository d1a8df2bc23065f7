"""The knee, held against queues whose knee is known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pacelc.saturation import Knee, Point, find_knee, parse_ladder


def mm1(rate: int, capacity: float, repetition: int = 1) -> Point:
    return Point(rate, repetition, min(rate, capacity), 1 / max(capacity - rate, capacity / 1000))


@given(st.floats(3000, 50_000), st.integers(1, 3))
def test_the_knee_of_a_queue_lies_at_half_of_its_capacity(capacity: float, n: int) -> None:
    rates = parse_ladder("500..100000x1.2")
    assert rates is not None
    knee = find_knee([mm1(rate, capacity, rep) for rate in rates for rep in range(1, n + 1)])
    assert isinstance(knee, Knee)
    assert knee.low_per_s <= capacity / 2 <= knee.high_per_s
    assert knee.repetitions == n
    assert rates.index(knee.high_per_s) - rates.index(knee.low_per_s) == 2


def test_repetitions_that_disagree_widen_the_interval() -> None:
    rates = (1000, 2000, 3000, 4000, 5000, 6000)
    knee = find_knee([mm1(r, c, i) for i, c in enumerate((4000, 8000), 1) for r in rates])
    assert isinstance(knee, Knee)
    assert (knee.low_per_s, knee.rate_per_s, knee.high_per_s) == (1000, 2000, 5000)


def test_a_ladder_that_ends_before_the_knee_tells_none() -> None:
    below = find_knee([mm1(rate, 100_000) for rate in (1000, 2000, 4000)])
    assert below == "power still grows at 4,000/s, the highest rate that the client kept up with"
    above = find_knee([mm1(rate, 1000) for rate in (600, 800, 1000)])
    assert above == "power is highest at 600/s, the lowest rate: the knee may lie below"
    assert find_knee([mm1(rate, 1000) for rate in (600, 800)]) == (
        "2 rates that the client kept up with are too few"
    )
