"""Settings: everything that one scenario needs to be run, validated and frozen.

A study never holds complete settings. It holds *partial* ones, at four places (``settings``, the
levels of a factor, ``overrides``, ``--set``), and each scenario's are the later over the earlier. A
partial is therefore flattened into *leaves*: the path of a setting, its value, and where in the
document it was written, so that a value found bad when the scenario is put together is still
reported at the line that wrote it.

The workload may be named (``workload: ycsb-a``). A name stands for the settings of a built-in
workload, which go under those that are written at the same place or later.

Map
---
Settings, Workload      the complete thing
Leaf, flatten           a partial as leaves; unknown names are refused here
assemble                leaves → Settings
settable_names          what ``--set`` and factors may name
Problem                 what is wrong, and where in the document
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pacelc.databases import FACTS, facts_of
from pacelc.names import counted
from pacelc.study.distributions import Distribution  # noqa: TC001 - pydantic reads it when it runs
from pacelc.study.external import External, ExternalTls
from pacelc.study.faults import NETWORK_FAULTS, Fault, check_faults
from pacelc.study.links import NetworkLink
from pacelc.study.model import (
    LONGEST_OPERATION_S,
    MOST_THREADS,
    MOST_USERS,
    Frozen,
    Memory,
    PositiveSeconds,
    Seconds,
)
from pacelc.study.values import (
    Json,
    instead,
    is_confidential,
    named,
    nearest,
    parse_mix,
    secret_in,
)
from pacelc.study.workloads import BUILTIN_WORKLOADS

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "IN_ENGINE",
    "KEEPS_NOTHING",
    "Consistency",
    "Leaf",
    "OperationKind",
    "Problem",
    "Settings",
    "Workload",
    "assemble",
    "flatten",
    "settable_names",
    "settable_path",
    "tidy",
]

Path: TypeAlias = tuple[str | int, ...]
KEEPS_NOTHING = "noop"
"""The database that answers at once, and has no records."""
IN_ENGINE = frozenset({"memory", KEEPS_NOTHING})
"""Databases that need no servers."""

OperationKind: TypeAlias = Literal[
    "read", "update", "insert", "scan", "read_modify_write", "delete"
]

# closed: a user's next operation follows its last. target: the same, held to a rate by a schedule
# of each user's own, as YCSB does. constant, poisson: open loops.
Arrivals: TypeAlias = Literal["closed", "target", "constant", "poisson"]

# Checked against the database by the engine, which alone knows what each one understands.
Consistency: TypeAlias = Annotated[
    str | dict[str, Json],
    WithJsonSchema(
        {
            "description": "An alias (weak, quorum, strong), a level in the database's own terms, "
            "or one a kind of "
            "operation: {read: …, write: …}, or {read, scan, update, insert, delete: …}.",
            "anyOf": [{"type": "string"}, {"type": "object"}],
        }
    ),
]


class Problem(Exception):  # noqa: N818 - it never reaches a caller; `StudyError` does
    """Something wrong at a place in a study document."""

    def __init__(self, path: Path, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
        self.hint = hint


_DEFAULT_NODES = 3
_DEFAULT_REPLICATION = 3

# Of what stands in place of a mapping or a list nobody knows what it was meant to be.
_TELLS_NO_VALUE = frozenset({"missing", "extra_forbidden", "dict_type", "model_type", "list_type"})

_REFUSED = "refused"
"""Type of the errors that name a setting and carry a hint; see `_refused`."""


def _mix(value: object) -> object:
    """Give ``70/30`` its meaning; what is neither that nor a mapping is refused in its words."""
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value)
    shares = parse_mix(value) if isinstance(value, str) else None
    if shares is None:
        msg = f"should be READS/UPDATES such as 70/30, or a weight of each kind{instead(value)}"
        raise ValueError(msg)
    return dict(zip(("read", "update"), shares, strict=True))


_Weights: TypeAlias = dict[OperationKind, NonNegativeFloat]
Mix: TypeAlias = Annotated[_Weights, BeforeValidator(_mix, json_schema_input_type=str | _Weights)]
Bytes: TypeAlias = Annotated[int, Field(ge=1, le=2**20)]
# The engine's numbers of nodes.
Count: TypeAlias = Annotated[int, Field(gt=0, lt=2**32)]
Users: TypeAlias = Annotated[int, Field(gt=0, le=MOST_USERS)]
# More operations a second than a machine can start.
Rate: TypeAlias = Annotated[float, Field(gt=0, le=1e9)]
# The engine's numbers of records; there is room for inserts above.
_MOST_RECORDS = 2**62


class FieldLengths(Frozen):
    """Lengths of fields with their weights, as in YCSB's histogram files."""

    histogram: Annotated[list[tuple[Bytes, NonNegativeInt]], Field(min_length=1)]


