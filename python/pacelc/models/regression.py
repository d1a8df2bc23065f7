"""Least squares of logarithms, of demands that aren't below 0.

What runs used is a background and a sum of rates times demands, and scatters by a factor on that
sum: saturated processors are all busy whatever an operation takes, so how much gets done scatters,
not what was used. Weighted by what was used, least squares would take the background for all of it,
since errors of rates pull demands down (Fuller: Measurement Error Models, Wiley 1987, section 1.1).

What servers do besides operations waits for processors, too: where n of them share C cores that are
all wanted, each of which would use b alone, they get n b / (1 + (n - 1) b / C).

Steps are Gauss's and Newton's, each by non-negative least squares (Lawson and Hanson: Solving Least
Squares Problems, Prentice-Hall 1974, chapter 23), halved while they lead away.

Reads and writes at a time take more than each alone, by a share that is fitted, too: what
alternates displaces the other's code and data from caches.

Start here: :func:`fit_logarithms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize, stats

from pacelc.analysis.estimate import CONFIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Background", "LogFit", "fit_logarithms"]

_STEPS: Final = 100
_STILL: Final = 1e-12
"""Of the largest value: a step that isn't one."""
_SOMETHING: Final = 1e-3
"""To begin with, so that no run takes nothing; columns are scaled."""
_MOST_IDLE: Final = 0.9
"""Of what the least busy run used, in the background."""


class Background(NamedTuple):
    """What is used besides: ``servers b / (1 + beside b)``, of each run; both of shape (n,)."""

    servers: Floats
    beside: Floats
    """Other servers, for each core that they share; 0 where they share none."""


class LogFit(NamedTuple):
    """Values, what is added and taken off for their 95 % intervals, the sum of squares left.

    Half-widths are 0 where there is none: of a value of 0, or if there are no more runs than
    values.
    """

    values: Floats
    half_widths: Floats
    misfit: float


def fit_logarithms(
    rates: Floats, used: Floats, background: Background | None = None, mixed: Floats | None = None
) -> LogFit:
    """Find values: ``used - background`` is relatively near ``rates @ demands * (1 + mixed k)``.

    Parameters
    ----------
    rates
        One row a run, one column a demand; of shape (n, m).
    used
        Above 0; of shape (n,).
    background, mixed
        Each with a value of its own, b and k, if it is given: b comes before the demands, k after
        them. ``mixed`` is of shape (n,).
    """
    problem = _Problem(rates, used, background, mixed)
    values, rest, slopes = problem.solved()
    half = np.zeros(values.size)
    free = np.flatnonzero(values > 0)
    df = used.size - free.size
    if df > 0:
        own: Floats = slopes[:, free]
        covariance: Any = float(rest @ rest) / df * np.linalg.pinv(own.T @ own)
        half[free] = np.sqrt(np.diag(covariance)) * stats.t.isf((1 - CONFIDENCE) / 2, df)
    return LogFit(values / problem.lengths, half / problem.lengths, float(rest @ rest))


class _Problem:
    """Columns scaled to length 1 of what runs used: b's, the demands', k's, as far as there are."""

    def __init__(
        self, rates: Floats, used: Floats, background: Background | None, mixed: Floats | None
    ) -> None:
        first = [] if background is None else [background.servers]
        last = [] if mixed is None else [mixed * used]
        columns = np.column_stack([*first, rates, *last])
        self.used = used
        self.lengths: Floats = np.linalg.norm(columns / used[:, None], axis=0)
        columns = columns / self.lengths
        self.idle: Floats = columns[:, : len(first)]
        self.rates: Floats = columns[:, len(first) : len(first) + rates.shape[1]]
        self.mixed: Floats = columns[:, len(first) + rates.shape[1] :] / used[:, None]
        self.start: Floats = np.column_stack([self.idle, self.rates]) / used[:, None]
        self.beside: Floats = np.zeros(used.size)
        self.most = np.full(columns.shape[1], np.inf)
        if background is not None:
            self.beside = background.beside / self.lengths[0]
            most = _MOST_IDLE * used
            left = self.idle[:, 0] - most * self.beside
            self.most[0] = (most[left > 0] / left[left > 0]).min(initial=np.inf)

    def solved(self) -> tuple[Floats, Floats, Floats]:
        """Return values, what they leave, and how that changes with them."""
        start, _ = optimize.nnls(self.start, np.ones(self.used.size))
        start = np.concatenate([start, np.zeros(self.mixed.shape[1])])
        values = np.minimum(start + _SOMETHING, self.most)
        rest, slopes = self._rest(values)
        for _ in range(_STEPS):
            target, _ = optimize.nnls(slopes, slopes @ values - rest)
            step = np.minimum(target, self.most) - values
            while True:
                if np.abs(step).max() <= _STILL * values.max():
                    return values, rest, slopes
                left, steeper = self._rest(values + step)
                if left @ left < rest @ rest:
                    break
                step /= 2
            values, rest, slopes = values + step, left, steeper
        return values, rest, slopes

    def _rest(self, values: Floats) -> tuple[Floats, Floats]:
        ends = self.idle.shape[1], self.idle.shape[1] + self.rates.shape[1]
        b, demands, k = np.split(values, ends)
        idle = self.idle @ b
        crowded = 1 + self.beside * b.sum()
        left = self.used - idle / crowded
        work = self.rates @ demands
        more = 1 + self.mixed @ k
        with np.errstate(divide="ignore", invalid="ignore"):  # a step that led too far
            rest = np.log(work) + np.log(more) - np.log(left)
            parts = (self.idle, left * crowded**2), (self.rates, work), (self.mixed, more)
            slopes = np.column_stack([columns / of[:, None] for columns, of in parts])
        return rest, slopes
