"""What the parts of a study's document have in common.

Map
---
Frozen          fixed once made, strict about names, documented by its attributes' docstrings
Seconds         a duration as people write it
PositiveSeconds the same, long enough to be measured
Memory          an amount of memory as people write it
MOST_USERS      of a run; MOST_THREADS of the load generator; LONGEST_OPERATION_S: its time limit
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from pacelc.numerals import parse_number, parse_whole
from pacelc.study.values import parse_bytes, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "LONGEST_OPERATION_S",
    "MOST_THREADS",
    "MOST_USERS",
    "Frozen",
    "Memory",
    "PositiveSeconds",
    "Seconds",
]

MOST_USERS: Final = 1_000_000
MOST_THREADS: Final = 1024
LONGEST_OPERATION_S: Final = 3600
"""The engine's own limits, so that a study is refused when it is read."""


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


def _whole(value: object) -> object:
    return _read(parse_whole, value)


def _number(value: object) -> object:
    return _read(parse_number, value)


def _read(parse: Callable[[str], float], value: object) -> object:
    # To Python, true is a number.
    if not isinstance(value, str | bool):
        return value
    try:
        return parse(str(value))
    except ValueError as error:
        raise PydanticCustomError("number", "{problem}", {"problem": str(error)}) from None


_READERS = {"int": _whole, "float": _number}


def _with_numerals(schema: Any) -> Any:
    """Return a schema in which text is read as a number by `pacelc.numerals`, not by pydantic."""
    if isinstance(schema, list):
        return [_with_numerals(part) for part in cast("list[Any]", schema)]
    if isinstance(schema, tuple):
        return tuple(_with_numerals(part) for part in cast("tuple[Any, ...]", schema))
    if not isinstance(schema, dict):
        return schema
    parts = cast("dict[str, Any]", schema)
    kind = parts.get("type")
    if kind in _READERS:
        return core_schema.no_info_before_validator_function(_READERS[kind], cast("Any", parts))
    if kind == "function-before" and parts["function"]["function"] in _READERS.values():
        return parts  # of a model that this one holds
    return {key: part if key == "metadata" else _with_numerals(part) for key, part in parts.items()}


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

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler, /
    ) -> CoreSchema:
        """Return pydantic's schema, in which numbers are read as in all of pacelc."""
        return cast("CoreSchema", _with_numerals(handler(source)))
