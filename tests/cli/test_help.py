"""The first texts for a new user: help, version, suggestions for misspelt names, completions."""

import os
import subprocess
import sys

import click
import pytest
import typer
from typer.testing import CliRunner

from orchestrator.cli.app import app
from orchestrator.host.distribution import read_version
from tests.samples import PROJECT

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
    result = runner.invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert CUT_OFF not in result.output
    assert max(map(len, result.output.splitlines())) <= WIDTH


def test_the_version_is_that_of_the_package() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith(f"plates {read_version()}, ")


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        pytest.param(["recognise"], "recognize", id="a-command"),
        pytest.param(["train", "detectr"], "detector", id="in-a-group"),
        pytest.param(["recognize", "--watchlst", "wanted.txt"], "--watchlist", id="an-option"),
    ],
)
def test_what_was_meant_is_suggested_once(words: list[str], suggestion: str) -> None:
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    assert result.stderr.count(f"Did you mean '{suggestion}'?") == 1


def test_a_name_like_no_command_gets_no_suggestion() -> None:
    result = runner.invoke(app, ["nothing"])
    assert result.exit_code == 2
    assert "No such command 'nothing'." in result.stderr
    assert "Did you mean" not in result.stderr


COMPLETING = "from orchestrator.cli.app import app; app(prog_name='plates')"


def complete(variables: dict[str, str], *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", COMPLETING, *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        pytest.param("plates recognize --water", [], id="nothing"),
        pytest.param("plates recognize --watch", ["--watchlist"], id="an-option"),
        pytest.param("plates recognize --device g", ["gpu"], id="a-value"),
    ],
)
def test_bash_is_offered(line: str, completions: list[str]) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert complete({"_PLATES_COMPLETE": "complete_bash", **words}).split() == completions


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_shown_its_completion(shell: str) -> None:
    script = complete(
        {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}, "--show-completion", shell
    )
    assert "_PLATES_COMPLETE=complete_" + shell in script
