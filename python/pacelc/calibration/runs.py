"""Runs as a calibration needs them: rates, processor time, latencies, and what they were made on.

Only closed loops are used (no schedule), of reads, updates and inserts, whose processor time is
known, and little of it just-in-time compilers'. What a level means in copies is read from the level
in force that a run's record has.

Map
---
Configuration   what a run was made on, and how: sizes, levels, load
Run             a run: its configuration, and what was measured
Point           runs of one configuration on one cluster: points_of
runs_of         stored results → their runs; :mod:`pacelc.calibration.dataset` has them in one file
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pacelc.databases import FACTS
from pacelc.names import COMPILING, HEDGED, NOT_SERVERS, counted
from pacelc.networks.quorum import own_share
from pacelc.study.copies import copies_waited_for, is_a_level

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.databases import Facts
    from pacelc.networks.quorum import Coordinator
    from pacelc.store import Results, RunRecord

__all__ = ["KINDS", "Configuration", "Point", "Run", "points_of", "runs_of", "waits_for_disk"]

KINDS: Final = ("read", "write")
_MODELLED: Final = frozenset(
    {
        *("users", "mix", "workload", "read_share", "nodes", "replication", "cluster"),
        *("consistency", "level", "setting"),
    }
)
"""Factors whose levels one model predicts; each combination of the others has a model."""
_READS: Final = frozenset({"read"})
_WRITES: Final = frozenset({"update", "insert"})
_SHARES: Final = 16
"""Mixes within a 16th are one."""


class Configuration(NamedTuple):
    """What a run was made on, and how."""

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
    """Whether nodes and load generator share a machine's cores."""
    on_disk: bool = False
    """Whether writes wait until a log or journal is on disk."""

    @property
    def own_share(self) -> float:
        """Share of operations of which the node that they arrive at holds a copy."""
        return own_share(self.nodes, self.replication, self.coordinator)

    @property
    def at_a_time(self) -> float:
        """Operations under way at a node that they arrive at; one at least."""
        led = self.coordinator == "leader"
        return max(self.users / (self.nodes // self.replication if led else self.nodes), 1.0)

    @property
    def size(self) -> str:
        """Nodes and copies, for people."""
        return f"{counted(self.nodes, 'node')}, {counted(self.replication, 'copy')}"

    @property
    def level(self) -> str:
        """What operations wait for, for people."""
        return f"waits for {self.asked}/{self.waited}{' on disk' * self.on_disk}"

    def rounded(self) -> Configuration:
        """Return the configuration that was meant: measured shares and cores scatter about it."""
        share = round(_SHARES * self.read_share) / _SHARES
        cores = float(max(round(self.cores), 1)) if self.shared else self.cores
        return self._replace(read_share=share, cores=cores)

    def text(self) -> str:
        """Return the configuration for people."""
        return (
            f"{self.size}, {self.level}, {self.read_share:.0%} reads, {counted(self.users, 'user')}"
        )


@dataclass(frozen=True)
class Run:
    """A run.

    Attributes
    ----------
    name
        With its directory's.
    configuration
        What it was made on, and how.
    reads_per_s, writes_per_s
        Rates.
    latencies_s, p99_s
        ``read`` and ``write``, as far as there were any → mean, 99th percentile.
    server_cores, client_cores
        Processor seconds a second, of all servers together and of the load generator.
    database, group
        Runs of the same group share a model.
    study, study_name
        The results directory, whose clusters were started for it; what its study is called.
    versions, started_unix_s
        Of the software; when it was measured.
    factors, levels
        Its scenario's, as text; the consistency level in force of each kind of operation.
    """

    name: str
    configuration: Configuration
    reads_per_s: float
    writes_per_s: float
    latencies_s: Mapping[str, float]
    p99_s: Mapping[str, float]
    server_cores: float
    client_cores: float
    database: str
    group: tuple[tuple[str, object], ...] = ()
    study: str = ""
    study_name: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    started_unix_s: float = 0.0
    factors: Mapping[str, str] = field(default_factory=dict[str, str])
    levels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def throughput_per_s(self) -> float:
        """Reads and writes."""
        return self.reads_per_s + self.writes_per_s

    @property
    def cluster(self) -> tuple[str, str]:
        """Which cluster: one of each size a results directory."""
        return self.study, self.configuration.size

    def measured(self) -> dict[str, float]:
        """Return ``throughput_per_s``, and of each kind ``read.latency_s`` and ``read.p99_s``."""
        found = {"throughput_per_s": self.throughput_per_s}
        found |= {f"{kind}.latency_s": value for kind, value in self.latencies_s.items()}
        return found | {f"{kind}.p99_s": value for kind, value in self.p99_s.items()}


class Point(NamedTuple):
    """Runs of one configuration on one cluster: means of what they measured."""

    configuration: Configuration
    cluster: tuple[str, str]
    measured: Mapping[str, float]
    """As :meth:`Run.measured` names it."""
    runs: tuple[Run, ...]


def points_of(runs: Sequence[Run]) -> list[Point]:
    """Return runs by cluster and scenario; shares of reads are those of their rates."""
    by_scenario: dict[tuple[object, ...], list[Run]] = {}
    for one in runs:
        scenario = frozenset(one.factors.items()), frozenset(one.levels.items())
        by_scenario.setdefault((one.cluster, *scenario), []).append(one)
    found: list[Point] = []
    for own in by_scenario.values():
        each = [one.measured() for one in own]
        names = [name for name in each[0] if all(name in one for one in each)]
        means = {name: sum(one[name] for one in each) / len(each) for name in names}
        reads = sum(one.reads_per_s for one in own) / sum(one.throughput_per_s for one in own)
        cores = sum(one.configuration.cores for one in own) / len(own)
        configuration = own[0].configuration._replace(read_share=reads, cores=cores)
        found.append(Point(configuration, own[0].cluster, means, tuple(own)))
    return found


class _LeftOut(Exception):  # noqa: N818 - a reason, not a fault
    """Why a run isn't used."""


def runs_of(results: Results) -> tuple[list[Run], dict[str, int]]:
    """Return the runs that can be used, and why how many others can't."""
    usage: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.nodes.iter_rows(named=True):
        usage.setdefault((row["source"], row["run"]), []).append(row)
    found: list[Run] = []
    left_out = {"damaged": len(results.damaged)} if results.damaged else {}
    rows = results.runs.iter_rows(named=True)
    for record, row in zip(results.records, rows, strict=True):
        own = usage.get((row["source"], row["run"]), [])
        try:
            found.append(_run(record, row, own, results.factors))
        except _LeftOut as reason:
            left_out[str(reason)] = left_out.get(str(reason), 0) + 1
    return found, left_out


def _run(
    record: RunRecord,
    row: Mapping[str, Any],
    usage: Sequence[Mapping[str, Any]],
    factors: Sequence[str],
) -> Run:
    result = record.result
    database = str(record.scenario.settings.get("database") or row.get("database") or "")
    if database not in FACTS:
        raise _LeftOut(f"the model has no database {database}")
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
    cores = _cores(limit, record.machine, row["others_cores"] or 0.0)
    if cores <= 0:
        raise _LeftOut("other processes used all processors")

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
    return Run(
        name=f"{row['source']}/{row['run']}",  # directories have runs of the same name
        configuration=_configuration(record, database, kinds, rates, cores, limit is None),
        reads_per_s=rates["read"],
        writes_per_s=rates["write"],
        latencies_s={side: value for side, value in means.items() if value is not None},
        p99_s={side: value for side, value in slow.items() if value is not None},
        server_cores=float(sum(servers)),
        client_cores=seconds / result.measured_s,
        database=database,
        group=_group(database, record, row, factors),
        study=row["source"],
        study_name=row["study"],
        versions={k: v for k, v in record.versions.items() if k == database},
        started_unix_s=record.started_utc.timestamp(),
        factors={name: str(level) for name, level in record.scenario.factors.items()},
        levels={kind: str(level) for kind, level in record.consistency.items()},
    )


def _group(
    database: str, record: RunRecord, row: Mapping[str, Any], factors: Sequence[str]
) -> tuple[tuple[str, object], ...]:
    """Return what runs of one model have in common: directories may differ in their levels.

    And in their factors: who has none of another's has no level of it.
    """
    own = (factor for factor in factors if factor not in _MODELLED)
    group = {factor: row[factor] for factor in own if row[factor] is not None}
    if not FACTS[database].levels_are_copies:
        level: str | Mapping[str, object] = (
            row.get("consistency") or record.scenario.settings.get("consistency") or "default"
        )
        if not isinstance(level, str):
            level = ", ".join(f"{kind} {of}" for kind, of in level.items())
        group["consistency"] = level
    if record.scenario.settings.get("no_idle_states"):
        group["no_idle_states"] = True  # another machine, in effect
    return tuple(group.items())


def _cores(limit: float | None, machine: Mapping[str, object], others: float) -> float:
    """Return a node's cores, or those of the machine that all share and others leave."""
    if limit is not None:
        return limit
    cores, quota = machine.get("cores"), machine.get("cpu_quota_cores")
    if not isinstance(cores, int | float):
        raise _LeftOut("the machine's cores aren't known")
    return min(cores - others, quota if isinstance(quota, int | float) else cores)


def _configuration(  # noqa: PLR0917 - a run's parts
    record: RunRecord,
    database: str,
    kinds: set[str],
    rates: Mapping[str, float],
    cores: float,
    shared: bool,
) -> Configuration:
    settings = record.scenario.settings
    users = record.scenario.factors.get("users", settings.get("users"))
    if not isinstance(users, int):
        raise _LeftOut("the number of users changes")
    replication = int(settings.get("replication") or 1)
    known = {kind: str(level) for kind, level in record.consistency.items()}
    reads = {known[kind] for kind in kinds & _READS if kind in known}
    facts = FACTS[database]
    for level in reads:
        if facts.replication == "one leader" and not level.partition(",")[0].endswith("primary"):
            raise _LeftOut(f"the model has no reads of followers: {level}")
    writes = {known[kind] for kind in kinds & _WRITES if kind in known}
    asked = {_copies(facts, level, replication) for level in reads} or {1}
    waited = {_copies(facts, level, replication) for level in writes} or {1}
    if len(waited) > 1:
        raise _LeftOut("updates and inserts waited for different numbers of copies")
    options: Mapping[str, object] = settings.get("client_options") or {}
    coordinator: Coordinator = "replica"
    if facts.replication == "one leader":
        coordinator = "leader"
    elif facts.replication == "leaderless" and options.get("coordinator") != "token-aware":
        coordinator = "any"
    return Configuration(
        nodes=int(settings.get("nodes") or 1),
        replication=replication,
        asked=asked.pop(),
        waited=waited.pop(),
        users=users,
        read_share=rates["read"] / (rates["read"] + rates["write"]),
        coordinator=coordinator,
        cores=cores,
        shared=shared,
        on_disk=waits_for_disk(database, known),
    )


def waits_for_disk(database: str, levels: Mapping[str, str]) -> bool:
    """Tell whether writes at the levels in force wait until a log or journal is on disk.

    Examples
    --------
    >>> levels = ("w: majority", "w: 2", "w: 2, j: true")
    >>> [waits_for_disk("mongodb", {"update": level}) for level in levels]
    [True, False, True]
    """
    on_disk = FACTS[database].waits_for_disk
    return any(on_disk(level) for kind, level in levels.items() if kind in _WRITES)


def _copies(facts: Facts, level: str, replication: int) -> int:
    """Return how many copies a level in force waits for."""
    count = facts.copies_of_level(level)
    if count is None:
        raise _LeftOut(f"the model has no level {level}")
    copies = copies_waited_for(count, replication) if isinstance(count, str) else max(count, 1)
    if not is_a_level(copies, replication):
        raise _LeftOut(f"the model has no level {level} of {counted(replication, 'copy')}")
    return copies
