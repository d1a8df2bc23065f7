"""``pacelc model draw``: throughput and latencies of networks over users."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.model.options import network_named, numbers_of_users
from pacelc.cli.options import number, whole
from pacelc.cli.output import put
from pacelc.errors import InputError

__all__ = ["draw"]


def draw(  # noqa: PLR0917 - options of a command
    networks: Annotated[
        list[str],
        typer.Argument(
            metavar="NETWORK…", help="Networks to compare, or gandini-figure-8, -9 or -10."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="An .svg, .png or .html file.")
    ],
    users: Annotated[str, typer.Option(metavar="N,…", help="Where they are solved.")] = "1..30",
    simulate: Annotated[
        str,
        typer.Option(metavar="N,…|none", help="Where they are simulated, too."),
    ] = "1,5,10,15,20,25,30",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="KEY=VALUE", help="Of all of them. Repeatable."),
    ] = None,
    seed: Annotated[int, whole(help="Of the simulations.")] = 1,
    precision: Annotated[float, number(help="Of the simulations.")] = 0.02,
) -> None:
    """Draw throughput and mean latencies over users: solved as lines, simulated as points.

    Prints the path of the figure.

    \b
    pacelc model draw gandini-figure-8 --out figure8.svg
    pacelc model draw quorum-one quorum-quorum quorum-all --out levels.png
    pacelc model draw mine.yaml --users 1,10,100 --simulate none --out mine.html
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.networks import (  # noqa: PLC0415 - data frames take long to import
        BUILTIN,
        builtin,
    )
    from pacelc.networks.predictions import FIGURES, predictions  # noqa: PLC0415 - as above
    from pacelc.plots.predicted import predicted  # noqa: PLC0415 - as above
    from pacelc.plots.save import save_figure  # noqa: PLC0415 - as above

    if len(networks) == 1 and networks[0] in FIGURES:
        title, names = FIGURES[networks[0]]
        title = f"{title}: the models of Gandini et al. 2014"
        series = {
            BUILTIN[name].about.partition(",")[0]: builtin(name, set_ or ()) for name in names
        }
    else:
        title = "Predicted throughput and latency"
        series = {name: network_named(name, set_ or ()) for name in networks}
    where = () if simulate == "none" else numbers_of_users(simulate)
    data = predictions(series, numbers_of_users(users), where, seed=seed, precision=precision)
    try:
        save_figure(predicted(data, title=title, series=list(series)), out)
    except ValueError as error:
        raise InputError(str(error)) from None
    put(out)
