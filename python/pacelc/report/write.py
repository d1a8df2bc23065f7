"""Results directory to report."""

# ruff: noqa: RUF001 - typography: signs of multiplication and minus

from __future__ import annotations

import base64
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jinja2

from pacelc.errors import CannotRun
from pacelc.files import write_atomically
from pacelc.outside import as_csv, printable
from pacelc.papers import Evidence, TableExhibit
from pacelc.plots import NARROW, PAPER, SCREEN, facets_of, png_of_svg, svg_text
from pacelc.plots.layout import NothingToDraw, TooMuchToDraw
from pacelc.plots.save import unchecked
from pacelc.report.content import build, named
from pacelc.report.figures import FIGURES
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    import altair as alt

    from pacelc.papers import Exhibit, Table
    from pacelc.plots import Facets, Style
    from pacelc.report.content import Content

    _Draw = Callable[[str, Callable[[Style], alt.TopLevelMixin]], tuple[str, str]]
    _Picture = tuple[str, str, str, str, str]

MOST_FIGURES: Final = 12
"""Of one kind."""
_FILE = re.compile(r'href="((?:figures|tables)/[\w-]+\.(?:svg|png|csv))"')
_HYPHEN = re.compile(r"(?<![\w.])-(?=[\d.])")
_PERCENT = re.compile(r"(?<=[\d\]]) ?%")
_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')
_EMPTY: Final = frozenset({"", "–"})

__all__ = ["ReportPaths", "write_report"]


@dataclass(frozen=True)
class ReportPaths:
    """What was written.

    Attributes
    ----------
    html
        The report.
    figures
        SVG files; if they were asked for, PNG files and ``*-paper.svg``, in black and grey and of
        a printed column's size.
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
    narrow: str | None = None


@dataclass(frozen=True, eq=False)
class _Pictures:
    """What the page embeds: exhibits; (name, title, caption, base64, narrow); (title, reason)."""

    exhibits: list[_Shown]
    figures: list[_Picture]
    witnesses: list[_Picture]
    left_out: list[tuple[str, str]]
    printed: bool


def write_report(
    results_dir: Path,
    out: Path | None = None,
    *,
    figures: bool = False,
    facet: Sequence[str] = (),
    compare: str | None = None,
) -> ReportPaths:
    """Write ``report.html``, ``figures/`` and ``tables/``. The same results give the same bytes.

    Parameters
    ----------
    results_dir
        What a study wrote. It may still be running: what is finished is reported.
    out
        Directory to write to; by default ``results_dir/report``. Files of an earlier report are
        overwritten, or removed where this one has none of that name.
    figures
        Whether to write PNG files and print versions, too: they take longer than all the rest.
    facet
        The factors whose levels are columns and rows of panels; by default the two with the most
        levels.
    compare
        The factor whose levels are compared; by default what the study says.

    Raises
    ------
    StoreError
        ``results_dir`` can't be read.
    CannotRun
        ``out`` can't be written, ``facet`` names no factors of panels, or ``compare`` no factor.
    """
    results = load(results_dir)
    out = out or Path(results_dir) / "report"
    with _written_to(out):  # before figures are drawn, which takes seconds
        out.mkdir(parents=True, exist_ok=True)
    content = build(results, level=compare)
    try:
        facets = facets_of(content.design, facet)
    except ValueError as error:
        raise CannotRun(str(error), "name one or two, such as --facet database,operation") from None
    files: dict[str, bytes] = {}
    drawn = partial(_drawn, files, printed=figures)
    left_out: list[tuple[str, str]] = []
    with unchecked():
        shown = [_exhibit(exhibit, content, drawn) for exhibit in content.exhibits]
        pictures = _Pictures(
            exhibits=[exhibit for exhibit in shown if exhibit is not None],
            figures=list(_figures(content, facets, drawn, left_out)),
            witnesses=list(_witnesses(content, partial(drawn, narrow=False), left_out)),
            left_out=left_out,
            printed=figures,
        )
    tables = {
        f"tables/{name}.csv": as_csv(frame) for name, frame in content.tables.items() if frame.width
    }
    files |= tables
    files["report.html"] = _render(content, pictures, sorted(tables)).encode()
    with _written_to(out):
        earlier = _linked(out / "report.html")
        for name, data in files.items():
            path = (out / name).resolve()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        for name in earlier - files.keys():
            (out / name).unlink(missing_ok=True)
    return ReportPaths(
        out / "report.html",
        tuple(out / name for name in files if name.startswith("figures/")),
        tuple(out / name for name in tables),
    )


def _figures(
    content: Content, facets: Sequence[Facets], drawn: _Draw, left_out: list[tuple[str, str]]
) -> Iterator[_Picture]:
    """Draw each figure, or one of each part that it needs."""
    for figure in FIGURES:
        parts = facets[:1] if figure.alone else facets
        reasons: list[str] = []
        for number, part in enumerate(parts[:MOST_FIGURES], 1):
            name = figure.name if number == 1 else f"{figure.name}-{number}"
            try:
                data = drawn(name, partial(figure.chart, content, part))
            except TooMuchToDraw as reason:
                reasons.append(str(reason))
                continue
            except NothingToDraw:
                continue
            yield name, figure.title, figure.caption(content, part), *data
        if len(parts) > MOST_FIGURES:
            reasons.append(
                f"{len(parts) - MOST_FIGURES} more figures are more than a page can show"
            )
        left_out += [(figure.title, reason) for reason in dict.fromkeys(reasons)]


def _witnesses(
    content: Content, drawn: _Draw, left_out: list[tuple[str, str]]
) -> Iterator[_Picture]:
    for witness in content.observed.witnesses:
        try:
            data = drawn(witness.name, witness.draw)
        except NothingToDraw as reason:
            left_out.append((witness.caption, str(reason)))
            continue
        yield witness.name, witness.title, witness.caption, *data


def _linked(report: Path) -> set[str]:
    """Return the files that an earlier report wrote: it has a link to each."""
    if not report.is_file():
        return set()
    return set(_FILE.findall(report.read_text(encoding="utf-8", errors="replace")))


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
    files: dict[str, bytes],
    name: str,
    chart: Callable[[Style], alt.TopLevelMixin],
    *,
    printed: bool,
    narrow: bool = True,
) -> tuple[str, str]:
    """Add a figure's files; return what a page embeds: for a screen, and if ``narrow`` a phone."""
    svg = svg_text(chart(SCREEN))
    files[f"figures/{name}.svg"] = svg.encode()
    if printed:
        files[f"figures/{name}.png"] = png_of_svg(svg)
        files[f"figures/{name}-paper.svg"] = svg_text(chart(PAPER)).encode()
    return _embedded(svg), _embedded(svg_text(chart(NARROW))) if narrow else ""


