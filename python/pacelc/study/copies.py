"""Levels as the copies that an operation waits for, whatever the database.

Plans name levels, advice names numbers. Both are read here.

Map
---
Level, LEVELS           one, a quorum, all
copies_waited_for       how many copies a level waits for
is_a_level              whether any waits for so many
copies_of, levels_of    ``1R-3W`` or ``one/all`` → copies, levels of a read and of a write
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

__all__ = ["LEVELS", "Level", "copies_of", "copies_waited_for", "is_a_level", "levels_of"]

Level: TypeAlias = Literal["one", "quorum", "all"]
LEVELS: Final[tuple[Level, ...]] = ("one", "quorum", "all")

_NUMBERS: Final = re.compile(r"([0-9]+)R-?([0-9]+)W", re.IGNORECASE)


def copies_waited_for(level: Level, replication: int) -> int:
    """Return how many copies a level waits for.

    Examples
    --------
    >>> [copies_waited_for(level, 3) for level in LEVELS]
    [1, 2, 3]
    """
    return {"one": 1, "quorum": replication // 2 + 1, "all": replication}[level]


def is_a_level(copies: int, replication: int) -> bool:
    """Tell whether any level waits for so many copies.

    Examples
    --------
    >>> [is_a_level(copies, 5) for copies in (1, 2, 3, 5)]
    [True, False, True, True]
    """
    return any(copies_waited_for(one, replication) == copies for one in LEVELS)


def copies_of(text: str, replication: int | None = None) -> tuple[int, int] | None:
    """Return how many copies a read and a write wait for; None if the text doesn't say.

    Examples
    --------
    >>> copies_of("1R-3W"), copies_of("one/all", 5), copies_of("quorum"), copies_of("strong", 3)
    ((1, 3), (1, 5), None, None)
    """
    if (found := _NUMBERS.fullmatch(text.strip())) is not None:
        return int(found[1]), int(found[2])
    levels = _named(text)
    if levels is None or replication is None:
        return None
    read, write = (copies_waited_for(level, replication) for level in levels)
    return read, write


def levels_of(text: str, replication: int) -> tuple[Level, Level] | None:
    """Return the levels of reads and of writes; None if none waits for so many copies.

    Examples
    --------
    >>> levels_of("1R-3W", 3), levels_of("2R-2W", 3), levels_of("all", 3), levels_of("2R-4W", 5)
    (('one', 'all'), ('quorum', 'quorum'), ('all', 'all'), None)
    """
    if (named := _named(text)) is not None:
        return named
    of: dict[int, Level] = {
        copies_waited_for(level, replication): level for level in reversed(LEVELS)
    }
    copies = copies_of(text) or (0, 0)
    read, write = of.get(copies[0]), of.get(copies[1])
    return None if read is None or write is None else (read, write)


def _named(text: str) -> tuple[Level, Level] | None:
    known: dict[str, Level] = {level: level for level in LEVELS}
    parts: list[Level | None] = [known.get(part.strip().lower()) for part in text.split("/")]
    read, write = parts[0], parts[-1]
    return None if read is None or write is None or len(parts) > 2 else (read, write)  # noqa: PLR2004 - reads and writes
