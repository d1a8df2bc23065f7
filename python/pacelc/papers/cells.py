"""Runs as papers speak of them: by the labels of their factors.

Start here: :func:`estimates` (one cell of a table), :func:`contrast` (one thing over another).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from pacelc.analysis import Cells, Estimate, mean_estimate, ratio_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.store import Results

    Label: TypeAlias = str | int | float
    Where: TypeAlias = Mapping[str, Label | Sequence[Label]]

__all__ = ["contrast", "estimates", "runs_where"]


def runs_where(results: Results, where: Where) -> pl.DataFrame:
    """Return the runs with those labels; none if a factor isn't in the results.

    Labels are compared as text: an option on a command line is only text.
    """
    runs = results.runs
    if not set(where) <= set(runs.columns):
        return runs.clear()
    for name, wanted in where.items():
        labels = [wanted] if isinstance(wanted, str | int | float) else list(wanted)
        runs = runs.filter(pl.col(name).cast(pl.String).is_in([str(label) for label in labels]))
    return runs


def estimates(
    results: Results, by: Sequence[str], metric: str, where: Where | None = None
) -> dict[tuple[Label, ...], Estimate]:
    """Return the mean of a metric by the labels of some factors, over runs.

    Parameters
    ----------
    results
        What :func:`pacelc.store.load` returned.
    by
        Factors; the keys hold their labels in this order.
    metric
        A column of ``Results.runs``. Runs without a value are left out.
    where
        Labels that runs must have.
    """
    values = _values(results, by, metric, where or {})
    return {labels: mean_estimate(runs) for labels, runs in values.items()}


def contrast(
    results: Results,
    metric: str,
    over: Where,
    under: Where,
    *,
    match: Sequence[str] = (),
    where: Where | None = None,
) -> Estimate | None:
    """Return the geometric mean of ``over / under`` among runs that are otherwise alike.

    Parameters
    ----------
    over, under
        Labels of either side.
    match
        Factors whose labels must be equal on both sides; every combination that both have counts
        the same.
    where
        Labels that both sides must have.

    Returns
    -------
    Estimate or None
        None if no combination has runs on both sides.
    """
    below, above = (
        _values(results, match, metric, {**(where or {}), **side}) for side in (under, over)
    )
    shared = [key for key in below if key in above]
    if not shared:
        return None
    places = tuple(float(place) for place in range(len(shared)))
    return ratio_estimate(
        Cells(places, tuple(below[key] for key in shared)),
        Cells(places, tuple(above[key] for key in shared)),
    )


def _values(
    results: Results, by: Sequence[str], metric: str, where: Where
) -> dict[tuple[Label, ...], NDArray[np.float64]]:
    """Run values by the labels of some factors."""
    runs = runs_where(results, where)
    if not {*by, metric} <= set(runs.columns):
        return {}
    found: dict[tuple[Label, ...], list[float]] = {}
    for row in runs.filter(pl.col(metric).is_not_null()).select(*by, metric).iter_rows():
        found.setdefault(row[:-1], []).append(float(row[-1]))
    return {labels: np.array(values) for labels, values in found.items()}
