"""YCSB's property files as studies."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pacelc
from pacelc.databases import FACTS
from pacelc.errors import InputError
from pacelc.study import Settings, Study, StudyError
from pacelc.study.consistency import resolve_levels
from pacelc.study.model import LONGEST_OPERATION_S
from pacelc.study.properties import parse_properties
from pacelc.study.ycsb import (
    ACCEPTED,
    MAPPED,
    REFUSED,
    WORKLOAD_FILES,
    length_histogram,
    read_ycsb,
    ycsb_source,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE = Path(pacelc.__file__).parents[2] / "docs" / "reference" / "ycsb.md"


def settings(workload: str, *options: str, database: str = "memory") -> Settings:
    source = ycsb_source(read_ycsb(workload, options=options), [database])
    [scenario] = Study.from_source(source).scenarios()
    return scenario.settings


def core(*options: str, database: str = "memory") -> Settings:
    """A workload with YCSB's defaults, but for these properties."""
    return settings(
        "workloada",
        "readproportion=0.95",
        "updateproportion=0.05",
        "requestdistribution=uniform",
        *options,
        database=database,
    )


# --- Java's property files ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("  a : 1", {"a": "1"}),
        ("a 1 2", {"a": "1 2"}),
        ("a\t=\t1", {"a": "1"}),
        ("a", {"a": ""}),
        ("# a=1\n! b=2\n\n  # c=3", {}),
        ("a = 1\\\n   2\nb=3", {"a": "12", "b": "3"}),
        ("a = 1\\\\\nb=3", {"a": "1\\", "b": "3"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("a\\=b\\ c\\:=1", {"a=b c:": "1"}),
        ("a=\\u0041\\t\\q", {"a": "A\tq"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a==1", {"a": "=1"}),
        ("a=1\\", {"a": "1"}),
    ],
)
def test_property_files_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert {key: entry.value for key, entry in parse_properties(text).items()} == expected


@given(st.dictionaries(st.text("ab.=: #!\\\t\u00e9", min_size=1), st.text("ab =:#\\\n\t\u20ac")))
def test_what_is_escaped_reads_back(properties: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return "".join(f"\\u{ord(character):04x}" for character in text)

    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in properties.items())
    assert {key: entry.value for key, entry in parse_properties(text).items()} == properties


@given(st.text("ab=:# \\u12\n\r"))
def test_no_text_upsets_the_parser(text: str) -> None:
    with suppress(ValueError):
        parse_properties(text)


def test_an_unfinished_escape_is_an_error_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: \\u needs four hexadecimal digits"):
        parse_properties("a=1\nb=\\u12\n")


def test_a_line_of_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "w.properties"
    path.write_text("# mine\nrecordcount=ten\noperationcount=10\n", encoding="latin-1")
    with pytest.raises(StudyError, match=r"w.properties:2: recordcount: should be a whole number"):
        ycsb_source(read_ycsb(str(path)), ["memory"])


# --- Properties ---


@pytest.mark.parametrize("letter", "abcdef")
def test_the_six_files_are_the_six_built_in_workloads(letter: str) -> None:
    study = Study.parse(f"name: a\nsettings: {{database: memory, workload: ycsb-{letter}}}")
    [scenario] = study.scenarios()
    assert settings(f"workload{letter}").workload == scenario.settings.workload


EFFECTS: Mapping[str, Mapping[str, object]] = {
    "recordcount=5000000000": {"records": 5_000_000_000},
    "insertstart=100": {"insert_start": 100, "records": 900},
    "insertcount=10": {"records": 10},
    "table=t": {"table": "t"},
    "fieldcount=3": {"fields": 3},
    "fieldlength=7": {"field_length_bytes": 7},
    "minfieldlength=5 fieldlengthdistribution=uniform": {
        "min_field_length_bytes": 5,
        "field_length_distribution": "uniform",
    },
    "fieldlengthdistribution=zipfian": {"field_length_distribution": "zipfian"},
    "readallfields=false": {"read_all_fields": False},
    "writeallfields=TRUE": {"update_all_fields": True},
    "readproportion=0 updateproportion=0 insertproportion=1": {"mix": {"insert": 1.0}},
    "readproportion=0 readmodifywriteproportion=0.95": {
        "mix": {"read_modify_write": 0.95, "update": 0.05}
    },
    "requestdistribution=sequential": {"distribution": "sequential"},
    "requestdistribution=latest": {"distribution": "latest"},
    "requestdistribution=zipfian": {"distribution": "ycsb-zipfian"},
    "requestdistribution=hotspot hotspotdatafraction=0.1 hotspotopnfraction=0.7": {
        "distribution": {"hotspot": {"hot_set_fraction": 0.1, "hot_operation_fraction": 0.7}}
    },
    "requestdistribution=exponential exponential.percentile=90 exponential.frac=0.5": {
        "distribution": {"exponential": {"percentile": 90.0, "fraction": 0.5}}
    },
    "readproportion=0.9 insertproportion=0.05 requestdistribution=zipfian operationcount=1001": {
        "distribution": {"ycsb-zipfian": {"theta": 0.99, "expected_inserts": 100}}
    },
    "readproportion=0 scanproportion=0.95": {
        "scan_length": 1000,
        "min_scan_length": 1,
        "scan_length_distribution": "uniform",
        "scan_from": "key",
    },
    "readproportion=0 scanproportion=0.95 minscanlength=3 maxscanlength=9 "
    "scanlengthdistribution=zipfian": {
        "scan_length": 9,
        "min_scan_length": 3,
        "scan_length_distribution": "zipfian",
    },
    "insertorder=ordered": {"insert_order": "ordered"},
    "zeropadding=12": {"zero_padding": 12},
}


@pytest.mark.parametrize("options", EFFECTS)
def test_a_property_becomes_its_setting_and_nothing_else_changes(options: str) -> None:
    before = core().workload.model_dump(by_alias=True)
    after = core(*options.split()).workload.model_dump(by_alias=True)
    names = {
        "field_length_bytes": "field_length",
        "min_field_length_bytes": "min_field_length",
    }
    expected = {names.get(name, name): value for name, value in EFFECTS[options].items()}
    for name, value in expected.items():
        assert after[name] == value
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {*expected, "mix", "scan_length", "scan_length_distribution", "scan_from"}


def test_the_clients_properties_become_settings() -> None:
    found = core("operationcount=6000000000", "threadcount=8", "target=500", "maxexecutiontime=90")
    assert (found.operations, found.users, found.measure_s) == (6_000_000_000, 8, 90)
    assert (found.arrivals, found.rate_per_s) == ("target", 500)
    assert core("operationcount=3", "threadcount=8").users == 3
    assert core("operationcount=0", "maxexecutiontime=5").operations is None
    assert core("warmuptime=30").warm_up_s == 30


# --- Levels ---

DEFAULTS: Mapping[str, object] = {
    "cassandra": {"read": "QUORUM", "write": "QUORUM"},
    "hbase": {"read": "STRONG", "write": "USE_DEFAULT"},
    "mongodb": {"read": "local", "write": {"w": 1}},
    "redis": {"read": "primary", "write": {"wait": 0}},
    "valkey": {"read": "primary", "write": {"wait": 0}},
}


@pytest.mark.parametrize("database", FACTS)
def test_levels_that_are_not_given_are_those_of_ycsbs_bindings(database: str) -> None:
    found = core(database=database)
    assert found.consistency == DEFAULTS[database]
    assert resolve_levels(found)


def test_each_of_several_databases_has_the_levels_of_its_binding() -> None:
    options = ["cassandra.readconsistencylevel=ONE", "redis.timeout=2000"]
    source = ycsb_source(read_ycsb("workloada", options=options), ["redis", "cassandra", "memory"])
    redis, cassandra, memory = (one.settings for one in Study.from_source(source).scenarios())
    assert redis.consistency == DEFAULTS["redis"]
    assert (redis.operation_timeout_s, cassandra.operation_timeout_s) == (2, 10)
    assert cassandra.consistency == {"read": "ONE", "write": "QUORUM"}
    assert memory.consistency == "weak"
    strong = Study.from_source(source, ["consistency=strong"])
    assert {one.settings.consistency for one in strong.scenarios()} == {"strong"}


@pytest.mark.parametrize(
    ("database", "name"), [("redis", "redis.timeout"), ("cassandra", "cassandra.readtimeoutmillis")]
)
def test_no_time_limit_is_the_longest(database: str, name: str) -> None:
    assert core(f"{name}=0", database=database).operation_timeout_s == LONGEST_OPERATION_S


@pytest.mark.parametrize(
    ("option", "database", "level"),
    [
        ("cassandra.readconsistencylevel=ONE", "cassandra", {"read": "ONE", "write": "QUORUM"}),
        ("durability=SKIP_WAL", "hbase", {"read": "STRONG", "write": "SKIP_WAL"}),
        ("mongodb.writeConcern=MAJORITY", "mongodb", {"read": "local", "write": {"w": "majority"}}),
        (
            "mongodb.writeConcern=journaled",
            "mongodb",
            {"read": "local", "write": {"w": 1, "j": True}},
        ),
        (
            "mongodb.readPreference=primary_preferred",
            "mongodb",
            {"read": {"concern": "local", "preference": "primaryPreferred"}, "write": {"w": 1}},
        ),
    ],
)
def test_a_bindings_property_sets_the_level(option: str, database: str, level: object) -> None:
    found = core(option, database=database)
    assert found.consistency == level
    assert resolve_levels(found)


@pytest.mark.parametrize("database", FACTS)
def test_every_word_of_a_level_is_one_that_the_database_has(database: str) -> None:
    for name, level in FACTS[database].ycsb_levels.items():
        for word in level.words:
            if "unacknowledged" in word or "ignored" in word:
                with pytest.raises(StudyError, match="w: 0 are not acknowledged"):
                    core(f"{name}={word}", database=database)
            else:
                assert resolve_levels(core(f"{name}={word}", database=database))


def test_a_level_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(StudyError, match="there is no level 'secondari'") as caught:
        core("mongodb.readPreference=secondari", database="mongodb")
    assert caught.value.hint == "did you mean secondary?"


# --- Files ---


def test_files_are_laid_over_each_other_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "large.properties"
    file.write_text("recordcount=1000000\nrequestdistribution=latest\n")
    over = ycsb_source(read_ycsb("workloada", str(file), options=["threadcount=3"]), ["memory"])
    [scenario] = Study.from_source(over).scenarios()
    workload = scenario.settings.workload
    assert (workload.records, workload.distribution) == (1_000_000, "latest")
    assert workload.mix == {"read": 0.5, "update": 0.5}
    assert scenario.settings.users == 3
    assert over.data["name"] == "ycsb-workloada-large"
    under = ycsb_source(read_ycsb(str(file), "workloada"), ["memory"])
    [scenario] = Study.from_source(under).scenarios()
    assert scenario.settings.workload == settings("workloada").workload


# As YCSB's template has them today, and as other people's files do.
FILES = {
    "maxscanrate=0\nscanoptimelimit=0\ndiscardscannedrecord=false\n": {},
    "measurement.histogram.verbose=true\n": {},
    "workload=core\nthreadcount=500 \n": {"users": 500},
    "\ufeff# saved with a byte order mark\r\nthreadcount=2\r\n": {"users": 2},
    "\ufeffthreadcount=2\n": {"users": 2},
    "redis.cluster=false\nredis.database=0\nbatchsize=1\ncassandra.tracing=false\n": {},
}


@pytest.mark.parametrize("text", FILES)
def test_what_other_programs_write_is_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text(f"{text}recordcount=1000\noperationcount=1000\n", encoding="utf-8", newline="")
    found = settings(str(file))
    file.write_text("recordcount=1000\noperationcount=1000\n", encoding="utf-8")
    assert found == settings(str(file)).model_copy(update=FILES[text])


def test_utf_16_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "w.properties"
    file.write_text("recordcount=1000\n", encoding="utf-16")
    with pytest.raises(InputError, match="it is UTF-16") as caught:
        read_ycsb(str(file))
    assert caught.value.hint == "save it as UTF-8"


def test_a_database_may_go_by_ycsbs_name() -> None:
    source = ycsb_source(read_ycsb("workloada", options=["db=site.ycsb.db.RedisClient"]))
    assert source.data["factors"] == {"database": ["redis"]}


def test_scans_on_redis_have_the_index_that_ycsb_keeps() -> None:
    assert settings("workloade", database="redis").client_options == {"scan_index": True}
    assert settings("workloade", database="mongodb").client_options == {}
    assert settings("workloada", database="redis").client_options == {}
    source = ycsb_source(read_ycsb("workloade"), ["redis", "mongodb"])
    found = [s.settings.client_options for s in Study.from_source(source).scenarios()]
    assert found == [{"scan_index": True}, {}]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ("requestdistributon=uniform", "no such property", "did you mean requestdistribution?"),
        ("requestdistribution=zipf", "there is no 'zipf'", "did you mean zipfian?"),
        (
            "scanproportion=1",
            (
                "the proportions sum to 2, not to 1: readproportion=0.95, "
                "updateproportion=0.05, scanproportion=1"
            ),
            (
                "YCSB would scale them to readproportion=0.475, updateproportion=0.025, "
                "scanproportion=0.5"
            ),
        ),
        ("readproportion=-1", "should be 0 or more, not -1", None),
        ("readproportion=nan", "should be a number, not 'nan'", None),
        ("recordcount=0", "how many records are there?", "-p recordcount=1000"),
        (
            "insertstart=900 insertcount=101",
            r"1000 is below insertstart \+ insertcount, 900 \+ 101",
            "recordcount counts the records of all clients",
        ),
        ("readallfields=yes", "should be true or false, not 'yes'", None),
        ("threadcount=many", "should be a whole number, not 'many'", None),
        (
            "operationcount=0",
            "a run needs an end",
            "-p operationcount=… or -p maxexecutiontime=…",
        ),
        (
            "workload=my.Workload",
            "only YCSB's core workload is there",
            "site.ycsb.workloads.CoreWorkload",
        ),
        ("fieldnameprefix=f", "can't be had: fields are named field0", None),
        ("dotransactions=false", "can't be had: a run loads its records first", None),
        (
            "cassandra.readconsistencylevel=ONE",
            "isn't for memory",
            "--set consistency=… is for all",
        ),
        (
            "fieldlengthdistribution=histogram",
            "hist.txt: there is no such file",
            "paths count from the current directory, as in YCSB",
        ),
        ("threadcount=1_0", "should be a whole number, not '1_0'", None),
        ("threadcount=٣", "should be a whole number, not '٣'", None),
        (
            "threadcount=1000001 operationcount=2000000",
            "should be less than or equal to 1000000, not 1000001",
            None,
        ),
        ("operationcount=9223372036854775808", "should be a whole number up to 9,223", None),
        ("operationcount=4611686018427387905", "should be less than or equal to 46116", None),
        ("readproportion=0.9_5", "should be a number, not '0.9_5'", None),
        ("readproportion=1e400", "should be a number below 1.8e308, not '1e400'", None),
        ("maxscanrate=10", "can't be had: a scan is one operation of the client", None),
        ("scanoptimelimit=1", "can't be had: a scan is one operation of the client", None),
        ("discardscannedrecord=true", "can't be had: a scan is one operation", None),
        (
            "zipfian_const=0.8",
            "YCSB has no such property",
            "here: --set 'distribution={ycsb-zipfian: {theta: 0.8}}'",
        ),
        (
            "zipfianconstant=high",
            "YCSB has no such property",
            "here: --set 'distribution={ycsb-zipfian: {theta: …}}'",
        ),
        (
            "deleteproportion=0.1",
            "YCSB has no such property",
            "here: --set 'mix={read: …, delete: 0.1}'",
        ),
        ("redis.timeout=2000", "isn't for memory", "--set operation_timeout=… is for all"),
        ("nonsense", "should be PROPERTY=VALUE", "-p recordcount=5000"),
        ("fieldlength=9999999", "should be less than or equal to 1048576, not 9999999", None),
        ("threadcount=0", "should be greater than 0, not 0", None),
    ],
)
def test_a_mistake_is_one_line_with_a_hint(options: str, message: str, hint: str | None) -> None:
    with pytest.raises(InputError, match=message) as error:
        core(*options.split())
    assert error.value.hint == hint
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [*ACCEPTED, *(name for name in REFUSED)])
def test_what_changes_nothing_changes_nothing_and_what_cannot_be_had_says_so(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(StudyError, match="can't be had"):
            core(f"{name}=something")
    else:
        value = WORKLOAD_FILES["workloada"].get(name, "something")
        assert core(f"{name}={value}") == core()


def test_the_reference_names_every_property() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    missing = [name for name in (*MAPPED, *ACCEPTED, *REFUSED) if f"`{name}`" not in text]
    assert not missing


# --- Histograms of lengths ---


def drawn_by_ycsb(number: int, buckets: list[int], block: int) -> int:
    """The length that YCSB's generator makes of a random number below the sum of the weights."""
    for bucket, weight in enumerate(buckets[:-1]):
        number -= weight
        if number <= 0:
            return (bucket + 1) * block
    return (len(buckets) - 1) * block


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=8).filter(any),
    st.integers(1, 50),
)
def test_histograms_have_the_lengths_that_ycsb_draws(buckets: list[int], block: int) -> None:
    rows = "".join(f"{bucket}\t{weight}\n" for bucket, weight in enumerate(buckets))
    counts: dict[int, int] = {}
    for number in range(sum(buckets)):
        length = drawn_by_ycsb(number, buckets, block)
        counts[length] = counts.get(length, 0) + 1
    assert dict(length_histogram(f"BlockSize\t{block}\n{rows}")) == counts


