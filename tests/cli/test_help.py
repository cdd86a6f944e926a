"""The first texts for a new user: the help of each command, and suggestions for misspelt names."""

import click
import pytest
import typer
from typer.testing import CliRunner

from orchestrator.cli.app import app

WIDTH = 80
CUT_OFF = "…"
runner = CliRunner(env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)})


def commands_in(command: click.Command, *words: str) -> dict[tuple[str, ...], click.Command]:
    """Return each command by its words, those in groups included."""
    commands, context = {words: command}, click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            commands |= commands_in(inner, *words, name)
    return commands


COMMANDS = commands_in(typer.main.get_command(app))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_argument_and_option_says_what_it_is(words: tuple[str, ...]) -> None:
    command, context = COMMANDS[words], click.Context(COMMANDS[words])
    silent = [p for p in command.params if not getattr(p, "help", None)]
    metavars = [p.make_metavar(context).strip("[].") for p in silent]
    assert [name for name in metavars if f"{name}: " not in str(command.help)] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_in_the_help_is_cut_off_at_80_columns(words: tuple[str, ...]) -> None:
    done = runner.invoke(app, [*words, "--help"])
    assert done.exit_code == 0
    assert CUT_OFF not in done.output
    assert max(map(len, done.output.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        pytest.param(["recognise"], "recognize", id="a-command"),
        pytest.param(["train", "detectr"], "detector", id="in-a-group"),
        pytest.param(["recognize", "--watchlst", "wanted.txt"], "--watchlist", id="an-option"),
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
