"""Text in columns: what other programs would read in another way is refused, with its line."""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.analysis.records import records_of_csv
from pacelc.delimited import parse_rows, parse_table, read_frame
from pacelc.errors import InputError
from pacelc.laws import laws_of_csv

if TYPE_CHECKING:
    from pathlib import Path

MISTAKES = {
    "": "t: the file is empty",
    "a,b,a\n1,2,3\n": "t:1: two columns are named 'a': 1 and 3",
    "a,,b\n": "t:1: column 2 has no name",
    "a;b\n1;2\n": "t:1: the columns are separated by semicolons",
    "a\tb\n1\t2\n": "t:1: the columns are separated by tabs",
    "# made today\na,b\n": "t:1: begins with #, and such a file has no comments",
    "a,b\n1,2\n#3,4\n": "t:3: begins with #, and such a file has no comments",
    "a,b\n1,2\n\n3,4\n": "t:3: the line is empty",
    "a,b\n1,2\n3\n": "t:3: should have 2 values, not 1",
    'a,b\n"1\n2",3\n4\n': "t:4: should have 2 values, not 1",
    'a,b\n1,2\n"3,4\n': "t:3: unexpected end of data",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_table(text, "t")
    assert caught.value.message == MISTAKES[text]


CELLS = st.text('ab1 ,;"\n', max_size=3).map(str.strip)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=4), st.sampled_from(["", "\n\n"]))
def test_what_is_written_reads_back(rows: list[list[str]], end: str) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    assert [row.cells for row in parse_rows(text.getvalue() + end, "t")] == rows


@given(st.text('a1,;#"\t\r\n\0'))
def test_no_text_upsets_the_reader(text: str) -> None:
    with suppress(InputError):
        parse_table(text, "t")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_columns_hold_numbers_or_text(tmp_path: Path) -> None:
    text = "\ufeffwhole,number,text,mixed,none\r\n1, 2.5,x,1,\r\n,1e3,,1_0,\r\n\r\n"
    frame = read_frame(written(tmp_path, text))
    assert frame.equals(
        pl.DataFrame(
            {
                "whole": [1, None],
                "number": [2.5, 1000.0],
                "text": ["x", None],
                "mixed": ["1", "1_0"],
                "none": pl.Series([None, None], dtype=pl.String),
            }
        )
    )
    assert frame.schema["whole"] == pl.Int64


@pytest.mark.parametrize("text", ["a,a\n1,2\n", "a;b\n1;2\n", "#x\na,b\n1,2\n"])
def test_every_table_of_a_user_is_read_so(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=r"t\.csv:1: "):
        records_of_csv(path)
    with pytest.raises(InputError, match=r"t\.csv:1: "):
        laws_of_csv(path, "a", "b")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    records = records_of_csv(written(tmp_path, "\ufeffms,a\n1,2\n3,4\n"))
    assert records.frame.columns[:2] == ["ms", "a"]
