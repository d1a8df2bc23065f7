"""``pacelc claims``: published findings, with and without runs."""

from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING

import polars as pl
from made_up import APPEND, write_made_up

from pacelc.cli.entry import call
from pacelc.papers import STUDIES, claims_of
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_every_published_finding_is_listed_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert call(["claims", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    names = [(row["study"], row["claim"]) for row in found]
    assert len(set(names)) == len(names) == sum(len(claims_of(study)) for study in STUDIES)
    assert all(row["text"] and row["source"] for row in found)
    assert {row["verdict"] for row in found} == {None}


def test_runs_have_verdicts_with_their_evidence(
    ferreira_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = write_made_up(tmp_path / "append", Study.parse(APPEND), lambda _: 100.0)
    assert call(["claims", str(ferreira_dir), str(other), "--csv", "-"]) == 0
    out, err = capfd.readouterr()
    assert err == f"note: {other}: no published finding is about the study append\n"
    rows = pl.read_csv(StringIO(out))
    assert rows.get_column("claim").to_list() == [c.id for c in claims_of("ferreira-2024")]
    assert set(rows.get_column("verdict")) == {"holds", "violated", "can't tell"}
    assert rows.get_column("evidence").null_count() == 0
    assert rows.filter(pl.col("verdict") == "can't tell").get_column("reason").null_count() == 0
    assert call(["claims", str(ferreira_dir)]) == 0
    out, _ = capfd.readouterr()
    assert out.startswith("ferreira-2024: ")
    assert max(map(len, out.splitlines()[2:])) <= 100
