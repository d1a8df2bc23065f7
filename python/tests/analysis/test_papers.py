"""The published numbers agree with themselves, and claims have three answers."""

# ruff: noqa: RUF001 - typography: signs of multiplication

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.analysis import Design, Estimate
from pacelc.papers import Claim, Evidence, check_claims, claims_of, ferreira_2024
from pacelc.papers.claim import Missing, judge, over
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pacelc.papers.claim import Finding
    from pacelc.store import Results


def finding(results: Results, *estimates: Estimate | Missing) -> Finding:
    """A claim that each of them is below 10."""
    parts = [judge(e, f"part {place}", below=10.0) for place, e in enumerate(estimates, 1)]
    claim = Claim("id", "text", "source", lambda _: parts)
    return check_claims([claim], results, Design.of(results))[0]


def by_name(results: Results) -> dict[str, Finding]:
    found = check_claims(claims_of("ferreira-2024"), results, Design.of(results))
    return {f.claim.id: f for f in found}


def test_table_8_has_the_averages_that_the_paper_prints() -> None:
    table = ferreira_2024.table("table8")
    averages = {
        ("single", "read"): (-44.11, 110.86),
        ("single", "write"): (-32.94, 78.33),
        ("multi", "read"): (-54.06, 172.40),
        ("multi", "write"): (-95.12, 3454.34),
    }
    for (deployment, operation), printed in averages.items():
        part = table.filter(deployment=deployment, operation=operation)
        for column, value in zip(
            ("throughput_change_percent", "response_time_change_percent"), printed, strict=True
        ):
            assert part.get_column(column).mean() == pytest.approx(value, abs=0.006)


def test_every_table_covers_the_papers_factorial() -> None:
    assert ferreira_2024.table("table5").height == 20
    for name in ("table6", "table7"):
        assert ferreira_2024.table(name).height == 5
    assert ferreira_2024.table("table8").height == 10
    with pytest.raises(ValueError, match="table9"):
        ferreira_2024.table("table9")


def test_the_texts_changes_are_near_those_of_its_own_values() -> None:
    points = ferreira_2024.table("points").drop_nulls("weak")
    for row in points.iter_rows(named=True):
        change = 100 * (row["strong"] / row["weak"] - 1)
        # "Around" 1,500 and "around" 970: a few per cent either way, ten for the largest ratios.
        assert change == pytest.approx(row["stated_change_percent"], abs=4, rel=0.11), row


def test_claims_hold_on_runs_made_to_fit_them(ferreira: Results) -> None:
    found = by_name(ferreira)
    for name in (
        "redis-writes-fastest",
        "mongodb-writes-lose-most",
        "cassandra-reads-lose-more",
    ):
        assert found[name].verdict == "holds", found[name].evidence
    assert found["cassandra-writes-unchanged"].verdict == "violated"
    for name in ("multi-writes-lose-90", "client-below-30"):
        assert (found[name].verdict, found[name].reason) == ("can't tell", "not measured")
        assert "several regions" in found[name].evidence


def test_a_claim_is_as_strong_as_its_weakest_part(ferreira: Results) -> None:
    inside, across, outside = (Estimate(v, v - 1, v + 1, 5) for v in (5.0, 10.0, 15.0))
    for estimates, verdict in (
        ([inside], "holds"),
        ([inside, across], "can't tell"),
        ([inside, across, outside], "violated"),
        ([Estimate(5.0, None, None, 1)], "can't tell"),
        ([], "can't tell"),
    ):
        assert finding(ferreira, *estimates).verdict == verdict


def test_a_finding_cannot_hold_while_something_that_it_names_has_no_runs(
    ferreira: Results,
) -> None:
    inside, outside = Estimate(5.0, 4.0, 6.0, 5), Estimate(15.0, 14.0, 16.0, 5)
    gone = Missing(("Redis, 4 users",))
    told = finding(ferreira, inside, gone, inside)
    assert (told.verdict, told.reason) == ("can't tell", "not measured")
    assert told.evidence == "no runs with Redis, 4 users; others: 2 hold"
    told = finding(ferreira, inside, gone, outside)
    assert (told.verdict, told.reason) == ("violated", None)
    assert told.evidence == "part 3: × 15.0 ± 1.0 (n=5); others: 1 holds, 1 not measured"
    assert finding(ferreira, over(inside, gone)).evidence == "no runs with Redis, 4 users"


def test_the_parts_nearest_to_their_bounds_are_shown_and_the_others_counted(
    ferreira: Results,
) -> None:
    told = finding(ferreira, *(Estimate(v, v - 1, v + 1, 5) for v in (2.0, 8.0, 3.0, 4.0, 2.5)))
    shown = [text.partition(":")[0] for text in told.evidence.split("; ")]
    assert shown == ["part 2", "part 4", "part 3", "others"]
    assert told.evidence.endswith("others: 2 hold")


def test_every_database_level_and_load_that_a_finding_names_is_asked_for(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    shape = {"users": (1, 10), "measure_s": 3, "repetitions": 2}
    alone = by_name(load(make_study(tmp_path / "a", databases=("redis", "cassandra"), **shape)))
    assert alone["redis-writes-fastest"].evidence == "no runs with MongoDB; others: 2 hold"
    assert alone["strong-costs-throughput"].reason == "not measured"
    weak = by_name(load(make_study(tmp_path / "b", levels=("weak",), **shape)))
    assert weak["redis-writes-fastest"].evidence == (
        "no runs with strong consistency; others: 2 hold"
    )
    few = by_name(load(make_study(tmp_path / "c", **{**shape, "users": (1, 4)})))
    assert few["redis-levels-converge"].evidence == "no runs with 10 users"


def test_cpu_and_memory_without_interval_decide_nothing(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    shape = {"users": (1, 10), "measure_s": 3, "databases": ("redis",)}
    for repetitions, verdicts in ((1, {"can't tell"}), (3, {"holds", "can't tell"})):
        path = make_study(tmp_path / f"r{repetitions}", repetitions=repetitions, **shape)
        results = load(path)
        e = Evidence(results, Design.of(results))
        for name in ("client-below-30", "primary-below-70", "memory-stable"):
            claim = next(c for c in ferreira_2024.CLAIMS if c.id == name)
            assert {part.verdict for part in claim.test(e)} == verdicts


def test_a_loss_is_compared_with_another_by_an_interval_of_their_ratio(ferreira: Results) -> None:
    told = by_name(ferreira)["mongodb-writes-lose-most"]
    assert told.verdict == "holds"
    assert "strong / weak, MongoDB / Redis: × 0.5" in told.evidence


def test_a_part_may_be_judged_between_two_bounds() -> None:
    verdicts = [
        judge(Estimate(v, v - 1, v + 1, 5), "x", above=10.0, below=20.0).verdict
        for v in (5.0, 10.0, 15.0, 20.0, 25.0)
    ]
    assert verdicts == ["violated", "can't tell", "holds", "can't tell", "violated"]
    with pytest.raises(ValueError, match="bound"):
        judge(Estimate(1.0, 0.0, 2.0, 5), "x")


def test_names_of_claims_are_unique() -> None:
    names = [claim.id for claim in ferreira_2024.CLAIMS]
    assert len(names) == len(set(names))
    assert claims_of("another study") == ()