def _embedded(svg: str) -> str:
    return base64.b64encode(svg.encode()).decode()


def _exhibit(exhibit: Exhibit, content: Content, drawn: _Draw) -> _Shown | None:
    """Make an exhibit and add its files; None if the runs hold nothing of it."""
    if isinstance(exhibit, TableExhibit):
        table = content.exhibit_tables.get(exhibit.name)
        return None if table is None else _Shown(exhibit, table=table)
    evidence = Evidence(content.results, content.design)
    try:
        wide, narrow = drawn(exhibit.name, partial(exhibit.draw, evidence))
    except NothingToDraw:
        return None
    return _Shown(exhibit, figure=wide, narrow=narrow)


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
    environment.filters |= {
        "typeset": _typeset,
        "named": named,
        "briefly": content.disqualified.briefly,
        "headings": _headings,
    }
    template = environment.get_template("report.html.j2")
    # The sheet is ours, so it may go in unescaped.
    return template.render(
        c=content,
        exhibits=pictures.exhibits,
        figures=pictures.figures,
        witnesses=pictures.witnesses,
        left_out=pictures.left_out,
        printed=pictures.printed,
        tables=tables,
        filled=_filled,
        style=_trusted(source["style.css"]),
    )


def _trusted(text: str) -> Any:
    from markupsafe import Markup  # noqa: PLC0415 - Jinja2's own dependency

    return Markup(text)  # noqa: S704 - the package's own file


def _typeset(value: object) -> str:
    """Print a hyphen before a digit as the minus sign that it is, and keep per cents together."""
    return _PERCENT.sub("\u00a0%", _HYPHEN.sub("−", str(value)))


def _headings(body: object) -> list[tuple[str, Any]]:
    """Return the place and words of each section: navigation says what headings say."""
    # They have been rendered, and escaped by that.
    return [(place, _trusted(title)) for place, title in _HEADING.findall(str(body))]


def _filled(
    heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a table without the columns in which no row has anything.

    Examples
    --------
    >>> _filled(("level", "note"), [("weak", ""), ("strong", "")])
    (('level',), (('weak',), ('strong',)))
    """
    kept = [i for i in range(len(heads)) if any(row[i] not in _EMPTY for row in rows)]
    return tuple(heads[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)


def _printed(value: object) -> object:
    """Make text from outside printable; markup is ours."""
    return printable(value) if type(value) is str else value
