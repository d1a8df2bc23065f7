"""The smallest cluster that holds a load: the solver narrows, the simulator decides.

1. All candidates are solved. Those whose percentiles are beyond the limit by more than the solver
   may be wrong are out.
2. The others are simulated, smallest first, until one holds: the whole 95 % interval of its
   simulated percentiles is within the limit.
3. If a smaller share of its predictions holds than is asked for
   (:func:`~pacelc.planning.diagnostics.predict`), larger ones are simulated, and predicted, until
   one holds often enough. Those whose predictions don't as solved are passed over.
4. The next larger one of its kind is simulated for comparison.

If only the second step finds one, it can't be told. Nor can it far beyond what the calibration was
checked for. Then the plan says what to measure first (:class:`Doubt`).

Start here: :func:`plan`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from pacelc.errors import InputError
from pacelc.planning.answer import Answer, Doubt, Plan, Row
from pacelc.planning.cases import demands_of, whole
from pacelc.planning.confirm import confirm
from pacelc.planning.diagnostics import (
    assumed,
    elasticities,
    highest_rate,
    idle,
    measure_first,
    outside,
    predict,
    refuse_incomplete,
    too_far,
)
from pacelc.planning.executor import in_order
from pacelc.planning.losses import losses
from pacelc.planning.solver import solve_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.diagnostics import Prediction
    from pacelc.planning.executor import Executor
    from pacelc.planning.load import Load

__all__ = [
    "CERTAINTY",
    "MOST_SIMULATED",
    "plan",
    "solve_clusters",
    "solver_error",
]

CERTAINTY: Final = 0.9
"""That is asked for unless said, if the calibration knows its errors."""
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


def plan(
    load: Load,
    clusters: Sequence[Candidate],
    calibration: Calibration,
    *,
    at_least: float | None = None,
    seed: int = 1,
    executor: Executor = in_order,
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
        The share of predictions with which it has to hold; unless said, :data:`CERTAINTY` if the
        calibration knows its errors, else none.
    seed
        Of simulations and draws.
    executor
        Who solves candidates and simulates clusters; the plan is the same.

    Raises
    ------
    InputError
        A region isn't known, or has no copy; a demand is missing, or the calibration's errors where
        a certainty is asked for.
    """
    if at_least is None:
        at_least = 0.0 if calibration.error is None else CERTAINTY
    if at_least > 0 and calibration.error is None:
        raise InputError(
            f"a certainty of {at_least:.3g} needs prediction errors, which the calibration lacks",
            "`pacelc model fit` of several sizes adds them; or --certainty 0",
        )
    refuse_incomplete(load, clusters, calibration)
    clusters = _whole_sets(clusters, calibration)
    rows = solve_clusters(load, clusters, calibration, executor)
    likely = [row for row in rows if _may_hold(row, load, calibration)]
    trials = _Trials(load, calibration, seed, executor)
    chosen = trials.first(likely)
    answer: Answer | None = None
    doubt: Doubt | None = None
    if chosen is not None:
        chosen = trials.first_certain(likely[likely.index(chosen) :], at_least) or chosen
        doubt = _doubt(trials, chosen, at_least)
        if doubt is None:
            trials.first(_next_of_its_kind(rows, chosen))
            answer = _answer(trials, chosen)
    simulated = trials.simulated
    unsure = (
        doubt is not None
        or len(likely) > MOST_SIMULATED
        or any(one.verdict == "can't tell" or one.rare for _, one in simulated.values())
    )
    return Plan(
        load=load,
        calibration=calibration,
        rows=tuple(rows),
        simulated=tuple(simulated[row.cluster] for row in rows if row.cluster in simulated),
        answer=answer,
        doubt=doubt,
        verdict="holds" if answer is not None else "can't tell" if unsure else "none holds",
        at_least=at_least,
        predictions=trials.predictions,
        likely=len(likely),
        idle_s=idle(load, clusters, calibration),
    )


