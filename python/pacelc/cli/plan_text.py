"""What ``pacelc plan`` prints for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pacelc.cli.table import aligned

if TYPE_CHECKING:
    from pacelc.models.planning import Plan
    from pacelc.models.planning.confirm import Measure
    from pacelc.models.planning.search import Answer, Row

__all__ = ["plan_text"]

_RIGHT = ("utilisation", "capacity/s", "records", "percentile ms", "per hour")
_MOST_DEMANDS = 5
_LEAST_ELASTICITY = 0.005


def plan_text(plan: Plan, currency: str) -> str:
    """Return the answer with its reasons."""
    load = plan.load
    level = load.read if load.read == load.write else f"{load.read}/{load.write}"
    mix = f"{load.read_share * 100:g}/{(1 - load.read_share) * 100:g}"
    where = f" in {', '.join(load.regions)}" if load.regions else ""
    asked = (
        f"{load.rate_per_s:,.6g}/s, {mix}, level {level}, "
        f"p{load.percent:g} within {_ms(load.limit_s)} ms{where}"
    )
    parts = [f"asked      {asked}", f"demands    {plan.calibration.name}", *_errors(plan)]
    if plan.answer is not None:
        parts += [*_answer(plan, plan.answer, currency), "", _simulated(plan)]
        parts += ["", _losses(plan.answer), "", _elasticities(plan.answer)]
        if plan.answer.outside:
            parts += ["", "The calibration wasn't checked there:"]
            parts += [f"- {text}" for text in plan.answer.outside]
    else:
        said = {
            "none holds": f"none of {len(plan.rows):,} clusters holds it",
            "can't tell": "can't tell: simulations of the likely clusters leave it open",
        }
        parts += [f"answer     {said[plan.verdict]}", *_nearest(plan)]
        if plan.simulated:
            parts += ["", _simulated(plan)]
    return "\n".join(parts)


def _answer(plan: Plan, answer: Answer, currency: str) -> list[str]:
    load, cluster = plan.load, answer.row.cluster
    price = cluster.price_per_hour
    cost = "" if price is None else f", {price:,.4g} {currency}".rstrip() + " an hour"
    times = "; ".join(
        f"{kind}s {_interval(one)} ms" for kind, one in answer.simulated.percentile_s.items()
    )
    part = answer.simulated.simulated_nodes
    whole = "" if part == cluster.nodes else f" ({part} of the nodes, with their part of the load)"
    sure = (
        "can't tell: the demands have no intervals"
        if answer.certainty is None
        else f"it holds with {answer.certainty:.0%} of what the demands may be"
    )
    limits = (
        f"{answer.saturates_first} saturate first, now {answer.row.utilisation:.0%} busy, "
        f"at {answer.row.capacity_per_s:,.0f}/s"
    )
    if answer.highest_rate_per_s is not None:
        limits += f"; holds up to {answer.highest_rate_per_s:,.0f}/s"
    return [
        f"answer     {cluster.label}{cost}",
        f"simulated  p{load.percent:g} of {times}{whole}",
        f"certainty  {sure}",
        f"limits     {limits}",
        f"busy       {answer.concurrency:,.4g} operations under way at a time",
    ]


def _errors(plan: Plan) -> list[str]:
    """Say how far off predictions with these demands were."""
    off: dict[str, list[float]] = {}
    for one in plan.calibration.errors:
        measures = {"throughput": one.throughput, "mean response": one.response, **one.percentiles}
        for name, error in measures.items():
            if error is not None:
                off.setdefault(name, []).append(abs(error))
    most = ", ".join(f"{name} {max(errors):.0%}" for name, errors in off.items())
    count = len(plan.calibration.errors)
    return [f"errors     of {count} predictions, at most: {most}"] if most else []


def _nearest(plan: Plan) -> list[str]:
    """Say how near the best one comes."""

    def slowest(row: Row) -> float:
        values = list(row.percentile_s.values())
        return math.inf if any(math.isnan(value) for value in values) else max(values)

    best = min(plan.rows, key=slowest)
    if math.isfinite(slowest(best)):
        time = f"p{plan.load.percent:g} {_ms(slowest(best))} ms as solved"
        return [f"nearest    {best.cluster.label}: {time}"]
    most = max(plan.rows, key=lambda row: row.capacity_per_s)
    return [f"nearest    {most.cluster.label}: saturated from {most.capacity_per_s:,.0f}/s on"]


def _simulated(plan: Plan) -> str:
    kinds = plan.load.kinds
    p = f"p{plan.load.percent:g}"
    header = ["cluster", "utilisation", *(f"{kind} {p} ms, simulated" for kind in kinds), "verdict"]
    header[2:2] = [f"{kind} {p} ms, solved" for kind in kinds]
    rows = [
        [
            row.cluster.label,
            f"{row.utilisation:.3f}",
            *(_ms(row.percentile_s[kind]) for kind in kinds),
            *(_interval(found.percentile_s[kind]) for kind in kinds),
            found.verdict,
        ]
        for row, found in plan.simulated
    ]
    return aligned(header, rows, right=header[1:-1])


def _losses(answer: Answer) -> str:
    rows: list[list[str]] = []
    for loss in answer.losses:
        if loss.refused:
            then = f"no: {' and '.join(f'{kind}s' for kind in loss.refused)} can't be served"
        elif loss.percentile_s is None:
            then = "no: can't keep up" if loss.utilisation >= 1 else "can't tell"
        else:
            then = "yes" if loss.holds else "no: too slow"
        rows.append(
            [
                loss.lost,
                f"{loss.records:.1%}",
                f"{loss.utilisation:.3f}",
                "-" if loss.percentile_s is None else _ms(loss.percentile_s),
                then,
            ]
        )
    header = ["lost", "records", "utilisation", "percentile ms", "holds"]
    return aligned(header, rows, right=_RIGHT)


def _elasticities(answer: Answer) -> str:
    def per_cent(value: float | None) -> str:
        return "-" if value is None else f"{value:+.2f} %"

    rows = [
        [one.demand, per_cent(one.percentile), per_cent(one.capacity)]
        for one in answer.elasticities
        if abs(one.percentile or 0.0) >= _LEAST_ELASTICITY or one.capacity
    ][:_MOST_DEMANDS]
    header = ["1 % more of", "percentile", "capacity"]
    return aligned(header, rows, right=header[1:])


def _ms(seconds: float) -> str:
    return "-" if not math.isfinite(seconds) else f"{seconds * 1e3:.4g}"


def _interval(measure: Measure) -> str:
    if measure.value is None:
        return "can't tell"
    if measure.low is None or measure.high is None:
        return _ms(measure.value)
    return f"{_ms(measure.value)} [{_ms(measure.low)}; {_ms(measure.high)}]"
