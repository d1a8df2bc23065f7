"""A cluster that serves, from its start to its end: timed, and told to whoever watches.

Map
---
serving         a context in which the cluster of some settings serves
Serving         that cluster; it may become the one of other settings
NeverServed     it could not be started
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pacelc.runner import events
from pacelc.runner.record import explain

if TYPE_CHECKING:
    from collections.abc import Generator

    from pacelc.runner.invocation import Invocation
    from pacelc.runner.lab import RunningCluster
    from pacelc.study import Settings

__all__ = ["NeverServed", "Serving", "serving"]


class NeverServed(Exception):  # noqa: N818 - it never leaves the runner
    """A cluster could not be started."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass
class Serving:
    """A cluster that serves."""

    invocation: Invocation
    key: str
    """Of the runs that it is there for."""
    cluster: RunningCluster
    nodes: int
    started_utc: datetime | None
    """When it was started: no two clusters of a results directory have this in common. None of an
    external one, which was there before."""
    nodes_before: list[int] = field(default_factory=list[int])
    """How many it had before it grew or shrank, each time."""

    def becomes(self, key: str, settings: Settings) -> bool:
        """Whether it has grown or shrunk into the cluster of other settings."""
        start_utc, begin_s = datetime.now(UTC), time.monotonic()
        try:
            if not self.cluster.resize(settings, self.invocation.tell):
                return False
        except Exception as error:  # noqa: BLE001 - whatever it is, a new cluster is started
            self.invocation.warn(f"the cluster can't be resized: {explain(error).reason}")
            return False
        seconds = time.monotonic() - begin_s
        self.invocation.account.add("cluster-up", start_utc, seconds)
        self.invocation.observe(events.ClusterStarting(key, settings.database, settings.nodes))
        self.tell_up(key, settings, seconds)
        self.nodes_before.append(self.nodes)
        self.nodes = settings.nodes
        self.key = key
        return True

    def tell_up(self, key: str, settings: Settings, seconds: float) -> None:
        """Tell that it has come to serve, and how long that took."""
        versions = dict(self.cluster.versions)
        self.invocation.observe(events.ClusterUp(key, settings.database, seconds, versions))


@contextmanager
def serving(invocation: Invocation, key: str, settings: Settings) -> Generator[Serving]:
    """Start the cluster of ``settings``, and end it in every case.

    Raises
    ------
    NeverServed
        If it could not be started.
    """
    invocation.observe(events.ClusterStarting(key, settings.database, settings.nodes))
    started_utc, begin_s = datetime.now(UTC), time.monotonic()
    up: Serving | None = None
    down: tuple[datetime, float] | None = None
    try:
        with ExitStack() as servers:
            try:
                with invocation.account.activity("cluster-up"):
                    cluster: RunningCluster = servers.enter_context(
                        invocation.lab.open_cluster(settings, invocation.tell)
                    )
            except Exception as error:
                raise NeverServed(error) from error
            seconds = time.monotonic() - begin_s
            invocation.forecast.cluster_took(settings.database, seconds)
            begun_utc = started_utc if settings.external is None else None
            up = Serving(invocation, key, cluster, settings.nodes, begun_utc)
            up.tell_up(key, settings, seconds)
            try:
                yield up
            finally:
                down = datetime.now(UTC), time.monotonic()
    finally:
        # When the servers are gone, and under the key that the cluster had last.
        if up is not None and down is not None:
            start_utc, begin_s = down
            seconds = time.monotonic() - begin_s
            invocation.account.add("cluster-down", start_utc, seconds)
            invocation.observe(events.ClusterDown(up.key, seconds))
