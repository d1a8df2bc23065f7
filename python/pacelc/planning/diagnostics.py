"""How sure an answer is, what drives it, what it assumes, and where it wasn't checked.

Map
---
predict         a cluster's percentiles with 90 % intervals, and its certainty
too_far         what is so far beyond the checked ranges that errors say nothing
measure_first   which measurement would make a prediction more certain
elasticities    per cent of percentile and capacity for a per cent of each demand
assumed         demands that matter, and that the calibration doesn't name
outside         in which respects the calibration wasn't checked there
highest_rate    up to which rate it holds
idle            what no size gets below
refuse_incomplete   refuses a calibration that lacks what matters most

A *prediction* is one draw of what isn't known for certain: the demands, together; and two factors
for a whole cluster, log-normal with Student's t in place of the normal, as few sizes were left out.
One is on all processor times, the other on percentiles
(:class:`~pacelc.calibration.document.PredictionError`). Each draw is solved, and multiplied by what
the cluster's simulation found over what the solver did.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from pacelc.calibration.document import DEMANDS, RANGES, is_a_time
from pacelc.errors import InputError
from pacelc.networks.times import format_time
from pacelc.planning.cases import demands_of, whole
from pacelc.planning.solver import solve_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.load import Load
    from pacelc.planning.solver import Case

    Array = NDArray[np.float64]

__all__ = [
    "DRAWS",
    "FARTHEST",
    "LEAST",
    "NOT_IN_THE_MODEL",
    "Elasticity",
    "Interval",
    "Prediction",
    "assumed",
    "elasticities",
    "highest_rate",
    "idle",
    "measure_first",
    "outside",
    "predict",
    "refuse_incomplete",
    "too_far",
]

DRAWS: Final = 1_000
"""Predictions of a cluster."""
FARTHEST: Final = 4
"""Times the largest checked nodes, rate or users: beyond, errors of sizes left out say nothing."""
NOT_IN_THE_MODEL: Final = (
    "memory, and data that outgrow it",
    "compaction and garbage collection",
    "records that are more popular than others",
    "elections, time-outs and retries",
    "a server's own limits, such as Redis's single thread",
    "losses and jitter of links",
)
_SHARED: Final = "nodes with their own processors: checked only with nodes that share a machine"
_STEP: Final = 0.02
LEAST: Final = 0.005
"""Per cent of a percentile; a demand of which 1 % more does less doesn't matter."""
_NEXT_TO_NOTHING: Final = 1e-6
_LARGE: Final = 1_000
_MOST: Final = 100.0
"""Of a factor's logarithm: far beyond what keeps up, and still a number."""
_FOREVER_S: Final = 3600.0
_TAIL: Final = 0.05
"""Of predictions on either side of a 90 % interval."""


class Elasticity(NamedTuple):
    """What one per cent more of a demand does, in per cent."""

    demand: str
    percentile: float | None
    """Of the slower kind of operation; None: can't tell."""
    capacity: float


class Interval(NamedTuple):
    """Predictions of a percentile, in seconds; infinite where the cluster can't keep up."""

    low: float
    """A 20th of predictions are below."""
    middle: float
    high: float
    """A 20th of predictions are above."""


class Prediction(NamedTuple):
    """What a cluster's percentiles may be."""

    certainty: float
    """Share of predictions in which it keeps up, and all percentiles are within the limit."""
    percentile_s: dict[str, Interval]
    """By kind of operation, with 90 % prediction intervals."""


