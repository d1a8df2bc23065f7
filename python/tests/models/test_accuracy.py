"""Models of real runs: what wasn't fitted is predicted within the limits.

The runs are those of ``docs/reference/model-accuracy.md``; ``python -m benches.accuracy`` holds out
more of them.
"""

from __future__ import annotations

from typing import Final

import pytest
from benches.accuracy import LIMITS, RUNS

from pacelc.models.fit import fit

HELD: Final = {
    "cassandra": "consistency=quorum",
    "mongodb": "nodes=3 and replication=1",
    "redis": "nodes=2 and replication=2",
}


@pytest.mark.slow
@pytest.mark.parametrize(("database", "hold"), HELD.items())
def test_of_real_runs_what_is_not_fitted_is_predicted(database: str, hold: str) -> None:
    models, _ = fit(RUNS / f"{database}.parquet", [hold])
    assert models
    for found in models:
        errors = found.errors(fitted=False)
        over = {name: errors[name] for name, limit in LIMITS.items() if errors[name] > limit}
        assert not over, f"{found.name}, {hold} held out"
