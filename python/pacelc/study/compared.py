"""Which factor is compared, and which scales the load: one rule for schedule and analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pacelc.names import WHOLE_NUMBER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LEVELS", "compared_factor", "is_numeric", "load_factor"]

LEVELS: Final = ("consistency", "setting")
"""Factors whose levels are levels of consistency."""
_LOADS: Final = ("rate", "users", "threads", "rate_per_s")


def load_factor(levels: Mapping[str, Sequence[object]]) -> str | None:
    """Return the factor that scales the load: the first of a few names whose levels are numbers.

    One of several levels goes before one of a single level.

    Parameters
    ----------
    levels
        Of each factor.
    """
    found = [name for name in _LOADS if name in levels and is_numeric(levels[name])]
    return next((name for name in found if len(levels[name]) > 1), next(iter(found), None))


def compared_factor(levels: Mapping[str, Sequence[object]], said: str | None = None) -> str | None:
    """Return the factor whose levels are compared; None if the study doesn't say which.

    Parameters
    ----------
    levels
        Of each factor.
    said
        What the study says (``compare``). By default ``consistency``, else ``setting`` (of reads
        and of writes, such as 1R-3W), else the one factor of several levels that isn't the load.
    """
    if said is not None:
        return said
    if found := next((name for name in LEVELS if name in levels), None):
        return found
    load = load_factor(levels)
    left = [name for name, of in levels.items() if name != load and len(of) > 1]
    return left[0] if len(left) == 1 else None


def is_numeric(levels: Sequence[object]) -> bool:
    """Whether all levels are numbers; labels of settings are text, and whole numbers among it."""
    return all(
        isinstance(level, int | float) or (isinstance(level, str) and WHOLE_NUMBER.fullmatch(level))
        for level in levels
    )
