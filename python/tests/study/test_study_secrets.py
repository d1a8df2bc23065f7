"""No error repeats a value that was given where a password may stand."""

from __future__ import annotations

import io
import json
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.cli import entry
from pacelc.errors import PacelcError
from pacelc.study import Study
from pacelc.study.ycsb import read_ycsb, ycsb_source

if TYPE_CHECKING:
    from collections.abc import Callable

# What passwords are made of, around a heart that stands in no message of ours.
SIGNS = st.text("abcXYZ019!#$%&*+-./:;<=>?@[]^_{|}~' \"\\,()", max_size=5)
HEART = "qZ7vK3xW9j"
# Where it stands is what matters, and there are many places.
FEW = settings(max_examples=6)
SECRETS = st.builds(lambda before, after: f"{before}{HEART}{after}", SIGNS, SIGNS)

STUDY = "name: a\nfactors: {users: [1, 2]}\nsettings:\n  database: redis\n  nodes: 1\n"
CLUSTER = {"endpoints": ["db:6379"]}


# Where a password may stand in `external`, though none belongs there: by name, type, shape.
IN_EXTERNAL: dict[str, Callable[[str], object]] = {
    "password": lambda secret: {**CLUSTER, "password": secret},
    "a misspelt password": lambda secret: {**CLUSTER, "pasword_env": secret},
    "a URL": lambda secret: f"redis://me:{secret}@db:6379",
    "a URL for endpoints": lambda secret: {"endpoints": f"redis://me:{secret}@db:6379"},
    "a URL among endpoints": lambda secret: {"endpoints": [f"redis://me:{secret}@db:6379"]},
    "a mapping among endpoints": lambda secret: {"endpoints": [{"password": secret}]},
    "a URL for the primary": lambda secret: {**CLUSTER, "primary": f"me:{secret}@db:1"},
    "in place of a variable": lambda secret: {**CLUSTER, "password_env": f"{secret}!"},
    "a list for a variable": lambda secret: {**CLUSTER, "password_env": [secret]},
    "a mapping for a variable": lambda secret: {**CLUSTER, "password_env": {"is": secret}},
    "a list for a file": lambda secret: {**CLUSTER, "password_file": [secret]},
    "a mapping for a user": lambda secret: {**CLUSTER, "user": {"me": secret}},
    "for TLS": lambda secret: {**CLUSTER, "tls": secret},
    "in TLS": lambda secret: {**CLUSTER, "tls": {"key_password": secret}},
    "a list in TLS": lambda secret: {**CLUSTER, "tls": {"key_file": [secret]}},
    "for a flag": lambda secret: {**CLUSTER, "replace_table": secret},
    "for a number": lambda secret: {**CLUSTER, "region_replicas": secret},
    "as a name": lambda secret: {**CLUSTER, f"password:{secret}": None},
    "as a name alone": lambda secret: {**CLUSTER, secret: None},
    "a list": lambda secret: [secret],
}
# And elsewhere in settings.
IN_SETTINGS: dict[str, Callable[[str], dict[str, object]]] = {
    "password": lambda secret: {"password": secret},
    "a name with a value": lambda secret: {f"password:{secret}": None},
    "a misspelt setting": lambda secret: {"extrenal": {**CLUSTER, "password": secret}},
    "servers' options": lambda secret: {"cluster_options": f"requirepass={secret}"},
    "a list of servers' options": lambda secret: {"cluster_options": [{"password": secret}]},
    "the binding's options": lambda secret: {"client_options": [secret]},
    "a server's own password": lambda secret: {
        "cluster_options": {"config": {"requirepass": secret}}
    },
    "a password in a list": lambda secret: {"cluster_options": {"config": [{"password": secret}]}},
    "the binding's password": lambda secret: {"client_options": {"password": secret}},
    "one level too deep": lambda secret: {"users": {"external": {"password": secret}}},
    "a mapping for a duration": lambda secret: {"measure": {"password": secret}},
    "a mapping for memory": lambda secret: {"memory": {"password": secret}},
    "a list for a workload": lambda secret: {"workload": [{"password": secret}]},
} | {
    f"external: {place}": lambda secret, external=external: {"external": external(secret)}
    for place, external in IN_EXTERNAL.items()
}
# YAML as it is typed: nothing is quoted, so that what a password begins with means something.
TYPED: dict[str, Callable[[str], str]] = {
    "an alias": lambda secret: f"{STUDY}  external: {{password: *{secret}}}\n",
    "a tag": lambda secret: f"{STUDY}  external: {{password: !{secret}}}\n",
    "as it is": lambda secret: f"{STUDY}  external:\n    password: {secret}\n",
    "in double quotes": lambda secret: f'{STUDY}  external: {{password: "{secret}"}}\n',
    "twice": lambda secret: f"{STUDY}  external:\n    password: a\n    password: {secret}\n",
    "without a blank": lambda secret: f"{STUDY}  external: {{endpoints: [a:1], password:{secret}}}",
    "no mapping": lambda secret: f"- password: {secret}\n",
    "a word": lambda secret: secret,
    "settings that are none": lambda secret: STUDY.partition("settings")[0] + f"settings: {secret}",
}
# A study's document around settings.
AROUND: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {
    "settings": lambda it: {"settings": {"database": "redis", "nodes": 1, **it}},
    "settings in a list": lambda it: {"settings": [it]},
    "a level": lambda it: {"factors": {"where": {"here": {"database": "redis", **it}}}},
    "a level alone": lambda it: {"factors": {"where": [it, it]}},
    "levels of settings": lambda it: {
        "factors": {name: [value, value] for name, value in it.items()}
    },
    "an override": lambda it: {"overrides": [{"set": {"database": "redis", **it}}]},
    "a preset": lambda it: {"presets": {"mine": it}, "settings": {"database": "redis"}},
    "a preset in a list": lambda it: {"presets": {"mine": [it]}},
    "beside settings": lambda it: {"settings": {"database": "redis"}, **it},
}
PROPERTIES = (
    "mongodb.url",
    "redis.password",
    "cassandra.password",
    "hbase.security.password",
    "mongodb.password",
    "hosts",
    "workload",
)


