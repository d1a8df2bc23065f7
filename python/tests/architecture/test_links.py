"""Links between documents lead somewhere: to a file that is there, and to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def without_code(text: str) -> str:
    """Return a page without its blocks of code, whose brackets are no links."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and site generators make them."""
    headings = re.findall(
        r"^#+ +(.+)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE
    )
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = without_code(page.read_text(encoding="utf-8"))
    for link in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_site_has_every_page() -> None:
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    listed = re.findall(r'"([\w/-]+\.md)"', navigation)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(pages)


def test_a_heading_that_is_not_there_is_missed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What is `a`?\n\n```\n# no heading\n```\n", encoding="utf-8")
    assert anchors(page) == {"what-is-a"}
