#!/usr/bin/env python3
"""Write docs/reference/commands.md, and the table of limits in docs/security.md.

The first is the output of `plates COMMAND --help` for every command.

usage: .venv/bin/python scripts/command_reference.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby
from pathlib import Path

import click
import typer

from orchestrator.cli.app import app
from orchestrator.host.option_fields import to_rows
from orchestrator.serving.gateway.options import Limits

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "reference" / "commands.md"
LIMITS_PAGE = DOCS / "security.md"
LIMITS = re.compile(r"(?<=\| name \| default \| \|\n\|---\|--:\|---\|\n)(\|.*\n)+")
"""The rows of the table of limits."""
INTRODUCTION = """# Commands

This page has the output of `plates COMMAND --help` for each command. In a checkout the program is
`.venv/bin/plates`. `evaluate`, `bench`, `soak`, `quantize` and `train` exist only in a checkout.
`scripts/command_reference.py` writes this page.
"""


def main() -> None:
    """Write the page and the table."""
    PAGE.write_text(render(), encoding="utf-8")
    text = LIMITS_PAGE.read_text(encoding="utf-8")
    LIMITS_PAGE.write_text(fill_limits(text), encoding="utf-8")


def fill_limits(text: str) -> str:
    """Return the page on security with the limits that there are."""
    return LIMITS.sub(lambda _: to_rows(Limits), text, count=1)


def render() -> str:
    """Return the page."""
    root = typer.main.get_command(app)
    context = click.Context(root, info_name="plates")
    return "\n".join([INTRODUCTION, *_sections(root, context, 2)])


def _sections(group: click.Group, context: click.Context, level: int) -> Iterator[str]:
    """Yield a section for each command, and for the commands below it."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context)
        yield "\n".join([f"{'#' * level} {inner.command_path}", "", *_describe(command, inner)])
        if isinstance(command, click.Group):
            yield from _sections(command, inner, level + 1)


def _describe(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the lines of one command: usage, help, a table of options for each panel."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    yield from _paragraphs(cleandoc(command.help or ""))
    panels: dict[str, list[str]] = {}
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if isinstance(option, click.Option) and record and option.name != "help":
            panel = getattr(option, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append(_row(*record))
    for title, rows in panels.items():
        yield from (f"| {title} | |", "|---|---|", *rows, "")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; examples that follow each other are one block."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    for is_code, group in groupby(
        filter(None, paragraphs), lambda part: part.startswith("plates ")
    ):
        if is_code:
            yield from ("```sh", *group, "```", "")
        else:
            yield from (line for part in group for line in (part, ""))


def _row(option: str, text: str) -> str:
    """Return a row of a table; characters that Markdown would interpret are escaped."""
    text = re.sub(r"\s+", " ", text).replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*")
    names = option.replace("|", r"\|").replace(" RANGE", "")
    return f"| `{names}` | {text} |"


if __name__ == "__main__":
    main()
