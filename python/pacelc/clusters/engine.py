"""The load engine, for what clusters need of it.

It is loaded when it is needed: clusters can be described without one.

Map
---
load_engine     the compiled module, or one clear line
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pacelc.clusters.errors import ClusterError

__all__ = ["load_engine"]


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
