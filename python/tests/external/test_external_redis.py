"""Redis with a password, users of its own, and TLS that asks for client certificates."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from pacelc import _engine
from pacelc.clusters import Cluster, ClusterSpec, Endpoint
from pacelc.clusters.databases.redis import exchange
from pacelc.store import load

from .conftest import (
    PASSWORD,
    VARIABLE,
    Certificates,
    holding,
    listens,
    load_spec,
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

pytestmark = pytest.mark.cluster

PLAIN, TLS = 26379, 26380


def spec(program: Path) -> ClusterSpec:
    return ClusterSpec("redis", nodes=1, replication=1, options={"server": str(program)})


def configuration(certificates: Certificates, server: str, **changes: Any) -> str:
    """Return a redis.conf with TLS, and who gets in as the changes say."""
    settings = {
        "bind": "127.0.0.1",
        "port": PLAIN,
        "protected-mode": "no",
        "save": '""',
        "tls-port": TLS,
        "tls-cert-file": getattr(certificates, server),
        "tls-key-file": getattr(certificates, f"{server}_key"),
        "tls-ca-cert-file": certificates.ca,
        **changes,
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


@pytest.fixture(scope="module")
def guarded(
    redis_with_tls: Path, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    config = configuration(
        certificates,
        "server",
        requirepass=PASSWORD,
        user=f"bench on >{PASSWORD} ~usertable* +@all -@dangerous +info",
    )
    directory = tmp_path_factory.mktemp("guarded")
    with servers(spec(redis_with_tls), directory, config) as cluster:
        until(cluster, lambda: listens(TLS))
        yield cluster


def target(port: int, **security: Any) -> dict[str, Any]:
    return {
        "database": "redis",
        "endpoints": [f"127.0.0.1:{port}"],
        "security": {"password": {"env": VARIABLE}, **security},
    }


def tls(certificates: Certificates, **changes: Any) -> dict[str, Any]:
    files = {
        "ca_file": certificates.ca,
        "cert_file": certificates.client,
        "key_file": certificates.client_key,
    }
    return {name: path for name, path in (files | changes).items() if path is not None}


def test_a_password_a_user_and_certificates_open_the_door(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    version = probe(target(PLAIN))
    assert version is not None
    assert version.startswith("7.")
    secret = tmp_path / "password"
    secret.write_text(f"{PASSWORD}\n")
    for door in (
        target(PLAIN, user="bench"),
        target(PLAIN, password={"file": str(secret)}),
        target(TLS, user="bench", tls=tls(certificates)),
        target(TLS, tls=tls(certificates, cert_file=certificates.client_both, key_file=None)),
    ):
        assert probe(door) == version


@pytest.mark.parametrize(
    ("port", "changes", "says"),
    [
        (PLAIN, {"security": None}, "asks for a user or a password"),
        (PLAIN, {"user": "nobody"}, "refuses the user or the password"),
        (TLS, {}, "speaks TLS, and wasn't spoken to so"),
        (PLAIN, {"tls": {}}, "doesn't answer in TLS"),
        (TLS, {"tls": {}}, "signed by no authority"),
        (TLS, {"tls": {"ca_file": "other_ca"}}, "signed by no authority"),
        (TLS, {"tls": {"cert_file": None, "key_file": None}}, "asks for a client's certificate"),
        (
            TLS,
            {"tls": {"cert_file": "strange_client", "key_file": "strange_client_key"}},
            "ends the TLS handshake",
        ),
        (TLS, {"tls": {"server_name": "db.example"}}, "is for another name"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_soon(
    guarded: Cluster, certificates: Certificates, port: int, changes: dict[str, Any], says: str
) -> None:
    assert guarded.nodes
    door = target(port, **{name: part for name, part in changes.items() if name != "security"})
    if "security" in changes:
        del door["security"]
    given = changes.get("tls")
    if given:
        named = {
            name: value if value is None or name == "server_name" else getattr(certificates, value)
            for name, value in given.items()
        }
        door["security"]["tls"] = tls(certificates, **named)
    said = refusal(door)
    assert says in said.message
    assert f"127.0.0.1:{port}" in said.message
    assert said.hint
    assert said.seconds < 8


def test_a_wrong_password_is_told_from_a_missing_one(
    guarded: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guarded.nodes
    monkeypatch.setenv(VARIABLE, "something-else")
    assert "refuses the user or the password" in refusal(target(PLAIN)).message


@pytest.mark.parametrize(
    ("server", "says"), [("expired", "has expired"), ("elsewhere", "db.elsewhere.example")]
)
def test_a_certificate_that_does_not_hold_is_refused(
    redis_with_tls: Path, certificates: Certificates, tmp_path: Path, server: str, says: str
) -> None:
    config = configuration(
        certificates,
        server,
        port=PLAIN + 10,
        **{"tls-port": TLS + 10, "tls-auth-clients": "no"},
    )
    with servers(spec(redis_with_tls), tmp_path, config) as cluster:
        until(cluster, lambda: listens(TLS + 10))
        door = target(TLS + 10, tls={"ca_file": certificates.ca})
        del door["security"]["password"]
        assert says in refusal(door).message
        if server == "elsewhere":
            door["security"]["tls"]["server_name"] = "db.elsewhere.example"
            assert probe(door) is not None


STUDY = """
name: external
settings:
  database: redis
  nodes: 1
  external:
    endpoints: ["127.0.0.1:{port}"]
    user: bench
    password_env: {variable}
    replace_table: {replace}
    tls: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}}}
  records: 200
  mix: {mix}
  warm_up: 100ms
  measure: 500ms
  cool_down: 0s
