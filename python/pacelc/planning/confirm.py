"""What a simulation says of one cluster: percentiles with intervals, and whether they hold.

Map
---
confirm             a cluster as it is
confirm_without     what a lost node or region leaves of it
Confirmed, Measure  what was simulated
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pacelc.errors import NoSteadyState
from pacelc.networks.regional import arrivals
from pacelc.networks.simulate import simulate
from pacelc.planning.cases import settings_of
from pacelc.planning.degraded import degraded

if TYPE_CHECKING:
    from pacelc.calibration.document import Calibration
    from pacelc.networks.network import Network
    from pacelc.networks.quorum import Quorum
    from pacelc.networks.simulate import Simulated
    from pacelc.planning.candidates import Candidate
    from pacelc.planning.degraded import Lost
    from pacelc.planning.load import Load

__all__ = ["MOST_NODES", "Confirmed", "Measure", "confirm", "confirm_without"]

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
    """Of the whole cluster, before any is lost."""
    rare: tuple[str, ...] = ()
    """Kinds of operations of which too few were simulated for a percentile."""
    steady: bool = True
    """If not, queues still grew, or times still changed: what was seen decides nothing."""


def confirm(
    load: Load, cluster: Candidate, calibration: Calibration, *, seed: int = 1
) -> Confirmed:
    """Simulate a cluster under a load that it can keep up with."""
    nodes = _part(load, cluster)
    settings = settings_of(load, cluster, calibration, nodes)
    network = arrivals(settings, load.rate_per_s * nodes / cluster.nodes, load.regions)
    return _told(network, load, nodes, _visits_wanted(load, settings, 1.0), _MOST_EVENTS, seed=seed)


def confirm_without(
    load: Load,
    cluster: Candidate,
    calibration: Calibration,
    lost: Lost,
    records: float,
    *,
    most_events: int,
    seed: int = 1,
) -> Confirmed:
    """Simulate what is left of a cluster, where all levels can be served and it can keep up.

    Percentiles are those of operations on the share ``records`` of the records that lost a copy. Of
    a large cluster in regions, or of sets, the part that is simulated loses a node of its own,
    which is harder on it than it is on the whole.
    """
    nodes = _part(load, cluster)
    settings = settings_of(load, cluster, calibration, nodes)
    # Where any node holds any copy, the nodes left are as many of all that are left.
    alike = not load.regions and not settings.led
    share = (nodes - 1) / (cluster.nodes - 1) if alike else nodes / cluster.nodes
    network = degraded(settings, load.rate_per_s * share, load.regions, lost, records)
    wanted = _visits_wanted(load, settings, records)
    return _told(network, load, nodes, wanted, most_events, seed=seed)


def _part(load: Load, cluster: Candidate) -> int:
    """Return how many of the nodes are simulated."""
    if cluster.nodes <= MOST_NODES:
        return cluster.nodes
    unit = cluster.replication * max(1, len(load.regions))
    return max(unit, MOST_NODES // unit * unit)


def _visits_wanted(load: Load, settings: Quorum, records: float) -> dict[str, float]:
    """Return how many visits it takes until enough operations on some records were slow."""
    shares = {"read": load.read_share, "write": 1 - load.read_share}
    operations = _MORE * _BEYOND / (1 - load.percent / 100) * _REPLICATIONS
    visits = operations * _visits(settings, in_regions=bool(load.regions) or settings.led)
    return {kind: visits / (shares[kind] * records) for kind in load.kinds}


def _told(
    network: Network, load: Load, nodes: int, wanted: dict[str, float], most: int, *, seed: int
) -> Confirmed:
    """Simulate until it can be told, or there were too many events.

    Nobody waits for kinds that are so rare that they alone would take too many.
    """
    likely = {kind for kind, visits in wanted.items() if visits <= most}
    events = int(max([_LEAST_EVENTS, *(wanted[kind] for kind in likely)]))
    while True:
        result = _simulated(network, load, nodes, events, seed)
        unsure = not result.steady or any(
            one.high is None or one.low is None or one.low <= load.limit_s < one.high
            for one in (result.percentile_s[kind] for kind in likely)
        )
        if result.verdict == "fails" or not unsure or events >= most:
            return result
        events = min(most, events * _LONGER)


def _simulated(network: Network, load: Load, nodes: int, events: int, seed: int) -> Confirmed:
    try:
        found = simulate(
            network,
            seed=seed,
            replications=_REPLICATIONS,
            precision=1e-6,  # so that it ends when it has seen as many events
            max_events=events,
            percentiles=(load.percent,),
        )
    except NoSteadyState:
        return Confirmed("can't tell", *_nothing(load), nodes, steady=False)
    return _read(found, load, nodes)


def _nothing(load: Load) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """Return percentiles and means that nobody knows."""
    unknown = dict.fromkeys(load.kinds, Measure(None, None, None))
    return unknown, unknown


def _read(found: Simulated, load: Load, nodes: int) -> Confirmed:
    percentile_s: dict[str, Measure] = {}
    mean_s: dict[str, Measure] = {}
    of = {one.class_name: one.percentiles[0] for one in found.percentiles}
    for kind in load.kinds:
        percentile_s[kind] = Measure(of[kind].response_s, *of[kind].ends_s)
        mean = found.class_estimates(kind)[1]
        mean_s[kind] = (
            Measure(None, None, None) if mean is None else Measure(mean.value, mean.low, mean.high)
        )
    steady = found.stopped_by != "not_steady"
    verdict = _verdict(list(percentile_s.values()), load.limit_s) if steady else "can't tell"
    rare = tuple(kind for kind, one in percentile_s.items() if one.value is None)
    return Confirmed(verdict, percentile_s, mean_s, nodes, rare, steady)


def _visits(s: Quorum, *, in_regions: bool) -> float:
    """Return at most how many stations an operation visits, copies included."""
    ways = 2 + in_regions  # there and back, perhaps to a region; a processor
    logs = s.write_wait_s > 0
    reads = s.read_share * s.asked * (ways + s.read_uncached)
    return 2 + reads + (1 - s.read_share) * s.replication * (ways + logs + s.write_uncached)


def _verdict(measures: list[Measure], limit_s: float) -> Literal["holds", "fails", "can't tell"]:
    if any(one.low is not None and one.low > limit_s for one in measures):
        return "fails"
    if all(one.high is not None and one.high <= limit_s for one in measures):
        return "holds"
    return "can't tell"
