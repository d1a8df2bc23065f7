"""Who does a plan's heavy parts: this process, unless another executor is given.

A plan asks for the same function of many arguments, and takes the answers in order. An executor may
work ahead and elsewhere (:func:`pacelc.workers.remote_map.remote_map`): each answer depends on its
arguments alone, so that the plan is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Executor", "in_order"]

T = TypeVar("T")


class Executor(Protocol):
    """Answers of a function, in the order of its arguments."""

    def __call__(self, work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Yield them; whoever doesn't take the next needs none."""
        ...


def in_order(work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Answer one after the other, in this process."""
    for some in arguments:
        yield work(*some)
