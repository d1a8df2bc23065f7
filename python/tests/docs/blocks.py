"""The code blocks of a page of the documentation, and how a test runs them.

A block's language says what is done with it:

``sh``                    its commands are run, and end with 0
``console``               its commands are run, and print what it says; ``...`` stands for lines
``python``                it is executed, in the one namespace of the page
``yaml title="FILE"``     (or any other language) it is written to FILE in the page's directory
``yaml``, ``json``        it is well-formed
``text``, ``mermaid``     nothing

A comment before a block changes that: ``<!-- not run: WHY -->``, ``<!-- slow: WHY -->`` (only in
``make test-slow``), or ``<!-- in tests: COMMANDS -->``, which are run in its place.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Iterator

ILLUSTRATIONS: Final = {"text", "mermaid"}
DIRECTIVE: Final = re.compile(r"\s*<!--\s*(not run|slow|in tests):\s*(.+?)\s*-->\s*", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code: its language, file if it has a title, text, and directive."""

    line: int
    language: str
    title: str | None
    text: str
    directive: str | None
    says: str


def blocks_of(markdown: str) -> Iterator[Block]:
    """Yield the blocks of a page, in order."""
    directive, says = None, ""
    for token in MarkdownIt("commonmark").parse(markdown):
        if token.type == "html_block" and (found := DIRECTIVE.fullmatch(token.content)):
            directive, says = found.groups()
        elif token.type == "fence":
            language, _, rest = token.info.partition(" ")
            title = re.search(r'title="([^"]+)"', rest)
            first = token.map[0] + 1 if token.map else 0
            yield Block(first, language, title and title.group(1), token.content, directive, says)
            directive, says = None, ""
        elif directive:
            raise ValueError(f"`{directive}: {says}` isn't directly before a block")


@dataclass
class Page:
    """A page's directory and namespace, while its blocks are run."""

    directory: Path
    namespace: dict[str, object]

    def run(self, block: Block, *, slow: bool) -> None:
        """Do with a block what its language and directive say."""
        if block.directive == "not run" or (block.directive == "slow" and not slow):
            return
        if block.directive == "in tests":
            self.shell(block.says)
        elif block.title:
            (self.directory / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self.shell(block.text)
        elif block.language == "console":
            self.console(block.text)
        elif block.language == "python":
            exec(compile(block.text, f"line {block.line}", "exec"), self.namespace)
        elif block.language == "yaml":
            list(YAML(typ="safe").load_all(block.text))
        elif block.language == "json":
            json.loads(block.text)
        elif block.language not in ILLUSTRATIONS:
            raise ValueError(f"`{block.language}` can't be run: say `<!-- not run: WHY -->`")

    def shell(self, commands: str, *, may_fail: bool = False) -> str:
        """Run commands up to the first that fails; return what they print."""
        binaries = Path(sys.executable).parent
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", commands],
            cwd=self.directory,
            env=os.environ
            | {"PATH": f"{binaries}:{os.environ['PATH']}", "COLUMNS": "80", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert may_fail or done.returncode == 0, (
            f"{commands}\nended with {done.returncode}:\n{done.stdout}"
        )
        return done.stdout

    def console(self, text: str) -> None:
        """Run each command of a transcript and compare what it prints."""
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command += "\n" + more
            printed = self.shell(command, may_fail=True)
            assert matches(printed, expected), f"{command}\nprints:\n{printed}"


def matches(printed: str, expected: str) -> bool:
    """Say whether an output is as a page has it: a line ``...`` stands for any number of lines."""
    lines = (
        "*\n"
        if line == "..."
        else line.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]") + "\n"
        for line in expected.strip().splitlines()
    )
    # A line `...` may stand for none.
    pattern = "".join(lines).replace("*\n", "*")
    return fnmatch.fnmatchcase(printed.strip() + "\n", pattern)
