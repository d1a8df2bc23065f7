"""Models of real runs: what wasn't fitted is predicted within the limits.

The runs are those of ``docs/reference/model-accuracy.md``; ``python -m benches.accuracy`` takes all
of them, and holds out more.
"""

from __future__ import annotations

from typing import Final

import pytest
from benches.accuracy import LIMITS, RUNS

from pacelc.models.drift import steadied
from pacelc.models.fit import calibrate, gathered

HELD: Final = {
    "cassandra": {"consistency": "quorum"},
    "mongodb": {"nodes": "3", "replication": "1"},
    "redis": {"nodes": "2", "replication": "2"},
}
USERS: Final = {1, 4, 16, 64}
"""Whose runs are taken: with all seven it takes minutes."""


@pytest.mark.parametrize(("database", "levels"), HELD.items())
def test_of_real_runs_what_is_not_fitted_is_predicted(
    database: str, levels: dict[str, str]
) -> None:
    runs, _ = gathered([RUNS / f"{database}.parquet"])
    some = [one for one in steadied(runs).observations if one.cluster.users in USERS]
    held = frozenset(one.run for one in some if levels.items() <= one.factors.items())
    errors = calibrate(some, held).errors(fitted=False)
    over = {name: errors[name] for name, limit in LIMITS.items() if errors[name] > limit}
    assert held
    assert not over
