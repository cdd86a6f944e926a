"""Options as fields of dataclasses, and the words of errors about values."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticKnownError
from pydantic_core._pydantic_core import list_all_errors
from typer.testing import CliRunner

from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges, declared, expand, to_rows
from orchestrator.host.validation_errors import describe_invalid


@dataclass(frozen=True)
class SpeedOptions:
    """A dataclass with options, and one field that is no option."""

    gear: Annotated[int, typer.Option(min=1, max=6, help="Gear.")] = 2
    lights: Annotated[tuple[str, ...], typer.Option("--light", help="Names.")] = ()
    unit: str = "km"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class MoreSpeed(SpeedOptions):
    """The options of the class above, and one more."""

    route: Annotated[Path | None, typer.Option(help="Route.")] = None


def run(*words: str) -> tuple[object, str]:
    """Run a command with these options; return its values and its output."""
    calls: list[object] = []

    @expand
    def drive(*, speed: MoreSpeed, loud: bool = False) -> None:
        calls.append((speed, loud))

    app = typer.Typer(add_completion=False)
    app.command()(drive)
    result = CliRunner().invoke(app, [*words])
    return (calls or [None])[0], result.output


def test_without_words_a_command_gets_the_defaults() -> None:
    assert run()[0] == (MoreSpeed(), False)


def test_a_command_gets_the_values_of_all_its_options() -> None:
    words = ("--gear", "3", "--light", "a", "--light", "b", "--route", "here", "--loud")
    assert run(*words)[0] == (MoreSpeed(3, ("a", "b"), route=Path("here")), True)


def test_a_field_without_a_declaration_is_no_option() -> None:
    assert [*declared(MoreSpeed)] == ["gear", "lights", "route"]
    values, output = run("--unit", "mile")
    assert values is None
    assert "No such option" in output


@pytest.mark.parametrize("gear", [0, 7])
def test_a_value_out_of_its_range_is_refused_on_the_command_line_and_in_code(gear: int) -> None:
    values, output = run("--gear", str(gear))
    assert values is None
    assert "1<=x<=6" in output
    with pytest.raises(SettingsError, match=f"^gear: wanted 1 to 6, got {gear}$"):
        SpeedOptions(gear=gear)


def test_a_row_has_the_name_the_default_and_the_help() -> None:
    @dataclass(frozen=True)
    class Sizes:
        pixels: Annotated[int, typer.Option(help="largest picture")] = 50_000_000
        wait_s: Annotated[float, typer.Option(help="seconds")] = 0.5

    assert (
        to_rows(Sizes)
        == "| `pixels` | 50000000 | largest picture |\n| `wait_s` | 0.5 | seconds |\n"
    )


def to_even(value: object) -> object:
    raise ValueError("wanted an even number")


class VehicleRow(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    edits: int = Field(default=0, ge=0, le=2)
    kind: Literal["car", "bus"] = "car"
    at: datetime | None = None
    share: float = 0.5
    notes: list[Annotated[str, Field(max_length=3)]] = Field(default=[], max_length=2)
    even: Annotated[int, BeforeValidator(to_even)] = 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "name: wanted one, got none"),
        ({"name": 3}, "name: wanted a text, got 3"),
        ({"name": "a", "colour": 1}, "colour: wanted no field of this name, got 1"),
        ({"name": "a", "edits": 3}, "edits: wanted at most 2, got 3"),
        ({"name": "a", "edits": "x"}, "edits: wanted a whole number, got 'x'"),
        ({"name": "a", "share": "x"}, "share: wanted a number, got 'x'"),
        ({"name": "a", "kind": "van"}, "kind: wanted 'car' or 'bus', got 'van'"),
        ({"name": "a", "at": "x"}, "at: wanted a time such as 2026-05-17T09:30:00+03:00, got 'x'"),
        ({"name": "a", "notes": {}}, "notes: wanted a list, got {}"),
        ({"name": "a", "notes": ["a"] * 3}, "notes: wanted at most 2 items, got ['a', 'a', 'a']"),
        ({"name": "a", "notes": ["abcd"]}, "notes.0: wanted at most 3 characters, got 'abcd'"),
        ({"name": "a", "even": 3}, "even: wanted an even number, got 3"),
        ([], "wanted an object, got []"),
    ],
)
def test_an_error_says_what_was_wanted_and_what_came(values: Any, message: str) -> None:
    with pytest.raises(ValidationError) as failure:
        VehicleRow.model_validate(values)
    assert describe_invalid(failure.value.errors()) == message


def test_a_secret_is_not_shown() -> None:
    with pytest.raises(ValidationError) as failure:
        VehicleRow.model_validate({"name": 123456})
    message = describe_invalid(failure.value.errors(), hides_values=True)
    assert message == "name: wanted a text"


@pytest.mark.parametrize("kind", list_all_errors(), ids=lambda error: error["type"])
def test_no_error_is_told_in_the_words_of_the_library(kind: Any) -> None:
    context = kind.get("example_context") or {}
    error = PydanticKnownError(kind["type"], context)
    message = describe_invalid([{"type": kind["type"], "loc": ("a",), "input": 1, "ctx": context}])
    assert message.startswith("a: wanted ")
    assert error.message() not in message
