"""Which panels a figure has, and which figures a study."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import altair as alt
import polars as pl
import pytest

from pacelc import plots
from pacelc.analysis import ALL_OPERATIONS, METRICS, Design, Group
from pacelc.plots.layout import TooMuchToDraw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIX = {"database": 4, "nodes": 2, "place": 3, "trouble": 5}


def design_of(
    factors: Mapping[str, Sequence[str]],
    *,
    loads: Sequence[float] = (1, 4, 16),
    without: tuple[str, ...] = (),
) -> Design:
    """Make a design of every combination, of which one may be missing."""
    names = tuple(factors)
    groups = tuple(
        Group(names, labels) for labels in itertools.product(*factors.values()) if labels != without
    )
    rows = [
        {
            "source_": "s",
            "run": f"{number:04d}-r1",
            "scenario": number,
            "repetition": repetition,
            **dict(zip(names, group.labels, strict=True)),
            "level": level,
            "load": float(load),
            **dict.fromkeys(METRICS, float(place + 10 * load + repetition)),
        }
        for number, (place, group, level, load, repetition) in enumerate(
            (place, group, level, load, repetition)
            for place, group in enumerate(groups, 1)
            for level in ("weak", "strong")
            for load in loads
            for repetition in (1, 2)
        )
    ]
    return Design(
        "consistency", "users", ("weak", "strong"), tuple(loads), groups, pl.DataFrame(rows)
    )


def labels(number: int, name: str) -> list[str]:
    return [f"{name}{i}" for i in range(number)]


def test_the_two_factors_with_most_levels_are_panels_and_the_others_have_figures() -> None:
    design = design_of({name: labels(n, name) for name, n in SIX.items()})
    facets = plots.facets_of(design)
    assert {(f.across, f.down) for f in facets} == {("database", "trouble")}
    assert [f.labels for f in facets][:2] == [("nodes0", "place0"), ("nodes0", "place1")]
    assert len(facets) == 2 * 3
    assert sorted(g for f in facets for g in f.groups) == sorted(design.groups)


def test_factors_of_panels_can_be_chosen() -> None:
    design = design_of({name: labels(n, name) for name, n in SIX.items()})
    facets = plots.facets_of(design, ["place", "nodes"])
    assert {(f.across, f.down) for f in facets} == {("place", "nodes")}
    assert len(facets) == 4 * 5
    with pytest.raises(ValueError, match="'placee' is not a factor of panels: database, nodes"):
        plots.facets_of(design, ["placee"])
    with pytest.raises(ValueError, match="at most two"):
        plots.facets_of(design, ["place", "nodes", "database"])


def test_kinds_of_operation_are_panels_only_where_there_is_room() -> None:
    kinds = [ALL_OPERATIONS, "read", "update"]
    (one,) = plots.facets_of(design_of({"database": ["redis", "hbase"], "operation": kinds}))
    assert {one.across, one.down} == {"database", "operation"}
    three = {"database": ["redis", "hbase"], "place": ["a", "b"], "operation": kinds}
    (whole,) = plots.facets_of(design_of(three))
    assert (whole.across, whole.down) == ("database", "place")
    assert {group.get("operation") for group in whole.groups} == {ALL_OPERATIONS}
    asked = plots.facets_of(design_of(three), ["operation", "database"])
    assert [f.labels for f in asked] == [("a",), ("b",)]


def test_a_combination_that_was_not_measured_is_an_empty_panel() -> None:
    places = {"database": ["redis", "mongodb"], "place": ["a", "b"]}
    design = design_of(places, without=("redis", "a"))
    chart = plots.throughput_by_load(design).to_dict()
    rows = next(iter(chart["datasets"].values()))
    panels = {(row["across"], row["down"]): row["value"] for row in rows}
    assert set(panels) == set(itertools.product(["Redis", "MongoDB"], "ab"))
    assert panels["Redis", "a"] is None


def test_all_figures_of_a_kind_have_the_same_scale() -> None:
    design = design_of({name: labels(n, name) for name, n in SIX.items()})
    domains = {
        str(chart["spec"]["layer"][1]["encoding"]["y"]["scale"])
        for f in plots.facets_of(design)
        for chart in [plots.throughput_by_load(design, facets=f).to_dict()]
    }
    assert len(domains) == 1


def test_a_study_that_needs_several_figures_says_so() -> None:
    design = design_of({name: labels(n, name) for name, n in SIX.items()})
    with pytest.raises(TooMuchToDraw, match="6 figures are needed"):
        plots.throughput_by_load(design)


def test_two_loads_have_no_line_between_them() -> None:
    design = design_of({"database": ["redis"]}, loads=(1, 8))
    marks = [layer["mark"]["type"] for layer in plots.throughput_by_load(design).to_dict()["layer"]]
    assert marks == ["rule", "point"]


@pytest.mark.parametrize("levels", range(1, 7))
@pytest.mark.parametrize("style", [plots.SCREEN, plots.PAPER], ids=lambda s: s.name)
def test_every_colour_stands_out_from_white(style: plots.Style, levels: int) -> None:
    colours = style.colours(levels)
    assert len(set(colours)) == levels
    for colour in colours:
        assert contrast_with_white(colour) >= 3, colour


def contrast_with_white(colour: str) -> float:
    """WCAG 2.1's contrast ratio."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    luminance = sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 1.05 / (luminance + 0.05)


def test_the_same_chart_drawn_again_has_the_same_bytes() -> None:
    chart = plots.throughput_by_load(design_of({"database": ["redis", "mongodb"]}))
    assert "clip-" in plots.svg_text(chart)
    assert plots.svg_text(chart) == plots.svg_text(chart)


def test_a_figure_may_have_more_rows_than_a_notebook_may_hold() -> None:
    rows = pl.DataFrame({"x": range(6_000)})
    assert plots.svg_text(alt.Chart(rows).mark_tick().encode(x="x:Q")).startswith("<svg")


def test_two_printed_panels_fit_a_column() -> None:
    design = design_of({"database": ["redis", "mongodb"]})
    svg = plots.svg_text(plots.throughput_by_load(design, style=plots.PAPER))
    width_px = float(svg.split('width="')[1].split('"')[0])
    assert width_px / 96 <= 3.4
