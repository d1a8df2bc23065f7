"""The JSON Schema of a study, for editors that complete and check YAML while it is written.

Map
---
study_schema        the schema as text, the same on every machine
"""

from __future__ import annotations

import json

from pacelc.study.definition import Study
from pacelc.study.source import ASIDE

__all__ = ["study_schema"]


def study_schema() -> str:
    """Return the schema as indented JSON ending in a newline."""
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Study.model_json_schema(by_alias=True),
        "patternProperties": {"^({})".format("|".join(ASIDE).replace(".", r"\.")): {}},
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
