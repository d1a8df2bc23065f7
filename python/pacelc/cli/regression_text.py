"""A regression as a person reads it: aligned tables, few digits, cautions below."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Final

from pacelc.analysis.estimate import format_number
from pacelc.analysis.regression import p_text
from pacelc.cli.table import aligned
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pacelc.analysis.regression import Caution, Prediction, Regression

__all__ = ["cautions_text", "predictions_text", "published_text", "regression_text", "wrapped"]

_WIDEST: Final = 100


def regression_text(regression: Regression, title: str, source: str) -> str:
    """Return title, coefficients, fit and residuals."""
    r = regression
    percent = f"{100 * r.confidence:g} %"
    shape = f"{source}: {counted(r.n, 'row')}"
    if r.scale != "none":
        shape += f"; numbers scaled ({r.scale}), {r.y} too"
    parts = [wrapped(title), wrapped(shape), "", _coefficients(r, percent, robust=False)]
    if r.heteroscedastic:
        parts += ["", "with robust errors (HC3)", _coefficients(r, percent, robust=True)]
    error = r.residuals.standard_error
    least, q1, median, q3, most = (
        format_number(v, error)
        for v in (
            r.residuals.low,
            r.residuals.q1,
            r.residuals.median,
            r.residuals.q3,
            r.residuals.high,
        )
    )
    checks = [
        f"{name} p = {p_text(p)}"
        for name, p in (
            ("Shapiro-Wilk", r.shapiro_p),
            ("Breusch-Pagan", r.breusch_pagan_p),
            ("RESET", r.reset_p),
        )
        if p is not None
    ]
    parts += [
        "",
        wrapped(
            f"R² {r.r_squared:.3f}, adjusted {r.r_squared_adjusted:.3f}; F = {r.f:.4g}, "
            f"p = {p_text(r.f_p)}"
        ),
        wrapped(
            f"residuals: standard error {format_number(error, error)}, {r.df} degrees of freedom; "
            f"from {least} to {most}, quartiles {q1}, {median}, {q3}"
        ),
        wrapped(
            f"checks: {', '.join(checks)}{'; ' if checks else ''}condition number "
            f"{r.condition_number:.3g}; largest Cook's distance {r.largest_influence[1]:.2g} "
            f"({r.largest_influence[0]})"
        ),
    ]
    return "\n".join(parts)


def _coefficients(r: Regression, percent: str, *, robust: bool) -> str:
    reach = [
        (c.high - c.value) / c.standard_error if c.standard_error else 0.0 for c in r.coefficients
    ]
    rows: list[list[str]] = []
    for c, quantile in zip(r.coefficients, reach, strict=True):
        error = c.robust_standard_error if robust else c.standard_error
        low, high = c.value - quantile * error, c.value + quantile * error
        rows.append(
            [
                c.name,
                format_number(c.value, error),
                format_number(error, error),
                f"{c.value / error:.2f}" if error else "-",
                p_text(c.robust_p if robust else c.p),
                format_number(low, error),
                format_number(high, error),
            ]
        )
    header = ["term", "coefficient", "std. error", "t", "p", f"{percent} from", "to"]
    return aligned(header, rows, right=header[1:])


def predictions_text(regression: Regression, predictions: Sequence[Prediction]) -> str:
    """Return predictions, each with both intervals, and what speaks against it."""
    percent = f"{100 * regression.confidence:g} %"
    lines: list[str] = []
    for p in predictions:
        width = p.prediction_high - p.prediction_low
        value, *ends = (
            format_number(v, width / 4)
            for v in (
                p.value,
                p.confidence_low,
                p.confidence_high,
                p.prediction_low,
                p.prediction_high,
            )
        )
        at = ", ".join(
            f"{name}={v:g}" if isinstance(v, float) else f"{name}={v}" for name, v in p.at.items()
        )
        lines += [
            wrapped(f"predicted at {at}"),
            wrapped(
                f"  {regression.y} {value}; {percent} of the mean: {ends[0]} to {ends[1]}; "
                f"of one more row: {ends[2]} to {ends[3]}",
                indent="  ",
            ),
            *([cautions_text(p.cautions)] if p.cautions else []),
        ]
    return "\n".join(lines)


def published_text(frame: pl.DataFrame, table: str) -> str:
    """Return printed figures beside those from the records, rounded to as many digits."""
    header = ["term", "coefficient", "here", "std. error", "here ", "p", "here  "]
    columns = ("coefficient", "standard_error", "p_value")
    rows = [
        [row["term"], *(row[f"{c}{side}"] for c in columns for side in ("", "_here"))]
        for row in frame.iter_rows(named=True)
    ]
    apart = [row["term"] for row in frame.iter_rows(named=True) if not row["agrees"]]
    verdict = (
        f"{', '.join(apart)} differ"
        if apart
        else f"all {3 * frame.height} printed figures agree, to the last digit"
    )
    title = f"as printed ({table.replace('table', 'table ')}), and here, rounded alike: {verdict}"
    return f"{wrapped(title)}\n{aligned(header, rows, right=header[1:])}"


def cautions_text(cautions: Sequence[Caution]) -> str:
    """Return cautions, one paragraph each."""
    return "\n".join(wrapped(f"caution ({c.kind}): {c.text}", indent="  ") for c in cautions)


def wrapped(text: str, *, indent: str = "") -> str:
    """Return text in lines no longer than the terminal, or a hundred characters."""
    width = max(40, min(_WIDEST, shutil.get_terminal_size().columns))
    return textwrap.fill(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
