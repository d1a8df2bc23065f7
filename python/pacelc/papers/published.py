"""Published numbers: tables kept as CSV beside the code of their paper."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["published_table"]


def published_table(
    package: str,
    tables: Sequence[str],
    name: str,
    types: Mapping[str, pl.DataType] | None = None,
) -> pl.DataFrame:
    """Return table ``name`` of the paper whose data are in ``package``.

    Parameters
    ----------
    package
        Such as ``pacelc.papers.vyas_2022``.
    tables
        Those that there are.
    name
        One of them.
    types
        Of columns whose type can't be told from their text.

    Raises
    ------
    ValueError
        There is no such table.
    """
    if name not in tables:
        raise ValueError(f"no table {name!r}; there are {', '.join(tables)}")
    text = resources.files(package).joinpath(f"{name}.csv").read_bytes()
    return pl.read_csv(text, schema_overrides=None if types is None else dict(types))
