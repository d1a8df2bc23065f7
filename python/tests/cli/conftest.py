"""The command line in this process, and snapshots of what it prints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pacelc.cli.entry import call

if TYPE_CHECKING:
    from collections.abc import Callable

SNAPSHOTS = Path(__file__).parent / "snapshots"


class Printed(NamedTuple):
    status: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit status {self.status}\n--- stdout\n{self.out}--- stderr\n{self.err}"


@pytest.fixture
def pacelc(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Printed]:
    """Run a command in an empty directory, eighty columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PACELC_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Printed:
        status = call(arguments)
        out, err = capfd.readouterr()
        return Printed(status, out, err)

    return run


@pytest.fixture
def snapshot() -> Callable[[str, object], None]:
    """Compare with what was printed before; PACELC_UPDATE_SNAPSHOTS=1 takes it anew."""

    def compare(name: str, printed: object) -> None:
        path = SNAPSHOTS / f"{name}.txt"
        if os.environ.get("PACELC_UPDATE_SNAPSHOTS") == "1":
            path.write_text(str(printed), encoding="utf-8")
        assert str(printed) == path.read_text(encoding="utf-8")

    return compare
