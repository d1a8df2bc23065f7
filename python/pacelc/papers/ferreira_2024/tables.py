"""The published numbers, as Polars frames."""

from __future__ import annotations

from importlib import resources
from typing import Final

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
    if name not in TABLES:
        raise ValueError(f"no table {name!r}; there are {', '.join(TABLES)}")
    return pl.read_csv(
        resources.files("pacelc.papers.ferreira_2024").joinpath(f"{name}.csv").read_bytes()
    )
