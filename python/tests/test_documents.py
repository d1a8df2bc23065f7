"""Documents of others: what nobody wrote by hand is one line that says where, at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.calibration.document import Calibration
from pacelc.documents import DocumentError, parse_json, parse_yaml
from pacelc.errors import InputError, PacelcError
from pacelc.networks import Network
from pacelc.planning.candidates import PriceList
from pacelc.store.format import RunRecord, StoreError, read_record
from pacelc.study import Study, StudyError
from pacelc.study.source import builtin_text

if TYPE_CHECKING:
    from collections.abc import Callable

# `make soak` asks for more, and for others each time.
EXAMPLES = int(os.environ.get("PACELC_MUTATIONS", "60"))
LONGEST_S = 10
LONGEST_LINE = 1_000

LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in pairwise("abcdefghij")
)


def refused(text: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        parse_yaml(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "path", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a", "is there twice, first in line 1"),
        ("1: a\n'1': b", 2, "1", "is there twice, first in line 1"),
        (f"{LAUGHS}h: 1", 11, "h", "is there twice, first in line 8"),
        (LAUGHS, 6, "f.0", "more than 50,000 values, or 1,048,576 characters of them"),
        ("a: &a [*a]", 1, "a.0", "an alias (*) inside of what it stands for"),
        ("x: &a {<<: *a}", 1, "x.<<", "an alias (*) inside of what it stands for"),
        ("a: *b", 1, "a", "an alias (*) without an anchor (&) above it"),
        ("a: {<<: 5}", 1, "a.<<", "should be the alias of a mapping, or a list of such aliases"),
        ("a: {<<: {}, <<: {}}", 1, "a.<<", "is there twice"),
        ("a: !!bool maybe", 1, "a", "is no bool, as its tag (!!) says"),
        ("a: !!int ''", 1, "a", "is no int, as its tag (!!) says"),
        ("a: !!int true", 1, "a", "is no int, as its tag (!!) says"),
        ("a: !!set {b}", 1, "a", "an unknown tag (!)"),
        ("a: !!omap [b: 1]", 1, "a", "an unknown tag (!)"),
        ("a: !!timestamp 2024-01-01", 1, "a", "an unknown tag (!)"),
        ("a: !mine 1", 1, "a", "an unknown tag (!)"),
        ("a: " + "9" * 5_000, 1, "a", "a whole number of more than 64 bits"),
        ("a: 9223372036854775808", 1, "a", "a whole number of more than 64 bits"),
        ("a: 1e400", 1, "a", "the number is too large"),
        ("a: 1_000", 1, "a", "a number is written without _"),
        ("a: .nan", 1, "a", "a number should be finite"),
        ('a: "\\ud800"', 1, "a", "half of a character (a lone surrogate)"),
        ('a: "\\0"', 1, "a", "text can't have the character 0"),
        ('a: "\\UFFFFFFFF"', 1, "a", "this is no YAML"),
        ("a: 1\nb: \x01", 2, "", "a character that text can't have"),
        ("b: 1\na: " + "[" * 5_000, 2, "a" + ".0" * 99, "nested more than 100 deep"),
        ("? [a]\n: b", 1, "", "a key should be text or a number"),
        ("a: 1\n---\nb: 2", 2, "", "a second document begins"),
        ("%YAML 1.1\n---\na: yes", 2, "", "should be YAML 1.2"),
        ("%YAML 1.9\n---\na: yes", 1, "", "this is no YAML"),
        ("a: {b: 1", 1, "", "expected ',' or '}', but got '<stream end>'"),
        ("a:\n  b: 1\n c: 2", 3, "", "expected <block end>, but found '<block mapping start>'"),
        ("a: !secret!x y", 1, "", "found undefined tag handle …"),
    ],
)
def test_what_is_refused_has_its_line_and_its_key(
    text: str, line: int, path: str, problem: str
) -> None:
    error = refused(text)
    assert (error.line, ".".join(map(str, error.path)), error.problem) == (line, path, problem)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("base: &b {x: 1}\na: {<<: *b}", {"base": {"x": 1}, "a": {"x": 1}}),
        ("a: {<<: {x: 1, y: 2}, x: 3}", {"a": {"x": 3, "y": 2}}),
        ("a: {<<: [{x: 1}, {x: 2, y: 2}]}", {"a": {"x": 1, "y": 2}}),
        ('a: {"<<": 1}', {"a": {"<<": 1}}),
        ("a: &a 1\nb: &a 2\nc: *a", {"a": 1, "b": 2, "c": 2}),
        ("a: [~, true, 012, 0o17, 0x1f, -1, 1.5, 1e3]",
         {"a": [None, True, 12, 15, 31, -1, 1.5, 1000.0]}),
        ("a: [yes, 1:30, '1_000', 2024-01-01, '1']",
         {"a": ["yes", "1:30", "1_000", "2024-01-01", "1"]}),
        ("a: [5_cafe, 2_dc, 1_e]", {"a": ["5_cafe", "2_dc", "1_e"]}),
        ("a: [!!str 1, ! 1, !!float 1, !!int '5', !!null '']", {"a": ["1", "1", 1.0, 5, None]}),
        ("null: 1\ntrue: 2\n1.0: 3", {"None": 1, "True": 2, "1.0": 3}),
        ('"\\ud83d\\ude00": 1', {"😀": 1}),
        ("\ufeffa: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
        ("", None),
    ],
)  # fmt: skip
def test_yaml_is_read_as_its_core_schema_says(text: str, data: object) -> None:
    assert parse_yaml(text).data == data


def test_what_an_alias_stands_for_is_made_anew_at_each_place() -> None:
    data: Any = parse_yaml("a: &a {x: [1]}\nb: *a\nc: {<<: *a}").data
    data["a"]["x"].append(2)
    assert data["b"] == data["c"] == {"x": [1]}


def test_a_merged_key_has_the_line_that_wrote_it() -> None:
    lines = parse_yaml("a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2").lines
    assert lines[("b", "x")] == 2
    assert lines[("b", "y")] == 5


def test_a_study_may_have_a_key_for_its_aliases() -> None:
    text = "name: x\nbase: &b {database: memory}\nsettings: {<<: *b}\n"
    assert Study.parse(text).scenarios()[0].settings.database == "memory"
    with pytest.raises(StudyError, match=r"study.yaml:2: base: a study has no such field"):
        Study.parse("name: x\nbase: &b {database: memory}\nsettings: {database: memory}\n")
    with pytest.raises(StudyError, match=r"study.yaml:3: typo: a study has no such field"):
        Study.parse("name: x\nsettings: &b {database: memory}\ntypo: *b\n")


N = 2**20
VAST = {
    "[": "[" * N,
    "[ by line": "[\n" * (N // 2),
    "{": "{" * N,
    "- ": "- " * (N // 2),
    "list": "x: [" + "1," * (N // 2 - 10) + "]",
    "tags": "- !!str 1\n" * 20_000,
    "merges": "- &a {x: 1}\n" + "- {<<: *a}\n" * 5_000,
    "doubled": "- &a0 1\n" + "".join(f"- &a{i + 1} [*a{i}, *a{i}]\n" for i in range(20_000)),
    "long text many times": f"- &a {'x' * (N // 2)}\n" + "- *a\n" * 40_000,
    "digits": "9" * N,
    "point and digits": "." + "9" * (N - 1),
    "a long key twice": f"{'k' * (N // 3)}: 1\n" * 2,
    "empty lines": "\n" * N,
    "documents": "---\n" * (N // 4),
    "longer": "x" * (N + 1),
}  # fmt: skip
READS = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30))
from pacelc.documents import DocumentError, parse_json, parse_yaml
for text in sys.stdin.read().split("\\f"):
    for read in (parse_yaml, parse_json):
        begun = time.process_time()
        try:
            read(text)
        except DocumentError as error:
            assert len(error.problem) < 1000
        assert time.process_time() - begun < 10, (read, text[:100])
"""