def predict(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    scale: Mapping[str, float],
    *,
    seed: int = 1,
) -> Prediction | None:
    """Predict a cluster's percentiles; None if the calibration doesn't know its errors.

    Parameters
    ----------
    load, cluster, calibration
        What is predicted, and from what.
    scale
        What the cluster's simulation found over what the solver did, by kind.
    seed
        Of the draws.
    """
    error = calibration.error
    if error is None:
        return None
    random = np.random.default_rng([seed, 1])
    on_processors, on_percentiles = (
        np.exp(np.clip(size * random.standard_t(error.sizes - 1, DRAWS), -_MOST, _MOST))
        for size in (math.hypot(error.between_clusters, error.throughput), error.p99)
    )
    demands = _with(load, calibration, calibration.draws(DRAWS, seed), DRAWS)
    for field in demands:
        if field.endswith("_cpu_s"):
            demands[field] = demands[field] * on_processors
    solved = solve_many(whole(load, [cluster] * DRAWS, demands), load.percent)
    times_s = {
        kind: _told(values * on_percentiles * scale.get(kind, 1.0))
        for kind, values in solved.percentile_s.items()
    }
    holds = np.all([values <= load.limit_s for values in times_s.values()], axis=0)
    ends = (_TAIL, 0.5, 1 - _TAIL)
    return Prediction(
        float(holds.mean()),
        {
            # An element each: there is nothing between a number and infinity.
            kind: Interval(*(float(s) for s in np.quantile(v, ends, method="inverted_cdf")))
            for kind, v in times_s.items()
        },
    )


def _told(times_s: Array) -> Array:
    """Return times; infinite where it can't be told (too busy), or nobody would wait so long."""
    found: Array = np.where(times_s < _FOREVER_S, times_s, np.inf)
    return found


def _with(
    load: Load, calibration: Calibration, changed: Mapping[str, Array], rows: int
) -> dict[str, Array]:
    """Return the demands as so many rows, some of them changed."""
    found = {name: np.repeat(v, rows) for name, v in demands_of(calibration, load).items()}
    nothing = {name: np.zeros(rows) for name in calibration.nothing_at(load.write)}
    return {**found, **changed, **nothing}


def too_far(
    load: Load, cluster: Candidate, calibration: Calibration, concurrency: float
) -> dict[str, str]:
    """Return sizes beyond :data:`FARTHEST` times the largest checked → what to measure."""
    checked = calibration.checked
    nodes, users = math.ceil(cluster.nodes / FARTHEST), math.ceil(concurrency / FARTHEST)
    on_machines = f"on machines that do {_number(load.rate_per_s / FARTHEST)} operations/s"
    sizes = (
        ("nodes", cluster.nodes, checked.nodes, f"--set nodes={nodes}"),
        ("users", concurrency, checked.users, f"--set users={users}"),
        ("rate", load.rate_per_s, checked.rate_per_s, on_machines),
    )
    return {
        f"{name} {_number(value)} (at most {_number(ends[1])})": what
        for name, value, ends, what in sizes
        if ends is not None and value > FARTHEST * ends[1] * (1 + 1e-9)
    }


def _number(value: float) -> str:
    """Return a number with four digits, or with all before its point."""
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.4g}"


def measure_first(calibration: Calibration, matter: Sequence[Elasticity]) -> str:
    """Name the measurement that would take most off a prediction's interval.

    ``matter`` says what each demand does to the percentile: so much of its error is the
    percentile's.
    """
    error = calibration.error
    if error is None:
        return f"{_run(calibration)}, and pacelc model fit"
    does = {one.demand: 1.0 if one.percentile is None else abs(one.percentile) for one in matter}
    processors = sum(value for name, value in does.items() if name.endswith("_cpu"))
    known = {name: one for name, one in calibration.demands.items() if one.has_interval}
    parts = {
        f"{_run(calibration)} --set repetitions=6": math.hypot(
            *(
                does.get(name, 0.0) * one.standard_error / one.value
                for name, one in known.items()
                if one.value > 0
            )
        ),
        f"{_run(calibration)} --out results/again, and fit both": (
            processors * error.between_clusters
        ),
        f"{_run(calibration)} --set nodes=1,2,3,4,5, for more sizes": (
            processors * error.throughput
        ),
        f"{_run(calibration)} --set measure=60s, for longer runs": error.p99,
    }
    return max(parts, key=lambda what: parts[what])


