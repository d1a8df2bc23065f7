"""A law of scalability over what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import altair as alt
import numpy as np
import polars as pl

from pacelc.plots.layout import NothingToDraw, finish, grid
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.laws.law import Law
    from pacelc.plots.layout import Panel

__all__ = ["scaling"]

_POINTS: Final = 120
_BEYOND: Final = 1.15
"""How far the line goes beyond the largest size."""


def scaling(laws: Mapping[str, Law], *, style: Style = SCREEN) -> alt.TopLevelMixin:
    """Draw each run, the chosen law, and linear scaling from its throughput of one.

    Parameters
    ----------
    laws
        Panel → law, all over the same kind of size.
    style
        Colours and type.

    Raises
    ------
    NothingToDraw
        There is no law.
    """
    if not laws:
        raise NothingToDraw("no law could be fitted")
    over = next(iter(laws.values())).over
    data = pl.concat(_panel(name, law) for name, law in laws.items())
    kinds = [kind for kind in ("run", "law", "linear") if kind in set(data.get_column("kind"))]
    words = {"run": "a run", "law": "the chosen law", "linear": "linear scaling"}
    colours = dict(zip(kinds, style.colours(len(kinds)), strict=True))
    colour = alt.Color(
        "label:N",
        sort=[words[kind] for kind in kinds],
        scale=alt.Scale(
            domain=[words[kind] for kind in kinds], range=[colours[kind] for kind in kinds]
        ),
    )
    data = data.with_columns(pl.col("kind").replace_strict(words).alias("label"))

    def panel(part: pl.DataFrame, x_title: str | list[str], y_title: str | list[str]) -> Panel:
        measured = part.filter(kind="run")
        top = 1.15 * max(part.filter(pl.col("kind") != "linear").get_column("value").to_list())
        x = alt.X("x:Q", title=x_title, scale=alt.Scale(domainMin=0, nice=False))
        y = alt.Y("value:Q", title=y_title, scale=alt.Scale(domain=[0, top], nice=False))
        lines = alt.Chart(part.filter(pl.col("kind") != "run"))
        dashes = alt.StrokeDash(
            "kind:N",
            scale=alt.Scale(domain=["law", "linear"], range=[[1, 0], [4, 4]]),
            legend=None,
        )
        return alt.layer(
            lines.mark_line(clip=True, strokeWidth=2).encode(
                x=x, y=y, color=colour, strokeDash=dashes
            ),
            alt.Chart(measured)
            .mark_point(filled=True, opacity=0.8, size=40)
            .encode(
                x=x,
                y=y,
                color=colour,
                tooltip=[alt.Tooltip("x:Q"), alt.Tooltip("value:Q", format=",.4~g")],
            ),
        )

    note = "; ".join(_about(name, law, alone=len(laws) == 1) for name, law in laws.items())
    return finish(
        grid(data, panel, over, "throughput (operations/s)", style),
        style,
        f"Throughput over {over}",
        note,
    )


def _panel(name: str, law: Law) -> pl.DataFrame:
    low, high = law.measured
    sizes = np.linspace(low, _BEYOND * high, _POINTS)
    parts = [
        ("run", np.asarray(law.sizes), np.asarray(law.throughputs_per_s)),
        ("law", sizes, law.at(sizes)),
    ]
    if law.chosen != "linear":
        parts.append(("linear", sizes, law.coefficients[0] * sizes / law.unit))
    return pl.concat(
        pl.DataFrame({"x": x, "value": value}).select(
            pl.lit(name).alias("panel"), pl.lit(kind).alias("kind"), pl.col("x", "value")
        )
        for kind, x, value in parts
    )


def _about(name: str, law: Law, *, alone: bool) -> str:
    _, sigma, kappa = law.coefficients
    text = {
        "linear": "linear",
        "amdahl": f"Amdahl, sigma {sigma:.3g}",
        "usl": f"USL, sigma {sigma:.3g}, kappa {kappa:.2g}",
    }[law.chosen]
    return text[:1].upper() + text[1:] if alone else f"{name}: {text}"
