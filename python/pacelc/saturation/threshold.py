"""How sure a search can be of its answer: an interval from all of its runs.

Whether a run holds an objective is chance near the limit: the higher the rate, the less likely.
The *threshold* is the rate at which a run is as likely to hold as not. The chance is modelled as
logistic in the logarithm of the rate, with the threshold and a width, and the interval has the
thresholds under which the runs that were seen are not too unlikely: by profile likelihood (for each
threshold the width that suits it best), at the χ² quantile of 95 %. Unlike an estimate, it exists
where no rate was seen both ways, and the way in which a search chooses its rates doesn't bias it:
the likelihood of what was seen is the same however the rates came to be tried.

Map
---
threshold_interval      trials → (low, high); an end is None where the runs don't bound it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pacelc.saturation.search import Trial

__all__ = ["threshold_interval"]

_HALF_CHI2_95: Final = 1.9207
_WIDTHS: Final = np.geomspace(0.003, 1.0, 48)
"""Widths of the transition, in natural logarithms of the rate."""
_STEPS: Final = 1500
_BEYOND: Final = 1.5
"""How far outside the tried rates a threshold is looked for, in natural logarithms."""


def threshold_interval(trials: Sequence[Trial]) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the threshold."""
    outcomes = {trial.held for trial in trials}
    if outcomes != {True, False}:
        return None, None
    logs: NDArray[np.float64] = np.log(np.array([float(trial.rate_per_s) for trial in trials]))
    sign = np.where([trial.held for trial in trials], 1.0, -1.0)
    thresholds: NDArray[np.float64] = np.linspace(
        logs.min() - _BEYOND, logs.max() + _BEYOND, _STEPS
    )
    scaled: NDArray[np.float64] = sign * (thresholds[:, None, None] - logs) / _WIDTHS[:, None]
    likelihood = -np.logaddexp(0.0, -scaled).sum(axis=2).max(axis=1)
    inside = np.flatnonzero(likelihood >= likelihood.max() - _HALF_CHI2_95)
    first, last = int(inside[0]), int(inside[-1])
    return (
        None if first == 0 else float(np.exp(thresholds[first])),
        None if last == _STEPS - 1 else float(np.exp(thresholds[last])),
    )
