"""Results directory to report."""

# ruff: noqa: RUF001 - typography: signs of multiplication and minus

from __future__ import annotations

import base64
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from pacelc.errors import CannotRun
from pacelc.files import write_atomically
from pacelc.outside import as_csv, printable
from pacelc.papers import Evidence, TableExhibit
from pacelc.plots import PAPER, SCREEN, png_bytes, svg_text
from pacelc.plots.layout import NothingToDraw, TooMuchToDraw
from pacelc.report.content import build
from pacelc.report.figures import FIGURES
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Generator

    import altair as alt

    from pacelc.papers import Exhibit, Table
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


@dataclass(frozen=True, eq=False)
class _Shown:
    """An exhibit as the page has it: a table, or a figure as base64."""

    exhibit: Exhibit
    table: Table | None = None
    figure: str | None = None


@dataclass(frozen=True, eq=False)
class _Pictures:
    """What the page embeds: exhibits; (name, title, caption, base64); (title, reason)."""

    exhibits: list[_Shown]
    figures: list[tuple[str, str, str, str]]
    witnesses: list[tuple[str, str, str, str]]
    left_out: list[tuple[str, str]]


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
    with _written_to(out):  # before figures are drawn, which takes seconds
        out.mkdir(parents=True, exist_ok=True)
    content = build(results)
    files: dict[str, bytes] = {}
    shown = [_exhibit(exhibit, content, files) for exhibit in content.exhibits]
    exhibits = [exhibit for exhibit in shown if exhibit is not None]
    drawn: list[tuple[str, str, str, str]] = []
    left_out: list[tuple[str, str]] = []
    for figure in FIGURES:
        try:
            data = _drawn(figure.name, *figure.draw(content), files)
        except TooMuchToDraw as reason:
            left_out.append((figure.title, str(reason)))
            continue
        except NothingToDraw:
            continue
        drawn.append((figure.name, figure.title, figure.caption, data))
    witnesses: list[tuple[str, str, str, str]] = []
    for witness in content.observed.witnesses:
        try:
            charts = witness.draw(SCREEN), witness.draw(PAPER)
        except NothingToDraw as reason:
            left_out.append((witness.caption, str(reason)))
            continue
        data = _drawn(witness.name, *charts, files)
        witnesses.append((witness.name, witness.title, witness.caption, data))
    tables = {
        f"tables/{name}.csv": as_csv(frame) for name, frame in content.tables.items() if frame.width
    }
    files |= tables
    pictures = _Pictures(exhibits, drawn, witnesses, left_out)
    files["report.html"] = _render(content, pictures, sorted(tables)).encode()
    with _written_to(out):
        for name, data in files.items():
            path = (out / name).resolve()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
    return ReportPaths(
        out / "report.html",
        tuple(out / name for name in files if name.startswith("figures/")),
        tuple(out / name for name in tables),
    )


@contextmanager
def _written_to(out: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise CannotRun(
            f"the report can't be written to {out}: {error.strerror or error}",
            "give another directory with --out",
        ) from error


def _drawn(
    name: str, screen: alt.TopLevelMixin, paper: alt.TopLevelMixin, files: dict[str, bytes]
) -> str:
    """Add a figure's files, and return what the page embeds."""
    svg = svg_text(screen).encode()
    files[f"figures/{name}.svg"] = svg
    files[f"figures/{name}.png"] = png_bytes(screen)
    files[f"figures/{name}-paper.svg"] = svg_text(paper).encode()
    return base64.b64encode(svg).decode()


def _exhibit(exhibit: Exhibit, content: Content, files: dict[str, bytes]) -> _Shown | None:
    """Make an exhibit and add its files; None if the runs hold nothing of it."""
    if isinstance(exhibit, TableExhibit):
        table = content.exhibit_tables.get(exhibit.name)
        return None if table is None else _Shown(exhibit, table=table)
    evidence = Evidence(content.results, content.design)
    try:
        charts = exhibit.draw(evidence, SCREEN), exhibit.draw(evidence, PAPER)
    except NothingToDraw:
        return None
    return _Shown(exhibit, figure=_drawn(exhibit.name, *charts, files))


def _render(
    content: Content,
    pictures: _Pictures,
    tables: list[str],
) -> str:
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
        finalize=_printed,
    )
    environment.filters["minus"] = _minus
    template = environment.get_template("report.html.j2")
    # The sheet is ours, so it alone may go in unescaped.
    return template.render(
        c=content,
        exhibits=pictures.exhibits,
        figures=pictures.figures,
        witnesses=pictures.witnesses,
        left_out=pictures.left_out,
        tables=tables,
        style=_trusted(source["style.css"]),
    )


def _trusted(text: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415 - Jinja2's own dependency

    return Markup(text)  # noqa: S704 - the package's own file


def _minus(value: object) -> str:
    """Print a hyphen before a digit as the minus sign that it is."""
    return _HYPHEN.sub("−", str(value))


def _printed(value: object) -> object:
    """Make text from outside printable; markup is ours."""
    return printable(value) if type(value) is str else value
