"""What is wrong with a document that should be one of the models' parts, as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.study.settings import Problem, tidy
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

__all__ = ["Named", "first_problem", "told_first"]

Named = tuple[str, "type[BaseModel]"]
"""``a price list``, and the model of one."""


def told_first(error: ValidationError) -> ErrorDetails:
    """Return the error to tell: a misspelt field is missing, too, and its own name says more."""
    errors = error.errors()
    return next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])


def first_problem(error: ValidationError, whole: Named, parts: Mapping[str, Named]) -> Problem:
    """Return what is wrong first, with the nearest name where one isn't known.

    Parameters
    ----------
    whole, parts
        What the document should be; what is below its fields.
    """
    first = told_first(error)
    path: tuple[int | str, ...] = tuple(first["loc"])
    if first["type"] == "extra_forbidden":
        what, model = parts.get(str(path[0]), whole) if len(path) > 1 else whole
        names = [field.alias or name for name, field in model.model_fields.items()]
        return Problem(path, f"{what} has no such field", nearest(str(first["loc"][-1]), names))
    if first["type"] == "missing":
        return Problem(path, "is missing")
    return Problem(path, *tidy(first))
