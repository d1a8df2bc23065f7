"""Regression keeps its laws, gives certified values, and names what is wrong."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.analysis.regression import regress
from pacelc.errors import InputError

HERE = Path(__file__).parent
SEEDS = st.integers(0, 2**32 - 1)


def made_up(seed: int, rows: int = 30, noise: float = 1.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 9, rows), rng.uniform(-5, 5, rows)
    kind = rng.permutation(np.resize(["x", "y", "z"], rows))
    y = 3 + 2 * a - 0.5 * b + 4 * (kind == "y") - 1.5 * (kind == "z") + a * b / 4
    return pl.DataFrame(
        {"a": a, "b": b, "kind": kind, "y": y + noise * rng.standard_normal(rows), "k": y}
    )


def figures(frame: pl.DataFrame, x: tuple[str, ...], **options: object) -> dict[str, list[float]]:
    fitted = regress(frame, "y", x, **options)  # pyright: ignore[reportArgumentType]
    return {c.name: [c.t, c.p] for c in fitted.coefficients}


@given(seed=SEEDS, factor=st.floats(1e-6, 1e6), shift=st.floats(-100, 100))
@settings(max_examples=25, deadline=None)
def test_scaling_x_or_y_leaves_t_and_p_unchanged(seed: int, factor: float, shift: float) -> None:
    frame, x = made_up(seed), ("a", "b", "kind")
    plain = figures(frame, x)
    for column in ("a", "y"):
        scaled = figures(frame.with_columns(pl.col(column) * factor + 0.0), x)
        for name, values in plain.items():
            assert scaled[name] == pytest.approx(values, rel=1e-6, abs=1e-12)
    moved = figures(frame.with_columns(pl.col("b") + shift), x)
    for scale in ("max", "minmax", "standard"):
        scaled = figures(frame, x, scale=scale)
        for name, values in plain.items():
            if name != "(intercept)":  # a shift moves the intercept, and nothing else
                assert scaled[name] == pytest.approx(values, rel=1e-6, abs=1e-12)
                assert moved[name] == pytest.approx(values, rel=1e-6, abs=1e-12)


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_and_columns_changes_nothing(seed: int) -> None:
    frame = made_up(seed)
    plain = figures(frame, ("a", "b", "kind"), interactions=[("a", "b")])
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed % 1000).select(
        "y", "kind", "b", "a"
    )
    again = figures(shuffled, ("kind", "b", "a"), interactions=[("a", "b")])
    assert set(again) == set(plain)
    for name, values in plain.items():
        assert again[name] == pytest.approx(values, rel=1e-7, abs=1e-12)


@given(
    seed=SEEDS, p=st.floats(0.1, 10), q=st.floats(-10, -0.1), constant=st.sampled_from([0.0, 7.5])
)
@settings(max_examples=25, deadline=None)
def test_a_linear_combination_is_refused_and_its_columns_named(
    seed: int, p: float, q: float, constant: float
) -> None:
    frame = made_up(seed).with_columns((p * pl.col("a") + q * pl.col("b") + constant).alias("c"))
    with pytest.raises(InputError, match="linear combination") as caught:
        regress(frame, "y", ("kind", "a", "b", "c"))
    named = caught.value.message.partition(":")[0].split(", ")
    assert set(named) == {"a", "b", "c"}
    assert ("a constant" in caught.value.message) == bool(constant)


@given(seed=SEEDS, scale=st.sampled_from(["none", "max", "minmax", "standard"]))
@settings(max_examples=25, deadline=None)
def test_noiseless_data_give_their_coefficients_back(seed: int, scale: str) -> None:
    frame = made_up(seed)
    fitted = regress(frame, "k", ("a", "b", "kind"), interactions=[("a", "b")])
    truth = {
        "(intercept)": 3,
        "a": 2,
        "b": -0.5,
        "kind[y]": 4,
        "kind[z]": -1.5,
        "a × b": 0.25,  # noqa: RUF001
    }
    assert {c.name: c.value for c in fitted.coefficients} == pytest.approx(truth, abs=1e-9)
    assert "exact" in {c.kind for c in fitted.cautions}
    scaled = regress(frame, "k", ("a", "b", "kind"), interactions=[("a", "b")], scale=scale)  # pyright: ignore[reportArgumentType]
    at = {"a": 4.0, "b": 1.0, "kind": "y"}
    assert scaled.predict(at).value == pytest.approx(3 + 8 - 0.5 + 4 + 1, abs=1e-8)


def test_prediction_and_confidence_intervals_cover_at_their_rate() -> None:
    rng = np.random.default_rng(11)
    covered = np.zeros(2)
    trials = 600
    a = rng.uniform(0, 10, 20)
    for _ in range(trials):
        y = 1 + 2 * a + rng.standard_normal(20)
        fitted = regress(pl.DataFrame({"a": a, "y": y}), "y", ("a",))
        p = fitted.predict({"a": 6.0})
        new = 13 + rng.standard_normal()
        covered += [p.confidence_low <= 13 <= p.confidence_high,
                    p.prediction_low <= new <= p.prediction_high]  # fmt: skip
    # Three standard errors of a share of 0.95 in 600 trials are 0.027.
    assert covered / trials == pytest.approx([0.95, 0.95], abs=0.027)


def test_longleys_data_give_nists_certified_values() -> None:
    """NIST StRD, Longley: of higher difficulty, since its columns are nearly dependent."""
    certified = {
        "(intercept)": (-3482258.63459582, 890420.383607373),
        "deflator": (15.0618722713733, 84.9149257747669),
        "gnp": (-0.358191792925910e-01, 0.334910077722432e-01),
        "unemployed": (-2.02022980381683, 0.488399681651699),
        "armed_forces": (-1.03322686717359, 0.214274163161675),
        "population": (-0.511041056535807e-01, 0.226073200069370),
        "year": (1829.15146461355, 455.478499142212),
    }
    frame = pl.read_csv(HERE / "longley.csv")
    fitted = regress(frame, "employed", [name for name in certified if name in frame.columns])
    for c in fitted.coefficients:
        assert c.value == pytest.approx(certified[c.name][0], rel=2e-11)
        assert c.standard_error == pytest.approx(certified[c.name][1], rel=2e-8)
    assert fitted.residuals.standard_error == pytest.approx(304.854073561965, rel=1e-9)
    assert fitted.r_squared == pytest.approx(0.995479004577296, rel=1e-9)
    assert fitted.f == pytest.approx(330.285339234588, rel=1e-9)
    cautions = {c.kind: c.text for c in fitted.cautions}
    assert "gnp 1.79e+03" in cautions["collinearity"]
    assert "influence" in cautions


def test_each_fault_of_the_data_is_named() -> None:
    rng = np.random.default_rng(2)
    a = np.linspace(1, 10, 80)

    def cautions(y: object, b: object = None) -> set[str]:
        columns = {"a": a, "y": y} | ({"b": b} if b is not None else {})
        fitted = regress(pl.DataFrame(columns), "y", [n for n in columns if n != "y"])
        return {c.kind for c in fitted.cautions}

    noise = rng.standard_normal(80)
    assert cautions(a + noise) == set()
    assert "heteroscedasticity" in cautions(a + a * noise)
    assert "normality" in cautions(a + rng.standard_exponential(80) * 3)
    assert "linearity" in cautions(a**2 + noise)
    assert "collinearity" in cautions(a + noise, a + noise / 50)
    far = a + noise
    far[-1] += 60
    assert "influence" in cautions(far)


def test_robust_errors_are_hc3() -> None:
    frame = made_up(3, rows=12)
    fitted = regress(frame, "y", ("a", "b"))
    x = fitted.design.matrix
    inverse = np.linalg.inv(x.T @ x)
    leverage = np.diag(x @ inverse @ x.T)
    meat = x.T @ np.diag((fitted.fit.residuals / (1 - leverage)) ** 2) @ x
    errors = np.sqrt(np.diag(inverse @ meat @ inverse))
    assert [c.robust_standard_error for c in fitted.coefficients] == pytest.approx(errors)


def test_extrapolation_is_said_outside_the_range_and_outside_the_cloud() -> None:
    rng = np.random.default_rng(4)
    a = rng.uniform(0, 10, 40)
    b = a + rng.uniform(-1, 1, 40)
    frame = pl.DataFrame({"a": a, "b": b, "y": a + b + rng.standard_normal(40)})
    fitted = regress(frame, "y", ("a", "b"))
    assert fitted.predict({"a": 5, "b": 5}).cautions == ()
    (outside,) = fitted.predict({"a": 50, "b": 5}).cautions
    assert outside.text.startswith("a=50 is outside")
    (alone,) = fitted.predict({"a": 9, "b": 1}).cautions
    assert "no row is like their combination" in alone.text


@pytest.mark.parametrize(
    ("y", "x", "message", "hint"),
    [
        ("y", ["aa"], "no column 'aa'", "did you mean a?"),
        ("kind", ["a"], "y must be a number", "use another y"),
        ("y", ["a", "y"], "can't explain itself", "leave it out"),
        ("y", [], "nothing to explain by", "--x"),
        ("y", ["one"], "one is the same in every row", "leave it out"),
        ("y", ["word"], "word has only one level", "leave it out"),
        ("one", ["a"], "there is nothing to explain", None),
        ("y", ["a", "twice"], "linear combination", "leave one"),
        ("y", ["list"], "neither numbers nor text", "--columns"),
        (
            "y",
            ["gone"],
            "to tell 2 coefficients takes at least 3 rows with all values; there are 0",
            "more runs",
        ),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(
    y: str, x: list[str], message: str, hint: str | None
) -> None:
    frame = made_up(1).with_columns(
        pl.lit(1.0).alias("one"),
        pl.lit("same").alias("word"),
        (2 * pl.col("a")).alias("twice"),
        pl.lit([1]).alias("list"),
        pl.lit(None, dtype=pl.Float64).alias("gone"),
    )
    with pytest.raises(InputError) as caught:
        regress(frame, y, x)
    assert message in caught.value.message
    assert (hint or "") in (caught.value.hint or "")


def test_rows_without_a_value_are_left_out_and_counted() -> None:
    frame = made_up(1)
    holes = frame.with_columns(pl.when(pl.col("a") > 5).then("a").alias("a"))
    fitted = regress(holes, "y", ("a",))
    assert fitted.n == frame.filter(pl.col("a") > 5).height
    assert fitted.left_out == frame.height - fitted.n
    assert any(c.kind == "rows" for c in fitted.cautions)


@pytest.mark.parametrize(
    "module",
    [
        "pacelc.analysis.regression",
        "pacelc.analysis.records",
        "pacelc.papers",
        "pacelc.papers.gandini_2014.demands",
        "pacelc.papers.gandini_2014.tables",
        "pacelc.papers.vyas_2022.reproduction",
        "pacelc.cli.table",
    ],
)
def test_the_examples_in_docstrings_are_right(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
