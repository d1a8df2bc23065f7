"""Ctrl-C and its relatives: one exception, once, so that tear-down is not itself torn.

The first SIGINT, SIGTERM or SIGHUP raises `Interrupted` in the main thread; what unwinds then stops
the job, ends the servers and keeps the finished runs. Later ones are ignored: tear-down is short,
and half of it is worse than none. A signal that is ignored stays so: `nohup` ignores SIGHUP.

Map
---
Interrupted         carries the signal; ``exit_status`` is the shell's, 128 + signal
interruptible       a context in which signals raise it
handled_by          a context in which signals call a function
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

__all__ = ["SIGNALS", "Interrupted", "handled_by", "interruptible"]

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    def __reduce__(self) -> tuple[type[Interrupted], tuple[int]]:
        """Say how it is pickled: by its number."""
        return type(self), (self.number,)

    @property
    def exit_status(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.number


@contextmanager
def interruptible() -> Generator[None]:
    """Let the first signal raise `Interrupted`, and restore the handlers afterwards."""
    raised = False

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        if not raised:
            raised = True
            raise Interrupted(number)

    with handled_by(on_signal):
        yield


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Let signals call ``handler``, and restore the handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers; whoever runs us elsewhere handles signals itself.
        yield
        return
    before = {
        number: signal.signal(number, handler)
        for number in SIGNALS
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, other in before.items():
            signal.signal(number, other)
