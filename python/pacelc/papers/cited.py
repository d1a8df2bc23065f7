"""The papers whose studies are built in, as they are cited.

Start here: :func:`paper_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Paper", "paper_of"]


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes
    ----------
    short
        How a sentence names it: ``Ferreira et al. 2024``.
    authors, title, published
        As its first page has them; where and when it appeared.
    """

    short: str
    authors: str
    title: str
    published: str

    def __str__(self) -> str:
        """Return the whole reference."""
        return f"{self.authors}: {self.title}. {self.published}."


_PAPERS: Final = {
    "ferreira-2024": Paper(
        "Ferreira et al. 2024",
        "Ferreira, Mendonça, Nogueira, Tiengo, Andrade",
        "Impacts of data consistency levels in cloud-based NoSQL for data-intensive applications",
        "Journal of Cloud Computing 13, 2024",
    ),
    "gandini-2014": Paper(
        "Gandini et al. 2014",
        "Gandini, Gribaudo, Knottenbelt, Osman, Piazzolla",
        "Performance evaluation of NoSQL databases",
        "EPEW 2014",
    ),
    "haughian-2016": Paper(
        "Haughian et al. 2016",
        "Haughian, Osman, Knottenbelt",
        "Benchmarking replication in Cassandra and MongoDB NoSQL datastores",
        "DEXA 2016",
    ),
    "kumarasinghe-2015": Paper(
        "Kumarasinghe et al. 2015",
        "Kumarasinghe, Liyanage, Madushanka, Mendis",
        "Performance comparison of NoSQL databases in pseudo distributed mode: Cassandra, MongoDB "
        "& Redis",
        "2015",
    ),
    "vyas-2022": Paper(
        "Vyas and Jat 2022",
        "Vyas, Jat",
        "Study of consistency and performance trade-off in Cassandra",
        "Computer Science & Information Technology (CS & IT), 2022, pp. 61-77",
    ),
}


def paper_of(study: str) -> Paper | None:
    """Return the paper that a built-in study repeats, by the study's name.

    Examples
    --------
    >>> paper_of("vyas-2022").short, paper_of("quickstart")
    ('Vyas and Jat 2022', None)
    """
    return _PAPERS.get(study)
