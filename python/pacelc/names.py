"""Names and words that several rooms use, each written once: below all of them, so that all may.

Map
---
MACHINE             the row of all processes together, beside the servers' and the client's
COMPILING           how much of its servers' work a just-in-time compiler may be
HEDGED              how much more than once, on average, a read may be asked for
NO_IDLE_STATES      the role of the process that disables processors' idle states
NOT_SERVERS         roles of what is accounted for and serves nobody
PARTITIONS          the faults that cut a network in parts
LINK_FAULTS         those that make links slow or lossy
counted             a number with its noun
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "COMPILING",
    "HEDGED",
    "LINK_FAULTS",
    "MACHINE",
    "NOT_SERVERS",
    "NO_IDLE_STATES",
    "PARTITIONS",
    "counted",
]

COMPILING: Final = 0.05
"""Of their processor time: beyond it, what they serve meanwhile isn't what they serve later."""
HEDGED: Final = 0.05
"""Further requests a read: beyond it, they are part of the load that makes servers late."""
MACHINE: Final = "machine"
NO_IDLE_STATES: Final = "no_idle_states"
NOT_SERVERS: Final = frozenset({"client", "network", NO_IDLE_STATES})
PARTITIONS: Final = frozenset({"isolate", "split", "one-way", "bridge"})
LINK_FAULTS: Final = frozenset({"slow", "lossy"})


def counted(number: float, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run"), counted(0.5, "core"), counted(2, "copy")
    ('1 run', '2,000 runs', '0.5 cores', '2 copies')
    """
    shown = f"{number:g}" if isinstance(number, float) else f"{number:,}"
    if number == 1:
        return f"{shown} {noun}"
    return f"{shown} {noun[:-1]}ies" if noun.endswith("y") else f"{shown} {noun}s"
