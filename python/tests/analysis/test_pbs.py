"""Probabilistically bounded staleness: against closed forms, the paper's numbers, and by sense."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pacelc.analysis.pbs import visible_from

TRIALS = 200_000


def chance(moments: np.ndarray, t: float) -> float:
    return float((moments <= t).mean())


@pytest.mark.parametrize(
    ("copies", "writes", "reads"),
    [(2, 1, 1), (3, 1, 1), (3, 1, 2), (3, 2, 1), (5, 2, 2)],
)
def test_exponential_writes_become_visible_as_their_closed_form_says(
    copies: int, writes: int, reads: int
) -> None:
    # Without memory: of the copies that haven't answered yet, each takes as long again. A read of
    # any R copies misses all that have, with the paper's equation 1, and then waits for the first.
    rng = np.random.default_rng(1)
    mean, nothing, all_ = 4.0, np.zeros((TRIALS, copies)), range(copies)
    moments = visible_from(
        rng.exponential(mean, (TRIALS, copies)),
        nothing,
        nothing,
        nothing,
        [(all_, writes)],
        [(all_, reads)],
        asked_first=rng.random((TRIALS, copies)),
    )
    missed = math.comb(copies - writes, reads) / math.comb(copies, reads)
    for t in (0.0, 1.0, 4.0, 10.0):
        truth = 1 - missed * math.exp(-reads * t / mean)
        assert chance(moments, t) == pytest.approx(truth, abs=4 * 0.5 / math.sqrt(TRIALS))


@pytest.mark.parametrize(("mean_w", "mean_a", "mean_r"), [(10, 1, 1), (0.25, 1, 1), (1, 3, 2)])
def test_exponential_messages_on_two_copies_give_the_closed_form(
    mean_w: float, mean_a: float, mean_r: float
) -> None:
    # Both are asked. A read misses the write if the copy whose answer comes first, after the
    # shorter of two R, has W > W' + A' + t + R: one half for which it is, and each of the four
    # exponentials is survived by W on its own.
    rng = np.random.default_rng(2)
    w, a, r = (rng.exponential(mean, (TRIALS, 2)) for mean in (mean_w, mean_a, mean_r))
    both = [(range(2), 1)]
    moments = visible_from(w, a, r, np.zeros((TRIALS, 2)), both, both)
    missed = 0.5 * (mean_w / (mean_w + mean_a)) * (mean_w / (mean_w + mean_r / 2))
    for t in (0.0, 0.5, 2.0, 10.0):
        truth = 1 - missed * math.exp(-t / mean_w)
        assert chance(moments, t) == pytest.approx(truth, abs=4 * 0.5 / math.sqrt(TRIALS))


@pytest.mark.parametrize("nearest", [True, False])
def test_levels_that_overlap_always_see_the_newest(nearest: bool) -> None:
    rng = np.random.default_rng(3)
    for copies in range(1, 6):
        for writes, reads in product(range(1, copies + 1), repeat=2):
            w, a, r, s = rng.exponential(1.0, (4, 2_000, copies))
            order = rng.random((2_000, copies)) if nearest else None
            level_w, level_r = [(range(copies), writes)], [(range(copies), reads)]
            moments = visible_from(w, a, r, s, level_w, level_r, asked_first=order)
            assert (chance(moments, 0.0) == 1.0) == (writes + reads > copies)