"""


def study(certificates: Certificates, **changes: Any) -> str:
    parts = {
        "port": TLS,
        "variable": VARIABLE,
        "replace": "false",
        "ca": certificates.ca,
        "cert": certificates.client,
        "key": certificates.client_key,
        "mix": "{read: 0.9, update: 0.1}",
    }
    return STUDY.format(**(parts | changes))


def command(*words: str) -> list[str | int]:
    return exchange(Endpoint("127.0.0.1", PLAIN, "primary"), f"AUTH {PASSWORD}", *words)[1:]


def test_a_study_runs_over_tls_and_leaves_no_secret_behind(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL", "SET unrelated 1")
    done = run_study(tmp_path, study(certificates))
    assert done.returncode == 0, done.stderr
    results = load(tmp_path / "out")
    assert results.runs.height == 1
    assert results.runs["throughput_per_s"].item() > 0
    assert set(results.resources["role"]) == {"client", "machine"}
    record = json.loads(next((tmp_path / "out/runs").glob("*/run.json")).read_text())
    assert record["versions"]["source"] == "external"
    assert record["versions"]["redis"].startswith("7.")
    assert record["target"]["security"]["password"] == {"env": VARIABLE}
    assert record["target"]["security"]["user"] == "bench"
    # Beside the records, the key that says whose they are.
    assert command("GET unrelated", "DBSIZE") == ["1", 202]
    reported = run_report(tmp_path)
    assert PASSWORD not in done.stdout + done.stderr + reported
    assert holding(tmp_path, PASSWORD) == []
    # The servers here hold it in their configuration: the search can find it.
    assert holding(guarded.directory, PASSWORD)


def run_report(directory: Path) -> str:
    done = pacelc("report", str(directory / "out"))
    assert done.returncode == 0, done.stderr
    assert list((directory / "out").rglob("*.html"))
    return done.stdout + done.stderr


def test_records_that_are_not_this_studys_are_only_dropped_when_that_is_allowed(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL", "HSET usertable:mine field0 1")
    done = run_study(tmp_path, study(certificates))
    assert done.returncode == 1
    assert "`usertable` is there and isn't this study's: the key `usertable:mine`" in done.stderr
    assert "replace_table: true" in done.stderr
    assert command("HGET usertable:mine field0", "DBSIZE") == ["1", 1]
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    done = run_study(allowed, study(certificates, replace="true"))
    assert done.returncode == 0, done.stderr
    assert command("EXISTS usertable:mine", "DBSIZE") == [0, 201]


def test_a_table_that_the_study_made_is_made_anew_when_a_run_has_changed_it(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL")
    text = study(certificates, mix="{insert: 1}") + "repetitions: 2\n"
    done = run_study(tmp_path, text)
    assert done.returncode == 0, done.stderr
    timeline = load(tmp_path / "out").timeline
    assert timeline.filter(timeline["what"] == "prepare").height == 2


def test_what_an_earlier_invocation_loaded_is_counted_and_not_loaded_again(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL")
    text = study(certificates) + "repetitions: 2\n"
    for number in (1, 2):
        done = run_study(tmp_path, text)
        assert done.returncode == 0, done.stderr
        timeline = load(tmp_path / "out").timeline
        assert timeline.filter(timeline["what"] == "prepare").height == 1
        assert timeline.filter(timeline["what"] == "load").height == number
        shutil.rmtree(tmp_path / "out/runs/0001-r2")
    # Were records lost meanwhile, they are loaded again.
    command("FLUSHALL")
    done = run_study(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert command("DBSIZE") == [201]


def test_nothing_is_dropped_that_another_table_of_the_study_gave_leave_for(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL", "HSET usertable_orders:user1 name mine", "SET usertable_index mine")
    text = study(certificates) + "factors: {table: [usertable, usertable_orders]}\norder: listed\n"
    done = run_study(tmp_path, text)
    assert done.returncode == 1
    assert "`usertable_orders` is there and isn't this study's" in done.stderr
    assert load(tmp_path / "out").runs.height == 1
    assert command("HGET usertable_orders:user1 name", "GET usertable_index") == ["mine", "mine"]


def test_a_study_that_is_resumed_against_another_server_changes_nothing_there(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL")
    text = study(certificates) + "repetitions: 2\n"
    assert run_study(tmp_path, text).returncode == 0
    shutil.rmtree(tmp_path / "out/runs/0001-r2")
    # Another one, with a table of its own by that name.
    command("FLUSHALL", "HSET usertable:user1 field0 mine", "SET usertable:mine 1")
    done = run_study(tmp_path, text)
    assert done.returncode == 1
    assert "isn't this study's" in done.stderr
    assert command("HLEN usertable:user1", "DBSIZE") == [1, 2]


def test_what_the_study_made_is_cleaned_away_and_nothing_else(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL", "SET unrelated 1")
    assert run_study(tmp_path, study(certificates)).returncode == 0
    command("SET usertable:mine 1")
    for outcome in ("dropped: usertable at 127.0.0.1", ""):
        done = pacelc("clean", str(tmp_path / "out"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(outcome)
        assert command("GET unrelated", "GET usertable:mine", "DBSIZE") == ["1", "1", 2]
    assert load(tmp_path / "out").runs.height == 1


def test_a_record_that_the_server_refuses_ends_the_load_at_once_with_its_reason(
    guarded: Cluster,
) -> None:
    assert guarded.nodes
    command("FLUSHALL", f"ACL SETUSER reader on >{PASSWORD} ~* +@all -hset")
    begin_s = time.monotonic()
    with pytest.raises(_engine.EngineError, match=r"NOPERM .*hset"):
        _engine.load(json.dumps(load_spec(target(PLAIN, user="reader"), 3_200))).result()
    assert time.monotonic() - begin_s < 2.0


def test_a_password_file_that_everybody_can_read_is_a_warning_of_the_run(
    guarded: Cluster, certificates: Certificates, tmp_path: Path
) -> None:
    assert guarded.nodes
    command("FLUSHALL")
    secret = tmp_path / "secret/password"
    secret.parent.mkdir()
    secret.write_text(PASSWORD)
    for mode, warned in ((0o600, False), (0o644, True)):
        secret.chmod(mode)
        directory = tmp_path / f"{mode:o}"
        directory.mkdir()
        text = study(certificates, replace="true")
        text = text.replace(f"password_env: {VARIABLE}", f"password_file: {secret}")
        done = run_study(directory, text)
        assert done.returncode == 0, done.stderr
        says = f"the password file {secret} can be read by every user of this machine"
        assert (says in done.stderr) == warned
        (record,) = (directory / "out/runs").glob("*/run.json")
        assert (says in json.loads(record.read_text())["result"]["warnings"]) == warned
        assert holding(directory, PASSWORD) == []


def test_an_interrupted_load_goes_on_behind_what_is_there(
    guarded: Cluster, certificates: Certificates
) -> None:
    assert guarded.nodes
    command("FLUSHALL")
    spec = load_spec(target(TLS, user="bench", tls=tls(certificates)), 30_000)
    _engine.prepare(json.dumps(spec)).result()
    job = _engine.load(json.dumps(spec))
    while job.progress()["ok"] < 1_000:
        assert not job.wait(0.01)
    job.stop()
    assert job.wait(10)
    with pytest.raises(_engine.Stopped):
        job.result()
    reached = job.progress()["ok"]
    there = command("DBSIZE")[0]
    assert isinstance(there, int)
    assert 1_000 <= reached <= there < 30_000
    first = next(key for kind, key, _ in _engine.operations(json.dumps(spec), 0, 1))
    rest = _engine.load(json.dumps(spec | {"load_from": reached}))
    assert json.loads(rest.result()) == {"records": 30_000}
    # A record that is known to be there isn't written again: were it, it would be back.
    command(f"DEL usertable:{first}")
    again = _engine.load(json.dumps(spec | {"load_from": 30_000}))
    with pytest.raises(_engine.EngineError, match="29999 records are there, not 30000"):
        again.result()
