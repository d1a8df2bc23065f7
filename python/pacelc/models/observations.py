"""Runs as a calibration needs them: load, copies asked and written, processor time, latencies.

Only closed loops are used (no schedule), of reads, updates and inserts, whose processor time is
known, and little of it just-in-time compilers'. What a level means in copies is read from the level
in force that a run's record has.

Start here: :func:`observations`; :mod:`pacelc.models.kept` has them in one file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pacelc.models.quorum import acknowledgements, copies_waited_for, is_a_level, own_share
from pacelc.names import COMPILING, HEDGED, NOT_SERVERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.models.quorum import Acknowledged, Coordinator, Level
    from pacelc.store import Results, RunRecord

__all__ = ["Cluster", "Observation", "are_journaled", "numbered", "observations"]

MODELLED: Final = frozenset(
    {
        *("users", "mix", "workload", "read_share", "nodes", "replication", "cluster"),
        *("consistency", "level", "setting"),
    }
)
"""Factors whose levels one model predicts; each combination of the others has a model."""
_READS: Final = frozenset({"read"})
_WRITES: Final = frozenset({"update", "insert"})
_COPIES: Final[dict[str, int | Level]] = {
    **dict.fromkeys(("ANY", "ONE", "LOCAL_ONE"), 1),
    **dict.fromkeys(("primary", "primary only"), 1),
    **dict.fromkeys(("QUORUM", "LOCAL_QUORUM", "w: majority"), "quorum"),
    "TWO": 2,
    "THREE": 3,
    "ALL": "all",
    **dict.fromkeys(("STRONG", "TIMELINE"), 1),
}
_OWN_LEVELS: Final = frozenset({"hbase"})
"""Databases whose levels aren't about copies: each has a model of its own."""
_ONE_LEADS: Final = frozenset({"mongodb", "redis", "valkey"})
"""Databases of which clients talk to one node of those that have the same records."""
_TELLS_EVERYONE: Final = frozenset({"mongodb"})
"""Databases of which those that have the same records tell each other what they have written."""
_IN_BATCHES: Final = frozenset({"hbase"})
"""Databases whose copies are sent many writes at a time, later, and no write waits for them."""
_STAY, _STAY_IF_NONE_WAITS = 1 / 6, 1 / 2
"""Shares of the writes under way that are in a round of those who fetch, besides what comes in its
time; read off MongoDB's runs, of two copies and three."""
_AT_MOST: Final = 1 / 3
"""Of the others under way, the share that a write which waits finds in its round."""
_W: Final = re.compile(r"w: (\d+)")
_WAIT: Final = re.compile(r"WAIT (\d+)")
_JOURNALED: Final = re.compile(r"w: majority|j: true")
"""In a level's text. A majority's writes are in its journals, whatever ``j`` says: measured."""
_MONGODB_READ: Final = re.compile(r"(local|available|majority) from ")


