"""What the records of Vyas and Jat 2022 give, and what their own claims are worth on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from mixes import write_mixes
from scipy import stats

from pacelc.analysis import Design
from pacelc.analysis.regression import Regression, regress
from pacelc.papers import check_claims, claims_of, vyas_2022
from pacelc.papers.vyas_2022.claims import CLAIMS, TESTS, published_readings
from pacelc.papers.vyas_2022.reproduction import against_published, rounded_as
from pacelc.store import load

if TYPE_CHECKING:
    from pathlib import Path

THREADS = [10, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]


def fitted(number: int, frame: pl.DataFrame | None = None) -> Regression:
    equation = vyas_2022.EQUATIONS[number]
    return regress(vyas_2022.mixed() if frame is None else frame, equation.y, equation.x)


def test_every_table_covers_the_papers_factorial() -> None:
    for number in range(4, 11):
        table = vyas_2022.table(f"table{number}")
        assert table.height == 36
        assert table.get_column("threads").unique().sort().to_list() == THREADS
    assert vyas_2022.individual().height == 72
    mixed = vyas_2022.mixed()
    assert mixed.height == 180  # the paper says 200
    assert mixed.select("threads", "mix", "setting").is_unique().all()
    assert (
        mixed.get_column("read_replicas") + mixed.get_column("write_replicas")
    ).unique().to_list() == [4]
    with pytest.raises(ValueError, match="table3"):
        vyas_2022.table("table3")


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_papers_records_give_every_figure_of_tables_11_to_13(number: int) -> None:
    compared = against_published(number, fitted(number))
    apart = compared.filter(~pl.col("agrees"))
    assert apart.height == 0, apart


def test_the_printed_figures_of_equation_2_are_these() -> None:
    compared = against_published(2, fitted(2))
    assert compared.get_column("coefficient_here").to_list() == [
        "0.5173", "-3.876", "3.5528", "0.3473", "0.0739",
    ]  # fmt: skip
    assert compared.get_column("p_value_here").to_list() == [
        "2.57E-13", "1.166E-27", "1.777E-13", "0.231", "0.3872",
    ]  # fmt: skip


def test_other_codings_miss_the_coefficients_and_leave_t_where_it_is() -> None:
    """Without the rounding to 0.1 ms, or over the maximum: t is (nearly) the paper's, C1 isn't."""
    frame = vyas_2022.mixed()
    exact = frame.with_columns(
        (pl.col(f"{side}_latency_us") / 1e6).alias(f"{side}_latency_s")
        for side in ("read", "write")
    )
    exact = fitted(2, exact)
    assert not against_published(2, exact).get_column("agrees").all()
    scaled = regress(
        frame, "write_consistency", vyas_2022.EQUATIONS[2].x, scale="minmax"
    ).coefficient("read_latency_s")
    own = fitted(2).coefficient("read_latency_s")
    assert scaled.t == pytest.approx(own.t, rel=1e-9)
    assert scaled.p == pytest.approx(own.p, rel=1e-9)
    assert scaled.value == pytest.approx(-3.6876, abs=5e-4)


def test_the_printed_p_values_belong_to_180_records_not_to_200() -> None:
    for number, terms in ((2, 5), (3, 4), (4, 4)):
        for row in vyas_2022.coefficients(number).iter_rows(named=True):
            value, error = float(row["coefficient"]), float(row["standard_error"])
            printed = float(row["p_value"])
            if printed > 1e-20:
                continue
            # The range of t that the printed digits leave.
            step = 0.5 * 10.0 ** -len(row["standard_error"].partition(".")[2])
            digit = 0.5 * 10.0 ** -len(row["coefficient"].partition(".")[2])
            low = (abs(value) - digit) / (error + step)
            high = (abs(value) + digit) / (error - step)
            with_180 = [2 * stats.t.sf(t, 180 - terms) for t in (high, low)]
            with_200 = [2 * stats.t.sf(t, 200 - terms) for t in (high, low)]
            assert with_180[0] <= printed <= with_180[1]
            if row["term"] == "X1" and number == 2:
                assert printed > with_200[1]


def test_half_a_millisecond_misread_would_show() -> None:
    frame = vyas_2022.mixed().with_row_index()
    for row, column in (
        (0, "read_latency_s"),
        (57, "write_latency_s"),
        (90, "write_latency_s"),
        (179, "read_latency_s"),
    ):
        wrong = frame.with_columns(
            pl.when(pl.col("index") == row).then(pl.col(column) + 5e-4).otherwise(column)
            .alias(column)
        )  # fmt: skip
        agree = [against_published(n, fitted(n, wrong)).get_column("agrees").all()
                 for n in (2, 3, 4)]  # fmt: skip
        assert not all(agree), (row, column)


def test_the_equations_fit_their_own_records_no_better_than_the_reference_says() -> None:
    frame = vyas_2022.mixed()
    second = fitted(2).fit.fitted
    nearest = (second.clip(0, 1) * 2).round() / 2
    assert (nearest == frame.get_column("write_consistency").to_numpy()).mean() == pytest.approx(
        0.58, abs=0.005
    )
    assert (second.min(), second.max()) == pytest.approx((-0.52, 1.10), abs=0.005)
    third = fitted(3).fit
    few = (frame.get_column("threads") <= 50).to_numpy()
    errors = abs(third.residuals / frame.get_column("read_latency_s").to_numpy())
    assert float(np.median(errors[few])) == pytest.approx(0.79, abs=0.005)
    assert float(np.median(errors[~few])) == pytest.approx(0.12, abs=0.005)
    assert int((third.fitted < 0).sum()) == 2


def test_a_value_is_rounded_as_it_was_printed() -> None:
    assert rounded_as(0.09999, "0.1") == "0.1"
    assert rounded_as(7.9805e-113, "7.98E-113") == "7.98E-113"
    assert rounded_as(0.000668, "0.0007") == "0.0007"


def test_the_papers_tables_say_this_of_its_claims() -> None:
    found = {name: {p.verdict for p in test(published_readings())} for name, test in TESTS.items()}
    assert found == {
        "all-is-slowest": {"holds", "can't tell"},  # table 5 at 200 threads
        "all-has-least-throughput": {"holds"},
        "read-one-write-all-fastest": {"holds", "can't tell"},  # 2R-2W is close at 50 and 70 %
        "read-all-write-one-fastest-for-writes": {"holds"},
        "quorum-fastest-for-reads-under-load": {"can't tell"},
        "read-all-wasteful-for-reads": {"holds"},
    }
    assert [claim.id for claim in CLAIMS] == list(TESTS)


def test_claims_are_tested_on_runs(tmp_path: Path) -> None:
    mixes = ("10/90", "50/50", "70/30", "90/10")
    results = load(write_mixes(tmp_path / "r", mixes=mixes))
    findings = {
        f.claim.id: f for f in check_claims(claims_of("vyas-2022"), results, Design.of(results))
    }
    assert findings["read-one-write-all-fastest"].verdict == "can't tell"  # a tie at 50/50
    assert "50 % reads, 1R-3W / 3R-1W: " in findings["read-one-write-all-fastest"].evidence
    assert "hold" in findings["read-one-write-all-fastest"].evidence
    assert findings["all-is-slowest"].evidence == "no runs with only reads; only writes"
    assert findings["quorum-fastest-for-reads-under-load"].evidence == (
        "no runs with 90 % reads and 600 users or more"
    )
    assert findings["read-all-wasteful-for-reads"].verdict == "holds"


def test_levels_alone_are_told_from_what_was_in_force(tmp_path: Path) -> None:
    results = load(
        write_mixes(
            tmp_path / "r",
            mixes=("100/0", "0/100"),
            settings=("1R-1W", "2R-2W", "3R-3W"),
            only_level=True,
        )
    )
    findings = {
        f.claim.id: f for f in check_claims(claims_of("vyas-2022"), results, Design.of(results))
    }
    assert findings["all-is-slowest"].verdict == "holds"
    assert findings["all-has-least-throughput"].verdict != "holds"  # the same count in every run
