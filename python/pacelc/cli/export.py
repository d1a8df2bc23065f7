"""``pacelc export``: stored runs in the formats of other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.output import put

__all__ = ["Format", "Table", "export"]


class Format(StrEnum):
    """What a run can be written as."""

    YCSB_TEXT = "ycsb-text"
    YCSB_JSON = "ycsb-json"
    YCSB_JSON_ARRAY = "ycsb-json-array"
    HDR = "hdr"
    JEPSEN = "jepsen"
    CSV = "csv"
    PARQUET = "parquet"


class Table(StrEnum):
    """The tables of CSV and Parquet."""

    RUNS = "runs"
    SAMPLES = "samples"


def export(  # noqa: PLR0917 - options of a command
    directory: Annotated[
        Path, typer.Argument(help="A results directory, as `pacelc run` wrote it.")
    ],
    fmt: Annotated[
        Format,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="ycsb-text, ycsb-json or ycsb-json-array; hdr; jepsen; csv or parquet.",
        ),
    ],
    run: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Only this run. Repeatable.")
    ] = None,
    table: Annotated[Table | None, typer.Option(help="Only this table, of csv or parquet.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Directory, or the file if one run or one table is named; - for standard output.",
            show_default="DIRECTORY/export",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write stored runs for other tools: YCSB's output, HdrHistogram, Jepsen, CSV, Parquet.

    Prints the path of each file that it wrote.

    \b
    pacelc export results/quickstart --format parquet
    pacelc export results/quickstart --format ycsb-text --run 0003-r1 --out -
    pacelc export results/mine --format jepsen --run 0001-r1
    pacelc export results/quickstart --format csv --table runs --out runs.csv
    """  # noqa: D301 - \b keeps the lines of the example apart
    import pacelc.export as exporting  # noqa: PLC0415 - data frames take long to import

    for path in exporting.export(directory, fmt, runs=run or (), table=table, out=out, force=force):
        put(path)