class Cluster(NamedTuple):
    """What a run was made on, and how: as a model sees it."""

    nodes: int
    replication: int
    asked: int
    """Copies that a read goes to, and waits for."""
    waited: int
    """Copies that a write waits for."""
    users: int
    read_share: float
    coordinator: Coordinator
    cores: float
    """Of a node; of the machine where all share it, without what other processes used."""
    shared: bool
    entries: int = 1
    """Nodes among which operations arrive: one of each set of copies where one leads, else all."""
    acknowledged_to: Acknowledged = "coordinator"
    reading: float | None = None
    """Share of reads among the operations under way: of quick ones there are fewer than of slow
    ones. As their share of all, where it isn't known."""
    writing_per_s: float = 0.0
    """Writes a second, as far as is known."""
    others_cores: float = 0.0
    """Of the machine where all share it, what other processes used."""
    in_batches: bool = False
    """Whether copies are sent many writes at a time, so that none of them is a request there."""
    journaled: bool = False
    """Whether writes wait until they are in journals, too."""

    @property
    def built_cores(self) -> float:
        """Cores with what other processes used: as many as the machine has, where all share it."""
        return self.cores + self.others_cores

    @property
    def limit(self) -> float | None:
        """Cores of a node where they are limited."""
        return None if self.shared else self.cores

    @property
    def own_share(self) -> float:
        """Share of operations of which the node that they arrive at holds a copy."""
        return own_share(self.nodes, self.replication, self.coordinator)

    @property
    def own_first(self) -> bool:
        """Whether others are asked for a write when its coordinator has it: it leads the others."""
        return self.led or self.in_batches

    @property
    def acknowledgements(self) -> float:
        """How often copies of a write that waits for more than one tell another of it."""
        return acknowledgements(self.waited, self.replication, self.acknowledged_to)

    @property
    def led(self) -> bool:
        """Whether one node leads the others that hold the same records."""
        return self.coordinator == "leader"

    @property
    def fetched(self) -> bool:
        """Whether those who follow a leader fetch what it has written, and so tell each other."""
        return self.led and self.acknowledged_to == "everyone"

    @property
    def at_a_time(self) -> float:
        """Operations under way at a node that they arrive at."""
        return max(self.users / self.entries, 1.0)

    @property
    def reads_at_a_time(self) -> float:
        """Reads among them."""
        share = self.read_share if self.reading is None else self.reading
        return max(self.users * share / self.entries, 1.0)

    @property
    def writes_at_a_time(self) -> float:
        """Writes among them."""
        share = self.read_share if self.reading is None else self.reading
        return max(self.users * (1 - share) / self.entries, 1.0)

    def copied_at_a_time(self, round_s: float | None) -> float:
        """Return of how many writes at a node the copies are made together.

        None: of all under way. Where there are rounds, who comes during one waits for the next, so
        that of the writes under way half are in each; where none waits for other copies, as many as
        come in the time of a round, if those are more. Those who fetch have rounds of their own,
        one after another: what comes during all of them is in each, and some of those under way.
        A write that waits finds no more than a third of the others in its own: the rest wait for
        the next, or for what is found out of theirs.
        """
        there = self.writes_at_a_time
        if round_s is None or self.replication == 1:
            return there
        come = self.writing_per_s * round_s / self.entries
        come_in_all = come * (self.replication - 1)
        if not self.fetched:
            several = max(there / 2, come if self.waited == 1 else 0.0)
        elif self.waited == 1:
            several = come_in_all + there * _STAY_IF_NONE_WAITS
        else:
            several = min(come_in_all + there * _STAY, 1 + (there - 1) * _AT_MOST)
        return max(several, 1.0)

    @property
    def size(self) -> str:
        """Nodes and copies, for people."""
        copies = f"{self.replication} cop{'ies' if self.replication > 1 else 'y'}"
        return f"{self.nodes} node{'s' * (self.nodes > 1)}, {copies}"

    def text(self) -> str:
        """Return the configuration for people."""
        waits = f"waits for {self.asked}/{self.waited}{' and journals' * self.journaled}"
        return f"{self.size}, {waits}, {self.read_share:.0%} reads, {self.users} users"


@dataclass(frozen=True)
class Observation:
    """A run.

    Attributes
    ----------
    run, scenario, group
        Which, with its directory; runs of the same factors, on the same kind of cluster and at the
        same levels, have the same; what it has in common with others of its model.
    cluster
        Its configuration.
    reads_per_s, writes_per_s
        Rates.
    latencies_s, p99_s
        ``read`` and ``write``, as far as there were any → mean, 99th percentile.
    server_cores, client_cores
        Processor seconds a second.
    versions
        Of the software.
    started_unix_s
        When it was measured.
    unseen
        Variance of the logarithm of means of several, beyond what they scatter by.
    machine_step_ns
        What a step of arithmetic took its machine; None if not known.
    study
        The directory: another one's clusters were started anew.
    study_name
        What the study in it is called.
    factors, levels
        Its scenario's, as text; the consistency level in force of each kind of operation.
    """

    run: str
    scenario: int
    group: tuple[tuple[str, object], ...]
    cluster: Cluster
    reads_per_s: float
    writes_per_s: float
    latencies_s: Mapping[str, float]
    server_cores: float
    client_cores: float
    p99_s: Mapping[str, float] = field(default_factory=dict[str, float])
    database: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    started_unix_s: float = 0.0
    unseen: float = 0.0
    machine_step_ns: float | None = None
    study: str = ""
    study_name: str = ""
    factors: Mapping[str, str] = field(default_factory=dict[str, str])
    levels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def throughput_per_s(self) -> float:
        """Reads and writes."""
        return self.reads_per_s + self.writes_per_s

    @property
    def kind(self) -> tuple[object, ...]:
        """What clusters have in common that were started anew."""
        cluster = self.cluster
        return self.database, cluster.nodes, cluster.replication, cluster.limit


class _LeftOut(Exception):  # noqa: N818 - a reason, not a fault
    """Why a run isn't used."""


