"""Figures of papers that show a model: it is solved and simulated, beside what new runs measured.

They aren't with their papers' other exhibits, since models are made of papers' numbers, and papers
don't know of models. The report shows both.

Start here: :func:`exhibits_of`.
"""

# ruff: noqa: RUF001 - typography: the apostrophe and the sign of multiplication in captions

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.databases import display_name
from pacelc.networks.builtin import builtin
from pacelc.networks.predictions import FIGURES, predictions
from pacelc.papers.cells import estimates
from pacelc.papers.exhibit import Exhibit, FigureExhibit
from pacelc.papers.gandini_2014 import stated
from pacelc.papers.gandini_2014.claims import USERS_BY_CORES
from pacelc.plots.checked import MEASURED, SIMULATED, SOLVED, checked
from pacelc.plots.layout import NothingToDraw

if TYPE_CHECKING:
    import altair as alt

    from pacelc.papers.claim import Evidence
    from pacelc.plots import Style

__all__ = ["exhibits_of"]

_NAMES: Final = {name: display_name(name) for name in ("cassandra", "mongodb", "hbase")}
_MEASURES: Final = {
    "throughput_per_s": ("throughput (operations/s)", "operations/s"),
    "read.latency_ms_mean": ("mean read latency (ms)", "reads (ms)"),
    "update.latency_ms_mean": ("mean write latency (ms)", "updates (ms)"),
}
"""Column of runs → panel of predictions, and of the figure."""
_SIMULATED_USERS: Final = (1, 10, 20, 30)
_LEAST_USERS: Final = 30
"""The paper's most; lines go on where runs had more."""
_PRECISION: Final = 0.02
"""Of simulations, so that half-widths are narrower than the points…"""
_MAX_EVENTS: Final = 2_000_000
"""… but for HBase's updates: few leave the client, and they would take as long as all others."""
_SCHEMA: Final = {
    "panel": pl.String,
    "source": pl.String,
    "x": pl.Float64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def exhibits_of(study: str) -> tuple[Exhibit, ...]:
    """Figures with models of a built-in study, by its name; none for any other study."""
    return _GANDINI if study == "gandini-2014" else ()


def _beside_runs(
    e: Evidence, style: Style, figure: str, nodes: int, copies: int
) -> alt.TopLevelMixin:
    """Draw a row of panels for each database with runs of that shape."""
    title, networks = FIGURES[figure]
    parts: list[pl.DataFrame] = []
    sizes: dict[float, None] = {}
    for name in networks:
        database = name.split("-")[1]
        cores, measured = _measured(e, database, nodes, copies)
        if measured.height:
            sizes[cores] = None
            most = max(_LEAST_USERS, *(int(x) for x in measured.get_column("x")))
            parts += [measured, _predicted(name, database, most)]
    if not parts:
        raise NothingToDraw("no finished runs of that shape")
    data = pl.concat(parts)
    order = [
        f"{database}, {word}" for database in _NAMES.values() for _, word in _MEASURES.values()
    ]
    place = pl.col("panel").replace_strict(
        {panel: i for i, panel in enumerate(order)}, return_dtype=pl.Int64
    )
    own = int(stated("server_cores"))
    other = [f"{size:g}" for size in sizes if size != own]
    note = f"cores of measured nodes: {' and '.join(other)}, of the model’s: {own}" if other else ""
    return checked(
        data.sort(place, maintain_order=True),
        title=f"{title}: the paper’s model beside these runs",
        note=note,
        style=style,
    )


def _measured(e: Evidence, database: str, nodes: int, copies: int) -> tuple[float, pl.DataFrame]:
    """Return what runs on the model's cores measured, else on the most; and how many those are.

    Only of runs with fewer users than the experiment with cores has.
    """
    where = {"database": database, "nodes": nodes, "replication": copies}
    found = {
        metric: {
            (float(cores), float(users)): estimate
            for (cores, users), estimate in estimates(
                e.results, ("cores", "users"), metric, where
            ).items()
            if float(users) < USERS_BY_CORES
        }
        for metric in _MEASURES
    }
    sizes = {cores for cells in found.values() for cores, _ in cells}
    own = stated("server_cores")
    chosen = own if own in sizes else max(sizes, default=0.0)
    rows = [
        (f"{_NAMES[database]}, {word}", MEASURED, users, value.value, value.low, value.high)
        for metric, (_, word) in _MEASURES.items()
        for (cores, users), value in sorted(found[metric].items(), key=lambda item: item[0])
        if cores == chosen
    ]
    return chosen, pl.DataFrame(rows, schema=_SCHEMA, orient="row")


@cache
def _predicted(network: str, database: str, most_users: int) -> pl.DataFrame:
    """Return the solution at all numbers of users, and the simulation at some.

    Kept: a figure is drawn for the screen and for print.
    """
    users = range(1, most_users + 1)
    found = predictions(
        {database: builtin(network)},
        users,
        _SIMULATED_USERS,
        precision=_PRECISION,
        max_events=_MAX_EVENTS,
    )
    panels = {panel: f"{_NAMES[database]}, {word}" for panel, word in _MEASURES.values()}
    return found.with_columns(
        pl.col("panel").replace_strict(panels),
        pl.col("source").replace_strict({"solver": SOLVED, "simulation": SIMULATED}),
    ).select(*_SCHEMA)


_GANDINI: Final[tuple[Exhibit, ...]] = (
    FigureExhibit(
        "gandini-figure-8",
        "One node: the paper’s model beside these runs",
        "figure 8",
        "The model has the demands of tables 2 to 4, fitted by the paper to its machines of 2014: "
        "compare the shape of the curves, not their values. It assumes exponential times, half "
        "reads and half updates, two shared cores, 0.454 ms of network, and a client that takes no "
        "time. Reads and every tenth update need the disk. The paper’s HBase client buffers 97 of "
        "100 updates, which take no time; here each is sent. "
        "For a model of these runs use pacelc model fit.",
        lambda e, style: _beside_runs(e, style, "gandini-figure-8", 1, 1),
    ),
    FigureExhibit(
        "gandini-figure-9",
        "Four nodes, one copy: the paper’s model beside these runs",
        "figure 9",
        "The paper fitted its demands anew; all else is as in figure 8. The model sends operations "
        "to a node by chance, but all of MongoDB’s updates to the first, which so is full first; "
        "here keys are hashed over four sets. HBase’s client keeps 99 of 100 updates; here each is "
        "sent.",
        lambda e, style: _beside_runs(e, style, "gandini-figure-9", 4, 1),
    ),
    FigureExhibit(
        "gandini-figure-10",
        "Four nodes, four copies: the paper’s model beside these runs",
        "figure 10",
        "The paper fitted its demands anew; all else is as in figure 8. The model sends each "
        "operation, reads too, to all four nodes and waits for the last; here one copy answers and "
        "acknowledges. The solution takes the nodes’ times to be nearly independent; the "
        "simulation doesn’t. The paper has no model of HBase’s copies.",
        lambda e, style: _beside_runs(e, style, "gandini-figure-10", 4, 4),
    ),
)
