"""`external`: what it takes, what it refuses, and that it never repeats a secret."""

from __future__ import annotations

import json
import socket

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.runner.engine import engine_target
from pacelc.runner.lab import external_target
from pacelc.study import Study, StudyError
from pacelc.study.external import as_sent

SECRET = "hunter2hunter2"


def study(external: str, database: str = "redis", more: str = "") -> Study:
    return Study.parse(
        f"name: a\nsettings:\n  database: {database}\n  nodes: 1\n  external: {external}\n{more}"
    )


def test_a_clusters_description_reaches_the_engine_with_references_alone() -> None:
    external = study(
        "{endpoints: ['db:6379'], replicas: ['[::1]:6380'], user: bench, "
        "password_env: DB_PASSWORD, tls: {ca_file: ca.pem}, replace_table: true}"
    )
    settings = external.schedule()[0].scenario.settings
    assert settings.external is not None
    target = settings.external.target()
    assert target["endpoints"] == ["db:6379"]
    assert target["replicas"] == ["[::1]:6380"]
    assert target["security"] == {
        "user": "bench",
        "password": {"env": "DB_PASSWORD"},
        "tls": {"ca_file": "ca.pem"},
    }
    assert target["owner"] == {"replace": True}
    plain = study("{endpoints: ['db:6379']}").schedule()[0].scenario.settings.external
    assert plain is not None
    assert plain.target()["security"] is None
    assert plain.target()["owner"] == {"replace": False}


@pytest.mark.parametrize(
    "address",
    ["db:0", "db:99999", "db:65536", "[::1]:100000", "[:::]:1", "[::1%]:1", "[::1%a%b]:1"],
)
@pytest.mark.parametrize("field", ["endpoints: ['db:1'], replicas: ['{}']", "endpoints: ['{}']"])
def test_an_address_that_there_cant_be_is_refused_and_not_repeated(
    address: str, field: str
) -> None:
    with pytest.raises(StudyError, match=r"host:port|a port is 1 to 65535") as refused:
        study(f"{{{field.format(address)}}}")
    assert address not in str(refused.value)


def test_a_zone_is_sent_as_the_number_of_its_interface() -> None:
    assert as_sent("[fe80::1%lo]:6379") == f"[fe80::1%{socket.if_nametoindex('lo')}]:6379"
    for address in ("[fe80::1%7]:6379", "[::1]:6379", "db:6379"):
        assert as_sent(address) == address
    with pytest.raises(InputError, match=r"\[::1%gone\]:6379: this machine has no network interf"):
        as_sent("[::1%gone]:6379")


def test_a_server_is_reached_at_an_address_with_a_zone() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        external = study(f"{{endpoints: ['[::1%lo]:{port}']}}").schedule()[0].scenario.settings
        assert external.external is not None
        assert external.external.target()["endpoints"] == [f"[::1%lo]:{port}"]
        target = engine_target(external_target(external), {})
        probing = _engine.probe(json.dumps(target))
        server.settimeout(10)
        server.accept()[0].close()
        with pytest.raises(_engine.EngineError, match="Redis at"):
            probing.result()


def test_tls_without_files_goes_by_the_public_authorities() -> None:
    for tls in ("true", "{}"):
        settings = study(f"{{endpoints: ['db:1'], tls: {tls}}}").schedule()[0].scenario.settings
        assert settings.external is not None
        assert settings.external.target()["security"] == {"tls": {}}


def test_clusters_are_told_apart_by_where_they_are() -> None:
    text = "name: a\nsettings: {database: redis, nodes: 1}\nfactors:\n  where:\n"
    text += "    here: {external: {endpoints: ['a:1']}}\n"
    text += "    there: {external: {endpoints: ['b:1']}}\n    ours: {}\n"
    keys = {run.cluster_key for run in Study.parse(text).schedule()}
    assert len(keys) == 3
    assert "redis-n1-rf1" in keys
    assert sum(key.startswith("redis-external-n1-rf1-") for key in keys) == 2


@pytest.mark.parametrize(
    ("external", "says"),
    [
        ("{}", "endpoints: field required"),
        ("{endpoints: []}", "at least 1 item"),
        ("{endpoints: [db]}", "should be host:port"),
        (f"{{endpoints: ['redis://u:{SECRET}@db:1']}}", "host:port, not a URL"),
        (f"{{endpoints: ['u:{SECRET}@db:1']}}", "host:port, not a URL"),
        (f"redis://u:{SECRET}@db:1", "should be a mapping with endpoints"),
        (f"{{endpoints: ['db:1'], password: {SECRET}}}", "isn't written into a study"),
        (f"{{endpoints: ['db:1'], pasword: {SECRET}}}", "extra inputs are not permitted"),
        (f"{{endpoints: ['db:1'], password_env: '{SECRET}!'}}", "name of an environment variable"),
        ("{endpoints: ['db:1'], password_env: A, password_file: b}", "not in both"),
        ("{endpoints: ['db:1'], tls: {verify: false}}", "extra inputs are not permitted"),
    ],
)
def test_mistakes_are_one_line_that_repeats_no_secret(external: str, says: str) -> None:
    with pytest.raises(StudyError) as caught:
        study(external).schedule()
    text = f"{caught.value.message} {caught.value.hint}"
    assert says in text
    assert "external" in text
    assert SECRET not in text
    assert "\n" not in caught.value.message


def refusal_of(password: str) -> str:
    external = {"endpoints": [f"user:{password}@host"]}
    settings = {"database": "redis", "nodes": 1, "external": external}
    with pytest.raises(StudyError) as caught:
        Study.parse(json.dumps({"name": "a", "settings": settings})).schedule()
    return f"{caught.value.message} {caught.value.hint}"


@given(st.text(min_size=8))
@example("study.ya")
def test_whatever_stands_where_an_address_belongs_is_not_repeated(secret: str) -> None:
    """But for words that a refusal has of any other."""
    assert secret not in refusal_of(secret) or secret in refusal_of(SECRET)


def test_options_of_servers_that_pacelc_would_start_are_refused() -> None:
    with pytest.raises(StudyError, match=r"no cluster_options \(heap_mib\)"):
        study("{endpoints: ['db:1']}", more="  cluster_options: {heap_mib: 512}\n").schedule()


def test_what_is_inside_the_engine_is_not_external() -> None:
    with pytest.raises(StudyError, match="memory is inside the engine"):
        study("{endpoints: ['db:1']}", database="memory").schedule()
