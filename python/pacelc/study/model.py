"""What the parts of a study's document have in common.

Map
---
Frozen          fixed once made, strict about names, documented by its attributes' docstrings
Seconds         a duration as people write it
PositiveSeconds the same, long enough to be measured
Memory          an amount of memory as people write it
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from pacelc.study.values import parse_bytes, parse_duration_s

__all__ = ["Frozen", "Memory", "PositiveSeconds", "Seconds"]

_DURATION_SCHEMA: dict[str, object] = {
    "description": "A duration: 10s, 5m, 1.5h, 250ms, or a number of seconds.",
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|h)?\s*$"},
    ],
}
Seconds: TypeAlias = Annotated[
    float, BeforeValidator(parse_duration_s), Field(ge=0), WithJsonSchema(_DURATION_SCHEMA)
]
# The engine's shortest: less than a tenth of a second measures the clock.
PositiveSeconds: TypeAlias = Annotated[
    float,
    BeforeValidator(parse_duration_s),
    Field(ge=0.1),
    WithJsonSchema(_DURATION_SCHEMA),
]

_BYTES_SCHEMA: dict[str, object] = {
    "description": "An amount of memory: 2GiB, 512MiB, 1.5GB, or a number of bytes.",
    "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*([KMGT]i?B|kB|B)?\s*$"},
    ],
}
Memory: TypeAlias = Annotated[int, BeforeValidator(parse_bytes), WithJsonSchema(_BYTES_SCHEMA)]


class Frozen(BaseModel):
    """A part of a study's document."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        # A password written where none belongs isn't shown by the message that says so.
        hide_input_in_errors=True,
    )
