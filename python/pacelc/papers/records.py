"""Published tables that a regression or an advice can start from, beside runs.

Map
---
PAPERS              their names
records_of          a published table by its name, or a results directory
records_of_paper    a published table
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pacelc.analysis.records import Records, records_of_runs
from pacelc.analysis.regression import Caution
from pacelc.errors import InputError
from pacelc.papers import vyas_2022

if TYPE_CHECKING:
    from pacelc.analysis.records import Naming

__all__ = ["PAPERS", "records_of", "records_of_paper"]

PAPERS: Final = ("vyas-2022",)


def records_of(source: str, naming: Naming | None = None) -> Records:
    """Return the records of a published table, by its name, or of a results directory."""
    path = Path(source)
    if source in PAPERS and not path.is_dir():
        return records_of_paper(source)
    if path.exists():
        return records_of_runs(path, naming)
    raise InputError(
        f"{source}: neither a results directory nor a published table",
        f"published tables: {', '.join(PAPERS)}",
    )


def records_of_paper(name: str) -> Records:
    """Return the mixed readings of a published study.

    Parameters
    ----------
    name
        One of :data:`PAPERS`.
    """
    if name not in PAPERS:
        raise ValueError(f"no published table {name!r}; there are {', '.join(PAPERS)}")
    frame = vyas_2022.mixed()
    labels = tuple(
        f"{threads} threads, {mix}, {setting}"
        for threads, mix, setting in frame.select("threads", "mix", "setting").iter_rows()
    )
    caution = Caution(
        "unit",
        "each row is a single published reading: the variation between runs is unknown, and the "
        "errors hold only if readings vary independently",
    )
    return Records(
        frame, "vyas-2022, tables 6 to 10 (their cluster, not yours)", labels, (caution,)
    )
