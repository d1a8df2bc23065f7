"""What ``pacelc plan`` prints for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pacelc.cli.table import aligned
from pacelc.planning.reasons import DRAWS, LEAST
from pacelc.planning.search import MOST_SIMULATED, solver_error

if TYPE_CHECKING:
    from pacelc.planning import Plan
    from pacelc.planning.confirm import Measure
    from pacelc.planning.losses import Loss
    from pacelc.planning.search import Answer

__all__ = ["plan_text"]

_MOST_DEMANDS = 5
_LOST = "Of the records that lost a copy; simulated, unless it says solved:"
_ASSUMED = "The calibration doesn't name, so defaults of the model are taken for:"


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
    parts = [f"asked      {asked}", f"demands    {plan.calibration.name}", _errors(plan)]
    if plan.answer is not None:
        parts += [*_answer(plan, plan.answer, currency), "", _simulated(plan)]
        if plan.answer.losses:
            parts += ["", _LOST, _losses(plan, plan.answer)]
        parts += ["", _elasticities(plan, plan.answer)]
        if plan.answer.assumed:
            parts += ["", f"{_ASSUMED} {', '.join(plan.answer.assumed)}"]
        if plan.answer.outside:
            parts += ["", "The calibration wasn't checked there:"]
            parts += [f"- {text}" for text in plan.answer.outside]
    else:
        parts += [f"answer     {_nothing(plan)}", *_nearest(plan), *_hint(plan)]
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
        else f"it holds with {answer.certainty:.0%} of {DRAWS:,} draws of the demands from their "
        "intervals"
    )
    limits = (
        f"{answer.saturates_first} saturate first, now {answer.row.utilisation:.0%} busy, "
        f"at {answer.row.capacity_per_s:,.0f}/s"
    )
    if answer.highest_rate_per_s is not None:
        limits += f"; p{load.percent:g} holds up to {answer.highest_rate_per_s:,.0f}/s, as solved"
    return [
        f"answer     {cluster.label}{cost}",
        f"simulated  p{load.percent:g} of {times}{whole}, with 95 % intervals",
        f"certainty  {sure}",
        f"limits     {limits}",
        f"busy       {answer.concurrency:,.4g} operations under way at a time",
    ]


def _nothing(plan: Plan) -> str:
    """Say why there is no answer."""
    sure = f" with a certainty of {plan.at_least:.3g}" if plan.certainties else ""
    if plan.verdict == "none holds":
        return f"none of {len(plan.rows):,} clusters holds it{sure}"
    rare = plan.simulated[-1][1].rare if plan.simulated else ()
    if rare:
        kinds = " and ".join(f"{kind}s" for kind in rare)
        return f"can't tell: {kinds} are too rare for a p{plan.load.percent:g} of their own"
    if plan.likely > MOST_SIMULATED:
        return (
            f"can't tell: of {plan.likely:,} likely clusters the {MOST_SIMULATED} smallest were "
            f"simulated, and none holds it{sure}"
        )
    return f"can't tell: simulations of the likely clusters leave it open{sure}"


def _errors(plan: Plan) -> str:
    """Say how far off predictions with these demands were."""
    off: dict[str, list[float]] = {}
    for one in plan.calibration.errors:
        measures = {"throughput": one.throughput, "mean response": one.response, **one.percentiles}
        for name, error in measures.items():
            if error is not None:
                off.setdefault(name, []).append(abs(error))
    if not off:
        return "errors     unknown: no prediction with these demands was compared with runs"
    most = ", ".join(f"{name} {max(errors):.0%}" for name, errors in off.items())
    return f"errors     of {len(plan.calibration.errors)} predictions, at most: {most}"


def _nearest(plan: Plan) -> list[str]:
    """Say how near the best one comes."""
    best = min(plan.rows, key=lambda row: row.slowest_s)
    if math.isfinite(best.slowest_s):
        time = f"p{plan.load.percent:g} {_ms(best.slowest_s)} ms as solved"
        return [f"nearest    {best.cluster.label}: {time}"]
    most = max(plan.rows, key=lambda row: row.capacity_per_s)
    return [f"nearest    {most.cluster.label}: saturated from {most.capacity_per_s:,.0f}/s on"]


def _hint(plan: Plan) -> list[str]:
    """Say what would help."""
    load = plan.load
    if plan.simulated and plan.simulated[-1][1].rare:
        return ["hint       a lower percentile, or a mix that has more of them"]
    if plan.idle_s > load.limit_s * (1 + solver_error(plan.calibration)):
        weaker = "" if load.read == load.write == "one" else " or a weaker level"
        nearer = ", nearer regions" if load.regions else ""
        idle = f"p{load.percent:g} is {_ms(plan.idle_s)} ms without any load, as solved"
        return [f"hint       no size helps: {idle}; try a longer limit{nearer}{weaker}"]
    return ["hint       larger clusters to choose from: --nodes, --cores"]


def _simulated(plan: Plan) -> str:
    kinds = plan.load.kinds
    p = f"p{plan.load.percent:g}"
    solved = [f"{kind} {p} ms, solved" for kind in kinds]
    header = ["cluster", "utilisation", *solved, *(f"{kind} {p} ms, simulated" for kind in kinds)]
    header += ["verdict", *(["certainty"] if plan.certainties else [])]
    rows: list[list[str]] = []
    for row, found in plan.simulated:
        sure = plan.certainties.get(row.cluster)
        rows.append(
            [
                row.cluster.label,
                f"{row.utilisation:.3f}",
                *(_ms(row.percentile_s[kind]) for kind in kinds),
                *(_interval(found.percentile_s[kind]) for kind in kinds),
                found.verdict,
            ]
        )
        if plan.certainties:
            rows[-1].append("" if sure is None else f"{sure:.0%}")
    return aligned(header, rows, right=[name for name in header[1:] if name != "verdict"])


def _losses(plan: Plan, answer: Answer) -> str:
    kinds = plan.load.kinds
    times = [f"{kind} p{plan.load.percent:g} ms" for kind in kinds]
    header = ["lost", "records", "utilisation", *times, "holds"]
    rows = [
        [
            loss.lost.label,
            f"{loss.records:.1%}",
            f"{loss.utilisation:.3f}",
            *(_left(loss, kind) for kind in kinds),
            _holds(loss),
        ]
        for loss in answer.losses
    ]
    return aligned(header, rows, right=header[1:-1])


def _left(loss: Loss, kind: str) -> str:
    """Return a percentile after a loss, and say if it is only solved."""
    said = loss.told_by(kind)
    if said == "simulation" and loss.simulated is not None:
        return _interval(loss.simulated.percentile_s[kind])
    solved = loss.percentile_s.get(kind)
    return "-" if said is None or solved is None else f"{_ms(solved)} solved"


def _holds(loss: Loss) -> str:
    if loss.verdict == "holds":
        return "yes"
    if loss.refused:
        return f"no: {' and '.join(f'{kind}s' for kind in loss.refused)} can't be served"
    if loss.verdict == "fails":
        return "no: too slow" if loss.keeps_up else "no: can't keep up"
    return loss.verdict


def _elasticities(plan: Plan, answer: Answer) -> str:
    def per_cent(value: float | None) -> str:
        return "-" if value is None else f"{value:+.2f} %"

    rows = [
        [one.demand, per_cent(one.percentile), per_cent(one.capacity)]
        for one in answer.elasticities
        if abs(one.percentile or 0.0) >= LEAST or one.capacity
    ][:_MOST_DEMANDS]
    header = ["1 % more of", f"p{plan.load.percent:g} of the slower kind", "rate at saturation"]
    return aligned(header, rows, right=header[1:])


def _ms(seconds: float) -> str:
    return "-" if not math.isfinite(seconds) else f"{seconds * 1e3:.4g}"


def _interval(measure: Measure) -> str:
    if measure.value is None:
        return "can't tell"
    if measure.low is None or measure.high is None:
        return _ms(measure.value)
    return f"{_ms(measure.value)} [{_ms(measure.low)}; {_ms(measure.high)}]"
