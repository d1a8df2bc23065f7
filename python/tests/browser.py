"""A real browser that looks at a page, as its readers do."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

WIDTHS: Final = (400, 800, 1400)
"""Pixels: a phone, half a screen, a screen."""
_ALONE: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It reaches for no network, and runs as root, too."""


@dataclass
class Seen:
    """What a browser had to say of a page."""

    complaints: list[str] = field(default_factory=list[str])
    """Console errors, exceptions, and requests for anything but the page's own files."""
    too_wide: list[str] = field(default_factory=list[str])
    """Widths in which the page must be scrolled sideways, and by what."""
    inaccessible: list[str] = field(default_factory=list[str])
    """Violations that axe finds."""


@contextmanager
def chromium() -> Generator[Browser]:
    """Start Chromium; the test is skipped where there is none."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*_ALONE])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, page_file: Path, seen: Seen, width: int = 800) -> Generator[Page]:
    """Open a page from disk."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.on("console", lambda m: seen.complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on(
        "request",
        lambda r: (
            None
            if r.url.startswith(("file:", "data:"))
            else seen.complaints.append(f"asks {r.url}")
        ),
    )
    try:
        page.goto(page_file.resolve().as_uri())
        yield page
    finally:
        page.close()


def look_at(browser: Browser, page_file: Path) -> Seen:
    """Open a page in each width, and ask axe once."""
    seen = Seen()
    for width in WIDTHS:
        with opened(browser, page_file, seen, width) as page:
            wide = page.evaluate(
                """() => [...document.querySelectorAll('body *')]
                    .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                              && !e.closest('.scroll, pre'))
                    .map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 60))"""
            )
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                seen.too_wide.append(f"{width}: {wide[:3]}")
            if width == WIDTHS[-1]:
                for found in Axe().run(page).response["violations"]:
                    places = [node["html"][:120] for node in found["nodes"][:3]]
                    seen.inaccessible.append(f"{found['id']}: {found['help']}: {places}")
    return seen
