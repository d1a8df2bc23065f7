"""How sure an answer is, what drives it, what losses do to it, and where it wasn't checked.

Map
---
certainty       share of draws of the demands, from their intervals, with which a cluster holds
elasticities    per cent of percentile and capacity for a per cent of each demand
losses          what is left without a node or a region
outside         in which respects the calibration wasn't checked there
highest_rate    up to which rate it holds
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from pacelc.models.calibration import DEMANDS, RANGES, is_a_time
from pacelc.models.planning.cases import demands_of, whole, without_a_node, without_a_region
from pacelc.models.planning.solver import solve_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.calibration import Calibration
    from pacelc.models.planning.candidates import Candidate
    from pacelc.models.planning.load import Load
    from pacelc.models.planning.solver import Case
    from pacelc.models.quorum import Level

    Array = NDArray[np.float64]

__all__ = ["Elasticity", "Loss", "certainty", "elasticities", "highest_rate", "losses", "outside"]

DRAWS: Final = 1_000
_QUANTILE_975: Final = 1.959964
_STEP: Final = 0.02


class Elasticity(NamedTuple):
    """What one per cent more of a demand does, in per cent."""

    demand: str
    percentile: float | None
    """Of the slower kind of operation; None: can't tell."""
    capacity: float


class Loss(NamedTuple):
    """A cluster that lost something, for the records that lost a copy by it."""

    lost: str
    """``a node``, or which."""
    records: float
    """Share of the records that lost a copy."""
    refused: tuple[str, ...]
    """Kinds of operations on these records whose level can't be served."""
    percentile_s: float | None
    """Of the slowest kind that is served; None: a station can't keep up, or nothing is served."""
    utilisation: float
    """Of the busiest station."""
    holds: bool
    """Whether everything is served within the limit."""


def drawn(calibration: Calibration, count: int, seed: int) -> dict[str, Array]:
    """Draw demands: log-normal (probabilities and those that may be 0: normal), either side apart.

    The interval's ends are 2.5 % quantiles of each side.
    """
    random = np.random.default_rng(seed)
    found = {name: np.repeat(values, count) for name, values in demands_of(calibration).items()}
    for name, demand in calibration.demands.items():
        if demand.low is None or demand.high is None or not demand.has_interval:
            continue
        z = random.standard_normal(count) / _QUANTILE_975
        if is_a_time(name) and demand.low > 0:
            down, up = math.log(demand.value / demand.low), math.log(demand.high / demand.value)
            values = demand.value * np.exp(np.where(z < 0, down, up) * z)
        else:
            down, up = demand.value - demand.low, demand.high - demand.value
            most = np.inf if is_a_time(name) else 1.0
            values = np.clip(demand.value + np.where(z < 0, down, up) * z, 0.0, most)
        found[DEMANDS[name]] = values
    if "digest_cpu" not in calibration.demands:
        found["digest_cpu_s"] = found["read_cpu_s"]
    return found


def certainty(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    scale: Mapping[str, float],
    *,
    seed: int = 1,
) -> float | None:
    """Return the share of draws with which the cluster holds; None without any interval.

    ``scale`` is what the cluster's simulation found over what the solver did, by kind: each draw is
    solved, and multiplied by it.
    """
    if not calibration.has_intervals:
        return None
    case = whole(load, [cluster] * DRAWS, drawn(calibration, DRAWS, seed))
    solved = solve_many(case, load.percent)
    holds = np.ones(DRAWS, dtype=bool)
    for kind, values in solved.percentile_s.items():
        # NaN, where it can't be told, doesn't hold.
        holds &= values * scale.get(kind, 1.0) <= load.limit_s
    return float(holds.mean())


