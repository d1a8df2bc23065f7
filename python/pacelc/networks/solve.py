"""What a network says: solved by the engine, with typed results and frames.

Map
---
check           what a network amounts to, or all that is wrong with it
solve           one network → :class:`Solution`
solve_all       many at once, in the engine's threads
bounds          what throughput and response can't cross
sweep           one network at several numbers of users → a frame
Solution        throughput, responses, queues, utilisations; by class, chain and station

Examples
--------
>>> from pacelc.networks import builtin, solve
>>> solution = solve(builtin("gandini-cassandra-1", ["users=30"]))   # doctest: +SKIP
>>> solution.throughput_per_s, solution.station_frame()              # doctest: +SKIP
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl
from pydantic import Field

from pacelc import _engine
from pacelc.errors import InputError, one_line
from pacelc.names import counted
from pacelc.networks.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pacelc.networks.network import Network

__all__ = [
    "Bounds",
    "ChainResult",
    "ChainSummary",
    "ClassResult",
    "Interval",
    "Refusal",
    "Solution",
    "StationResult",
    "Summary",
    "VisitResult",
    "asked",
    "bounds",
    "check",
    "solve",
    "solve_all",
    "sweep",
]


class ClassResult(Result):
    """Of one class of customers."""

    name: str
    throughput_per_s: float
    """Visits to the reference that end in this class; open: departures."""
    response_s: float | None
    """Mean time between such visits; None where siblings make it meaningless, or none come."""


class ChainResult(Result):
    """Of customers that become each other's classes."""

    classes: tuple[str, ...]
    throughput_per_s: float
    """Cycles completed; open: stays."""
    response_s: float
    """Mean time from leaving the reference to coming back; open: from arrival to departure."""


class VisitResult(Result):
    """Of one class at one station."""

    class_: Annotated[str, Field(alias="class")]
    throughput_per_s: float
    response_s: float
    """Mean time of a visit, waiting included; 0 where there are none."""
    queue: float
    utilisation: float


class StationResult(Result):
    """Of one station."""

    name: str
    utilisation: float
    """Share of its servers that are busy; of a delay station the mean number of customers."""
    queue: float
    """Mean number of customers there, waiting or served."""
    classes: tuple[VisitResult, ...]


class ChainSummary(Result):
    """What customers of a chain ask for."""

    classes: tuple[str, ...]
    users: int
    arrivals_per_s: float
    visits: dict[str, float]
    """Station → mean visits in a cycle, those of siblings too."""
    demands_s: dict[str, float]
    """Station → service in a cycle."""


class Summary(Result):
    """What a network amounts to."""

    chains: tuple[ChainSummary, ...]
    solver: str | None
    """The one that suits; None if only a simulation will do."""
    unsuited: str | None
    """Why none suits."""


class Refusal(Result):
    """Why a network wasn't solved."""

    error: str
    """One of invalid, unsuited, diverges."""
    message: str


class Interval(Result):
    """From least to most."""

    least: float
    most: float


class Bounds(Result):
    """Of one chain."""

    classes: tuple[str, ...]
    throughput_per_s: Interval
    response_s: Interval
    balanced: bool
    """Whether they are balanced job bounds; else asymptotic."""
    bottleneck: str
    """The station that limits throughput, with enough users."""


