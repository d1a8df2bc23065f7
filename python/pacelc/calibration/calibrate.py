"""Stored runs → calibrations: a group each, checked on what was left out.

Start here: :func:`calibrate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from pacelc.calibration.demands import TERMS, NotIdentified
from pacelc.calibration.document import (
    QUANTILE_975,
    Calibration,
    Checked,
    Demand,
    LeftOut,
    Machine,
    PredictionError,
)
from pacelc.calibration.fit import fit
from pacelc.calibration.model import level_of
from pacelc.calibration.runs import KINDS, points_of
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.study.copies import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.fit import Fit
    from pacelc.calibration.model import Model
    from pacelc.calibration.runs import Configuration, Point, Run
    from pacelc.study.copies import Level

__all__ = ["Calibrated", "calibrate", "held_out"]

_DEMANDS: Final = (
    *("read_cpu", "write_cpu", "copy_read_cpu", "copy_write_cpu", "acknowledged_cpu", "log_cpu"),
    *("client_round_trip", "node_round_trip", "write_wait"),
)
"""Rows of :func:`_combinations`."""
_TERMS: Final = len(TERMS)
_DELAYS: Final = {"client_round_trip": 0, "node_round_trip": 0, "write_wait": 1, "log_cpu": 1}
"""What is told only with which of the model's delays."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A group of runs, its model, and how far off that is.

    Attributes
    ----------
    group
        What the runs have in common.
    runs
        How many were fitted.
    fit, calibration
        The model, and what a plan reads; None if there is none.
    held
        One row a held-out configuration and measure: ``configuration, measure, measured, predicted,
        low, high``, null where the runs can't tell. Empty if none was held out.
    reason, hint
        Why there is no model, and what would help.
    """

    group: Mapping[str, object]
    runs: int
    fit: Fit | None
    calibration: Calibration | None
    held: pl.DataFrame
    reason: str = ""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The group, for people."""
        return ", ".join(f"{key} {value}" for key, value in self.group.items()) or "all runs"


def calibrate(runs: Sequence[Run], hold: Sequence[str] = ()) -> list[Calibrated]:
    """Calibrate a model for each group of runs.

    Parameters
    ----------
    runs
        Of one or more results directories (:func:`pacelc.calibration.dataset.gathered`).
    hold
        ``FACTOR=LEVEL,…`` each, or several joined by ``and``: runs that have all of one aren't
        fitted, but predicted.

    Raises
    ------
    InputError
        There is no such factor or level.
    """
    held = frozenset[str]().union(*(held_out(runs, text) for text in hold))
    groups: dict[tuple[object, ...], list[Run]] = {}
    for one in runs:
        groups.setdefault((one.database, *one.group), []).append(one)
    return [_calibrated(own, held) for own in groups.values()]


def held_out(runs: Sequence[Run], text: str) -> frozenset[str]:
    """Return the names of the runs that have all levels of ``FACTOR=LEVEL,… and …``.

    Raises
    ------
    InputError
        There is no such factor or level, or no such run.
    """
    factors = list(dict.fromkeys(name for one in runs for name in one.factors))
    found = {one.name for one in runs}
    for part in text.split(" and "):
        factor, sign, value = part.strip().partition("=")
        if not sign or factor not in factors:
            raise InputError(
                f"--hold {text}: should be FACTOR=LEVEL", f"factors: {', '.join(factors)}"
            )
        levels = {level.strip() for level in value.split(",")}
        known = {one.factors[factor] for one in runs if factor in one.factors}
        for level in sorted(levels - known):
            raise InputError(
                f"--hold {text}: no run has {factor} {level}",
                f"there are {', '.join(sorted(known))}",
            )
        found &= {one.name for one in runs if one.factors.get(factor) in levels}
    if not found:
        raise InputError(f"--hold {text}: no run has all of these")
    return frozenset(found)


def _calibrated(runs: Sequence[Run], held: frozenset[str]) -> Calibrated:
    group = {"database": runs[0].database, **dict(runs[0].group)}
    points = points_of([one for one in runs if one.name not in held])
    fitted = sum(len(one.runs) for one in points)
    try:
        found = fit(points)
    except NotIdentified as reason:
        return Calibrated(group, fitted, None, None, pl.DataFrame(), reason.message, reason.hint)
    table = _predicted(found, points_of([one for one in runs if one.name in held]))
    return Calibrated(group, fitted, found, _calibration(found, points, group), table)


