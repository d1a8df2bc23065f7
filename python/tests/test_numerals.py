"""Numbers are read as every program writes them, and as no other."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, get_args

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pacelc.cli.app import app
from pacelc.cli.model.options import numbers_of_users
from pacelc.cli.options import number, whole
from pacelc.errors import InputError
from pacelc.numerals import MOST, parse_number, parse_whole
from pacelc.saturation.ladder import parse_rate
from pacelc.study import Study, StudyError
from pacelc.study.assignments import parse_value
from pacelc.study.model import Frozen
from pacelc.study.values import parse_bytes, parse_duration_s

if TYPE_CHECKING:
    from collections.abc import Iterator


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


# --- Options ---


def numeric_options(command: Any, path: str = "pacelc") -> Iterator[tuple[str, Any, Any]]:
    """Give the options of all commands that are numbers, with their context."""
    context = typer.Context(command, info_name=path)
    for option in command.params:
        annotation = option.type_descriptor.annotation
        if {int, float} & {annotation, *get_args(annotation)}:
            yield f"{path} {option.opts[0]}", option, context
    for name, inner in getattr(command, "commands", {}).items():
        yield from numeric_options(inner, f"{path} {name}")


OPTIONS = [*numeric_options(typer.main.get_command(app))]


def test_commands_have_numbers_for_options() -> None:
    assert len(OPTIONS) > 20


@pytest.mark.parametrize("text", ["1_000", "\uff11\uff10", "1e999", "inf", "nan", "\u00a01"])
@pytest.mark.parametrize("option", [pytest.param(one[1:], id=one[0]) for one in OPTIONS])
def test_an_option_is_a_number_as_every_program_writes_it(
    option: tuple[Any, Any], text: str
) -> None:
    parameter, context = option
    with pytest.raises(typer.BadParameter, match=r"should be a (whole )?number.*"):
        parameter.process_value(context, text)


def told_by(option: Any, text: str) -> str:
    def command(value: float) -> None: ...

    command.__annotations__["value"] = Annotated[float, option]
    one = typer.Typer(add_completion=False)
    one.command()(command)
    with pytest.raises(typer.BadParameter) as error:
        typer.main.get_command(one).main(["--value", text], standalone_mode=False)
    return error.value.format_message()


@pytest.mark.parametrize(
    ("option", "text", "told"),
    [
        (whole(), "1_0", "should be a whole number, not '1_0'"),
        (whole(least=1), "0", "should be at least 1, not 0"),
        (whole(most=1000), "1001", "should be at most 1,000, not 1001"),
        (number(), "inf", "should be a number, not 'inf'"),
        (number(least=0.5), "0.4", "should be at least 0.5, not 0.4"),
    ],
)
def test_an_option_says_what_it_should_be(option: Any, text: str, told: str) -> None:
    assert told_by(option, text).endswith(f"'--value': {told}")


# --- Documents ---


def models(base: type[Frozen] = Frozen) -> Iterator[type[Frozen]]:
    """Give all parts of documents."""
    for model in base.__subclasses__():
        yield model
        yield from models(model)


def readers(schema: Any, *, read: bool = False) -> Iterator[bool]:
    """Tell of each number in a schema whether `pacelc.numerals` reads it."""
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from readers(part)
    elif isinstance(schema, dict):
        # JSON of any kind is told apart by its type: text stays text.
        is_any = "pydantic_internal_union_tag_key" in schema.get("metadata", {})
        if schema.get("type") in ("int", "float") and not is_any:
            yield read
        is_reader = schema.get("type") == "function-before" and schema["function"][
            "function"
        ].__name__ in ("_whole", "_number")
        for key, part in schema.items():
            if key != "metadata":
                yield from readers(part, read=is_reader and key == "schema")


def test_every_number_in_a_document_has_the_one_reader() -> None:
    import pacelc.calibration.document
    import pacelc.planning.candidates  # noqa: F401 - their models are among those below

    told = {model: [*readers(model.__pydantic_core_schema__)] for model in models()}
    assert sum(map(len, told.values())) > 100
    assert [model.__qualname__ for model, all_read in told.items() if not all(all_read)] == []


class Part(Frozen):
    whole: int = 0
    number: float | None = None
    named: dict[str, int] = Field(default_factory=dict)
    pairs: list[tuple[int, float]] = Field(default_factory=list)


@given(st.text("0123456789+-._eE \u0663\uff11nainf"))
def test_text_in_a_document_is_a_number_where_it_is_one_everywhere(text: str) -> None:
    def read(parse: Any) -> Any:
        with suppress(ValueError):
            return parse(text)
        return None

    number_read, whole_read = read(parse_number), read(parse_whole)
    assert read(lambda one: Part(whole=one).whole) == whole_read
    assert read(lambda one: Part(number=one).number) == number_read
    assert read(lambda one: Part(named={"a": one}).named["a"]) == whole_read
    assert read(lambda one: Part(pairs=[(1, one)]).pairs[0][1]) == number_read


def test_true_is_no_number() -> None:
    with pytest.raises(ValueError, match="should be a whole number"):
        Part(whole=True)


QUOTED = """
name: s
settings:
  database: memory
  users: {users}
"""


@pytest.mark.parametrize("text", ['"1_000"', '"\uff11"', "true"])
def test_a_study_says_where_a_number_is_none(text: str) -> None:
    with pytest.raises(StudyError, match=r"^s.yaml:5: settings.users: should be a whole number, "):
        Study.parse(QUOTED.format(users=text), name="s.yaml")
    with pytest.raises(StudyError, match=r"^--set users: should be a whole number, "):
        Study.parse(QUOTED.format(users=1), [f"users={text}"])


@pytest.mark.parametrize("users", ["1000001", "4294967295"])
def test_a_study_has_no_more_users_than_the_engine(users: str) -> None:
    with pytest.raises(StudyError, match=r"^s.yaml:5: settings.users: .* equal to 1000000"):
        Study.parse(QUOTED.format(users=users), name="s.yaml")
    clients = (
        f"name: s\nsettings:\n  database: redis\n  regions: [iowa]\n  clients: {{iowa: {users}}}"
    )
    with pytest.raises(StudyError, match=r"^s.yaml:5: settings.clients: .* 1,000,000 are the most"):
        Study.parse(clients, name="s.yaml")


def test_a_quoted_number_is_one() -> None:
    assert Study.parse(QUOTED.format(users='"8"')).scenarios()[0].settings.users == 8