def test_vast_documents_take_neither_long_nor_a_gibibyte() -> None:
    subprocess.run(
        [sys.executable, "-c", READS], input="\f".join(VAST.values()), text=True, check=True
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("repetitions: 1000000\nfactors: {users: [1, 2]}", "study.yaml:3: repetitions: 1,000,000"),
        ("factors: {users: [1..10000], nodes: [3..10000]}", "study.yaml:3: factors: 99,980,000"),
        ("factors: {users: [1..10000], nodes: [3..5]}", "study.yaml:3: factors: 30,000 scenarios"),
        ("settings.x: 1\nrepetitions: " + "9" * 4_300, "study.yaml:4: repetitions: a whole number"),
    ],
)
def test_more_runs_than_anybody_waits_for_are_refused(changes: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.parse(f"name: x\nsettings: {{database: memory}}\n{changes}\n")
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize(
    "assignment",
    [
        "users=" + "[" * 500,
        "users={a: 1, a: 2}",
        "users=" + "9" * 5_000,
        "users=1.." + "9" * 5_000,
        "users=4294967296",
        "nodes=4294967296",
        "rate=1e300",
        "measure=1e400",
        "measure=1e300",
        "measure=" + "9" * 400 + "h",
        "memory=" + "9" * 5_000 + "GiB",
        "repetitions=9223372036854775807",
        "consistency=!!set {a}",
        "consistency=*secret",
        "consistency=\udcff",
        "k" * 5_000 + "=1",
    ],
)
def test_a_setting_that_cannot_be_is_one_short_line(assignment: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.parse("name: x\nsettings: {database: memory}\n", [assignment]).schedule()
    assert caught.value.message.startswith("--set ")
    assert len(caught.value.message) < 200
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"a":' * 5_000, None, "is nested more than 200 deep"),
        ("[" * 300 + "]" * 300, None, "is nested more than 200 deep"),
        ('{"a": "\\ud800"}', None, "has half of a character (a lone surrogate)"),
        ("9" * 5_000, None, "has a number that is too long"),
        ('{"a": [1e400]}', None, "has a number that isn't finite"),
        ('{"a": NaN}', None, "has a number that isn't finite"),
        ('{\n"a": }', 2, "is not JSON: Expecting value"),
    ],
)
def test_json_is_refused_in_one_line(text: str, line: int | None, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_json(text)
    assert (caught.value.line, caught.value.problem) == (line, problem)


def test_a_deeply_nested_record_is_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"a":' * 100_000)
    with pytest.raises(StoreError, match=r"run.json: is nested more than 200 deep"):
        read_record(RunRecord, path)


def test_a_file_without_end_is_refused() -> None:
    for read in (Study.load, Network.load, Calibration.load, PriceList.load):
        with pytest.raises(InputError, match="/dev/zero: is longer than 16 MiB"):
            read(Path("/dev/zero"))


def read_study(text: str) -> None:
    study = Study.parse(text)
    study.scenarios()
    study.schedule()


def read_prices(text: str, path: Path = Path("/proc/self/fd")) -> None:
    source = os.memfd_create("prices")
    os.write(source, text.encode("utf-8", "surrogatepass"))
    os.lseek(source, 0, os.SEEK_SET)
    try:
        PriceList.load(path / str(source))
    finally:
        os.close(source)


def read_setting(text: str) -> None:
    Study.parse("name: x\nsettings: {database: memory}\n", [f"consistency={text}"])


STUDY = """
name: x
base: &b {measure: 1s, memory: 2GiB}
factors:
  users: [1..4, 8]
  size: {small: {records: 10, <<: *b}, large: {records: 1000}}
exclude: [{users: 8, size: small}]
overrides: [{when: {users: 2}, set: {workload: {mix: {read: 1}}, links: {}}}]
settings: {database: memory, external: null, regions: [], arrivals: closed, faults: []}
repetitions: 2
seed: 5
presets: {small: {users: 1, measure: 0.5}}
"""
NETWORK = """
classes: [{name: read, users: 3}, {name: write, interarrival: 1s}]
stations:
  - {name: cpu, servers: 2, service: {"*": 1ms}}
  - {name: disk, service: {read: {distribution: erlang, mean: 2ms, shape: 2}, write: 1ms}}
forks: [{name: fork, branches: [cpu, disk], join: 1}]
routing: {cpu: {read: disk}, disk: {read: {cpu: 1}}, source: {write: cpu}}
"""
PRICES = "currency: €\nmachines: [{name: small, cores: 2, price_per_hour: 0.1, memory: 2GiB}]\n"
CALIBRATION = """
name: mine
database: cassandra
versions: {cassandra: 5.0.2}
machine: {cores: 2}
demands: {read_cpu: {value: 1.1ms, low: 1ms, high: 1.2ms}, write_uncached: 0.25}
checked: {users: [1, 64], nodes: [1, 3], levels: [one, quorum]}
error: {sizes: 5, between_clusters: 0.03, throughput: 0.04, mean: 0.1, p99: 0.2}
"""
READERS: list[tuple[Callable[[str], Any], str]] = [
    (read_study, STUDY),
    (read_study, builtin_text("quickstart")),
    (Network.parse, NETWORK),
    (Calibration.parse, CALIBRATION),
    (read_prices, PRICES),
    (read_setting, "{read: ONE, write: {w: 2, j: true}}"),
]
PUT = [
    *("", " ", "\n", "\t", ":", ": ", "- ", ",", "[", "]", "{", "}", '"', "'", "#", "|", "%", "\\"),
    *("&a ", "*a", "*b", "<<: ", "<<: *b", "!!int ", "!!set ", "!!bool ", "!x ", "? ", "---\n"),
    *("-1", "0", "1e400", ".nan", "-.inf", "0x", "1_0", "9" * 5_000, "1e-400", "~", "true", "1..2"),
    *("9223372036854775807", "1" * 400, "1..9999999999", "10000000", "2024-01-01", "1:30"),
    *('"\\ud800"', '"\\0"', "\x00", "\x1b", "\ufeff", "\ud800", "é", "😀", "[" * 200, "{a: " * 200),
    *("x" * 100_000, LAUGHS, "%YAML 1.1\n---\n"),
]


@given(
    st.sampled_from(READERS),
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.integers(0, 30), st.sampled_from(PUT) | st.text(max_size=5)
        ),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=EXAMPLES)
def test_a_damaged_document_is_an_error_of_its_own(
    reader: tuple[Callable[[str], Any], str], changes: list[tuple[int, int, str]]
) -> None:
    read, text = reader
    for at, cut, put in changes:
        begin = at % (len(text) + 1)
        text = text[:begin] + put + text[begin + cut :]
    said, begun = "", time.process_time()
    try:
        read(text)
    except PacelcError as error:
        said = error.message
    assert "\n" not in said
    assert len(said) < LONGEST_LINE
    assert time.process_time() - begun < LONGEST_S
