"""Published studies as data, and their findings restated so that new runs can test them.

The map
-------
claim           :class:`Claim`: a finding and its test; :class:`Finding`: what the test said
exhibit         a paper's table or figure, made again from runs, the published numbers beside it
cells           runs by the labels of their factors: one cell of a table, one thing over another
ferreira_2024   tables 5 to 8 and the figures in the text of Ferreira et al. 2024, with their claims

Examples
--------
>>> from pacelc.papers import ferreira_2024
>>> changes = ferreira_2024.table("table8")
>>> changes.filter(database="redis", deployment="single").item(0, "throughput_change_percent")
-17.72
"""

from importlib import import_module
from typing import Final, cast

from pacelc.papers import ferreira_2024
from pacelc.papers.claim import Claim, Evidence, Finding, Verdict, check_claims
from pacelc.papers.exhibit import Cell, Exhibit, FigureExhibit, Table, TableExhibit

__all__ = [
    "Cell",
    "Claim",
    "Evidence",
    "Exhibit",
    "FigureExhibit",
    "Finding",
    "Table",
    "TableExhibit",
    "Verdict",
    "check_claims",
    "claims_of",
    "exhibits_of",
    "ferreira_2024",
]

_PAPERS: Final = {"ferreira-2024": ferreira_2024}


def claims_of(study: str) -> tuple[Claim, ...]:
    """Claims of a built-in study, by its name; none for any other study."""
    return _PAPERS[study].CLAIMS if study in _PAPERS else ()


def exhibits_of(study: str) -> tuple[Exhibit, ...]:
    """Tables and figures of a built-in study, by its name; none for any other study."""
    if study not in _PAPERS:
        return ()
    # Only a report draws: whoever asks for claims or tables needn't wait for the charting library.
    module = import_module(f"{_PAPERS[study].__name__}.exhibits")
    return cast("tuple[Exhibit, ...]", module.EXHIBITS)
