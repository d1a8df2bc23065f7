"""Measure what consistency costs you, what it really buys you, and how many nodes it takes.

``pacelc`` runs studies on real clusters of Cassandra, MongoDB, Redis and HBase, each operation at a
chosen consistency level, and keeps runs that can be opened in any tool.

Start here: ``pacelc run quickstart`` on the command line; in Python, `run` for a study, `load` for
its results.

Map
---
study       what is asked: factors, levels, workload, repetitions
clusters    the servers under test
runner      runs a study: cluster up, load, warm-up, measure, store, cluster down
store       run directories
analysis    estimates, effects and tests from stored runs
report      tables and figures
cli         the command line
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from pacelc.errors import CannotRun, InputError, PacelcError

if TYPE_CHECKING:
    from pacelc.runner.run import run
    from pacelc.store import Results, load
    from pacelc.study import Study

__all__ = [
    "CannotRun",
    "InputError",
    "PacelcError",
    "Results",
    "Study",
    "__version__",
    "load",
    "run",
]

try:
    __version__ = metadata.version("pacelc")
except metadata.PackageNotFoundError:
    __version__ = "0+unknown"

# Looked up when first used: `pacelc --help` need not wait for data frames.
_LAZY = {
    "load": "pacelc.store",
    "Results": "pacelc.store",
    "run": "pacelc.runner.run",
    "Study": "pacelc.study",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
