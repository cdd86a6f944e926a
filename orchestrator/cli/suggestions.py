"""Suggestions of commands for a name that is no command."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from typer.core import TyperGroup


class SuggestingGroup(TyperGroup):
    """A group of commands. For a misspelt name it suggests the commands that resemble it.

    Typer and Click have suggestions, too. They know only commands that are imported already, and
    together they say the same twice.
    """

    def explain_absence(self) -> str:
        """Return why a command may be missing; empty for no reason."""
        return ""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, known = args[0], self.list_commands(ctx)
        near = [] if name in known else get_close_matches(name, known)
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}. Did you mean {' or '.join(map(repr, near))}?")
        if name not in known and (reason := self.explain_absence()):
            ctx.fail(f"No such command {name!r}. {reason}")
        return super().resolve_command(ctx, args)
