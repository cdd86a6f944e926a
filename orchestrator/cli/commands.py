"""The commands by name, with their locations: the project's own, and those of installed packages.

A package names its commands as entry points, in the group `GROUP`.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module, metadata
from typing import Any

from typer.core import TyperGroup

from orchestrator.errors import ExtraError

COMMANDS = {
    "recognize": "orchestrator.cli.recognize:recognize",
    "archive": "orchestrator.cli.archive.archive_command:archive",
    "read-crop": "orchestrator.cli.read_crop:read_crop",
    "serve": "orchestrator.cli.serve:serve",
    "doctor": "orchestrator.cli.doctor.doctor_command:doctor",
    "key": "orchestrator.cli.key:key",
    "export": "orchestrator.cli.export:export",
    "add-version": "orchestrator.cli.export:add_version",
    "new-pipeline": "orchestrator.cli.new_pipeline:new_pipeline",
}
GROUP = "plates.commands"
FOLLOW = "watch"
"""The command that follows clips and cameras."""


@cache
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
        ExtraError: No installed package provides the command.
    """
    if (location := installed_commands().get(FOLLOW)) is None:
        raise ExtraError("clips: wanted the package for cameras; `make cameras` installs it")
    return load(location)


class SuggestingGroup(TyperGroup):
    """A group of commands. For a misspelt name it suggests the commands that resemble it.

    Typer and Click have suggestions, too. They know only commands that are imported already, and
    together they say the same twice.
    """

    def explain_absence(self) -> str:
        """Return why a command may be missing; empty for no reason."""
        return ""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, names = args[0], self.list_commands(ctx)
        similar_names = [] if name in names else get_close_matches(name, names)
        if similar_names and not ctx.resilient_parsing:
            ctx.fail(
                f"No such command {name!r}. Did you mean {' or '.join(map(repr, similar_names))}?"
            )
        if name not in names and (reason := self.explain_absence()):
            ctx.fail(f"No such command {name!r}. {reason}")
        return super().resolve_command(ctx, args)
