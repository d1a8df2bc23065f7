"""What all parts of the engine's answers are: frozen, and read by name."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Result"]


class Result(BaseModel):
    """A part of an answer; fields that aren't named here are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)
