"""Runs studies: cluster up, load, warm-up, measure, store, cluster down; and again after a crash.

Start here: `run_study`, whose docstring lists the steps.

Map
---
lifecycle       the steps, in one function
lab             engine, clusters and sampling behind small interfaces
faults          a run's schedule of faults, followed
engine          the load engine as the runner sees it
reading         one reading of the kernel's accounting
resources       the kernel's accounting of servers and load generator, as a frame
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
    from pacelc.runner.lab import Lab, LocalLab
    from pacelc.runner.lifecycle import Summary, run_planned, run_study

__all__ = ["Interrupted", "Lab", "LocalLab", "Summary", "interruptible", "run_planned", "run_study"]

# Looked up when first used: who asks for help need not wait for drivers and data frames.
_HOME = {
    "Interrupted": "interruption",
    "interruptible": "interruption",
    "Lab": "lab",
    "LocalLab": "lab",
    "Summary": "lifecycle",
    "run_planned": "lifecycle",
    "run_study": "lifecycle",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
