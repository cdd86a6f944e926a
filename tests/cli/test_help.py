"""The first texts for a new user: the help of each command, and suggestions for misspelt names."""

import click
import pytest
import typer
from typer.testing import CliRunner

from orchestrator.cli.app import app

WIDTH = 80
CUT_OFF = "…"
runner = CliRunner(env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)})


def names_in(group: click.Group, *above: str) -> list[list[str]]:
    """Return the words of each command, those in groups included."""
    context, found = click.Context(group), [[*above]]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = names_in(command, *above, name) if isinstance(command, click.Group) else None
        found += inner or [[*above, name]]
    return found


@pytest.mark.parametrize("words", names_in(typer.main.get_command(app)), ids=" ".join)
def test_nothing_in_the_help_is_cut_off_at_80_columns(words: list[str]) -> None:
    done = runner.invoke(app, [*words, "--help"])
    assert done.exit_code == 0
    assert CUT_OFF not in done.output
    assert max(map(len, done.output.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(["recognise"], "recognize", id="a-command"),
        pytest.param(["train", "detectr"], "detector", id="in-a-group"),
        pytest.param(["recognize", "--anotate", "drawn"], "--annotate", id="an-option"),
    ],
)
def test_what_was_meant_is_suggested_once(words: list[str], meant: str) -> None:
    done = runner.invoke(app, words)
    assert done.exit_code == 2
    assert done.stderr.count(f"Did you mean '{meant}'?") == 1


def test_a_name_like_no_command_gets_no_suggestion() -> None:
    done = runner.invoke(app, ["nothing"])
    assert done.exit_code == 2
    assert "No such command 'nothing'." in done.stderr
    assert "Did you mean" not in done.stderr
