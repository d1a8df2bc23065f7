"""``pacelc schema``: the JSON Schema of a study."""

from __future__ import annotations

from pacelc.cli.output import put
from pacelc.study.schema import study_schema

__all__ = ["schema"]


def schema() -> None:
    """Print the JSON Schema of a study, for editors.

    \b
    pacelc schema > study.schema.json
    # then, as the first line of a study:
    # yaml-language-server: $schema=study.schema.json
    """  # noqa: D301 - \b keeps the lines of the example apart
    put(study_schema(), end="")
