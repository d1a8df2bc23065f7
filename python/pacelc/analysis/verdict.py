"""Why a question has no answer: every *can't tell* has one of three reasons.

not measured    something that it is about has no runs, or nobody looked
too few runs    they have no interval, or one too wide to answer
disqualified    other runs might answer it: what these measured was something else
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["CANT_TELL", "Reason", "said"]

Reason = Literal["not measured", "too few runs", "disqualified"]

CANT_TELL: Final = "can't tell"


def said(verdict: str, reason: Reason | None) -> str:
    """Return a verdict for people.

    Examples
    --------
    >>> said("holds", None), said("can't tell", "too few runs")
    ('holds', "can't tell: too few runs")
    """
    return verdict if reason is None else f"{verdict}: {reason}"