@dataclass(frozen=True)
class _Trials:
    """Clusters that are simulated, and predictions of those that hold."""

    load: Load
    calibration: Calibration
    seed: int
    executor: Executor
    simulated: dict[Candidate, tuple[Row, Confirmed]] = field(default_factory=dict)
    predictions: dict[Candidate, Prediction] = field(default_factory=dict)

    def first(self, rows: Sequence[Row]) -> Row | None:
        """Simulate one after the other, until one holds."""
        simulate = partial(confirm, seed=self.seed)
        rows = rows[:MOST_SIMULATED]
        arguments = [(self.load, row.cluster, self.calibration) for row in rows]
        for row, one in zip(rows, self.executor(simulate, arguments), strict=False):
            self.simulated[row.cluster] = (row, one)
            if one.rare:
                return None  # What is too rare here is so in a larger cluster, too.
            if one.verdict == "holds":
                prediction = self._predict(row, row.cluster)
                if prediction is not None:
                    self.predictions[row.cluster] = prediction
                return row
        return None

    def first_certain(self, rows: Sequence[Row], at_least: float) -> Row | None:
        """Return the first that holds with so much certainty; the first one given holds."""
        last = rows[0]
        for _ in range(MOST_SIMULATED):
            if self.certainty(last) >= at_least:
                return last
            rows = self._may_be_certain(last, rows[1:], at_least)
            if not rows:
                break
            last = self.first(rows[:1]) or last
        return None

    def _may_be_certain(self, like: Row, rows: Sequence[Row], at_least: float) -> list[Row]:
        """Return clusters that would be so certain if another one's simulation is like theirs.

        More nodes of a kind are more certain, so the fewest are found by bisection.
        """

        def certainty(row: Row) -> float:
            one = self._predict(like, row.cluster)
            return 0.0 if one is None else one.certainty

        kinds: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            kinds.setdefault((row.cluster.replication, row.cluster.machine), []).append(row)
        found = {
            row.cluster
            for some in kinds.values()
            for row in some[bisect_left(some, at_least, key=certainty) :]
        }
        return [row for row in rows if row.cluster in found]

    def certainty(self, row: Row) -> float:
        """Return the share of predictions that hold; 0 where it can't be told."""
        one = self.predictions.get(row.cluster)
        return 0.0 if one is None else one.certainty

    def scale(self, row: Row) -> dict[str, float]:
        """Return what a cluster's simulation found over what the solver did, by kind."""
        _, found = self.simulated[row.cluster]
        return {
            kind: one.value / row.percentile_s[kind]
            for kind, one in found.percentile_s.items()
            if one.value is not None and 0 < row.percentile_s[kind] < math.inf
        }

    def _predict(self, like: Row, cluster: Candidate) -> Prediction | None:
        """Predict a cluster, as far off its solution as another one's simulation was.

        Of what only holds since late copies end, the solver knows nothing.
        """
        if not math.isfinite(like.slowest_s):
            return None
        scale = self.scale(like)
        return predict(self.load, cluster, self.calibration, scale, seed=self.seed)


def _doubt(trials: _Trials, row: Row, at_least: float) -> Doubt | None:
    """Return why a cluster that holds is no answer, if it is none."""
    if at_least == 0:
        return None
    load, cluster, calibration = trials.load, row.cluster, trials.calibration
    concurrency = _concurrency(trials, row)
    sizes = too_far(load, cluster, calibration, concurrency)
    if not sizes and trials.certainty(row) >= at_least:
        return None
    return Doubt(
        cluster,
        trials.predictions.get(cluster),
        too_far=tuple(sizes),
        measure=" ".join(["pacelc run calibration", *sizes.values()])
        if sizes
        else measure_first(calibration, elasticities(load, cluster, calibration)),
        outside=outside(load, cluster, calibration, concurrency, row.utilisation),
    )


def _whole_sets(clusters: Sequence[Candidate], calibration: Calibration) -> Sequence[Candidate]:
    """Return the clusters all of whose nodes are in sets, where one of each set leads."""
    if calibration.coordinator != "leader":
        return clusters
    found = [one for one in clusters if one.nodes % one.replication == 0]
    if not found:
        raise InputError(
            f"{calibration.database}: the number of nodes must be a multiple of the replication, "
            "and no candidate's is",
            "--nodes with multiples of --replication",
        )
    return found


def solve_clusters(
    load: Load,
    clusters: Sequence[Candidate],
    calibration: Calibration,
    executor: Executor = in_order,
) -> list[Row]:
    """Solve all clusters, in their order."""
    parts = [clusters[i : i + _PART] for i in range(0, len(clusters), _PART)]
    solved = executor(_solve_part, [(load, part, calibration) for part in parts])
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


def _next_of_its_kind(rows: Sequence[Row], chosen: Row) -> list[Row]:
    """Return the cluster with the next larger number of the same nodes and as many copies."""
    mine = chosen.cluster
    larger = [
        row
        for row in rows
        if row.cluster.machine == mine.machine
        and row.cluster.replication == mine.replication
        and row.cluster.nodes > mine.nodes
    ]
    return sorted(larger, key=lambda row: row.cluster.nodes)[:1]


def _concurrency(trials: _Trials, row: Row) -> float:
    """Return operations under way at a time, on average: Little's law."""
    load = trials.load
    _, found = trials.simulated[row.cluster]
    shares = {"read": load.read_share, "write": 1 - load.read_share}
    return load.rate_per_s * sum(
        shares[kind] * (one.value if one.value is not None else row.mean_s[kind])
        for kind, one in found.mean_s.items()
    )


def _answer(trials: _Trials, row: Row) -> Answer:
    load, cluster, calibration = trials.load, row.cluster, trials.calibration
    scale = trials.scale(row)
    case = whole(load, [cluster], demands_of(calibration, load))
    solved = solve_many(case, load.percent)
    station = "processors" if solved.cpu.max() >= solved.disk.max() else "disks"
    busiest = solved.cpu if station == "processors" else solved.disk
    at = int(busiest[0].argmax())
    region = case.copies[at].region
    whose = "leaders' " if case.led and at == 0 < case.replication - 1 else ""
    concurrency = _concurrency(trials, row)
    less = losses(load, cluster, calibration, scale, seed=trials.seed, executor=trials.executor)
    matter = elasticities(load, cluster, calibration)
    return Answer(
        row=row,
        simulated=trials.simulated[cluster][1],
        prediction=trials.predictions.get(cluster),
        saturates_first=f"the {whose}{station}{f' in {region}' if region else ''}",
        highest_rate_per_s=highest_rate(load, cluster, calibration, scale) if scale else None,
        concurrency=concurrency,
        losses=less,
        elasticities=matter,
        assumed=assumed(load, calibration, matter),
        outside=outside(load, cluster, calibration, concurrency, row.utilisation),
    )
