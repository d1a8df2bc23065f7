"""Laws of scalability of stored runs, or of a table: one law for each combination of the rest.

Start here: :func:`laws_of_runs`, :func:`laws_of_csv`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.delimited import read_frame
from pacelc.errors import InputError
from pacelc.laws.law import fit_law
from pacelc.store import load
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pacelc.laws.law import Law

__all__ = ["GroupLaw", "laws_of_csv", "laws_of_runs"]

_MEASURE: Final = "throughput_per_s"


@dataclass(frozen=True)
class GroupLaw:
    """A law and what its runs have in common.

    Attributes
    ----------
    group
        Factor → level.
    law
        None where none can be fitted.
    reason, hint
        Why not, and what would help.
    """

    group: Mapping[str, object]
    law: Law | None
    reason: str = ""
    hint: str = ""

    @property
    def name(self) -> str:
        """The group, for people."""
        return ", ".join(f"{key} {value}" for key, value in self.group.items()) or "all runs"


def laws_of_runs(directory: str | Path, over: str, measure: str = _MEASURE) -> list[GroupLaw]:
    """Fit laws to the runs of a results directory.

    Parameters
    ----------
    directory
        As `pacelc run` wrote it.
    over
        A factor or a setting with numbers: nodes, users, cores.
    measure
        A column of :attr:`pacelc.store.Results.runs`; all operations' throughput unless said.

    Returns
    -------
    list of GroupLaw
        One for each combination of the other factors, in the study's order.

    Raises
    ------
    InputError
        There are no finished runs, or they have no such numbers.
    """
    results = load(Path(directory)).whole()
    runs = results.runs
    if runs.height == 0:
        raise InputError(
            f"{directory}: there are no finished runs", "`pacelc run` resumes the study"
        )
    if over not in runs.columns:
        values = [record.scenario.settings.get(over) for record in results.records]
        if not all(isinstance(value, int | float) for value in values):
            raise InputError(
                f"{directory}: its runs have no number of {over}",
                nearest(over, [*results.factors, "nodes", "users", "cores"]),
            )
        runs = runs.with_columns(pl.Series(over, values, dtype=pl.Float64))
    others = [name for name in results.factors if name != over]
    return list(_laws(runs, over, measure, others, str(directory)))


def laws_of_csv(
    path: str | Path, over: str, measure: str = _MEASURE, by: Sequence[str] = ()
) -> list[GroupLaw]:
    """Fit laws to a table, a run a row.

    Parameters
    ----------
    path
        CSV with a header.
    over, measure
        Columns of sizes and throughputs.
    by
        Columns whose combinations have a law each.

    Raises
    ------
    InputError
        The file can't be read, or has no such columns.
    """
    return list(_laws(read_frame(Path(path)), over, measure, by, str(path)))


def _laws(
    frame: pl.DataFrame, over: str, measure: str, by: Sequence[str], where: str
) -> Iterator[GroupLaw]:
    for name in (over, measure, *by):
        if name not in frame.columns:
            raise InputError(f"{where}: there is no column {name!r}", nearest(name, frame.columns))
    for name in (over, measure):
        if not frame.schema[name].is_numeric():
            raise InputError(f"{where}: {name} isn't a number everywhere")
    groups = frame.partition_by(by, maintain_order=True) if by else [frame]
    for part in groups:
        group = {name: part.get_column(name)[0] for name in by}
        known = part.filter(pl.col(over).is_not_null() & pl.col(measure).is_not_null())
        try:
            sizes, rates = (known.get_column(n).cast(pl.Float64).to_list() for n in (over, measure))
            yield GroupLaw(group, fit_law(sizes, rates, over))
        except InputError as error:
            yield GroupLaw(group, None, error.message, error.hint or "")
