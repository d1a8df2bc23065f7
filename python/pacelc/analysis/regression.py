"""Multiple regression, with what weakens it said beside it.

Start here: :func:`regress`, then :meth:`Regression.predict`.

t and p don't depend on the unit or the scale of a column (of its shift neither, without
interactions); coefficients and their errors do. The intervals assume independent rows with normal
errors of one variance: where the checks speak against that, a :class:`Caution` says so.

Sources: Breusch and Pagan 1979 in the form of Koenker 1981; MacKinnon and White 1985 (HC3); Shapiro
and Wilk 1965; Cook 1977; Ramsey 1969 (RESET, with second and third
powers); Belsley, Kuh and Welsch 1980 (condition number of columns of length 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from scipy import stats

from pacelc.analysis.terms import Design, Scale, Value, build
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from pacelc.analysis.ols import LeastSquares

    _Array = NDArray[np.float64]

__all__ = [
    "Caution",
    "Coefficient",
    "Prediction",
    "Regression",
    "ResidualSummary",
    "regress",
]

ALPHA: Final = 0.05
VIF: Final = 10.0
"""Beyond it, a coefficient's variance is ten times what it would be with unrelated columns."""
CONDITION: Final = 30.0
COOK: Final = 0.5
_RESET_DF: Final = 4
_EXACT: Final = 1e-10
"""Residual over total standard deviation below which a fit is exact but for rounding."""
_SHAPIRO_MOST: Final = 5000


@dataclass(frozen=True)
class Caution:
    """Something that weakens a regression.

    ``kind`` is one of ``collinearity``, ``linearity``, ``normality``, ``heteroscedasticity``,
    ``influence``, ``extrapolation``, ``unit`` (what a row is), ``runs`` (their warnings),
    ``model``, ``exact``, ``rows``.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Coefficient:
    """One coefficient; ``low, high`` are the ends of its interval, ``vif`` the intercept lacks."""

    name: str
    value: float
    standard_error: float
    t: float
    p: float
    low: float
    high: float
    robust_standard_error: float
    robust_p: float
    vif: float | None


@dataclass(frozen=True)
class ResidualSummary:
    """Quartiles of the residuals and their standard error, in y's unit (or its scale)."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    standard_error: float


