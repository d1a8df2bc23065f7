"""Charts to files. Rendering is vl-convert's, in this process: no browser, no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert

if TYPE_CHECKING:
    import os

    import altair as alt

__all__ = ["png_bytes", "save_figure", "spec_of", "svg_text"]


def spec_of(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the chart's Vega-Lite document."""
    spec: dict[str, Any] = chart.to_dict()
    return spec


def svg_text(chart: alt.TopLevelMixin) -> str:
    """Return the chart as SVG."""
    return vl_convert.vegalite_to_svg(spec_of(chart))


def png_bytes(chart: alt.TopLevelMixin, *, scale: float = 2.0) -> bytes:
    """Return the chart as PNG, ``scale`` times its nominal size."""
    return vl_convert.vegalite_to_png(spec_of(chart), scale=scale)


def save_figure(chart: alt.TopLevelMixin, path: str | os.PathLike[str]) -> Path:
    """Save a chart as its suffix says.

    ``.svg``, ``.png``, ``.html`` (opens offline, with tooltips) or ``.vl.json``.

    Raises
    ------
    ValueError
        The suffix is none of those.
    """
    path = Path(path)
    if path.name.endswith(".vl.json"):
        path.write_text(chart.to_json(indent=1) + "\n", encoding="utf-8")
    elif path.suffix == ".svg":
        path.write_text(svg_text(chart), encoding="utf-8")
    elif path.suffix == ".png":
        path.write_bytes(png_bytes(chart))
    elif path.suffix == ".html":
        path.write_text(vl_convert.vegalite_to_html(spec_of(chart), bundle=True), encoding="utf-8")
    else:
        raise ValueError(f"{path.name}: a figure is saved as .svg, .png, .html or .vl.json")
    return path
