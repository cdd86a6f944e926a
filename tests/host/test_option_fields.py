"""Options declared as fields of dataclasses: on the command line, and in tables of the docs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from orchestrator.errors import SettingsError
from orchestrator.host.option_fields import check_ranges, declared, expand, to_rows


@dataclass(frozen=True)
class Speed:
    """A dataclass with options, and one field that is no option."""

    gear: Annotated[int, typer.Option(min=1, max=6, help="Gear.")] = 2
    lights: Annotated[tuple[str, ...], typer.Option("--light", help="Names.")] = ()
    unit: str = "km"

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class MoreSpeed(Speed):
    """The options of the class above, and one more."""

    route: Annotated[Path | None, typer.Option(help="Route.")] = None


def run(*words: str) -> tuple[object, str]:
    """Run a command with these options; return its values and its output."""
    received: list[object] = []

    @expand
    def drive(*, speed: MoreSpeed, loud: bool = False) -> None:
        received.append((speed, loud))

    app = typer.Typer(add_completion=False)
    app.command()(drive)
    result = CliRunner().invoke(app, [*words])
    return (received or [None])[0], result.output


def test_without_words_a_command_gets_the_defaults() -> None:
    assert run()[0] == (MoreSpeed(), False)


def test_a_command_gets_the_values_of_all_its_options() -> None:
    words = ("--gear", "3", "--light", "a", "--light", "b", "--route", "here", "--loud")
    assert run(*words)[0] == (MoreSpeed(3, ("a", "b"), route=Path("here")), True)


def test_a_field_without_a_declaration_is_no_option() -> None:
    assert [*declared(MoreSpeed)] == ["gear", "lights", "route"]
    received, output = run("--unit", "mile")
    assert received is None
    assert "No such option" in output


@pytest.mark.parametrize("gear", [0, 7])
def test_a_value_out_of_its_range_is_refused_on_the_command_line_and_in_code(gear: int) -> None:
    received, output = run("--gear", str(gear))
    assert received is None
    assert "1<=x<=6" in output
    with pytest.raises(SettingsError, match=f"^gear: wanted 1 to 6, got {gear}$"):
        Speed(gear=gear)


def test_a_row_has_the_name_the_default_and_the_help() -> None:
    @dataclass(frozen=True)
    class Sizes:
        pixels: Annotated[int, typer.Option(help="largest picture")] = 50_000_000
        wait_s: Annotated[float, typer.Option(help="seconds")] = 0.5

    assert (
        to_rows(Sizes)
        == "| `pixels` | 50000000 | largest picture |\n| `wait_s` | 0.5 | seconds |\n"
    )
