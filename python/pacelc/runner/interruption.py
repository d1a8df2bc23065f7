"""Ctrl-C and its relatives: one exception, once, so that tear-down is not itself torn.

The first SIGINT, SIGTERM or SIGHUP raises `Interrupted` in the main thread; what unwinds then stops
the job, ends the servers and keeps the finished runs. Later ones are ignored: tear-down is short,
and half of it is worse than none. A signal that is ignored stays so: `nohup` ignores SIGHUP.

Map
---
Interrupted         carries the signal; ``exit_status`` is the shell's, 128 + signal
interruptible       a context in which signals raise it
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

__all__ = ["Interrupted", "interruptible"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number

    @property
    def exit_status(self) -> int:
        """130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.number


@contextmanager
def interruptible() -> Generator[None]:
    """Let the first signal raise `Interrupted`, and restore the handlers afterwards."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers; whoever runs us elsewhere handles signals itself.
        yield
        return
    raised = False

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal raised
        if not raised:
            raised = True
            raise Interrupted(number)

    before = {
        number: signal.signal(number, on_signal)
        for number in _SIGNALS
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
