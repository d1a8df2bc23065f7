"""Files that we write, read and solved by LINE (`line-solver`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from line import line

from pacelc.jsimg import jsimg_text
from pacelc.networks import builtin, solve

if TYPE_CHECKING:
    from pathlib import Path

    from pacelc.networks import Network


def without_router(name: str) -> Network:
    """LINE's importer takes a router for a queue: the client chooses the class itself."""
    network = builtin(name, ["client_service=10us"])
    routing = {node: routes for node, routes in network.routing.items() if node != "switch"}
    routing["client"] = {"*": {"network/read": 0.5, "network/write": 0.5}}
    return network.model_copy(update={"routers": (), "routing": routing})


@pytest.mark.parametrize(
    ("name", "solver", "options", "within"),
    [
        ("gandini-cassandra-1", "MVA", {}, 0.005),
        ("gandini-mongodb-4", "MVA", {}, 0.005),
        # Its analytic forks are far off; its simulator isn't.
        ("gandini-cassandra-4x4", "LDES", {"samples": 200_000, "seed": 1}, 0.05),
    ],
)
def test_line_finds_the_same_throughput(
    tmp_path: Path, name: str, solver: str, options: dict[str, Any], within: float
) -> None:
    network = without_router(name)
    path = tmp_path / "network.jsimg"
    path.write_text(jsimg_text(network), encoding="utf-8")
    (theirs,) = line({"jsimg": str(path), "solver": solver, "options": options})
    assert sum(theirs) == pytest.approx(solve(network).throughput_per_s, rel=within)
