"""A plan as a plain document, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pacelc.planning.answer import known
from pacelc.planning.diagnostics import NOT_IN_THE_MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.planning.answer import Plan, Row
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.diagnostics import Prediction
    from pacelc.planning.losses import Loss

__all__ = ["document"]


def document(plan: Plan) -> dict[str, Any]:
    """Return what was asked, found and simulated; the sweep itself is :meth:`Plan.frame`."""
    answer, doubt = plan.answer, plan.doubt
    found: dict[str, Any] = {
        "verdict": plan.verdict,
        "certainty_asked_for": plan.at_least,
        "asked": plan.load.model_dump(mode="json"),
        "calibration": plan.calibration.document(),
        "candidates": len(plan.rows),
        "likely": plan.likely,
        "idle_percentile_s": known(plan.idle_s),
        "simulated": [
            {
                **_row(row),
                "simulation": _simulation(simulated),
                "prediction": _prediction(plan.predictions.get(row.cluster)),
            }
            for row, simulated in plan.simulated
        ],
        "not_in_the_model": list(NOT_IN_THE_MODEL),
        "doubt": None,
        "answer": None,
    }
    if doubt is not None:
        found["doubt"] = {
            "cluster": _cluster(doubt.cluster),
            "prediction": _prediction(doubt.prediction),
            "too_far": list(doubt.too_far),
            "measure_first": doubt.measure,
            "outside_the_checked_range": list(doubt.outside),
        }
    if answer is not None:
        found["answer"] = {
            **_row(answer.row),
            "simulation": _simulation(answer.simulated),
            "prediction": _prediction(answer.prediction),
            "saturates_first": answer.saturates_first,
            "highest_rate_per_s": answer.highest_rate_per_s,
            "concurrency": answer.concurrency,
            "losses": [_loss(loss, plan.load.kinds) for loss in answer.losses],
            "elasticities": [one._asdict() for one in answer.elasticities],
            "assumed_demands": list(answer.assumed),
            "outside_the_checked_range": list(answer.outside),
        }
    return found


def _row(row: Row) -> dict[str, Any]:
    return {
        "cluster": _cluster(row.cluster),
        "utilisation": row.utilisation,
        "capacity_per_s": row.capacity_per_s,
        "solved_mean_s": {kind: known(value) for kind, value in row.mean_s.items()},
        "solved_percentile_s": {kind: known(value) for kind, value in row.percentile_s.items()},
    }


def _cluster(cluster: Candidate) -> dict[str, Any]:
    return {
        "nodes": cluster.nodes,
        "replication": cluster.replication,
        "machine": cluster.machine.model_dump(mode="json", exclude_none=True),
        "cores_in_all": cluster.cores,
        "price_per_hour": cluster.price_per_hour,
    }


def _loss(loss: Loss, kinds: Sequence[str]) -> dict[str, Any]:
    return {
        "lost": loss.lost.label,
        "region": loss.lost.region or None,
        "records": loss.records,
        "verdict": loss.verdict,
        "refused": list(loss.refused),
        "utilisation": loss.utilisation,
        "solved_percentile_s": loss.percentile_s,
        "simulation": None if loss.simulated is None else _simulation(loss.simulated),
        "told_by": {kind: loss.told_by(kind) for kind in kinds},
    }


def _prediction(found: Prediction | None) -> dict[str, Any] | None:
    """Return a prediction; null in place of what can't keep up."""
    if found is None:
        return None
    percentile_s = {
        kind: {end: known(value) for end, value in one._asdict().items()}
        for kind, one in found.percentile_s.items()
    }
    return {"certainty": found.certainty, "percentile_s": percentile_s}


def _simulation(found: Confirmed) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "nodes": found.simulated_nodes,
        "too_rare": list(found.rare),
        "mean_s": {kind: one._asdict() for kind, one in found.mean_s.items()},
        "percentile_s": {kind: one._asdict() for kind, one in found.percentile_s.items()},
    }
