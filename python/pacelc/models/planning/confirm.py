"""What a simulation says of one cluster: its percentiles with intervals, and whether they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pacelc.models.quorum import copies_waited_for
from pacelc.models.regional import arrivals
from pacelc.models.simulate import simulate

if TYPE_CHECKING:
    from pacelc.models.calibration import Calibration
    from pacelc.models.planning.candidates import Candidate
    from pacelc.models.planning.load import Load
    from pacelc.models.quorum import Quorum
    from pacelc.models.simulate import Simulated

__all__ = ["MOST_NODES", "Confirmed", "Measure", "confirm"]

MOST_NODES: Final = 48
"""Of larger clusters a part is simulated, with its part of the load: nodes are alike."""
_REPLICATIONS: Final = 4
_BEYOND: Final = 100
"""Responses beyond the percentile that the simulator wants of each replication."""
_MORE: Final = 1.3
"""Times as many are simulated: some are cut off as warm-up."""
_MOST_EVENTS: Final = 40_000_000
_LEAST_EVENTS: Final = 1_000_000
_LONGER: Final = 4
"""Times as long it is simulated again where it couldn't be told."""


class Measure(NamedTuple):
    """A simulated value with its 95 % interval; None: can't tell."""

    value: float | None
    low: float | None
    high: float | None


class Confirmed(NamedTuple):
    """A simulated cluster."""

    verdict: Literal["holds", "fails", "can't tell"]
    """Whether both percentiles' whole intervals are within the limit, or one's is beyond it."""
    percentile_s: dict[str, Measure]
    mean_s: dict[str, Measure]
    simulated_nodes: int


def confirm(
    load: Load, cluster: Candidate, calibration: Calibration, *, seed: int = 1
) -> Confirmed:
    """Simulate a cluster under a load that it can keep up with.

    Raises
    ------
    InputError
        The load grows for ever.
    """
    nodes, rate = cluster.nodes, load.rate_per_s
    if nodes > MOST_NODES:
        unit = cluster.replication * max(1, len(load.regions))
        nodes = max(unit, MOST_NODES // unit * unit)
        rate = rate * nodes / cluster.nodes
    settings = calibration.settings(
        nodes=nodes,
        cores=cluster.machine.cores,
        replication=cluster.replication,
        read=load.read,
        write=load.write,
        read_share=load.read_share,
    )
    network = arrivals(settings, rate, load.regions)
    rarest = min(share for share in (load.read_share, 1 - load.read_share) if share > 0)
    wanted = _MORE * _BEYOND / (1 - load.percent / 100) / rarest * _REPLICATIONS
    events = wanted * _visits(settings, in_regions=bool(load.regions))
    events = min(_MOST_EVENTS, max(_LEAST_EVENTS, events))
    while True:
        found = simulate(
            network,
            seed=seed,
            replications=_REPLICATIONS,
            precision=1e-6,  # so that it ends when it has seen as many events
            max_events=int(events),
            percentiles=(load.percent,),
        )
        result = _read(found, load, nodes)
        if result.verdict != "can't tell" or events >= _MOST_EVENTS:
            return result
        events = min(_MOST_EVENTS, events * _LONGER)


def _read(found: Simulated, load: Load, nodes: int) -> Confirmed:
    percentile_s: dict[str, Measure] = {}
    mean_s: dict[str, Measure] = {}
    of = {one.class_name: one.percentiles[0] for one in found.percentiles}
    for kind in load.kinds:
        percentile_s[kind] = _measure(of[kind].response_s, of[kind].half_width_s)
        mean = found.class_estimates(kind)[1]
        mean_s[kind] = (
            Measure(None, None, None) if mean is None else Measure(mean.value, mean.low, mean.high)
        )
    verdict = _verdict(list(percentile_s.values()), load.limit_s)
    if found.stopped_by == "not_steady":
        verdict = "can't tell"
    return Confirmed(verdict, percentile_s, mean_s, nodes)


def _visits(s: Quorum, *, in_regions: bool) -> float:
    """Return how many stations an operation visits, copies included."""
    ways = 2 + in_regions  # there and back, perhaps to a region; a processor
    asked = copies_waited_for(s.read, s.replication)
    copies = (1 - s.read_repair) * asked + s.read_repair * s.replication
    reads = s.read_share * copies * (ways + s.read_uncached)
    return 2 + reads + (1 - s.read_share) * s.replication * (ways + s.write_uncached)


def _measure(value: float | None, half: float | None) -> Measure:
    if value is None or half is None:
        return Measure(value, None, None)
    return Measure(value, max(0.0, value - half), value + half)


def _verdict(measures: list[Measure], limit_s: float) -> Literal["holds", "fails", "can't tell"]:
    if any(one.low is not None and one.low > limit_s for one in measures):
        return "fails"
    if all(one.high is not None and one.high <= limit_s for one in measures):
        return "holds"
    return "can't tell"
