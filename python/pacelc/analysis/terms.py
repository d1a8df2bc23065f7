"""From columns of a table to the columns of a regression's design.

Start here: :func:`build`. Numbers are taken as they are or scaled; text and truth values become
dummies, one a level but the first in sorted order, which is the reference; an interaction is the
products of its parts' columns, and brings its parts along.
"""

# ruff: noqa: RUF001 - typography: the sign of multiplication

from __future__ import annotations

import difflib
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl

from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.numerals import parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    _Array = NDArray[np.float64]

__all__ = ["INTERCEPT", "Design", "Scale", "Value", "Variable", "build", "no_such_column"]

INTERCEPT: Final = "(intercept)"
Scale = Literal["none", "max", "minmax", "standard"]
Value = str | float | int | bool
_DEPENDENT: Final = 1e-11
"""Smallest over largest singular value, of columns of length 1, at which they are dependent."""
_PART: Final = 1e-6
_MOST_NAMES: Final = 12


@dataclass(frozen=True)
class Variable:
    """How one column enters: ``(value - shift) / factor``, or dummies of ``levels``.

    Attributes
    ----------
    name
        The column.
    shift, factor
        Of a number.
    low, high
        Smallest and largest value of a number among the rows, in the column's own unit.
    levels
        Of a categorical column, sorted, the reference first; empty for a number.
    """

    name: str
    shift: float = 0.0
    factor: float = 1.0
    low: float = math.nan
    high: float = math.nan
    levels: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return not self.levels

    def columns(self, values: Sequence[Value]) -> list[tuple[str, _Array]]:
        """Return names and columns of some values."""
        if self.is_numeric:
            numbers = np.asarray([float(v) for v in values], dtype=np.float64)
            return [(self.name, (numbers - self.shift) / self.factor)]
        texts = [str(v) for v in values]
        return [
            (f"{self.name}[{level}]", np.asarray([t == level for t in texts], dtype=np.float64))
            for level in self.levels[1:]
        ]

    def check(self, value: Value) -> Value:
        """Return a value to predict at, as the column has it, or refuse it."""
        if not self.is_numeric:
            if str(value) not in self.levels:
                raise InputError(
                    f"{self.name} has no level {str(value)!r}", f"it has {', '.join(self.levels)}"
                )
            return str(value)
        try:
            return parse_number(str(value))
        except ValueError as error:
            raise InputError(
                f"{self.name}={value}: {error}", f"{self.name}={self.high:g}"
            ) from None


@dataclass(frozen=True, eq=False)
class Design:
    """The design: its columns' names, its rows, and what made them."""

    names: tuple[str, ...]
    matrix: _Array
    y: _Array
    y_variable: Variable
    variables: tuple[Variable, ...]
    interactions: tuple[tuple[str, ...], ...]
    kept: tuple[int, ...]

    def rows(self, at: Mapping[str, Sequence[Value]]) -> _Array:
        """Return rows of the design for values of the variables."""
        return _matrix(self.variables, self.interactions, at)[1]


def build(
    frame: pl.DataFrame,
    y: str,
    x: Sequence[str],
    *,
    interactions: Sequence[Sequence[str]] = (),
    scale: Scale = "none",
) -> Design:
    """Make the design of ``y`` on ``x``; rows that lack a value are left out.

    Raises
    ------
    InputError
        A column is unknown or unfit, rows are too few, or columns depend on each other (named).
    """
    x = tuple(dict.fromkeys((*x, *(name for parts in interactions for name in parts))))
    if not x:
        raise InputError("there is nothing to explain by", "name columns: --x users,write_share")
    if y in x:
        raise InputError(f"{y} can't explain itself", "leave it out of x")
    for name in (y, *x):
        if name not in frame.columns:
            raise no_such_column(name, frame.columns)
    used = frame.select(
        pl.Series("_row", range(frame.height), dtype=pl.Int64), *(pl.col(n) for n in (y, *x))
    )
    for name in (y, *x):
        used = _usable(used, name)
    used = used.drop_nulls()
    if used.schema[y] == pl.String:
        raise InputError(f"y must be a number; {y} is text", "give it to --x, or use another y")
    variables = tuple(_variable(used, name, scale) for name in x)
    interactions = tuple(tuple(parts) for parts in interactions)
    names, matrix = _matrix(variables, interactions, used.to_dict(as_series=False))
    if used.height <= len(names):
        raise InputError(
            f"to tell {counted(len(names), 'coefficient')} takes at least "
            f"{counted(len(names) + 1, 'row')} with all values; there "
            f"{'is' if used.height == 1 else 'are'} {used.height}",
            "use fewer columns, or more runs",
        )
    y_variable = _variable(used, y, scale)
    if y_variable.low == y_variable.high:
        raise InputError(f"{y} is {y_variable.low:g} in every row: there is nothing to explain")
    _refuse_dependent(names, matrix)
    ((_, y_column),) = y_variable.columns(used.get_column(y).to_list())
    kept = tuple(int(i) for i in used.get_column("_row"))
    return Design(names, matrix, y_column, y_variable, variables, interactions, kept)


