"""How soon a write should be visible, predicted: probabilistically bounded staleness (PBS).

The model is WARS of Bailis, Venkataraman, Franklin, Hellerstein and Stoica (*Probabilistically
Bounded Staleness for Practical Partial Quorums*, PVLDB 5(8), 2012): a coordinator sends
a write to all copies of a record (W) and acknowledges it as soon as enough of them have answered
(A); another one sends a read to copies (R) and takes the first answers (S). Copy *i* answers with
the new version if the read reaches it no sooner than the write: t_ack + t + R[i] >= W[i]. So each
trial has one moment from which on a read sees the write, and the chance to see it t after its
acknowledgement is the share of trials whose moment has come: `visible_from`.

`predicted` asks this of a run of Cassandra on the emulated network. What goes into it is known
without looking at any version that was read:

- W, A, R and S have the links' delays, as the run's network had them;
- a copy's own time, in W and in R, is exponential. Its median is what the median latency of the
  run's writes, or reads, has beyond the network: the whole of it, the coordinator's part included;
  of clients in several places that of the quickest. It is the servers' own time only where the load
  is low; near saturation the prediction is too late;
- Cassandra asks as many copies as a read's level needs, the nearest to the coordinator, where the
  paper's Dynamo asks all and takes the first answers;
- clients count from when they have the acknowledgement to when they send the read. Both are on the
  way for a while, in which the write spreads.

Left out are read repair, speculative reads, hints, and the detour of a write over one copy of each
remote data centre.

Start here: `predicted`; `predicted_of_reads` to hold it against what was observed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl

from pacelc.clusters.network.links import Link, is_client
from pacelc.clusters.network.regions import region_of
from pacelc.databases import facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.store.format import OperationStats, RunRecord

__all__ = ["Part", "cannot_tell", "predicted", "predicted_of_reads", "visible_from"]

Floats: TypeAlias = "NDArray[np.float64]"
Part: TypeAlias = "tuple[Sequence[int], int]"
"""Copies, by number, and how many of them a level waits for. EACH_QUORUM has several parts."""

_WRITES: Final = ("update", "insert")
_FIXED: Final = {"ANY": 1, "ONE": 1, "TWO": 2, "THREE": 3, "LOCAL_ONE": 1}
# Where `observed.json` has its bins: four a decade, from a microsecond to 1,000 s.
_FROM_NS: Final = (0.0, *(10 ** (3 + step / 4) for step in range(37)))


def visible_from(  # noqa: PLR0917 - W, A, R, S
    w: Floats,
    a: Floats,
    r: Floats,
    s: Floats,
    written: Sequence[Part],
    read: Sequence[Part],
    *,
    asked_first: Floats | None = None,
) -> Floats:
    """Return how long after its acknowledgement a write is visible to reads, trial by trial.

    Parameters
    ----------
    w, a, r, s
        Durations of each message, in any unit: (trials, copies).
    written, read
        Which copies the two levels wait for.
    asked_first
        By which reads choose the copies that they ask, the least first: (trials, copies). None: all
        are asked, and the first answers are taken.

    Returns
    -------
    array
        (trials,). Reads that begin then, or later, see the write; negative where even those do that
        begin before its acknowledgement.
    """
    answered = w + a
    acknowledged = np.max(
        [np.sort(answered[:, copies], axis=1)[:, count - 1] for copies, count in written], axis=0
    )
    sees = w - acknowledged[:, np.newaxis] - r
    first = r + s if asked_first is None else asked_first
    moments: list[Floats] = []
    for copies, count in read:
        asked = np.argsort(first[:, copies], axis=1)[:, :count]
        moments.append(np.take_along_axis(sees[:, copies], asked, axis=1).min(axis=1))
    return np.min(moments, axis=0)


@dataclass(frozen=True, slots=True)
class _Way:
    """From a client over its coordinator to the copies, and how a level waits for them."""

    client: str
    coordinator: str
    parts: tuple[Part, ...]
    weight: float


class _CannotTellError(Exception):
    """Why a run's visibility can't be predicted."""


def predicted(
    record: RunRecord,
    from_ns: Sequence[float] = _FROM_NS,
    *,
    trials: int = 20_000,
    seed: int = 1,
) -> pl.DataFrame | str:
    """Return the chance that a read sees the newest acknowledged write, or something newer.

    Parameters
    ----------
    record
        A run's. Only its network, levels and median latencies are used.
    from_ns
        Times from a write's acknowledgement to a read's start, as clients see them.
    trials
        For each pair of a writer's and a reader's coordinator.

    Returns
    -------
    DataFrame or str
        ``from_ns, probability``; or why it can't be told. Writes and reads are of any two
        users, each as often as its group did such operations.
    """
    try:
        curves = _curves(record, trials, np.random.default_rng(seed))
    except _CannotTellError as reason:
        return str(reason)
    t_s = np.asarray(from_ns) / 1e9
    seen = sum((curve.weight * curve.chances(t_s) for curve in curves), np.zeros(t_s.shape))
    return pl.DataFrame({"from_ns": from_ns, "probability": np.minimum(seen, 1.0)})


def cannot_tell(record: RunRecord) -> str | None:
    """Return why nothing can be predicted of such a run, as far as its network says; else None."""
    try:
        _Network.of(record)
    except _CannotTellError as reason:
        return str(reason)
    return None


def predicted_of_reads(
    record: RunRecord,
    operations: pl.DataFrame,
    from_ns: Sequence[float] = _FROM_NS,
    *,
    trials: int = 20_000,
    seed: int = 1,
) -> pl.DataFrame | str:
    """Return the mean chance of the very reads of a run, by the time since the newest write.

    `predicted` takes it that who writes and who reads next are strangers. In a run they need not
    be: for some milliseconds one region's users may be the only ones that a busy machine serves.
    Here each read has its own time since the newest write of its record that was acknowledged
    before, and the places of that write's user and its own; what it returned isn't looked at.

    Parameters
    ----------
    operations
        The columns of ``operations.parquet``, in any order.
    from_ns
        Where bins begin.

    Returns
    -------
    DataFrame or str
        ``from_ns, reads, probability``, of bins that have reads; or why it can't be told.
    """
    try:
        curves = _curves(record, trials, np.random.default_rng(seed))
    except _CannotTellError as reason:
        return str(reason)
    ok = operations.filter(pl.col("outcome") == "ok")
    writes = ok.filter(pl.col("operation").is_in(["update", "insert", "read_modify_write"])).select(
        "record", acknowledged_ns="end_ns", writer="user"
    )
    begin_ns = (record.result.before_measure_s or 0.0) * 1e9
    within = pl.col("start_ns").is_between(begin_ns, begin_ns + record.result.measured_s * 1e9)
    reads = (
        ok.filter((pl.col("operation") == "read") & within)
        .sort("start_ns")
        .join_asof(
            writes.sort("acknowledged_ns"),
            left_on="start_ns",
            right_on="acknowledged_ns",
            by="record",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .drop_nulls("acknowledged_ns")
        .select("user", "writer", t_ns=(pl.col("start_ns") - pl.col("acknowledged_ns")))
    )
    t_ns = reads["t_ns"].cast(pl.Float64).to_numpy()
    last_users = [group.users[1] for group in record.result.groups]
    pair = np.searchsorted(last_users[:-1], reads.select("writer", "user").to_numpy())
    seen, weight = np.zeros(t_ns.shape), np.zeros(t_ns.shape)
    for curve in curves:
        of_pair = (pair == curve.places).all(axis=1)
        seen[of_pair] += curve.weight * curve.chances(t_ns[of_pair] / 1e9)
        weight[of_pair] += curve.weight
    bins = np.searchsorted(np.asarray(from_ns), t_ns, side="right") - 1
    told = pl.DataFrame({"bin": bins, "probability": seen / weight}).filter(pl.col("bin") >= 0)
    found = told.group_by("bin").agg(pl.len().alias("reads"), pl.col("probability").mean())
    named = pl.DataFrame({"bin": np.arange(len(from_ns)), "from_ns": from_ns})
    return named.join(found, on="bin", how="inner", maintain_order="left").drop("bin")


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """Of writes over one coordinator and reads over another: from when on each trial's is seen."""

    places: tuple[int, int]
    """Of the writes' and the reads' users, by number."""
    weight: float
    moments_s: Floats

    def chances(self, t_s: Floats) -> Floats:
        return np.searchsorted(self.moments_s, t_s, side="right") / self.moments_s.size


