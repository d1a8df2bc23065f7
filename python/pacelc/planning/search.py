"""The smallest cluster that holds a load: the solver narrows, the simulator decides.

All candidates are solved. Those whose percentiles, as solved, are beyond the limit by more than the
solver may be wrong are out. Of the others, smallest first, each is simulated until one holds: the
whole 95 % interval of its simulated percentiles is within the limit. So everything smaller that was
likely has been simulated, too. The next larger ones of its kind are simulated for comparison.

Start here: :func:`plan`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pacelc.errors import InputError
from pacelc.planning.cases import demands_of, whole
from pacelc.planning.confirm import confirm
from pacelc.planning.executor import in_order
from pacelc.planning.losses import losses
from pacelc.planning.reasons import (
    assumed,
    certainty,
    elasticities,
    highest_rate,
    idle,
    outside,
    refuse_incomplete,
)
from pacelc.planning.solver import solve_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.executor import Executor
    from pacelc.planning.load import Load
    from pacelc.planning.losses import Loss
    from pacelc.planning.reasons import Elasticity

__all__ = ["MOST_SIMULATED", "Answer", "Plan", "Row", "plan", "solve_clusters", "solver_error"]

_ERROR: Final = 0.25
"""How much too slow the solver may make a percentile where processors are shared; against
simulations it was up to 23 %."""
_ERROR_IN_TURN: Final = 0.4
"""The same where they are taken in turn; it was up to 29 %."""
_ERROR_VARIABLE: Final = 1.0
"""The same where times are more variable than exponential ones; it was up to 70 %."""
MOST_SIMULATED: Final = 40
"""Clusters; if none of so many holds, it can't be told."""
_PART: Final = 1024
"""Candidates that are solved together, wherever it is done: so that not even rounding differs."""


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
    certainty: float | None
    """Share of draws of the demands with which it holds; None where they have no intervals, or the
    solver can't tell."""
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


class Plan(NamedTuple):
    """What was found."""

    load: Load
    calibration: Calibration
    rows: tuple[Row, ...]
    """All candidates, smallest first."""
    simulated: tuple[tuple[Row, Confirmed], ...]
    """Those that were, in this order."""
    answer: Answer | None
    """None: none holds, or it can't be told."""
    verdict: Literal["holds", "none holds", "can't tell"]
    at_least: float
    """The certainty that was asked for."""
    certainties: dict[Candidate, float]
    """Of the simulated clusters that hold, where it was asked for."""
    likely: int
    """Clusters that the solver didn't rule out; :data:`MOST_SIMULATED` of them are simulated."""
    idle_s: float
    """The slower percentile of the fastest candidate without any load, as solved."""

    def frame(self) -> pl.DataFrame:
        """Return one row a candidate."""
        from pacelc.planning.frame import sweep_frame  # noqa: PLC0415 - they need each other

        return sweep_frame(self)


def plan(
    load: Load,
    clusters: Sequence[Candidate],
    calibration: Calibration,
    *,
    at_least: float = 0.0,
    seed: int = 1,
    turns: Executor = in_order,
) -> Plan:
    """Find the first of some clusters that holds a load.

    Parameters
    ----------
    load
        What it must hold.
    clusters
        In the order in which they are preferred.
    calibration
        The demands.
    at_least
        The share of draws of the demands with which it has to hold.
    seed
        Of simulations and draws.
    turns
        Who solves candidates and simulates clusters; the plan is the same.

    Raises
    ------
    InputError
        A region isn't known, or has no copy; a demand is missing, or its interval where a certainty
        is asked for.
    """
    if at_least > 0 and not calibration.uncertain:
        raise InputError(
            f"a certainty of {at_least:.3g} can't be told: the demands have no intervals",
            "`pacelc model fit` gives them some; or ask for no certainty",
        )
    refuse_incomplete(load, calibration)
    clusters = _whole_sets(clusters, calibration)
    rows = solve_clusters(load, clusters, calibration, turns)
    likely = [row for row in rows if _may_hold(row, load, calibration)]
    simulated: list[tuple[Row, Confirmed]] = []
    chosen: tuple[Row, Confirmed] | None = None
    sure: float | None = None
    certainties: dict[Candidate, float] = {}
    uncertain = False
    some = likely[:MOST_SIMULATED]
    simulate = partial(confirm, seed=seed)
    found = turns(simulate, [(load, row.cluster, calibration) for row in some])
    for row, one in zip(some, found, strict=False):
        simulated.append((row, one))
        if one.rare:
            # What is too rare here is so in a larger cluster, too.
            break
        if one.verdict != "holds":
            continue
        # Draws are solved: of what only holds since late copies end, the solver knows nothing.
        sure = None
        if math.isfinite(row.slowest_s):
            sure = certainty(load, row.cluster, calibration, _scale(row, one), seed=seed)
        if sure is not None and at_least > 0:
            certainties[row.cluster] = sure
        if at_least == 0 or (sure is not None and sure >= at_least):
            chosen = (row, one)
            break
        uncertain = uncertain or sure is None
    answer: Answer | None = None
    if chosen is not None:
        following = _next_of_its_kind(rows, chosen[0])
        if following is not None:
            more = turns(simulate, [(load, following.cluster, calibration)])
            simulated += [(following, one) for one in more]
        answer = _answer(load, calibration, *chosen, sure, seed=seed, turns=turns)
    # Where the solver can't tell, it is too busy to hold for any percentile that matters.
    unsure = (
        uncertain
        or len(likely) > MOST_SIMULATED
        or any(one.verdict == "can't tell" or one.rare for _, one in simulated)
    )
    return Plan(
        load=load,
        calibration=calibration,
        rows=tuple(rows),
        simulated=tuple(simulated),
        answer=answer,
        verdict="holds" if answer is not None else "can't tell" if unsure else "none holds",
        at_least=at_least,
        certainties=certainties,
        likely=len(likely),
        idle_s=idle(load, clusters, calibration),
    )


