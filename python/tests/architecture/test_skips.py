"""What pacelc itself says of a machine that can't is a reason for which a test may be skipped."""

from __future__ import annotations

import pytest
import skips

from pacelc.clusters.network.namespaces import _WHY


@pytest.mark.parametrize("why", [reason for reason, _ in _WHY.values()])
def test_a_machine_without_networks_is_no_failure(why: str) -> None:
    assert skips.unlisted([why]) == []


def test_another_reason_is_told() -> None:
    assert skips.unlisted(["too hard", "go isn't on PATH"]) == ["too hard"]
