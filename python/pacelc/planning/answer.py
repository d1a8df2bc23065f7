"""What a plan says: its candidates as solved and simulated, and the answer or the doubt.

Map
---
Row         a candidate as solved
Answer      the smallest cluster that holds, with what is known of it
Doubt       why a cluster whose simulation holds is no answer
Plan        all of it; as a table
known       a value of a table or a document, null where it can't be told
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

if TYPE_CHECKING:
    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.diagnostics import Elasticity, Prediction
    from pacelc.planning.load import Load
    from pacelc.planning.losses import Loss

__all__ = ["Answer", "Doubt", "Plan", "Row", "known"]


class Row(NamedTuple):
    """A candidate as solved."""

    cluster: Candidate
    utilisation: float
    """Of the busiest station."""
    capacity_per_s: float
    percentile_s: dict[str, float]
    """By kind of operation; infinite where the cluster can't keep up, NaN: can't tell."""
    mean_s: dict[str, float]

    @property
    def slowest_s(self) -> float:
        """The larger of both percentiles; infinite where one can't be told."""
        values = list(self.percentile_s.values())
        return math.inf if any(math.isnan(value) for value in values) else max(values)


class Answer(NamedTuple):
    """The smallest cluster that holds."""

    row: Row
    simulated: Confirmed
    prediction: Prediction | None
    """None where the calibration doesn't know its errors, or the solver can't tell."""
    saturates_first: str
    """The busiest station."""
    highest_rate_per_s: float | None
    """Up to which it holds, by the solver, corrected by the simulation; None: the solver can't
    tell."""
    concurrency: float
    """Operations under way at a time, on average: Little's law."""
    losses: tuple[Loss, ...]
    elasticities: tuple[Elasticity, ...]
    assumed: tuple[str, ...]
    """Demands that matter and that the calibration doesn't name, with the model's defaults."""
    outside: tuple[str, ...]
    """In which respects the calibration wasn't checked there."""


class Doubt(NamedTuple):
    """Why a cluster whose simulation holds is no answer, and what would tell."""

    cluster: Candidate
    prediction: Prediction | None
    """None: the solver can't tell."""
    too_far: tuple[str, ...]
    """Sizes far beyond what was checked; none: it isn't certain."""
    measure: str
    """What to measure first: such sizes, or what would take most off the prediction's interval."""
    outside: tuple[str, ...]
    """In which respects the calibration wasn't checked there."""


class Plan(NamedTuple):
    """What was found."""

    load: Load
    calibration: Calibration
    rows: tuple[Row, ...]
    """All candidates, smallest first."""
    simulated: tuple[tuple[Row, Confirmed], ...]
    """Those that were, smallest first."""
    answer: Answer | None
    """None: none holds, or it can't be told."""
    doubt: Doubt | None
    """Where it can't be told although a simulation holds."""
    verdict: Literal["holds", "none holds", "can't tell"]
    at_least: float
    """The certainty that was asked for."""
    predictions: dict[Candidate, Prediction]
    """Of the simulated clusters that hold, if the calibration knows its errors."""
    likely: int
    """Clusters that the solver didn't rule out; :data:`MOST_SIMULATED` of them are simulated."""
    idle_s: float
    """The slower percentile of the fastest candidate without any load, as solved."""

    def frame(self) -> pl.DataFrame:
        """Return ``nodes, replication, machine, cores, …``; nulls where it can't be told.

        ``state`` is ``holds`` or ``fails`` as solved, ``saturated``, or ``can't tell``.
        ``simulated`` is what a simulation said, and columns that begin so are its values, with 95 %
        intervals. ``certainty`` and columns that begin with ``predicted`` are of predictions, with
        90 % intervals.
        """
        load = self.load
        percentile = f"p{load.percent:g}"
        simulated = {row.cluster: found for row, found in self.simulated}
        rows: list[dict[str, object]] = []
        for row in self.rows:
            cluster = row.cluster
            one: dict[str, object] = {
                "nodes": cluster.nodes,
                "cores": cluster.machine.cores,
                "replication": cluster.replication,
                "machine": cluster.machine.name,
                "cores_in_all": cluster.cores,
                "price_per_hour": cluster.price_per_hour,
                "utilisation": row.utilisation,
                "capacity_per_s": row.capacity_per_s,
            }
            for kind in load.kinds:
                one[f"{kind}_mean_s"] = known(row.mean_s[kind])
                one[f"{kind}_{percentile}_s"] = known(row.percentile_s[kind])
            one["state"] = _state(row.percentile_s, load.limit_s)
            found = simulated.get(cluster)
            one["simulated"] = None if found is None else found.verdict
            for kind in load.kinds:
                name = f"simulated_{kind}_{percentile}_s"
                measure = None if found is None else found.percentile_s[kind]
                one[name] = None if measure is None else measure.value
                one[f"{name}_low"] = None if measure is None else measure.low
                one[f"{name}_high"] = None if measure is None else measure.high
            prediction = self.predictions.get(cluster)
            one["certainty"] = None if prediction is None else prediction.certainty
            for kind in load.kinds:
                ends = None if prediction is None else prediction.percentile_s[kind]
                for end in ("low", "middle", "high"):
                    name = f"predicted_{kind}_{percentile}_s_{end}"
                    one[name] = None if ends is None else known(getattr(ends, end))
            rows.append(one)
        return pl.DataFrame(rows, infer_schema_length=None)


def known(value: float) -> float | None:
    """Return a value, or None for infinity and for what can't be told."""
    return value if math.isfinite(value) else None


def _state(percentile_s: dict[str, float], limit_s: float) -> str:
    values = list(percentile_s.values())
    if any(math.isinf(value) for value in values):
        return "saturated"
    if any(value > limit_s for value in values):
        return "fails"
    return "can't tell" if any(math.isnan(value) for value in values) else "holds"
