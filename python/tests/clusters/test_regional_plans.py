"""A spec with regions reaches every database's servers, without any being started."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacelc.clusters import DATABASES, ClusterSpec
from pacelc.clusters.protocol import Software

DIRECTORY = Path("/nowhere")


@pytest.mark.parametrize("database", DATABASES)
def test_nodes_have_addresses_of_their_own_network(database: str) -> None:
    spec = ClusterSpec(database, nodes=3, regions=["iowa", "south-carolina", "oregon"])
    software = Software(("server", "jars"), {database: "9.9.9"})
    plans = DATABASES[database].plan(spec, software, DIRECTORY)
    assert {plan.host for plan in plans} == {"10.77.0.1", "10.77.0.2", "10.77.0.3"}
    assert plans[0].host == "10.77.0.1"  # the primary, the master: in the first region


def test_cassandras_data_centres_and_racks_are_the_regions_and_zones() -> None:
    regions = ["iowa-a", "iowa-b", "oregon"]
    spec = ClusterSpec("cassandra", nodes=3, regions=regions, client_region="oregon")
    cassandra = DATABASES["cassandra"]
    plans = cassandra.plan(spec, Software(("java",), {"cassandra": "5.0.8"}), DIRECTORY)
    said = [
        text
        for plan in plans
        for path, text in plan.files.items()
        if path.name == "cassandra-rackdc.properties"
    ]
    assert said == ["dc=iowa\nrack=a\n", "dc=iowa\nrack=b\n", "dc=oregon\nrack=rack1\n"]
    target = cassandra.target(spec, plans)
    assert target["local_datacenter"] == "oregon"
    assert target["endpoints"][0].startswith("10.77.0.3:")
    assert target["datacenters"] == {"iowa": 2, "oregon": 1}


def test_copies_are_where_the_first_nodes_are_and_a_client_far_from_all_has_the_first_nodes() -> (
    None
):
    spec = ClusterSpec(
        "cassandra", nodes=6, replication=3, regions=["iowa", "oregon"], client_region="tokyo"
    )
    cassandra = DATABASES["cassandra"]
    plans = cassandra.plan(spec, Software(("java",), {"cassandra": "5.0.8"}), DIRECTORY)
    target = cassandra.target(spec, plans)
    assert target["datacenters"] == {"iowa": 2, "oregon": 1}
    assert target["local_datacenter"] == "iowa"
    assert len(target["endpoints"]) == 6