def elasticities(
    load: Load, cluster: Candidate, calibration: Calibration
) -> tuple[Elasticity, ...]:
    """Return those of all demands that aren't 0, the most important for the percentile first."""
    base = demands_of(calibration, load)
    names = [name for name, field in DEMANDS.items() if base[field][0] > 0]
    rows = 2 * len(names)
    changed = {DEMANDS[name]: np.repeat(base[DEMANDS[name]], rows) for name in names}
    for i, name in enumerate(names):
        changed[DEMANDS[name]][2 * i : 2 * i + 2] *= (1 - _STEP, 1 + _STEP)
    demands = _with(load, calibration, changed, rows)
    solved = solve_many(whole(load, [cluster] * rows, demands), load.percent)
    found: list[Elasticity] = []
    slowest, capacity = solved.slowest_s, solved.capacity_per_s
    for i, name in enumerate(names):
        slow = _elasticity(slowest[2 * i], slowest[2 * i + 1])
        found.append(
            Elasticity(name, slow, _elasticity(capacity[2 * i], capacity[2 * i + 1]) or 0.0)
        )
    return tuple(sorted(found, key=lambda one: -abs(one.percentile or 0.0)))


def _elasticity(less: float, more: float) -> float | None:
    if not (math.isfinite(less) and math.isfinite(more) and less > 0):
        return None
    # Rounded: a bin of the distributions is worth about as much.
    return round(math.log(more / less) / math.log((1 + _STEP) / (1 - _STEP)), 3) + 0.0


def refuse_incomplete(load: Load, clusters: Sequence[Candidate], calibration: Calibration) -> None:
    """Refuse a calibration that doesn't say what the operations take.

    Raises
    ------
    InputError
        It has no processor time of reads, or of writes; it says that its runs didn't tell what some
        candidate needs; or nothing takes any time.
    """
    needed = _needed(load, clusters, calibration)
    untold = [name for name in calibration.untold if name in needed]
    if untold:
        raise InputError(
            f"can't tell: the runs of calibration {calibration.name!r} don't say what "
            f"{', '.join(untold)} {'is' if len(untold) == 1 else 'are'}",
            f"another --level, or measure more: {_run(calibration)}, and fit it",
        )
    for kind in load.kinds:
        if f"{kind}_cpu" not in calibration.demands:
            raise InputError(
                f"calibration {calibration.name!r} has no {kind}_cpu, and there are {kind}s",
                f"name it under demands, as in {kind}_cpu: 1ms",
            )
    s = calibration.settings()
    takes = {
        "read": s.read_cpu_s + s.read_uncached * s.read_disk_s,
        "write": s.write_cpu_s + s.write_uncached * s.write_disk_s,
    }
    if max(takes[kind] for kind in load.kinds) == 0:
        raise InputError(
            f"calibration {calibration.name!r}: nothing takes any time of a processor or disk",
            f"demands that aren't 0, as in {load.kinds[0]}_cpu: 1ms",
        )


def _needed(load: Load, clusters: Sequence[Candidate], calibration: Calibration) -> set[str]:
    """Return the demands that operations on some of the clusters have."""
    needed = {"client_round_trip", *(f"{kind}_cpu" for kind in load.kinds)}
    largest = {one.replication: one.nodes for one in sorted(clusters, key=lambda c: c.nodes)}
    for replication, nodes in largest.items():
        s = calibration.settings(
            nodes=nodes, replication=replication, read=load.read, write=load.write
        )
        elsewhere = {"read": s.asked - s.own_share, "write": replication - s.own_share}
        for kind in load.kinds:
            if elsewhere[kind] > 0:
                needed |= {f"copy_{kind}_cpu", "node_round_trip"}
        if "write" in load.kinds and s.waited > 1:
            needed.add("acknowledged_cpu")
    if "write" in load.kinds and load.write in calibration.on_disk:
        needed |= {"log_cpu", "write_wait"}
    return needed


def _run(calibration: Calibration) -> str:
    """Return the command that measures a calibration's database."""
    return f"pacelc run calibration --only database={calibration.database} --set preset=small"


