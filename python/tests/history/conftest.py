"""A run that recorded its operations, measured by the real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.runner import LocalLab, run_study
from pacelc.store import Store
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: recorded
factors: {users: [4]}
settings:
  database: memory
  record_operations: true
  operations: 4000
  warm_up: 100ms
  cool_down: 0s
  workload:
    records: 20
    update_all_fields: true
    mix: {read: 0.4, update: 0.3, insert: 0.1, read_modify_write: 0.1, delete: 0.1}
order: listed
"""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its results; the run is 0001-r1."""
    directory = tmp_path_factory.mktemp("history") / "recorded"
    study = Study.parse(STUDY)
    with Store.open(directory, create=study.as_document()) as store:
        assert run_study(study, store, LocalLab()).finished == 1
    return directory
