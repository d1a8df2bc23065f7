"""``pacelc model simulate``: a network event by event, with intervals and percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.model.options import (
    NetworkArgument,
    NetworkSetOption,
    ReplicationsOption,
    SeedOption,
    milliseconds,
    network_named,
)
from pacelc.cli.model.solve import station_rows
from pacelc.cli.options import JsonOption, number, whole
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.names import counted

if TYPE_CHECKING:
    from pacelc.analysis.estimate import Estimate
    from pacelc.networks import Network
    from pacelc.networks.simulate import Simulated

__all__ = ["simulate"]

_WHY = {
    "precision": "the asked precision is reached",
    "events": "there were as many events as allowed",
    "not_steady": "no steady state was reached: means are of each replication's second half",
}


def simulate(  # noqa: PLR0917 - options of a command
    network: NetworkArgument,
    set_: NetworkSetOption = None,
    seed: SeedOption = 1,
    replications: ReplicationsOption = 10,
    precision: Annotated[
        float, number(help="Half-width of throughputs and responses, as a share of them.")
    ] = 0.01,
    tails: Annotated[
        bool, typer.Option("--tails", help="Go on until percentiles can be told, too.")
    ] = False,
    max_events: Annotated[int, whole(help="Visits to stations at most.")] = 200_000_000,
    as_json: JsonOption = False,
) -> None:
    """Simulate a network until its intervals are narrow enough.

    \b
    pacelc model simulate quorum-quorum --set users=50
    pacelc model simulate gandini-cassandra-4x4 --precision 0.002 --seed 7
    pacelc model simulate gandini-hbase-4 --tails
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.networks.simulate import simulate as run  # noqa: PLC0415 - as above

    found = network_named(network, set_ or ())
    result = run(
        found,
        seed=seed,
        replications=replications,
        precision=precision,
        tails=tails,
        max_events=max_events,
    )
    put(result.model_dump_json(indent=2, by_alias=True) if as_json else _text(found, result))


def _text(network: Network, result: Simulated) -> str:
    percents = [one.percent for one in result.percentiles[0].percentiles]
    header = ["class", "throughput/s", "response ms", *(f"p{percent:g} ms" for percent in percents)]
    rows: list[list[str]] = []
    for one in result.percentiles:
        throughput, response = result.class_estimates(one.class_name)
        if throughput is not None and throughput.value > 0:
            told = [
                milliseconds(p.response_s) if p.response_s is not None else "can't tell"
                for p in one.percentiles
            ]
            rows.append([one.class_name, _rate(throughput), _time(response), *told])
    stations = station_rows((r.name, r.utilisation, r.queue) for r in result.solution.stations)
    per_cent = f"{100 * result.confidence:g} %"
    return "\n".join(
        [
            (
                f"{network.name or 'network'}: {counted(result.replications, 'replication')}, "
                f"{counted(result.events, 'visit')}; {_WHY[result.stopped_by]}"
            ),
            f"[…] is a {per_cent} interval",
            "",
            aligned(header, rows, right=header[1:]),
            "",
            aligned(
                ["station", "utilisation", "customers"],
                stations,
                right=("utilisation", "customers"),
            ),
        ]
    )


def _rate(estimate: Estimate) -> str:
    return estimate.text()


def _time(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return estimate.scaled(1e3).text()
