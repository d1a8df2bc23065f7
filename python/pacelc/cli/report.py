"""``pacelc report``: tables and figures of a results directory."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.options import CompareOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import put

__all__ = ["report"]


def report(
    directory: Annotated[
        Path, typer.Argument(help="A results directory, as `pacelc run` wrote it.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write the report; by default DIRECTORY/report.")
    ] = None,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures", help="Write figures as PNG and for print, too. Takes longer than the rest."
        ),
    ] = False,
    compare: CompareOption = None,
    facet: Annotated[
        str,
        typer.Option(
            help="The factors of panels, across and down, such as `database,operation`; by default "
            "the two with the most levels. Other factors have a figure a level."
        ),
    ] = "",
) -> None:
    """Write a report that opens offline, with every figure as SVG and every table as CSV.

    Prints the path of report.html.

    \b
    pacelc report results/quickstart
    pacelc report results/quickstart --compare database --out by-database
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.report import write_report  # noqa: PLC0415 - imported where it is needed, since it takes long

    names = [name.strip() for name in facet.split(",") if name.strip()]
    put(write_report(directory, out, figures=figures, facet=names, compare=compare).html)
