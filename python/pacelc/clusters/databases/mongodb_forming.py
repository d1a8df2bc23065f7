"""MongoDB's servers, started, become replica sets, and the shards of a router.

Several sets form at once: each step is asked of all of them together, until all have done it.

Map
---
FormingSet              a set whose members run
form                    initiated, elected, all members in
shard                   the sets become shards of a router
write_everywhere        a write that all members of a set have in their journals
command                 an administrative command to one server
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pymongo
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.clusters.protocol import Forming
    from pacelc.clusters.spec import Endpoint, NodePlan

__all__ = ["FormingSet", "command", "form", "on_each", "shard", "write_everywhere"]

TIMEOUT_MS = 2000
ALREADY_INITIALIZED = 23
AT_ONCE = 8
"""Sets that are spoken to at the same time."""
Document = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class FormingSet:
    """A set whose members run.

    Parameters
    ----------
    document
        Its configuration.
    plans
        Its members, in the configuration's order.
    first
        The one to be the primary.
    """

    document: Document
    plans: tuple[NodePlan, ...]
    first: NodePlan

    @property
    def address(self) -> str:
        """The set's name and members, as routers are told of it."""
        return f"{self.document['_id']}/{','.join(str(plan.endpoint) for plan in self.plans)}"

    @property
    def states(self) -> list[str]:
        """What the members are while all is well."""
        return ["PRIMARY" if plan == self.first else "SECONDARY" for plan in self.plans]


def form(forming: Forming, sets: Sequence[FormingSet]) -> None:
    """Initiate the sets, and await their members."""
    name = (
        "the replica set" if len(sets) == 1 else f"each of the {counted(len(sets), 'replica set')}"
    )
    blame = sets[0].first.name
    forming.until(
        f"{name} is initiated",
        lambda: on_each(lambda s: initiate(s.first.endpoint, s.document), sets),
        blame=blame,
    )
    # Asked, a member stands for election at once; left alone, it waits ten seconds
    # (electionTimeoutMillis) first.
    forming.until(
        f"the first choice of {name} is elected",
        lambda: on_each(stand_for_election, sets),
        blame=blame,
    )
    forming.until(
        f"all members of {name} are PRIMARY or SECONDARY, the first choice PRIMARY",
        lambda: on_each(lambda s: member_states(s.first.endpoint) == s.states, sets),
        blame=blame,
    )


def shard(forming: Forming, router: NodePlan, sets: Sequence[FormingSet]) -> None:
    """Have the sets be the shards of a router, which leaves records where they are put."""

    def ask(what: str, name: str, value: object = 1) -> None:
        forming.until(what, lambda: routed(router.endpoint, name, value), blame=router.name)

    ask(f"{router.name} answers", "ping")
    for replica_set in sets:
        ask(f"{replica_set.document['_id']} is a shard", "addShard", replica_set.address)
    ask("the balancer is off", "balancerStop")


def routed(endpoint: Endpoint, name: str, value: object) -> bool:
    """Run an administrative command by a router, which may not know of all primaries yet."""
    try:
        return bool(command(endpoint, name, value))
    except OperationFailure as error:
        raise ConnectionError(str(error)) from error


def on_each(ask: Callable[[T], bool], those: Sequence[T]) -> bool:
    """Ask all at the same time; whether all say yes."""
    if len(those) == 1:
        return ask(those[0])
    with ThreadPoolExecutor(min(AT_ONCE, len(those))) as pool:
        return all(list(pool.map(ask, those)))


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


def initiate(endpoint: Endpoint, document: Document) -> bool:
    """Form the set; asking twice is no error."""
    try:
        command(endpoint, "replSetInitiate", document)
    except OperationFailure as error:
        return error.code == ALREADY_INITIALIZED
    return True


def stand_for_election(replica_set: FormingSet) -> bool:
    """Have the first choice elected; it may be refused until the others have heard of the set."""
    endpoint = replica_set.first.endpoint
    try:
        command(endpoint, "replSetStepUp")
    except OperationFailure:
        states = member_states(endpoint)
        return bool(states) and states[replica_set.plans.index(replica_set.first)] == "PRIMARY"
    return True


def member_states(endpoint: Endpoint) -> list[str]:
    """Return what each member says it is, in the order of the nodes."""
    try:
        status = command(endpoint, "replSetGetStatus")
    except OperationFailure:
        return []
    return [str(member["stateStr"]) for member in status["members"]]


def write_everywhere(endpoint: Endpoint, members: int) -> bool:
    """Write once so that every member has it in its journal, and take it away again."""
    try:
        with client(endpoint) as connection:
            collection = connection["pacelc_probe"].get_collection(
                "probe", write_concern=WriteConcern(w=members, j=True, wtimeout=TIMEOUT_MS)
            )
            collection.insert_one({"probe": 1})
            connection.drop_database("pacelc_probe")
    except PyMongoError as error:
        raise ConnectionError(str(error)) from error
    return True
