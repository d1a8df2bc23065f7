"""A study is run from Python, and a notebook shows its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pacelc
from pacelc.runner import events

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: shown
factors:
  kind:
    <b>reads</b>: {mix: {read: 1}}
    updates: {mix: {update: 1}}
  users: [1, 2]
settings: {database: memory, warm_up: 0s, measure: 0.1s, spawn_rate: 1000, records: 10}
"""
CHANGES = ["users=1", "cool_down=0s"]


def test_a_study_runs_from_python_and_its_results_are_shown_in_few_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shown.yaml").write_text(STUDY)
    heard: list[events.Event] = []
    results = pacelc.run("shown.yaml", CHANGES, observe=heard.append)
    assert repr(results) == "<Results of shown: 2 runs, by kind, users>"
    assert results.paths == ((tmp_path / "results" / "shown").relative_to(tmp_path),)
    assert isinstance(heard[-1], events.StudyFinished)

    shown = results._repr_html_()
    assert "&lt;b&gt;reads&lt;/b&gt;" in shown
    assert "<b>" not in shown
    assert len(shown) < 4000

    assert all("latency_ms_" in name for name in results.runs.columns if "latency" in name)
    assert all("latency_ns_" in name for name in results.samples.columns if "latency" in name)

    again = pacelc.run(pacelc.Study.parse(STUDY), CHANGES, observe=heard.append)
    assert again.runs.equals(results.runs)
    with pytest.raises(pacelc.PacelcError, match="another study"):
        pacelc.run("shown.yaml")


def test_results_without_factors_or_with_failures_are_shown(tmp_path: Path) -> None:
    alone = pacelc.Study.parse(
        "name: alone\nsettings: {database: memory, warm_up: 0s, measure: 0.1s, records: 10}\n"
    )
    results = pacelc.run(alone, out=tmp_path / "one")
    assert repr(results) == "<Results of one: 1 run>"
    assert "throughput_per_s" in results._repr_html_()
