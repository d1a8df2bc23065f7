"""The load engine, for what clusters need of it.

It is loaded when it is needed: clusters can be described without one.

Map
---
load_engine     the compiled module, or one clear line
engine_command  a process that calls one of its functions, and has nothing else of pacelc
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from pacelc.clusters.errors import ClusterError

__all__ = ["engine_command", "load_engine"]

# The engine alone, straight from its file: importing pacelc would take longer than making a
# network, and its memory would be that process's.
_CALL = """
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
loader = ExtensionFileLoader("_engine", sys.argv[1])
engine = module_from_spec(spec_from_loader("_engine", loader))
loader.exec_module(engine)
try:
    {call}
except engine.EngineError as error:
    sys.exit(f"error: {{error}}")
"""


def load_engine(what: str) -> Any:
    """Return the compiled engine.

    Parameters
    ----------
    what
        What it is needed for.

    Raises
    ------
    ClusterError
        This installation has none.
    """
    try:
        return import_module("pacelc._engine")
    except ImportError as error:
        raise ClusterError(
            f"{what} is part of the load engine, which is missing: {error}",
            hint="install the wheel, or build it with `make`",
        ) from error


def engine_command(call: str, *arguments: str) -> list[str]:
    """Return the command line of a process that makes one call of the engine.

    Parameters
    ----------
    call
        A line in which ``engine`` is the engine, and ``sys.argv[2:]`` are the arguments. What goes
        wrong in the engine is one line on the process's standard error.
    """
    engine = str(load_engine("a process of the cluster's own").__file__)
    return [sys.executable, "-I", "-S", "-c", _CALL.format(call=call), engine, *arguments]
