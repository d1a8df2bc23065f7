"""How sure an answer is, what drives it, what it takes for granted, and where it wasn't checked.

Map
---
certainty       share of draws of the demands, from their intervals, with which a cluster holds
elasticities    per cent of percentile and capacity for a per cent of each demand
assumed         demands that matter, and that the calibration doesn't name
outside         in which respects the calibration wasn't checked there
highest_rate    up to which rate it holds
idle            what no size gets below
refuse_incomplete   refuses a calibration that lacks what matters most
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
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.load import Load
    from pacelc.planning.solver import Case

    Array = NDArray[np.float64]

__all__ = [
    "DRAWS",
    "LEAST",
    "Elasticity",
    "assumed",
    "certainty",
    "elasticities",
    "highest_rate",
    "idle",
    "outside",
    "refuse_incomplete",
]

DRAWS: Final = 1_000
"""Of the demands."""
_QUANTILE_975: Final = 1.959964
_STEP: Final = 0.02
LEAST: Final = 0.005
"""Per cent of a percentile; a demand of which 1 % more does less doesn't matter."""
_NEXT_TO_NOTHING: Final = 1e-6


class Elasticity(NamedTuple):
    """What one per cent more of a demand does, in per cent."""

    demand: str
    percentile: float | None
    """Of the slower kind of operation; None: can't tell."""
    capacity: float


def drawn(calibration: Calibration, load: Load, count: int, seed: int) -> dict[str, Array]:
    """Draw demands: log-normal (probabilities and those that may be 0: normal), either side apart.

    The interval's ends are 2.5 % quantiles of each side.
    """
    random = np.random.default_rng(seed)
    found = {
        name: np.repeat(values, count) for name, values in demands_of(calibration, load).items()
    }
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
    if not calibration.uncertain:
        return None
    case = whole(load, [cluster] * DRAWS, drawn(calibration, load, DRAWS, seed))
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
    base = demands_of(calibration, load)
    names = [n for n, f in DEMANDS.items() if base[f][0] > 0]
    rows = 2 * len(names)
    demands = {field: np.repeat(values, rows) for field, values in base.items()}
    for i, name in enumerate(names):
        for row, sign in ((2 * i, -1), (2 * i + 1, 1)):
            demands[DEMANDS[name]][row] *= 1 + sign * _STEP
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


def refuse_incomplete(load: Load, calibration: Calibration) -> None:
    """Refuse a calibration that doesn't say what the operations take.

    Raises
    ------
    InputError
        It has no processor time of reads, or of writes, or nothing takes any time.
    """
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


def assumed(calibration: Calibration, load: Load, found: Sequence[Elasticity]) -> tuple[str, ...]:
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
            if name != "cores" or not calibration.machine.shared:
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
    if calibration.machine.shared:
        yield "nodes with processors of their own: checked where all nodes shared a machine's"
    if load.regions and not set(load.regions) <= set(checked.regions):
        unknown.append("regions")
    if unknown:
        yield f"never checked, as far as the calibration says: {', '.join(unknown)}"
