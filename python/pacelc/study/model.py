"""What the parts of a study's document have in common.

Map
---
Frozen          fixed once made, strict about names, documented by its attributes' docstrings
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen"]


class Frozen(BaseModel):
    """A part of a study's document."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )
