"""``pacelc studies``: the built-in studies."""

from __future__ import annotations

from typing import Annotated

import typer

from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.study import Study, builtin_names
from pacelc.study.source import StudyError, builtin_text
from pacelc.study.values import nearest

__all__ = ["studies"]


def studies(
    name: Annotated[
        str | None, typer.Argument(help="Print this study's YAML, to start one of your own.")
    ] = None,
) -> None:
    """List the built-in studies, or print one.

    \b
    pacelc studies
    pacelc studies quickstart > mine.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    if name is not None:
        if name not in builtin_names():
            raise StudyError(f"there is no built-in study {name!r}", nearest(name, builtin_names()))
        put(builtin_text(name), end="")
        return
    rows: list[list[object]] = []
    for known in builtin_names():
        study = Study.load(known)
        presets = ", ".join(study.presets) or "-"
        rows.append([known, len(study.scenarios()), len(study.schedule()), presets, study.title])
    put(aligned(["study", "scenarios", "runs", "presets", "title"], rows))
