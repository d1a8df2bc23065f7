"""Small inputs beside the repository (``shared/cases``): each is what its README says is right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pacelc.errors import InputError
from pacelc.study import Study, StudyError
from pacelc.study.properties import parse_properties
from pacelc.study.ycsb import read_ycsb, ycsb_source

if TYPE_CHECKING:
    from pacelc.study import Settings

CASES = Path(__file__).parents[3] / "shared" / "cases"

YAML = {
    "bool.yaml": "bool.yaml:1: name: is no bool, as its tag (!!) says",
    "deep.yaml": "deep.yaml:2: x.0.0.",
    "hugeint.yaml": "hugeint.yaml:2: seed: a whole number of more than 64 bits",
    "lol-dup.yaml": "lol-dup.yaml:11: h: is there twice, first in line 8",
    "merge.yaml": "",
    "omap.yaml": "omap.yaml:2: x: an unknown tag (!)",
    "selfmerge.yaml": "selfmerge.yaml:2: x.<<: an alias (*) inside of what it stands for",
}
"""File → how its refusal begins; empty where it is read."""
YCSB = {
    "bindings.properties": "mongodb.url: can't be had: pacelc starts the cluster",
    "byte-order-mark.properties": "",
    "core.properties": "",
    "foreign-constant.properties": "zipfian_const: YCSB has no such property",
    "histogram-empty-line.properties": "",
    "histogram-verbose.properties": "",
    "laid-over.properties": "",
    "underscore.properties": "recordcount: should be a whole number, not '1_000'",
    "upstream-names.properties": "",
}
BESIDE = {"README.md", "lengths.txt"}
"""Files that are no cases of their own."""


@pytest.fixture(autouse=True)
def cases(monkeypatch: pytest.MonkeyPatch) -> None:
    if not CASES.is_dir():
        pytest.skip(f"the small cases aren't there: {CASES}")
    # YCSB's paths count from where it is started.
    monkeypatch.chdir(CASES / "ycsb")


def ycsb(*files: str, options: tuple[str, ...] = (), database: str = "redis") -> Settings:
    source = ycsb_source(read_ycsb(*files, options=options), [database])
    [scenario] = Study.from_source(source).scenarios()
    return scenario.settings


def test_every_case_is_tested() -> None:
    files = {path.name for path in CASES.rglob("*") if path.is_file()}
    assert files == {*YAML, *YCSB} | BESIDE


@pytest.mark.parametrize(("name", "said"), YAML.items())
def test_a_yaml_case_is_read_or_refused_in_one_line(name: str, said: str) -> None:
    path = CASES / "yaml" / name
    if not said:
        assert Study.load(path).scenarios()
        return
    with pytest.raises(StudyError) as refused:
        Study.load(path)
    assert refused.value.message.startswith(said)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(("name", "said"), YCSB.items())
def test_a_ycsb_case_is_read_or_refused_with_file_and_line(name: str, said: str) -> None:
    files = ("workloada", name) if name == "laid-over.properties" else (name,)
    if not said:
        assert ycsb(*files).operations
        return
    with pytest.raises(InputError) as refused:
        ycsb(*files)
    place, _, rest = refused.value.message.partition(": ")
    assert place.removeprefix(f"{name}:").isdecimal()
    assert rest.startswith(said)


def test_scan_limits_are_refused_where_they_would_change_something() -> None:
    for option in ("maxscanrate=5", "scanoptimelimit=5", "discardscannedrecord=true"):
        with pytest.raises(StudyError, match="can't be had: a scan is one operation"):
            ycsb("upstream-names.properties", options=(option,))


def test_a_blank_after_a_number_is_none_of_it() -> None:
    assert ycsb("core.properties").users == 500


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    name = "byte-order-mark.properties"
    content = Path(name).read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    (tmp_path / name).write_bytes(content[3:])
    assert ycsb(name) == ycsb(str(tmp_path / name))
    assert ycsb(name).workload.shares == {"read": 1}


def test_verbose_histograms_change_nothing(tmp_path: Path) -> None:
    without = tmp_path / "without.properties"
    without.write_text("recordcount=1000\noperationcount=1000\n")
    assert ycsb("histogram-verbose.properties") == ycsb(str(without))


def test_a_file_is_laid_over_a_workload() -> None:
    workload = ycsb("workloada", "laid-over.properties").workload
    assert workload == ycsb("workloada").workload.model_copy(update={"records": 1_000_000})


def test_a_constant_of_a_fork_has_a_hint_that_says_it_here() -> None:
    with pytest.raises(StudyError) as refused:
        ycsb("foreign-constant.properties")
    assert refused.value.hint == "here: --set 'distribution={ycsb-zipfian: {theta: 0.8}}'"


def test_an_empty_line_before_the_last_of_a_histogram_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Path("histogram-empty-line.properties").absolute()
    lines = Path("lengths.txt").read_text().splitlines()
    assert lines[-1] == ""
    (tmp_path / "lengths.txt").write_text("\n".join([*lines[:2], "", *lines[2:]]))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match=r"lengths.txt:3: the line is empty"):
        ycsb(str(case))


@pytest.mark.parametrize("database", ["redis", "mongodb", "cassandra", "hbase"])
def test_each_property_of_a_binding_is_mapped_or_refused_with_its_reason(database: str) -> None:
    for name, entry in parse_properties(Path("bindings.properties").read_text()).items():
        options = ("recordcount=1000", "operationcount=1000", f"{name}={entry.value}")
        said = ""
        try:
            ycsb("workloada", options=options, database=database)
        except InputError as error:
            said = f"{error.message} {error.hint}"
        assert not said or said.startswith(f"-p {name}: ")
        assert "no such property" not in said
        assert "s3cret" not in said