@dataclass(frozen=True)
class Prediction:
    """What the regression expects at one point, in y's own unit.

    The confidence interval is of the mean there; the prediction interval of one new row.
    """

    at: dict[str, Value]
    value: float
    confidence_low: float
    confidence_high: float
    prediction_low: float
    prediction_high: float
    leverage: float
    cautions: tuple[Caution, ...]


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression.

    Attributes
    ----------
    y
        The column that is explained.
    n, left_out, df
        Rows used, rows left out since they lack a value, degrees of freedom of the residuals.
    scale
        How numbers were scaled, y included.
    confidence
        Of all intervals.
    coefficients
        The intercept first.
    r_squared, r_squared_adjusted, f, f_p
        Of the whole.
    residuals
        Their summary.
    shapiro_p, breusch_pagan_p, reset_p
        Of normal residuals, of one variance, of a linear relation; None if the fit is exact or
        there are too few rows (more than 5,000 for the first) to test it.
    condition_number
        Of the design, columns of length 1.
    largest_influence
        Row and Cook's distance of the row that moves the coefficients most.
    cautions
        What weakens it.
    """

    y: str
    n: int
    left_out: int
    df: int
    scale: Scale
    confidence: float
    coefficients: tuple[Coefficient, ...]
    r_squared: float
    r_squared_adjusted: float
    f: float
    f_p: float
    residuals: ResidualSummary
    shapiro_p: float | None
    breusch_pagan_p: float | None
    reset_p: float | None
    condition_number: float
    largest_influence: tuple[str, float]
    cautions: tuple[Caution, ...]
    design: Design
    fit: LeastSquares
    labels: tuple[str, ...]

    @property
    def heteroscedastic(self) -> bool:
        """Whether the robust errors are the ones to read."""
        return self.breusch_pagan_p is not None and self.breusch_pagan_p < ALPHA

    def coefficient(self, name: str) -> Coefficient:
        """Return a coefficient by its name."""
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise KeyError(name)

    def predict(self, at: Mapping[str, Value]) -> Prediction:
        """Predict at one point, given in the columns' own units.

        Raises
        ------
        InputError
            A variable is missing, unknown, or no value of its column.
        """
        variables = {v.name: v for v in self.design.variables}
        for name in at:
            if name not in variables:
                raise InputError(
                    f"{name} is not in this regression", f"it has {', '.join(variables)}"
                )
        missing = [name for name in variables if name not in at]
        if missing:
            raise InputError(
                f"a prediction needs a value of {', '.join(missing)}",
                f"--predict {','.join(f'{name}=…' for name in variables)}",
            )
        point = {name: variables[name].check(value) for name, value in at.items()}
        row = self.design.rows({name: [value] for name, value in point.items()})
        answer = self.fit.predict(row)
        y = self.design.y_variable

        def own_unit(array: _Array) -> float:
            return float(array[0]) * y.factor + y.shift

        leverage = float(answer.leverage[0])
        return Prediction(
            at=point,
            value=own_unit(answer.mean),
            confidence_low=own_unit(answer.confidence_low),
            confidence_high=own_unit(answer.confidence_high),
            prediction_low=own_unit(answer.prediction_low),
            prediction_high=own_unit(answer.prediction_high),
            leverage=leverage,
            cautions=tuple(self._extrapolation(point, leverage)),
        )

    def _extrapolation(self, point: Mapping[str, Value], leverage: float) -> list[Caution]:
        outside = [
            f"{v.name}={float(point[v.name]):g} is outside {v.low:g} … {v.high:g}"
            for v in self.design.variables
            if v.is_numeric and not v.low <= float(point[v.name]) <= v.high
        ]
        if outside:
            return [Caution("extrapolation", f"{'; '.join(outside)}: nothing was measured there")]
        largest = float(self.fit.leverage.max())
        if leverage > largest * (1 + 1e-9):
            return [
                Caution(
                    "extrapolation",
                    "each value is within its range, but no row is like their combination "
                    f"(leverage {leverage:.2g}, the rows' largest is {largest:.2g})",
                )
            ]
        return []

    def as_document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it: what isn't finite is null."""
        return {
            "y": self.y,
            "n": self.n,
            "left_out": self.left_out,
            "df": self.df,
            "scale": self.scale,
            "confidence": self.confidence,
            "coefficients": [plain(c) for c in self.coefficients],
            "r_squared": finite(self.r_squared),
            "r_squared_adjusted": finite(self.r_squared_adjusted),
            "f": finite(self.f),
            "f_p": finite(self.f_p),
            "residuals": plain(self.residuals),
            "shapiro_wilk_p": self.shapiro_p,
            "breusch_pagan_p": self.breusch_pagan_p,
            "reset_p": self.reset_p,
            "condition_number": finite(self.condition_number),
            "largest_influence": {
                "row": self.largest_influence[0],
                "cooks_distance": finite(self.largest_influence[1]),
            },
            "cautions": [plain(c) for c in self.cautions],
        }


