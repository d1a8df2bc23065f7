"""Tables 11 to 13 beside what the paper's own records give."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

import polars as pl

from pacelc.papers.vyas_2022.equations import EQUATIONS
from pacelc.papers.vyas_2022.tables import coefficients

if TYPE_CHECKING:
    from pacelc.analysis.regression import Regression

__all__ = ["against_published", "rounded_as"]

_INTERCEPT = "(intercept)"


def against_published(equation: int, regression: Regression) -> pl.DataFrame:
    """Return the printed figures beside those of a regression, rounded to as many digits.

    Returns
    -------
    DataFrame
        ``term, variable``; ``coefficient, standard_error, p_value`` as printed, the same with
        ``_here``; ``agrees``: all three, to the last printed digit.
    """
    rows: list[dict[str, str | bool]] = []
    for row in coefficients(equation).iter_rows(named=True):
        name = _INTERCEPT if row["variable"] == "intercept" else row["variable"]
        fitted = regression.coefficient(name)
        here = {
            "coefficient": fitted.value,
            "standard_error": fitted.standard_error,
            "p_value": fitted.p,
        }
        rounded = {column: rounded_as(value, row[column]) for column, value in here.items()}
        rows.append(
            {
                "term": row["term"],
                "variable": name,
                **{column: row[column] for column in here},
                **{f"{column}_here": text for column, text in rounded.items()},
                "agrees": all(Decimal(rounded[c]) == Decimal(row[c]) for c in here),
            }
        )
    if len(rows) != len(EQUATIONS[equation].x) + 1:
        raise ValueError(f"equation {equation}: the printed terms are not the equation's")
    return pl.DataFrame(rows)


def rounded_as(value: float, printed: str) -> str:
    """Round a value to the last digit of a printed one.

    Examples
    --------
    >>> rounded_as(0.517287, "0.5173"), rounded_as(1.16588e-27, "1.166E-27")
    ('0.5173', '1.166E-27')
    """
    digit = Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))
    rounded = Decimal(repr(value)).quantize(digit, rounding=ROUND_HALF_UP)
    return str(rounded) if "E" in printed else f"{rounded:f}"
