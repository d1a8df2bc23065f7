"""Cassandra with PasswordAuthenticator, and TLS that asks for client certificates."""

from __future__ import annotations

import json
import socket
import ssl
import struct
from typing import TYPE_CHECKING, Any

import pytest
from real_servers import STARTS_SOON

from pacelc.clusters import Cluster, ClusterSpec
from pacelc.clusters.databases.cassandra import (
    HEADER,
    QUERY,
    READY,
    RESULT,
    STARTUP,
    VERSION_OF_REQUESTS,
    short_string,
)
from pacelc.store import load

from .conftest import (
    PASSWORD,
    VARIABLE,
    Certificates,
    holding,
    pacelc,
    probe,
    refusal,
    run_study,
    servers,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

PORT = 29042
ADDRESS = f"127.0.0.1:{PORT}"
AUTHENTICATE, AUTH_RESPONSE, AUTH_SUCCESS = 0x03, 0x0F, 0x10
QUORUM = 0x0004
ONCE = "{'class': 'SimpleStrategy', 'replication_factor': 1}"


def execute(certificates: Certificates, *statements: str) -> None:
    """Run statements as the user that Cassandra begins with."""
    context = ssl.create_default_context(cafile=certificates.ca)
    context.load_cert_chain(certificates.client, certificates.client_key)
    with (
        socket.create_connection(("127.0.0.1", PORT), 15) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        connection.makefile("rb") as stream,
    ):
        login = b"\0cassandra\0cassandra"
        requests = [
            (
                STARTUP,
                struct.pack(">h", 1) + short_string("CQL_VERSION") + short_string("3.0.0"),
                AUTHENTICATE,
            ),
            (AUTH_RESPONSE, struct.pack(">i", len(login)) + login, AUTH_SUCCESS),
        ]
        requests += [
            (
                QUERY,
                struct.pack(">i", len(text)) + text.encode() + struct.pack(">HB", QUORUM, 0),
                RESULT,
            )
            for text in statements
        ]
        for opcode, body, expected in requests:
            connection.sendall(HEADER.pack(VERSION_OF_REQUESTS, 0, 0, opcode, len(body)) + body)
            *_, answer, length = HEADER.unpack(stream.read(HEADER.size))
            words = stream.read(length)
            assert answer in (expected, READY), words


@pytest.fixture(scope="module")
def guarded(
    certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    spec = ClusterSpec(
        "cassandra",
        nodes=1,
        replication=1,
        options={
            "port": PORT,
            "storage_port": 27000,
            "jvm_flags": ["-Dcassandra.superuser_setup_delay_ms=0", *STARTS_SOON["jvm_flags"]],
            "config": {
                "authenticator": "PasswordAuthenticator",
                "authorizer": "CassandraAuthorizer",
                "client_encryption_options": {
                    "enabled": True,
                    "optional": False,
                    "require_client_auth": True,
                    "ssl_context_factory": {
                        "class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"
                    },
                    "keystore": certificates.server_both,
                    "truststore": certificates.ca,
                },
            },
        },
    )
    with servers(spec, tmp_path_factory.mktemp("cassandra")) as cluster:
        until(
            cluster,
            lambda: execute(
                certificates,
                f"CREATE ROLE IF NOT EXISTS bench WITH PASSWORD = '{PASSWORD}' AND LOGIN = true",
                "GRANT CREATE ON ALL KEYSPACES TO bench",
                f"CREATE KEYSPACE IF NOT EXISTS pacelc WITH replication = {ONCE}",
                "GRANT ALL ON KEYSPACE pacelc TO bench",
            ),
            240,
        )
        yield cluster


def target(certificates: Certificates, **security: Any) -> dict[str, Any]:
    tls = {
        "ca_file": certificates.ca,
        "cert_file": certificates.client,
        "key_file": certificates.client_key,
    }
    parts = {"user": "bench", "password": {"env": VARIABLE}, "tls": tls} | security
    return {
        "database": "cassandra",
        "endpoints": [ADDRESS],
        "security": {name: part for name, part in parts.items() if part is not None},
    }


def test_a_user_a_password_and_certificates_open_the_door(
    guarded: Cluster, certificates: Certificates
) -> None:
    assert probe(target(certificates)) == guarded.versions["cassandra"]
    # The driver asks for nodes by address; the endpoints' names will do as well.
    by_name = target(certificates) | {"endpoints": [f"localhost:{PORT}"]}
    assert probe(by_name) is not None


@pytest.mark.parametrize(
    ("security", "says"),
    [
        ({"user": None, "password": None}, "asks for a user or a password"),
        ({"user": "nobody"}, "refuses the user or the password"),
        ({"tls": None}, "speaks TLS, and wasn't spoken to so"),
        ({"tls": {"ca_file": "other_ca"}}, "signed by no authority"),
        ({"tls": {"ca_file": "ca"}}, "certificate"),
        ({"tls": {"ca_file": "ca", "server_name": "db.example"}}, "is for another name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_soon(
    guarded: Cluster, certificates: Certificates, security: dict[str, Any], says: str
) -> None:
    assert guarded.nodes
    if security.get("tls"):
        files = {
            name: value if name == "server_name" else getattr(certificates, value)
            for name, value in security["tls"].items()
        }
        security = {"tls": files}
    said = refusal(target(certificates, **security))
    assert says in said.message
    assert said.hint
    assert said.seconds < 20


def test_a_local_data_centre_that_there_is_not_is_refused_with_those_there_are(
    guarded: Cluster, certificates: Certificates
) -> None:
    assert guarded.nodes
    for coordinator in ("fixed", "last", "token-aware", "round-robin"):
        asked = {"local_datacenter": "nope", "options": {"coordinator": coordinator}}
        said = refusal(target(certificates) | asked)
        assert "no data centre `nope`" in said.message
        assert said.hint == "it has datacenter1"


STUDY = """
name: external
settings:
  database: cassandra
  nodes: 1
  consistency: strong
  external:
    endpoints: [{address}]
    user: bench
    password_env: {variable}
    tls: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}}}
  records: 100
  warm_up: 100ms
  measure: 500ms
  cool_down: 0s
"""


def study(certificates: Certificates) -> str:
    return STUDY.format(
        address=ADDRESS,
        variable=VARIABLE,
        ca=certificates.ca,
        cert=certificates.client,
        key=certificates.client_key,
    )


def test_a_study_runs_with_no_more_than_the_documented_grants_and_leaves_no_secret_behind(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    text = study(certificates)
    done = run_study(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "out").runs["throughput_per_s"].item() > 0
    record = json.loads(next((tmp_path / "out/runs").glob("*/run.json")).read_text())
    assert record["versions"]["cassandra"] == guarded.versions["cassandra"]
    assert PASSWORD not in done.stdout + done.stderr
    assert holding(tmp_path, PASSWORD) == []


@pytest.mark.parametrize("made_by_the_study", [False, True])
def test_a_keyspace_is_cleaned_away_only_if_the_study_made_it(
    guarded: Cluster, certificates: Certificates, tmp_path: Path, *, made_by_the_study: bool
) -> None:
    assert guarded.nodes
    if made_by_the_study:
        execute(certificates, "DROP KEYSPACE pacelc")
    else:
        execute(certificates, "DROP TABLE IF EXISTS pacelc.usertable")
    done = run_study(tmp_path, study(certificates))
    assert done.returncode == 0, done.stderr
    done = pacelc("clean", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("dropped: usertable at 127.0.0.1")
    assert ("and its keyspace" in done.stdout) == made_by_the_study
    if made_by_the_study:
        execute(certificates, f"CREATE KEYSPACE pacelc WITH replication = {ONCE}")
    else:
        execute(certificates, "CREATE TABLE pacelc.usertable (id int PRIMARY KEY)")
