"""Real servers in tests: addresses that are no other process's, and JVMs that start soon.

Tests on real servers mostly wait, so two processes run them beside each other (``make
test-cluster``). What shares a server, or looks at the whole machine, is one ``xdist_group``: its
tests run one after the other.
"""

from __future__ import annotations

import os
from typing import Any


def first_host(place: int) -> str:
    """Return where a cluster's addresses begin: each process has its own, each file a place."""
    return f"127.{os.getpid() % 200 + 20}.{place}.1"


# A start's processor time is mostly the second compiler's. For tests that ask what servers do, and
# not how fast.
STARTS_SOON: dict[str, Any] = {"jvm_flags": ["-XX:TieredStopAtLevel=1"]}

NETWORK = "network"
"""The group of tests that make an emulated network: some count those of the whole machine."""
