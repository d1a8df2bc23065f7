"""How far off models are on runs that they weren't fitted to, beside baselines.

``python -m benches.accuracy`` prints the tables of ``docs/reference/model-accuracy.md``, of the
runs in ``benches/runs``, as Markdown: first over all left-out parts, then throughput of each.
It takes some minutes a database.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from benches.harness import Figure
from pacelc.calibration.dataset import gathered
from pacelc.calibration.runs import points_of
from pacelc.evaluation.baselines import BASELINES, MEASURES
from pacelc.evaluation.protocol import compared, networks, overall, scores, with_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


RUNS: Final = Path(__file__).parent / "runs"
DATABASES: Final = ("redis", "mongodb", "cassandra", "hbase")
MODELS: Final = networks()
"""What has to beat the baselines."""
_THROUGHPUT: Final = MEASURES[0]


def measure() -> Iterator[Figure]:
    """Return a figure a database: throughput of sizes that were left out."""
    for database in DATABASES:
        errors = compared(_scores([_runs(database)], database))
        best = min((name for name in errors if name in BASELINES), key=lambda name: errors[name])
        own = [errors[name] for name in errors if name in MODELS]
        yield Figure(
            f"{database}: error of throughput at a size that wasn't fitted",
            f"< {errors[best]:.1%} ({best}, the best baseline)",
            ", ".join(f"{one:.1%}" for one in own) or "there is no model yet",
            min(own) < errors[best] if own else None,
        )


def _runs(database: str) -> Path:
    """Return a database's newest data set."""
    return max(RUNS.glob(f"{database}-*.parquet"))


def _scores(files: Sequence[Path], database: str | None) -> pl.DataFrame:
    """Return scores of all methods on files' runs, of one database or of all."""
    runs, _ = gathered(files)
    points = points_of([one for one in runs if database in (None, one.database)])
    baselines = {name: with_intervals(baseline) for name, baseline in BASELINES.items()}
    return scores({**MODELS, **baselines}, points)


def _of_all_parts(found: pl.DataFrame) -> Iterator[str]:
    """Yield a table of errors and coverage, over all left-out parts."""
    yield from _head("runs", "left out", "method", *MEASURES, "can't tell", "interval score")
    by = ["group", "scheme", "method"]
    for (group, scheme, method), frame in overall(found).group_by(by, maintain_order=True):
        rows = {row["measure"]: row for row in frame.iter_rows(named=True)}
        yield _row(
            group,
            scheme,
            method,
            *(_error(rows.get(name)) for name in MEASURES),
            sum(row["cant_tell"] for row in rows.values()) or "",
            _number(rows[_THROUGHPUT]["winkler"]),
        )


def _of_each_part(found: pl.DataFrame) -> Iterator[str]:
    """Yield a table of throughput, a row a left-out part: error, coverage, interval score."""
    methods = found["method"].unique(maintain_order=True).to_list()
    yield from _head("runs", "left out", "configurations", *methods)
    throughput = found.filter(pl.col("measure") == _THROUGHPUT)
    by = ["group", "scheme", "left_out"]
    for (group, scheme, left_out), frame in throughput.group_by(by, maintain_order=True):
        rows = {row["method"]: row for row in frame.iter_rows(named=True)}
        most = max(row["configurations"] + row["cant_tell"] for row in rows.values())
        cells = [f"{_error(rows[name])} {_number(rows[name]['winkler'])}" for name in methods]
        yield _row(group, f"{scheme}: {left_out}", most, *cells)


def _error(row: Mapping[str, Any] | None) -> str:
    """Return a cell: error, and how many intervals covered, of how many."""
    if row is None:
        return ""
    if row["error"] is None:
        return "can't tell"
    covered = f" ({row['covered']} of {row['intervals']})" if row["intervals"] else ""
    return f"{row['error']:.1%}".replace("%", " %") + covered


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _head(*names: object) -> list[str]:
    return [_row(*names), "|" + "---|" * len(names)]


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(one) for one in cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benches.accuracy",
        description="Print how far off models and baselines are on what they weren't fitted to: "
        "errors, how many 90 % intervals covered, interval scores. As Markdown.",
    )
    parser.add_argument("--database", choices=DATABASES, help="of all four, only this one")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=Path,
        help=f"runs, of `pacelc model dataset` (default: the newest of {RUNS})",
    )
    wanted = parser.parse_args()
    names = [wanted.database] if wanted.database else DATABASES
    files = wanted.files or [_runs(name) for name in names]
    table = _scores(files, wanted.database)
    print("\n".join([*_of_all_parts(table), "", *_of_each_part(table)]))
