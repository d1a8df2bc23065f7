"""Clusters of the user's: nothing is started, stopped or looked into; they are only spoken to.

What pacelc can't know of such a cluster, it says so: there are no rows of its servers' processor
and memory, and its version is known only if the server tells it to this user.

Map
---
ExternalCluster     what the runner needs of a cluster
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

T = TypeVar("T")

__all__ = ["ExternalCluster"]


@dataclass(frozen=True)
class ExternalCluster:
    """Servers that somebody else runs.

    Parameters
    ----------
    description
        What the engine is told: where they are, how to get in (references to secrets, no secrets).
    version
        What the server says that it is; None where it doesn't say.
    """

    description: Mapping[str, Any]
    version: str | None
    processes: tuple[()] = field(default=(), init=False)
    """None that the kernel here could account for."""
    injector: None = field(default=None, init=False)
    """Nothing puts faults into servers of somebody else's."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Of the database, and that its servers are not pacelc's."""
        return {self.description["database"]: self.version or "unknown", "source": "external"}

    def target(self) -> Mapping[str, Any]:
        """Return what the engine is told."""
        return self.description

    def clients(self) -> tuple[()]:
        """Return nothing: its network isn't emulated, so users are where this machine is."""
        return ()

    def call(self, work: Callable[[], T]) -> T:
        """Call a function: they are reached through this machine's network."""
        return work()

    def record(self) -> Mapping[str, Any]:
        """Return nothing: what they are is theirs to know."""
        return {}

    def resize(self, settings: object, tell: object) -> bool:  # noqa: ARG002 -- the runner's interface
        """Do nothing: it has as many nodes as it has."""
        return False

    def sizes(self) -> Mapping[str, Any]:
        """Return nothing: its machines are as large as they are."""
        return {}

    def unlimited(self) -> AbstractContextManager[object]:
        """Return nothing to enter: nobody here limits them."""
        return nullcontext()

    def check(self) -> None:
        """Nothing: servers that end show in the operations' outcomes."""

    def log_tail(self) -> str:
        """Return nothing: the logs are where the servers are."""
        return ""
