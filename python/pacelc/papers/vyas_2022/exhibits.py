"""Tables 4 to 10 and figures 1 to 4 of Vyas and Jat 2022, made again from runs.

Factors are those of the study: ``mix`` (reads first), ``setting`` and ``users``. Of operations of
one kind, the settings 1R-1W, 2R-2W and 3R-3W are the paper's levels ONE, QUORUM and ALL.
"""

# ruff: noqa: RUF001 - typography: the quote in captions

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.papers.cells import estimates
from pacelc.papers.exhibit import Exhibit, FigureExhibit, Table, TableExhibit, beside
from pacelc.papers.vyas_2022.tables import individual, table
from pacelc.plots import POINTS, curves

if TYPE_CHECKING:
    import altair as alt

    from pacelc.analysis import Estimate
    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

__all__ = ["EXHIBITS"]

_LEVELS: Final = {"1R-1W": "ONE", "2R-2W": "QUORUM", "3R-3W": "ALL"}
_ALONE: Final = {"read": "100/0", "write": "0/100"}
_MIXES: Final = {6: "10/90", 7: "30/70", 8: "50/50", 9: "70/30", 10: "90/10"}
_STRONG: Final = ("1R-3W", "2R-2W", "3R-1W")
_KINDS: Final = {"read": "read", "write": "update"}
_US_A_MS: Final = 1000
_LATENCY: Final = "latency (ms)"
_THROUGHPUT: Final = "throughput (/s)"
_MEASURES: Final = {
    _LATENCY: ("latency_us", "latency_ms_mean", _US_A_MS),
    _THROUGHPUT: ("throughput_per_s", "throughput_per_s", 1),
}


def _alone(kind: str, e: Evidence) -> Table | None:
    published: dict[tuple[tuple[str, ...], str], float] = {}
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    threads: dict[int, None] = {}
    for printed in individual().filter(operation=kind).iter_rows(named=True):
        threads[printed["threads"]] = None
        for measure, (column, _, per) in _MEASURES.items():
            published[(str(printed["threads"]), measure), printed["level"]] = printed[column] / per
    for measure, (_, metric, _) in _MEASURES.items():
        found = estimates(e.results, ("users", "setting"), metric, {"mix": _ALONE[kind]})
        for (users, setting), estimate in found.items():
            if setting in _LEVELS:
                threads[int(users)] = None
                measured[(str(users), measure), _LEVELS[str(setting)]] = estimate
    return beside(
        ("users", kind),
        [(str(n), measure) for n in sorted(threads) for measure in _MEASURES],
        tuple(_LEVELS.values()),
        published,
        measured,
        ratio=True,
    )


def _mixed(number: int, e: Evidence) -> Table | None:
    published: dict[tuple[tuple[str, ...], str], float] = {}
    measured: dict[tuple[tuple[str, ...], str], Estimate] = {}
    threads: dict[int, None] = {}
    for printed in table(f"table{number}").iter_rows(named=True):
        threads[printed["threads"]] = None
        for kind in _KINDS:
            row = (str(printed["threads"]), kind)
            published[row, printed["setting"]] = printed[f"{kind}_latency_us"] / _US_A_MS
    for kind, operation in _KINDS.items():
        found = estimates(
            e.results,
            ("users", "setting"),
            f"{operation}.latency_ms_mean",
            {"mix": _MIXES[number]},
        )
        for (users, setting), estimate in found.items():
            threads[int(users)] = None
            measured[(str(users), kind), str(setting)] = estimate
    return beside(
        ("users", "latency (ms)"),
        [(str(n), kind) for n in sorted(threads) for kind in _KINDS],
        _STRONG,
        published,
        measured,
        ratio=True,
        best=lambda _: "lowest",
    )


def _figure(measure: str, e: Evidence, style: Style) -> alt.TopLevelMixin:
    """Draw reads and writes alone; published and here side by side, each with its own scale."""
    column, metric, per = _MEASURES[measure]
    parts: list[pl.DataFrame] = []
    for kind, mix in _ALONE.items():
        here = [
            (f"{kind}s, here", _LEVELS[str(setting)], users, x.value, x.low, x.high, x.n)
            for (users, setting), x in estimates(
                e.results, ("users", "setting"), metric, {"mix": mix}
            ).items()
            if setting in _LEVELS
        ]
        if not here:
            continue
        theirs = individual().filter(operation=kind)
        paper = [
            (f"{kind}s, published", level, users, value / per, None, None, 1)
            for level, users, value in theirs.select("level", "threads", column).iter_rows()
        ]
        parts.append(
            pl.DataFrame(
                [*paper, *here],
                schema=POINTS,
                orient="row",
            ).sort("x", maintain_order=True)
        )
    word = "latency" if measure == _LATENCY else "throughput"
    data = pl.concat(parts) if parts else pl.DataFrame()
    return curves(
        data.sort(pl.col("panel").str.ends_with("here"), maintain_order=True)
        if len(parts) == 1
        else data,
        title=f"Reads alone and writes alone: {word} by users and level",
        x_title="users",
        y_title="mean latency (ms)" if measure == _LATENCY else "throughput (operations/s)",
        series=tuple(_LEVELS.values()),
        note="each panel has its own scale",
        style=style,
    )


EXHIBITS: Final[tuple[Exhibit, ...]] = (
    *(
        TableExhibit(
            f"vyas-table-{number}",
            f"{kind.capitalize()}s alone: mean latency and throughput by users and level",
            f"table {number}",
            "The paper gives one reading a cell.",
            lambda e, kind=kind: _alone(kind, e),
        )
        for number, kind in ((4, "read"), (5, "write"))
    ),
    FigureExhibit(
        "vyas-figures-1-2",
        "Reads alone and writes alone: latency by users and level",
        "figures 1 and 2",
        "The published lines are those of tables 4 and 5.",
        lambda e, style: _figure(_LATENCY, e, style),
    ),
    FigureExhibit(
        "vyas-figures-3-4",
        "Reads alone and writes alone: throughput by users and level",
        "figures 3 and 4",
        "The published lines are those of tables 4 and 5.",
        lambda e, style: _figure(_THROUGHPUT, e, style),
    ),
    *(
        TableExhibit(
            f"vyas-table-{number}",
            f"{mix.replace('/', ' % reads, ')} % writes: mean latency by users and strongly "
            "consistent setting",
            f"table {number}",
            "Bold: the lowest of a row, as the paper marks it; underlined where the runs show that "
            "it is, its interval being wholly below the others’.",
            lambda e, number=number: _mixed(number, e),
        )
        for number, mix in _MIXES.items()
    ),
)
