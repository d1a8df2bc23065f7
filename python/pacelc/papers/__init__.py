"""Published studies as data, and their findings restated so that new runs can test them.

The map
-------
claim           :class:`Claim`: a finding and its test; :class:`Finding`: what the test said
ferreira_2024   tables 5 to 8 and the figures in the text of Ferreira et al. 2024, with their claims
vyas_2022       tables 4 to 13 of Vyas and Jat 2022, their equations and their claims

Examples
--------
>>> from pacelc.papers import ferreira_2024, vyas_2022
>>> changes = ferreira_2024.table("table8")
>>> changes.filter(database="redis", deployment="single").item(0, "throughput_change_percent")
-17.72
>>> vyas_2022.mixed().filter(threads=200, mix="70/30").get_column("read_latency_us").to_list()
[180272, 199588, 230216]
"""

from pacelc.papers import ferreira_2024, vyas_2022
from pacelc.papers.claim import Claim, Evidence, Finding, Verdict, check_claims

__all__ = [
    "Claim",
    "Evidence",
    "Finding",
    "Verdict",
    "check_claims",
    "claims_of",
    "ferreira_2024",
    "vyas_2022",
]


def claims_of(study: str) -> tuple[Claim, ...]:
    """Claims of a built-in study, by its name; none for any other study."""
    return {"ferreira-2024": ferreira_2024.CLAIMS, "vyas-2022": vyas_2022.CLAIMS}.get(study, ())
