"""Results directory to report."""

# ruff: noqa: RUF001 - typography: signs of multiplication and minus

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl

from pacelc.errors import CannotRun
from pacelc.plots import png_bytes, svg_text
from pacelc.report.content import build
from pacelc.report.figures import FIGURES, NothingToDraw
from pacelc.store import load

if TYPE_CHECKING:
    from pacelc.report.content import Content

_HYPHEN = re.compile(r"(?<![\w.])-(?=[\d.])")

__all__ = ["ReportPaths", "write_report"]


@dataclass(frozen=True)
class ReportPaths:
    """What was written.

    Attributes
    ----------
    html
        The report.
    figures
        SVG and PNG files; ``*-paper.svg`` in black and grey.
    tables
        CSV files.
    """

    html: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]

    def __str__(self) -> str:
        """Path of the report."""
        return str(self.html)


def write_report(results_dir: Path, out: Path | None = None) -> ReportPaths:
    """Write ``report.html``, ``figures/`` and ``tables/``. The same results give the same bytes.

    Parameters
    ----------
    results_dir
        What a study wrote. It may still be running: what is finished is reported.
    out
        Directory to write to; by default ``results_dir/report``. Files of an earlier report are
        overwritten.

    Raises
    ------
    StoreError
        ``results_dir`` can't be read.
    CannotRun
        ``out`` can't be written.
    """
    results = load(results_dir)
    out = out or Path(results_dir) / "report"
    content = build(results)
    drawn: list[tuple[str, str, str, str]] = []
    files: dict[str, bytes] = {}
    for figure in FIGURES:
        try:
            screen, paper = figure.draw(content)
        except NothingToDraw:
            continue
        svg = svg_text(screen)
        files[f"figures/{figure.name}.svg"] = svg.encode()
        files[f"figures/{figure.name}.png"] = png_bytes(screen)
        files[f"figures/{figure.name}-paper.svg"] = svg_text(paper).encode()
        drawn.append(
            (figure.name, figure.title, figure.caption, base64.b64encode(svg.encode()).decode())
        )
    tables = {
        f"tables/{name}.csv": _csv(frame) for name, frame in content.tables.items() if frame.width
    }
    files |= tables
    files["report.html"] = _render(content, drawn, sorted(tables)).encode()
    try:
        for name, data in files.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as error:
        raise CannotRun(
            f"the report can't be written to {out}: {error.strerror or error}",
            "give another directory with --out",
        ) from error
    return ReportPaths(
        out / "report.html",
        tuple(out / name for name in files if name.startswith("figures/")),
        tuple(out / name for name in tables),
    )


def _render(content: Content, figures: list[tuple[str, str, str, str]], tables: list[str]) -> str:
    folder = resources.files("pacelc.report") / "template"
    source = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("report.html.j2", "style.css")
    }
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["minus"] = _minus
    template = environment.get_template("report.html.j2")
    # The sheet is ours, so it alone may go in unescaped.
    return template.render(
        c=content, figures=figures, tables=tables, style=_trusted(source["style.css"])
    )


def _trusted(text: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415 - Jinja2's own dependency

    return Markup(text)  # noqa: S704 - the package's own file


def _minus(value: object) -> str:
    """Print a hyphen before a digit as the minus sign that it is."""
    return _HYPHEN.sub("−", str(value))


def _csv(frame: pl.DataFrame) -> bytes:
    flat = frame.with_columns(
        pl.col(name).list.join("; ") if dtype == pl.List(pl.String) else pl.col(name)
        for name, dtype in frame.schema.items()
    )
    return flat.write_csv(None).encode()
