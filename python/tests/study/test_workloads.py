"""Built-in workloads go by name, under what is written beside them or later."""

from __future__ import annotations

import pytest

from pacelc.study import Study, StudyError, Workload
from pacelc.study.distributions import YcsbZipfian
from pacelc.study.workloads import BUILTIN_WORKLOADS


def workloads(text: str, *changes: str) -> list[Workload]:
    study = Study.parse(f"name: a\n{text}", changes)
    return [scenario.settings.workload for scenario in study.scenarios()]


@pytest.mark.parametrize("name", BUILTIN_WORKLOADS)
def test_every_name_is_a_workload(name: str) -> None:
    [workload] = workloads(f"settings: {{database: memory, workload: {name}}}")
    assert sum(workload.shares.values()) == pytest.approx(1)
    given = workload.model_dump(mode="json", by_alias=True)
    assert {key: given[key] for key in ("records", "fields")} == {"records": 1000, "fields": 10}
    assert given["mix"] == BUILTIN_WORKLOADS[name]["mix"]


def test_ycsbs_scans_are_of_1_to_100_records_from_a_key() -> None:
    [workload] = workloads("settings: {database: memory, workload: ycsb-e}")
    assert (workload.min_scan_length, workload.scan_length) == (1, 100)
    assert (workload.scan_length_distribution, workload.scan_from) == ("uniform", "key")
    assert isinstance(workload.distribution, YcsbZipfian)
    assert workload.distribution.ycsb_zipfian.expected_inserts == 100


def test_names_are_levels_of_a_factor() -> None:
    found = workloads(
        "factors: {workload: [ycsb-a, ycsb-b], records: [10, 20]}\n"
        "settings: {database: memory, field_length: 500}\n"
    )
    assert [(w.mix["read"], w.records) for w in found] == [
        (0.5, 10),
        (0.5, 20),
        (0.95, 10),
        (0.95, 20),
    ]
    assert {w.field_length_bytes for w in found} == {500}


def test_what_is_written_beside_a_name_or_later_goes_over_it() -> None:
    beside = "settings: {database: memory, mix: {insert: 1}, workload: ycsb-a}"
    assert workloads(beside)[0].mix == {"insert": 1}
    assert workloads("settings: {database: memory, workload: ycsb-a}", "mix={scan: 1}")[0].mix == {
        "scan": 1
    }
    assert workloads(beside, "workload=ycsb-c")[0].mix == {"read": 1}
    factors = "factors: {distribution: [uniform, latest], workload: [ycsb-a]}\n"
    found = workloads(factors + "settings: {database: memory, distribution: sequential}")
    assert [w.distribution for w in found] == ["uniform", "latest"]


def test_an_unknown_name_is_an_error_with_the_nearest() -> None:
    with pytest.raises(StudyError, match=r"study.yaml:2.*no workload 'ycbs-a'") as error:
        workloads("settings: {database: memory, workload: ycbs-a}")
    assert error.value.hint == "did you mean ycsb-a?"


def test_lengths_must_have_room() -> None:
    head = "settings:\n  database: memory\n"
    for text, message in [
        (
            "  min_field_length: 200\n  field_length_distribution: uniform\n",
            "settings.min_field_length: 200 is above field_length, 100",
        ),
        (
            "  scan_length: 5\n  min_scan_length: 6\n  scan_length_distribution: zipfian\n",
            "settings.min_scan_length: 6 is above scan_length, 5",
        ),
    ]:
        with pytest.raises(StudyError, match=message):
            workloads(head + text)


def test_data_sets_with_other_keys_or_lengths_are_others() -> None:
    def data_set(change: str) -> object:
        study = Study.parse("name: a\nsettings: {database: memory}\n", [change])
        return study.scenarios()[0].settings.data_set

    changes = [
        "records=5",
        "insert_start=5",
        "insert_order=ordered",
        "zero_padding=9",
        "table=other",
        "fields=3",
        "field_length=50",
        "field_length_distribution=uniform",
        "field_length_distribution={histogram: [[10, 1]]}",
    ]
    found = {repr(data_set(change)) for change in ["users=2", *changes]}
    assert len(found) == len(changes) + 1
    assert (
        data_set("users=2") == data_set("distribution=latest") == data_set("read_all_fields=false")
    )


@pytest.mark.parametrize("mix", ["70/30", "{read: 70, update: 30}"])
def test_a_mix_may_be_written_in_short(mix: str) -> None:
    study = Study.parse("name: m\nsettings: {database: memory}\n", [f"mix={mix}"])
    (scenario,) = study.scenarios()
    assert scenario.settings.workload.shares == {"read": 0.7, "update": 0.3}
    factor = Study.parse(f"name: m\nfactors: {{mix: [{mix}]}}\nsettings: {{database: memory}}\n")
    assert factor.scenarios()[0].settings.workload == scenario.settings.workload
