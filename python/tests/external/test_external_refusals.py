"""What is missing is said before anything is connected to, with the status of wrong input."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import PASSWORD, run_study

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Certificates

# Nobody listens on port 1: an attempt to connect would be another error.
STUDY = """
name: refused
settings: {{database: {database}, nodes: 1, external: {{endpoints: ["127.0.0.1:1"], {door}}}}}
"""


@pytest.mark.parametrize(
    ("database", "door", "says"),
    [
        ("redis", "password_env: PACELC_NOT_SET", "PACELC_NOT_SET, where the password should be"),
        ("redis", "password_file: /nowhere", "password file /nowhere can't be read"),
        ("redis", "user: bench", "a user is named, but no password"),
        ("redis", "tls: {ca_file: /nowhere}", "ca_file /nowhere"),
        ("redis", "tls: {ca_file: FILES/client_key.pem}", "no certificate in PEM"),
        ("redis", "tls: {key_file: FILES/client_key.pem}", "key_file is named without cert_file"),
        ("redis", "tls: {cert_file: FILES/client.pem}", "holds no private key"),
        (
            "redis",
            "tls: {cert_file: FILES/client.pem, key_file: FILES/server_key.pem}",
            "the client's certificate can't be used",
        ),
        ("mongodb", "tls: {server_name: db.example}", "server_name can't be had"),
        ("hbase", "password_env: PACELC_TEST_PASSWORD", "no SASL"),
        ("hbase", "tls: true", "no TLS"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_connected_to(
    certificates: Certificates, tmp_path: Path, database: str, door: str, says: str
) -> None:
    door = door.replace("FILES", str(certificates.directory))
    done = run_study(tmp_path, STUDY.format(database=database, door=door))
    assert done.returncode == 2, done.stderr
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert says in first
    assert second.startswith("hint: ")
    assert PASSWORD not in done.stderr


def test_a_password_in_the_study_is_refused_without_being_repeated(tmp_path: Path) -> None:
    door = f"password: {PASSWORD}"
    done = run_study(tmp_path, STUDY.format(database="redis", door=door))
    assert done.returncode == 2
    assert "a password isn't written into a study" in done.stderr
    assert PASSWORD not in done.stderr
