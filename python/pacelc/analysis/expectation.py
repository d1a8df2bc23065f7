"""What each setting would give at a point, from measured cells, and how far off that is.

Start here: :func:`measured_expectation` (runs at that very point), :func:`try_methods` and
:func:`modelled_expectation` (the method that misses left-out cells by less). A point is a load and
a share of reads; values are logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    _Array = NDArray[np.float64]
    Cells: TypeAlias = Mapping["Point", float]
    _Predict = Callable[[Cells, "Point"], float | None]

__all__ = [
    "Expectation",
    "Method",
    "Point",
    "Trial",
    "measured_expectation",
    "modelled_expectation",
    "rows_at",
    "try_methods",
]

Point: TypeAlias = tuple[float, float]
Method = Literal["measured", "interpolation", "regression"]
_FEWEST_DF: Final = 4
_QUADRATIC: Final = 3
"""Distinct values that a second-degree term needs."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Logarithms that are expected, how their errors vary together, and on how much that rests."""

    log: _Array
    covariance: _Array
    df: int


def rows_at(rows: pl.DataFrame, setting: str, point: Point) -> pl.DataFrame:
    """Return the runs of a setting at a point."""
    return rows.filter(
        (pl.col("setting") == setting)
        & (pl.col("load") == point[0])
        & (pl.col("read_share") == point[1])
    )


def measured_expectation(
    rows: pl.DataFrame, settings: Sequence[str], point: Point
) -> Expectation | None:
    """Expect what the runs at that point gave; None unless every setting has several there."""
    here = [np.log(rows_at(rows, s, point).get_column("value").to_numpy()) for s in settings]
    if any(values.size < 2 for values in here):  # noqa: PLR2004 - repetitions
        return None
    groups = rows.group_by("setting", "load", "read_share").agg(
        pl.col("value").log().var().alias("variance"), pl.len().alias("n")
    )
    groups = groups.filter(pl.col("n") > 1)
    weights = groups.get_column("n").to_numpy() - 1
    df = int(weights.sum())
    if df < _FEWEST_DF:
        return None
    variance = float((groups.get_column("variance").to_numpy() * weights).sum()) / df
    return Expectation(
        np.array([float(v.mean()) for v in here]),
        np.diag([variance / v.size for v in here]),
        df,
    )


def _interpolated(cells: Cells, point: Point) -> float | None:
    """Linear in log load at each share of reads, then linear in the share; None outside."""
    by_share: dict[float, list[tuple[float, float]]] = {}
    for (load, share), value in sorted(cells.items()):
        by_share.setdefault(share, []).append((math.log(load), value))
    x = math.log(point[0])
    known = [
        (share, float(np.interp(x, [a for a, _ in line], [b for _, b in line])))
        for share, line in sorted(by_share.items())
        if line[0][0] - 1e-12 <= x <= line[-1][0] + 1e-12
    ]
    if not known or not known[0][0] - 1e-12 <= point[1] <= known[-1][0] + 1e-12:
        return None
    return float(np.interp(point[1], [a for a, _ in known], [b for _, b in known]))


def _on_surface(cells: Cells, point: Point) -> float | None:
    """Second degree in log load and share of reads; None with too few cells to fit it."""
    x = np.array([math.log(load) for load, _ in cells])
    m = np.array([share for _, share in cells])
    y = np.fromiter(cells.values(), dtype=np.float64)
    powers = [
        (i, j)
        for i in range(_QUADRATIC)
        for j in range(_QUADRATIC)
        if i + j < _QUADRATIC and i < np.unique(x).size and j < np.unique(m).size
    ]
    if y.size <= len(powers):
        return None
    centre, width = float(x.mean()), float(x.std()) or 1.0
    u, v = (x - centre) / width, (math.log(point[0]) - centre) / width
    design = np.column_stack([u**i * m**j for i, j in powers])
    answer, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    if int(rank) < len(powers):
        return None
    return float(np.array([v**i * point[1] ** j for i, j in powers]) @ answer)


_PREDICT: Final[dict[Method, _Predict]] = {
    "interpolation": _interpolated,
    "regression": _on_surface,
}


@dataclass(frozen=True, eq=False)
class Trial:
    """What left-out cells said of the methods.

    ``left_out``: errors, (cells, settings), of each method on all cells that it can predict;
    ``missed``: by how much, as a factor less 1, on those ``common`` cells that all methods can.
    """

    left_out: dict[Method, _Array]
    right: dict[Method, int]
    missed: dict[Method, float]
    common: int

    def tested(self, method: Method) -> int:
        """Count the left-out cells that a method could predict."""
        return self.left_out[method].shape[0] if method in self.left_out else 0

    def error(self, method: Method) -> float | None:
        """Return by how much a method missed them; None if it could predict none."""
        return _typical(self.left_out[method]) if method in self.left_out else None

    def order(self) -> list[Method]:
        """Return the methods, the one that missed the common cells by least first."""
        return sorted(self.missed, key=lambda method: self.missed[method])


def _typical(errors: _Array) -> float:
    return math.expm1(math.sqrt(float((errors**2).mean())))


def try_methods(cells: Mapping[str, Cells], *, higher_is_better: bool) -> Trial:
    """Leave out each cell that all settings have, and predict it from the others.

    Methods are compared on the cells that both can predict.
    """
    first, *others = cells.values()
    shared = sorted(point for point in first if all(point in c for c in others))
    truth: dict[Point, _Array] = {}
    predicted: dict[Method, dict[Point, _Array]] = {method: {} for method in _PREDICT}
    for point in shared:
        truth[point] = np.array([c[point] for c in cells.values()])
        rest = [{k: v for k, v in c.items() if k != point} for c in cells.values()]
        for method, predict in _PREDICT.items():
            values = [predict(c, point) if c else None for c in rest]
            known = [v for v in values if v is not None]
            if len(known) == len(values):
                predicted[method][point] = np.array(known)
    able: dict[Method, dict[Point, _Array]] = {m: at for m, at in predicted.items() if at}
    common = [p for p in shared if all(p in points for points in able.values())]
    choose = np.argmax if higher_is_better else np.argmin
    left_out: dict[Method, _Array] = {}
    right: dict[Method, int] = {}
    missed: dict[Method, float] = {}
    for method, points in able.items():
        left_out[method] = np.array([truth[p] - points[p] for p in points])
        right[method] = sum(int(choose(truth[p])) == int(choose(points[p])) for p in points)
        # Without a cell that both can predict, each is judged by its own.
        missed[method] = _typical(np.array([truth[p] - points[p] for p in common or points]))
    return Trial(left_out, right, missed, len(common))


def modelled_expectation(
    cells: Mapping[str, Cells], point: Point, trial: Trial
) -> tuple[Method, Expectation | None]:
    """Predict by the method that missed left-out cells by least, of those that can."""
    order = trial.order()
    for method in order:
        values = [_PREDICT[method](c, point) for c in cells.values()]
        known = [v for v in values if v is not None]
        if len(known) == len(values):
            errors = trial.left_out[method]
            return method, Expectation(
                np.array(known), errors.T @ errors / errors.shape[0], errors.shape[0] - 1
            )
    return (order[0] if order else "regression"), None
