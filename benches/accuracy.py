"""How far off models are on runs that they weren't fitted to, beside baselines.

``python -m benches.accuracy`` prints the table of ``docs/reference/model-accuracy.md``, of the
runs in ``benches/runs``, as Markdown. It takes about five minutes a database. With ``--test FILE``
models of all these runs predict those of the file, by size.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from benches.harness import Figure
from pacelc.calibration.dataset import gathered
from pacelc.calibration.runs import points_of
from pacelc.evaluation.baselines import BASELINES, MEASURES
from pacelc.evaluation.protocol import compared, networks, scores, scores_of_new, with_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RUNS: Final = Path(__file__).parent / "runs"
DATABASES: Final = ("redis", "mongodb", "cassandra", "hbase")
MODELS: Final = networks()
"""What has to beat the baselines; the first is what `pacelc model fit` predicts with."""
_MODEL: Final = next(iter(MODELS))
_THROUGHPUT: Final = MEASURES[0]
_ENDS: Final = {"mean": "latency_s", "p99": "p99_s"}


def measure() -> Iterator[Figure]:
    """Return a figure a database: throughput of sizes that were left out."""
    for database in DATABASES:
        errors = compared(_scores([_runs(database)]))
        best = min(BASELINES.keys() & errors.keys(), key=lambda name: errors[name])
        yield Figure(
            f"{database}: error of throughput at a size that wasn't fitted",
            f"< {errors[best]:.1%} ({best}, the best baseline)",
            f"{errors[_MODEL]:.1%}",
            errors[_MODEL] < errors[best],
        )


def _runs(database: str) -> Path:
    """Return a database's newest data set."""
    return max(RUNS.glob(f"{database}-*.parquet"))


def _scores(files: Sequence[Path], test: Path | None = None) -> pl.DataFrame:
    """Return scores of all methods on files' runs, or on those of a test, with their database."""
    points = points_of(gathered(files)[0])
    baselines = {name: with_intervals(baseline) for name, baseline in BASELINES.items()}
    methods = {**MODELS, **baselines}
    if test is None:
        found = scores(methods, points)
    else:
        found = scores_of_new(methods, points, points_of(gathered([test])[0]))
    return found.with_columns(database=pl.col("group").str.split(",").list.first())


def _table(found: pl.DataFrame) -> Iterator[str]:
    """Yield a row a database and what was left out; regimes count the same."""
    methods = found["method"].unique(maintain_order=True).to_list()
    head = ["runs", "left out", "throughput", "mean", "p99", "in 90 % intervals"]
    yield _row(*head, *(f"{name}: throughput, score" for name in methods))
    yield "|" + "---|" * (len(head) + len(methods))
    # Levels and users are few: one row for all of them.
    by_size = pl.col("scheme").is_in(["sizes", "test"])
    part = pl.when(by_size).then("left_out").otherwise("scheme").alias("part")
    for (database, what), own in found.group_by("database", part, maintain_order=True):
        model = own.filter(method=_MODEL)
        rates = own.filter(measure=_THROUGHPUT)
        covered, intervals = rates.filter(method=_MODEL).select("covered", "intervals").sum().row(0)
        yield _row(
            database,
            what,
            _percent(model.filter(measure=_THROUGHPUT)),
            *(_percent(model.filter(pl.col("measure").str.ends_with(e))) for e in _ENDS.values()),
            f"{covered} of {intervals}" if intervals else "can't tell",
            *(_cell(rates.filter(method=name)) for name in methods),
        )


def _percent(own: pl.DataFrame) -> str:
    error = own["error"].mean()
    return f"{error:.1%}".replace("%", " %") if isinstance(error, float) else "can't tell"


def _cell(own: pl.DataFrame) -> str:
    """Return error and interval score of throughput."""
    score = own["winkler"].mean()
    return _percent(own) + (f", {score:.2f}" if isinstance(score, float) else "")


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
    parser.add_argument("--test", type=Path, metavar="FILE", help="new runs, to be predicted")
    wanted = parser.parse_args()
    names = [wanted.database] if wanted.database else DATABASES
    table = _scores(wanted.files or [_runs(name) for name in names], wanted.test)
    errors = compared(table)
    print("\n".join(_table(table)))
    if wanted.test is None:
        print(
            "\nsizes left out, all of them:", ", ".join(f"{k} {v:.1%}" for k, v in errors.items())
        )