class Solution(Result):
    """A solved network."""

    solver: str
    exact: bool
    """Whether it is the model's exact solution, but for rounding."""
    assumes: tuple[str, ...]
    """What is assumed that the network doesn't say."""
    classes: tuple[ClassResult, ...]
    chains: tuple[ChainResult, ...]
    stations: tuple[StationResult, ...]

    @property
    def throughput_per_s(self) -> float:
        """Cycles of all chains."""
        return sum(chain.throughput_per_s for chain in self.chains)

    @property
    def response_s(self) -> float:
        """Mean response over all chains."""
        total = sum(chain.throughput_per_s * chain.response_s for chain in self.chains)
        return total / self.throughput_per_s if self.throughput_per_s else 0.0

    def of_class(self, name: str) -> ClassResult:
        """Return the result of a class.

        Raises
        ------
        KeyError
            There is none.
        """
        for result in self.classes:
            if result.name == name:
                return result
        raise KeyError(name)

    def station(self, name: str) -> StationResult:
        """Return the result of a station.

        Raises
        ------
        KeyError
            There is none.
        """
        for result in self.stations:
            if result.name == name:
                return result
        raise KeyError(name)

    def class_frame(self) -> pl.DataFrame:
        """Return one row a class."""
        return pl.DataFrame(
            [result.model_dump() for result in self.classes],
            schema={
                "name": pl.String,
                "throughput_per_s": pl.Float64,
                "response_s": pl.Float64,
            },
        )

    def station_frame(self) -> pl.DataFrame:
        """Return one row a station."""
        columns = {"name": pl.String, "utilisation": pl.Float64, "queue": pl.Float64}
        rows = [result.model_dump(include=set(columns)) for result in self.stations]
        return pl.DataFrame(rows, schema=columns)

    def visit_frame(self) -> pl.DataFrame:
        """Return one row a station and class that comes there."""
        rows = [
            {"station": station.name, **visit.model_dump(by_alias=True)}
            for station in self.stations
            for visit in station.classes
            if visit.throughput_per_s > 0
        ]
        columns = dict.fromkeys(
            ("throughput_per_s", "response_s", "queue", "utilisation"), pl.Float64
        )
        return pl.DataFrame(rows, schema={"station": pl.String, "class": pl.String, **columns})


def asked(door: Callable[..., Any], *arguments: object) -> Any:
    """Return what the engine answers; its refusals become :class:`InputError`."""
    try:
        return door(*arguments)
    except (_engine.EngineError, ValueError) as error:
        raise InputError(one_line(error), getattr(error, "hint", None) or None) from None


def check(network: Network) -> Summary:
    """Return what a network amounts to; refuse it if something is wrong.

    Raises
    ------
    InputError
        With everything that is wrong, each named.
    """
    return Summary.model_validate_json(asked(_engine.check_network, network.to_json()))


def solve(network: Network, solver: str | None = None) -> Solution:
    """Solve a network.

    Parameters
    ----------
    network
        Which.
    solver
        Its name; the one that suits the network best, unless given.

    Raises
    ------
    InputError
        The network can't be, the solver doesn't suit it, or there is no steady state; the message
        says which.
    """
    return Solution.model_validate_json(asked(_engine.solve_network, network.to_json(), solver))


def solve_all(networks: Iterable[Network], solver: str | None = None) -> list[Solution | Refusal]:
    """Solve many networks on all processors, each by the solver that suits it unless one is named.

    None of them stops the others: one that can't be solved has a :class:`Refusal` in its place.
    """
    answers = _engine.solve_networks([network.to_json() for network in networks], solver)
    return [
        Refusal.model_validate(found) if "error" in found else Solution.model_validate(found)
        for found in map(json.loads, answers)
    ]


def bounds(network: Network) -> tuple[Bounds, ...]:
    """Return what throughput and response of each chain can't cross.

    Raises
    ------
    InputError
        The network can't be, or has none: its customers split, or are open.
    """
    answer: list[object] = json.loads(asked(_engine.bound_network, network.to_json()))
    return tuple(Bounds.model_validate(one) for one in answer)


def sweep(network: Network, users: Sequence[int], solver: str | None = None) -> pl.DataFrame:
    """Solve a network at several numbers of users.

    Returns
    -------
    DataFrame
        ``users, throughput_per_s, response_s``, both by class (``read.throughput_per_s`` …), and
        how each was solved: ``solver, exact, assumes``, with semicolons between assumptions.

    Raises
    ------
    InputError
        The network has no users, or can't be solved.
    """
    rows: list[dict[str, object]] = []
    answers = solve_all([network.with_users(count) for count in users], solver)
    for count, solution in zip(users, answers, strict=True):
        if isinstance(solution, Refusal):
            raise InputError(f"{counted(count, 'user')}: {solution.message}")
        row: dict[str, object] = {
            "users": count,
            "throughput_per_s": solution.throughput_per_s,
            "response_s": solution.response_s,
        }
        for result in solution.classes:
            if result.throughput_per_s > 0:
                row[f"{result.name}.throughput_per_s"] = result.throughput_per_s
                row[f"{result.name}.response_s"] = result.response_s
        how = {
            "solver": solution.solver,
            "exact": solution.exact,
            "assumes": "; ".join(solution.assumes),
        }
        rows.append(row | how)
    return pl.DataFrame(rows, infer_schema_length=None)
