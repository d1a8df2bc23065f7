"""What belongs together, directly or by way of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

T = TypeVar("T", bound="Hashable")

__all__ = ["connected"]


def connected(pairs: Iterable[tuple[T, T]]) -> dict[T, T]:
    """Return for each member of a pair one that all of its group have in common.

    Examples
    --------
    >>> found = connected([("a", "b"), ("c", "d"), ("b", "e")])
    >>> found["a"] == found["e"], found["a"] == found["c"]
    (True, False)
    """
    leaders: dict[T, T] = {}

    def leader(one: T) -> T:
        while leaders.setdefault(one, one) != one:
            one = leaders[one]
        return one

    for one, other in pairs:
        leaders[leader(one)] = leader(other)
    return {one: leader(one) for one in leaders}