def elasticities(
    load: Load, cluster: Candidate, calibration: Calibration
) -> tuple[Elasticity, ...]:
    """Return those of all demands that aren't 0, the most important for the percentile first."""
    base = demands_of(calibration)
    names = [n for n, f in DEMANDS.items() if base[f][0] > 0]
    if "digest_cpu" not in calibration.demands:
        names.remove("digest_cpu")
    rows = 2 * len(names)
    demands = {field: np.repeat(values, rows) for field, values in base.items()}
    for i, name in enumerate(names):
        for row, sign in ((2 * i, -1), (2 * i + 1, 1)):
            fields = [DEMANDS[name]]
            if name == "read_cpu" and "digest_cpu" not in calibration.demands:
                fields.append("digest_cpu_s")
            for field in fields:
                demands[field][row] *= 1 + sign * _STEP
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


def losses(
    load: Load, cluster: Candidate, calibration: Calibration, scale: Mapping[str, float]
) -> tuple[Loss, ...]:
    """Return what is left without a node (of each region), and without each region.

    By the solver, scaled as in :func:`certainty`. Copies aren't made anew, and nobody hands over
    what a lost copy missed.
    """
    case = whole(load, [cluster], demands_of(calibration))
    found: list[Loss] = []
    for region in dict.fromkeys(copy.region for copy in case.copies):
        here = f" in {region}" if region else ""
        if cluster.nodes > 1:
            less = without_a_node(case, region)
            share = less.lost_share[0] if less.lost else 1.0
            found.append(_left(f"a node{here}", float(share), less, load, scale))
        if region and len(load.regions) > 1:
            less = without_a_region(case, region)
            found.append(_left(region, 1.0, less, load, scale))
    return tuple(found)


def _left(lost: str, records: float, case: Case, load: Load, scale: Mapping[str, float]) -> Loss:
    alive = len(case.copies) - len(case.lost)
    levels: dict[str, Level] = {"read": load.read, "write": load.write}
    refused = tuple(kind for kind in load.kinds if case.waited_for(levels[kind]) > alive)
    solved = solve_many(case, load.percent)
    times = [
        float(values[0]) * scale.get(kind, 1.0)
        for kind, values in solved.percentile_s.items()
        if kind not in refused
    ]
    slowest = max(times, default=math.inf)
    known = slowest if math.isfinite(slowest) else None
    holds = not refused and known is not None and known <= load.limit_s
    return Loss(lost, records, refused, known, float(solved.busiest[0]), holds)


def highest_rate(
    load: Load, cluster: Candidate, calibration: Calibration, scale: Mapping[str, float]
) -> float | None:
    """Return the rate up to which the cluster holds, by the solver, scaled; None if none does."""
    demands = demands_of(calibration)
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


def _at(case: Case, rates: Array) -> Case:
    from dataclasses import replace  # noqa: PLC0415 - only here

    return replace(case, rate_per_s=rates)


def outside(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    *,
    utilisation: float,
    concurrency: float | None,
) -> Iterator[str]:
    """Say in which respects the calibration wasn't checked at the answer."""
    checked = calibration.checked
    here: dict[str, float | None] = {
        "users": concurrency,
        "nodes": cluster.nodes,
        "replication": cluster.replication,
        "cores": cluster.machine.cores,
        "read_share": load.read_share,
        "rate_per_s": load.rate_per_s,
        "utilisation": utilisation,
    }
    unknown: list[str] = []
    for name in RANGES:
        value, ends = here[name], cast("Sequence[float] | None", getattr(checked, name))
        words = name.replace("rate_per_s", "rate").replace("_", " ")
        if ends is None:
            unknown.append(words)
        elif value is not None and not ends[0] * (1 - 1e-9) <= value <= ends[1] * (1 + 1e-9):
            of = f"{ends[0]:g}" if ends[0] == ends[1] else f"{ends[0]:g} to {ends[1]:g}"
            yield f"{words} {value:.4g}: checked for {of}"
    levels = list(dict.fromkeys((load.read, load.write)))
    if not checked.levels:
        unknown.append("levels")
    yield from (
        f"level {level}: checked for {', '.join(checked.levels)}"
        for level in levels
        if checked.levels and level not in checked.levels
    )
    if load.regions and not set(load.regions) <= set(checked.regions):
        unknown.append("regions")
    if unknown:
        yield f"never checked, as far as the calibration says: {', '.join(unknown)}"
