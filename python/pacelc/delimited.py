"""Text in columns (CSV, tab-separated): the one reader for all files of that kind.

The first line names the columns. There are no comments and no empty lines but at the end: what
other programs would read in another way is refused, with its line.

Map
---
Row             the cells of a line, and its number
parse_rows      text → rows, all as long as the first
parse_table     text → the first row's names, and the rows below
read_frame      a file → a data frame: columns of numbers, and columns of text
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.names import counted
from pacelc.numerals import parse_number, parse_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

__all__ = ["Row", "parse_rows", "parse_table", "read_frame"]

T = TypeVar("T")

_SHORTER = "keep only the columns that are asked for, and a row a run: its mean, not its operations"
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}


class Row(NamedTuple):
    """A line's cells, without blanks around them, and its number, counted from 1."""

    line: int
    cells: list[str]


def parse_rows(
    text: str, name: str, separator: str = ",", kind: type[InputError] = InputError
) -> list[Row]:
    r"""Return the rows of ``text``; ``name`` is what errors begin with.

    Raises
    ------
    InputError
        Of that ``kind``, with the line: a row has more or fewer cells than the first, is empty, or
        is a comment.

    Examples
    --------
    >>> parse_rows("a,b\n1, 2\n\n", "t.csv")
    [Row(line=1, cells=['a', 'b']), Row(line=2, cells=['1', '2'])]
    """
    rows: list[Row] = []
    empty = 0
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    begin = 1
    try:
        for cells in reader:
            line, begin = begin, reader.line_num + 1
            if not any(cell.strip() for cell in cells) and len(cells) < 2:  # noqa: PLR2004
                empty = empty or line
                continue
            if empty:
                raise kind(f"{name}:{empty}: the line is empty", "remove it")
            if cells[0].startswith("#"):
                raise kind(
                    f"{name}:{line}: begins with #, and such a file has no comments",
                    "remove it, or begin the text otherwise",
                )
            if rows and len(cells) != len(rows[0].cells):
                raise kind(
                    f"{name}:{line}: should have {counted(len(rows[0].cells), 'value')}, "
                    f"not {len(cells)}"
                )
            rows.append(Row(line, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise kind(f"{name}:{begin}: {error}") from None
    return rows


def parse_table(
    text: str, name: str, kind: type[InputError] = InputError
) -> tuple[list[str], list[Row]]:
    """Return the names of the columns, which the first row has, and the rows below.

    Raises
    ------
    InputError
        Of that ``kind``, with the line: no rows can be read, or a column has no name, or another's.
    """
    rows = parse_rows(text, name, kind=kind)
    if not rows:
        raise kind(f"{name}: the file is empty", "its first line names the columns")
    names = rows[0].cells
    if len(names) == 1:
        for separator, word in _OTHER_SEPARATORS.items():
            if separator in names[0]:
                raise kind(
                    f"{name}:1: the columns are separated by {word}",
                    "separate them by commas, and write 1.5 for one and a half",
                )
    for place, column in enumerate(names):
        if not column:
            raise kind(f"{name}:1: column {place + 1} has no name")
        if column in names[:place]:
            raise kind(
                f"{name}:1: two columns are named {column!r}: {names.index(column) + 1} and "
                f"{place + 1}",
                "rename or remove one",
            )
    return names, rows[1:]


def read_frame(path: Path) -> pl.DataFrame:
    """Return the table in a file; an empty cell is null.

    A column in which all that isn't empty is a number holds numbers, any other text.

    Raises
    ------
    InputError
        The file can't be read, or holds no table.
    """
    import polars as pl  # noqa: PLC0415 - it takes long to import, and rows need none

    names, rows = parse_table(read_text(path, hint_if_long=_SHORTER), str(path))
    frame: dict[str, pl.Series] = {}
    for place, column in enumerate(names):
        cells = [row.cells[place] for row in rows]
        whole = _all(cells, parse_whole)
        numbers = None if whole is not None else _all(cells, parse_number)
        if whole is not None:
            frame[column] = pl.Series(column, whole, dtype=pl.Int64)
        elif numbers is not None:
            frame[column] = pl.Series(column, numbers, dtype=pl.Float64)
        else:
            frame[column] = pl.Series(column, [cell or None for cell in cells], dtype=pl.String)
    return pl.DataFrame(frame)


def _all(cells: list[str], parse: Callable[[str], T]) -> list[T | None] | None:
    """Return the cells' values, None for the empty ones; None if one can't be read, or all are."""
    if not any(cells):
        return None
    try:
        return [parse(cell) if cell else None for cell in cells]
    except ValueError:
        return None