def _curves(record: RunRecord, trials: int, rng: np.random.Generator) -> list[_Curve]:
    network = _Network.of(record)
    kind = next((kind for kind in _WRITES if network.median_ns(record, kind, "") is not None), None)
    if kind is None or network.median_ns(record, "read", "") is None:
        raise _CannotTellError("the run has no reads, or no updates or inserts")
    writes, reads = (network.ways(record, k) for k in (kind, "read"))
    write_s = network.server_s(record, kind, writes)
    read_s = network.server_s(record, "read", reads)
    size = (trials, len(network.nodes))
    curves: list[_Curve] = []
    for write, read in product(writes, reads):
        there, back = (network.draw(write.coordinator, rng, trials, back) for back in (False, True))
        to, from_ = (network.draw(read.coordinator, rng, trials, back) for back in (False, True))
        moments = visible_from(
            there + rng.exponential(write_s, size),
            back,
            to + rng.exponential(read_s, size),
            from_,
            write.parts,
            read.parts,
            asked_first=network.distance_s(read.coordinator) + rng.random(size) * 1e-12,
        )
        moments -= network.delays(write.coordinator, write.client, rng, trials)
        moments -= network.delays(read.client, read.coordinator, rng, trials)
        places = (network.clients.index(write.client), network.clients.index(read.client))
        curves.append(_Curve(places, write.weight * read.weight, np.sort(moments)))
    return curves


