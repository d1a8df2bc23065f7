"""Time that a study spends on anything but load, warm-up, measuring and cool-down.

`ferreira-2024` takes 22 hours at its real durations. Its overhead is measured on a shortened run
of the same study, a cluster and a run at a time, and projected on the whole of it.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pacelc
from benches.harness import Figure
from pacelc.study import Study

LIMIT = 0.10
SHORT = ["duration=3s", "warm_up=1s", "cool_down=0s", "users=1,10", "repetitions=1"]
PRODUCTIVE = {"load", "warm-up", "measure", "cool-down"}


def measure() -> list[Figure]:
    """The share, projected."""
    study = Study.load("ferreira-2024")
    schedule = study.schedule()
    with TemporaryDirectory(prefix="pacelc-bench-") as directory:
        out = Path(directory) / "results"
        changes = [word for change in SHORT for word in ("--set", change)]
        subprocess.run(
            [sys.executable, "-m", "pacelc", "run", "ferreira-2024", *changes, "--out", str(out)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        results = pacelc.load(out)
        seconds: dict[str, float] = defaultdict(float)
        for row in results.timeline.iter_rows(named=True):
            seconds[row["what"]] += row["seconds"]
        runs = results.runs.height
    overhead = {
        what: s for what, s in seconds.items() if what not in PRODUCTIVE and what != "fetch"
    }
    per_cluster = sum(s for what, s in overhead.items() if what.startswith("cluster"))
    per_run = (sum(overhead.values()) - per_cluster) / runs
    total_overhead = per_cluster + per_run * len(schedule)
    productive = sum(
        run.scenario.settings.warm_up_s
        + run.scenario.settings.measure_s
        + run.scenario.settings.cool_down_s
        for run in schedule
    )
    share = total_overhead / (total_overhead + productive)
    measured = (
        f"{share:.2%} ({total_overhead:.0f} s of {(total_overhead + productive) / 3600:.1f} h; "
        f"{per_cluster:.0f} s for three clusters, {per_run:.2f} s a run)"
    )
    return [
        Figure(
            "ferreira-2024: time outside load, warm-up, measuring, cool-down",
            "< 10 %",
            measured,
            share < LIMIT,
        )
    ]
