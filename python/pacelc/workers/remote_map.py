"""An ordered map over Ray's workers: one function, many arguments, answers in their order.

Every answer depends on its arguments alone, so it doesn't matter which worker gives it. The task of
a worker that is lost is done again by another; when none is left, by this process.

Map
---
remote_map      a context with the workers that ``--workers`` names
RemoteMap       call it with a function and its arguments
Caller          what runs on a worker
"""

from __future__ import annotations

import heapq
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pacelc import _engine
from pacelc.errors import one_line
from pacelc.workers.agent import Agent
from pacelc.workers.connection import connected, parse
from pacelc.workers.crew import Crew, Lost, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

__all__ = ["Caller", "RemoteMap", "remote_map"]

T = TypeVar("T")
_AHEAD = 2
"""Answers that each worker may be ahead of who takes them: not all may be needed."""


class Caller(Agent):
    """Calls functions of the same pacelc."""

    def call(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Return whether it could be done, and the answer."""
        try:
            return True, work(*arguments)
        except Exception:  # noqa: BLE001 - whoever asked does it again, and so hears of it
            return False, None


@contextmanager
def remote_map(workers: str, tell: Callable[[str], None]) -> Generator[RemoteMap]:
    """Yield the map over workers.

    Parameters
    ----------
    workers
        A number, ``ray://HOST:PORT`` or ``ray:auto``, as for runs.
    tell
        Hears in a line which workers there are, and which are lost.

    Raises
    ------
    InputError
        If ``workers`` is not to be had.
    CannotRun
        If there is no Ray, or workers have another pacelc.
    """
    where = parse(workers)
    with connected(where) as ray:
        crew = Crew(ray, where, _engine.version(), Caller)
        tell(f"workers: {crew}")
        yield RemoteMap(ray, crew, tell)


@dataclass
class _Round:
    """One function, and how far it is."""

    work: Callable[..., Any]
    arguments: Sequence[tuple[Any, ...]]
    waiting: list[int]
    """A heap of those that nobody does."""
    busy: dict[Any, tuple[Member, int]] = field(default_factory=dict[Any, tuple[Member, int]])
    """Ray's reference → who does which."""
    answers: dict[int, tuple[bool, Any]] = field(default_factory=dict[int, tuple[bool, Any]])
    """Those that weren't taken yet."""


class RemoteMap:
    """All workers that are left.

    Parameters
    ----------
    ray
        The module, connected.
    crew
        Its agents are :class:`Caller`.
    tell
        Hears which are lost.
    """

    def __init__(self, ray: Any, crew: Crew, tell: Callable[[str], None]) -> None:
        self._ray = ray
        self._crew = crew
        self._tell = tell

    def __call__(self, work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> Iterator[T]:
        """Yield the answers in order; whoever doesn't take the next needs none."""
        this = _Round(work, arguments, list(range(len(arguments))))
        for number, some in enumerate(arguments):
            done, answer = self._answer(this, number)
            yield answer if done else work(*some)

    def _answer(self, this: _Round, number: int) -> tuple[bool, Any]:
        while number not in this.answers:
            self._send(this, number)
            if not this.busy:  # nobody is left
                this.waiting.remove(number)
                heapq.heapify(this.waiting)
                return False, None
            ready, _ = self._ray.wait(list(this.busy), num_returns=1)
            for reference in ready:
                member, which = this.busy.pop(reference)
                answer = self._crew.taken(reference)
                if isinstance(answer, Lost):
                    self._lost(this, member, which, answer.why)
                else:
                    this.answers[which] = answer
        return this.answers.pop(number)

    def _send(self, this: _Round, taken: int) -> None:
        """Give everybody something who has nothing to do."""
        there = [one for one in self._crew.members if one.agent is not None]
        busy = {member.number for member, _ in this.busy.values()}
        for member in there:
            if member.number in busy:
                continue
            if not this.waiting or this.waiting[0] >= taken + _AHEAD * len(there):
                return
            which = heapq.heappop(this.waiting)
            try:
                reference = member.agent.call.remote(this.work, this.arguments[which])
            except Exception as error:  # noqa: BLE001 - Ray's client says so here
                self._lost(this, member, which, one_line(error))
            else:
                this.busy[reference] = member, which

    def _lost(self, this: _Round, member: Member, which: int, why: str) -> None:
        heapq.heappush(this.waiting, which)
        self._crew.dismiss(member)
        members = self._crew.members
        left = sum(one.agent is not None for one in members)
        self._tell(
            f"{member.name} of {len(members)} on node {member.node} was lost, and its part is done "
            f"again {f'by the {left} left' if left else 'here'}: {why.partition('. ')[0][:200]}"
        )