def _whole_sets(clusters: Sequence[Candidate], calibration: Calibration) -> Sequence[Candidate]:
    """Return the clusters all of whose nodes are in sets, where one of each set leads."""
    if calibration.coordinator != "leader":
        return clusters
    found = [one for one in clusters if one.nodes % one.replication == 0]
    if not found:
        raise InputError(
            f"{calibration.database} has sets of as many nodes as there are copies: no candidate "
            "has whole ones",
            "ask for multiples of the replication",
        )
    return found


def solve_clusters(
    load: Load, clusters: Sequence[Candidate], calibration: Calibration, turns: Executor = in_order
) -> list[Row]:
    """Solve all clusters, in their order."""
    parts = [clusters[i : i + _PART] for i in range(0, len(clusters), _PART)]
    solved = turns(_solve_part, [(load, part, calibration) for part in parts])
    return [row for part in solved for row in part]


def _solve_part(load: Load, clusters: Sequence[Candidate], calibration: Calibration) -> list[Row]:
    demands = demands_of(calibration, load)
    rows: dict[int, Row] = {}
    for replication in sorted({one.replication for one in clusters}):
        places = [i for i, one in enumerate(clusters) if one.replication == replication]
        some = [clusters[i] for i in places]
        solved = solve_many(whole(load, some, demands), load.percent)
        busiest = solved.busiest
        for at, (place, cluster) in enumerate(zip(places, some, strict=True)):
            rows[place] = Row(
                cluster,
                float(busiest[at]),
                float(solved.capacity_per_s[at]),
                {kind: float(values[at]) for kind, values in solved.percentile_s.items()},
                {kind: float(values[at]) for kind, values in solved.mean_s.items()},
            )
    return [rows[i] for i in range(len(clusters))]


def _may_hold(row: Row, load: Load, calibration: Calibration) -> bool:
    # The solver serves late copies: where they end, it can't rule anything out.
    ended = calibration.late != "serve"
    return ended or row.slowest_s <= load.limit_s * (1 + solver_error(calibration))


def solver_error(calibration: Calibration) -> float:
    """Return how much too slow the solver may make a percentile, as a share of it."""
    if calibration.scv > 1:
        return _ERROR_VARIABLE
    return _ERROR if calibration.discipline == "ps" else _ERROR_IN_TURN


def _scale(row: Row, found: Confirmed) -> dict[str, float]:
    return {
        kind: one.value / row.percentile_s[kind]
        for kind, one in found.percentile_s.items()
        if one.value is not None and 0 < row.percentile_s[kind] < math.inf
    }


def _next_of_its_kind(rows: Sequence[Row], chosen: Row) -> Row | None:
    """Return the cluster with the next larger number of the same nodes and as many copies."""
    mine = chosen.cluster
    larger = [
        row
        for row in rows
        if row.cluster.machine == mine.machine
        and row.cluster.replication == mine.replication
        and row.cluster.nodes > mine.nodes
    ]
    return min(larger, key=lambda row: row.cluster.nodes, default=None)


def _answer(
    load: Load,
    calibration: Calibration,
    row: Row,
    found: Confirmed,
    sure: float | None,
    *,
    seed: int,
    turns: Executor,
) -> Answer:
    scale = _scale(row, found)
    case = whole(load, [row.cluster], demands_of(calibration, load))
    solved = solve_many(case, load.percent)
    station = "processors" if solved.cpu.max() >= solved.disk.max() else "disks"
    busiest = solved.cpu if station == "processors" else solved.disk
    at = int(busiest[0].argmax())
    region = case.copies[at].region
    whose = "leaders' " if case.led and at == 0 < case.replication - 1 else ""
    shares = {"read": load.read_share, "write": 1 - load.read_share}
    concurrency = load.rate_per_s * sum(
        shares[kind] * (one.value if one.value is not None else row.mean_s[kind])
        for kind, one in found.mean_s.items()
    )
    cluster = row.cluster
    matter = elasticities(load, cluster, calibration)
    return Answer(
        row=row,
        simulated=found,
        certainty=sure,
        saturates_first=f"the {whose}{station}{f' in {region}' if region else ''}",
        highest_rate_per_s=highest_rate(load, cluster, calibration, scale) if scale else None,
        concurrency=concurrency,
        losses=losses(load, cluster, calibration, scale, seed=seed, executor=turns),
        elasticities=matter,
        assumed=assumed(calibration, load, matter),
        outside=tuple(
            outside(
                load,
                cluster,
                calibration,
                utilisation=row.utilisation,
                concurrency=concurrency,
            )
        ),
    )
