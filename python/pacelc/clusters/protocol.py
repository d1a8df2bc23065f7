"""What a database's file implements (`Database`), and what it is given to do so (`Forming`).

What is true of a database whoever runs it is in `pacelc.databases`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from pacelc.clusters.software.fetch import Tell
    from pacelc.clusters.spec import ClusterSpec, NodePlan, Server


@dataclass(frozen=True)
class Software:
    """Programs to run a cluster with, and what they are.

    Parameters
    ----------
    command
        The start of every server's command line.
    versions
        What is recorded with the run: the database's version under its own name, ``source``, and
        what else matters.
    """

    command: tuple[str, ...]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Records:
    """What a cluster is to hold, for the estimate of its memory."""

    count: int = 0
    fields: int = 0
    field_bytes: int = 0


@dataclass(frozen=True)
class Memory:
    """What a cluster's servers take under load, once heaps and caches are full.

    Parameters
    ----------
    node_bytes
        Of each node whose memory isn't limited.
    smaller
        What to ask for instead, to need less: completes "take …".
    coordination_bytes
        Of further servers, which are on the first node.
    records_bytes
        Of a node's, what the records take; 0 where they needn't be in memory.
    """

    node_bytes: int
    smaller: str
    coordination_bytes: int = 0
    records_bytes: int = 0


class Forming(Protocol):
    """A cluster whose servers have been started, while they come to serve."""

    @property
    def plans(self) -> Sequence[NodePlan]:
        """The nodes, in the order they were planned."""
        ...

    def until(self, what: str, done: Callable[[], bool], *, blame: str | None = None) -> None:
        """Wait until `done` says so; an `OSError` from it means: not yet.

        Parameters
        ----------
        what
            Completes "waiting until …"; told in the error when time is up.
        done
            Asked again and again; must not take longer than a few seconds.
        blame
            Node whose log explains a failure, where known.

        Raises
        ------
        NodeDied, StartError
            A server ended meanwhile, or time is up.
        """
        ...

    def log_text(self, name: str) -> str:
        """All that a node has logged so far."""
        ...


class Database(Protocol):
    """What pacelc must know of a database to run clusters of it.

    `pacelc.clusters.open_cluster` calls `software`, `plan`, `serve`, in this order; `target` any
    time after `plan`.
    """

    @property
    def name(self) -> str:
        """Name in studies and on the command line."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """Options beside the common ones, each with one line about it."""
        ...

    @property
    def resizable(self) -> bool:
        """Whether nodes that come or go leave a cluster as one started with as many would be."""
        ...

    def validate(self, spec: ClusterSpec) -> None:
        """Refuse a shape or an option that this database can't have, with `SpecError`."""
        ...

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """Find the programs, or fetch them."""
        ...

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """Name every process; nothing is started or written yet."""
        ...

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:
        """Return when every node is in and a write at the strongest level has been acknowledged."""
        ...

    def memory(self, spec: ClusterSpec, records: Records) -> Memory:
        """Return what its servers take, with so many records."""
        ...

    def leader(self, nodes: Sequence[Server], silent: Collection[str]) -> str | None:
        """Return which of the nodes that hold records leads now; None while none does.

        Parameters
        ----------
        nodes
            All of them, in the order in which they were planned.
        silent
            Those that can't answer: asking them would only take long.
        """
        ...

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:
        """Give what the engine's binding needs beside the endpoints: JSON-able, may be empty."""
        ...
