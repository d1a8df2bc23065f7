"""Tables as aligned plain text: they read the same on a terminal, in a pipe and in a mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["aligned"]


def aligned(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, right: Collection[str] = ()
) -> str:
    """Return a table; columns of numbers, and those named in ``right``, are right-aligned.

    Examples
    --------
    >>> print(aligned(["users", "level"], [[1, "ONE"], [10, "ALL"]]))
    users  level
        1  ONE
       10  ALL
    """
    body = [list(row) for row in rows]
    numeric = [
        name in right or (bool(body) and all(isinstance(row[i], int | float) for row in body))
        for i, name in enumerate(header)
    ]
    cells = [list(header), *([str(cell) for cell in row] for row in body)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    )
