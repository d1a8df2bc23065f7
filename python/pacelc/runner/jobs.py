"""Jobs of the engine: begun where clients are, waited for while the servers are watched.

Map
---
begin           start a job
drive           wait for it; whatever ends the waiting ends the job
NotBegun        the engine refused what it was told to do
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pacelc.runner.engine import is_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pacelc.runner.engine import Job
    from pacelc.runner.faults import FaultFollower
    from pacelc.runner.lab import RunningCluster

__all__ = ["NotBegun", "begin", "drive"]

# Often enough for a lively display and to notice a dead server within the second; rarely enough to
# cost the engine, which shares the processor, nothing that can be measured.
_POLL_S = 0.25
# While a schedule of faults waits to hear when measuring begins: the engine renews its answer every
# 0.1 s.
_WAIT_S = 0.02
_LET_END_S = 10.0


class NotBegun(Exception):  # noqa: N818 - it never leaves the runner
    """The engine refused the specification, so the cluster is as it was."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def begin(cluster: RunningCluster, start: Callable[[str], Job], spec: str) -> Job:
    """Start a job of the engine, whose threads stay where this one is: on the client's host.

    Raises
    ------
    NotBegun
        If the specification is refused. After any other error, such as of a network that is gone,
        nothing is known of the cluster.
    """
    try:
        return cluster.call(lambda: start(spec))
    except Exception as error:
        if is_refusal(error):
            raise NotBegun(error) from error
        raise


def drive(
    job: Job,
    cluster: RunningCluster,
    tell: Callable[[Mapping[str, Any]], None] = lambda _progress: None,
    follower: FaultFollower | None = None,
) -> str:
    """Wait for a job while its servers are watched; whatever ends the waiting ends the job.

    Parameters
    ----------
    tell
        Hears how far it has come, some times a second.
    follower
        Puts the run's faults into the cluster, and knows which servers are meant to be away.

    Returns
    -------
    str
        The job's result.
    """
    watched = cluster if follower is None else follower
    try:
        while not _wait(job, follower):
            watched.check()
            tell(job.progress())
    except BaseException:
        _end(job)
        raise
    watched.check()
    return job.result()


def _wait(job: Job, follower: FaultFollower | None) -> bool:
    """Wait for a job until it is time to look after its servers; True when it is done."""
    until_s = time.monotonic() + _POLL_S
    while follower is not None and follower.waits and time.monotonic() < until_s:
        if job.wait(_WAIT_S):
            return True
        follower.hear(job.progress())
    return job.wait(max(0.0, until_s - time.monotonic()))


def _end(job: Job) -> None:
    job.stop()
    try:
        job.wait(_LET_END_S)
    except Exception:  # noqa: BLE001 - what is already being raised explains more
        return
