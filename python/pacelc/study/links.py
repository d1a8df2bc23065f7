"""Links of an emulated network, as a study writes them: durations, shares, sizes.

Which regions there are is the provider's to know (`pacelc.clusters.network.regions`), and is
checked with the rest of a cluster before anything starts.

Map
---
NetworkLink     one link, or a change to one
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema

from pacelc.numerals import parse_number
from pacelc.study.model import Frozen
from pacelc.study.values import instead, parse_duration_s

__all__ = ["NetworkLink"]

_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z/]*)\s*$")
_BYTES_PER_UNIT = {"": 1, "B": 1, "kB": 1e3, "KiB": 2**10, "MB": 1e6, "MiB": 2**20}
_BITS_PER_UNIT = {"": 1, "bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}


def _share(value: object) -> object:
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            return parse_number(value.strip().removesuffix("%")) / 100
        except ValueError:
            pass
    return value


def _size(value: object, units: dict[str, float], example: str) -> object:
    if not isinstance(value, str):
        return value
    match = _SIZE.match(value)
    if match is None or match[2] not in units:
        msg = f"should be such as {example}{instead(value)}"
        raise ValueError(msg)
    return parse_number(match[1]) * units[match[2]]


def _bits(value: object) -> object:
    return _size(value, {unit: float(bits) for unit, bits in _BITS_PER_UNIT.items()}, "100Mbit")


def _bytes(value: object) -> object:
    size = _size(value, {unit: float(n) for unit, n in _BYTES_PER_UNIT.items()}, "256KiB")
    return round(size) if isinstance(size, float) else size


_DELAY_SCHEMA: dict[str, object] = {
    "description": "A duration of 60 s at most: 18.2ms, 1s, or a number of seconds.",
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 60},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s)?\s*$"},
    ],
}
_SHARE_SCHEMA: dict[str, object] = {
    "description": "A share of the packets: 0.01, or 1%.",
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"},
    ],
}
_BANDWIDTH_SCHEMA: dict[str, object] = {
    "description": "Bits a second: 100Mbit, 1.5Gbit, or a number.",
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(bit|kbit|Mbit|Gbit)?\s*$"},
    ],
}
_QUEUE_SCHEMA: dict[str, object] = {
    "description": "Bytes: 256KiB, 1MB, or a number.",
    "anyOf": [
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(B|kB|KiB|MB|MiB)?\s*$"},
    ],
}

_Delay: TypeAlias = Annotated[
    float, BeforeValidator(parse_duration_s), Field(ge=0, le=60), WithJsonSchema(_DELAY_SCHEMA)
]
_Share: TypeAlias = Annotated[
    float, BeforeValidator(_share), Field(ge=0, le=1), WithJsonSchema(_SHARE_SCHEMA)
]
_Bandwidth: TypeAlias = Annotated[
    float, BeforeValidator(_bits), Field(gt=0), WithJsonSchema(_BANDWIDTH_SCHEMA)
]
_Queue: TypeAlias = Annotated[
    int, BeforeValidator(_bytes), Field(gt=0), WithJsonSchema(_QUEUE_SCHEMA)
]


class NetworkLink(Frozen):
    """What happens to packets on the way; what isn't said is as the regions have it."""

    delay_s: Annotated[_Delay | None, Field(alias="delay")] = None
    """How long each packet takes, one way: half of a round trip."""
    jitter_s: Annotated[_Delay | None, Field(alias="jitter")] = None
    """How far the delay varies."""
    distribution: Literal["uniform", "normal", "exponential", "pareto"] | None = None
    """How it varies."""
    loss: _Share | None = None
    """Share of the packets that are lost."""
    duplicate: _Share | None = None
    """Share of the packets that arrive twice."""
    reorder: _Share | None = None
    """Share of the packets that overtake others."""
    bandwidth_bps: Annotated[_Bandwidth | None, Field(alias="bandwidth")] = None
    """Bits a second."""
    queue_bytes: Annotated[_Queue | None, Field(alias="queue")] = None
    """What waits for the bandwidth at most; what is more is lost."""
