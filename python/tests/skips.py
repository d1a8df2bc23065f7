"""Tests may only be skipped for a reason that is listed here, with why it is one.

``CI=true`` makes any other a failure; the number of skipped tests is printed in any case.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest

WHY: Final[Mapping[str, str]] = {
    r"nobody else's|only Cassandra's|one command|it is (MongoDB's|HBase's)|there is no server to": (
        "the conformance suite has tests that aren't about each database"
    ),
    r"namespace|TUN device|can't be tried|not root|only root|root's don't": (
        "networks of their own need rights that not every user has"
    ),
    r"control groups?\b|gives its groups no|this user's|cpuidle|cpu_dma_latency|idle states": (
        "sizes of nodes and idle states need a kernel that has them"
    ),
    r"nobody can't be let|shut to others|gets no networks": (
        "an ordinary user may not reach this machine's directories"
    ),
    r"hdrh|HdrHistogram's own tool|YCSB's classes can't be had|(Porcupine|LINE) can't be fetched": (
        "oracles from registries that may lack them"
    ),
    r"no [jJ]ava": "oracles in Java need one",
    r"no Chromium": "reports are opened in a browser where there is one; .ci/run installs it",
    r"isn't on PATH": "oracles in Go and Rust need their compilers",
    r"PACELC_HISTORIES": "public histories are not part of the repository",
    r"small cases aren't there": "shared/cases is not part of the repository",
    r"redis-server with TLS": "the packaged Redis has no TLS; Debian's may not be had",
}
"""Pattern of reasons → why tests may be skipped for them."""


def reasons(skipped: Iterable[pytest.TestReport]) -> Counter[str]:
    """Return how many tests were skipped for each reason."""
    found: Counter[str] = Counter()
    for report in skipped:
        place = report.longrepr
        text = str(place[2] if isinstance(place, tuple) else place)
        found[text.removeprefix("Skipped: ")] += 1
    return found


def unlisted(found: Iterable[str]) -> list[str]:
    """Return reasons that aren't listed."""
    return sorted(text for text in found if not any(re.search(one, text) for one in WHY))
