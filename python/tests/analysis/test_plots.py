"""Every figure renders offline, and says so when there is nothing to draw."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from made_up import APPEND, write_made_up

from pacelc import plots
from pacelc.analysis import Design, changes, resource_use
from pacelc.errors import CannotRun
from pacelc.plots.figures import NothingToDraw
from pacelc.store import Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pacelc.store import Results
    from pacelc.study import Scenario

UNITS = {
    "throughput": "throughput (operations/s)",
    "response time": "response time (ms)",
    "change": " %",
    "client": "memory (MiB)",
    "cpu": "CPU (cores in use)",
    "over time": "throughput (operations/s)",
    "percentiles": "response time (ms)",
}
FIGURES: dict[str, Callable[[Results, Design, plots.Style], Any]] = {
    "throughput": lambda _, d, s: plots.throughput_by_load(d, style=s),
    "response time": lambda _, d, s: plots.response_time_by_load(d, style=s),
    "change": lambda _, d, s: plots.change_between_levels(changes(d), style=s),
    "client": lambda r, d, s: plots.client_use_by_load(r, d, style=s),
    "cpu": lambda r, d, s: plots.cpu_by_role(r, d, style=s),
    "over time": lambda r, d, s: plots.throughput_over_time(r, d, style=s),
    "percentiles": lambda r, d, s: plots.latency_percentiles(r, d, style=s),
}


@pytest.mark.parametrize("style", [plots.SCREEN, plots.PAPER], ids=lambda s: s.name)
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_an_svg_that_names_its_groups_and_units(
    name: str, style: plots.Style, ferreira: Results
) -> None:
    svg = plots.svg_text(FIGURES[name](ferreira, Design.of(ferreira), style))
    ET.fromstring(svg)
    assert "Redis" in svg
    assert UNITS[name] in svg
    assert ("#000000" in svg or "rgb(0, 0, 0)" in svg) or style is plots.SCREEN


@pytest.mark.parametrize("name", FIGURES)
def test_there_is_nothing_to_draw_of_no_runs(name: str, tmp_path: Path) -> None:
    Store.open(tmp_path / "r", create={"name": "empty"}).close()
    results = load(tmp_path / "r")
    with pytest.raises(NothingToDraw):
        FIGURES[name](results, Design.of(results), plots.SCREEN)


def test_one_load_is_drawn_by_level(tmp_path: Path, make_study: Callable[..., Path]) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(4,), repetitions=2, measure_s=3)
    svg = plots.svg_text(plots.throughput_by_load(Design.of(load(path))))
    assert "Throughput by consistency" in svg
    # Dots and bars: two points aren't a line.
    assert "mark-line" not in svg
    assert "mark-symbol" in svg


def test_a_figure_is_saved_as_its_suffix_says(mixed: Results, tmp_path: Path) -> None:
    chart = plots.throughput_by_load(Design.of(mixed))
    assert plots.save_figure(chart, tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    assert plots.save_figure(chart, tmp_path / "f.svg").read_text().startswith("<svg")
    html = plots.save_figure(chart, tmp_path / "f.html").read_text()
    assert 'src="http' not in html
    assert plots.save_figure(chart, tmp_path / "f.vl.json").read_text().startswith("{")
    with pytest.raises(ValueError, match="saved as"):
        plots.save_figure(chart, tmp_path / "f.pdf")


def test_a_figure_that_cannot_be_written_leaves_the_old_one(
    mixed: Results, tmp_path: Path, no_file_above: Callable[[int], AbstractContextManager[None]]
) -> None:
    path, chart = tmp_path / "f.svg", plots.throughput_by_load(Design.of(mixed))
    path.write_text("old")
    with (
        no_file_above(1000),
        pytest.raises(CannotRun, match=r"f\.svg: cannot be written: File too large"),
    ):
        plots.save_figure(chart, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_samples_are_no_line(tmp_path: Path, make_study: Callable[..., Path]) -> None:
    results = load(make_study(tmp_path / "r", databases=("redis",), users=(4,), measure_s=2))
    with pytest.raises(NothingToDraw, match="samples enough"):
        plots.throughput_over_time(results, Design.of(results))


@pytest.mark.parametrize("shared", [True, False])
def test_use_is_a_mean_over_loads_of_which_every_level_has_readings(
    shared: bool, tmp_path: Path
) -> None:
    def busy(scenario: Scenario) -> dict[tuple[str, str], float]:
        users = scenario.settings.users
        loads = {"no": {1, 2, 4} if shared else {1, 4}, "yes": {1, 2} if shared else {2}}
        read = users in loads[str(scenario.factors["appendonly"])]
        return {("n1", "primary"): float(users)} if read else {}

    results = load(
        write_made_up(tmp_path / "r", Study.parse(APPEND), lambda _: 1e3, cpu_cores=busy)
    )
    use = resource_use(results, Design.of(results)).filter(resource="cpu_cores")
    assert use.get_column("level").to_list() == ["no", "yes"]
    if shared:
        assert use.get_column("loads").to_list() == ["1, 2", "1, 2"]
        assert use.get_column("value").to_list() == pytest.approx([1.5, 1.5])
    else:
        assert use.get_column("value").to_list() == [None, None]
        assert set(use.get_column("method")) == {"no load has readings of every level"}
