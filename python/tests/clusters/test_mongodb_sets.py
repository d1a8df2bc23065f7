"""MongoDB's sets: laws of their members, and what a cluster with a router would be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymongo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.clusters import DATABASES, ClusterSpec, FetchError, SpecError, open_cluster
from pacelc.clusters.checking import checked
from pacelc.clusters.databases.mongodb import CONFIG_SET, config_sets, forming_sets
from pacelc.clusters.databases.mongodb_sets import MAX_VOTERS, replica_sets
from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.network.regions import REGIONS
from pacelc.clusters.protocol import Software

if TYPE_CHECKING:
    from collections.abc import Sequence

MONGODB = DATABASES["mongodb"]
SOFTWARE = Software(("mongod",), {"mongodb": "6.0.5"})
PORT = 17017


def sharded(shards: int, members: int, sharding: Any = "client") -> ClusterSpec:
    nodes = shards * members
    return checked(ClusterSpec("mongodb", nodes, members, sharding=sharding, shards=shards))


@given(
    shards=st.integers(1, 6),
    members=st.integers(1, 12),
    regions=st.lists(st.sampled_from(sorted(REGIONS)), unique=True, max_size=4),
)
def test_every_node_is_in_one_set_that_can_elect_its_first_choice_alone(
    shards: int, members: int, regions: list[str]
) -> None:
    spec = ClusterSpec(
        "mongodb",
        shards * members,
        members,
        sharding="client",
        shards=shards,
        regions=regions,
    )
    sets = replica_sets(spec)
    assert [replica_set.name for replica_set in sets] == [f"shard{n + 1}" for n in range(shards)]
    everyone = [member for replica_set in sets for member in replica_set.members]
    assert len({m.host for m in everyone}) == len({m.node for m in everyone}) == shards * members
    for number, member in enumerate(everyone):
        assert member.region == (regions[number % len(regions)] if regions else None)
    for replica_set in sets:
        documents = replica_set.document(PORT)["members"]
        assert [d["_id"] for d in documents] == list(range(members))
        assert sum(d["votes"] for d in documents) == min(members, MAX_VOTERS)
        assert all(d["priority"] == 0 for d in documents if d["votes"] == 0)
        assert all(d["priority"] > 0 for d in documents if d["votes"] == 1)
        (primary,) = (m for m in replica_set.members if m.role == "primary")
        assert primary.node == f"{replica_set.name}-primary"
        assert all(m.priority < primary.priority for m in replica_set.members if m != primary)
        if regions and any(m.region == regions[0] for m in replica_set.members):
            assert primary.region == regions[0]
        # Whoever of the first region may be elected comes before all who are elsewhere.
        at_home = [m.priority for m in replica_set.members if regions and m.region == regions[0]]
        away = [m.priority for m in replica_set.members if regions and m.region != regions[0]]
        electable = [priority for priority in at_home if priority]
        if electable and away:
            assert min(electable) > max(away)
        for document, member in zip(documents, replica_set.members, strict=True):
            assert document.get("tags") == ({"region": member.region} if regions else None)


def test_without_shards_names_and_priorities_are_as_ever() -> None:
    (only,) = replica_sets(ClusterSpec("mongodb", 3))
    assert only.name == "pacelc"
    assert [m.node for m in only.members] == ["node1", "node2", "node3"]
    assert [m.priority for m in only.members] == [2, 1, 1]


def test_a_level_is_for_the_members_of_one_set() -> None:
    assert sharded(2, 3).copies == 3
    assert ClusterSpec("mongodb", 6, sharding="client", shards=2).copies == 3


@pytest.mark.parametrize(
    ("shape", "message", "hint"),
    [
        ((5, 2, "client", 2), "2 shards with 2 members each are 4 nodes, not 5", "set nodes to 4"),
        ((6, None, "none", 2), "there are 2 shards, and sharding is none", "client or mongos"),
        ((3, None, "client", 4), "3 nodes can't be 4 shards", "between 1 and 3"),
        ((3, 1, "none", 1), "a copy of every record on every node", "see sharding"),
    ],
)
def test_nodes_are_shards_times_members(
    shape: tuple[int, int | None, Any, int], message: str, hint: str
) -> None:
    nodes, replication, sharding, shards = shape
    with pytest.raises(SpecError, match=message) as caught:
        checked(ClusterSpec("mongodb", nodes, replication, sharding=sharding, shards=shards))
    assert hint in str(caught.value.hint)
    assert "\n" not in caught.value.message


def test_only_mongodb_has_shards() -> None:
    with pytest.raises(SpecError, match="only mongodb has shards, not cassandra"):
        checked(ClusterSpec("cassandra", 3, sharding="client", shards=3))


def test_mongos_is_refused_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpecError, match="none is on PATH, and no package carries one") as caught:
        sharded(2, 3, "mongos")
    assert "sharding: client" in str(caught.value.hint)
    assert "external" in str(caught.value.hint)
    with pytest.raises(SpecError, match="nowhere is no program"):
        checked(
            ClusterSpec(
                "mongodb", 2, 1, {"mongos": str(tmp_path / "nowhere")}, sharding="mongos", shards=2
            )
        )


def program(path: Path, says: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def routed(tmp_path: Path) -> ClusterSpec:
    options = {
        "mongos": str(program(tmp_path / "mongos", "mongos version v6.0.9")),
        "server": str(program(tmp_path / "mongod", "db version v6.0.5")),
    }
    return ClusterSpec("mongodb", 4, 2, options, sharding="mongos", shards=2)


def after(argv: Sequence[str], option: str) -> str:
    return argv[argv.index(option) + 1]


def test_a_cluster_with_a_router_is_planned_as_mongodb_documents_it(
    routed: ClusterSpec, tmp_path: Path
) -> None:
    plans = {p.name: p for p in MONGODB.plan(routed, SOFTWARE, tmp_path / "cluster")}
    assert list(plans) == [
        "shard1-primary",
        "shard1-replica1",
        "shard2-primary",
        "shard2-replica1",
        "config",
        "mongos",
    ]
    for name, plan in plans.items():
        if name.startswith("shard"):
            assert after(plan.argv, "--replSet") == name.partition("-")[0]
            assert "--shardsvr" in plan.argv
        assert after(plan.argv, "--bind_ip") == plan.host
        assert after(plan.argv, "--port") == str(plan.ports["client"])
    config, mongos = plans["config"], plans["mongos"]
    assert "--configsvr" in config.argv
    assert after(config.argv, "--replSet") == CONFIG_SET
    assert mongos.argv[0] == routed.options["mongos"]
    assert after(mongos.argv, "--configdb") == f"{CONFIG_SET}/{config.endpoint}"
    assert "--dbpath" not in mongos.argv
    # On the first node's address, each on a port of its own.
    assert config.host == mongos.host == plans["shard1-primary"].host
    assert len({str(plan.endpoint) for plan in plans.values()}) == len(plans)

    target = MONGODB.target(routed, list(plans.values()))
    assert target["sharding"] == "mongos"
    assert target["endpoints"] == [str(mongos.endpoint)]
    assert "sets" not in target
    assert "replica_set" not in target

    sets = forming_sets(routed, list(plans.values()))
    endpoints = [str(plans[f"shard2-{name}"].endpoint) for name in ("primary", "replica1")]
    assert sets[1].address == f"shard2/{','.join(endpoints)}"
    (of_config,) = config_sets(list(plans.values()))
    assert of_config.document == {
        "_id": CONFIG_SET,
        "configsvr": True,
        "members": [{"_id": 0, "host": str(config.endpoint)}],
    }


def test_a_routers_release_is_its_servers(routed: ClusterSpec) -> None:
    versions = MONGODB.software(routed, lambda _: None).versions
    assert (versions["mongodb"], versions["mongos"]) == ("6.0.5", "6.0.9")
    program(Path(str(routed.options["mongos"])), "mongos version v7.0.1")
    with pytest.raises(FetchError, match=r"7\.0\.1, and mongod is 6\.0\.5: .* one release"):
        MONGODB.software(routed, lambda _: None)


def test_the_targets_sets_name_each_member_once(tmp_path: Path) -> None:
    spec = sharded(3, 2)
    plans = MONGODB.plan(spec, SOFTWARE, tmp_path)
    target = MONGODB.target(spec, plans)
    assert [s["name"] for s in target["sets"]] == ["shard1", "shard2", "shard3"]
    named = [endpoint for s in target["sets"] for endpoint in s["endpoints"]]
    assert named == [str(plan.endpoint) for plan in plans]


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.skipif(capability().how != "root", reason=capability().reason or "not root")
def test_eight_members_in_regions_elect_the_first_and_all_acknowledge(tmp_path: Path) -> None:
    spec = ClusterSpec("mongodb", 8, regions=("iowa", "oregon", "south-carolina"))

    def asked(endpoint: str) -> list[dict[str, Any]]:
        with pymongo.MongoClient(
            endpoint, directConnection=True, serverSelectionTimeoutMS=5_000
        ) as client:
            assert client.admin.command("hello")["isWritablePrimary"]
            return client.admin.command("replSetGetConfig")["config"]["members"]

    # It serves when a write with w: 8 was acknowledged, by the member without a vote too.
    with open_cluster(spec, workdir=tmp_path, timeout_s=280) as cluster:
        members = cluster.call(lambda: asked(str(cluster.endpoints[0])))
    assert [m["votes"] for m in members] == [1] * 7 + [0]
    assert [m["tags"]["region"] for m in members] == [*spec.regions * 2, *spec.regions[:2]]
    assert [m["priority"] for m in members] == [3, 1, 1, 2, 1, 1, 2, 0]
