"""Least squares and its diagnostics: the one place that speaks to statsmodels, typed.

Imported by functions, never at the top of a module: it takes a second.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.diagnostic import het_breuschpagan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Array = NDArray[np.float64]

__all__ = ["LeastSquares", "Predicted", "fit"]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Means at new rows, with the ends of both intervals, (rows,)."""

    mean: _Array
    confidence_low: _Array
    confidence_high: _Array
    prediction_low: _Array
    prediction_high: _Array
    leverage: _Array


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A fitted model; arrays are (coefficients,) or (rows,)."""

    coefficients: _Array
    standard_errors: _Array
    t: _Array
    p: _Array
    low: _Array
    high: _Array
    robust_standard_errors: _Array
    robust_p: _Array
    residuals: _Array
    fitted: _Array
    leverage: _Array
    cooks_distance: _Array
    r_squared: float
    r_squared_adjusted: float
    residual_standard_error: float
    df_residual: int
    f: float
    f_p: float
    _results: Any
    _confidence: float

    def breusch_pagan(self) -> tuple[float, float]:
        """Return statistic and p of Koenker's form, which doesn't assume normal residuals."""
        statistic, p, _, _ = het_breuschpagan(self.residuals, self._results.model.exog)
        return float(statistic), float(p)

    def predict(self, rows: _Array) -> Predicted:
        """Predict the mean, and a new observation, at rows of the design, (rows, coefficients)."""
        answer = self._results.get_prediction(rows)
        alpha = 1 - self._confidence
        confidence, prediction = (
            answer.conf_int(alpha=alpha),
            answer.conf_int(obs=True, alpha=alpha),
        )
        unscaled = np.asarray(self._results.normalized_cov_params, dtype=np.float64)
        return Predicted(
            np.asarray(answer.predicted_mean),
            *(np.asarray(ends[:, side]) for ends in (confidence, prediction) for side in (0, 1)),
            leverage=np.einsum("ij,jk,ik->i", rows, unscaled, rows),
        )


def fit(y: _Array, design: _Array, *, confidence: float) -> LeastSquares:
    """Fit ``y`` on the columns of ``design`` (the intercept's included).

    The caller has checked that the columns are independent and fewer than the rows.
    """
    # QR keeps the digits of an ill-conditioned design that the default, a pseudo-inverse, loses.
    results = OLS(y, design).fit(method="qr")
    # An exact fit has zero residuals: its t values are infinite, and that is the right answer.
    with np.errstate(divide="ignore", invalid="ignore"):
        robust = results.get_robustcov_results("HC3", use_t=True)
        influence = results.get_influence()
        ends = np.asarray(results.conf_int(alpha=1 - confidence))
        return LeastSquares(
            coefficients=np.asarray(results.params),
            standard_errors=np.asarray(results.bse),
            t=np.asarray(results.tvalues),
            p=np.asarray(results.pvalues),
            low=ends[:, 0],
            high=ends[:, 1],
            robust_standard_errors=np.asarray(robust.bse),
            robust_p=np.asarray(robust.pvalues),
            residuals=np.asarray(results.resid),
            fitted=np.asarray(results.fittedvalues),
            leverage=np.asarray(influence.hat_matrix_diag),
            cooks_distance=np.asarray(influence.cooks_distance[0]),
            r_squared=float(results.rsquared),
            r_squared_adjusted=float(results.rsquared_adj),
            residual_standard_error=float(np.sqrt(results.mse_resid)),
            df_residual=int(results.df_resid),
            f=float(results.fvalue),
            f_p=float(results.f_pvalue),
            _results=results,
            _confidence=confidence,
        )