def assumed(load: Load, calibration: Calibration, found: Sequence[Elasticity]) -> tuple[str, ...]:
    """Return the model's defaults that matter, because the calibration doesn't name them."""
    values = demands_of(calibration, load)
    return tuple(
        f"{one.demand} {_written(one.demand, float(values[DEMANDS[one.demand]][0]))}"
        for one in found
        if one.demand not in calibration.demands
        and (one.capacity or abs(one.percentile or 0.0) >= LEAST)
    )


def highest_rate(
    load: Load, cluster: Candidate, calibration: Calibration, scale: Mapping[str, float]
) -> float | None:
    """Return the rate up to which the cluster holds, by the solver, scaled; None if none does."""
    demands = demands_of(calibration, load)
    capacity = solve_many(whole(load, [cluster], demands), load.percent).capacity_per_s[0]
    low, high = 0.0, min(float(capacity), 1e12)
    parts = 16
    for _ in range(3):
        rates = np.linspace(low, high, parts + 1)[1:]
        case = whole(load, [cluster] * parts, demands)
        solved = solve_many(_at(case, rates), load.percent)
        holds = np.ones(parts, dtype=bool)
        for kind, values in solved.percentile_s.items():
            holds &= values * scale.get(kind, 1.0) <= load.limit_s
        count = int(np.argmin(holds)) if not holds.all() else parts
        step = (high - low) / parts
        low, high = low + count * step, low + min(parts, count + 1) * step
        if count == parts:
            break
    return low if low > 0 else None


def _written(name: str, value: float) -> str:
    return format_time(value) if is_a_time(name) else f"{value:g}"


def idle(load: Load, clusters: Sequence[Candidate], calibration: Calibration) -> float:
    """Return the slower percentile of the fastest cluster without any load, as solved."""
    demands = demands_of(calibration, load)
    found: list[float] = []
    for copies in {one.replication for one in clusters}:
        # The fewer nodes there are, the fewer requests go to another.
        least = min(
            (one for one in clusters if one.replication == copies), key=lambda one: one.nodes
        )
        case = _at(whole(load, [least], demands), np.array([_NEXT_TO_NOTHING]))
        found.append(float(solve_many(case, load.percent).slowest_s[0]))
    return min(found)


def _at(case: Case, rates: Array) -> Case:
    return replace(case, rate_per_s=rates)


def outside(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    concurrency: float,
    utilisation: float,
) -> tuple[str, ...]:
    """Say in which respects the calibration wasn't checked at a cluster."""
    checked = calibration.checked
    here: dict[str, float] = {
        "users": concurrency,
        "nodes": cluster.nodes,
        "replication": cluster.replication,
        "cores": cluster.machine.cores,
        "read_share": load.read_share,
        "rate_per_s": load.rate_per_s,
        "utilisation": utilisation,
    }
    found: list[str] = []
    unknown: list[str] = []
    for name in RANGES:
        value, ends = here[name], cast("Sequence[float] | None", getattr(checked, name))
        words = name.replace("rate_per_s", "rate").replace("_", " ")
        if ends is None:
            if name != "cores" or not calibration.machine.shared:
                unknown.append(words)
        elif not ends[0] * (1 - 1e-9) <= value <= ends[1] * (1 + 1e-9):
            of = " to ".join(_number(end) for end in dict.fromkeys(ends))
            found.append(f"{words} {_number(value)}: checked for {of}")
    new = [one for one in dict.fromkeys((load.read, load.write)) if one not in checked.levels]
    if not checked.levels:
        unknown.append("levels")
    elif new:
        found.append(f"level {' and '.join(new)}: checked for {', '.join(checked.levels)}")
    if calibration.machine.shared:
        found.append(_SHARED)
    if load.regions and not set(load.regions) <= set(checked.regions):
        unknown.append("regions")
    if unknown:
        found.append(f"never checked, as far as the calibration says: {', '.join(unknown)}")
    return tuple(found)
