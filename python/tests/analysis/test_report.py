"""The report: the same bytes for the same runs, nothing from outside unescaped, nothing fetched."""

# ruff: noqa: RUF001 - typography: the minus sign and quotes that the report prints

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from made_up import write_made_up
from stored_runs import forget_sums

from pacelc.errors import CannotRun
from pacelc.report import write_report
from pacelc.report.write import _minus  # pyright: ignore[reportPrivateUsage]
from pacelc.store import Store
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from pacelc.report import ReportPaths

SNAPSHOT = Path(__file__).parent / "snapshots" / "report.txt"


def as_text(page: str) -> str:
    """The words of a page, one block a line: pictures and markup change with libraries, words do
    not."""
    body = re.sub(r"(?s)<style>.*?</style>", "", page)
    body = re.sub(r'src="data:[^"]*"', "", body)
    body = re.sub(r"</(td|th)>", " | ", body)
    body = re.sub(r"<[^>]+>", "", body)
    lines = (" ".join(line.split()) for line in html.unescape(body).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def test_the_report_says_what_it_said(report: ReportPaths) -> None:
    text = as_text(report.html.read_text())
    if os.environ.get("PACELC_UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()


def test_the_same_runs_give_the_same_bytes(
    report: ReportPaths, ferreira_dir: Path, tmp_path: Path
) -> None:
    again = write_report(ferreira_dir, tmp_path)
    for one, other in zip(
        (report.html, *report.figures, *report.tables),
        (again.html, *again.figures, *again.tables),
        strict=True,
    ):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_the_first_screen_has_the_answer_and_its_weaknesses(report: ReportPaths) -> None:
    page = report.html.read_text()
    first = as_text(page[: page.index('<h2 id="figures">')])
    assert re.search(
        r"write \| strong instead of weak \| −[\d.]+ \[−[\d.]+; −[\d.]+\] %.*differs: throughput",
        first,
    )
    assert "Redis" in first
    assert "shared one machine" in first


def test_nothing_from_outside_is_markup(report: ReportPaths) -> None:
    page = report.html.read_text()
    assert "<b>java.lang" not in page
    assert "&lt;b&gt;java.lang.OutOfMemoryError" in page


def test_nothing_is_fetched(report: ReportPaths) -> None:
    page = report.html.read_text()
    assert "<script" not in page
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_every_link_to_a_file_or_place_leads_somewhere(report: ReportPaths) -> None:
    page = report.html.read_text()
    for target in re.findall(r'href="([^"]+)"', page):
        if target.startswith("#"):
            assert f'id="{target[1:]}"' in page, target
        else:
            assert (report.html.parent / target).is_file(), target


def test_every_number_of_the_tables_shows_its_n(report: ReportPaths) -> None:
    page = report.html.read_text()
    tables = page[page.index('id="changes"') : page.index('id="tests"')]
    tables += page[page.index('id="loads"') : page.index('id="resources"')]
    cells = [c for c in re.findall(r"<td[^>]*>(.*?)</td>", tables) if " ± " in c]
    cells += [c for c in re.findall(r'<td class="n">(.*?)</td>', tables) if "; " in c]
    assert len(cells) > 50
    assert all(re.search(r"\(n=\d+\)$", cell) for cell in cells)


def test_a_study_that_has_not_begun_has_a_report(tmp_path: Path) -> None:
    Store.open(tmp_path / "r", create={"name": "empty", "title": "<i>"}).close()
    paths = write_report(tmp_path / "r")
    page = paths.html.read_text()
    assert "No run is finished yet" in page
    assert "&lt;i&gt;" in page
    assert str(paths) == str(tmp_path / "r/report/report.html")


def test_a_study_of_several_levels_and_mixed_operations_has_a_report(
    mixed_dir: Path, tmp_path: Path
) -> None:
    text = as_text(write_report(mixed_dir, tmp_path).html.read_text())
    assert "quorum instead of weak" in text
    assert "strong instead of weak" in text
    assert "The paper’s findings" not in text


def test_a_study_with_more_groups_than_one_figure_shows_has_several(tmp_path: Path) -> None:
    study = Study.load("kumarasinghe-2015", ["preset=small", "users=1,8", "repetitions=1"])
    path = write_made_up(tmp_path / "k", study, lambda s: 100.0 * s.settings.users)
    paths = write_report(path, tmp_path / "out")
    text = as_text(paths.html.read_text())
    assert "not drawn" not in text
    assert (tmp_path / "out/figures/throughput-2.svg").exists()
    assert "What this study asks is answered as in the paper" in text
    assert re.search(r"Of the paper’s 12 findings, \d+ holds? here", text)
    assert "As figures 22 to 24." in text


def test_pictures_for_print_are_made_where_they_are_asked_for(
    report: ReportPaths, ferreira_dir: Path, tmp_path: Path
) -> None:
    assert {path.suffix for path in report.figures} == {".svg"}
    assert not [path for path in report.figures if path.stem.endswith("-paper")]
    printed = write_report(ferreira_dir, tmp_path, figures=True)
    names = {path.name for path in printed.figures}
    assert {"throughput.svg", "throughput.png", "throughput-paper.svg"} <= names
    page = printed.html.read_text()
    for target in re.findall(r'href="(figures/[^"]+)"', page):
        assert (tmp_path / target).is_file(), target


def test_a_factor_of_panels_that_is_none_is_said(ferreira_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="'level' is not a factor of panels"):
        write_report(ferreira_dir, tmp_path, facet=["level"])


def test_a_place_that_cannot_be_written_is_said(ferreira_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotRun, match="can't be written"):
        write_report(ferreira_dir, tmp_path / "file" / "report")


def test_the_size_that_nodes_had_is_shown(tmp_path: Path, make_study: Callable[..., Path]) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1,), repetitions=1, measure_s=3)
    forget_sums(path)
    node = {"cpu_quota_us": 5000, "cpu_period_us": 10_000, "memory_limit_bytes": 3 << 29}
    for file in path.glob("runs/*/run.json"):
        record = json.loads(file.read_text())
        record["sizes"] = {"mechanism": "cgroup v2", "nodes": {"primary": node}}
        file.write_text(json.dumps(record))
    text = as_text(write_report(path, tmp_path / "out").html.read_text())
    assert "0.5 cores (5000 of each 10000 µs), 1.50 GiB of memory by cgroup v2" in text


def test_a_study_of_one_load_and_one_run_has_a_report(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1,), repetitions=1, measure_s=3)
    text = as_text(write_report(path, tmp_path / "out").html.read_text())
    assert "of runs, and it takes 5" in text
    assert " cost " not in text[text.index("Redis") : text.index("Weaknesses of these results")]
    assert "can't tell" in text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-17.7 [-20.3; -15.6] %", "−17.7 [−20.3; −15.6] %"),
        ("2026-01-05", "2026-01-05"),
        ("0012-r1", "0012-r1"),
        ("1e-05", "1e-05"),
        ("D'Agostino-Pearson", "D'Agostino-Pearson"),
    ],
)
def test_a_minus_is_printed_as_one(text: str, printed: str) -> None:
    assert _minus(text) == printed
