"""How fast records are chosen, among 10⁹: draws a second on one core, for each distribution.

The limit of the same run is the generator alone, in the same loop. The loop is Rust's, in
``crates/workload/examples/draws.rs``: called from here, Python would be what is measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from benches.harness import CLIENT_CORE, Figure, MissingError

TARGETS_PER_S = {"uniform": 50e6, "zipfian": 20e6}
ROOT = Path(__file__).parents[1]


def measure() -> list[Figure]:
    """One line a distribution, and the time that setting one up takes."""
    if shutil.which("cargo") is None:
        raise MissingError("it needs cargo")
    options = ["--quiet", "--release", "-p", "pacelc-workload", "--example", "draws"]
    subprocess.run(["cargo", "build", *options], cwd=ROOT, check=True)
    done = subprocess.run(
        ["cargo", "run", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {CLIENT_CORE}),
    )
    rates: dict[str, float] = json.loads(done.stdout)
    limit = rates.pop("generator")
    set_up_us = rates.pop("set-up_us")
    figures: list[Figure] = []
    for name, rate in rates.items():
        target = TARGETS_PER_S.get(name.partition(" ")[0])
        figures.append(
            Figure(
                f"draws a second a core among 10⁹ records, {name}",
                "–" if target is None else f"≥ {target / 1e6:.0f} million",
                f"{rate / 1e6:.0f} million ({rate / limit:.3f} of the generator alone)",
                None if target is None else rate >= target,
            )
        )
    figures.append(
        Figure("setting up ycsb-zipfian among 10⁹ records", "–", f"{set_up_us:.1f} µs", None)
    )
    return figures
