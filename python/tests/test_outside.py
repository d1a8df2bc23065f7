"""Text from outside does nothing where it arrives: on a terminal, in a report, in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

import fake_lab
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pacelc.cli import entry, output
from pacelc.cli.progress import LiveProgress, PlainProgress
from pacelc.errors import CannotRun
from pacelc.outside import as_csv, csv_cell, printable
from pacelc.report import write_report
from pacelc.runner import events, run_study
from pacelc.store import Store
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

# Clears the screen, names the window, moves up and writes over the line, by one byte and by two.
EVIL = "refused\x1b[2J\x1b]0;mine\x07\x1b[1Adone\r\x9b2J\u202eslla"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "-a"]
NUMBERS = ["-1", "-1.5", "+2", "-.5", "-1e-9", "-3.", "1R-3W", "ONE", ""]


@given(st.text())
def test_what_is_printed_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    said = printable(text)
    assert not OBEYED.search(said)
    said.encode()  # halves of characters have no bytes
    if not OBEYED.search(text):
        assert printable(said) == said


def study(database: str = "memory") -> Study:
    return Study.parse(
        f"name: evil\nfactors: {{users: [1], kind: {{'=1+1': {{}}, '-1': {{fields: 2}}}}}}\n"
        f"settings: {{database: {database}, measure: 1s, warm_up: 0s, cool_down: 0s}}\n"
    )


def failed() -> list[events.Event]:
    run = study().schedule()[0]
    return [
        events.RunFailed(run, 1, 2, EVIL, EVIL, cluster_failed=False),
        events.ClusterFailed("key", EVIL, EVIL, 1),
        events.Warned(EVIL),
        events.ClusterUp("key", "redis", 1.0, {"redis": EVIL}),
        events.ClusterStep(EVIL),
    ]


def test_a_servers_error_does_nothing_to_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    for event in failed():
        PlainProgress()(event)
    err = capsys.readouterr().err
    assert err.count("refused") == 7
    assert not OBEYED.search(err)


def test_a_servers_error_does_nothing_to_a_terminal() -> None:
    def shown(what: list[events.Event]) -> str:
        out = io.StringIO()
        with LiveProgress(Console(file=out, force_terminal=True, width=200)) as live:
            for event in what:
                live(event)
                live._live.refresh()
        return out.getvalue()

    said = shown(failed())
    assert "refused" in said
    # What the display itself needs is no more than that.
    for sent in ("\x1b[2J", "\x1b]0;", "\x07", "\x9b", "\u202e", "done\r"):
        assert sent not in said


def test_a_servers_error_does_nothing_at_the_door(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = CannotRun(EVIL, EVIL)
    error.log_tail = EVIL  # type: ignore[attr-defined]

    def app(*_: Any, **__: Any) -> int:
        output.put(EVIL)
        raise error

    monkeypatch.setattr("pacelc.cli.app.app", app)
    assert entry.call(["run"]) == CannotRun.exit_status
    out, err = capsys.readouterr()
    assert out.count("refused") == 1
    assert err.count("refused") == 3
    assert not OBEYED.search(out + err)


def test_a_report_holds_neither_control_characters_nor_formulas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = fake_lab._result
    monkeypatch.setattr(
        fake_lab, "_result", lambda spec: {**result(spec), "warnings": [EVIL, f"={EVIL}"]}
    )
    definition = study()
    with Store.open(tmp_path, create=definition.as_document()) as store:
        assert run_study(definition, store, fake_lab.FakeLab()).finished == 2
    report = write_report(tmp_path)
    page = report.html.read_text(encoding="utf-8")
    assert "refused" in page
    assert not OBEYED.search(page)
    cells = [
        cell
        for path in report.tables
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
        for cell in row
    ]
    assert "'=1+1" in cells
    assert "-1" in cells
    assert "=1+1" not in cells


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_take_for_a_formula_is_text(text: str) -> None:
    assert csv_cell(text) == f"'{text}"
    frame = pl.DataFrame({text: [text, None], "n": [-1.5, -2.0]})
    rows = list(csv.reader(io.StringIO(as_csv(frame).decode(), newline="")))
    assert rows == [[f"'{text}", "n"], [f"'{text}", "-1.5"], ["", "-2.0"]]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_stay_numbers(text: str) -> None:
    assert csv_cell(text) == text
    frame = pl.DataFrame({"a": [text], "b": [[text, "=x"]]})
    rows = list(csv.reader(io.StringIO(as_csv(frame).decode(), newline="")))
    assert rows[1][0] == text


def test_a_cell_and_a_column_are_the_same_rule() -> None:
    texts = [*FORMULAS, *NUMBERS, *NUMBERS[:3]]
    frame = pl.DataFrame({"a": texts, "b": ["x"] * len(texts)})
    rows = list(csv.reader(io.StringIO(as_csv(frame).decode(), newline="")))
    assert [row[0] for row in rows[1:]] == [csv_cell(text) for text in texts]