class Workload(Frozen):
    """What the users ask of the database."""

    records: Annotated[int, Field(ge=1, le=_MOST_RECORDS)] = 1000
    """Records loaded before the first operation."""
    insert_start: Annotated[int, Field(ge=0, le=_MOST_RECORDS)] = 0
    """Number of the first record; a run's inserts begin after the last one loaded."""
    insert_order: Literal["hashed", "ordered"] = "hashed"
    """A record's key is the hash of its number (`hashed`), or the number (`ordered`)."""
    zero_padding: Annotated[int, Field(ge=0, le=100)] = 1
    """Least digits of a key; shorter numbers get leading zeros."""
    table: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,47}$")] = "usertable"
    """Table, collection, or prefix of keys."""
    fields: Annotated[int, Field(ge=1, le=1000)] = 10
    """Fields of a record."""
    field_length_bytes: Annotated[Bytes, Field(alias="field_length")] = 100
    """Bytes of a field, or the most. From 32 bytes on a field proves its age, shorter ones only
    their integrity.
    """
    field_length_distribution: Literal["constant", "uniform", "zipfian"] | FieldLengths = "constant"
    """How the lengths of fields vary: short ones are frequent where it is `zipfian`; or weights,
    as `{histogram: [[length, weight], …]}`.
    """
    min_field_length_bytes: Annotated[Bytes, Field(alias="min_field_length")] = 1
    """Least bytes of a field, where lengths are uniform or zipfian."""
    mix: Mix = Field(default_factory=lambda: {"read": 0.95, "update": 0.05})
    """Weight of each kind of operation: `read`, `update`, `insert`, `scan`, `read_modify_write`,
    `delete`; or `70/30`, of reads and updates. Weights need not add up to 1. By default `95/5`.
    """
    distribution: Distribution = "zipfian"
    """How operations choose records."""
    scan_length: Annotated[int, Field(ge=1, lt=2**31)] = 100
    """Records that a scan asks for, or the most."""
    scan_length_distribution: Literal["constant", "uniform", "zipfian"] = "constant"
    """How the lengths of scans vary; short ones are frequent where it is `zipfian`."""
    min_scan_length: Annotated[int, Field(gt=0, lt=2**31)] = 1
    """Least records that a scan asks for, where lengths vary."""
    scan_from: Literal["start", "key"] = "start"
    """Where a scan begins: wherever the database begins (`start`, no filter), or at a chosen
    record (`key`).
    """
    read_all_fields: bool = True
    """Reads and scans ask for every field; if false, for one chosen at random."""
    update_all_fields: bool = False
    """An update writes every field; if false, one chosen at random."""
    writers: Literal["shared", "single"] = "shared"
    """Who updates and deletes a record: whoever chooses it (`shared`), or one user of the run
    (`single`).
    """

    @field_validator("mix")
    @classmethod
    def _has_weight(cls, mix: dict[OperationKind, float]) -> dict[OperationKind, float]:
        if sum(mix.values()) <= 0:
            msg = "at least one kind of operation needs a weight above 0"
            raise ValueError(msg)
        return mix

    @field_validator("min_field_length_bytes", "min_scan_length")
    @classmethod
    def _not_above_the_most(cls, least: int, info: ValidationInfo) -> int:
        name = str(info.field_name).removeprefix("min_")
        most = info.data.get(name)
        varies = info.data.get(f"{name.removesuffix('_bytes')}_distribution") != "constant"
        if varies and isinstance(most, int) and least > most:
            msg = f"{least} is above {name.removesuffix('_bytes')}, {most}"
            raise ValueError(msg)
        return least

    @property
    def shares(self) -> dict[OperationKind, float]:
        """The mix as shares of 1, without the kinds that never occur."""
        total = sum(self.mix.values())
        return {kind: weight / total for kind, weight in self.mix.items() if weight > 0}

    @property
    def changes_data_set(self) -> bool:
        """Whether a run leaves other records behind than it found: it inserts or deletes."""
        return any(kind in ("insert", "delete") for kind in self.shares)

    @property
    def record_form(self) -> tuple[object, ...]:
        """What distinguishes loaded records: how many, their keys, the form of their fields."""
        return (
            self.table,
            self.records,
            self.insert_start,
            self.insert_order,
            self.zero_padding,
            self.fields,
            self.field_length_bytes,
            self.min_field_length_bytes,
            repr(self.field_length_distribution),
        )


