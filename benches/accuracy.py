"""How far off models are on configurations that weren't fitted: runs of ``benches/runs``.

``python -m benches.accuracy`` prints the rows of ``docs/reference/model-accuracy.md``; with
``benches/runs/afterwards``, ``again``, ``since`` or ``once`` behind it those of runs made later,
and with several of them those of their runs together.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from benches.harness import Figure
from pacelc.calibration.fit import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pacelc.calibration.fit import Fit

RUNS: Final = Path(__file__).parent / "runs"
LIMITS: Final = {
    "throughput_per_s": 0.10,
    "read.latency_s": 0.15,
    "write.latency_s": 0.15,
    "read.p99_s": 0.25,
    "write.p99_s": 0.25,
}
"""Of a measure's mean error without its sign."""
_HELD: Final[dict[str, tuple[str, ...]]] = {
    "every third": (),
    "16 users": ("users=16",),
    "half reads": ("mix=50/50",),
    "quorum": ("consistency=quorum",),
    "three nodes, one copy": ("nodes=3 and replication=1",),
    "three nodes, three copies": ("nodes=3 and replication=3",),
    "all of three nodes": ("nodes=3",),
    "two nodes, two copies": ("nodes=2 and replication=2",),
}
_WRITES_AT_QUORUM: Final[dict[str, tuple[str, ...]]] = {
    "redis": ("consistency=quorum and mix=0/100,25/75,50/50,75/25",),
    # What journals cost is told by one copy and by two.
    "mongodb": ("consistency=quorum and replication=3 and mix=0/100,25/75,50/50,75/25",),
}
"""Where one node leads, reads alone are the same at each level."""
_WITHOUT: Final[dict[str, tuple[str, ...]]] = {
    "redis": ("three nodes, one copy", "all of three nodes"),  # there is no such cluster
    "hbase": ("quorum",),  # has a model of its own
}


def measure() -> Iterator[Figure]:
    """Return a figure for each model and what was held out."""
    limits = ", ".join(f"{limit * 100:.0f}" for limit in LIMITS.values())
    for words, found in _fits([RUNS]):
        errors = found.errors(fitted=False)
        yield Figure(
            f"{found.name}: {words} held out",
            f"≤ {limits} %",
            ", ".join(f"{errors[name] * 100:.1f}" for name in LIMITS) + " %",
            all(errors[name] <= limit for name, limit in LIMITS.items()),
        )


def _fits(runs: Sequence[Path]) -> Iterator[tuple[str, Fit]]:
    """Return the models that could be fitted to directories' runs, and what was held out."""
    for database in sorted({path.stem for one in runs for path in one.glob("*.parquet")}):
        paths = [path for one in runs for path in one.glob(f"{database}.parquet")]
        for words, hold in _held(database).items():
            found, _ = fit(paths, hold)
            for one in found:
                if set(LIMITS) <= set(one.errors(fitted=False)):
                    yield words, one


def _held(database: str) -> dict[str, tuple[str, ...]]:
    """Return what is held out of a database's runs."""
    without = _WITHOUT.get(database, ())
    held = {words: hold for words, hold in _HELD.items() if words not in without}
    if "quorum" in held:
        held["quorum"] = _WRITES_AT_QUORUM.get(database, held["quorum"])
    return held


def _row(words: str, found: Fit) -> str:
    """Return a row of the document: errors, and how many configurations are within the limits."""
    held = found.table.filter(~pl.col("fitted"))
    cells: list[str] = []
    for name, limit in LIMITS.items():
        errors = held.get_column(f"{name}.error").drop_nulls().abs()
        within = int((errors <= limit).sum())
        cells.append(f"{errors.mean():.0%} ({within} of {len(errors)})".replace("%", " %"))
        if name == "throughput_per_s":
            of_network, by_chance = found.errors(fitted=False, network=True), found.chance()
            cells += [
                f"{known[name]:.0%}".replace("%", " %") if name in known else "–"
                for known in (of_network, by_chance)
            ]
    return f"| {found.name.removeprefix('database ')} | {words} | {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benches.accuracy",
        description="Print how far off models are on configurations that weren't fitted.",
    )
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="*",
        type=Path,
        default=[RUNS],
        help=f"of runs in one file each; of several, runs together (default: {RUNS})",
    )
    directories = parser.parse_args().directories
    for directory in directories:
        if not any(directory.glob("*.parquet")):
            raise SystemExit(f"error: {directory} has no runs in one file\nhint: pacelc model keep")
    for what, model in _fits(directories):
        print(_row(what, model), flush=True)