def no_such_column(name: str, columns: Sequence[str]) -> InputError:
    """Say that there is no such column, and which may have been meant."""
    close = difflib.get_close_matches(name, columns, n=1)
    few = sorted(columns) if len(columns) <= _MOST_NAMES else []
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(few)}" if few else None
    return InputError(f"there is no column {name!r}", hint or "--columns lists them")


def _usable(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    kind = frame.schema[name]
    if kind.is_numeric():
        number = pl.col(name).cast(pl.Float64)
        return frame.with_columns(pl.when(number.is_finite()).then(number).alias(name))
    if isinstance(kind, pl.String | pl.Boolean | pl.Categorical | pl.Enum):
        return frame.with_columns(pl.col(name).cast(pl.String))
    raise InputError(
        f"the column {name!r} holds neither numbers nor text", "--columns lists those that do"
    )


def _variable(frame: pl.DataFrame, name: str, scale: Scale) -> Variable:
    column = frame.get_column(name)
    if column.dtype == pl.String:
        # A constant has one level and no column of its own: it would be the intercept.
        levels = sorted(set(column.to_list()))
        if len(levels) <= 1:
            only = f" ({levels[0]})" if levels else ""
            raise InputError(f"{name} has only one level{only}", "leave it out of x")
        return Variable(name, levels=tuple(levels))
    values = column.to_numpy().astype("float64")
    if values.size == 0:
        return Variable(name)
    low, high = float(values.min()), float(values.max())
    shift, factor = 0.0, 1.0
    if scale == "max":
        factor = max(abs(low), abs(high))
    elif scale == "minmax":
        shift, factor = low, high - low
    elif scale == "standard" and values.size > 1:
        shift, factor = float(values.mean()), float(values.std(ddof=1))
    # A column that doesn't vary can't be scaled; it is refused as dependent on the intercept.
    return Variable(name, shift, factor or 1.0, low, high)


def _matrix(
    variables: Sequence[Variable],
    interactions: Sequence[Sequence[str]],
    values: Mapping[str, Sequence[Value]],
) -> tuple[tuple[str, ...], _Array]:
    parts = {v.name: v.columns(values[v.name]) for v in variables}
    rows = len(values[variables[0].name])
    columns = [(INTERCEPT, np.ones(rows)), *itertools.chain.from_iterable(parts.values())]
    for names in interactions:
        columns.extend(
            (
                " × ".join(name for name, _ in product),
                np.prod([column for _, column in product], axis=0),
            )
            for product in itertools.product(*(parts[name] for name in names))
        )
    return tuple(name for name, _ in columns), np.column_stack([column for _, column in columns])


def _refuse_dependent(names: Sequence[str], matrix: _Array) -> None:
    lengths = np.linalg.norm(matrix, axis=0)
    if (lengths == 0).any():
        name = names[int(np.argmin(lengths))]
        raise InputError(f"{name} is 0 in every row", "leave it out")
    _, sizes, directions = np.linalg.svd(matrix / lengths, full_matrices=False)
    if sizes[-1] > _DEPENDENT * sizes[0]:
        return
    # The direction in which the design has no extent: the columns with a part in it depend on
    # each other.
    involved = [n for n, part in zip(names, directions[-1], strict=True) if abs(part) > _PART]
    others = [name for name in involved if name != INTERCEPT]
    if len(others) == 1:
        raise InputError(f"{others[0]} is the same in every row", "leave it out of x")
    constant = " and a constant" if INTERCEPT in involved else ""
    raise InputError(
        f"{', '.join(others)}: each is a linear combination of the others{constant}",
        "leave one of them out",
    )
