"""LINE as an oracle of our solvers, in an environment of its own: its pandas is older than ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pacelc.clusters import FetchError
from pacelc.clusters.software.fetch import cached

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"


def line(*questions: Mapping[str, Any]) -> list[list[float]]:
    """Return the throughputs that LINE finds; see ``program.py`` for what it may be asked."""
    try:
        packages = cached("line-3.0.8.0", _install)
    except FetchError as error:
        pytest.skip(f"LINE can't be fetched: {error}")
    done = subprocess.run(
        [sys.executable, HERE / "program.py"],
        env=os.environ | {"PYTHONPATH": str(packages)},
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _install(directory: Path) -> None:
    """Fetch LINE and the pandas that it needs; the rest of what it needs is ours."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes")
    done = subprocess.run(
        [*pip, "--target", directory, "--requirement", REQUIREMENTS],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FetchError(done.stderr.strip())
