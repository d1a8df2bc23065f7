"""``pacelc model fit``: a model calibrated from stored runs, checked on sizes left out."""

from __future__ import annotations

import json
import math
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pacelc.cli.model.options import milliseconds
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.files import make_directory, write_text
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pacelc.calibration.calibrate import Calibrated
    from pacelc.calibration.document import Calibration
    from pacelc.calibration.fit import Fit

__all__ = ["fit"]

_MEASURES: Final = {
    "throughput_per_s": "throughput",
    "read.latency_s": "read",
    "write.latency_s": "write",
    "read.p99_s": "read p99",
    "write.p99_s": "write p99",
}
_DEMANDS: Final = {
    "read_cpu": "processor: a read at its coordinator",
    "write_cpu": "processor: a write at its coordinator",
    "copy_read_cpu": "processor: a copy read elsewhere",
    "copy_write_cpu": "processor: a copy written elsewhere",
    "acknowledged_cpu": "processor: an acknowledgement waited for",
    "log_cpu": "processor: a log on disk waited for",
    "client_round_trip": "waiting: a hop to another machine and back",
    "write_wait": "waiting: a log on disk",
}

_ERRORS: Final = ("throughput", "mean", "p99")


def fit(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…",
            help="Results directories, or files of `pacelc model dataset`. Each one has clusters "
            "of its own.",
        ),
    ],
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL,…",
            help="Runs to predict and compare instead of fitting; 'A=1 and B=2' takes runs with "
            "both. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", help="Write each calibration there, for pacelc plan -c."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a model of each database from its runs, and check it on sizes left out.

    One model covers users, mixes, nodes, copies and levels: processor demands by the utilisation
    law, contention of servers that share cores, and two delays. Each size (nodes and copies) is
    left out once, and predicted by a model of the others: that is how far off a plan may be.

    \b
    pacelc model fit results/calibration
    pacelc model fit results/monday results/tuesday
    pacelc model fit results/calibration --hold users=32,64 --out models
    pacelc model fit cassandra.parquet --hold 'nodes=3 and replication=1'
    pacelc plan --rate 5k --p99 20ms -c models/cassandra.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.calibration.calibrate import calibrate  # noqa: PLC0415 - data frames take long
    from pacelc.calibration.dataset import gathered  # noqa: PLC0415 - as above

    runs, left_out = gathered(results)
    found = calibrate(runs, hold or ())
    written = [] if out is None else _write(found, out)
    if as_json:
        document = {"models": [_document(one) for one in found], "left_out": left_out}
        put(json.dumps(document, indent=2, ensure_ascii=False))
        return
    put("\n\n".join(_text(one) for one in found))
    for reason, count in left_out.items():
        put(f"\n{counted(count, 'run')} left out: {reason}")
    for path in written:
        put(path)
    if all(one.calibration is None for one in found):
        raise typer.Exit(1)


def _write(found: Sequence[Calibrated], directory: Path) -> list[Path]:
    make_directory(directory)
    written: list[Path] = []
    for one in found:
        if one.calibration is not None:
            words = [name if value is True else str(value) for name, value in one.group.items()]
            path = directory / f"{'-'.join(words).replace(' ', '-').replace('/', '-')}.yaml"
            write_text(path, one.calibration.to_yaml())
            written.append(path)
    return written


def _text(found: Calibrated) -> str:
    if found.calibration is None or found.fit is None:
        hint = f"; {found.hint}" if found.hint else ""
        return f"{found.name}: no model: {found.reason}{hint}"
    clusters = counted(found.fit.model.demands.clusters, "cluster")
    parts = [
        f"{found.name}: {counted(found.runs, 'run')} fitted, of {clusters}",
        _demands(found.calibration),
        *_variation(found),
        "",
        _left_out(found.fit, found.calibration),
        *(["", _held(found.held)] if not found.held.is_empty() else []),
    ]
    return "\n".join(parts)


def _demands(calibration: Calibration) -> str:
    demands = calibration.demands
    rows = [
        [words, *(milliseconds(end) for end in (one.value, one.low, one.high))]
        for name, words in _DEMANDS.items()
        if (one := demands.get(name)) is not None
    ]
    header = ["demand", "ms", "95 % from", "to"]
    return aligned(header, rows, right=header[1:])


