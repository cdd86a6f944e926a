"""The commands by name, each with its location: ours, and those of installed packages.

A package names its commands as entry points, in the group `GROUP`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any

from orchestrator.errors import ExtraError

COMMANDS = {
    "recognize": "orchestrator.cli.recognize:recognize",
    "archive": "orchestrator.cli.archive.command:archive",
    "read-crop": "orchestrator.cli.read_crop:read_crop",
    "serve": "orchestrator.cli.serve:serve",
    "doctor": "orchestrator.cli.doctor.command:doctor",
    "key": "orchestrator.cli.key:key",
    "export": "orchestrator.cli.export:export",
    "add-version": "orchestrator.cli.add_version:add",
    "new-pipeline": "orchestrator.cli.new_pipeline:new_pipeline",
}
GROUP = "plates.commands"
FOLLOW = "watch"
"""The command that follows clips and cameras."""


def installed_commands() -> Mapping[str, str]:
    """Return the location of each command that another package brings."""
    return {point.name: point.value for point in metadata.entry_points(group=GROUP)}


def load(location: str) -> Any:
    """Import what a location names, as `package.module:name`."""
    module, _, name = location.partition(":")
    return getattr(import_module(module), name)


def load_follow() -> Any:
    """Import the command that follows clips.

    Raises:
        ExtraError: No installed package brings it.
    """
    if (location := installed_commands().get(FOLLOW)) is None:
        raise ExtraError("clips: wanted the package for cameras; `make cameras` installs it")
    return load(location)
