# ruff: noqa: E501 - what is written and printed stands here word for word
"""``faults:`` of a study: what it may say, and how mistakes are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.study import Study, StudyError
from pacelc.study.faults import FAULTS, Fault, check_faults

HEAD = "name: a\nsettings:\n  database: redis\n  measure: 30s\n  faults:\n"

MISTAKES = {
    "- {at: 5s, fault: kil}": (
        "study.yaml:6: settings.faults.0.fault: should be 'kill', 'pause', 'isolate', 'split', 'one-way', 'bridge', 'slow' or 'lossy', not 'kil'",
        "did you mean kill?",
    ),
    "- {fault: kill}": ("study.yaml:6: settings.faults.0.at: field required", None),
    "- {at: soon, fault: kill}": (
        "study.yaml:6: settings.faults.0.at: should be a duration such as 10s, 5m or 300 (seconds), not 'soon'",
        None,
    ),
    "- {at: 5s, fault: kill, for: 40s}": (
        "study.yaml:5: settings.faults: entry 1 (kill one at 5s for 40s): it would end at 45s, and measuring ends at 30s",
        None,
    ),
    "- {at: 30s, fault: kill}": (
        "study.yaml:5: settings.faults: entry 1 (kill one at 30s): measuring is over after 30s",
        None,
    ),
    "- {at: 5s, fault: kill}\n  - {at: 5s, fault: pause, delay: 1s}": (
        "study.yaml:7: settings.faults.1: pause has no delay",
        None,
    ),
    "- {at: 5s, fault: isolate, direction: in}": (
        "study.yaml:6: settings.faults.0: isolate has no direction; it has client",
        None,
    ),
    "- {at: 5s, fault: slow}": (
        "study.yaml:6: settings.faults.0: a slow link needs a delay or a jitter",
        None,
    ),
    "- {at: 5s, fault: lossy, loss: 2}": (
        "study.yaml:6: settings.faults.0.loss: should be less than or equal to 1, not 2",
        None,
    ),
    "- {at: 5s, fault: bridge, target: majority}": (
        "study.yaml:6: settings.faults.0: a bridge is one node, and the target is majority",
        None,
    ),
    "- {at: 5s, fault: split, target: all}": (
        "study.yaml:6: settings.faults.0: split needs a node on the other side, so the target can't be all",
        None,
    ),
    "- {at: 5s, fault: pause, target: 'region:utah'}": (
        "study.yaml:5: settings.faults: entry 1 (pause region:utah at 5s): there is no region 'utah' (the cluster has no regions)",
        None,
    ),
    "- {at: 5s, fault: pause, target: 'zone:a'}": (
        "study.yaml:5: settings.faults: entry 1 (pause zone:a at 5s): a target is one, minority, majority, primary, secondary, region:NAME, all, a node's name",
        None,
    ),
}


@pytest.mark.parametrize("written", MISTAKES)
def test_a_mistake_is_a_line_that_says_where(written: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.parse(f"{HEAD}  {written}\n")
    assert (caught.value.message, caught.value.hint) == MISTAKES[written]


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("nodes: 2", "a cluster of 2 has no minority"),
        ("nodes: 1", "a cluster of 1 has no minority"),
        ("database: memory", "memory is inside the engine: it has no servers to fail"),
        (
            "external: {endpoints: ['db:6379']}",
            "an external cluster is not pacelc's to break",
        ),
    ],
)
def test_faults_that_no_such_cluster_can_have(cluster: str, message: str) -> None:
    name = cluster.partition(":")[0]
    base = {"database": "database: redis", "measure": "measure: 30s", name: cluster}
    lines = "\n  ".join(base.values())
    with pytest.raises(StudyError, match=message):
        Study.parse(
            f"name: a\nsettings:\n  {lines}\n  faults: [{{at: 1s, fault: pause, target: minority}}]\n"
        )


def test_faults_are_a_factor_and_record_operations() -> None:
    study = Study.parse(
        """
        name: a
        factors:
          partition:
            none: {faults: []}
            primary: {faults: [{at: 1s, fault: kill, target: primary, for: 2s}]}
        settings: {database: redis, measure: 30s}
        """
    )
    none, primary = (scenario.settings for scenario in study.scenarios())
    assert (none.keeps_operations, primary.keeps_operations) == (False, True)
    assert (none.next_needs_fresh_data, primary.next_needs_fresh_data) == (False, True)
    assert none.cluster == primary.cluster
    assert str(primary.faults[0]) == "kill primary at 1s for 2s"
    assert Study.from_document(study.as_document()).scenarios() == study.scenarios()


@given(
    st.sampled_from(FAULTS),
    st.floats(0, 100),
    st.one_of(st.none(), st.floats(0.1, 100)),
    st.integers(1, 12),
    st.sampled_from(["one", "minority", "majority", "primary", "all", "n1"]),
    st.floats(1, 100),
)
def test_what_is_accepted_lies_within_measuring_and_has_somebody_to_hit(  # noqa: PLR0917
    kind: str, at_s: float, for_s: float | None, nodes: int, target: str, measure_s: float
) -> None:
    own = {"slow": {"delay": 1}, "lossy": {"loss": 0.5}}.get(kind, {})
    written = {"at": at_s, "for": for_s, "fault": kind, "target": target, **own}
    try:
        fault = Fault.model_validate(written)
        check_faults([fault], nodes=nodes, regions=(), measure_s=measure_s)
    except ValueError:
        return
    assert fault.at_s < measure_s
    assert fault.end_s is None or fault.end_s <= measure_s
    assert target != "minority" or nodes >= 3
    if kind in ("isolate", "split", "one-way", "bridge"):
        assert nodes >= 2
        hit = {"majority": nodes // 2 + 1, "minority": (nodes - 1) // 2, "all": nodes}
        assert kind == "isolate" or hit.get(target, 1) < nodes
