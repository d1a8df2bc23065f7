"""Tests in Rust that need a server which a test in Python has started."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCAN_OF_SETS = "a_scan_of_several_sets_is_one_of_their_union"
NO_MONGOS = "what_is_no_mongos_is_not_taken_for_one"
FROZEN = "a_frozen_primary_costs_strong_reads_and_not_hedged_ones"
KILLED = "a_killed_server_costs_errors_but_no_acknowledged_write"


def pass_in_rust(target: str, *options: str, passed: int, **environment: str) -> None:
    """Check that so many tests of a target run and pass."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo isn't on PATH")
    done = subprocess.run(
        # The crates that `make test-fast` built: others' features would build all of them again.
        [
            *("cargo", "test", "--quiet", "--release", "--workspace"),
            *("--exclude", "pacelc-python", "--test", target, "--", *options),
        ],
        cwd=Path(__file__).parents[2],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"{passed} passed" in done.stdout
