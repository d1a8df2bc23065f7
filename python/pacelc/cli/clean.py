"""``pacelc clean``: what a study made on clusters of the user's, taken away again."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.output import put, say

__all__ = ["clean"]


def clean(
    directory: Annotated[
        Path, typer.Argument(help="A results directory, as `pacelc run` wrote it.")
    ],
) -> None:
    """Drop the tables that a study made on external clusters; its results stay.

    Only what carries the study's own marker is dropped. A keyspace that the study had to make goes
    with the last table in it. Exit status 1 if something could not be dropped.

    \b
    pacelc clean results/ours
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.runner.cleaning import clean as cleaning  # noqa: PLC0415 - only when needed
    from pacelc.runner.engine import load_engine  # noqa: PLC0415
    from pacelc.store import Store  # noqa: PLC0415
    from pacelc.study import Study  # noqa: PLC0415

    with Store.open(directory) as store:
        # A saturation search has its study's tables, and asks more of them than a study can say.
        definition = {name: part for name, part in store.study.items() if name != "saturation"}
        study, cleaned, kept = Study.from_document(definition, str(directory)), None, False
        for cleaned in cleaning(study, store, load_engine()):
            with_keyspace = ", and its keyspace" if cleaned.container else ""
            reason = f": {cleaned.reason}" if cleaned.reason else ""
            put(f"{cleaned.outcome}: {cleaned.table}{with_keyspace}{reason}")
            kept = kept or cleaned.outcome == "kept"
    if cleaned is None:
        say("nothing to drop: the study has made nothing on external clusters")
    raise typer.Exit(int(kept))