def observations(results: Results) -> tuple[list[Observation], dict[str, int]]:
    """Return the runs that can be used, and why how many others can't."""
    usage: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.nodes.iter_rows(named=True):
        usage.setdefault((row["source"], row["run"]), []).append(row)
    found: list[Observation] = []
    left_out: dict[str, int] = {}
    rows = results.runs.iter_rows(named=True)
    for record, row in zip(results.records, rows, strict=True):
        own = usage.get((row["source"], row["run"]), [])
        try:
            found.append(_observation(record, row, own, results.factors))
        except _LeftOut as reason:
            left_out[str(reason)] = left_out.get(str(reason), 0) + 1
    return numbered(found), left_out


def numbered(found: Sequence[Observation]) -> list[Observation]:
    """Return the runs with scenarios numbered: directories may differ in what is no factor."""
    numbers: dict[tuple[object, ...], int] = {}
    return [
        replace(one, scenario=numbers.setdefault(_scenario_of(one), len(numbers))) for one in found
    ]


def _scenario_of(one: Observation) -> tuple[object, ...]:
    """Return what runs of a scenario share."""
    named = frozenset(one.factors.items()), frozenset(one.levels.items())
    cluster = one.cluster
    sizes = (cluster.nodes, cluster.replication, cluster.entries, cluster.limit)
    return *named, one.group, *sizes, cluster.coordinator


def _observation(
    record: RunRecord,
    row: Mapping[str, Any],
    usage: Sequence[Mapping[str, Any]],
    factors: Sequence[str],
) -> Observation:
    result = record.result
    kinds = {kind for kind, stats in result.operations.items() if stats.ok > 0}
    if result.schedule is not None:
        raise _LeftOut("operations had a schedule")
    if not kinds or not kinds <= _READS | _WRITES:
        raise _LeftOut("there were other operations than reads, updates and inserts")
    servers = [one["cpu_cores"] for one in usage if one["role"] not in NOT_SERVERS]
    if not servers or None in servers or sum(servers) <= 0:
        raise _LeftOut("processor time isn't known of all servers: measure for longer")
    if (row["compiler_share"] or 0.0) > COMPILING:
        raise _LeftOut("servers were compiling: burn_in for longer, and measure again")
    if (row["hedges_per_read"] or 0.0) > HEDGED:
        raise _LeftOut("the model has no reads that ask further replicas when the first is late")
    # Servers whose sizes aren't limited share the machine with the load generator.
    limit = record.sizes.cores if record.sizes is not None else None
    others_cores = row["others_cores"] or 0.0 if limit is None else 0.0
    cores = _cores(limit, record.machine.get("cores")) - others_cores

    def mean(names: frozenset[str]) -> float | None:
        own = [(row[f"{k}.throughput_per_s"], row[f"{k}.latency_ms_mean"]) for k in kinds & names]
        total = sum(rate for rate, _ in own)
        return sum(rate * value for rate, value in own) / total / 1e3 if total else None

    def p99(names: frozenset[str]) -> float | None:
        # Of updates and inserts together it isn't known from those of each.
        own = [row[f"{k}.latency_ms_p99"] for k in kinds & names]
        return own[0] / 1e3 if len(own) == 1 else None

    sides = {"read": _READS, "write": _WRITES}
    rates = {
        side: float(sum(row[f"{kind}.throughput_per_s"] for kind in kinds & names))
        for side, names in sides.items()
    }
    means = {side: mean(names) for side, names in sides.items()}
    slow = {side: p99(names) for side, names in sides.items()}
    client = result.client
    seconds = client.cpu_user_s + client.cpu_system_s
    database = str(record.scenario.settings.get("database") or row.get("database") or "")
    cluster = _cluster(record, database, kinds, rates, cores, limit is None)._replace(
        reading=_reading(rates, means), others_cores=others_cores
    )
    return Observation(
        run=f"{row['source']}/{row['run']}",  # directories have runs of the same name
        scenario=0,
        group=_group(database, record, row, factors),
        cluster=cluster,
        reads_per_s=rates["read"],
        writes_per_s=rates["write"],
        latencies_s={side: value for side, value in means.items() if value is not None},
        p99_s={side: value for side, value in slow.items() if value is not None},
        server_cores=float(sum(servers)),
        client_cores=seconds / result.measured_s,
        database=database,
        versions={k: v for k, v in record.versions.items() if k == database},
        started_unix_s=record.started_utc.timestamp(),
        machine_step_ns=row["machine_step_ns"],
        study=row["source"],
        study_name=row["study"],
        factors={name: str(level) for name, level in record.scenario.factors.items()},
        levels={kind: str(level) for kind, level in record.consistency.items()},
    )