def _predicted(found: Fit, points: Sequence[Point]) -> pl.DataFrame:
    """Return the table of what was held out."""
    rows: list[dict[str, object]] = []
    predictions = found.predict([one.configuration for one in points])
    for one, values in zip(points, predictions, strict=True):
        for name, measured in one.measured.items():
            value = values.get(name)
            rows.append(
                {
                    "configuration": one.configuration.text(),
                    "measure": name,
                    "measured": measured,
                    "predicted": None if value is None else value.value,
                    "low": None if value is None else value.low,
                    "high": None if value is None else value.high,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def _calibration(found: Fit, points: Sequence[Point], group: Mapping[str, object]) -> Calibration:
    model, first, one = found.model, points[0].runs[0], points[0].configuration
    cores = max(round(one.cores), 1)
    demands, correlation, untold = _demands(model, cores)
    others = ", ".join(f"{key} {value}" for key, value in group.items() if key != "database")
    runs = [run for each in points for run in each.runs]
    studies = ", ".join(dict.fromkeys(run.study_name for run in runs))
    return Calibration(
        name=f"{first.database}, measured by pacelc" + (f" ({others})" if others else ""),
        database=first.database or "unknown",
        versions=dict(first.versions),
        machine=Machine(cores=cores, shared=one.shared),
        demands=demands,
        correlation=correlation,
        untold=untold,
        contention=_rounded(model.demands.contention),
        discipline="siro",
        scv=_rounded(model.scv),
        coordinator=one.coordinator,
        on_disk=_on_disk([each.configuration for each in points]),
        error=_error(found),
        checked=_checked(points),
        left_out=_left_out(found),
        source=f"study {studies}, {counted(len(runs), 'run')}",
    )


def _demands(
    model: Model, cores: int
) -> tuple[dict[str, Demand], tuple[tuple[float, ...], ...], tuple[str, ...]]:
    """Return a plan's demands, the correlation of those with intervals, and those not told."""
    combinations = _combinations(cores)
    told = [
        (name not in _DELAYS or not math.isnan(model.delays_s[_DELAYS[name]]))
        and model.demands.tells(row[:_TERMS])
        for name, row in zip(_DEMANDS, combinations, strict=True)
    ]
    values = combinations @ model.parameters
    covariance = combinations @ model.covariance @ combinations.T
    errors = np.sqrt(np.diag(covariance))
    demands = {
        name: _demand(value, error)
        for name, value, error, is_told in zip(
            _DEMANDS, values.tolist(), errors.tolist(), told, strict=True
        )
        if is_told
    }
    sure = [i for i, name in enumerate(_DEMANDS) if name in demands and demands[name].has_interval]
    correlation = covariance[np.ix_(sure, sure)] / np.outer(errors[sure], errors[sure])
    rows = np.clip(correlation, -1, 1).round(4).tolist()
    uncached = {f"{kind}_uncached": Demand(value=0.0) for kind in KINDS}
    untold = tuple(name for name in _DEMANDS if name not in demands)
    return demands | uncached, tuple(tuple(row) for row in rows), untold


def _on_disk(measured: Sequence[Configuration]) -> tuple[Level, ...]:
    """Return the levels at which writes waited for a disk; of one copy all levels are the same."""
    writes = [one for one in measured if one.read_share < 1]
    if all(one.on_disk for one in writes):
        return LEVELS
    found = {
        level_of(one.waited, one.replication)
        for one in writes
        if one.on_disk and one.replication > 1
    }
    return tuple(level for level in LEVELS if level in found)


def _left_out(found: Fit) -> tuple[LeftOut, ...]:
    if found.network is None:
        return ()
    return tuple(
        LeftOut(
            what=size,
            configurations=count,
            **{name: _rounded(error) for name, error in errors.items()},
        )
        for size, (count, errors) in found.network.by_size.items()
    )


def _combinations(at_a_time: int) -> NDArray[np.float64]:
    """Return how each demand of a plan is made of the parameters.

    A plan's nodes are busy: as many operations are under way at each as it has cores, and share
    what one of them would take alone.
    """
    share = at_a_time**-0.5
    #        read write copies  wait   wake  contention, hop, durable
    return np.array(
        [
            [1, 0, 0, 0, 0, share, 0, 0, 0],
            [0, 1, 0, 0, 0, share, 0, 0, 0],
            [0, 0, 1, 0, 0, share, 0, 0, 0],
            [0, 0, 0, 1, 0, share, 0, 0, 0],
            [0, 0, 0, 0, share, 0, 0, 0, 0],
            [0, 0, 0, 0, share, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 0, 0, 1, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 1],
        ]
    )


def _demand(value: float, error: float) -> Demand:
    if error == 0:
        return Demand(value=_rounded(value))
    half = QUANTILE_975 * error
    low, high = max(value - half, 0.0), value + half
    return Demand(value=_rounded(value), low=_rounded(low), high=_rounded(high))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _error(found: Fit) -> PredictionError | None:
    """Return the network's errors: a plan is of other machines, and does without residuals."""
    found_of = found.network
    if found_of is None:
        return None
    deviations = {
        what: math.sqrt(float(np.mean(own)))
        for what, end in (("mean", "latency_s"), ("p99", "p99_s"))
        if (own := [v for name, v in found_of.variance.items() if name.endswith(end)])
    }
    if len(deviations) < 2:  # noqa: PLR2004 - a plan needs both
        return None
    return PredictionError(
        sizes=found_of.sizes["throughput_per_s"],
        between_clusters=_rounded(found.model.demands.between),
        throughput=_rounded(found_of.variance["throughput_per_s"] ** 0.5),
        **{what: _rounded(value) for what, value in deviations.items()},
    )


def _checked(points: Sequence[Point]) -> Checked:
    """Return the ranges of the configurations that were measured."""
    all_of = [one.configuration for one in points]
    ranges: dict[str, list[float]] = {
        "users": [one.users for one in all_of],
        "nodes": [one.nodes for one in all_of],
        "replication": [one.replication for one in all_of],
        "read_share": [one.read_share for one in all_of],
        "rate_per_s": [one.measured["throughput_per_s"] for one in points],
        "utilisation": [_utilisation(run) for one in points for run in one.runs],
    }
    if not any(one.shared for one in all_of):
        ranges["cores"] = [one.cores for one in all_of]
    ends: dict[str, Any] = {
        name: (_rounded(min(values)), _rounded(max(values))) for name, values in ranges.items()
    }
    waited = {
        level_of(copies, one.replication) for one in all_of for copies in (one.asked, one.waited)
    }
    return Checked(**ends, levels=tuple(one for one in LEVELS if one in waited))


def _utilisation(run: Run) -> float:
    """Return the share of processors that were busy, as far as they are counted alike."""
    one = run.configuration
    used = run.server_cores + run.client_cores if one.shared else run.server_cores / one.nodes
    return min(used / one.cores, 1.0)
