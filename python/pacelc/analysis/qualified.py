"""Verdicts without the runs whose own weaknesses disqualify them.

A verdict is asked for twice: of all runs, and of those that qualify. Where the two rest on other
runs, those that qualify decide; if they can't, the answer is *can't tell*, however clear the rest.

Start here: :func:`qualified`; :func:`withheld` for comparisons. Claims and letters do the same by
their own rules (`pacelc.papers.claim`, `pacelc.analysis.partitions`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from pacelc.analysis.comparison import PairedTest, PaperTest
from pacelc.analysis.quality import weaknesses
from pacelc.analysis.verdict import CANT_TELL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.analysis.comparison import Comparison
    from pacelc.analysis.design import Design
    from pacelc.analysis.quality import Quantity, Weakness
    from pacelc.store import Results

__all__ = ["Qualified", "qualified", "withheld"]


@dataclass(frozen=True, eq=False)
class Qualified:
    """The runs that are evidence of a quantity.

    Attributes
    ----------
    results, design
        Without the others. Groups, levels and loads stay those of the study.
    without
        Why others were left out, in words; empty where all qualify.
    """

    results: Results
    design: Design
    without: str


def qualified(
    results: Results, design: Design, quantity: Quantity, weak: Sequence[Weakness] | None = None
) -> Qualified:
    """Leave out the runs that are no evidence of a quantity.

    ``weak`` is what :func:`pacelc.analysis.weaknesses` returned, if it is there already.
    """
    read = set(results.runs.select("source", "run").iter_rows())
    found = [
        weakness.disqualifies
        for weakness in (weaknesses(results) if weak is None else weak)
        if weakness.disqualifies is not None
        and quantity in weakness.disqualifies.of
        and not read.isdisjoint(weakness.disqualifies.runs)  # what is damaged wasn't read at all
    ]
    runs = frozenset[tuple[str, str]]().union(*(one.runs for one in found))
    if not runs:
        return Qualified(results, design, "")
    schema = {"source_": pl.String, "run": pl.String}
    gone = pl.DataFrame(sorted(runs), schema=schema, orient="row")
    kept = design.observations.join(gone, on=list(schema), how="anti", maintain_order="left")
    why = "; ".join(one.because for one in found)
    return Qualified(results.without(runs), replace(design, observations=kept), why)


def withheld(
    comparisons: Sequence[Comparison], rest: Sequence[Comparison], without: str
) -> list[Comparison]:
    """Return comparisons with the verdicts of qualified runs.

    Effects stay those of all runs.

    Parameters
    ----------
    comparisons
        Of all runs.
    rest
        The same of those that qualify.
    without
        Why the others don't.
    """
    if not without:
        return list(comparisons)
    found = {(c.group, c.metric.name, c.reference, c.level): c for c in rest}
    return [
        _withheld(c, found.get((c.group, c.metric.name, c.reference, c.level)), without)
        for c in comparisons
    ]


def _withheld(c: Comparison, rest: Comparison | None, without: str) -> Comparison:
    paper = PaperTest(0, 0, None, None, None, CANT_TELL) if rest is None else rest.paper
    paired = PairedTest(0, None, None, CANT_TELL) if rest is None else rest.paired
    if rest is None or (paper.verdict == CANT_TELL and c.paper.verdict != CANT_TELL):
        paper = replace(paper, reason="disqualified", note=f"disqualified: {without}")
    if rest is None or (paired.verdict == CANT_TELL and c.paired.verdict != CANT_TELL):
        note = f"can't tell (n={paired.n}): disqualified ({without})"
        paired = replace(paired, reason="disqualified", note=note)
    disagreement = None if rest is None else rest.disagreement
    return replace(c, paper=paper, paired=paired, disagreement=disagreement)
