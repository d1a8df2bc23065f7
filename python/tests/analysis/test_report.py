"""The report: the same bytes for the same runs, nothing from outside unescaped, nothing fetched."""

# ruff: noqa: RUF001 - typography: the minus sign and quotes that the report prints

from __future__ import annotations

import html
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from made_up import write_made_up
from stored_runs import forget_sums

from pacelc.analysis import Design, by_load, compare
from pacelc.errors import CannotRun
from pacelc.report import write_report
from pacelc.report.content import build
from pacelc.report.headline import headline
from pacelc.report.terms import labels
from pacelc.report.write import _filled, _typeset  # pyright: ignore[reportPrivateUsage]
from pacelc.store import Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from pacelc.report import ReportPaths
    from pacelc.store import Results

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


def test_a_study_of_several_levels_and_mixed_operations_has_a_report(mixed_words: str) -> None:
    assert "quorum instead of weak" in mixed_words
    assert "strong instead of weak" in mixed_words
    assert "tested on these runs" not in mixed_words


@pytest.fixture(scope="module")
def mixed_words(mixed_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("mixed")
    return as_text(write_report(mixed_dir, out).html.read_text())


def test_a_study_with_more_groups_than_one_figure_shows_has_several(tmp_path: Path) -> None:
    study = Study.load("kumarasinghe-2015", ["preset=small", "users=1,8", "repetitions=1"])
    path = write_made_up(tmp_path / "k", study, lambda s: 100.0 * s.settings.users)
    paths = write_report(path, tmp_path / "out")
    text = as_text(paths.html.read_text())
    assert "not drawn" not in text
    assert (tmp_path / "out/figures/throughput-2.svg").exists()
    assert "The study compares no levels: it varies database, workload, records" in text
    assert re.search(
        r"Mean throughput was from [\d,.]+ operations/s \(Cassandra, ycsb-a, .*\) to", text
    )
    assert "12 findings of Kumarasinghe et al. 2015 were tested" in text
    assert "as in Kumarasinghe et al. 2015, figures 22 to 24." in text
    assert "workload | ycsb-e | 95 % scan, 5 % insert |" in text


@pytest.fixture(scope="module")
def words(report: ReportPaths) -> str:
    return as_text(report.html.read_text())


def test_navigation_says_what_headings_say(report: ReportPaths) -> None:
    page = report.html.read_text()
    navigation = re.search(r"(?s)<nav.*?</nav>", page)
    assert navigation is not None
    links = re.findall(r'<a href="#([^"]+)">(.*?)</a>', navigation[0])
    assert links == re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', page)
    assert len(links) > 5


def test_the_paper_is_named_where_its_part_begins(words: str) -> None:
    part = words[words.index("Ferreira et al. 2024: tables and figures made again\nFerreira, ") :]
    assert part.splitlines()[1].startswith("Ferreira, Mendonça, Nogueira, Tiengo, Andrade: Impacts")
    assert "Change from weak to strong, in per cent (Ferreira et al. 2024, table 8)" in part
    assert "Findings of Ferreira et al. 2024, tested on these runs" in part


def test_other_studies_name_a_paper_only_as_a_source(mixed_words: str) -> None:
    cited = re.findall(r".{20}Ferreira et al\. 2024", mixed_words)
    assert cited
    assert all(re.search(r"\((as in )?Ferreira", text) for text in cited)


def test_words_and_labels_are_explained_before_they_are_used(words: str) -> None:
    first = words[: words.index("What consistency costs")]
    assert "A scenario is one combination of the study's factors" in first
    assert "The reference level, with which the others are compared, is weak." in first
    assert "consistency | strong | Cassandra insert" in first


def test_mixes_are_explained_in_the_studys_order(tmp_path: Path) -> None:
    study = Study.load("vyas-2022", ["preset=small", "users=10", "repetitions=1"])
    found = labels(load(write_made_up(tmp_path / "v", study, lambda _: 100.0)))
    meanings = {label: meaning for _, label, meaning in found}
    assert meanings["100/0"] == "read only"
    assert meanings["10/90"] == "10 % read, 90 % update"
    assert meanings["1R-3W"] == "Cassandra read ONE, update ALL"
    # The load says itself what it is.
    assert [factor for factor, *_ in found] == ["mix"] * 4 + ["setting"] * 5


def test_a_finding_is_contradicted_and_data_keep_their_word(
    report: ReportPaths, words: str
) -> None:
    assert "| contradicted |" in words
    assert "violated" not in words
    claims = pl.read_csv(report.html.parent / "tables/claims.csv")
    assert set(claims.get_column("verdict")) >= {"holds", "violated"}


def test_databases_are_written_as_their_makers_do(words: str) -> None:
    shown = words[words.index("What consistency costs") : words.index("What was measured, on what")]
    assert not re.search(r"\b(mongodb|cassandra|redis)\b", shown)


def test_the_headline_keeps_the_studys_order(ferreira: Results) -> None:
    content = build(ferreira)
    told = [row.group for row in content.headline.rows]
    assert told == [str(group) for group in content.design.whole_groups]
    assert not content.headline.more


def test_a_headline_of_many_rows_shows_the_clearest_first(mixed: Results) -> None:
    # Two of its rows: no verdict, and a difference.
    design = Design.of(mixed)
    one, *_ = compare(design, groups=design.whole_groups)
    unknown = replace(one, level="none", paired=replace(one.paired, verdict="can't tell"))
    differs = replace(one, level="last", paired=replace(one.paired, verdict="differs"))
    many = [replace(unknown, level=f"level {i}") for i in range(12)]
    found = headline(mixed, design, [*many, differs], by_load(design))
    assert len(found.rows) == 12
    assert found.rows[-1].levels.startswith("last ")
    assert [row.levels.split(" instead")[0] for row in found.more] == ["level 11"]


def test_disagreements_of_one_kind_are_told_once(words: str) -> None:
    assert words.count("Only the paired test shows a difference") == 1
    assert words.count("which hides it") == 1


def test_columns_without_anything_or_that_repeat_another_are_left_out(words: str) -> None:
    assert "CPU, % of the machine" not in words
    assert "CPU, of 2 cores" in words
    assert _filled(("level", "p", "note"), [("weak", "–", ""), ("strong", "–", "x")]) == (
        ("level", "note"),
        (("weak", ""), ("strong", "x")),
    )


def test_sections_without_anything_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacelc.report.write.FIGURES", ())
    study = Study.load("kumarasinghe-2015", ["preset=small", "users=1", "repetitions=1"])
    path = write_made_up(tmp_path / "k", study, lambda _: 100.0)
    page = write_report(path, tmp_path / "out").html.read_text()
    assert 'id="loads"' in page
    settings = page[page.index("<summary>Settings</summary>") : page.index('<h2 id="files">')]
    assert "<td>closed</td>" in settings
    assert not re.search(r"<td>(null|\{\}|\[\]|)</td>", settings)
    for place in ("changes", "tests", "figures", "failures", "groups"):
        assert f'id="{place}"' not in page
        assert f'href="#{place}"' not in page
    assert not re.search(r"Nothing|\byet\b", as_text(page))


def test_every_n_is_said_what_it_counts(words: str) -> None:
    for table in ("Change from weak to strong", "What changes with the level\n", "By users\n"):
        part = words[words.rindex(table) :]
        assert re.search(r"n counts (the )?runs", part), table


def test_captions_say_what_is_shown(ferreira_dir: Path, tmp_path: Path) -> None:
    page = write_report(ferreira_dir, tmp_path).html.read_text()
    captions = re.findall(r"<figcaption>(.*?) <a", page)
    assert "Successful operations per second by users and consistency" in " ".join(captions)
    for caption in captions:
        assert re.match(r"[A-Z][^.]{20,}", caption), caption
    # A phone has a picture of its own.
    assert page.count("<source media=") == page.count("<figure") == len(captions)


def test_figures_and_tables_of_an_earlier_report_are_removed_and_no_others(
    ferreira_dir: Path, mixed_dir: Path, tmp_path: Path
) -> None:
    earlier = write_report(ferreira_dir, tmp_path, figures=True)
    own = [tmp_path / "figures/mine.svg", tmp_path / "tables/mine.csv", tmp_path / "notes.txt"]
    for path in own:
        path.write_text("mine")
    now = write_report(mixed_dir, tmp_path)
    left = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {now.html, *now.figures, *now.tables, *own}
    assert set(earlier.figures) - left


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
        ("-17.7 [-20.3; -15.6] %", "−17.7 [−20.3; −15.6]\u00a0%"),
        ("2026-01-05", "2026-01-05"),
        ("0012-r1", "0012-r1"),
        ("1e-05", "1e-05"),
        ("D'Agostino-Pearson", "D'Agostino-Pearson"),
        ("within 10%, up to 12.5 %", "within 10\u00a0%, up to 12.5\u00a0%"),
    ],
)
def test_minus_and_per_cent_are_printed_as_such(text: str, printed: str) -> None:
    assert _typeset(text) == printed
