"""Times as people write them in a network: ``1.15ms``, ``170us``, or seconds.

Studies have durations of their own (:mod:`pacelc.study.values`); service times go down to
nanoseconds.

Map
---
Time            seconds, read from text or a number
parse_time      text or a number → seconds
format_time     the inverse, exact
"""

from __future__ import annotations

import math
import re
import sys
from decimal import Decimal
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator

__all__ = ["Time", "format_time", "parse_time"]

_UNITS: Final = {
    unit: Decimal(seconds)
    for unit, seconds in (
        ("ns", "1e-9"),
        ("us", "1e-6"),
        ("µs", "1e-6"),
        ("ms", "1e-3"),
        ("s", "1"),
        ("min", "60"),
        ("h", "3600"),
        ("", "1"),
    )
}
_TIME: Final = re.compile(
    r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,3})?)\s*(ns|us|µs|ms|min|s|h|)\s*"
)
_SHOWN: Final = ("s", "ms", "us", "ns")


def parse_time(value: object) -> float:
    """Return a time in seconds.

    Raises
    ------
    ValueError
        If ``value`` is no time.

    Examples
    --------
    >>> parse_time("1.15ms"), parse_time("170 us"), parse_time(2)
    (0.00115, 0.00017, 2.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Larger integers are no float.
        seconds = float(value) if abs(value) <= sys.float_info.max else math.nan
    elif isinstance(value, str) and (match := _TIME.fullmatch(value)):
        # Decimal, so that 170us is the number nearest to 0.00017, and not 170 times that to 1e-6.
        seconds = float(Decimal(match[1]) * _UNITS[match[2]])
    else:
        seconds = math.nan
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    raise ValueError(f"should be a time such as 1.15ms, or a number of seconds, not {value!r}")


def format_time(seconds: float) -> str:
    """Return a time for people; :func:`parse_time` gives the very same number back.

    Examples
    --------
    >>> format_time(0.00115), format_time(0.00017), format_time(90), format_time(0)
    ('1.15ms', '170us', '90s', '0s')
    """
    unit = next((u for u in _SHOWN if seconds >= _UNITS[u]), "s" if seconds == 0 else "ns")
    return f"{(Decimal(repr(seconds)) / _UNITS[unit]).normalize():f}{unit}"


Time: TypeAlias = Annotated[float, BeforeValidator(parse_time)]
