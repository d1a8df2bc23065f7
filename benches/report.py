"""Time of a report, from the command to its end.

One run of `noop` is measured, and stored as each run of a larger study: a report's time depends on
how many runs and groups there are, not on what they measured.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pacelc
from benches.harness import Figure
from pacelc.store import Results, Store

STUDY = """
name: report
factors: {consistency: [weak], users: [1]}
settings: {database: noop, measure: 1s, warm_up: 0s, burn_in: 0s, cool_down: 0s}
repetitions: 1
"""
LEVELS = ("weak", "quorum", "strong")
REPETITIONS = 3
CASES = (((4, 1, (1, 8)), 5.0), ((4, 4, (1, 2, 4, 8, 16, 32, 64)), 30.0))
"""Databases, workloads and users, and the limit in seconds."""


def measure() -> list[Figure]:
    """Time the reports of 72 and of 1,008 runs."""
    with TemporaryDirectory(prefix="pacelc-bench-") as name:
        directory = Path(name)
        (directory / "report.yaml").write_text(STUDY, encoding="utf-8")
        _pacelc("run", str(directory / "report.yaml"), "--out", str(directory / "one"))
        one = pacelc.load(directory / "one")
        return [_figure(directory / str(number), one, *case) for number, case in enumerate(CASES)]


def _figure(
    out: Path, one: Results, size: tuple[int, int, tuple[int, ...]], limit_s: float
) -> Figure:
    databases, workloads, users = size
    factors = {
        "database": [f"database-{number}" for number in range(databases)],
        "workload": [f"workload-{number}" for number in range(workloads)],
        "consistency": list(LEVELS),
        "users": list(users),
    }
    runs = _write(out, one, factors)
    start = time.perf_counter()
    _pacelc("report", str(out))
    took_s = time.perf_counter() - start
    return Figure(
        f"report of {runs:,} runs",
        f"≤ {limit_s:g} s",
        f"{took_s:.1f} s: {took_s / limit_s:.2f} of the limit",
        took_s <= limit_s,
    )


def _write(out: Path, one: Results, factors: dict[str, list[Any]]) -> int:
    """Store one run as every run of a study, and return how many there are."""
    (record,) = one.records
    (source,) = one.runs.get_column("source")
    document = record.model_dump(mode="json", exclude_none=True, exclude={"sha256"})
    log = one.latency_log(source, record.run)
    samples, resources = (frame.drop("source", "run") for frame in (one.samples, one.resources))
    study = {"name": "report", "factors": factors, "repetitions": REPETITIONS}
    runs = 0
    with Store.open(out, create=study, pacelc_version="0", now=datetime.now(UTC)) as store:
        for number, labels in enumerate(itertools.product(*factors.values()), 1):
            own = dict(zip(factors, labels, strict=True))
            scenario = document["scenario"] | {"number": number, "factors": own}
            for repetition in range(1, REPETITIONS + 1):
                run = f"{number:04d}-r{repetition}"
                changed = {"run": run, "scenario": scenario, "repetition": repetition}
                store.write_run(run, document | changed, samples, resources, log)
                runs += 1
    return runs


def _pacelc(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pacelc", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
