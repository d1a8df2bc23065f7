"""An exhibit: a table or a figure of a paper, made again from new runs.

Start here: :class:`TableExhibit`, :class:`FigureExhibit`; :func:`beside` makes a table that has
the published numbers next to those of the runs. A paper's package lists its own as ``EXHIBITS`` in
its module ``exhibits``. The report shows the exhibits that a study's name has; it knows no paper.
"""

# ruff: noqa: RUF001 - typography: the sign of multiplication

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from pacelc.analysis.estimate import format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import altair as alt

    from pacelc.analysis import Estimate
    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

    Key: TypeAlias = tuple[tuple[str, ...], str]

__all__ = ["Cell", "Exhibit", "FigureExhibit", "Table", "TableExhibit", "beside"]


@dataclass(frozen=True)
class Cell:
    """What one cell of a table shows.

    Attributes
    ----------
    text
        As printed.
    best
        Whether it is the best of its row.
    certain
        Whether the runs show that it is: its interval lies wholly to the better side of all others.
    """

    text: str
    best: bool = False
    certain: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """A table, as it is shown and as data.

    Attributes
    ----------
    labels
        Heads of the leading columns.
    columns
        Heads of the others, each with the heads below it.
    rows
        Labels first.
    frame
        One row a cell: the labels, ``column, published``, an estimate (``value, low, high, n,
        method``), and the marks.
    """

    labels: tuple[str, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    rows: tuple[tuple[Cell, ...], ...]
    frame: pl.DataFrame


@dataclass(frozen=True)
class TableExhibit:
    """A table of a paper.

    Attributes
    ----------
    name
        Of its file.
    title
        What it shows.
    source
        Where the paper has it: ``table 6``.
    caption
        How to read it.
    build
        Makes it; None if the runs hold nothing of it.
    """

    name: str
    title: str
    source: str
    caption: str
    build: Callable[[Evidence], Table | None]


@dataclass(frozen=True)
class FigureExhibit:
    """A figure of a paper.

    Attributes
    ----------
    name, title, source, caption
        As of a :class:`TableExhibit`.
    draw
        Draws it in a style; raises ``NothingToDraw`` if the runs hold nothing of it.
    """

    name: str
    title: str
    source: str
    caption: str
    draw: Callable[[Evidence, Style], alt.TopLevelMixin]


Exhibit: TypeAlias = TableExhibit | FigureExhibit


def beside(
    labels: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    columns: Sequence[str],
    published: Mapping[Key, float],
    measured: Mapping[Key, Estimate],
    *,
    ratio: bool = False,
    best: Callable[[tuple[str, ...]], Literal["lowest", "highest"] | None] = lambda _: None,
) -> Table | None:
    """Make a table with published numbers next to measured ones.

    Rows and columns of which nothing was measured are left out; a cell that only one side has is
    empty on the other.

    Parameters
    ----------
    labels
        Heads of the rows' labels.
    rows, columns
        In their order.
    published, measured
        By row and column.
    ratio
        Whether to show measured over published.
    best
        Of a row: which end is marked on either side.

    Returns
    -------
    Table or None
        None if nothing was measured.
    """
    rows = [row for row in rows if any((row, column) in measured for column in columns)]
    columns = [column for column in columns if any((row, column) in measured for row in rows)]
    if not rows:
        return None
    shown: list[tuple[Cell, ...]] = []
    data: list[dict[str, Any]] = []
    for row in rows:
        cells = [Cell(label) for label in row]
        here = {c: measured[row, c] for c in columns if (row, c) in measured}
        theirs = {c: published[row, c] for c in columns if (row, c) in published}
        sign = {"lowest": 1, "highest": -1, None: 0}[best(row)]
        best_here = min(here, key=lambda c: sign * here[c].value) if sign else None
        best_theirs = min(theirs, key=lambda c: sign * theirs[c]) if sign and theirs else None
        certain = best_here is not None and _apart(best_here, here, sign)
        for column in columns:
            mine, other = here.get(column), theirs.get(column)
            is_best = len(here) > 1 and column == best_here
            cells.append(
                Cell(
                    "" if other is None else format_number(other),
                    best=len(theirs) > 1 and column == best_theirs,
                )
            )
            cells.append(Cell("" if mine is None else str(mine), is_best, is_best and certain))
            over = None if mine is None or not other else mine.value / other
            if ratio:
                cells.append(Cell("" if over is None else f"× {format_number(over)}"))
            data.append(
                {
                    **dict(zip(labels, row, strict=True)),
                    "column": column,
                    "published": other,
                    "value": None if mine is None else mine.value,
                    "low": None if mine is None else mine.low,
                    "high": None if mine is None else mine.high,
                    "n": None if mine is None else mine.n,
                    "method": None if mine is None else mine.method,
                    **({"ratio": over} if ratio else {}),
                    **(
                        {
                            "best_published": len(theirs) > 1 and column == best_theirs,
                            "best_here": is_best,
                            "best_here_certain": is_best and certain,
                        }
                        if sign
                        else {}
                    ),
                }
            )
        shown.append(tuple(cells))
    below = ("published", "here", *(("here / published",) if ratio else ()))
    return Table(
        tuple(labels),
        tuple((column, below) for column in columns),
        tuple(shown),
        pl.DataFrame(data, infer_schema_length=None),
    )


def _apart(chosen: str, cells: Mapping[str, Estimate], sign: int) -> bool:
    """Whether the chosen cell's interval lies wholly to the better side of all others'."""
    mine = cells[chosen]
    others = [estimate for column, estimate in cells.items() if column != chosen]
    return bool(others) and all(
        mine.low is not None
        and mine.high is not None
        and other.low is not None
        and other.high is not None
        and (mine.high < other.low if sign > 0 else mine.low > other.high)
        for other in others
    )