def told(work: Callable[[], object]) -> str:
    """Return all that an error says, with its traceback."""
    try:
        work()
    except PacelcError as error:
        return "\n".join([error.message, error.hint or "", *traceback.format_exception(error)])
    return ""


def study_says(text: str, *changes: str) -> str:
    return told(lambda: Study.parse(text, changes).schedule())


def command_says(*arguments: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert entry.call(arguments) not in (0, 70), err.getvalue()
    return out.getvalue() + err.getvalue()


@pytest.mark.parametrize("place", IN_SETTINGS)
@FEW
@given(secret=SECRETS, around=st.sampled_from(sorted(AROUND)))
def test_no_error_of_a_study_repeats_a_password(place: str, secret: str, around: str) -> None:
    document = {"name": "a", **AROUND[around](IN_SETTINGS[place](secret))}
    assert HEART not in study_says(json.dumps(document))


@pytest.mark.parametrize("typed", TYPED)
@FEW
@given(secret=SECRETS)
def test_no_error_of_yaml_repeats_a_password(typed: str, secret: str) -> None:
    assert HEART not in study_says(TYPED[typed](secret))


@pytest.mark.parametrize("place", IN_SETTINGS)
@FEW
@given(secret=SECRETS)
def test_no_error_of_set_repeats_a_password(place: str, secret: str) -> None:
    with_factor = STUDY.replace("users: [1, 2]", "external: {here: {users: 1}}")
    for name, value in IN_SETTINGS[place](secret).items():
        said = [
            study_says(STUDY, f"{name}={json.dumps(value)}"),
            study_says(STUDY, f"{name}: {json.dumps(value)}"),
            study_says(with_factor, f"external={json.dumps(value)}"),
        ]
        assert all(said)
        assert HEART not in "".join(said)


@pytest.mark.parametrize("typed", ["{}", "{{password: {}}}", "{{endpoints: [a:1], password:{}}}"])
@FEW
@given(secret=SECRETS)
def test_what_set_can_not_read_is_not_repeated(typed: str, secret: str) -> None:
    value = typed.format(secret)
    for assignment in (
        f"external={value}",
        f"external.password={value}",
        value,
        f"password {value}",
    ):
        assert HEART not in study_says(STUDY, assignment)


@FEW
@given(secret=SECRETS)
def test_what_a_shell_made_of_a_value_with_blanks_is_not_repeated(secret: str) -> None:
    pieces = f"external={{endpoints: [a:1], password: {secret}}}".split()
    assert HEART not in command_says("run", "--dry-run", "--set", *pieces, "quickstart")
    assert HEART not in command_says("run", "quickstart", "-p", f"redis.password={secret}")
    assert HEART not in command_says("run", "--ycsb", "workloada", "-p", "redis.password", HEART)
    assert HEART not in command_says("run", "quickstart", f"--password={secret}")


@pytest.mark.parametrize("name", PROPERTIES)
@FEW
@given(secret=SECRETS)
def test_no_error_of_a_property_repeats_a_password(name: str, secret: str) -> None:
    def ycsb_says(file: str, *options: str) -> str:
        return told(lambda: ycsb_source(read_ycsb(file, options=options), ["redis"]))

    for option in (f"{name}={secret}", f"{name}=mongodb://me:{secret}@db:1", f"{name}:{secret}"):
        said = ycsb_says("workloada", option)
        assert said
        assert HEART not in said
    with TemporaryDirectory() as directory:
        file = Path(directory) / "workload"
        for separator in "=", ":", " ":
            text = f"recordcount=1\noperationcount=1\n{name}{separator}{HEART}{secret}\n"
            file.write_text(text, encoding="latin-1")
            assert HEART not in ycsb_says(str(file))


@pytest.mark.parametrize(
    "option",
    ["password={}", "password:{}", "{}", "config=[{}", "config=[[{}]]", "port=[{}]", "x={{p: {}}}"],
)
@settings(max_examples=2)
@given(secret=SECRETS)
def test_no_error_of_a_clusters_options_repeats_a_password(option: str, secret: str) -> None:
    written = option.format(json.dumps(secret))
    assert HEART not in command_says("up", "redis", "--option", written)
