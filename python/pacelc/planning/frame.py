"""A plan's sweep as a table: one row a candidate, with what was simulated of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from pacelc.planning.search import Plan

__all__ = ["known", "sweep_frame"]


def sweep_frame(plan: Plan) -> pl.DataFrame:
    """Return ``nodes, replication, machine, cores, …``; nulls where it can't be told.

    ``state`` is ``holds`` or ``fails`` as solved, ``saturated``, or ``can't tell``. ``simulated``
    is what a simulation said, and columns that begin so are its values, with 95 % intervals.
    ``certainty`` and columns that begin with ``predicted`` are of predictions, with 90 % intervals.
    """
    load = plan.load
    percentile = f"p{load.percent:g}"
    simulated = {row.cluster: found for row, found in plan.simulated}
    rows: list[dict[str, object]] = []
    for row in plan.rows:
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
        prediction = plan.predictions.get(cluster)
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
