"""How keys are chosen, as a study names it: a name alone, or a name with its parameters.

Map
---
Distribution            a name, or a mapping from it to its parameters
engine_distribution     the same for the engine, every parameter given
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field, NonNegativeInt, PositiveFloat

from pacelc.study.model import Frozen

if TYPE_CHECKING:
    from pacelc.study.values import Json

__all__ = ["Distribution", "engine_distribution"]

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class ZipfianShape(Frozen):
    """The shape of a zipfian distribution."""

    theta: PositiveFloat = 0.99
    """The exponent: the record of rank k is chosen in proportion to 1 / k^theta."""


class Zipfian(Frozen):
    """Zipf's law: the hottest of 1,000 records gets 12.9 %."""

    zipfian: ZipfianShape = Field(default_factory=ZipfianShape)


class YcsbZipfianShape(ZipfianShape):
    """The shape of YCSB's scrambled zipfian distribution."""

    expected_inserts: NonNegativeInt = 0
    """Inserts that a run will make: records to come have their places from the beginning."""


class YcsbZipfian(Frozen):
    """YCSB's zipfian, scattered over the records: the hottest of 1,000 gets 3.9 %."""

    ycsb_zipfian: Annotated[YcsbZipfianShape, Field(alias="ycsb-zipfian")] = Field(
        default_factory=YcsbZipfianShape
    )


class Latest(Frozen):
    """The newest record is the hottest, by Zipf's law; inserted ones count when acknowledged."""

    latest: ZipfianShape = Field(default_factory=ZipfianShape)


class HotspotShape(Frozen):
    """The shape of a hotspot distribution."""

    hot_set_fraction: Share = 0.2
    """The hot records' share of all."""
    hot_operation_fraction: Share = 0.8
    """Their share of the operations."""


class Hotspot(Frozen):
    """Some records, the first ones, take most of the operations."""

    hotspot: HotspotShape = Field(default_factory=HotspotShape)


class ExponentialShape(Frozen):
    """The shape of an exponential distribution."""

    percentile: Annotated[float, Field(gt=0, lt=100)] = 95.0
    """So many per cent of the operations ..."""
    fraction: PositiveFloat = 0.8571428571
    """... are for this share of the records, the newest ones."""


class Exponential(Frozen):
    """Exponentially fewer operations, the older a record is."""

    exponential: ExponentialShape = Field(default_factory=ExponentialShape)


Shaped: TypeAlias = Zipfian | YcsbZipfian | Latest | Hotspot | Exponential
Distribution: TypeAlias = (
    Literal["uniform", "zipfian", "ycsb-zipfian", "latest", "hotspot", "exponential", "sequential"]
    | Shaped
)

_SHAPED: dict[str, type[Shaped]] = {
    "zipfian": Zipfian,
    "ycsb-zipfian": YcsbZipfian,
    "latest": Latest,
    "hotspot": Hotspot,
    "exponential": Exponential,
}


def engine_distribution(distribution: Distribution) -> Json:
    """Return the distribution as the engine reads it.

    Examples
    --------
    >>> engine_distribution("uniform"), engine_distribution("latest")
    ('uniform', {'latest': {'theta': 0.99}})
    """
    if isinstance(distribution, str):
        if distribution not in _SHAPED:
            return distribution
        distribution = _SHAPED[distribution]()
    return distribution.model_dump(mode="json", by_alias=False)
