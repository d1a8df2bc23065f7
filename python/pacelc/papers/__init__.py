"""Published studies as data, and their findings restated so that new runs can test them.

The map
-------
claim           :class:`Claim`: a finding and its test; :class:`Finding`: what the test said
ferreira_2024   tables 5 to 8 and the figures in the text of Ferreira et al. 2024, with their claims

Examples
--------
>>> from pacelc.papers import ferreira_2024
>>> changes = ferreira_2024.table("table8")
>>> changes.filter(database="redis", deployment="single").item(0, "throughput_change_percent")
-17.72
"""

from pacelc.papers import ferreira_2024
from pacelc.papers.claim import Claim, Evidence, Finding, Verdict, check_claims

__all__ = ["Claim", "Evidence", "Finding", "Verdict", "check_claims", "claims_of", "ferreira_2024"]


def claims_of(study: str) -> tuple[Claim, ...]:
    """Claims of a built-in study, by its name; none for any other study."""
    return {"ferreira-2024": ferreira_2024.CLAIMS}.get(study, ())