def _group(
    database: str, record: RunRecord, row: Mapping[str, Any], factors: Sequence[str]
) -> tuple[tuple[str, object], ...]:
    """Return what runs of one model have in common: directories may differ in their levels.

    And in their factors: who has none of another's has no level of it.
    """
    own = (factor for factor in factors if factor not in MODELLED)
    group = {factor: row[factor] for factor in own if row[factor] is not None}
    if database in _OWN_LEVELS:
        level: str | Mapping[str, object] = (
            row.get("consistency") or record.scenario.settings.get("consistency") or "default"
        )
        if not isinstance(level, str):
            level = ", ".join(f"{kind} {of}" for kind, of in level.items())
        group["consistency"] = level
    if record.scenario.settings.get("awake"):
        group["awake"] = True  # another machine, in effect
    return tuple(group.items())


def _reading(rates: Mapping[str, float], means: Mapping[str, float | None]) -> float:
    """Return the share of reads among the operations under way, by Little's law."""
    reads, writes = (rates[side] * (means[side] or 0.0) for side in ("read", "write"))
    return reads / (reads + writes)


def _cores(limit: float | None, machine: object) -> float:
    """Return a node's cores, or those of the machine that all share."""
    if limit is not None:
        return limit
    if not isinstance(machine, int | float):
        raise _LeftOut("the machine's cores aren't known")
    return machine


def _cluster(  # noqa: PLR0917 - a run's parts
    record: RunRecord,
    database: str,
    kinds: set[str],
    rates: Mapping[str, float],
    cores: float,
    shared: bool,
) -> Cluster:
    settings = record.scenario.settings
    users = record.scenario.factors.get("users", settings.get("users"))
    if not isinstance(users, int):
        raise _LeftOut("the number of users changes")
    nodes = int(settings.get("nodes") or 1)
    replication = int(settings.get("replication") or 1)
    known = {kind: str(level) for kind, level in record.consistency.items()}
    reads = {known[kind] for kind in kinds & _READS if kind in known}
    for level in reads:
        if database in _ONE_LEADS and not level.endswith("primary"):
            raise _LeftOut(f"the model has no reads of followers: {level}")
    asked = {_copies(level, replication) for level in reads} or {1}
    waited = {_copies(known[kind], replication) for kind in kinds & _WRITES if kind in known} or {1}
    if len(waited) > 1:
        raise _LeftOut("updates and inserts waited for different numbers of copies")
    options: Mapping[str, object] = settings.get("client_options") or {}
    coordinator: Coordinator = "replica"
    if database in _ONE_LEADS:
        coordinator = "leader"
    elif database == "cassandra" and options.get("coordinator") != "token-aware":
        coordinator = "any"
    return Cluster(
        nodes=nodes,
        replication=replication,
        asked=asked.pop(),
        waited=waited.pop(),
        users=users,
        read_share=rates["read"] / (rates["read"] + rates["write"]),
        coordinator=coordinator,
        cores=float(cores),
        shared=shared,
        entries=max(nodes // replication, 1) if coordinator == "leader" else nodes,
        acknowledged_to="everyone" if database in _TELLS_EVERYONE else "coordinator",
        in_batches=database in _IN_BATCHES,
        journaled=are_journaled(known),
    )


def are_journaled(levels: Mapping[str, str]) -> bool:
    """Tell whether writes at the levels in force wait until they are in journals.

    Examples
    --------
    >>> [are_journaled({"update": level}) for level in ("w: majority", "w: 2", "w: 2, j: true")]
    [True, False, True]
    """
    return any(_JOURNALED.search(level) for kind, level in levels.items() if kind in _WRITES)


def _copies(level: str, replication: int) -> int:
    """Return how many copies a level in force waits for."""
    if match := _WAIT.match(level):
        count: int | Level = 1 + int(match[1])
    elif match := _W.match(level):
        count = int(match[1])
    elif _MONGODB_READ.match(level) or level.endswith("_WAL") or level == "USE_DEFAULT":
        count = 1
    else:
        name = level.partition(",")[0]
        if name not in _COPIES:
            raise _LeftOut(f"the model has no level {level}")
        count = _COPIES[name]
    copies = copies_waited_for(count, replication) if isinstance(count, str) else count
    if not is_a_level(copies, replication):
        raise _LeftOut(f"the model has no level {level} of {replication} copies")
    return copies
