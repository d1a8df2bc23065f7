"""Every command and example of the documentation does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from blocks import Page, blocks_of, matches
from real_servers import needs_namespaces

ROOT = Path(__file__).parents[3]
# Made from the help texts, whose examples take studies of the reader's own.
MADE = "docs/reference/command-line.md"
PAGES = {
    name: list(blocks_of(page.read_text(encoding="utf-8")))
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if (name := page.relative_to(ROOT).as_posix()) != MADE
}
RUN = sorted(name for name, blocks in PAGES.items() if blocks)
SLOW = [name for name in RUN if any(block.directive == "slow" for block in PAGES[name])]


def run(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch, *, slow: bool) -> None:
    needs_namespaces()  # many pages have regions or faults
    monkeypatch.chdir(directory)
    page = Page(directory, {"__name__": "page"})
    for block in PAGES[name]:
        try:
            page.run(block, slow=slow)
        except Exception as error:
            error.add_note(f"{name}, line {block.line}")
            raise


@pytest.mark.cluster
@pytest.mark.parametrize("name", RUN)
def test_a_page_does_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(name, tmp_path, monkeypatch, slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SLOW)
def test_a_page_does_what_it_says_at_length(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(name, tmp_path, monkeypatch, slow=True)


def test_blocks_are_read_with_their_directives() -> None:
    (first, second) = blocks_of(
        "<!-- in tests: true -->\n\n```sh\nfalse\n```\n\n"
        '- item\n\n  ```yaml title="a.yaml"\n  a: 1\n  ```\n'
    )
    assert (first.language, first.directive, first.says) == ("sh", "in tests", "true")
    assert (second.title, second.text, second.directive) == ("a.yaml", "a: 1\n", None)


def test_a_directive_without_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match="isn't directly before a block"):
        list(blocks_of("<!-- slow: it takes hours -->\n\nText.\n"))


@pytest.mark.parametrize(
    "block",
    [
        "```sh\nfalse\ntrue\n```",
        "```console\n$ echo a\nb\n```",
        "```python\nassert False\n```",
        "```yaml\na: [\n```",
        "```json\n{\n```",
        "```perl\n1\n```",
    ],
)
def test_a_block_that_does_not_do_what_it_says_fails(block: str, tmp_path: Path) -> None:
    (only,) = blocks_of(block)
    with pytest.raises(Exception):  # noqa: B017, PT011 - of each kind its own
        Page(tmp_path, {}).run(only, slow=False)


@pytest.mark.parametrize(
    ("expected", "same"),
    [
        ("a\nb", True),
        ("a\n...", True),
        ("...\nb", True),
        ("a\n...\nb", True),
        ("a", False),
        ("a*", False),
    ],
)
def test_dots_stand_for_lines(expected: str, same: bool) -> None:
    assert matches("a\nb\n", expected) is same
