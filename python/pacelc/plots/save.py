"""Charts to files. Rendering is vl-convert's, in this process: no browser, no network."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import vl_convert
from altair.utils import schemapi

from pacelc.files import write_bytes, write_text

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

__all__ = ["png_bytes", "png_of_svg", "save_figure", "spec_of", "svg_text", "unchecked"]

_CLIP: Final = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')


@contextmanager
def unchecked() -> Generator[None]:
    """Build charts without a check against Vega-Lite's schema at every step.

    The checks take a third of the time of a report's figures; the tests build the same charts with
    them.
    """
    with schemapi.debug_mode(arg=False):
        yield


def spec_of(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the chart's Vega-Lite document."""
    # Altair's limit is for notebooks: over-time figures of a thousand runs have more rows.
    with alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict(validate=schemapi.DEBUG_MODE)
    return spec


def svg_text(chart: alt.TopLevelMixin) -> str:
    """Return the chart as SVG; the same chart gives the same bytes."""
    return _own_clips(vl_convert.vegalite_to_svg(spec_of(chart)))


def _own_clips(svg: str) -> str:
    """Name clipping paths after the figure.

    Vega numbers them over all figures of a process; and those of two figures in one page must
    differ.
    """
    names = dict.fromkeys(_CLIP.findall(svg))
    figure = hashlib.sha256(_CLIP.sub("", svg).encode()).hexdigest()[:8]
    own = {name: f"clip-{figure}-{i}" for i, name in enumerate(names)}
    return _CLIP.sub(lambda found: own[found[0]], svg)


def png_of_svg(svg: str, *, scale: float = 2.0) -> bytes:
    """Return an SVG as PNG: a chart that is already drawn isn't drawn again."""
    return vl_convert.svg_to_png(svg, scale=scale)


def png_bytes(chart: alt.TopLevelMixin, *, scale: float = 2.0) -> bytes:
    """Return the chart as PNG, ``scale`` times its nominal size."""
    return png_of_svg(svg_text(chart), scale=scale)


def save_figure(chart: alt.TopLevelMixin, path: str | os.PathLike[str]) -> Path:
    """Save a chart as its suffix says.

    ``.svg``, ``.png``, ``.html`` (opens offline, with tooltips) or ``.vl.json``.

    Raises
    ------
    ValueError
        The suffix is none of those.
    CannotRun
        It can't be written.
    """
    path = Path(path)
    if path.name.endswith(".vl.json"):
        write_text(path, chart.to_json(indent=1) + "\n")
    elif path.suffix == ".svg":
        write_text(path, svg_text(chart))
    elif path.suffix == ".png":
        write_bytes(path, png_bytes(chart))
    elif path.suffix == ".html":
        write_text(path, vl_convert.vegalite_to_html(spec_of(chart), bundle=True))
    else:
        raise ValueError(f"{path.name}: a figure is saved as .svg, .png, .html or .vl.json")
    return path
