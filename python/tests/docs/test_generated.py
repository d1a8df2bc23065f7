"""The pages made from the code are current; PACELC_UPDATE_SNAPSHOTS=1 makes them anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from generated import cluster_options, command_line, study_fields

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("command-line.md", command_line),
        ("study-fields.md", study_fields),
        ("cluster-options.md", cluster_options),
    ],
)
def test_a_page_made_from_the_code_is_current(name: str, make: Callable[[], str]) -> None:
    made = make()
    if os.environ.get("PACELC_UPDATE_SNAPSHOTS") == "1":
        (REFERENCE / name).write_text(made, encoding="utf-8")
    assert (REFERENCE / name).read_text(encoding="utf-8") == made
