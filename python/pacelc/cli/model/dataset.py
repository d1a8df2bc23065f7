"""``pacelc model dataset``: what models are fitted from, in one small file."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.output import put, say
from pacelc.names import counted

__all__ = ["dataset"]


def dataset(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…", help="Directories of `pacelc run`, or files of this command."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="A .parquet file, replaced.")
    ],
) -> None:
    """Write what models are fitted from to one small file, to share it or to fit it again.

    It has a row a run: configuration, levels in force, rates, latencies, processor time. Prints
    its path.

    \b
    pacelc model dataset results/calibration --out calibration.parquet
    pacelc model fit calibration.parquet
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Data frames take long to import.
    from pacelc.calibration.dataset import gathered, write_dataset  # noqa: PLC0415

    found, left_out = gathered(results)
    write_dataset(found, out)
    for reason, count in left_out.items():
        say(f"{counted(count, 'run')} left out: {reason}")
    say(f"{counted(len(found), 'run')} written")
    put(out)
