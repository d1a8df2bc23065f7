"""MongoDB with users, TLS required, and client certificates."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pymongo
import pytest
from pymongo.errors import OperationFailure

from pacelc.clusters import Cluster, ClusterSpec
from pacelc.clusters.server_user import server_user
from pacelc.store import load

from .conftest import (
    PASSWORD,
    VARIABLE,
    Certificates,
    holding,
    probe,
    refusal,
    run_study,
    servers,
    started_study,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

PORT = 27117
ADDRESS = f"127.0.0.1:{PORT}"


def client(certificates: Certificates, **login: Any) -> pymongo.MongoClient[Any]:
    return pymongo.MongoClient(
        "127.0.0.1",
        PORT,
        directConnection=True,
        serverSelectionTimeoutMS=2_000,
        tls=True,
        tlsCAFile=certificates.ca,
        tlsCertificateKeyFile=certificates.client_both,
        **login,
    )


def bring_up(certificates: Certificates) -> None:
    members = [{"_id": 0, "host": ADDRESS}]
    with client(certificates) as admin:
        try:
            admin.admin.command("replSetInitiate", {"_id": "pacelc", "members": members})
        except OperationFailure as error:
            # Already initialised.
            if error.code != 23:
                raise
        assert admin.admin.command("hello")["isWritablePrimary"]
        # The first user may be made by whoever is on the same machine.
        admin.admin.command("createUser", "root", pwd="root", roles=["root"])
    with client(certificates, username="root", password="root") as admin:
        roles = [{"role": role, "db": "pacelc"} for role in ("readWrite", "dbAdmin")]
        admin["people"].command("createUser", "bench", pwd=PASSWORD, roles=roles)


@pytest.fixture(scope="module")
def guarded(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("mongodb")
    key = directory / "key"
    key.write_text("c2hhcmVkYnlhbGxtZW1iZXJz")
    key.chmod(0o600)
    if (user := server_user()) is not None:
        user.own(key)
    spec = ClusterSpec(
        "mongodb",
        nodes=1,
        replication=1,
        options={
            "port": PORT,
            "arguments": [
                *("--keyFile", str(key), "--tlsMode", "requireTLS"),
                *("--tlsCertificateKeyFile", certificates.server_both),
                *("--tlsCAFile", certificates.ca),
            ],
        },
    )
    with servers(spec, directory) as cluster:
        until(cluster, lambda: bring_up(certificates))
        yield cluster


def target(certificates: Certificates, **security: Any) -> dict[str, Any]:
    tls = {
        "ca_file": certificates.ca,
        "cert_file": certificates.client,
        "key_file": certificates.client_key,
    }
    parts = {
        "user": "bench",
        "password": {"env": VARIABLE},
        "auth_source": "people",
        "tls": tls,
    } | security
    return {
        "database": "mongodb",
        "endpoints": [ADDRESS],
        "replica_set": "pacelc",
        "security": {name: part for name, part in parts.items() if part is not None},
    }


def test_a_user_a_password_and_certificates_open_the_door(
    guarded: Cluster, certificates: Certificates
) -> None:
    assert probe(target(certificates)) == guarded.versions["mongodb"]
    one_file = {"ca_file": certificates.ca, "cert_file": certificates.client_both}
    assert probe(target(certificates, tls=one_file)) is not None


@pytest.mark.parametrize(
    ("security", "says"),
    [
        ({"user": None, "password": None, "auth_source": None}, "asks for a user"),
        ({"auth_source": None}, "refuses the user or the password"),
        ({"user": "nobody"}, "refuses the user or the password"),
        ({"tls": None}, "speaks TLS, and wasn't spoken to so"),
        ({"tls": {"ca_file": "other_ca"}}, "signed by no authority"),
        ({"tls": {"ca_file": "ca"}}, "ends the TLS connection after the handshake"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_soon(
    guarded: Cluster, certificates: Certificates, security: dict[str, Any], says: str
) -> None:
    assert guarded.nodes
    if security.get("tls"):
        files = {name: getattr(certificates, value) for name, value in security["tls"].items()}
        security = {"tls": files}
    said = refusal(target(certificates, **security))
    assert says in said.message
    assert said.hint
    assert said.seconds < 15


STUDY = """
name: external
settings:
  database: mongodb
  nodes: 1
  consistency: strong
  external:
    endpoints: [{address}]
    replica_set: pacelc
    user: bench
    password_env: {variable}
    auth_source: people
    tls: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}}}
  records: {records}
  warm_up: 100ms
  measure: 500ms
  cool_down: 0s
"""


def study(certificates: Certificates, records: int) -> str:
    return STUDY.format(
        address=ADDRESS,
        variable=VARIABLE,
        ca=certificates.ca,
        cert=certificates.client,
        key=certificates.client_key,
        records=records,
    )


def drop_all(certificates: Certificates) -> None:
    with client(certificates, username="root", password="root") as admin:
        admin.drop_database("pacelc")


def test_a_study_runs_with_no_more_than_the_documented_roles_and_leaves_no_secret_behind(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    drop_all(certificates)
    done = run_study(tmp_path, study(certificates, 100))
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "out").runs["throughput_per_s"].item() > 0
    record = json.loads(next((tmp_path / "out/runs").glob("*/run.json")).read_text())
    assert record["versions"] | {"mongodb": guarded.versions["mongodb"]} == record["versions"]
    assert PASSWORD not in done.stdout + done.stderr
    assert holding(tmp_path, PASSWORD) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_load_that_is_killed_goes_on_in_the_next_invocation(
    guarded: Cluster, certificates: Certificates, tmp_path: Path, number: signal.Signals
) -> None:
    assert guarded.nodes
    drop_all(certificates)
    # Progress is written down once a second: the load must take some.
    records = 60_000
    text = study(certificates, records)
    checkpoint = tmp_path / "out/load.json"

    def reached() -> int:
        if not checkpoint.exists():
            return 0
        (table,) = json.loads(checkpoint.read_text())["tables"]
        return table["records"]

    with started_study(tmp_path, text) as process:
        end_s = time.monotonic() + 60
        while reached() < 500:
            assert process.poll() is None
            assert time.monotonic() < end_s
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(30)
    before = reached()
    assert 500 <= before < records
    with client(certificates, username="root", password="root") as admin:
        table = admin["pacelc"]["usertable"]
        there = table.count_documents({})
        # Some were on their way: they are there, but not known to be.
        assert before <= there < records
        first = table.find_one({}, {"_id": 1})
    done = run_study(tmp_path, text)
    assert done.returncode == 0, done.stderr
    timeline = load(tmp_path / "out").timeline
    assert timeline.filter(timeline["what"] == "prepare").height == 1
    assert reached() == records
    with client(certificates, username="root", password="root") as admin:
        table = admin["pacelc"]["usertable"]
        assert table.count_documents({}) == records
        assert table.find_one({}, {"_id": 1}) == first
