"""The published numbers agree with themselves, and claims have three answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.analysis import Design, Estimate
from pacelc.papers import Claim, check_claims, claims_of, ferreira_2024
from pacelc.papers.claim import judge

if TYPE_CHECKING:
    from pacelc.store import Results


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
    found = {
        f.claim.id: f
        for f in check_claims(claims_of("ferreira-2024"), ferreira, Design.of(ferreira))
    }
    for name in (
        "redis-writes-fastest",
        "mongodb-writes-lose-most",
        "cassandra-reads-lose-more",
        "client-below-30",
    ):
        assert found[name].verdict == "holds", found[name].evidence
    assert found["cassandra-writes-unchanged"].verdict == "violated"
    assert found["multi-writes-lose-90"].verdict == "can't tell"
    assert "no runs" in found["multi-writes-lose-90"].evidence


def test_a_claim_is_as_strong_as_its_weakest_part(ferreira: Results) -> None:
    inside, across, outside = (Estimate(v, v - 1, v + 1, 5) for v in (5.0, 10.0, 15.0))
    for estimates, verdict in (
        ([inside], "holds"),
        ([inside, across], "can't tell"),
        ([inside, across, outside], "violated"),
        ([Estimate(5.0, None, None, 1)], "can't tell"),
        ([], "can't tell"),
    ):
        parts = [part for e in estimates for part in judge(e, "x", below=10.0)]
        claim = Claim("id", "text", "source", lambda _, parts=parts: parts)
        assert check_claims([claim], ferreira, Design.of(ferreira))[0].verdict == verdict


def test_a_part_may_be_judged_between_two_bounds() -> None:
    verdicts = [
        judge(Estimate(v, v - 1, v + 1, 5), "x", above=10.0, below=20.0)[0].verdict
        for v in (5.0, 10.0, 15.0, 20.0, 25.0)
    ]
    assert verdicts == ["violated", "can't tell", "holds", "can't tell", "violated"]
    with pytest.raises(ValueError, match="bound"):
        judge(Estimate(1.0, 0.0, 2.0, 5), "x")


def test_names_of_claims_are_unique() -> None:
    names = [claim.id for claim in ferreira_2024.CLAIMS]
    assert len(names) == len(set(names))
    assert claims_of("another study") == ()
