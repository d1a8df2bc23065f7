"""Processor time of the servers' just-in-time compilers.

A Java machine compiles while it serves, and serves slowly meanwhile: compilers take its processors,
and what isn't compiled yet, or is no longer, is interpreted. That comes again long after the first
minutes, whenever what was compiled for one load proves wrong for another. Its compilers' threads
have names of their own, so the kernel can tell what they took.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["CompilerWatch"]

_THREADS: Final = (b"C1 CompilerThre", b"C2 CompilerThre", b"JVMCI CompilerT")
"""As HotSpot names them, cut to the kernel's 15 characters."""


class CompilerWatch:
    """Counts from its making on.

    Parameters
    ----------
    pids
        Of the servers. Those that are started later aren't counted.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._begin_s = time.monotonic()
        self._before = dict(self._ticks())

    def cores(self) -> float | None:
        """Return the mean number of cores used since; None where no server has such a compiler.

        A compiler's thread that ended meanwhile, being idle, takes its time with it.
        """
        seconds = max(time.monotonic() - self._begin_s, 1e-9)
        now = dict(self._ticks())
        if not self._before and not now:
            return None
        ticks = sum(max(count - self._before.get(key, 0), 0) for key, count in now.items())
        return ticks / os.sysconf("SC_CLK_TCK") / seconds

    def _ticks(self) -> Iterator[tuple[Path, int]]:
        for pid in self._pids:
            try:
                threads = list(Path(f"/proc/{pid}/task").iterdir())
            except OSError:  # it has ended, or isn't ours to see
                continue
            for thread in threads:
                try:
                    stat = (thread / "stat").read_bytes()
                except OSError:
                    continue
                name, _, fields = stat.partition(b"(")[2].rpartition(b")")
                if name in _THREADS:
                    user, system = fields.split()[11:13]
                    yield thread, int(user) + int(system)