def regress(
    frame: pl.DataFrame,
    y: str,
    x: Sequence[str],
    *,
    interactions: Sequence[Sequence[str]] = (),
    scale: Scale = "none",
    labels: Sequence[str] = (),
    cautions: Sequence[Caution] = (),
    confidence: float = 0.95,
) -> Regression:
    """Ordinary least squares of ``y`` on ``x``.

    Parameters
    ----------
    frame
        One row an observation.
    y, x
        Columns. Numbers enter as they are, text as dummies against its first level in sorted order.
    interactions
        Columns to multiply; each also enters by itself.
    scale
        Of all numbers, y included: ``max`` (over the largest absolute value), ``minmax`` (0 to 1),
        ``standard`` (mean 0, standard deviation 1).
    labels
        Names of the rows, for cautions; by default their numbers.
    cautions
        What is known to weaken it already, from where the rows came.

    Raises
    ------
    InputError
        A column is unknown or unfit, rows are too few, or columns depend on each other (named).

    Examples
    --------
    >>> from pacelc.papers import vyas_2022
    >>> read = vyas_2022.EQUATIONS[3]
    >>> fitted = regress(vyas_2022.mixed(), read.y, read.x)
    >>> [round(c.value, 4) for c in fitted.coefficients]
    [0.1598, -0.1257, 0.8071, -0.0708]
    """
    from pacelc.analysis.ols import fit  # noqa: PLC0415 - statsmodels takes a second to import

    design = build(frame, y, x, interactions=interactions, scale=scale)
    names = tuple(labels) if labels else tuple(f"row {i + 1}" for i in range(frame.height))
    kept = tuple(names[i] for i in design.kept)
    fitted = fit(design.y, design.matrix, confidence=confidence)
    spread = float(design.y.std())
    exact = fitted.residual_standard_error <= _EXACT * max(spread, float(np.abs(design.y).max()))
    inflation = _variance_inflation(design.matrix)
    condition = _condition_number(design.matrix)
    shapiro_p = (
        None
        if exact or design.y.size > _SHAPIRO_MOST
        else float(stats.shapiro(fitted.residuals).pvalue)
    )
    breusch_pagan_p = None if exact else fitted.breusch_pagan()[1]
    reset_p = None if exact else _reset_p(design, fitted)
    distances = np.zeros(design.y.size) if exact else np.nan_to_num(fitted.cooks_distance)
    most = int(np.argmax(distances))
    coefficients = tuple(
        _coefficient(fitted, name, i, inflation[i]) for i, name in enumerate(design.names)
    )
    influence = (kept[most], float(distances[most]))
    left_out = frame.height - len(kept)
    found = [
        *cautions,
        *_missing(left_out),
        *_collinear(coefficients, condition),
        *([Caution("exact", "the fit is exact: errors, t and p say nothing")] if exact else []),
        *_linearity(reset_p),
        *_distribution(shapiro_p, breusch_pagan_p),
        *_influence(influence, design.y.size),
    ]
    return Regression(
        y,
        len(kept),
        left_out,
        fitted.df_residual,
        scale,
        confidence,
        coefficients,
        fitted.r_squared,
        fitted.r_squared_adjusted,
        fitted.f,
        fitted.f_p,
        _summary(fitted),
        shapiro_p,
        breusch_pagan_p,
        reset_p,
        condition,
        influence,
        tuple(found),
        design,
        fitted,
        kept,
    )


