"""Histories that others have published, which aren't in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rust_tests import pass_in_rust

BESIDE = Path(__file__).parents[4] / "shared/histories"


def test_public_histories_get_their_verdicts() -> None:
    folder = Path(os.environ.get("PACELC_HISTORIES", BESIDE)).absolute()
    if not folder.is_dir():
        pytest.skip(f"{folder} isn't there; name it in PACELC_HISTORIES")
    pass_in_rust("public_histories", "--ignored", passed=2, PACELC_HISTORIES=str(folder))
