"""``pacelc model check``: whether a network can be."""

from __future__ import annotations

from pacelc.cli.model.options import NetworkArgument, NetworkSetOption, milliseconds, network_named
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.names import counted

__all__ = ["check"]


def check(network: NetworkArgument, set_: NetworkSetOption = None) -> None:
    """Check a network: every mistake is named; demands and the solver that suits are shown.

    \b
    pacelc model check mine.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc import networks  # noqa: PLC0415 - data frames take long to import

    found = network_named(network, set_ or ())
    summary = networks.check(found)
    kinds = [
        (len(found.classes), "class", "classes"),
        (len(found.stations), "station", "stations"),
        (len(found.forks), "fork", "forks"),
    ]
    parts = [f"{n} {one if n == 1 else many}" for n, one, many in kinds if n]
    users = f", {counted(found.users, 'user')}" if found.users else ""
    put(f"{found.name or network}: {', '.join(parts)}{users}")
    put(
        f"solver: {summary.solver}"
        if summary.solver
        else f"only a simulation will do: {summary.unsuited}"
    )
    for chain in summary.chains:
        rows = [
            [station, f"{visits:.4g}", milliseconds(chain.demands_s[station])]
            for station, visits in chain.visits.items()
            if visits > 0
        ]
        header = ["station", "visits", "demand ms"]
        put(f"\nchain of {', '.join(chain.classes)}, in a cycle:")
        put(aligned(header, rows, right=header[1:]))
