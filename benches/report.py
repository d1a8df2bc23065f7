"""Time of a report, from the command to its end, of runs of `noop`.

A report's time depends on the number of runs and on the number of groups: both grow here, as in the
built-in studies.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benches.harness import Figure

STUDY = """
name: report
factors:
  consistency: [weak, quorum, strong]
  mix:
{mixes}
  users: {users}
settings: {{database: noop, measure: 0.1s, warm_up: 0s, burn_in: 0s, cool_down: 0s}}
repetitions: 3
"""
CASES = ((72, 4, [1, 8], 5.0), (1_008, 14, [1, 2, 3, 4, 5, 6, 7, 8], 30.0))
"""Runs, mixes, users, and the limit in seconds."""


def measure() -> list[Figure]:
    """Time both reports."""
    return [_figure(*case) for case in CASES]


def _figure(runs: int, mixes: int, users: list[int], limit_s: float) -> Figure:
    shares = (round(0.9 - 0.05 * number, 2) for number in range(mixes))
    lines = "\n".join(
        f"    m{number}: {{workload: {{mix: {{read: {share}, update: {1 - share:.2f}}}}}}}"
        for number, share in enumerate(shares)
    )
    with TemporaryDirectory(prefix="pacelc-bench-") as directory:
        study, out = Path(directory) / "report.yaml", Path(directory) / "results"
        study.write_text(STUDY.format(mixes=lines, users=users), encoding="utf-8")
        _pacelc("run", str(study), "--out", str(out))
        start = time.perf_counter()
        _pacelc("report", str(out))
        took_s = time.perf_counter() - start
    return Figure(
        f"report of {runs:,} runs",
        f"≤ {limit_s:g} s",
        f"{took_s:.1f} s: {took_s / limit_s:.2f} of the limit",
        took_s <= limit_s,
    )


def _pacelc(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pacelc", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
