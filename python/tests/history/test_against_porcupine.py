"""Verdicts of Porcupine, a checker in Go, on random histories: 300,000 of up to 16 operations."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from rust_tests import pass_in_rust

HERE = Path(__file__).parent / "porcupine"


def test_verdicts_on_random_histories_are_porcupines(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("go isn't on PATH")
    fetched = subprocess.run(
        ["go", "mod", "download"], cwd=HERE, capture_output=True, text=True, check=False
    )
    if fetched.returncode != 0:
        pytest.skip(f"Porcupine can't be fetched: {fetched.stderr.strip()[-200:]}")
    program = tmp_path / "porcupine"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE, check=True)
    pass_in_rust("porcupine", "--ignored", passed=2, PACELC_PORCUPINE=str(program))
