"""Service demands from measured processor time: the utilisation law, by regression.

In each run the processor time used a second is a background and, of each kind of operation, its
rate times its demand (Lazowska et al.: Quantitative System Performance, Prentice-Hall 1984, section
3.4)::

    cores used = background + sum over kinds of (demand * rate)

Demands of several kinds can be told apart only if runs differ in their mix: with 50/50 everywhere,
any demand of a read can be traded for one of a write. That is refused, and so is a background that
can't be told from the demands because all runs were equally busy. Runs scatter in proportion to
what they measure, and are weighted so. Intervals are Student's, with the run as the unit.

Start here: :func:`fit_demands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy import stats

from pacelc.analysis.estimate import CONFIDENCE, Estimate
from pacelc.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Demands", "NotIdentified", "fit_demands"]

_LARGEST_CONDITION: Final = 30.0
"""Of the columns scaled to length 1: above it coefficients are traded for each other (Belsley, Kuh
and Welsch: Regression Diagnostics, Wiley 1980, chapter 3)."""
_LEAST_MIX_RANGE: Final = 0.15
"""By how much each kind's share of the operations has to differ between runs: chance alone makes
shares differ by a few points, and would be taken for a mix."""
_METHOD: Final = "weighted least squares, Student's t"
_MIX_HINT: Final = "measure other mixes, too: 0, 25, 50, 75 and 100 % reads, for example"
_LOAD_HINT: Final = "measure other numbers of users, too: 1, 4, 16 and 64, for example"


class NotIdentified(InputError):  # noqa: N818 - a reason, not a fault
    """The runs don't hold what would tell the demands apart; the hint says what would."""


@dataclass(frozen=True)
class Demands:
    """Processor time of operations.

    Attributes
    ----------
    by_kind_s
        Kind → processor seconds of an operation.
    background_cores
        Cores in use without any operation.
    runs
        How many were fitted.
    cautions
        What weakens it.
    """

    by_kind_s: Mapping[str, Estimate]
    background_cores: Estimate
    runs: int
    cautions: tuple[str, ...]

    def cores(self, rates_per_s: Mapping[str, float]) -> float:
        """Return the cores in use at these rates."""
        used = sum(self.by_kind_s[kind].value * rate for kind, rate in rates_per_s.items())
        return self.background_cores.value + used


def fit_demands(rates_per_s: Mapping[str, Sequence[float]], cores_used: Sequence[float]) -> Demands:
    """Regress processor time on rates.

    Parameters
    ----------
    rates_per_s
        Kind → rate in each run.
    cores_used
        Processor seconds a second in each run, of whatever is to be modelled.

    Raises
    ------
    NotIdentified
        Too few runs, or runs that differ too little in mix or in load.
    """
    kinds = [kind for kind, rates in rates_per_s.items() if any(rate > 0 for rate in rates)]
    used = np.asarray(cores_used, dtype=float)
    rates = np.column_stack([np.asarray(rates_per_s[kind], dtype=float) for kind in kinds])
    if not kinds:
        raise NotIdentified("no run did any operation")
    _refuse_the_same(kinds, rates, used)
    weights = 1 / used
    design = np.column_stack([np.ones(used.size), rates]) * weights[:, None]
    target = np.ones(used.size)
    free = _kept(design, target)
    solution, df = np.zeros(design.shape[1]), used.size - len(free)
    solution[free] = np.linalg.lstsq(design[:, free], target, rcond=None)[0]
    residuals = target - design @ solution
    variance = float(residuals @ residuals) / df
    covariance = variance * np.linalg.inv(design[:, free].T @ design[:, free])
    half = np.zeros(design.shape[1])
    half[free] = np.sqrt(np.diag(covariance)) * stats.t.isf((1 - CONFIDENCE) / 2, df)
    estimates = [
        Estimate(value, max(value - width, 0.0), value + width, used.size, method=_METHOD)
        if i in free
        else Estimate(0.0, None, None, used.size, method=_METHOD)
        for i, (value, width) in enumerate(zip(solution.tolist(), half.tolist(), strict=True))
    ]
    background, *demands = estimates
    by_kind = dict(zip(kinds, demands, strict=True))
    return Demands(
        by_kind_s=by_kind,
        background_cores=background,
        runs=used.size,
        cautions=tuple(_cautions(by_kind)),
    )


def _refuse_the_same(kinds: list[str], rates: Floats, used: Floats) -> None:
    """Refuse runs that don't differ where they would have to."""
    unknowns = len(kinds) + 1
    if used.size <= unknowns:
        raise NotIdentified(
            f"{used.size} runs can't give {unknowns} unknowns (a background, and demands of "
            f"{', '.join(kinds)}) with their errors",
            "measure more mixes and numbers of users",
        )
    if not (np.isfinite(used) & (used > 0)).all():
        raise NotIdentified("processor time isn't known of every run", "leave out such runs")
    # Mixes alone first: whether the kinds can be told apart at all.
    mixes = rates / rates.sum(axis=1, keepdims=True)
    spread = np.ptp(mixes, axis=0).min()
    if len(kinds) > 1 and (spread < _LEAST_MIX_RANGE or _condition(mixes) > _LARGEST_CONDITION):
        raise NotIdentified(
            f"demands of {' and '.join(kinds)} can't be told apart: runs have too similar mixes",
            _MIX_HINT,
        )
    if _condition(np.column_stack([np.ones(used.size), rates]) / used[:, None]) > (
        _LARGEST_CONDITION
    ):
        raise NotIdentified(
            "the background can't be told from the operations: runs were too similarly busy",
            _LOAD_HINT,
        )


def _condition(columns: Floats) -> float:
    scaled = columns / np.linalg.norm(columns, axis=0)
    return float(np.linalg.cond(scaled))


def _kept(design: Floats, target: Floats) -> list[int]:
    """Return the columns whose coefficients aren't below 0: time is never given back."""
    free = list(range(design.shape[1]))
    while True:
        solution = np.linalg.lstsq(design[:, free], target, rcond=None)[0]
        worst = int(np.argmin(solution))
        if solution[worst] >= 0 or len(free) == 1:
            return free
        del free[worst]


def _cautions(by_kind: Mapping[str, Estimate]) -> list[str]:
    found: list[str] = []
    for kind, estimate in by_kind.items():
        if estimate.low is None:
            found.append(f"{kind}: its demand would be below 0, and was taken as 0")
        elif estimate.low == 0:
            found.append(f"{kind}: its demand can't be told from 0")
    return found
