"""Advice finds what is true of made-up runs, is as sure as it may be, and says what is missing."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixes import true_ms, write_mixes

from pacelc.analysis.advice import Advice, advise, readings
from pacelc.analysis.records import Naming, Records, records_of_csv
from pacelc.analysis.regression import regress
from pacelc.errors import InputError
from pacelc.papers.records import records_of

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = ("1R-3W", "2R-2W", "3R-1W")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mixes(tmp_path_factory.mktemp("advice") / "mixes")


def asked(source: Path, load: float, share: float, metric: str = "mean", **only: str) -> Advice:
    rows = readings(records_of(str(source)), metric, only=only)
    return advise(rows, load, share, metric)


def true_mean(setting: str, users: int, share: float) -> float:
    return share * true_ms("read", setting, users) + (1 - share) * true_ms("update", setting, users)


@pytest.mark.parametrize(("share", "fastest"), [(0.9, "1R-3W"), (0.1, "3R-1W"), (0.5, None)])
@pytest.mark.parametrize("users", [10, 160])
def test_repeated_runs_tell_the_fastest_or_that_it_is_a_tie(
    runs: Path, users: int, share: float, fastest: str | None
) -> None:
    answer = asked(runs, users, share)
    assert answer.method == "measured"
    assert answer.fastest == fastest
    assert bool(answer.reason) == (fastest is None)
    for c in answer.candidates:
        assert c.value == pytest.approx(true_mean(c.setting, users, share), rel=0.02)
        assert c.runs == 3
    assert sum(c.probability for c in answer.candidates) == pytest.approx(1)
    assert "1R-1W" not in {c.setting for c in answer.candidates}  # R + W is no more than N


def test_between_measured_cells_it_predicts_and_says_how_far_off_it_may_be(runs: Path) -> None:
    answer = asked(runs, 80, 0.8)
    assert answer.method in {"interpolation", "regression"}
    assert answer.fastest == "1R-3W"
    first, *others = answer.candidates
    assert first.ratio is None
    assert first.measured is None
    truth = {s: true_mean(s, 80, 0.8) for s in SETTINGS}
    for c in answer.candidates:
        assert c.low <= truth[c.setting] <= c.high
    for c in others:
        assert c.ratio_low is not None
        assert c.ratio_high is not None
        assert c.ratio_low <= truth[c.setting] / truth["1R-3W"] <= c.ratio_high


def test_outside_what_was_measured_it_can_not_tell(runs: Path) -> None:
    answer = asked(runs, 2000, 0.9)
    assert answer.fastest is None
    assert answer.reason == "2,000 users is outside 10 … 160, where nothing was measured"
    assert answer.candidates[0].setting == "1R-3W"


def test_higher_throughput_is_faster() -> None:
    rows = pl.DataFrame(
        [
            {"load": float(u), "read_share": m, "setting": s, "value": v * u}
            for u in (1, 2, 4)
            for m in (0.1, 0.5, 0.9)
            for s, base in (("1R-3W", 100.0), ("2R-2W", 80.0))
            for v in (base, base * 1.02)
        ]
    )
    answer = advise(rows, 2, 0.5, "throughput")
    assert answer.fastest == "1R-3W"
    assert answer.candidates[1].ratio == pytest.approx(0.8)
    assert answer.unit == "operations/s"


def test_the_99th_percentile_is_of_the_runs_own_histograms(runs: Path) -> None:
    answer = asked(runs, 10, 0.9, "p99")
    # Latencies are spread evenly from 0.9 to 1.1 of the mean; the slower kind has the tail.
    slowest = max(true_ms("read", "3R-1W", 10), true_ms("update", "3R-1W", 10))
    value = next(c.value for c in answer.candidates if c.setting == "3R-1W")
    assert value == pytest.approx(1.09 * slowest, rel=0.03)


def test_too_few_cells_give_no_certainty(tmp_path: Path) -> None:
    path = write_mixes(tmp_path / "r", repetitions=1, users=(10, 40), mixes=("90/10",))
    answer = asked(path, 10, 0.9)
    assert answer.fastest is None
    assert "too few cells" in answer.reason
    assert [c.kind for c in records_of(str(path)).cautions] == ["unit"]
    assert [c.setting for c in answer.candidates] == ["1R-3W", "2R-2W", "3R-1W"]
    text = json.dumps(answer.as_document(), allow_nan=False)
    assert json.loads(text)["candidates"][0]["probability"] is None


def test_without_repetitions_certainty_comes_from_left_out_cells() -> None:
    rows = readings(records_of("vyas-2022"), "mean")
    answer = advise(rows, 50, 0.9, "mean")
    assert (answer.fastest, answer.method, answer.tested) == ("1R-3W", "interpolation", 56)
    assert answer.compared == 56
    assert answer.error == answer.errors["interpolation"]
    assert answer.errors["interpolation"] == pytest.approx(0.151, abs=0.001)
    assert answer.errors["regression"] == pytest.approx(0.165, abs=0.001)
    assert answer.right == 43
    tie = advise(rows, 200, 0.7, "mean")
    assert tie.fastest is None
    assert tie.candidates[0].ratio is None
    assert tie.candidates[1].ratio == pytest.approx(196_756 / 195_062, rel=1e-3)


@given(seed=st.integers(0, 2**32 - 1), factor=st.floats(1e-3, 1e3))
@settings(max_examples=10, deadline=None)
def test_neither_the_unit_nor_the_order_of_rows_matters(seed: int, factor: float) -> None:
    rows = readings(records_of("vyas-2022"), "mean")
    plain = advise(rows, 150, 0.6, "mean")
    other = advise(
        rows.sample(fraction=1.0, shuffle=True, seed=seed % 1000).with_columns(
            pl.col("value") * factor
        ),
        150,
        0.6,
        "mean",
    )
    assert [c.setting for c in other.candidates] == [c.setting for c in plain.candidates]
    for mine, theirs in zip(plain.candidates, other.candidates, strict=True):
        assert theirs.value == pytest.approx(factor * mine.value, rel=1e-9)
        assert theirs.probability == pytest.approx(mine.probability, abs=0.001)


def test_intervals_cover_a_new_reading_at_their_rate() -> None:
    """On a smooth truth with noise, as many readings lie in the interval as it says, or more."""
    rng = np.random.default_rng(8)
    inside = tried = 0
    for _ in range(60):
        noise = iter(rng.normal(0, 0.1, 1000))
        rows = pl.DataFrame(
            [
                {"load": u, "read_share": m, "setting": s,
                 "value": math.exp(math.log(u) * 0.8 + k * m + next(noise))}
                for u in (10.0, 30.0, 100.0, 300.0, 1000.0)
                for m in (0.1, 0.3, 0.5, 0.7, 0.9)
                for k, s in enumerate(SETTINGS)
            ]
        )  # fmt: skip
        answer = advise(rows, 55, 0.6, "mean")
        for c in answer.candidates:
            truth = math.log(55) * 0.8 + SETTINGS.index(c.setting) * 0.6 + next(noise)
            inside += c.low <= math.exp(truth) <= c.high
            tried += 1
    # Three standard errors of a share of 0.95 in 180 trials are 0.05.
    assert inside / tried >= 0.90


@pytest.mark.parametrize(
    ("metric", "only", "message", "hint"),
    [
        ("mean", {"nodes": "5"}, "nothing was measured with nodes=5", "nodes is 3"),
        ("mean", {"node": "3"}, "no column 'node'", "did you mean nodes?"),
    ],
)
def test_what_was_not_measured_is_named(
    runs: Path, metric: str, only: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        readings(records_of(str(runs)), metric, only=only)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_runs_that_differ_in_more_than_mix_users_and_setting_are_not_mixed_up(
    tmp_path: Path,
) -> None:
    path = write_mixes(
        tmp_path / "r", repetitions=1, users=(10,), mixes=("90/10",), databases=("a", "b")
    )
    with pytest.raises(InputError, match="differ in database: a, b") as caught:
        asked(path, 10, 0.9)
    assert caught.value.hint == "choose one: --only database=a"
    assert asked(path, 10, 0.9, database="b").candidates


def test_one_setting_is_nothing_to_compare(tmp_path: Path) -> None:
    path = write_mixes(tmp_path / "r", settings=("1R-1W", "1R-3W"), repetitions=1, users=(10,))
    with pytest.raises(InputError, match="there is only 1R-3W"):
        asked(path, 10, 0.9)


def test_settings_are_known_from_the_levels_in_force(tmp_path: Path) -> None:
    path = write_mixes(tmp_path / "r", only_level=True, repetitions=2, users=(10, 40))
    assert asked(path, 10, 0.9).fastest == "1R-3W"


def test_equations_work_on_runs_and_on_tables(runs: Path, tmp_path: Path) -> None:
    records = records_of(str(runs))
    assert records.cautions == ()
    fitted = regress(
        records.frame, "read_latency_s", ("write_consistency", "thousand_threads", "write_share")
    )
    assert fitted.n == 108
    assert fitted.coefficient("thousand_threads").value == pytest.approx(
        2e-3 * 1.2 * 20, rel=0.2
    )  # 2 ms, a fiftieth a user, times what further nodes cost on average
    table = tmp_path / "t.csv"
    table.write_text(
        "threads,mix,setting,read_latency_ms,run\n10,70/30,1R-3W,2.5,a\n20,30/70,2R-2W,3.5,a\n"
    )
    read = records_of_csv(table, Naming())
    assert read.frame.select(
        "write_share", "read_replicas", "write_consistency", "read_latency_s", "thousand_threads"
    ).rows() == [
        (pytest.approx(0.3), 1, 1.0, 0.0025, 0.01),
        (pytest.approx(0.7), 2, 0.5, 0.0035, 0.02),
    ]
    assert "aren't independent" in read.cautions[0].text
    assert isinstance(read, Records)


def test_settings_are_named_by_levels_too_as_plans_name_them(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("setting,replication\none/all,3\nQUORUM,5\n1R-3W,3\nstrong,3\n")
    read = records_of_csv(table, Naming()).frame
    assert read.select("read_replicas", "write_replicas").rows() == [
        (1, 3),
        (3, 3),
        (1, 3),
        (None, None),
    ]
