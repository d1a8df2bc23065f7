"""How sure a search can be of its answer: an interval from all of its runs.

Whether a run holds an objective is chance near the limit: the higher the rate, the less likely.
The *threshold* is the rate at which a run is as likely to hold as not. The chance is modelled as
logistic in the logarithm of the rate, with the threshold and a width, and the interval has the
thresholds under which the runs that were seen are not too unlikely, by profile likelihood: each
threshold with the width that suits it best. It exists where no rate was seen both ways, too.

How unlikely is too unlikely: by the χ² quantile of 99 %, not of 95 %. That distribution is for many
runs. With the dozen of a search, and runs chosen where they are in doubt, the quantile of 95 %
covered the threshold in 97, 86 and 70 of 100 simulated searches, where the limit varied from run to
run by 1, 5 and 15 %; that of 99 % in 100, 96 and 93. A test repeats it.

Map
---
threshold_interval      trials → (low, high); an end is None where the runs don't bound it
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pacelc.saturation.search import Trial

__all__ = ["threshold_interval"]

_HALF_CHI2: Final = 3.3174
"""Of 99 %, for an interval of 95 %: see above."""
_WIDTHS: Final = np.geomspace(0.003, 1.0, 32)
"""Widths of the transition, in natural logarithms of the rate."""
_STEPS: Final = 1200
_BEYOND: Final = 1.0
"""How far outside the tried rates a threshold is looked for, in natural logarithms."""


def threshold_interval(trials: Sequence[Trial]) -> tuple[float | None, float | None]:
    """Return the 95 % interval of the threshold."""
    outcomes = {trial.held for trial in trials}
    if outcomes != {True, False}:
        return None, None
    logs = [math.log(trial.rate_per_s) for trial in trials]
    sign = np.where([trial.held for trial in trials], 1.0, -1.0)
    thresholds = np.linspace(min(logs) - _BEYOND, max(logs) + _BEYOND, _STEPS)
    distance = sign * np.subtract.outer(thresholds, np.array(logs))
    scaled: NDArray[np.float64] = distance[:, None, :] / _WIDTHS[:, None]
    surprise = np.logaddexp(0.0, -scaled).sum(axis=2).min(axis=1)
    inside = np.flatnonzero(surprise <= surprise.min() + _HALF_CHI2)
    first, last = int(inside[0]), int(inside[-1])
    return (
        None if first == 0 else float(np.exp(thresholds[first])),
        None if last == _STEPS - 1 else float(np.exp(thresholds[last])),
    )
