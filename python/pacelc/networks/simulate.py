"""What a simulation of a network found: means with intervals, percentiles, why it ended.

Start here: :func:`simulate`, :class:`Simulated`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from pydantic import Field

from pacelc import _engine
from pacelc.analysis.estimate import Estimate, positive_ends
from pacelc.networks.result import Result
from pacelc.networks.solve import asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pacelc.networks.network import Network

__all__ = [
    "MAX_EVENTS",
    "PERCENTILES",
    "ChainMean",
    "ClassMean",
    "ClassPercentiles",
    "Means",
    "Percentile",
    "Simulated",
    "StationMean",
    "VisitMean",
    "simulate",
    "with_ends",
]

PERCENTILES = (50.0, 95.0, 99.0)
"""Those that are asked for unless said otherwise."""
MAX_EVENTS = 200_000_000
"""Visits to stations, in all replications, after which a simulation ends in any case."""
_METHOD = "t over independent replications"


class ClassMean(Result):
    """Of one class of customers."""

    name: str
    throughput_per_s: float | None
    response_s: float | None


class ChainMean(Result):
    """Of customers that become each other's classes."""

    classes: tuple[str, ...]
    throughput_per_s: float | None
    response_s: float | None
    """Of cycles that end."""


class VisitMean(Result):
    """Of one class at one station."""

    class_: Annotated[str, Field(alias="class")]
    throughput_per_s: float | None
    response_s: float | None
    """Of a visit, waiting included; 0 where there are none."""
    queue: float | None
    utilisation: float | None


class StationMean(Result):
    """Of one station."""

    name: str
    utilisation: float | None
    queue: float | None
    classes: tuple[VisitMean, ...]


class Means(Result):
    """Means over replications, or halves of their intervals."""

    classes: tuple[ClassMean, ...]
    chains: tuple[ChainMean, ...]
    stations: tuple[StationMean, ...]


class Percentile(Result):
    """A percentile of a class' responses."""

    percent: float
    response_s: float | None
    """None where too few responses lie beyond it to tell."""
    half_width_s: float | None

    @property
    def ends_s(self) -> tuple[float, float] | tuple[None, None]:
        """Ends of the interval; None where it isn't known."""
        if self.response_s is None or self.half_width_s is None:
            return None, None
        return positive_ends(self.response_s, self.half_width_s)


class ClassPercentiles(Result):
    """Of the times of cycles that end in a class."""

    class_name: Annotated[str, Field(alias="class")]
    percentiles: tuple[Percentile, ...]


class Simulated(Result):
    """A simulated network."""

    solution: Means
    half_widths: Means
    confidence: float
    precision: float
    """The largest half-width of a throughput or response, as a share of it."""
    stopped_by: Literal["precision", "events", "not_steady"]
    percentiles: tuple[ClassPercentiles, ...]
    replications: int
    warm_up_s: float | None
    """Cut off at the beginning of each replication; None if no steady state was reached."""
    run_s: float
    events: int
    """Visits to stations completed in all replications."""

    def _estimate(self, mean: float | None, half_width: float | None) -> Estimate | None:
        if mean is None:
            return None
        ends = (None, None) if half_width is None else positive_ends(mean, half_width)
        return Estimate(mean, *ends, self.replications, self.confidence, _METHOD)

    @property
    def throughput_per_s(self) -> Estimate | None:
        """Cycles of all chains; with an interval where there is one chain."""
        chains = self.solution.chains
        if len(chains) == 1:
            return self._estimate(
                chains[0].throughput_per_s, self.half_widths.chains[0].throughput_per_s
            )
        return self._estimate(sum(chain.throughput_per_s or 0.0 for chain in chains), None)

    def class_estimates(self, name: str) -> tuple[Estimate | None, Estimate | None]:
        """Return throughput a second and response in seconds of a class.

        Raises
        ------
        KeyError
            There is none.
        """
        for mean, width in zip(self.solution.classes, self.half_widths.classes, strict=True):
            if mean.name == name:
                return (
                    self._estimate(mean.throughput_per_s, width.throughput_per_s),
                    self._estimate(mean.response_s, width.response_s),
                )
        raise KeyError(name)

    def class_frame(self) -> pl.DataFrame:
        """Return one row a class: throughput, response and percentiles, each with its interval.

        ``name, throughput_per_s, throughput_per_s_low, throughput_per_s_high, response_s, …, p99_s,
        …``; null where it can't be told.
        """
        rows: list[dict[str, object]] = []
        percentiles = {one.class_name: one.percentiles for one in self.percentiles}
        for mean, width in zip(self.solution.classes, self.half_widths.classes, strict=True):
            told = with_ends(mean, width, ("throughput_per_s", "response_s"))
            for one in percentiles.get(mean.name, ()):
                told |= _ends(f"p{one.percent:g}_s", one.response_s, one.half_width_s)
            rows.append({"name": mean.name, **told})
        return pl.DataFrame(rows, infer_schema_length=None)

    def station_frame(self) -> pl.DataFrame:
        """Return one row a station: ``name, utilisation, queue``, and their intervals."""
        return pl.DataFrame(
            [
                {"name": mean.name, **with_ends(mean, width, ("utilisation", "queue"))}
                for mean, width in zip(
                    self.solution.stations, self.half_widths.stations, strict=True
                )
            ],
            infer_schema_length=None,
        )

    def visit_frame(self) -> pl.DataFrame:
        """Return one row a station and class that comes there, with intervals."""
        columns = ("throughput_per_s", "response_s", "queue", "utilisation")
        stations = zip(self.solution.stations, self.half_widths.stations, strict=True)
        return pl.DataFrame(
            [
                {"station": station.name, "class": mean.class_, **with_ends(mean, width, columns)}
                for station, widths in stations
                for mean, width in zip(station.classes, widths.classes, strict=True)
                if mean.throughput_per_s
            ],
            infer_schema_length=None,
        )


def with_ends(mean: Result, half_width: Result, names: Iterable[str]) -> dict[str, float | None]:
    """Return values by name, beside each the ends of its interval: ``queue_low, queue_high``."""
    found: dict[str, float | None] = {}
    for name in names:
        found |= _ends(name, getattr(mean, name), getattr(half_width, name))
    return found


def _ends(name: str, mean: float | None, half_width: float | None) -> dict[str, float | None]:
    if mean is None or half_width is None:
        return {name: mean, f"{name}_low": None, f"{name}_high": None}
    low, high = positive_ends(mean, half_width, most=1.0 if name == "utilisation" else math.inf)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def simulate(
    network: Network,
    *,
    seed: int = 1,
    replications: int = 10,
    precision: float = 0.01,
    tails: bool = False,
    max_events: int = MAX_EVENTS,
    percentiles: Sequence[float] = PERCENTILES,
) -> Simulated:
    """Simulate a network's steady state.

    Parameters
    ----------
    network
        Which.
    seed
        The same seed gives the same result.
    replications
        Independent runs, at least 2.
    precision
        Go on until half-widths of all classes' throughput and response are at most this share.
    tails
        And until percentiles of all classes in which cycles end can be told.
    max_events
        Or until so many visits were completed, in all.
    percentiles
        Which, of response times.

    Raises
    ------
    InputError
        The network or an option can't be, or queues grow for ever.
    """
    options = {
        "seed": seed,
        "replications": replications,
        "precision": precision,
        "tails": tails,
        "max_events": max_events,
        "percentiles": list(percentiles),
    }
    answer = asked(_engine.simulate, network.to_json(), json.dumps(options))
    return Simulated.model_validate_json(answer)