class Settings(Frozen):
    """Everything that one scenario needs to be run."""

    database: str
    """`cassandra`, `mongodb`, `redis`, `valkey`, `hbase`; `memory` and `noop` need no servers."""
    nodes: Count = _DEFAULT_NODES
    """Nodes of the cluster."""
    replication: Count = _DEFAULT_REPLICATION
    """Copies of each record. MongoDB: members of each replica set. By default 3, or as many as a
    shard has nodes, if fewer.
    """
    sharding: Literal["none", "client", "mongos"] = "none"
    """MongoDB: how records are spread over replica sets: by the client, or behind `mongos`."""
    shards: Count = 1
    """MongoDB: replica sets; `nodes` is `shards` times `replication`."""
    regions: list[str] = Field(default_factory=list[str])
    """Regions of the nodes, in turn. Each node is then a host of an emulated network."""
    client_region: str | None = None
    """Region of the load generator; by default the first node's."""
    clients: dict[str, Users] = Field(default_factory=dict[str, int])
    """Users of each region, in place of `users`."""
    links: dict[str, NetworkLink] = Field(default_factory=dict[str, NetworkLink])
    """Links of ways such as `iowa -> oregon`, over those of the regions."""
    network: Literal["auto", "namespaces", "loopback"] = "auto"
    """Whether nodes are hosts of an emulated network; `auto`: if regions or links ask for one."""
    cores: PositiveFloat | None = None
    """Processor cores of each node, such as `0.5`; by default all nodes share the machine's."""
    memory_bytes: Annotated[Memory | None, Field(alias="memory")] = None
    """Memory of each node, such as `2GiB`; heaps and caches follow from it. By default all nodes
    share the machine's.
    """
    no_idle_states: bool = False
    """Disable processors' idle states while the cluster serves: virtual ones wake up late."""
    cluster_options: dict[str, Json] = Field(default_factory=dict)
    """Options of the local cluster, such as `heap_mib` or a server's own configuration."""
    client_options: dict[str, Json] = Field(default_factory=dict)
    """Options of the client: Cassandra's `coordinator` (`fixed`, `last`, `token-aware`,
    `round-robin`) and `replication_strategy`; HBase's `regions` and `timeline` (`hedged`, `any`).
    """
    external: External | None = None
    """A cluster of yours, in place of one that pacelc starts."""
    users: Users = 1
    """Users; each does one operation at a time."""
    arrivals: Arrivals = "closed"
    """When operations are due: when the user is free (`closed`), at a rate that closed users are
    held to, as in YCSB (`target`), or by an open schedule (`constant`, `poisson`).
    """
    rate_per_s: Annotated[Rate | None, Field(alias="rate")] = None
    """Operations due a second, of all users together; for all arrivals but `closed`."""
    schedule: Literal["shared", "user"] = "shared"
    """For open loops: any free user takes the next due operation (`shared`), or each user has its
    own schedule (`user`).
    """
    think_time_s: Annotated[Seconds, Field(alias="think_time")] = 0.0
    """Closed loop: mean time between an answer and the user's next operation."""
    think: Literal["constant", "exponential"] = "constant"
    """How think times vary."""
    spawn_rate_per_s: Annotated[Rate, Field(alias="spawn_rate")] = 10.0
    """Users started a second."""
    consistency: Consistency = "weak"
    """`weak`, `quorum`, `strong`, or a level in the database's own terms; or one for each kind:
    `{read: …, write: …}`, also `scan`, `update`, `insert`, `delete`.
    """
    session: Literal["sticky", "roaming"] | None = None
    """Which node serves a user's operations, where the level leaves a choice: one (`sticky`), or
    any that may serve it (`roaming`); by default as the database's clients do it.
    """
    workload: Workload = Field(default_factory=Workload)
    """What the users ask of the database."""
    burn_in_s: Annotated[Seconds, Field(alias="burn_in")] = 0.0
    """Unrecorded load on a new cluster before its first run, so that virtual machines compile: all
    that its runs ask for, in turn, without limits on `cores`."""
    warm_up_s: Annotated[Seconds, Field(alias="warm_up")] = 30.0
    """Load before measuring, recorded separately; with `warm_up_ceiling`, its least length."""
    warm_up_ceiling_s: Annotated[Seconds | None, Field(alias="warm_up_ceiling")] = None
    """Longest warm-up: it goes on until throughput and latency are steady."""
    measure_s: Annotated[PositiveSeconds, Field(alias="measure")] = 300.0
    """Length of measuring; with `operations`, its longest."""
    operations: Annotated[int | None, Field(gt=0, le=_MOST_RECORDS)] = None
    """Measuring ends with so many operations."""
    fresh: Literal["changed", "data", "cluster"] = "changed"
    """What each run gets anew: the data if the last run inserted or deleted (`changed`), the data,
    or the whole cluster.
    """
    cool_down_s: Annotated[Seconds, Field(alias="cool_down")] = 2.0
    """Rest between two runs on the same cluster."""
    operation_timeout_s: Annotated[
        Seconds, Field(alias="operation_timeout", ge=0.001, le=LONGEST_OPERATION_S)
    ] = 10.0
    """After this a read has failed and a write is unknown, both with the error `timeout`."""
    client_threads: Annotated[int, Field(gt=0, le=MOST_THREADS)] = 1
    """Threads of the load generator, at most as many as `users`."""
    observe: bool = False
    """Record operations for the consistency checkers: of as many records as fit into 64 MiB a run,
    the hottest among them."""
    record_operations: bool = False
    """Record every operation, however many there are."""
    faults: list[Fault] = Field(default_factory=list[Fault])
    """What goes wrong while measuring: a list of `{at, fault, target, for, …}`. Every operation is
    then recorded.
    """

    @field_validator("faults")
    @classmethod
    def _faults_can_happen(cls, faults: list[Fault], info: ValidationInfo) -> list[Fault]:
        given = info.data
        if faults and given.get("database") in IN_ENGINE:
            msg = f"{given['database']} is inside the engine: it has no servers to fail"
            raise ValueError(msg)
        if faults and given.get("external") is not None:
            msg = "an external cluster is not pacelc's to break"
            raise ValueError(msg)
        if "nodes" in given and "measure_s" in given:
            check_faults(
                faults,
                nodes=given["nodes"],
                regions=given.get("regions", ()),
                measure_s=given["measure_s"],
            )
        return faults

    @model_validator(mode="before")
    @classmethod
    def _as_many_replicas_as_nodes(cls, data: object) -> object:
        given = cast("dict[str, object]", data) if isinstance(data, dict) else {}
        if given and "replication" not in given:
            nodes, shards = given.get("nodes", _DEFAULT_NODES), given.get("shards", 1)
            if isinstance(nodes, int) and isinstance(shards, int) and 1 < shards <= nodes:
                return {**given, "replication": nodes // shards}
            if isinstance(nodes, int) and 0 < nodes < _DEFAULT_REPLICATION:
                return {**given, "replication": nodes}
        return given or cast("object", data)

    @model_validator(mode="before")
    @classmethod
    def _users_are_those_of_the_clients(cls, data: object) -> object:
        given = cast("dict[str, object]", data) if isinstance(data, dict) else {}
        clients = given.get("clients")
        if not isinstance(clients, dict) or not clients:
            return given or cast("object", data)
        counts = list(cast("dict[object, object]", clients).values())
        if not all(type(count) is int for count in counts):
            return given  # its own field says so
        users = sum(cast("list[int]", counts))
        if users > MOST_USERS:
            message = (
                f"clients have {counted(users, 'user')} together, and {MOST_USERS:,} are the most"
            )
            raise _refused("clients", message, "spread them over several runs")
        if given.get("users", users) != users:
            message = (
                f"clients have {counted(users, 'user')} together, and users is {given['users']}"
            )
            raise _refused(
                "users", message, "leave users out, or clients; vary clients as a factor"
            )
        return {**given, "users": users}

    @field_validator("cluster_options", "client_options")
    @classmethod
    def _options_hold_no_secret(cls, options: dict[str, Json]) -> dict[str, Json]:
        if (name := secret_in(options)) is not None:
            msg = (
                f"{named(name)}: a password isn't written into a study, whose definition is stored "
                "with its results"
            )
            raise ValueError(msg)
        return options

    @model_validator(mode="after")
    def _replicas_fit(self) -> Settings:
        if self.replication > self.nodes:
            msg = f"replication {self.replication} needs as many nodes, and there are {self.nodes}"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _shards_fit(self) -> Settings:
        if self.sharding == "none":
            if self.shards > 1:
                message = f"there are {counted(self.shards, 'shard')}, and sharding is none"
                raise _refused("shards", message, "set sharding to client or mongos")
            return self
        if not facts_of(self.database).has_shards:
            names = ", ".join(facts.display_name for facts in FACTS.values() if facts.has_shards)
            message = f"only {names} has shards, not {self.database}"
            raise _refused("sharding", message, "leave sharding out, or say none")
        if self.external is not None:
            self._external_is_behind_mongos(self.external)
        needed = self.shards * self.replication
        if self.nodes != needed:
            message = (
                f"{counted(self.shards, 'shard')} with "
                f"{counted(self.replication, 'member')} each are {counted(needed, 'node')}, "
                f"not {self.nodes}"
            )
            hint = f"set nodes to {needed}: they are all data nodes together"
            raise _refused("shards", message, hint)
        return self

    def _external_is_behind_mongos(self, external: External) -> None:
        if self.sharding == "client":
            message = (
                "an external cluster is one set of endpoints: keys can't be hashed over several"
            )
            hint = "set sharding to mongos, where the endpoints are those of mongos"
            raise _refused("sharding", message, hint)
        if external.replica_set is not None:
            message = f"external.replica_set is {external.replica_set}, and sharding is mongos"
            raise _refused("external", message, "leave replica_set out: mongos knows its shards")

    @model_validator(mode="after")
    def _arrivals_fit(self) -> Settings:
        if self.arrivals == "closed" and self.rate_per_s is not None:
            msg = "a closed loop has no rate: arrivals are constant, poisson, or target"
            raise ValueError(msg)
        if self.arrivals != "closed" and self.rate_per_s is None:
            msg = f"{self.arrivals} arrivals need a rate"
            raise ValueError(msg)
        if self.arrivals != "closed" and self.think_time_s > 0:
            msg = "users think in a closed loop only"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _external_is_left_as_it_is(self) -> Settings:
        if self.external is not None and self.database in IN_ENGINE:
            msg = f"{self.database} is inside the engine: no cluster of it can be external"
            raise ValueError(msg)
        if self.external is not None and self.cluster_options:
            names = ", ".join(self.cluster_options)
            msg = (
                f"pacelc doesn't start an external cluster, so it has no cluster_options ({names})"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _network_is_pacelcs_own(self) -> Settings:
        if self.asks_for_network and self.database in IN_ENGINE:
            msg = f"{self.database} is inside the engine: there is no network to emulate"
            raise ValueError(msg)
        if self.asks_for_network and self.external is not None:
            msg = "an external cluster has a network of its own: no regions, links, network"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _clients_are_in_regions(self) -> Settings:
        if self.clients and not self.regions:
            message = "clients are in regions, and the nodes have none"
            raise _refused("clients", message, "name the nodes' regions: regions; or set users")
        if self.clients and self.client_region is not None:
            message = f"client_region is {self.client_region}, and clients name regions themselves"
            raise _refused("clients", message, "leave client_region out, or clients")
        return self

    @property
    def asks_for_network(self) -> bool:
        """Whether the nodes are to be hosts of an emulated network."""
        partitions = any(fault.fault in NETWORK_FAULTS for fault in self.faults)
        return (
            self.network == "namespaces"
            or bool(self.regions or self.links)
            or (self.network == "auto" and partitions)
        )

    @model_validator(mode="after")
    def _has_nodes_with_a_size(self) -> Settings:
        if self.cores is not None or self.memory_bytes is not None:
            if self.external is not None:
                msg = "cores and memory of an external cluster's nodes can't be set"
                raise ValueError(msg)
            if self.database in IN_ENGINE:
                msg = f"{self.database} is inside the engine: it has no nodes with cores or memory"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _has_idle_states_to_disable(self) -> Settings:
        if self.no_idle_states and (self.external is not None or self.database in IN_ENGINE):
            message = "only a cluster that pacelc starts can have idle states disabled"
            raise _refused("no_idle_states", message, "leave it out, or say false")
        return self

    @property
    def cluster(self) -> tuple[str, int, int, tuple[tuple[str, str], ...]]:
        """What distinguishes clusters: database, nodes, replication, and all else of machines."""
        options = dict(self.cluster_options)
        others = {"regions", "client_region", "links", "network", "cores", "memory_bytes"}
        others |= {"sharding", "shards", "no_idle_states"}
        options |= self.model_dump(mode="json", include=others, exclude_defaults=True)
        if self.clients:
            options["clients"] = list[Json](sorted(self.clients))
        if self.asks_for_network:
            options["network"] = "namespaces"
        if self.external is not None:
            options["external"] = self.external.target()
        return (self.database, self.nodes, self.replication, _comparable(options))

    @property
    def next_needs_fresh_data(self) -> bool:
        """Whether the run after this one can't use what this one leaves behind."""
        # A node that was killed may have lost what it held in memory.
        return self.fresh != "changed" or self.workload.changes_data_set or bool(self.faults)

    @property
    def keeps_operations(self) -> bool:
        """Whether single operations are recorded."""
        return self.observe or self.keeps_all_operations

    @property
    def keeps_all_operations(self) -> bool:
        """Whether every one is: what a fault costs can't be told without."""
        return self.record_operations or bool(self.faults)

    @property
    def data_set(self) -> tuple[object, ...]:
        """What distinguishes loaded data sets: the records' form, and how a table is made."""
        return (*self.workload.record_form, _comparable(self.client_options))


def _refused(setting: str, message: str, hint: str) -> PydanticCustomError:
    """Return an error that is reported where ``setting`` was written, with a hint."""
    context = {"setting": setting, "message": message, "hint": hint}
    return PydanticCustomError(_REFUSED, "{message}", context)


def _comparable(options: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in options.items()))


class Leaf(NamedTuple):
    """One setting of a partial: its path in `Settings`, its value, where it was written."""

    path: tuple[str, ...]
    value: Json
    origin: Path


# Mappings of any names, which partials merge into; every other mapping (mix, distribution,
# consistency) is replaced as a whole, since merging {scan: 1} into the default mix
# {read: .95, update: .05} would not be a scan workload.
_OPEN = ("cluster_options", "client_options")
_WORKLOAD = "workload"
_NESTED: dict[str, type[BaseModel]] = {_WORKLOAD: Workload}
_SYNONYMS = {"duration": "measure"}


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def settable_names() -> dict[str, tuple[str, ...]]:
    """Return every name a setting goes by: ``workload.records``, ``records``, ``duration``."""
    names: dict[str, tuple[str, ...]] = {}
    for name in _names(Settings):
        names[name] = (name,)
        nested = _NESTED.get(name)
        if nested is None:
            continue
        for inner in _names(nested):
            names[f"{name}.{inner}"] = (name, inner)
            names.setdefault(inner, (name, inner))
    for synonym, name in _SYNONYMS.items():
        names[synonym] = (name,)
    return names


def settable_path(name: str) -> tuple[str, ...] | None:
    """Return the path of the setting called ``name``, or None if there is none."""
    first, dot, rest = name.partition(".")
    if first in _OPEN and dot and rest:
        return (first, rest)
    return settable_names().get(name)


def flatten(partial: object, origin: Path) -> list[Leaf]:
    """Return the leaves of a partial, written nested or with dotted names.

    Raises
    ------
    Problem
        If a name is no setting.
    """
    if not isinstance(partial, Mapping):
        raise Problem(origin, "should be settings ({name: value})")
    leaves: list[Leaf] = []
    for key, value in cast("Mapping[object, Json]", partial).items():
        name, here = str(key), (*origin, str(key))
        if name in _NESTED:
            leaves.extend(_nested_leaves(name, value, here))
        elif name in _OPEN:
            if not isinstance(value, Mapping):
                raise Problem(here, "should be a mapping")
            leaves.extend(
                Leaf((name, inner), inner_value, (*here, inner))
                for inner, inner_value in value.items()
            )
        else:
            path = settable_path(name)
            if path is None:
                raise Problem(here, f"there is no setting {named(name)!r}", _unknown_hint(name))
            leaves.append(Leaf(path, value, here))
    return leaves


def _nested_leaves(name: str, value: Json, here: Path) -> list[Leaf]:
    if isinstance(value, str):
        return [Leaf((name,), value, here)]
    if not isinstance(value, Mapping):
        raise Problem(here, f"should be a name or a mapping{instead(value)}")
    leaves: list[Leaf] = []
    for inner, inner_value in value.items():
        path = settable_path(f"{name}.{inner}")
        if path is None:
            hint = nearest(inner, _names(_NESTED[name]))
            raise Problem((*here, inner), f"{name} has no setting {named(inner)!r}", hint)
        leaves.append(Leaf(path, inner_value, (*here, inner)))
    return leaves


def _unknown_hint(name: str) -> str | None:
    whole = settable_path(name.rpartition(".")[0])
    if whole is not None:
        return f"set {'.'.join(whole)} as a whole"
    return nearest(name, [*settable_names(), *_NESTED])


def assemble(leaves: Iterable[Leaf]) -> Settings:
    """Return the settings that ``leaves`` make, later ones over earlier ones.

    Raises
    ------
    Problem
        At the place in the document that wrote the value that does not hold.
    """
    merged: dict[tuple[str, ...], Leaf] = {leaf.path: leaf for leaf in leaves}
    named = merged.pop((_WORKLOAD,), None)
    if named is not None:
        for leaf in _builtin_leaves(named):
            if leaf.path not in merged or _rank(merged[leaf.path]) < _rank(named):
                merged[leaf.path] = leaf
    document: dict[str, object] = {}
    nested: dict[str, dict[str, Json]] = {}
    for path, leaf in merged.items():
        if len(path) == 1:
            document[path[0]] = leaf.value
        else:
            nested.setdefault(path[0], {})[path[1]] = leaf.value
    document.update(nested)
    if "database" not in document:
        raise Problem(
            ("settings",),
            "no database is named",
            "add `database: redis` to settings, or a factor called database",
        )
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        raise _blame(error, merged) from None


def _builtin_leaves(named: Leaf) -> list[Leaf]:
    known = BUILTIN_WORKLOADS.get(str(named.value))
    if known is None:
        message = f"there is no workload {named.value!r}"
        raise Problem(named.origin, message, nearest(str(named.value), BUILTIN_WORKLOADS))
    return [Leaf((_WORKLOAD, name), value, named.origin) for name, value in known.items()]


def _rank(leaf: Leaf) -> int:
    """Return which place of the study wrote the leaf: its settings, a level, the nth override."""
    match leaf.origin:
        case ("overrides", int(index), *_):
            return 2 + index
        case ("factors" | "listed", *_):
            return 1
        case _:
            return 0


def _blame(error: ValidationError, merged: Mapping[tuple[str, ...], Leaf]) -> Problem:
    errors = error.errors()
    first = errors[0]
    # Of a union, pydantic reports every branch; the one that it got furthest into is the one that
    # was meant.
    same = [other for other in errors if other["loc"][:2] == first["loc"][:2]]
    deepest = max(same, key=lambda other: len(other["loc"]))
    place = tuple(str(part) for part in deepest["loc"])
    message, hint = tidy(deepest)
    if deepest["type"] == "extra_forbidden" and is_confidential(place):
        # It has a value for a name, or one that forgot its name.
        known = _names(ExternalTls if "tls" in place[:-1] else External)
        place, hint = place[:-1], nearest(place[-1], known)
    for length in range(len(place), 0, -1):
        leaf = merged.get(place[:length])
        if leaf is not None:
            # Pydantic names the branch of a union too ("Zipfian", "literal[…]", "[key]"): nothing a
            # user wrote.
            rest = [
                part
                for part in deepest["loc"][length : len(place)]
                if isinstance(part, int) or (part.islower() and part.isidentifier())
            ]
            return Problem((*leaf.origin, *rest), message, hint)
    setting = deepest.get("ctx", {}).get("setting")
    if deepest["type"] == _REFUSED and (leaf := merged.get((str(setting),))) is not None:
        return Problem(leaf.origin, message, hint)
    if not place and (leaf := merged.get(("replication",), merged.get(("nodes",)))) is not None:
        return Problem(leaf.origin, message, hint)
    return Problem(("settings", *place), message, hint)


def tidy(error: ErrorDetails) -> tuple[str, str | None]:
    """Return pydantic's message in the house's words with the value that caused it, and a hint."""
    kind, value = error["type"], error.get("input")
    if kind == _REFUSED:
        return error["msg"], str(error.get("ctx", {}).get("hint"))
    if kind == "value_error":
        return error["msg"].removeprefix("Value error, "), None
    text = error["msg"][:1].lower() + error["msg"][1:]
    text = text.removeprefix("input ")
    hint = None
    if kind == "literal_error" and isinstance(value, str):
        expected = re.findall(r"'([^']*)'", error["msg"])
        hint = nearest(value, expected)
        hint = hint if hint is not None and hint.startswith("did") else None
    if kind in _TELLS_NO_VALUE or is_confidential(error["loc"]):
        return text, hint
    return f"{text}{instead(value)}", hint
