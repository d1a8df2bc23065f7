"""How long something takes: distributions of service, think and interarrival times.

A bare time stands for the exponential distribution of that mean; the others are mappings such as
``{distribution: erlang, mean: 1ms, shape: 4}``.

Map
---
Distribution    any of them, read from text, a number or a mapping
Exponential, Deterministic, Erlang, Hyperexponential, Lognormal, Empirical
written         a distribution as a network's document has it
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, PositiveInt

from pacelc.networks.times import Time, format_time
from pacelc.study.model import Frozen

__all__ = [
    "KINDS",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Hyperexponential",
    "Lognormal",
    "written",
]


class Exponential(Frozen):
    """Memoryless; its squared coefficient of variation is 1."""

    distribution: Literal["exponential"] = "exponential"
    mean_s: Annotated[Time, Field(alias="mean")]
    """Mean."""


class Deterministic(Frozen):
    """Always the same."""

    distribution: Literal["deterministic"] = "deterministic"
    value_s: Annotated[Time, Field(alias="value")]
    """How long."""

    @property
    def mean_s(self) -> float:
        """Mean, in seconds."""
        return self.value_s


class Erlang(Frozen):
    """The sum of ``shape`` exponentials: less variable than one."""

    distribution: Literal["erlang"] = "erlang"
    mean_s: Annotated[Time, Field(alias="mean")]
    """Mean of the sum."""
    shape: PositiveInt
    """How many."""


class Hyperexponential(Frozen):
    """One of two exponentials, each of which holds half of the mean: more variable than one."""

    distribution: Literal["hyperexponential"] = "hyperexponential"
    mean_s: Annotated[Time, Field(alias="mean")]
    """Mean."""
    scv: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    """Squared coefficient of variation."""


class Lognormal(Frozen):
    """The exponential of a normal."""

    distribution: Literal["lognormal"] = "lognormal"
    mean_s: Annotated[Time, Field(alias="mean")]
    """Mean."""
    scv: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Squared coefficient of variation."""


class Empirical(Frozen):
    """One of the observed values; the middles of a histogram's buckets, with their counts."""

    distribution: Literal["empirical"] = "empirical"
    values_s: Annotated[tuple[Time, ...], Field(alias="values", min_length=1)]
    """The values."""
    counts: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...]
    """How often each was seen."""

    @property
    def mean_s(self) -> float:
        """Mean, in seconds."""
        pairs = zip(self.values_s, self.counts, strict=True)
        return sum(value * count for value, count in pairs) / sum(self.counts)


KINDS = {
    "exponential": Exponential,
    "deterministic": Deterministic,
    "erlang": Erlang,
    "hyperexponential": Hyperexponential,
    "lognormal": Lognormal,
    "empirical": Empirical,
}
"""The distributions by their names in a document."""


def _exponential_if_bare(value: object) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return {"distribution": "exponential", "mean": value}
    return value


Distribution: TypeAlias = Annotated[
    Exponential | Deterministic | Erlang | Hyperexponential | Lognormal | Empirical,
    Field(discriminator="distribution"),
    BeforeValidator(_exponential_if_bare),
]


def written(distribution: Distribution, *, for_people: bool = False) -> Any:
    """Return a distribution as a document has it; times are seconds, or text for people.

    Examples
    --------
    >>> written(Exponential(mean_s=0.001)), written(Exponential(mean_s=0.001), for_people=True)
    (0.001, '1ms')
    """
    if isinstance(distribution, Exponential):
        return format_time(distribution.mean_s) if for_people else distribution.mean_s
    document: dict[str, Any] = distribution.model_dump(by_alias=True, mode="json")
    if for_people:
        for name in ("mean", "value"):
            if name in document:
                document[name] = format_time(document[name])
        if "values" in document:
            document["values"] = [format_time(v) for v in cast("list[float]", document["values"])]
    return document
