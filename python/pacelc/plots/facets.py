"""Which factors are the rows and columns of panels; of the others, each figure has one level.

More than two factors don't fit a page. By default the two with the most levels are the panels', the
one with fewer levels across; each combination of the others has a figure of its own. All figures of
a kind share their scales, so that heights can be compared across panels and figures.

Kinds of operation that a run mixes aren't the study's factor: they are panels where there is room,
or where somebody asks for them. Elsewhere, a run counts as a whole.

Map
---
facets_of       of a design: one a figure
Facets          what one figure shows
in_panels       a chart, repeated in its panels; repeated: in panels of other titles
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis import ALL_OPERATIONS, Design, Group
from pacelc.plots.layout import MOST_PANELS, SEVERAL_ROWS, TooMuchToDraw, lines_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.plots.style import Style

__all__ = ["Facets", "facets_of", "in_panels", "one_figure", "repeated"]

_ONE_ROW: Final = 4
_TWO_BY_TWO: Final = 2


@dataclass(frozen=True)
class Facets:
    """What one figure shows.

    Attributes
    ----------
    across, down
        Factors whose levels are columns and rows of panels; None where there is none.
    groups
        Which the figure shows, in the study's order.
    labels
        Of the factors that are neither, as they are read: they go into the title.
    all_groups
        Those of all figures of a kind, which share their scales.
    """

    across: str | None
    down: str | None
    groups: tuple[Group, ...]
    labels: tuple[str, ...]
    all_groups: tuple[Group, ...]

    def of(self, frame: pl.DataFrame) -> Facets:
        """Return the facets of a frame: processors know no kinds of operation that a run mixes."""
        if not self.groups or "operation" not in self.groups[0].names:
            return self
        return self if "operation" in frame.columns else self.without("operation")

    def without(self, name: str) -> Facets:
        """Return facets of what has no such factor."""
        groups, every = (
            tuple(dict.fromkeys(group.without(name) for group in of))
            for of in (self.groups, self.all_groups)
        )
        across, down = (None if factor == name else factor for factor in (self.across, self.down))
        return replace(
            self, across=across or down, down=across and down, groups=groups, all_groups=every
        )

    def of_all(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Keep the rows of all figures of the kind."""
        return replace(self, groups=self.all_groups).placed(frame)

    def placed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Keep the rows of these groups, and say in which ``panel`` each is, ``across, down``."""
        names = [name for name in self.groups[0].names if name in frame.columns]
        rows = [
            {
                **{name: group.get(name) for name in names},
                "across": _read(group, self.across),
                "down": _read(group, self.down),
                "panel": self.name(group),
            }
            for group in self.groups
        ]
        places = pl.DataFrame(rows).unique(maintain_order=True)
        if not names:
            return frame.join(places, how="cross")
        return frame.join(places, on=names, how="inner", maintain_order="left")

    def shows(self, group: Group) -> bool:
        """Whether the figure has this group, or kinds of operation of it."""
        return group in self.groups or group in self.without("operation").groups

    def name(self, group: Group) -> str:
        """Return what tells a group from the others of the figure."""
        words = [_read(group, name) for name in group.names if name in (self.across, self.down)]
        return ", ".join(words) or "all runs"

    def titles(self) -> dict[str, list[str]]:
        """Titles of panels, columns and rows, in the study's order."""
        return {
            "panel": [self.name(group) for group in self.groups],
            "across": [_read(group, self.across) for group in self.groups],
            "down": [_read(group, self.down) for group in self.groups],
        }


def facets_of(design: Design, chosen: Sequence[str] = ()) -> tuple[Facets, ...]:
    """Return what each figure of a design shows.

    Parameters
    ----------
    design
        The runs.
    chosen
        The factor across, and the one down; by default the two with the most levels.

    Raises
    ------
    ValueError
        ``chosen`` has more than two names, or one that is no factor of the groups.
    """
    names = design.groups[0].names if design.groups else ()
    if len(chosen) > 2 or len(set(chosen)) < len(chosen):  # noqa: PLR2004 - across and down
        raise ValueError("panels have at most two factors: one across, one down")
    if design.groups and (unknown := [name for name in chosen if name not in names]):
        raise ValueError(f"{unknown[0]!r} is not a factor of panels: {', '.join(names) or 'none'}")
    groups = design.groups
    wholes = _wholes(groups)
    mixed = len(wholes) < len(groups)
    ranked = sorted(
        (
            name
            for name in names
            if _levels(groups, name) > 1 and not (mixed and name == "operation")
        ),
        key=lambda name: -_levels(groups, name),
    )
    if chosen:
        two = list(chosen)
    else:
        two = (ranked + ["operation"] * mixed)[:2]
        two.sort(key=lambda name: _levels(groups, name))
    if mixed and "operation" not in two:
        groups = wholes
    across, down = (*two, None, None)[:2]
    others = [name for name in names if name not in two and not (mixed and name == "operation")]
    parts: dict[tuple[str, ...], list[Group]] = {}
    for group in groups:
        parts.setdefault(tuple(group.get(name) for name in others), []).append(group)
    return tuple(
        Facets(
            across,
            down,
            tuple(part),
            tuple(_read(part[0], name) for name in others),
            groups,
        )
        for part in parts.values()
    ) or (Facets(None, None, (), (), ()),)


