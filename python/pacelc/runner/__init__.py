"""Runs studies: cluster up, load, warm-up, measure, store, cluster down; and again after a crash.

Start here: `run_study`, whose docstring lists the steps.

Map
---
run             ``pacelc.run``: a study, from Python
apart           the same in a process of its own, where an ordinary user may have networks
lifecycle       the steps, in their order; each step is a file:
serving         a cluster up, grown or shrunk, down
loading         a fresh data set
measuring       burn-in, warm-up, measuring
faults          a run's schedule of faults, followed
after_faults    the cluster waited for, and what was written read back
keeping         a run stored, a failure recorded

invocation      what the steps share: what is planned and done, who hears of it, where time goes
jobs            the engine's jobs, waited for while the servers are watched
lab             engine, clusters and sampling behind small interfaces
engine          the load engine as the runner sees it
load_checkpoint how far the load of a cluster of the user's has come
reading         one reading of the kernel's accounting
resources       the kernel's accounting of servers and load generator, as a frame
operations      single operations, from the engine's rows to Parquet
read_back       what reading back has found, as a frame and as part of the record
record          what is kept of a run, and of a failure
account         where the time went; how much is left
events          what whoever watches hears
metrics         the same, for Prometheus
interruption    Ctrl-C and SIGTERM
machine         what a run was measured on
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pacelc.runner.interruption import Interrupted, interruptible
    from pacelc.runner.invocation import Summary
    from pacelc.runner.lab import Lab, LocalLab
    from pacelc.runner.lifecycle import run_planned, run_study

__all__ = ["Interrupted", "Lab", "LocalLab", "Summary", "interruptible", "run_planned", "run_study"]

# Looked up when first used: who asks for help need not wait for drivers and data frames.
_HOME = {
    "Interrupted": "interruption",
    "interruptible": "interruption",
    "Lab": "lab",
    "LocalLab": "lab",
    "Summary": "invocation",
    "run_planned": "lifecycle",
    "run_study": "lifecycle",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
