"""Processor time of the servers' just-in-time compilers.

A Java machine compiles while it serves, and serves slowly meanwhile: compilers take its processors,
and what isn't compiled yet, or is no longer, is interpreted. That comes again long after the first
minutes, whenever what was compiled for one load proves wrong for another. Its compilers' threads
have names of their own, so the kernel can tell what they took.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Compiled", "CompilerWatch"]

_THREADS: Final = (b"C1 CompilerThre", b"C2 CompilerThre", b"JVMCI CompilerT")
"""As HotSpot names them, cut to the kernel's 15 characters."""


@dataclass(frozen=True)
class Compiled:
    """What compilers used.

    Attributes
    ----------
    cores
        Mean number of cores.
    share
        Of the processor time of all servers over the same interval, those without a compiler
        included; None if they used none.
    """

    cores: float
    share: float | None


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
        self._servers_before = dict(self._servers_ticks())

    def used(self) -> Compiled | None:
        """Return what they used since; None where no server has such a compiler.

        A compiler's thread that ended meanwhile, being idle, takes its time with it.
        """
        seconds = max(time.monotonic() - self._begin_s, 1e-9)
        now = dict(self._ticks())
        if not self._before and not now:
            return None
        ticks = _grown(self._before, now)
        # At least as much: the two are read one after the other.
        servers = max(_grown(self._servers_before, dict(self._servers_ticks())), ticks)
        cores = ticks / os.sysconf("SC_CLK_TCK") / seconds
        return Compiled(cores, ticks / servers if servers else None)

    def _servers_ticks(self) -> Iterator[tuple[Path, int]]:
        for pid in self._pids:
            process = Path(f"/proc/{pid}")
            if (read := _read(process)) is not None:
                yield process, read[1]

    def _ticks(self) -> Iterator[tuple[Path, int]]:
        for pid in self._pids:
            try:
                threads = list(Path(f"/proc/{pid}/task").iterdir())
            except OSError:  # it has ended, or isn't ours to see
                continue
            for thread in threads:
                read = _read(thread)
                if read is not None and read[0] in _THREADS:
                    yield thread, read[1]


def _grown(before: Mapping[Path, int], now: Mapping[Path, int]) -> int:
    return sum(max(count - before.get(key, 0), 0) for key, count in now.items())


def _read(task: Path) -> tuple[bytes, int] | None:
    """Return the name of a process or thread and its ticks; None if it has ended."""
    try:
        stat = (task / "stat").read_bytes()
    except OSError:
        return None
    name, _, fields = stat.partition(b"(")[2].rpartition(b")")
    user, system = fields.split()[11:13]
    return name, int(user) + int(system)
