"""Real servers in tests: JVMs that start soon, and what lets two processes run tests at a time.

Tests on real servers mostly wait, so ``make test-cluster`` runs them on two processes. Each has
addresses of its own for its clusters, and `scope_of` says which tests follow one another on one.
"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest

from pacelc.clusters.network.emulation import capability

# A start's processor time is mostly the second compiler's. For tests that ask what servers do, and
# not how fast.
STARTS_SOON: dict[str, Any] = {"jvm_flags": ["-XX:TieredStopAtLevel=1"]}


def starts_soon(database: str) -> dict[str, Any]:
    """Return `STARTS_SOON` for a database that runs in a JVM."""
    from pacelc.clusters import DATABASES  # drivers take long to import

    return STARTS_SOON if "jvm_flags" in DATABASES[database].options else {}


# One after the other: they make emulated networks, and some count those of the whole machine.
_NETWORK = {
    "test_faults_real",
    "test_kill_campaign",
    "test_mongodb_sets",
    "test_ordinary_user",
    "test_pages",
    "test_partitions_real",
    "test_regions",
    "test_runner_clients",
    "test_runner_regions",
}
# Each test on its own: they share no server.
_INDEPENDENT = {"test_databases", "test_sizes", "test_studies_real"}


def first_host(place: int) -> str:
    """Return where a cluster's addresses begin: each process has its own, each file a place."""
    return f"127.{os.getpid() % 200 + 20}.{place}.1"


def needs_namespaces() -> None:
    """Skip a test where making network namespaces isn't permitted."""
    if capability().how != "root":
        pytest.skip("making network namespaces isn't permitted here")


def scope_of(nodeid: str) -> str:
    """Return a name that is the same for tests that one process runs one after the other.

    Those of a file, but for the files above and for the conformance suite: there, those of a
    database.
    """
    path, _, name = nodeid.partition("::")
    file = path.rpartition("/")[2].removesuffix(".py")
    if file in _NETWORK:
        return "network"
    if file in _INDEPENDENT:
        return nodeid
    database = re.search(r"\[(mongodb-sharding-client|[a-z]+)", name)
    return f"{file}/{database[1]}" if file == "test_conformance" and database else file
