"""The program `plates`: finds a command by its name and imports only that command."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.cli import workshop
from orchestrator.cli.commands import COMMANDS, FOLLOW, SuggestingGroup, installed_commands, load
from orchestrator.cli.standard_streams import open_closed_streams
from orchestrator.host.distribution import read_version

CAMERAS_MISSING = "Commands for cameras come with `make cameras`."


class Commands(SuggestingGroup):
    """The commands by name. Only the module of the running command is imported, to save time."""

    def explain_absence(self) -> str:
        return "" if FOLLOW in available() else CAMERAS_MISSING

    def list_commands(self, ctx: Any) -> list[str]:
        return [*available()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in available():
            return None
        group = load(available()[cmd_name])
        if not isinstance(group, typer.Typer):
            function, group = group, typer.Typer(add_completion=False)
            group.command()(function)
        command = typer.main.get_command(group)
        command.name = cmd_name
        return command


def available(checkout: Path = workshop.CHECKOUT) -> dict[str, str]:
    """Return the location of each command, by its name.

    Args:
        checkout: The folder that contains this package.
    """
    ours = COMMANDS | (workshop.COMMANDS if workshop.is_checkout(checkout) else {})
    return {**ours, **installed_commands(), **ours}  # in this order, and none of ours replaced


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
    open_closed_streams()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # our messages say it; gRPC reads this once
