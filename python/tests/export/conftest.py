"""A small study, measured by the real engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.runner import LocalLab, run_study
from pacelc.store import Store
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: exported
factors: {users: [1, 4]}
settings:
  database: memory
  measure: 2s
  warm_up: 100ms
  cool_down: 0s
  records: 100
  update_all_fields: true
  record_operations: true
  mix: {read: 0.4, update: 0.3, insert: 0.1, scan: 0.1, read_modify_write: 0.1}
order: listed
"""


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: 0001-r1 and 0002-r1."""
    directory = tmp_path_factory.mktemp("export") / "exported"
    study = Study.parse(STUDY)
    with Store.open(directory, create=study.as_document()) as store:
        assert run_study(study, store, LocalLab()).finished == 2
    return directory
