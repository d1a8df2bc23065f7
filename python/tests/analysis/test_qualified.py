"""Runs that their own weaknesses disqualify decide nothing, and it is said that they would."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from made_up import write_made_up
from stored_runs import forget_sums

from pacelc.analysis import Comparison, Design, Estimate, compare, weaknesses
from pacelc.analysis.classification import Letter, qualified_letter
from pacelc.analysis.qualified import qualified, withheld
from pacelc.analysis.summary import comparisons_frame, contradictions
from pacelc.papers import Claim, Evidence, Finding, check_claims, claims_of
from pacelc.papers.claim import Part, _finding
from pacelc.report import write_report
from pacelc.report.content import build
from pacelc.store import load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pacelc.store import Results

TOO_SHORT = {"result": {"measured_s": 0.43}}
BUSY = {"result": {"client": {"busy_fraction": 0.97}}}


@pytest.fixture
def study(tmp_path: Path, ferreira_dir: Path) -> Path:
    path = tmp_path / "r"
    shutil.copytree(ferreira_dir, path)
    forget_sums(path)
    return path


def spoil(path: Path, changes: Mapping[str, Any], *databases: str) -> Results:
    """Change run.json of the runs of some databases; of all, if none is given."""
    for file in path.glob("runs/*/run.json"):
        document = json.loads(file.read_text())
        if not databases or document["scenario"]["factors"]["database"] in databases:
            merge(document, changes)
            file.write_text(json.dumps(document))
    return load(path)


def merge(document: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, dict) and name in document:
            merge(document[name], value)
        else:
            document[name] = value


def findings(results: Results) -> dict[str, Finding]:
    found = check_claims(claims_of("ferreira-2024"), results, Design.of(results))
    return {f.claim.id: f for f in found}


def disqualified(results: Results) -> dict[str, str]:
    return {w.kind: w.disqualifies.because for w in weaknesses(results) if w.disqualifies}


def test_a_weakness_knows_which_runs_are_no_evidence(study: Path) -> None:
    assert {"shared-host", "short"} <= {w.kind for w in weaknesses(load(study))}
    assert not disqualified(load(study))
    assert disqualified(spoil(study, TOO_SHORT, "redis")) == {
        "short": "less than 1 s measured, down to 0.430 s in 15 of 87 runs"
    }
    assert disqualified(spoil(study, BUSY))["client"] == (
        "the client was busy up to 97% of its time in all 87 runs"
    )


def test_a_machine_that_others_used_a_little_is_a_weakness_and_a_quarter_of_it_disqualifies(
    study: Path,
) -> None:
    results = load(study)
    (cores, *_) = {r.machine["cores"] for r in results.records}
    far_too_much = "others used at least 25% of the machine, up to 1.8 of 2 cores, in all 87 runs"
    for used, because in ((0.12, None), (0.9, far_too_much)):
        told = replace(results, runs=results.runs.with_columns(others_cores=pl.lit(used * cores)))
        [weakness] = [w for w in weaknesses(told) if w.kind == "others"]
        said = None if weakness.disqualifies is None else weakness.disqualifies.because
        assert said == because


def test_claims_are_not_decided_by_disqualified_runs(study: Path) -> None:
    before = findings(load(study))
    assert before["redis-writes-fastest"].verdict == "holds"
    assert before["cassandra-writes-unchanged"].verdict == "violated"
    assert before["redis-writes-fastest"].reason is None
    after = findings(spoil(study, TOO_SHORT, "cassandra"))
    for name in ("redis-writes-fastest", "cassandra-writes-unchanged"):
        assert (after[name].verdict, after[name].reason) == ("can't tell", "disqualified")
        assert after[name].evidence.startswith("less than 1 s measured, down to 0.430 s in 36 of")
    # It is about MongoDB among others, whose runs are good; Cassandra's might have lost more.
    assert after["mongodb-writes-lose-most"].verdict != "violated"
    assert all(f.reason for f in after.values() if f.verdict == "can't tell")
    assert not any(f.reason for f in after.values() if f.verdict != "can't tell")


def test_a_claim_that_can_t_be_told_says_whether_nothing_was_measured_or_too_little(
    ferreira: Results,
) -> None:
    def told(*verdicts: Any) -> str | None:
        parts = [Part("x", verdict) for verdict in verdicts]
        claim = Claim("id", "text", "source", lambda _: parts)
        return check_claims([claim], ferreira, Design.of(ferreira))[0].reason

    assert told() == "not measured"
    assert told("holds", "can't tell") == "too few runs"
    assert told("holds") is None
    assert told("can't tell", "violated") is None


@pytest.mark.parametrize(
    "name", ["gandini-2014", "haughian-2016", "kumarasinghe-2015", "vyas-2022"]
)
def test_every_papers_claims_bear_that_no_run_qualifies(name: str, tmp_path: Path) -> None:
    definition = Study.load(name, ["preset=small", "repetitions=1"])
    results = load(write_made_up(tmp_path / "p", definition, lambda _: 1000.0))
    design = Design.of(results)
    runs = results.runs.select("source", "run").iter_rows()
    gone = Evidence(
        results.without(set(runs)), replace(design, observations=design.observations.clear())
    )
    assert all(part.missing for claim in claims_of(name) for part in claim.test(gone))


def test_comparisons_keep_their_effects_and_lose_the_verdicts_of_disqualified_runs(
    study: Path,
) -> None:
    results = spoil(study, BUSY, "cassandra", "mongodb")
    design = Design.of(results)
    rest = qualified(results, design, "speed")
    assert rest.without == "the client was busy up to 97% of its time in 72 of 87 runs"
    assert rest.design.groups == design.groups
    every = compare(design)
    found = withheld(every, compare(rest.design), rest.without)
    assert [c.ratio for c in found] == [c.ratio for c in every]
    for c in found:
        spoiled = c.group.get("database") != "redis"
        said = ("can't tell", "disqualified") if spoiled else ("differs", None)
        assert (c.paired.verdict, c.paired.reason) == said
        assert ("client was busy" in c.paired.note) == spoiled
    assert any(c.paired.verdict == "differs" for c in every)
    reasons = set(comparisons_frame(found).get_column("paired_reason"))
    assert reasons == {"disqualified", None}


def test_a_comparison_of_few_runs_says_so(tmp_path: Path, make_study: Callable[..., Path]) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1,), repetitions=1)
    (first, *_) = compare(Design.of(load(path)))
    assert first.paper.reason == first.paired.reason == "too few runs"


def test_the_report_says_why_it_can_t_tell(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacelc.report.write.FIGURES", ())
    content = build(spoil(study, TOO_SHORT))
    assert content.disqualified.said == ("less than 1 s measured, down to 0.430 s in all 87 runs",)
    text = f"redis: holds; left out: {content.disqualified.said[0]}"
    assert content.disqualified.briefly(text) == "redis: holds; without the disqualified runs"
    verdicts = {f.verdict for f in content.findings}
    assert verdicts == {"can't tell: not measured", "can't tell: disqualified"}
    assert set(content.tables["claims"].get_column("reason")) == {"not measured", "disqualified"}
    assert set(content.tables["tests"].get_column("paper_reason")) == {"disqualified"}
    page = write_report(study, tmp_path / "out").html.read_text()
    assert "can&#39;t tell: disqualified</td>" in page
    assert "can&#39;t tell: not measured</td>" in page


def test_the_report_says_once_which_runs_are_disqualified_and_why(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacelc.report.write.FIGURES", ())
    spoil(study, TOO_SHORT, "redis")
    paths = write_report(study, tmp_path / "out")
    page = paths.html.read_text()
    why = "less than 1 s measured, down to 0.430 s in 15 of 87 runs"
    assert page.count(why) == page.count("less than 1 s measured") == 1
    assert "15 of 87 runs are disqualified: they decide nothing about speed or service" in page
    assert "Redis, weak, write, users 1</td>" in page
    assert page.count("Disqualifies 15 runs from verdicts on speed.") == 1
    assert "can&#39;t tell: disqualified</td>" in page
    assert "with the disqualified runs: Redis / Cassandra" in page
    # Data say it in each row.
    assert (tmp_path / "out/tables/tests.csv").read_text().count(why) > 1
    warnings = pl.read_csv(tmp_path / "out/tables/warnings.csv")
    [short] = warnings.filter(pl.col("kind") == "short").to_dicts()
    assert short["disqualifies"] == "speed"
    assert len(short["disqualified"].split()) == 15


def test_a_letter_of_disqualified_runs_is_withheld_unless_the_others_have_it() -> None:
    slow, quick, unknown = Letter("EC", "x"), Letter("EL", "y"), Letter(None, "z", "too few runs")
    assert qualified_letter(slow, unknown, "") == slow
    assert qualified_letter(slow, slow, "they were short") == slow
    assert qualified_letter(unknown, quick, "they were short").letter == "EL"
    assert qualified_letter(unknown, unknown, "they were short") == unknown
    assert qualified_letter(slow, quick, "they were short").why == "y; left out: they were short"
    gone = qualified_letter(slow, unknown, "they were short")
    assert str(gone) == "can't tell: disqualified"
    assert gone.why == "they were short; with them it is EC: x"


def test_a_mean_and_a_median_that_say_otherwise_are_told(ferreira: Results) -> None:
    found = compare(Design.of(ferreira), metrics=("latency_ms_mean", "latency_ms_p50"))
    assert contradictions(found) == []
    mean, median = found[:2]

    def ratio(c: Comparison, value: float) -> Comparison:
        return replace(c, ratio=Estimate(value, value - 0.02, value + 0.02, 6))

    [told] = contradictions([ratio(mean, 1.0), ratio(median, 1.5)])
    assert (
        "the mean response time changes by 0.0 ± 2.0 % (EL), the median by 50.0 ± 2.0 % (EC)"
        in told
    )
    assert contradictions([ratio(mean, 1.5), ratio(median, 1.4)]) == []


def test_an_attempt_that_was_tried_again_with_success_is_folded(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(
        tmp_path / "r",
        databases=("redis",),
        users=(1,),
        repetitions=2,
        measure_s=3,
        fail_scenarios=(2,),
    )
    assert len(build(load(path)).failures) == 2
    for run in ("r1", "r2"):
        (file,) = path.glob(f"failures/0002-{run}.*.json")
        document = json.loads(file.read_text())
        document["run"] = f"0001-{run}"
        file.rename(file.with_name(f"0001-{run}.1.json")).write_text(json.dumps(document))
    content = build(load(path))
    assert (len(content.failures), len(content.retried)) == (0, 2)
    page = write_report(path, tmp_path / "out").html.read_text()
    assert "<details><summary>Tried again with success (2)</summary>" in page


def test_a_part_that_lost_its_runs_is_disqualified_not_unmeasured() -> None:
    gone = Part("b", "can't tell", ("Redis",))
    every = [Part("a", "violated"), Part("b", "holds"), Part("c", "can't tell", ("MongoDB",))]
    rest = [every[0], gone, every[2]]
    claim = Claim("x", "X.", "table 1", lambda _: every)
    evidence = _finding(claim, every, rest, "they were short").evidence
    assert evidence == "a; others: 1 disqualified, 1 not measured; left out: they were short"
