"""The published numbers, as Polars frames, as they are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.papers.published import published_table

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLES", "stated", "table"]

TABLES: Final = ("table1", "table2", "table3", "table4", "table5", "stated")
_TYPES: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "table1": {"memory_gib": pl.Float64()},
    "table5": dict.fromkeys(
        (
            "throughput_error_percent",
            "write_latency_error_percent",
            "read_latency_error_percent",
        ),
        pl.Float64(),
    ),
    "stated": {"value": pl.Float64(), "printed_unit": pl.String(), "unit": pl.String()},
}


def table(name: str) -> pl.DataFrame:
    """Return a published table.

    Parameters
    ----------
    name
        One of :data:`TABLES`. What isn't applicable is null; a dash for the replication factor of
        one node, as in tables 2 and 3, is 1, as in table 5.

    Raises
    ------
    ValueError
        There is no such table.
    """
    return published_table("pacelc.papers.gandini_2014", TABLES, name, _TYPES.get(name))


def stated(quantity: str) -> float:
    """Return a number of the text, in the unit that table ``stated`` gives it.

    Raises
    ------
    ValueError
        The text has no such number.

    Examples
    --------
    >>> stated("network_round_trip")
    0.45375
    """
    found = table("stated").filter(pl.col("quantity") == quantity)
    if found.height == 0:
        raise ValueError(f"the text has no {quantity!r}")
    return float(found.item(0, "value"))
