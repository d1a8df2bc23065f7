"""What a lost node or region leaves of a cluster: solved, and simulated where that can tell.

It is solved for all losses at once. What can't be served, or can't keep up although late copies are
served to their end, needs no simulation; everything else is simulated, for so long that all losses
together take seconds.

Map
---
Loss        what is lost, and what that leaves
losses      of a cluster: a node (of each region), and each region
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pacelc.planning.cases import demands_of, whole, without_a_node, without_a_region
from pacelc.planning.confirm import confirm_without
from pacelc.planning.degraded import Lost
from pacelc.planning.executor import in_order
from pacelc.planning.solver import solve_many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.calibration.document import Calibration
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.confirm import Confirmed
    from pacelc.planning.executor import Executor
    from pacelc.planning.load import Load
    from pacelc.planning.solver import Case
    from pacelc.study.copies import Level

__all__ = ["MOST_EVENTS", "Loss", "losses"]

MOST_EVENTS: Final = 20_000_000
"""Of the simulation of a loss; of all of them together :data:`_TOGETHER` times as many."""
_TOGETHER: Final = 4


class Loss(NamedTuple):
    """A cluster that lost something, for the records that lost a copy by it."""

    lost: Lost
    records: float
    """Share of the records that lost a copy."""
    refused: tuple[str, ...]
    """Kinds of operations on these records whose level can't be served."""
    utilisation: float
    """Of the busiest station that is left, if late copies are served to their end; 1 and more: then
    it can't keep up."""
    percentile_s: dict[str, float | None]
    """As solved, corrected by the whole cluster's simulation, of the kinds that are served; None:
    a station can't keep up, or can barely."""
    simulated: Confirmed | None
    """None where there is nothing to: levels can't be served, or a station can't keep up."""
    limit_s: float

    def told_by(self, kind: str) -> Literal["simulation", "solver"] | None:
        """Tell which of both a kind's percentile is from; None: nobody can tell."""
        if self.simulated is not None and self.simulated.percentile_s[kind].value is not None:
            return "simulation"
        return "solver" if self.percentile_s.get(kind) is not None else None

    @property
    def keeps_up(self) -> bool:
        """Whether stations can do what comes, as far as is known before it is simulated."""
        return self.utilisation < 1 or self.simulated is not None

    @property
    def verdict(self) -> Literal["holds", "fails", "can't tell"]:
        """Whether everything is served within the limit.

        Simulated percentiles decide by their whole intervals, those that are only solved as such.
        What was simulated, and wasn't steady, decides nothing.
        """
        if self.refused or not self.keeps_up:
            return "fails"
        if self.simulated is not None and not self.simulated.steady:
            return "can't tell"
        unsure = False
        for kind, solved in self.percentile_s.items():
            one = None if self.simulated is None else self.simulated.percentile_s[kind]
            if one is not None and one.low is not None and one.high is not None:
                low, high = one.low, one.high
            elif solved is not None:
                low = high = solved
            else:
                unsure = True
                continue
            if low > self.limit_s:
                return "fails"
            unsure = unsure or high > self.limit_s
        return "can't tell" if unsure else "holds"


def losses(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    scale: Mapping[str, float],
    *,
    seed: int = 1,
    executor: Executor = in_order,
) -> tuple[Loss, ...]:
    """Return what is left without a node (of each region), and without each region.

    ``scale`` is what the whole cluster's simulation found over what the solver did, by kind. Lost
    copies aren't rebuilt, and writes that they would have taken aren't handed over.
    """
    solved = _solved(load, cluster, calibration, scale)
    # The solver serves late copies: where they end, it can't rule anything out.
    ended = calibration.late != "serve"
    likely = [one for one in solved if not one.refused and (ended or one.utilisation < 1)]
    if not likely:
        return tuple(solved)
    events = min(MOST_EVENTS, _TOGETHER * MOST_EVENTS // len(likely))
    simulated = executor(
        partial(confirm_without, most_events=events, seed=seed),
        [(load, cluster, calibration, one.lost, one.records) for one in likely],
    )
    found = dict(zip((one.lost for one in likely), simulated, strict=True))
    return tuple(one._replace(simulated=found.get(one.lost)) for one in solved)


def _solved(
    load: Load, cluster: Candidate, calibration: Calibration, scale: Mapping[str, float]
) -> list[Loss]:
    case = whole(load, [cluster], demands_of(calibration, load))
    found: list[Loss] = []
    for region in dict.fromkeys(copy.region for copy in case.copies):
        of = next(copy.of for copy in case.copies if copy.region == region)
        there = cluster.nodes
        if case.led:
            there = cluster.nodes // cluster.replication * of
        elif region:
            there = len(range(load.regions.index(region), cluster.nodes, len(load.regions)))
        # A region of one node is lost with it; a cluster of one leaves nothing.
        if there > 1:
            less = without_a_node(case, region)
            records = float(less.lost_share[0]) if less.lost else 1.0
            found.append(_left(Lost(region, node=True), records, less, load, scale))
        if region and len(load.regions) > 1:
            less = without_a_region(case, region)
            found.append(_left(Lost(region, node=False), 1.0, less, load, scale))
    return found


def _left(lost: Lost, records: float, case: Case, load: Load, scale: Mapping[str, float]) -> Loss:
    alive = len(case.copies) - len(case.lost)
    levels: dict[str, Level] = {"read": load.read, "write": load.write}
    refused = tuple(kind for kind in load.kinds if case.waited_for(levels[kind]) > alive)
    solved = solve_many(case, load.percent)
    times = {
        kind: float(values[0]) * scale.get(kind, 1.0)
        for kind, values in solved.percentile_s.items()
        if kind not in refused
    }
    known = {kind: value if math.isfinite(value) else None for kind, value in times.items()}
    return Loss(lost, records, refused, float(solved.busiest[0]), known, None, load.limit_s)
