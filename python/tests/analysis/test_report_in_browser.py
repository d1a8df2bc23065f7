"""Reports in a real browser: they open without complaint, fit the screen, run no one's script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import Seen, chromium, look_at, opened
from made_up import write_made_up

from pacelc.report import ReportPaths, write_report
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from playwright.sync_api import Browser

HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def mixed_report(mixed_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    return write_report(mixed_dir, tmp_path_factory.mktemp("report"))


@pytest.mark.parametrize("which", ["report", "mixed_report"])
def test_a_report_is_read_without_complaint(
    which: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    paths: ReportPaths = request.getfixturevalue(which)
    assert look_at(browser, paths.html) == Seen()


def test_a_report_is_printed_on_pages_that_hold_its_tables(
    browser: Browser, report: ReportPaths, tmp_path: Path
) -> None:
    with opened(browser, report.html, Seen()) as page:
        page.pdf(path=str(tmp_path / "report.pdf"), format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_names_from_outside_run_no_script(browser: Browser, tmp_path: Path) -> None:
    study = Study.from_document(
        {
            "name": "hostile",
            "title": HOSTILE,
            "description": HOSTILE,
            "factors": {
                f"f {HOSTILE}": {
                    f"a {HOSTILE}": {"users": 1},
                    f"b {HOSTILE}": {"users": 2},
                },
                "nodes": [1, 3],
            },
            "settings": {"database": "redis", "measure": "1s"},
            "compare": f"f {HOSTILE}",
            "repetitions": 2,
        }
    )
    path = write_made_up(tmp_path / "r", study, lambda s: 100.0 * s.settings.users)
    paths = write_report(path, tmp_path / "report")
    seen = Seen()
    with opened(browser, paths.html, seen) as page:
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.scripts.length") == 0
        assert HOSTILE in page.inner_text("h1")
    assert not seen.complaints
    for figure in paths.figures:
        if figure.suffix == ".svg":
            with opened(browser, figure, seen) as page:
                assert page.evaluate("window.hit") is None
    assert not seen.complaints
