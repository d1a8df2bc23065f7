"""The published numbers, as Polars frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.papers.published import published_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TABLES", "table"]

TABLES: Final = ("table5", "table6", "table7", "table8", "points", "peaks")


def table(name: str) -> pl.DataFrame:
    """Return a published table.

    Parameters
    ----------
    name
        One of :data:`TABLES`.

    Raises
    ------
    ValueError
        There is no such table.
    """
    return published_table("pacelc.papers.ferreira_2024", TABLES, name)
