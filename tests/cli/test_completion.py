"""Completions that the shell gets for the Tab key."""

import os
import subprocess
import sys

import pytest

from tests.samples import PROJECT

COMMAND = "from orchestrator.cli.app import app; app(prog_name='plates')"


def run(variables: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        pytest.param("plates rec", ["recognize"], id="a-command"),
        pytest.param("plates recognize --water", [], id="nothing"),
        pytest.param("plates recognize --watch", ["--watchlist"], id="an-option"),
        pytest.param(
            "plates recognize --engine openvino",
            ["openvino", "openvino-int8"],
            id="the-values-of-an-option",
        ),
        pytest.param("plates recognize --device g", ["gpu"], id="of-another"),
    ],
)
def test_bash_is_offered(typed: str, offered: list[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    assert run({"_PLATES_COMPLETE": "complete_bash", **words}).split() == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_shown_its_completion(shell: str) -> None:
    shown = run({"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}, "--show-completion", shell)
    assert "_PLATES_COMPLETE=complete_" + shell in shown