@dataclass(frozen=True)
class _Network:
    """Hosts and links of a run on the emulated network, all of whose nodes have all records."""

    nodes: tuple[str, ...]
    clients: tuple[str, ...]
    places: Mapping[str, str]
    addresses: Mapping[str, str]
    links: Mapping[tuple[str, str], Link]

    @classmethod
    def of(cls, record: RunRecord) -> _Network:
        """Read a run's record."""
        settings = record.scenario.settings
        network: dict[str, Any] | None = (record.model_extra or {}).get("network")
        if facts_of(settings["database"]).replication != "leaderless":
            raise _CannotTellError("the model is of Cassandra, which writes to all copies alike")
        if not network or not network.get("links"):
            raise _CannotTellError("the run had no emulated network, whose delays are known")
        if record.faults:
            raise _CannotTellError("a fault changed the network during the run")
        hosts = network["hosts"]
        nodes = tuple(host["name"] for host in hosts if not is_client(host["name"]))
        if settings["replication"] < len(nodes):
            raise _CannotTellError("some nodes have no copy of a record")
        links = {
            (link["from"], link["to"]): Link(
                **{name: value for name, value in link.items() if name not in {"from", "to"}}
            )
            for link in network["links"]
        }
        if any(link.loss or link.reorder or link.bandwidth_bps for link in links.values()):
            raise _CannotTellError("the model has no links with loss, reordering or bandwidth")
        return cls(
            nodes,
            tuple(host["name"] for host in hosts if is_client(host["name"])),
            {host["name"]: host["place"] or "" for host in hosts},
            {host["address"]: host["name"] for host in hosts},
            links,
        )

    def delay_s(self, source: str, target: str) -> float:
        return 0.0 if source == target else self.links[source, target].delay_s or 0.0

    def distance_s(self, coordinator: str) -> Floats:
        """Return how far each node is as Cassandra sees it: the coordinator itself comes first."""
        return np.array(
            [
                -1.0 if node == coordinator else self.delay_s(coordinator, node)
                for node in self.nodes
            ]
        )

    def delays(self, source: str, target: str, rng: np.random.Generator, trials: int) -> Floats:
        """Draw delays of one link, as the network's process does."""
        if source == target:
            return np.zeros(trials)
        link = self.links[source, target]
        match link.distribution:
            case "normal":
                unit = rng.standard_normal(trials)
            case "exponential":
                unit = rng.exponential(size=trials)
            case "pareto":
                unit = 2 * rng.pareto(3, trials)
            case _:
                unit = rng.uniform(-1, 1, trials)
        return np.maximum((link.delay_s or 0.0) + (link.jitter_s or 0.0) * unit, 0.0)

    def draw(self, coordinator: str, rng: np.random.Generator, trials: int, back: bool) -> Floats:
        """Draw delays from a coordinator to each node, or back: (trials, nodes)."""
        ways = ((node, coordinator) if back else (coordinator, node) for node in self.nodes)
        return np.column_stack([self.delays(*way, rng, trials) for way in ways])

    def ways(self, record: RunRecord, kind: str) -> list[_Way]:
        """Return how operations of a kind reach the copies, weighted by how many did."""
        level, done = record.consistency[kind], self._done(record, kind)
        found: list[_Way] = []
        for client in self.clients:
            coordinators = self._coordinators(record, client)
            weight = done[client] / sum(done.values()) / len(coordinators)
            found += [_Way(client, node, self._parts(level, node), weight) for node in coordinators]
        return found

    def _done(self, record: RunRecord, kind: str) -> dict[str, int]:
        """Return how many operations of a kind each client's users did."""
        groups = record.result.groups
        found = [group.operations[kind].ok if kind in group.operations else 0 for group in groups]
        return (
            dict(zip(self.clients, found, strict=True))
            if groups
            else dict.fromkeys(self.clients, 1)
        )

    def _coordinators(self, record: RunRecord, client: str) -> list[str]:
        settings = record.scenario.settings
        by_distance = sorted(self.nodes, key=lambda node: self.delay_s(client, node))
        if len(self.clients) == 1:
            ends = [str(end).rpartition(":")[0] for end in record.target["endpoints"]]
            by_distance = [self.addresses[end] for end in ends]
        if settings.get("session") == "roaming":
            return by_distance
        region = region_of(self.places[by_distance[0]])
        options: dict[str, Any] = settings.get("client_options") or {}
        match options.get("coordinator", "fixed"):
            case "fixed":
                return by_distance[:1]
            case "last":
                return by_distance[-1:]
            case _:
                return [node for node in by_distance if region_of(self.places[node]) == region]

    def _parts(self, level: str, coordinator: str) -> tuple[Part, ...]:
        """Return which copies a level waits for."""
        everywhere = range(len(self.nodes))
        regions = [region_of(self.places[node]) for node in self.nodes]
        here = region_of(self.places[coordinator])
        local = [n for n in everywhere if regions[n] == here]
        match level:
            case "LOCAL_ONE":
                return ((local, 1),)
            case "LOCAL_QUORUM":
                return ((local, len(local) // 2 + 1),)
            case "EACH_QUORUM":
                each = ([n for n in everywhere if regions[n] == r] for r in dict.fromkeys(regions))
                return tuple((copies, len(copies) // 2 + 1) for copies in each)
            case "QUORUM":
                return ((everywhere, len(self.nodes) // 2 + 1),)
            case "ALL":
                return ((everywhere, len(self.nodes)),)
            case _ if level in _FIXED:
                return ((everywhere, _FIXED[level]),)
            case _:
                raise _CannotTellError(f"{level} uses Paxos, which the quorum model doesn't cover")

    def median_ns(self, record: RunRecord, kind: str, client: str) -> float | None:
        """Return the median time of a kind's operations; of one client where there are several."""
        found: OperationStats | None = record.result.operations.get(kind)
        for host, group in zip(self.clients, record.result.groups, strict=False):
            if host == client:
                found = group.operations.get(kind)
        if found is None:
            return None
        return (found.service_ns or found.latency_ns).p50

    def server_s(self, record: RunRecord, kind: str, ways: Sequence[_Way]) -> float:
        """Return the mean of a copy's own time: its median is what isn't the network's."""
        beyond: list[float] = []
        for client in self.clients:
            median_ns = self.median_ns(record, kind, client)
            mine = [self._network_s(way) for way in ways if way.client == client]
            if median_ns is not None:
                beyond.append(median_ns / 1e9 - float(np.median(mine)))
        return max(min(beyond, default=0.0), 0.0) / math.log(2)

    def _network_s(self, way: _Way) -> float:
        """Return an operation's time on the network, without jitter."""
        trips = [
            self.delay_s(way.coordinator, node) + self.delay_s(node, way.coordinator)
            for node in self.nodes
        ]
        last = max(sorted(trips[n] for n in copies)[count - 1] for copies, count in way.parts)
        to_client = self.delay_s(way.client, way.coordinator)
        return to_client + last + self.delay_s(way.coordinator, way.client)
