"""The published numbers, as Polars frames, and the formula behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.analysis import Estimate
from pacelc.papers.published import published_table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLES", "difference_estimate", "difference_percent", "table"]

TABLES: Final = ("table2", "table3", "averages")
_DIFFERENCES: Final[Mapping[str, pl.DataType]] = {
    "workload": pl.String(),
    "distribution": pl.String(),
    "level": pl.String(),
    "nodes": pl.Int64(),
    "replication_factor": pl.Int64(),
    "difference_percent": pl.Float64(),
}
_AVERAGES: Final[Mapping[str, pl.DataType]] = {
    "database": pl.String(),
    "workload": pl.String(),
    "level": pl.String(),
    "nodes_from": pl.Int64(),
    "stated_percent": pl.Float64(),
    "source": pl.String(),
}


def table(name: str) -> pl.DataFrame:
    """Return a published table.

    Parameters
    ----------
    name
        One of :data:`TABLES`. A mean over all levels has no level.

    Raises
    ------
    ValueError
        There is no such table.
    """
    types = _AVERAGES if name == "averages" else _DIFFERENCES
    return published_table("pacelc.papers.haughian_2016", TABLES, name, types)


def difference_percent(baseline: float, replicated: float) -> float:
    """Return the paper's difference: of the mean of both, in per cent; positive for a loss.

    Examples
    --------
    >>> difference_percent(1000, 1000), difference_percent(900, 300), difference_percent(300, 900)
    (0.0, 100.0, -100.0)
    """
    return 200 * (baseline - replicated) / (baseline + replicated)


def difference_estimate(ratio: Estimate) -> Estimate:
    """Return the difference of an estimated ratio ``replicated / baseline``."""
    ends = [None if end is None else difference_percent(1, end) for end in (ratio.high, ratio.low)]
    return Estimate(
        difference_percent(1, ratio.value),
        ends[0],
        ends[1],
        ratio.n,
        ratio.confidence,
        ratio.method,
    )
