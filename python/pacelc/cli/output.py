"""Where text leaves the command line, harmless to a terminal.

Map
---
say     a line on standard error
put     an answer on standard output
"""

from __future__ import annotations

import sys

from pacelc.outside import printable

__all__ = ["put", "say"]

debug = False
"""Whether exceptions are shown with their tracebacks; set by ``--debug``."""


def say(line: str) -> None:
    """Print ``line`` on standard error."""
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()


def put(answer: object, end: str = "\n") -> None:
    """Print ``answer`` on standard output."""
    sys.stdout.write(f"{printable(str(answer))}{end}")
    sys.stdout.flush()
