"""Text that came from outside, made harmless where it leaves pacelc.

Servers' errors and logs, labels of studies and runs that others have stored may hold anything. A
terminal obeys control characters, so that a server could rewrite what was printed before; a
spreadsheet takes a text for a formula that begins as one.

Map
---
printable       text for a terminal, a log or a page
csv_cell        text for a cell of CSV
as_csv          a table as CSV
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_csv", "csv_cell", "printable"]

# Control characters but for tabs and line ends, what turns the direction of writing or ends a line
# unseen, and halves of characters, which can't be written at all.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def printable(text: str) -> str:
    r"""Return ``text`` with what a terminal would obey spelt out, as JSON spells it.

    Examples
    --------
    >>> printable("\x1b[2Jdone\n")
    '\\u001b[2Jdone\n'
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def csv_cell(text: str) -> str:
    """Return ``text`` as a spreadsheet takes it for text; numbers stay numbers.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("-1.5"), csv_cell("ONE")
    ("'=1+1", '-1.5', 'ONE')
    """
    is_formula = re.match(_FORMULA, text) and not re.match(_NUMBER, text)
    return f"'{text}" if is_formula else text


def as_csv(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV.

    Nothing stands for null, times are ISO 8601 in UTC, lists of texts are one text.
    """
    import polars as pl  # noqa: PLC0415 - it takes long to import, and a line to print needs none

    lists = [name for name, kind in frame.schema.items() if kind == pl.List(pl.String)]
    flat = frame.with_columns(pl.col(name).list.join("; ") for name in lists)
    texts = {name: pl.col(name) for name, kind in flat.schema.items() if kind == pl.String}
    harmless = flat.with_columns(
        pl.when(text.str.contains(_FORMULA) & ~text.str.contains(_NUMBER))
        .then(pl.lit("'") + text)
        .otherwise(text)
        .alias(name)
        for name, text in texts.items()
    )
    named = harmless.rename(csv_cell)
    return named.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ").encode()
