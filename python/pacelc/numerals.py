"""Numbers as every program writes them: the one reader for files and options.

Python's ``int`` and ``float`` also take ``1_000``, ``١٢``, ``infinity`` and ``nan``. A file that
holds those means something else to whoever wrote it, or to the program that it was written for.

Map
---
parse_whole     text → a whole number of 64 bits
parse_number    text → a finite number
parse_port      text → a port; None if it is none
MOST            the largest whole number
HIGHEST_PORT    of TCP
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["HIGHEST_PORT", "MOST", "parse_number", "parse_port", "parse_whole"]

MOST: Final = 2**63 - 1
"""The largest whole number: of 64 bits, with a sign."""
HIGHEST_PORT: Final = 65535

_BLANKS: Final = " \t\r\n\f\v"
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Python refuses to read thousands of digits.
_MOST_DIGITS: Final = 19


def parse_whole(text: str) -> int:
    """Return the whole number in ``text``.

    Raises
    ------
    ValueError
        Saying what it should be.

    Examples
    --------
    >>> parse_whole(" 500 "), parse_whole("-1")
    (500, -1)
    """
    word = text.strip(_BLANKS)
    if _WHOLE.fullmatch(word) is None:
        msg = "should be a whole number"
        raise ValueError(msg)
    if len(word.lstrip("+-0")) > _MOST_DIGITS or abs(int(word)) > MOST:
        msg = f"should be a whole number up to {MOST:,}"
        raise ValueError(msg)
    return int(word)


def parse_number(text: str) -> float:
    """Return the number in ``text``.

    Raises
    ------
    ValueError
        Saying what it should be.

    Examples
    --------
    >>> parse_number("0.95"), parse_number("1e3")
    (0.95, 1000.0)
    """
    word = text.strip(_BLANKS)
    if _NUMBER.fullmatch(word) is None:
        msg = "should be a number"
        raise ValueError(msg)
    number = float(word)
    if not math.isfinite(number):
        msg = "should be a number below 1.8e308"
        raise ValueError(msg)
    return number


def parse_port(text: str, *, least: int = 1) -> int | None:
    """Return the port in ``text``; None if it is none, or below ``least``.

    Examples
    --------
    >>> parse_port("9464"), parse_port("0"), parse_port("0", least=0), parse_port("99999")
    (9464, None, 0, None)
    """
    if re.fullmatch("[0-9]{1,5}", text) is None:
        return None
    return int(text) if least <= int(text) <= HIGHEST_PORT else None