@pytest.mark.parametrize(
    "text", ["", "BlockSize\t10\n", "0\t1\n1\t1\n", "BlockSize\tx\n0\t1\n1\t1\n"]
)
def test_other_files_are_no_histograms(text: str) -> None:
    with pytest.raises(InputError, match="should"):
        length_histogram(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BlockSize\t10\n0\t3\n\n1\t5\n", "h:3: the line is empty"),
        ("BlockSize\t10\n0\t3\n2\t5\n", "h:3: should be 1, a tab and a number"),
        ("BlockSize\t10\n0\t3\n1 5\n", "h:3: should have 2 values, not 1"),
        ("BlockSize\t1_0\n0\t3\n1\t5\n", "h:1: should be a whole number, not '1_0'"),
        ("BlockSize\t0\n0\t3\n1\t5\n", "h:1: 0 is too low, or has more than 31 bits"),
    ],
)
def test_a_mistake_in_a_histogram_has_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        length_histogram(text, "h")
    assert caught.value.message == message


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n  \n"])
def test_empty_lines_at_a_histograms_end_are_passed_over(end: str) -> None:
    assert length_histogram(f"BlockSize\t10\n0\t3\n1\t5\n2\t4{end}") == [(10, 4), (20, 8)]


def test_a_histogram_file_becomes_the_lengths_of_fields(tmp_path: Path) -> None:
    path = tmp_path / "lengths"
    path.write_text("BlockSize\t10\n0\t3\n1\t5\n2\t4\n")
    found: Any = core(
        "fieldlengthdistribution=histogram", f"fieldlengthhistogram={path}"
    ).workload.field_length_distribution
    assert found.histogram == [(10, 4), (20, 8)]
