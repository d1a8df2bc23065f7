"""Runs as papers speak of them: by the labels of their factors.

Start here: :func:`estimates` (one cell of a table), :func:`contrast` (one thing over another),
:func:`words` (labels as they are read).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import polars as pl

from pacelc.analysis import Cells, Estimate, mean_estimate, ratio_estimate
from pacelc.databases import display_name
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.store import Results

    Label: TypeAlias = str | int | float
    Where: TypeAlias = Mapping[str, Label | Sequence[Label]]

__all__ = ["contrast", "estimates", "runs_where", "words"]

_NOUNS: Final = {
    "cores": "core",
    "nodes": "node",
    "records": "record",
    "replication": "copy",
    "users": "user",
}
_REGIONS: Final = {"single": "one region", "multi": "several regions"}
_IN_WORDS: Final[Mapping[str, Callable[[str], str]]] = {
    "consistency": lambda label: f"{label} consistency" if label.islower() else label,
    "database": display_name,
    "deployment": lambda label: _REGIONS.get(label, label),
    "operation": lambda label: f"{label}s",
    "workload": lambda label: f"workload {label.rpartition('-')[2].upper()}",
}


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
    results: Results,
    by: Sequence[str],
    metric: str,
    where: Where | None = None,
    *,
    most: float = math.inf,
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
    most
        What the metric can't exceed.
    """
    values = _values(results, by, metric, where or {})
    return {labels: mean_estimate(runs, most=most) for labels, runs in values.items()}


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


def words(where: Where) -> str:
    """Return labels as they are read.

    Examples
    --------
    >>> words({"database": "mongodb", "workload": "ycsb-a", "users": [1, 8], "operation": "read"})
    'MongoDB, workload A, 1 or 8 users, reads'
    """
    return ", ".join(_word(name, label) for name, label in where.items())


def _word(name: str, label: Label | Sequence[Label]) -> str:
    if not isinstance(label, str | int | float):
        *others, last = (_word(name, one) for one in label)
        return " or ".join((*(one.partition(" ")[0] for one in others), last))
    if name in _IN_WORDS:
        return _IN_WORDS[name](str(label))
    if name in _NOUNS:
        return (
            f"{label} {_NOUNS[name]}s" if isinstance(label, str) else counted(label, _NOUNS[name])
        )
    return str(label)
