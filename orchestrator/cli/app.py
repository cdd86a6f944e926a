"""The program `plates`: finds a command by its name and imports only that command."""

from __future__ import annotations

import platform
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import workshop
from orchestrator.cli.suggestions import SuggestingGroup
from orchestrator.system.distribution import read_version

COMMANDS = {
    "recognize": "orchestrator.cli.recognize:recognize",
    "watch": "orchestrator.cli.watch.command:watch",
    "passes": "orchestrator.cli.passes.command:passes",
    "people": "orchestrator.cli.people.command:people",
    "archive": "orchestrator.cli.archive.command:archive",
    "read-crop": "orchestrator.cli.read_crop:read_crop",
    "serve": "orchestrator.cli.serve:serve",
    "doctor": "orchestrator.cli.doctor.command:doctor",
    "key": "orchestrator.cli.key:key",
    "export": "orchestrator.cli.export:export",
    "add-version": "orchestrator.cli.add_version:add",
    "new-pipeline": "orchestrator.cli.new_pipeline:new_pipeline",
}


class Commands(SuggestingGroup):
    """The commands by name. Only the one that runs is imported, as some imports are slow."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*available()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in available():
            return None
        module, _, name = available()[cmd_name].partition(":")
        found = getattr(import_module(module), name)
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False)
            found.command()(function)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command


def available(checkout: Path = workshop.CHECKOUT) -> dict[str, str]:
    """Return the location of each command, by its name.

    Args:
        checkout: The folder that contains this package.
    """
    return COMMANDS | (workshop.COMMANDS if workshop.is_checkout(checkout) else {})


def _print_versions(is_wanted: bool) -> None:
    if is_wanted:
        client = metadata.version("tritonclient")
        typer.echo(
            f"plates {read_version()}, Python {platform.python_version()}, tritonclient {client}"
        )
        raise typer.Exit


app = typer.Typer(
    cls=Commands,
    help="Russian number plates from one infer call on NVIDIA Triton.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def plates(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_versions, is_eager=True, help="Print versions and exit."
        ),
    ] = False,
) -> None:
    """Take what comes before the name of a command."""