def _variation(found: Calibrated) -> list[str]:
    assert found.fit is not None  # noqa: S101 - a model has one
    assert found.calibration is not None  # noqa: S101 - as above
    demands, calibration = found.fit.model.demands, found.calibration
    lines: list[str] = []
    if calibration.machine.shared:
        more = f"{calibration.contention:.0%}"
        lines.append(f"contention: each further server on the same cores raises demands by {more}")
    between = f"{demands.between:.0%}" if demands.clusters > 1 else "can't tell, there is one"
    lines.append(
        f"standard deviation of processor time: {demands.within:.0%} within a cluster, {between} "
        "between clusters"
    )
    if calibration.untold:
        lines.append(f"not measured by these runs: {', '.join(calibration.untold)}")
    if demands.clusters < 2 * max(len(calibration.left_out), 1):
        lines.append(
            "caution: clusters of the same size differ, and most sizes have only one: measure "
            "again, in another directory, and fit both"
        )
    return lines


def _left_out(found: Fit, calibration: Calibration) -> str:
    """Return how far off predictions of sizes left out were."""
    if calibration.error is None or found.corrected is None:
        return (
            "prediction errors are unknown: without a left-out size, the others don't determine "
            "the demands; measure more sizes"
        )
    rows = [
        [
            one.what,
            str(one.configurations),
            *(_percent(error) for error in (one.throughput, one.mean, one.p99)),
            *(_percent(found.corrected.by_size[one.what][1].get(name)) for name in _ERRORS),
        ]
        for one in calibration.left_out
    ]
    header = [
        "size left out",
        "configurations",
        *_ERRORS,
        *(f"{name}, residuals" for name in _ERRORS),
    ]
    table = aligned(header, rows, right=header[1:])
    quantile = calibration.error.quantile(0.95)
    within = [
        f"{name} {math.exp(quantile * math.hypot(calibration.error.between_clusters, error)):.2g}"
        for name in _ERRORS
        if (error := getattr(calibration.error, name)) is not None
    ]
    title = "relative errors of sizes left out: by the network, as in a plan, and with residuals"
    return "\n".join(
        [
            title,
            table,
            f"a plan's clusters: 90 % within a factor of {', '.join(within)}",
        ]
    )


def _held(held: pl.DataFrame) -> str:
    """Return errors of what was held out, a row a configuration, and their means."""
    rows: dict[str, dict[str, str]] = {}
    errors: dict[str, list[float]] = {}
    covered: dict[str, list[bool]] = {}
    for one in held.iter_rows(named=True):
        cells = rows.setdefault(one["configuration"], {})
        if one["predicted"] is None:
            continue
        error = one["predicted"] / one["measured"] - 1
        cells[one["measure"]] = f"{error:+.1%}"
        errors.setdefault(one["measure"], []).append(abs(error))
        if one["low"] is not None:
            held_it = one["low"] <= one["measured"] <= one["high"]
            covered.setdefault(one["measure"], []).append(held_it)
    names = [name for name in _MEASURES if name in errors]
    body = [[what, *(cells.get(name, "-") for name in names)] for what, cells in rows.items()]
    for words, of in (("mean, without sign", errors), ("in its 90 % interval", covered)):
        shares = (f"{sum(of[name]) / len(of[name]):.1%}" if name in of else "-" for name in names)
        body.append([words, *shares])
    titles = [_MEASURES[name] for name in names]
    table = aligned(["relative error, held out", *titles], body, right=titles)
    untold = sum(1 for cells in rows.values() if not cells)
    notes = [f"{untold} configurations: can't tell from the runs fitted"] if untold else []
    return "\n".join([table, *notes])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _document(found: Calibrated) -> dict[str, Any]:
    demands = None if found.fit is None else found.fit.model.demands
    return {
        "group": dict(found.group),
        "runs": found.runs,
        "calibration": None if found.calibration is None else found.calibration.document(),
        "within_clusters": None if demands is None else demands.within,
        "between_clusters": None if demands is None else demands.between,
        "held_out": found.held.to_dicts(),
        "reason": found.reason,
        "hint": found.hint,
    }
