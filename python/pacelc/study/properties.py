r"""Java's property files, read as Java reads them.

A comment begins with ``#`` or ``!``; a line that ends with an odd number of backslashes goes on in
the next; a key ends at the first ``=``, ``:`` or blank that no backslash precedes; ``\uXXXX`` is a
character. See ``java.util.Properties.load``.

Map
---
Entry               a value, and the line that wrote it
parse_properties    text → entries by key
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "parse_properties"]

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_BETWEEN = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.|$)", re.DOTALL)
_SHORT = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Entry(NamedTuple):
    """A property's value, and the number of the line on which it begins."""

    value: str
    line: int


def parse_properties(text: str) -> dict[str, Entry]:
    r"""Return the properties in ``text``; of a key that is there twice, the last.

    Raises
    ------
    ValueError
        If a ``\u`` isn't followed by four hexadecimal digits; the message names the line.

    Examples
    --------
    >>> parse_properties("# A\nrecordcount = 10\\\n  00\ntable:t")
    {'recordcount': Entry(value='1000', line=2), 'table': Entry(value='t', line=4)}
    """
    entries: dict[str, Entry] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        # The pattern matches the empty key too.
        end = 0 if key is None else key.end()
        between = _BETWEEN.match(line, end)
        start = end if between is None else between.end()
        entries[_unescaped(line[:end], number)] = Entry(_unescaped(line[start:], number), number)
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    whole, first = "", 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANKS)
        if first == 0:
            if not line or line[0] in "#!":
                continue
            first = number
        whole += line
        backslashes = len(whole) - len(whole.rstrip("\\"))
        if backslashes % 2:
            whole = whole[:-1]
            continue
        yield first, whole
        whole, first = "", 0
    if first:
        yield first, whole


def _unescaped(text: str, line: int) -> str:
    def character(match: re.Match[str]) -> str:
        escaped = match[1]
        if escaped == "u":
            msg = f"line {line}: \\u needs four hexadecimal digits"
            raise ValueError(msg)
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        return _SHORT.get(escaped, escaped)

    return _ESCAPE.sub(character, text)
