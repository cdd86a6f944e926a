"""Clips on the command line of `plates recognize`: `plates watch --once` follows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from orchestrator.cli.chosen_server import is_typed
from orchestrator.cli.commands import load_follow
from orchestrator.cli.flags import Device
from orchestrator.cli.recognition.skipped_files import CLIPS
from orchestrator.errors import SettingsError
from orchestrator.networks.engines import Engine

FORWARDED_OPTIONS = (
    "url",
    "key",
    "timeout",
    "device",
    "engine",
    "threads",
    "weights",
    "formats",
    "as_json",
    "show_all",
    "quiet",
    "verbose",
)
"""Parameters that both commands have."""


def names_clips(sources: Sequence[str]) -> bool:
    """Tell whether all sources are clips. Some clips among pictures stay unread files."""
    return bool(sources) and all(Path(source).suffix.lower() in CLIPS for source in sources)


def forward_to_watch(context: typer.Context) -> NoReturn:
    """Run `plates watch --once` with the options of this command, and exit.

    Raises:
        ExtraError: The package for cameras is not installed.
        SettingsError: An option is given that only pictures have.
        PlateError: The clips cannot be followed.
    """
    names = {*FORWARDED_OPTIONS, "sources"}
    other_options = [
        option.opts[0]
        for option in context.command.params
        if option.name and option.name not in names and is_typed(context, option.name)
    ]
    if other_options:
        raise SettingsError(f"{', '.join(other_options)}: wanted with pictures, got clips")
    values = {name: context.params[name] for name in FORWARDED_OPTIONS}
    values |= {"device": Device(values["device"]), "engine": Engine(values["engine"])}
    load_follow()(context, context.params["sources"], once=True, looks=None, out=None, **values)
    raise typer.Exit
