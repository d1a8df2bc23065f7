"""Numbers are read as every program writes them, and as no other."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.cli.model.options import numbers_of_users
from pacelc.errors import InputError
from pacelc.numerals import MOST, parse_number, parse_whole
from pacelc.saturation.ladder import parse_rate
from pacelc.study import StudyError
from pacelc.study.assignments import parse_value
from pacelc.study.values import parse_bytes, parse_duration_s


@given(st.integers(-MOST, MOST))
def test_a_whole_number_reads_back(number: int) -> None:
    assert parse_whole(f" {number}\t") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back(number: float) -> None:
    assert parse_number(repr(number)) == number


@given(st.text("0123456789+-._eE \u0663\uff11nainf"))
def test_whatever_is_read_is_a_number_that_a_field_holds(text: str) -> None:
    with suppress(ValueError):
        assert -MOST <= parse_whole(text) <= MOST
    with suppress(ValueError):
        assert math.isfinite(parse_number(text))


ONLY_PYTHON = ["1_000", "\u0661\u0662", "\uff11\uff10", "0x10", "1j", "inf", "nan", "Infinity", ""]


@pytest.mark.parametrize("text", [*ONLY_PYTHON, "1.0", "1e3", str(MOST + 1), "9" * 5000])
def test_other_spellings_are_no_whole_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="should be a whole number"):
        parse_whole(text)


@pytest.mark.parametrize("text", [*ONLY_PYTHON, "1e400", "9" * 400, ".", "1e"])
def test_other_spellings_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="should be a number"):
        parse_number(text)


@pytest.mark.parametrize("text", ["1_0s", "\uff11\uff10s", "9" * 400 + "s"])
def test_a_duration_is_a_number_with_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match="should be"):
        parse_duration_s(text)


@pytest.mark.parametrize("text", ["1_0MiB", "\uff11MiB"])
def test_an_amount_is_a_number_with_a_unit(text: str) -> None:
    with pytest.raises(ValueError, match="should be"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["1_0", "\u0663", "9" * 5000, "1..1_0"])
def test_numbers_of_users_are_numbers(text: str) -> None:
    with pytest.raises(InputError, match="should be numbers above 0"):
        numbers_of_users(text)


@pytest.mark.parametrize("text", ["1_0", "\u0663", "9" * 400, "0.4"])
def test_a_rate_is_a_number(text: str) -> None:
    with pytest.raises(InputError, match="should be a rate"):
        parse_rate(text, "--rate")


@pytest.mark.parametrize("text", ["1_000", "1,2_0", "{read: 1_0}", "[0.5_0]", "1_0e3", "0x1_0"])
def test_an_option_has_no_number_with_an_underscore(text: str) -> None:
    with pytest.raises(StudyError, match="a number is written without _"):
        parse_value("--set x", text)


@pytest.mark.parametrize("text", ["'1_000'", "a_1", "user_table", "USE_DEFAULT", "{a_1: b_2}"])
def test_text_with_an_underscore_stays_text(text: str) -> None:
    assert "_" in str(parse_value("--set x", text))
