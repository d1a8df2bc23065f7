"""How figures look.

Levels differ in colour and in shape or dash at once: print and colour-blind readers lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

__all__ = ["NARROW", "PAPER", "SCREEN", "Style"]

FONT: Final = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_INK: Final = "#222222"
_QUIET: Final = "#666666"
_GRID: Final = "#e6e6e6"
_AXIS: Final = 6
"""Width of a vertical axis with its labels and title, over the height of a letter."""


@dataclass(frozen=True)
class Style:
    """Colours of levels and sizes of type.

    Attributes
    ----------
    name
        ``screen``, ``narrow`` or ``paper``.
    palette
        Colours for 1, 2, 3 … levels: ``palette[n - 1]`` has n. Beyond the longest, the last is
        repeated from its start.
    font_size
        Pixels of the axis labels; titles are larger in proportion. A printed inch has 96.
    panel
        Width and height of one panel, at most.
    room
        Width of a figure, in pixels: panels side by side, titles and legends fit it.
    columns
        Panels side by side that share their axes, at most.
    gap
        Between panels that have axes of their own.
    titled
        Whether figures carry their title: in print a caption says it.
    """

    name: str
    palette: tuple[tuple[str, ...], ...]
    font_size: int = 12
    panel: tuple[int, int] = (300, 170)
    room: int = 740
    columns: int = 4
    gap: int = 50
    titled: bool = True

    def colours(self, n: int) -> list[str]:
        """Colours of ``n`` levels, in the study's order."""
        if n == 0:
            return []
        scheme = self.palette[min(n, len(self.palette)) - 1]
        return [scheme[i % len(scheme)] for i in range(n)]

    def panel_of(self, columns: int, *, between: int, axes: int = 1) -> tuple[int, int]:
        """Width and height of a panel of a row.

        ``between`` is from one panel to the next, less the vertical axes, of which there are so
        many.
        """
        width, height = self.panel
        lost = axes * _AXIS * self.font_size + (columns - 1) * between
        return min(width, (self.room - lost) // columns), height

    @property
    def alone(self) -> int:
        """Width of a panel that has the whole room."""
        return self.room - _AXIS * self.font_size

    @staticmethod
    def shapes(n: int) -> list[str]:
        """Point shapes of ``n`` levels."""
        known = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
        return [known[i % len(known)] for i in range(n)]

    @staticmethod
    def dashes(n: int) -> list[list[int]]:
        """Line dashes of ``n`` levels; the last, strongest, is solid."""
        known = [[1, 0], [6, 2], [2, 2], [6, 2, 2, 2], [10, 3], [4, 4]]
        return [known[(n - 1 - i) % len(known)] for i in range(n)]

    def config(self) -> dict[str, Any]:
        """Vega-Lite's ``config``."""
        size = self.font_size
        return {
            "background": "white",
            "font": FONT,
            "padding": {"screen": 8, "narrow": 4}.get(self.name, 2),
            "view": {"stroke": None},
            "axis": {
                "labelColor": _INK,
                "titleColor": _INK,
                "labelFontSize": size,
                "titleFontSize": size,
                "titleFontWeight": "normal",
                "titlePadding": 8 if self.titled else 4,
                "gridColor": _GRID,
                "domainColor": _QUIET,
                "tickColor": _QUIET,
                "labelFlush": False,
            },
            "legend": {
                "orient": "top",
                "title": None,
                "labelFontSize": size,
                "labelColor": _INK,
                "symbolSize": 90 if self.titled else 50,
                "symbolStrokeWidth": 2,
                "symbolOpacity": 1,
                "labelLimit": 300,
                "columnPadding": 18 if self.titled else 10,
            },
            "header": {
                "labelFontSize": size + 1,
                "labelFontWeight": "bold",
                "labelColor": _INK,
                "title": None,
                "labelLimit": 400,
            },
            "title": {
                "anchor": "start",
                "fontSize": size + 3,
                "color": _INK,
                "subtitleColor": _QUIET,
                "subtitleFontSize": size,
                "subtitlePadding": 4,
                "offset": 10,
            },
        }


# Okabe and Ito's palette without what is too pale for a line on white: each has a contrast of 3 or
# more (WCAG 2.1, 1.4.11). Neighbours differ in lightness too.
SCREEN: Final = Style(
    "screen",
    (
        ("#0072B2",),
        ("#0072B2", "#D55E00"),
        ("#0072B2", "#009E73", "#D55E00"),
        ("#0072B2", "#009E73", "#CC79A7", "#D55E00"),
        ("#0072B2", "#009E73", "#CC79A7", "#D55E00", "#000000"),
        ("#0072B2", "#009E73", "#CC79A7", "#D55E00", "#000000", "#8c8c8c"),
    ),
)
# A phone's page is 400 pixels wide, less its margins.
NARROW: Final = replace(SCREEN, name="narrow", panel=(300, 150), room=340, columns=2)
# Ferreira et al. 2024 draw weak in grey and strong in black. Two panels fill a column of 3.3
# inches, four a page's 6.9.
PAPER: Final = Style(
    "paper",
    (
        ("#000000",),
        ("#8c8c8c", "#000000"),
        ("#949494", "#5c5c5c", "#000000"),
        ("#949494", "#6b6b6b", "#424242", "#000000"),
        ("#949494", "#767676", "#595959", "#3b3b3b", "#000000"),
        ("#949494", "#7d7d7d", "#666666", "#4d4d4d", "#333333", "#000000"),
    ),
    font_size=10,
    panel=(118, 96),
    room=662,
    gap=44,
    titled=False,
)
