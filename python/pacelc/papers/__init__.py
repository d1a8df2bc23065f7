"""Published studies as data, and their findings restated so that new runs can test them.

The map
-------
claim               :class:`Claim`: a finding and its test; :class:`Finding`: what the test said
exhibit             a paper's table or figure, made again from runs, published numbers beside it
cited               how a report names each
cells               runs by the labels of their factors: a cell of a table, one thing over another
ferreira_2024       tables 5 to 8 and the figures in the text of Ferreira et al. 2024
gandini_2014        tables 1 to 5 of Gandini et al. 2014, and the demands that they mean
haughian_2016       tables 2 and 3 of Haughian et al. 2016, and what their numbers are
kumarasinghe_2015   Kumarasinghe et al. 2015, whose results are figures only
vyas_2022           tables 4 to 13 of Vyas and Jat 2022, and their equations

Each paper's package has its claims and, in a module of its own, its exhibits. README.md holds
claims against what the papers print.

Examples
--------
>>> from pacelc.papers import ferreira_2024, vyas_2022
>>> changes = ferreira_2024.table("table8")
>>> changes.filter(database="redis", deployment="single").item(0, "throughput_change_percent")
-17.72
>>> vyas_2022.mixed().filter(threads=200, mix="70/30").get_column("read_latency_us").to_list()
[180272, 199588, 230216]
"""

from importlib import import_module
from typing import Final, cast

from pacelc.papers import ferreira_2024, gandini_2014, haughian_2016, kumarasinghe_2015, vyas_2022
from pacelc.papers.claim import Claim, Evidence, Finding, Verdict, check_claims
from pacelc.papers.exhibit import Cell, Exhibit, FigureExhibit, Table, TableExhibit

__all__ = [
    "STUDIES",
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
    "gandini_2014",
    "haughian_2016",
    "kumarasinghe_2015",
    "vyas_2022",
]

_PAPERS: Final = {
    "ferreira-2024": ferreira_2024,
    "gandini-2014": gandini_2014,
    "haughian-2016": haughian_2016,
    "kumarasinghe-2015": kumarasinghe_2015,
    "vyas-2022": vyas_2022,
}


STUDIES: Final = tuple(_PAPERS)
"""Built-in studies that repeat a paper."""


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
