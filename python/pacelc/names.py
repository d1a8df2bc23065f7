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
ASKED_FOR           the activities that a study is for
NOT_ACCOUNTED_FOR   the time that no activity took
WHOLE_NUMBER        a level's label that stands for a number
overheads           what took the rest of the time, in words
counted             a number with its noun
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ASKED_FOR",
    "COMPILING",
    "HEDGED",
    "LINK_FAULTS",
    "MACHINE",
    "NOT_ACCOUNTED_FOR",
    "NOT_SERVERS",
    "NO_IDLE_STATES",
    "PARTITIONS",
    "WHOLE_NUMBER",
    "counted",
    "overheads",
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
ASKED_FOR: Final = ("load", "warm-up", "measure", "cool-down")
NOT_ACCOUNTED_FOR: Final = "not accounted for"
WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,15}")
_OVERHEADS: Final = {
    "cluster-up": "starting clusters",
    "cluster-down": "stopping clusters",
    "prepare": "preparing tables",
    "spawn": "starting users",
    "check": "checking what clients observed",
    "store": "storing runs",
    "settle": "waiting for clusters after faults",
    "read-back": "reading records back",
}
_TOLD: Final = 0.005


def overheads(shares: Mapping[str, float]) -> str:
    """Return in words what took a share of the time; what rounds to nothing is left out.

    Examples
    --------
    >>> overheads({"cluster-up": 0.31, "spawn": 0.001, NOT_ACCOUNTED_FOR: 0.06})
    'starting clusters 31 %, not accounted for 6 %'
    """
    return ", ".join(
        f"{_OVERHEADS.get(what, what)} {100 * share:.0f} %"
        for what, share in sorted(shares.items(), key=lambda item: -item[1])
        if share >= _TOLD
    )


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
