"""What a simulation of a network found: means with intervals, percentiles, why it ended.

Start here: :func:`simulate`, :class:`Simulated`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict

from pacelc import _engine
from pacelc.analysis.estimate import Estimate
from pacelc.models.solve import asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.models.network import Network

__all__ = ["PERCENTILES", "Percentile", "Simulated", "simulate"]

PERCENTILES = (50.0, 95.0, 99.0)
"""Those that are asked for unless said otherwise."""
_METHOD = "t over independent replications"


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class _Class(_Result):
    name: str
    throughput_per_s: float | None
    response_s: float | None


class _Chain(_Result):
    classes: tuple[str, ...]
    throughput_per_s: float | None
    response_s: float | None


class _Station(_Result):
    name: str
    utilisation: float | None
    queue: float | None


class _Means(_Result):
    classes: tuple[_Class, ...]
    chains: tuple[_Chain, ...]
    stations: tuple[_Station, ...]


class Percentile(_Result):
    """A percentile of a class' responses."""

    percent: float
    response_s: float | None
    """None where too few responses lie beyond it to tell."""
    half_width_s: float | None


class _ClassPercentiles(_Result):
    class_name: str
    percentiles: tuple[Percentile, ...]


class Simulated(_Result):
    """A simulated network."""

    solution: _Means
    half_widths: _Means
    confidence: float
    precision: float
    """The largest half-width of a throughput or response, as a share of it."""
    stopped_by: Literal["precision", "events", "not_steady"]
    percentiles: tuple[_ClassPercentiles, ...]
    replications: int
    warm_up_s: float | None
    """Cut off at the beginning of each replication; None if no steady state was reached."""
    run_s: float
    events: int
    """Visits to stations completed in all replications."""

    def _estimate(self, mean: float | None, half_width: float | None) -> Estimate | None:
        if mean is None:
            return None
        ends = (None, None) if half_width is None else (mean - half_width, mean + half_width)
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
        """Return one row a class: throughput and response with their intervals, and percentiles."""
        rows: list[dict[str, Any]] = []
        percentiles = {one.class_name: one.percentiles for one in self.percentiles}
        for result in self.solution.classes:
            row: dict[str, Any] = {"name": result.name}
            pairs = zip(
                ("throughput_per_s", "response_s"), self.class_estimates(result.name), strict=True
            )
            for key, found in pairs:
                row[key] = None if found is None else found.value
                row[f"{key}_low"] = None if found is None else found.low
                row[f"{key}_high"] = None if found is None else found.high
            for one in percentiles.get(result.name, ()):
                row[f"p{one.percent:g}_s"] = one.response_s
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def station_frame(self) -> pl.DataFrame:
        """Return one row a station."""
        columns = {"name": pl.String, "utilisation": pl.Float64, "queue": pl.Float64}
        rows = [result.model_dump(include=set(columns)) for result in self.solution.stations]
        return pl.DataFrame(rows, schema=columns)


def simulate(
    network: Network,
    *,
    seed: int = 1,
    replications: int = 10,
    precision: float = 0.01,
    max_events: int = 200_000_000,
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
        "max_events": max_events,
        "percentiles": list(percentiles),
    }
    answer: dict[str, Any] = json.loads(
        asked(_engine.simulate, network.to_json(), json.dumps(options))
    )
    for one in answer["percentiles"]:
        one["class_name"] = one.pop("class")
    return Simulated.model_validate(answer)
