"""Which panels a figure has, and which figures a study."""

# ruff: noqa: RUF001 - typography: the minus sign

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import altair as alt
import polars as pl
import pytest

from pacelc import plots
from pacelc.analysis import ALL_OPERATIONS, METRICS, Design, Group, compare
from pacelc.plots.layout import TooMuchToDraw, shared_scale
from pacelc.plots.save import unchecked

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
            "cluster_started_utc": f"{place} {level} {repetition}",
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


def test_a_combination_that_was_not_measured_has_no_panel() -> None:
    places = {"database": ["redis", "mongodb"], "place": ["a", "b"]}
    chart = plots.throughput_by_load(design_of(places, without=("redis", "a"))).to_dict()
    assert chart["facet"]["field"] == "panel"
    assert chart["facet"]["sort"] == ["Redis, b", "MongoDB, a", "MongoDB, b"]
    rows = next(iter(chart["datasets"].values()))
    assert {row["panel"] for row in rows} == set(chart["facet"]["sort"])
    assert all(row["value"] is not None for row in rows)
    whole = plots.throughput_by_load(design_of(places)).to_dict()
    assert set(whole["facet"]) == {"row", "column"}


@pytest.mark.parametrize(
    ("style", "page_px"), [(plots.SCREEN, 768), (plots.NARROW, 368)], ids=["screen", "narrow"]
)
@pytest.mark.parametrize("loads", [(7,), (1, 4, 16)], ids=["levels", "loads"])
@pytest.mark.parametrize("factors", [1, 2, 5])
def test_a_figure_fits_the_page(
    style: plots.Style, page_px: int, loads: Sequence[float], factors: int
) -> None:
    design = design_of({"database": labels(factors, "mongodb"), "place": ["a", "b"]}, loads=loads)
    for chart in (
        plots.throughput_by_load(design, style=style),
        plots.change_between_levels(compare(design), levels=design.levels, style=style),
    ):
        svg = plots.svg_text(chart)
        assert float(svg.split('width="')[1].split('"')[0]) <= page_px


def test_runs_of_another_kind_of_operation_are_not_in_its_figures() -> None:
    (one,) = plots.facets_of(design_of({"database": ["redis"], "operation": ["read", "write"]}))
    study = pl.DataFrame({"database": ["redis"], "operation": ["read"], "value": [1.0]})
    assert one.of(study) is one
    assert one.of(study.drop("operation")).groups == (Group(("database",), ("redis",)),)


def test_numbers_of_changes_have_a_sign_and_no_line_goes_through_them() -> None:
    design = design_of({"database": ["redis", "mongodb"]})
    chart = plots.change_between_levels(compare(design), levels=design.levels).to_dict()
    (panel, *_) = chart["hconcat"]
    (text,) = [layer for layer in panel["layer"] if layer["mark"]["type"] == "text"]
    assert text["encoding"]["x"]["value"] > panel["width"]
    rows = [row for rows in chart["datasets"].values() for row in rows if "label" in row]
    assert rows
    for row in rows:
        change = 100 * (row["ratio"] - 1)
        assert re.fullmatch(r"[+−][\d,.]+ %|0 %", row["label"])
        assert float(re.sub("[ %,]", "", row["label"]).replace("−", "-")) == pytest.approx(
            change, abs=0.5
        )


def test_a_group_has_rows_for_its_own_levels_alone() -> None:
    design = design_of({"database": ["redis", "mongodb"]})
    some = [
        replace(c, level=f"{c.level} {c.group.get('database')}")
        for c in compare(design, metrics=["throughput_per_s"])
    ]
    chart = plots.change_between_levels(some).to_dict()
    rows = [row for rows in chart["datasets"].values() for row in rows if "label" in row]
    assert len({row["at"] for row in rows}) == 2
    assert chart["hconcat"][0]["height"] < 60


def test_a_level_has_one_colour_and_legends_show_those_that_are_drawn() -> None:
    design = design_of({"database": ["redis"]})
    design = replace(design, levels=(*design.levels, "none"))
    by_load = plots.throughput_by_load(design).to_dict()["layer"][0]["encoding"]["color"]
    panel = plots.change_between_levels(compare(design), levels=design.levels).to_dict()
    change = panel["hconcat"][0]["layer"][1]["encoding"]["color"]
    assert by_load["scale"] == change["scale"]
    assert by_load["legend"]["values"] == ["weak", "strong"]
    assert change["legend"] is None


def test_bars_begin_at_zero() -> None:
    frame = pl.DataFrame({"value": [1.0, 1000.0], "low": [0.5, 900.0], "high": [2.0, 1100.0]})
    assert shared_scale(frame)[0].to_dict()["type"] == "log"
    assert shared_scale(frame, bars=True)[0].to_dict()["domain"][0] == 0


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


def test_a_chart_that_is_not_checked_has_the_same_bytes() -> None:
    design = design_of({"database": ["redis", "mongodb"], "place": ["a", "b"]})
    checked = plots.svg_text(plots.throughput_by_load(design))
    with unchecked(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("jsonschema.validators.validator_for", None)
        assert plots.svg_text(plots.throughput_by_load(design)) == checked


def test_a_figure_may_have_more_rows_than_a_notebook_may_hold() -> None:
    rows = pl.DataFrame({"x": range(6_000)})
    assert plots.svg_text(alt.Chart(rows).mark_tick().encode(x="x:Q")).startswith("<svg")


def test_two_printed_panels_fit_a_column() -> None:
    design = design_of({"database": ["redis", "mongodb"]})
    svg = plots.svg_text(plots.throughput_by_load(design, style=plots.PAPER))
    width_px = float(svg.split('width="')[1].split('"')[0])
    assert width_px / 96 <= 3.4
