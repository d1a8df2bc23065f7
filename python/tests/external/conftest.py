"""Servers that ask for users, passwords and certificates, and the certificates they ask for.

They stand for clusters that somebody else runs: pacelc's own code finds their programs and makes
sure that they end, but they are configured and brought up here.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from pacelc import _engine
from pacelc.clusters import DATABASES, Cluster, ClusterSpec
from pacelc.clusters.process import Supervisor, Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSWORD = "correct-horse-5f2d9c-battery"
VARIABLE = "PACELC_TEST_PASSWORD"


@dataclass(frozen=True)
class Certificates:
    """PEM files; the names say what is right or wrong with each."""

    directory: Path

    def __getattr__(self, name: str) -> str:
        return str(self.directory / f"{name}.pem")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(directory / "ca.pem")
    stranger.cert_pem.write_to_path(directory / "other_ca.pem")
    now = datetime.now(UTC)
    here = ("127.0.0.1", "localhost")
    for name, leaf in {
        "server": authority.issue_cert(*here),
        "elsewhere": authority.issue_cert("db.elsewhere.example"),
        "expired": authority.issue_cert(
            *here, not_before=now - timedelta(days=3), not_after=now - timedelta(days=1)
        ),
        "client": authority.issue_cert("bench@pacelc.example"),
        "strange_client": stranger.issue_cert("bench@pacelc.example"),
    }.items():
        # Java reads keys in PKCS#8 alone.
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
        (directory / f"{name}_key.pem").write_bytes(key)
        (directory / f"{name}.pem").write_bytes(chain)
        (directory / f"{name}_both.pem").write_bytes(key + chain)
    return Certificates(directory)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)


@contextmanager
def servers(spec: ClusterSpec, workdir: Path, config: str | None = None) -> Iterator[Cluster]:
    """The processes of a cluster, started; that they serve is waited for by the caller.

    `config` is their configuration in place of pacelc's, where that has users of its own.
    """
    software = DATABASES[spec.database].software(spec, print)
    workspace = Workspace(workdir, spec.database)
    try:
        with Supervisor(workspace) as supervisor:
            cluster = Cluster(spec, software, workspace.path, supervisor)
            for plan in cluster.plans:
                if config is not None:
                    own = replace(plan, files=dict.fromkeys(plan.files, config), secrets={})
                    cluster._plans[plan.name] = own
                cluster.start(plan.name)
            yield cluster
    finally:
        workspace.release()


def until(cluster: Cluster, what: Callable[[], object], limit_s: float = 120.0) -> None:
    """Ask until it raises nothing and says nothing false."""
    end_s = time.monotonic() + limit_s
    while True:
        try:
            if what() is not False:
                return
        except Exception as error:
            if time.monotonic() > end_s:
                raise AssertionError(cluster.nodes[0].log_tail()) from error
        cluster.check()
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 1.0):
        return True


def load_spec(target: dict[str, Any], records: int) -> dict[str, Any]:
    """What the engine is given to load so many records."""
    return {
        "target": target,
        "workload": {
            "records": records,
            "fields": 1,
            "field_length_bytes": 100,
            "mix": {"read": 1.0},
        },
        "consistency": "weak",
        "users": 1,
        "spawn_rate_per_s": 1.0,
        "warm_up_s": 0.0,
        "measure_s": 0.1,
        "operation_timeout_ms": 10_000,
        "seed": 1,
    }


@dataclass(frozen=True)
class Refusal:
    """What was said instead of connecting, and how long that took."""

    message: str
    hint: str
    seconds: float


def probe(target: dict[str, Any]) -> str | None:
    """Connect as a run would; the version."""
    return json.loads(_engine.probe(json.dumps(target)).result())["version"]


def refusal(target: dict[str, Any]) -> Refusal:
    begin_s = time.monotonic()
    with pytest.raises(_engine.EngineError) as caught:
        probe(target)
    error = caught.value
    text = f"{error} {error.message} {error.hint}"
    assert PASSWORD not in text
    assert "\n" not in error.message
    return Refusal(error.message, error.hint, time.monotonic() - begin_s)


def started_study(directory: Path, text: str) -> subprocess.Popen[str]:
    """`pacelc run` in a process of its own, with the password in its environment."""
    study = directory / "study.yaml"
    study.write_text(text, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "pacelc", "run", str(study), "--out", str(directory / "out")],
        env={**os.environ, VARIABLE: PASSWORD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_study(directory: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a study to its end."""
    with started_study(directory, text) as process:
        try:
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def pacelc(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Another verb, with the password in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "pacelc", *arguments],
        env={**os.environ, VARIABLE: PASSWORD},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def holding(directory: Path, secret: str) -> list[str]:
    """Files below a directory that hold a text, in any byte order that writes it."""
    wanted = [secret.encode(), secret.encode("utf-16-le"), secret.encode().hex().encode()]
    return [
        str(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in wanted)
    ]


_DEBIANS = ("redis-tools", "liblzf1", "libjemalloc2")
"""The program, and what else it loads that not every machine has."""


def _quietly(command: list[str], directory: Path) -> None:
    subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="session")
def redis_with_tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A redis-server that was built with TLS: the packaged one was not."""
    found = shutil.which("redis-server")
    if found is not None and b"libssl" in Path(found).read_bytes():
        return Path(found)
    directory = tmp_path_factory.mktemp("redis")
    unpacked = directory / "unpacked"
    try:
        _quietly(["apt-get", "download", *_DEBIANS], directory)
        for package in directory.glob("*.deb"):
            _quietly(["dpkg", "-x", str(package), str(unpacked)], directory)
        # Debian's server and checker are one program, which goes by the name it is called.
        server = unpacked / "redis-server"
        shutil.copy(unpacked / "usr/bin/redis-check-rdb", server)
        program = directory / "redis-server"
        libraries = ":".join(str(path) for path in unpacked.glob("usr/lib/*-linux-gnu"))
        program.write_text(
            f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {server} "$@"\n', encoding="utf-8"
        )
        program.chmod(0o755)
        _quietly([str(program), "--version"], directory)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no redis-server with TLS is here, nor can apt-get fetch Debian's")
    return program
