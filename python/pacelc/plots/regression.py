"""What a regression left unexplained, drawn.

residual_checks       residuals by fitted value, their normal quantiles, each row's influence
residuals_by_column   residuals by each number that explains: a bend is a relation missed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
import numpy as np
import polars as pl
from scipy import stats

from pacelc.names import counted
from pacelc.plots.figures import NothingToDraw
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis.regression import Regression

    _Panel = alt.Chart | alt.LayerChart | alt.FacetChart

__all__ = ["residual_checks", "residuals_by_column"]

_PANEL: Final = (240, 190)
_QUIET: Final = "#666666"
_WINDOW: Final = 0.3
_FEW: Final = 12
"""Values below which a column is one of steps, and its means say more than a running one."""


def residual_checks(regression: Regression, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw residuals by fitted value, their normal quantiles, and Cook's distances."""
    fit = regression.fit
    residuals, n = fit.residuals, fit.residuals.size
    order = np.argsort(residuals)
    quantiles = np.empty(n)
    quantiles[order] = stats.norm.ppf((np.arange(n) + 0.625) / (n + 0.25))
    data = pl.DataFrame(
        {
            "row": list(regression.labels),
            "fitted": fit.fitted,
            "residual": residuals,
            "quantile": quantiles,
            "leverage": fit.leverage,
            "distance": np.nan_to_num(fit.cooks_distance),
        }
    )
    spread = regression.residuals.standard_error
    ends = float(np.abs(quantiles).max())
    normal = pl.DataFrame({"x": [-ends, ends], "y": [-ends * spread, ends * spread]})
    charts: list[_Panel] = [
        _panel(data, "fitted", (f"fitted {regression.y}", "residual", "Spread and bend"), style),
        alt.layer(
            _points(data, ("quantile", "residual"), ("normal quantile", ""), style),
            alt.Chart(normal)
            .mark_line(color=_QUIET, strokeDash=[4, 3])
            .encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        ).properties(title=_title("Normality: on the line if normal")),
        _points(data, ("leverage", "distance"), ("leverage", "Cook's distance"), style).properties(
            title=_title("Influence of single rows")
        ),
    ]
    return _finish(charts, regression, style, "Residuals")


def residuals_by_column(regression: Regression, *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw residuals by each number that explains.

    Raises
    ------
    NothingToDraw
        No number does.
    """
    design = regression.design
    charts: list[_Panel] = []
    numbers = [v for v in design.variables if v.is_numeric]
    for variable in numbers:
        column = design.matrix[:, design.names.index(variable.name)]
        data = pl.DataFrame(
            {
                "row": list(regression.labels),
                "x": column * variable.factor + variable.shift,
                "residual": regression.fit.residuals,
            }
        )
        first = len(charts) % _columns(len(numbers)) == 0
        titles = (variable.name, "residual" if first else "", "")
        charts.append(_panel(data, "x", titles, style))
    if not charts:
        raise NothingToDraw("no number explains: the columns are all text")
    return _finish(charts, regression, style, "Residuals by what explains")


def _panel(data: pl.DataFrame, x: str, titles: tuple[str, str, str], style: Style) -> _Panel:
    """Residuals by ``x``; titles of both axes and of the panel."""
    return alt.layer(
        alt.Chart().mark_rule(color=_QUIET, strokeDash=[4, 3]).encode(y=alt.datum(0)),
        _points(data, (x, "residual"), titles[:2], style),
        alt.Chart(_middle(data, x))
        .mark_line(color=style.colours(2)[1], strokeWidth=2)
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q")),
        data=data,
    ).properties(title=_title(titles[2]))


def _points(
    data: pl.DataFrame, fields: tuple[str, str], titles: tuple[str, str], style: Style
) -> alt.Chart:
    (x, y), (x_title, y_title) = fields, titles
    scale = alt.Scale(zero=False, padding=6, nice=False)
    return (
        alt.Chart(data, width=_PANEL[0], height=_PANEL[1])
        .mark_circle(color=style.colours(2)[0], opacity=0.55, size=26)
        .encode(
            x=alt.X(f"{x}:Q", title=x_title, scale=scale, axis=alt.Axis(tickCount=5, grid=False)),
            y=alt.Y(f"{y}:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=5)),
            tooltip=[
                alt.Tooltip("row:N"),
                alt.Tooltip(f"{x}:Q", format=".4~g"),
                alt.Tooltip(f"{y}:Q"),
            ],
        )
    )


def _middle(data: pl.DataFrame, x: str) -> pl.DataFrame:
    """Return the mean residual at each step, or a running one over a third of the rows."""
    ordered = data.sort(x)
    if ordered.get_column(x).n_unique() <= _FEW:
        return (
            ordered.group_by(x, maintain_order=True)
            .agg(pl.col("residual").mean().alias("y"))
            .select(pl.col(x).alias("x"), "y")
        )
    window = max(3, round(_WINDOW * ordered.height))
    return ordered.select(
        pl.col(x).rolling_mean(window, center=True).alias("x"),
        pl.col("residual").rolling_mean(window, center=True).alias("y"),
    ).drop_nulls()


def _columns(panels: int) -> int:
    return 2 if panels == 4 else 3  # noqa: PLR2004 - two by two


def _title(text: str) -> alt.Title:
    return alt.Title(text, anchor="middle", fontSize=13, offset=6)


def _finish(
    charts: Sequence[_Panel], regression: Regression, style: Style, title: str
) -> alt.TopLevelMixin:
    grid: Any = alt.concat(
        *charts,
        columns=_columns(len(charts)),
        spacing={"row": 62, "column": 62},
        bounds="flush",
        align="all",
    ).properties(
        title=alt.Title(
            f"{title}: {regression.y}",
            subtitle=f"{counted(regression.n, 'row')}; solid line: mean residual; dashed: expected",
        )
    )
    finished: alt.TopLevelMixin = grid.configure(**style.config())
    return finished
