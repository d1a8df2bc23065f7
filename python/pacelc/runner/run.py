"""``pacelc.run``: a study, from Python.

Map
---
run     a study, or what is missing of it → its results
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.network.namespaces import capability
from pacelc.runner.apart import run_apart
from pacelc.runner.lab import LocalLab
from pacelc.runner.lifecycle import run_study
from pacelc.store import Store, load
from pacelc.study import Study
from pacelc.study.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pacelc.runner.events import Observer
    from pacelc.store import Results

__all__ = ["run"]


def run(
    study: str | Path | Study,
    overrides: Iterable[str] = (),
    *,
    out: str | Path | None = None,
    observe: Observer = lambda _event: None,
) -> Results:
    """Run a study, or its missing runs, and return its results.

    Parameters
    ----------
    study
        A study, the path of a YAML file, or the name of a built-in study.
    overrides
        Changes as on the command line: ``measure=10s``, ``users=1,2,4``, ``preset=small``.
    out
        Results directory, by default ``results/NAME``.
    observe
        Hears what happens: `pacelc.cli.progress.PlainProgress` prints it.

    An ordinary user's study on an emulated network runs in a child, since this process can't have
    one (`pacelc.runner.apart`).

    Returns
    -------
    Results
        Of all runs in the directory; ``failures`` has the attempts that gave no run.

    Raises
    ------
    PacelcError
        The study is none, can't be run here, or its results can't be written.
    """
    definition = (
        Study.from_source(Source(study.name, study.as_document()), overrides)
        if isinstance(study, Study)
        else Study.load(study, overrides)
    )
    directory = Path(out) if out is not None else Path("results") / definition.name
    emulated = any(scenario.settings.asks_for_network for scenario in definition.scenarios())
    if emulated and capability().how == "user namespace":
        run_apart(definition, directory, observe)
    else:
        with Store.open(directory, create=definition.as_document()) as store:
            run_study(definition, store, LocalLab(), observe=observe)
    return load(directory)