def one_figure(design: Design, facets: Facets | None) -> Facets:
    """Return the facets of a figure; by default the design's, if one figure has room for them.

    Raises
    ------
    TooMuchToDraw
        It has not.
    """
    if facets is not None:
        return facets
    first, *others = facets_of(design)
    if others:
        raise TooMuchToDraw(
            f"{1 + len(others)} figures are needed: give one of `facets_of(design)`"
        )
    return first


def in_panels(
    facets: Facets,
    style: Style,
    layers: Sequence[Any],
    data: pl.DataFrame,
    *,
    size: bool = True,
    own_y: bool = False,
) -> Any:
    """Repeat layers in each panel of :func:`repeated`."""
    return repeated(facets.titles(), style, layers, data, size=size, own_y=own_y)


def repeated(
    titles: Mapping[str, Sequence[str]],
    style: Style,
    layers: Sequence[Any],
    data: pl.DataFrame,
    *,
    size: bool = True,
    own_y: bool = False,
) -> Any:
    """Repeat layers in each panel, with the same scales.

    Two factors are rows and columns, if there are runs of every combination and room for the
    columns. Else panels follow one another, and there is none without runs.

    Parameters
    ----------
    titles
        Of panels, columns and rows, in their order, by the columns of the data that have them:
        ``panel, across, down``.
    style
        How they look.
    layers
        Charts without data.
    data
        As :meth:`Facets.placed` returns it.
    size
        Whether to set the height of a panel.
    own_y
        Whether each panel has a vertical scale of its own.

    Raises
    ------
    TooMuchToDraw
        There are more panels than can be taken in at once.
    """
    panels, across, down = (
        [title for title in dict.fromkeys(of) if title in set(data.get_column(column))]
        for column, of in titles.items()
    )
    if len(panels) > MOST_PANELS:
        raise TooMuchToDraw(f"{len(panels)} panels are more than a figure can show")
    whole = len(panels) == len(across) * len(down)
    most = max(1, style.columns - own_y)
    in_rows = whole and size and len(across) <= most
    columns = len(across) if in_rows else min(most, len(panels))
    if not in_rows and (len(panels) > columns or not size):
        columns = min(columns, _TWO_BY_TWO if len(panels) == _ONE_ROW else SEVERAL_ROWS)
    between = style.gap // 4
    width, height = style.panel_of(columns, between=between, axes=columns if own_y else 1)
    chart: Any = alt.layer(*layers, data=data)
    chart.width = width
    if size:
        chart.height = height
    if len(panels) == 1:
        return chart
    scales = {"y": "independent"} if own_y else {}
    if not in_rows:
        header = _header(panels, width, style)
        facet = alt.Facet("panel:N", sort=panels, title=None, header=header)
        chart = chart.facet(facet, columns=columns, spacing=between)
        # Shared axes would stand under the empty places of the last row.
        axes = {"x": "independent"} if len(panels) % columns else {}
        return chart.resolve_axis(**axes).resolve_scale(**scales)
    channels: dict[str, Any] = {}
    if len(across) > 1:
        header = _header(across, width, style)
        channels["column"] = alt.Column("across:N", sort=across, title=None, header=header)
    if len(down) > 1:
        header = _header(down, height, style)
        channels["row"] = alt.Row("down:N", sort=down, title=None, header=header)
    return chart.facet(**channels, spacing=between).resolve_scale(**scales)


def _header(titles: Sequence[str], room_px: int, style: Style) -> alt.Header:
    """Break titles that are longer than their panel."""
    lines = {title: lines_of(title, room_px, style.font_size + 1) for title in titles}
    broken = {title: of for title, of in lines.items() if len(of) > 1}
    if not broken:
        return alt.Header()
    return alt.Header(
        labelExpr=f"({json.dumps(broken)})[datum.value] || datum.value",
        labelLineHeight=style.font_size + 3,
    )


def _wholes(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Leave out the kinds of operation of runs that are there as a whole."""
    mixed = {g.without("operation") for g in groups if g.get("operation") == ALL_OPERATIONS}
    return tuple(
        g
        for g in groups
        if g.get("operation") == ALL_OPERATIONS or g.without("operation") not in mixed
    )


def _levels(groups: Sequence[Group], name: str) -> int:
    return len({group.get(name) for group in groups})


def _read(group: Group, factor: str | None) -> str:
    """Return a label as it is read."""
    if factor is None:
        return ""
    return Group((factor,), (group.get(factor),)).words()[0]
