"""What is concluded from rungs, and how it is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from test_search_laws import seen_of

from pacelc.cli.saturate import answer_table, rung_line
from pacelc.plots import png_bytes, svg_text
from pacelc.plots.figures import NothingToDraw
from pacelc.plots.saturation import latency_by_throughput
from pacelc.saturation import Objective, Rung, Trial, conclude, judge
from pacelc.saturation.plan import Load, Plan
from pacelc.study import Study

OBJECTIVE = Objective({"p99": 0.02}, 0.001)
SNAPSHOT = Path(__file__).parent / "answers.txt"
HELD, FAILED, CLIENT = {"late": 0}, {"late": 0.05}, {"late": 0.05, "lag_p99_s": 0.01}


def rung(rate: int, repetition: int, late: float, **changes) -> Rung:
    """A run of a queue that can serve 10,000 a second."""
    seen = seen_of(rate * 10, round(rate * 10 * late), **changes)
    mean_ms = 1000 / max(10_000 - rate, 10)
    return Rung(
        run=f"{1000 + rate}-r{repetition}",
        rate_per_s=rate,
        repetition=repetition,
        users=200,
        measured_s=10.0,
        throughput_per_s=float(min(rate, 10_000)),
        mean_ms=mean_ms,
        p50_ms=0.7 * mean_ms,
        p99_ms=4.6 * mean_ms,
        p999_ms=6.9 * mean_ms,
        seen=seen,
        verdict=judge(OBJECTIVE, seen),
    )


def rungs_of(*runs: tuple[int, dict[str, float]]) -> list[Rung]:
    rates = [rate for rate, _ in runs]
    return [
        rung(rate, rates[: place + 1].count(rate), **what)
        for place, (rate, what) in enumerate(runs)
    ]


GROWN = [(1000, HELD), (4000, HELD), (16000, FAILED), (8000, HELD), (11310, FAILED)]
FOUND = [*GROWN, (9500, HELD), (9900, FAILED), *([(9500, HELD), (9900, FAILED)] * 2)]


def answered(label: str, runs: list[tuple[int, dict[str, float]]], **how: bool):
    how = {"searched": True, "finished": True} | how
    return conclude(1, label, {"consistency": label}, rungs_of(*runs), **how)


ANSWERS = [
    answered("weak", FOUND),
    answered("client", [(1000, HELD)] * 3 + [(1050, CLIENT)] * 3),
    answered("slow", [(200, FAILED)] * 3),
    answered("fast", [(5000, HELD)] * 3),
    answered("late", [(200, CLIENT)] * 3),
    answered("killed", GROWN[:2], finished=False),
]


def test_each_way_to_end_has_its_status() -> None:
    assert [answer.status for answer in ANSWERS] == [
        "found",
        "at-least",
        "below",
        "at-least",
        "below",
        "unfinished",
    ]
    assert [answer.limit for answer in ANSWERS] == ["p99", "client", "p99", "range", "client", None]
    assert [answer.complete for answer in ANSWERS] == [True, False, False, True, False, False]


def test_contradictions_that_do_not_end_are_said() -> None:
    assert answered("noisy", [(1000, HELD), (1000, FAILED)] * 24).status == "unsettled"


def test_the_interval_of_what_was_found_is_around_its_bracket() -> None:
    low, high = ANSWERS[0].threshold_95
    assert low is not None
    assert high is not None
    assert 8000 < low < 9500
    assert 9900 < high < 12000


def test_what_is_printed() -> None:
    ladder = answered("ladder", [*GROWN[:2], (5600, HELD), (8000, HELD)] * 2, searched=False)
    scenario = Study.parse("name: x\nsettings: {database: redis}\n").scenarios()[0]
    printed = "\n\n".join(
        [
            "\n".join(rung_line(scenario, one) for one in ANSWERS[0].rungs[:3]),
            answer_table(ANSWERS, OBJECTIVE),
            answer_table([ladder], OBJECTIVE),
        ]
    )
    if os.environ.get("PACELC_UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(printed, encoding="utf-8")
    assert printed == SNAPSHOT.read_text(encoding="utf-8")


def test_the_document_is_plain_json_with_every_rung() -> None:
    document = json.loads(json.dumps(ANSWERS[0].as_document(), allow_nan=False))
    assert document["held"] == pytest.approx(
        {
            "rate_per_s": 9500,
            "held": 3,
            "runs": 3,
            "throughput_per_s": 9500.0,
            "mean_ms": 2.0,
            "p50_ms": 1.4,
            "p99_ms": 9.2,
            "p999_ms": 13.8,
        }
    )
    assert document["not_held"]["rate_per_s"] == 9900
    assert len(document["rungs"]) == len(FOUND)
    assert {"run", "rate_per_s", "users", "outcome", "limit"} <= document["rungs"][0].keys()


def test_the_figure_shows_objective_bracket_and_knee() -> None:
    chart = latency_by_throughput([ANSWERS[0], ANSWERS[1]], OBJECTIVE)
    svg = svg_text(chart)
    assert "hollow: the client was the limit" in svg
    for text in ("p99 ≤ 20 ms", "9,500 to 9,900/s", "knee 4,000/s"):
        assert text in svg
    assert png_bytes(chart)[:4] == b"\x89PNG"


def test_a_figure_of_a_client_that_was_always_late_has_points_and_no_line() -> None:
    assert "hollow" in svg_text(latency_by_throughput([ANSWERS[4]], OBJECTIVE))


def test_a_figure_of_nothing_is_refused() -> None:
    with pytest.raises(NothingToDraw):
        latency_by_throughput([answered("none", [], finished=False)], OBJECTIVE)


def test_a_trial_is_a_rungs_rate_and_verdict() -> None:
    assert rung(1000, 1, 0).trial == Trial(1000, held=True)


def test_a_search_of_a_study_that_compares_its_load_compares_nothing() -> None:
    study = Study.parse("name: x\nfactors: {users: [1, 10]}\ncompare: users\n", ["database=redis"])
    plan = Plan.of(study, OBJECTIVE, Load(), first=100, repeats=1)
    assert plan.study.compare is None
    assert len(plan.scenarios) == 1
