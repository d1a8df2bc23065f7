"""What ``pacelc plan`` prints for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pacelc.calibration.document import BUILTIN
from pacelc.cli.table import aligned
from pacelc.names import counted
from pacelc.planning.diagnostics import DRAWS, FARTHEST, LEAST, NOT_IN_THE_MODEL
from pacelc.planning.search import MOST_SIMULATED, solver_error

if TYPE_CHECKING:
    from pacelc.planning import Plan
    from pacelc.planning.answer import Answer, Doubt
    from pacelc.planning.confirm import Measure
    from pacelc.planning.diagnostics import Interval, Prediction
    from pacelc.planning.losses import Loss

__all__ = ["plan_text"]

_MOST_DEMANDS = 5
_LOST = "Operations on records that lost a copy; simulated unless marked solved:"
_ASSUMED = "Missing in the calibration, so the model's defaults are used:"
_OF_2014 = (
    "demands are those of Cassandra on one node of 2014 (Gandini et al.), not yours; "
    "calibrate first: pacelc run calibration --set preset=small"
)
_NO_ERRORS = "the certainty of this answer is unknown: the calibration has no prediction errors"


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
    parts = [*_warnings(plan), f"asked      {asked}", f"demands    {plan.calibration.name}"]
    parts += _errors(plan)
    if plan.answer is not None:
        parts += [*_answer(plan, plan.answer, currency), "", _simulated(plan)]
        if plan.answer.losses:
            parts += ["", _LOST, _losses(plan, plan.answer)]
        parts += ["", _elasticities(plan, plan.answer)]
        if plan.answer.assumed:
            parts += ["", f"{_ASSUMED} {', '.join(plan.answer.assumed)}"]
        parts += ["", _limits(plan.answer.outside)]
    elif plan.doubt is not None:
        parts += [*_doubt(plan, plan.doubt), "", _simulated(plan), "", _limits(plan.doubt.outside)]
    else:
        parts += [f"answer     {_nothing(plan)}", *_nearest(plan), *_hint(plan)]
        if plan.simulated:
            parts += ["", _simulated(plan)]
    return "\n".join(parts)


def _warnings(plan: Plan) -> list[str]:
    """Say first what makes the answer worth little."""
    builtin = plan.calibration in [make() for make in BUILTIN.values()]
    texts = [_OF_2014] * builtin + [_NO_ERRORS] * (plan.calibration.error is None)
    return [f"warning    {text}" for text in texts]


def _errors(plan: Plan) -> list[str]:
    """Say how far off predictions with these demands were."""
    error, left_out = plan.calibration.error, plan.calibration.left_out
    if error is not None:
        return [
            f"errors     of {counted(error.sizes, 'size')} left out, root mean square: {_off(plan)}"
        ]
    off = [abs(one.throughput) for one in left_out if one.throughput is not None]
    return [f"errors     of throughput in runs left out, at most {max(off):.0%}"] if off else []


def _off(plan: Plan) -> str:
    error = plan.calibration.error
    if error is None:
        return "unknown"
    of = {"throughput": error.throughput, "mean": error.mean, "p99": error.p99}
    return ", ".join(f"{name} {math.expm1(size):.0%} off" for name, size in of.items())


def _answer(plan: Plan, answer: Answer, currency: str) -> list[str]:
    load, cluster = plan.load, answer.row.cluster
    price = cluster.price_per_hour
    cost = "" if price is None else f", {price:,.4g} {currency}".rstrip() + " an hour"
    limits = (
        f"{answer.saturates_first} saturate first, now {answer.row.utilisation:.0%} busy, "
        f"at {answer.row.capacity_per_s:,.0f}/s"
    )
    if answer.highest_rate_per_s is not None:
        limits += f"; p{load.percent:g} holds up to {answer.highest_rate_per_s:,.0f}/s, as solved"
    if answer.prediction is None:
        times = "; ".join(
            f"{kind}s {_ms(math.nan if one.value is None else one.value)} ms"
            for kind, one in answer.simulated.percentile_s.items()
        )
        predicted = f"predicted  p{load.percent:g} of {times}, without intervals"
    else:
        predicted = _predicted(plan, answer.prediction)
    part = answer.simulated.simulated_nodes
    if part != cluster.nodes:
        predicted += f"; {part} of the nodes are simulated, with their part of the load"
    return [
        f"answer     {cluster.label}{cost}",
        predicted,
        f"limits     {limits}",
        f"busy       {answer.concurrency:,.4g} operations under way at a time",
    ]


def _predicted(plan: Plan, prediction: Prediction) -> str:
    def interval(one: Interval) -> str:
        end = f"{_ms(one.high)}]" if math.isfinite(one.high) else "∞)"
        middle = _ms(one.middle) if math.isfinite(one.middle) else "∞"
        return f"{middle} [{_ms(one.low)}; {end} ms"

    times = "; ".join(f"{kind}s {interval(one)}" for kind, one in prediction.percentile_s.items())
    return (
        f"predicted  p{plan.load.percent:g} of {times}, with 90 % intervals; "
        f"holds with {prediction.certainty:.0%} of {DRAWS:,} predictions"
    )


def _doubt(plan: Plan, doubt: Doubt) -> list[str]:
    """Say why a cluster that holds in the middle is no answer, and what would tell."""
    label, one = doubt.cluster.label, doubt.prediction
    if doubt.too_far:
        why = (
            f"{label}, is over {FARTHEST} times beyond what was checked: {', '.join(doubt.too_far)}"
        )
    elif one is None:
        why = f"{label}, holds only because late copies end early, which the solver doesn't model"
    else:
        why = (
            f"only {one.certainty:.0%} of the predictions of {label}, hold, and no candidate "
            f"reaches {plan.at_least:.0%}; errors of left-out sizes: {_off(plan)}"
        )
    return [
        f"answer     can't tell: {why}: measure this first: {doubt.measure}",
        *([] if one is None else [_predicted(plan, one)]),
        "hint       --certainty 0 takes the smallest cluster that holds, however uncertain",
    ]


def _limits(unchecked: tuple[str, ...]) -> str:
    rows = ["; ".join(NOT_IN_THE_MODEL), *unchecked]
    return "\n".join(["Not in the model, or not checked:", *(f"- {row}" for row in rows)])


def _nothing(plan: Plan) -> str:
    """Say why there is no answer."""
    if plan.verdict == "none holds":
        return f"none of {counted(len(plan.rows), 'cluster')} holds it"
    rare = next((one.rare for _, one in plan.simulated if one.rare), ())
    if rare:
        kinds = " and ".join(f"{kind}s" for kind in rare)
        return f"can't tell: {kinds} are too rare for a p{plan.load.percent:g} of their own"
    if plan.likely > MOST_SIMULATED:
        return (
            f"can't tell: of {plan.likely:,} likely clusters the {MOST_SIMULATED} smallest were "
            "simulated, and none holds it"
        )
    return "can't tell: simulations of the likely clusters are inconclusive"


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
    if any(one.rare for _, one in plan.simulated):
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
    header += ["verdict", *(["certainty"] if plan.predictions else [])]
    rows: list[list[str]] = []
    for row, found in plan.simulated:
        one = plan.predictions.get(row.cluster)
        rows.append(
            [
                row.cluster.label,
                f"{row.utilisation:.3f}",
                *(_ms(row.percentile_s[kind]) for kind in kinds),
                *(_interval(found.percentile_s[kind]) for kind in kinds),
                found.verdict,
            ]
        )
        if plan.predictions:
            rows[-1].append("" if one is None else f"{one.certainty:.0%}")
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
