"""Throughput and latencies over users, by solver and by simulation: what figures are drawn from.

Map
---
predictions     networks → a frame with a row for each point
FIGURES         figures 8 to 10 of Gandini et al. 2014, as sets of networks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from pacelc.errors import InputError
from pacelc.networks.simulate import MAX_EVENTS, simulate
from pacelc.networks.solve import Refusal, solve_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pacelc.networks.network import Network
    from pacelc.networks.simulate import Simulated
    from pacelc.networks.solve import Solution

__all__ = ["FIGURES", "SIMULATED_USERS", "predictions"]

FIGURES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "gandini-figure-8": (
        "One node",
        ("gandini-cassandra-1", "gandini-mongodb-1", "gandini-hbase-1"),
    ),
    "gandini-figure-9": (
        "Four nodes, one copy",
        ("gandini-cassandra-4", "gandini-mongodb-4", "gandini-hbase-4"),
    ),
    "gandini-figure-10": (
        "Four nodes, four copies",
        ("gandini-cassandra-4x4", "gandini-mongodb-4x4"),
    ),
}
"""Name → title, networks."""

SIMULATED_USERS: Final = (1, 5, 10, 15, 20, 25, 30)
"""Where figures show a simulation beside the solution."""

_SCHEMA: Final = {
    "panel": pl.String,
    "series": pl.String,
    "source": pl.String,
    "x": pl.Float64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
_THROUGHPUT: Final = "throughput (operations/s)"
_MS_PER_S: Final = 1e3


def predictions(
    networks: Mapping[str, Network],
    users: Sequence[int],
    simulated_users: Sequence[int] = (),
    *,
    seed: int = 1,
    precision: float = 0.02,
    max_events: int = MAX_EVENTS,
) -> pl.DataFrame:
    """Solve networks at several numbers of users, and simulate some.

    Parameters
    ----------
    networks
        Series → network.
    users, simulated_users
        Where each is solved; where it is simulated.
    seed, precision, max_events
        Of each simulation.

    Returns
    -------
    DataFrame
        ``panel, series, source, x, value, low, high``: throughput a second, and mean latency by
        class in milliseconds; ``source`` is ``solver`` or ``simulation``, and a simulation's points
        have 95 % intervals.

    Raises
    ------
    InputError
        A network has no users, or can neither be solved nor simulated.
    """
    rows: list[tuple[object, ...]] = []
    for series, network in networks.items():
        answers = solve_all([network.with_users(count) for count in users])
        refusals = [answer for answer in answers if isinstance(answer, Refusal)]
        if refusals and not simulated_users:
            raise InputError(f"{series}: {refusals[0].message}", "simulate it")
        for count, answer in zip(users, answers, strict=True):
            if not isinstance(answer, Refusal):
                rows += _solved(series, count, answer)
        for count in simulated_users:
            result = simulate(
                network.with_users(count), seed=seed, precision=precision, max_events=max_events
            )
            rows += _simulated(series, count, result)
    order = {name: i for i, name in enumerate(dict.fromkeys(str(row[0]) for row in rows))}
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    place = pl.col("panel").replace_strict(order, return_dtype=pl.Int64)
    return frame.sort(place, maintain_order=True)


def _solved(series: str, count: int, solution: Solution) -> Iterator[tuple[object, ...]]:
    yield _THROUGHPUT, series, "solver", count, solution.throughput_per_s, None, None
    for one in solution.classes:
        if one.throughput_per_s > 0 and one.response_s is not None:
            value = one.response_s * _MS_PER_S
            yield f"mean {one.name} latency (ms)", series, "solver", count, value, None, None


def _simulated(series: str, count: int, result: Simulated) -> Iterator[tuple[object, ...]]:
    total = result.throughput_per_s
    if total is not None:
        yield _THROUGHPUT, series, "simulation", count, total.value, total.low, total.high
    for one in result.solution.classes:
        rate, response = result.class_estimates(one.name)
        if rate is not None and rate.value > 0 and response is not None:
            in_ms = response.scaled(_MS_PER_S)
            panel = f"mean {one.name} latency (ms)"
            yield panel, series, "simulation", count, in_ms.value, in_ms.low, in_ms.high
