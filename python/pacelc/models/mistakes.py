"""What is wrong with a document that should be one of the models' parts, as one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.study.settings import Problem, tidy
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel, ValidationError

__all__ = ["Named", "first_problem"]

Named = tuple[str, "type[BaseModel]"]
"""``a price list``, and the model of one."""


def first_problem(error: ValidationError, whole: Named, parts: Mapping[str, Named]) -> Problem:
    """Return what is wrong first, with the nearest name where one isn't known.

    Parameters
    ----------
    whole, parts
        What the document should be; what is below its fields.
    """
    errors = error.errors()
    # A misspelt field is missing, too; its own name says more.
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    path: tuple[int | str, ...] = tuple(first["loc"])
    if first["type"] == "extra_forbidden":
        what, model = parts.get(str(path[0]), whole) if len(path) > 1 else whole
        names = [field.alias or name for name, field in model.model_fields.items()]
        return Problem(path, f"{what} has no such field", nearest(str(first["loc"][-1]), names))
    if first["type"] == "missing":
        return Problem(path, "is missing")
    return Problem(path, *tidy(first))