def finite(value: float | None) -> float | None:
    """Return a value that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def plain(record: object) -> dict[str, Any]:
    """Return a record (a dataclass of this package) as JSON can hold it."""
    return {name: _plain(value) for name, value in vars(record).items()}


def _plain(value: object) -> object:
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        return [plain(part) for part in parts]
    return value


def _coefficient(fitted: LeastSquares, name: str, i: int, vif: float | None) -> Coefficient:
    return Coefficient(
        name=name,
        value=float(fitted.coefficients[i]),
        standard_error=float(fitted.standard_errors[i]),
        t=float(fitted.t[i]),
        p=float(fitted.p[i]),
        low=float(fitted.low[i]),
        high=float(fitted.high[i]),
        robust_standard_error=float(fitted.robust_standard_errors[i]),
        robust_p=float(fitted.robust_p[i]),
        vif=vif,
    )


def _summary(fitted: LeastSquares) -> ResidualSummary:
    low, q1, median, q3, high = (
        float(np.quantile(fitted.residuals, q)) for q in (0, 0.25, 0.5, 0.75, 1)
    )
    return ResidualSummary(low, q1, median, q3, high, fitted.residual_standard_error)


def _variance_inflation(matrix: _Array) -> list[float | None]:
    """Return the factor of each column; the intercept, first, has none."""
    columns = matrix[:, 1:]
    if columns.shape[1] == 1:
        return [None, 1.0]
    inverse = np.asarray(np.linalg.inv(np.corrcoef(columns, rowvar=False)), dtype=np.float64)
    return [None, *(float(inverse[i, i]) for i in range(columns.shape[1]))]


def _condition_number(matrix: _Array) -> float:
    sizes = np.linalg.svd(matrix / np.linalg.norm(matrix, axis=0), compute_uv=False)
    return float(sizes[0] / sizes[-1])


def _reset_p(design: Design, fitted: LeastSquares) -> float | None:
    """Test whether powers of the fitted values explain what the columns left."""
    y, spread = design.y, float(fitted.fitted.std())
    if fitted.df_residual <= _RESET_DF or spread == 0:
        return None
    z = (fitted.fitted - fitted.fitted.mean()) / spread
    wider = np.column_stack([design.matrix / np.linalg.norm(design.matrix, axis=0), z**2, z**3])
    rank = int(np.linalg.matrix_rank(wider))
    answer = np.asarray(np.linalg.lstsq(wider, y, rcond=None)[0], dtype=np.float64)
    added = rank - int(design.matrix.shape[1])
    df = y.size - rank
    if added <= 0 or df <= 0:
        return None
    left = float(((y - wider @ answer) ** 2).sum())
    if left <= 0:
        return None
    gain = float((fitted.residuals**2).sum()) - left
    ratio = max(gain, 0.0) / added / (left / df)
    return float(stats.f.sf(ratio, added, df))


def _linearity(reset_p: float | None) -> list[Caution]:
    if reset_p is None or reset_p >= ALPHA:
        return []
    return [
        Caution(
            "linearity",
            f"the relation isn't linear (RESET p = {p_text(reset_p)}): coefficients are averages "
            "over the range, and prediction intervals are too narrow",
        )
    ]


def _missing(left_out: int) -> list[Caution]:
    if not left_out:
        return []
    return [Caution("rows", f"{counted(left_out, 'row')} without a value left out")]


def _collinear(coefficients: Sequence[Coefficient], condition: float) -> list[Caution]:
    high = [c for c in coefficients if c.vif is not None and c.vif > VIF]
    if high:
        names = ", ".join(f"{c.name} {c.vif:.3g}" for c in high)
        return [
            Caution(
                "collinearity",
                f"columns are collinear (variance inflation: {names}; condition number "
                f"{condition:.3g}): their coefficients can't be separated well",
            )
        ]
    if condition > CONDITION:
        return [
            Caution(
                "collinearity",
                f"condition number {condition:.3g}: columns, the constant included, are nearly "
                "dependent",
            )
        ]
    return []


def _distribution(shapiro_p: float | None, breusch_pagan_p: float | None) -> list[Caution]:
    found: list[Caution] = []
    if shapiro_p is not None and shapiro_p < ALPHA:
        found.append(
            Caution(
                "normality",
                f"the residuals aren't normal (Shapiro-Wilk p = {p_text(shapiro_p)}): p-values "
                "are approximate, prediction intervals more so",
            )
        )
    if breusch_pagan_p is not None and breusch_pagan_p < ALPHA:
        found.append(
            Caution(
                "heteroscedasticity",
                "the residuals' spread isn't the same everywhere (Breusch-Pagan p = "
                f"{p_text(breusch_pagan_p)}): read the robust errors (HC3)",
            )
        )
    return found


def _influence(largest: tuple[str, float], n: int) -> list[Caution]:
    row, distance = largest
    if distance < COOK:
        return []
    return [
        Caution(
            "influence",
            f"one of {counted(n, 'row')} dominates the coefficients: {row} (Cook's distance "
            f"{distance:.2g})",
        )
    ]


def p_text(p: float) -> str:
    """Print a p-value: two figures, and a power of ten where it is small.

    Examples
    --------
    >>> p_text(0.2309), p_text(0.00067), p_text(2.57e-13), p_text(0.0)
    ('0.23', '0.00067', '2.6e-13', '0')
    """
    if not math.isfinite(p):
        return "-"
    return f"{p:.2g}" if p < 0.1 else f"{p:.2f}"  # noqa: PLR2004
