"""``pacelc model check``: whether a network can be."""

from __future__ import annotations

import typer

from pacelc.cli.model.options import NetworkArgument, NetworkSetOption  # noqa: TC001 - Typer reads

__all__ = ["check"]


def check(network: NetworkArgument, set_: NetworkSetOption = None) -> None:
    """Check a network: every mistake is named, and nothing is solved.

    \b
    pacelc model check mine.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc import models  # noqa: PLC0415 - data frames take long to import

    found = models.network_named(network, set_ or ())
    models.check(found)
    kinds = [
        (len(found.classes), "class", "classes"),
        (len(found.stations), "station", "stations"),
        (len(found.forks), "fork", "forks"),
    ]
    parts = [f"{n} {one if n == 1 else many}" for n, one, many in kinds if n]
    users = f", {found.users} users" if found.users else ""
    typer.echo(f"{found.name or network}: {', '.join(parts)}{users}: it can be solved or simulated")
