"""The command `plates new-pipeline`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.flags import show_errors
from orchestrator.errors import SettingsError

TEMPLATE = Path(__file__).with_name("pipeline")
"""The template of a pipeline named NAME. Its files end in `.txt`, so that no tool treats them as
files of the project."""
NAME, SUFFIX = "NAME", ".txt"
WANTED = re.compile(r"[a-z][a-z0-9_]{0,63}")


def new_pipeline(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    *,
    out: Annotated[Path, typer.Option(help="Folder in which the new folder is made.")] = Path(),
) -> None:
    """Write a folder with a pipeline of your own: a BLS model, its client and its test.

    NAME: of the folder, and of the model in it.
    """
    with show_errors(verbose=False):
        for file in write_pipeline(name, out):
            typer.echo(file)


def write_pipeline(name: str, out: Path) -> list[Path]:
    """Write a pipeline that works without changes; return its files.

    Raises:
        SettingsError: The name is invalid for a model, is taken, or its folder cannot be made.
    """
    from orchestrator.serving.supervisor.models.plate_models import MODELS

    if not WANTED.fullmatch(name):
        raise SettingsError(
            "name: wanted small letters, digits and underscores, a letter first, at most 64, "
            f"got {name!r}"
        )
    if name in MODELS:
        raise SettingsError(f"name: wanted one that no model of the plates has, got {name}")
    try:
        (out / name).mkdir(parents=True)
        return [_write(file, out / name, name) for file in sorted(TEMPLATE.rglob(f"*{SUFFIX}"))]
    except OSError as error:
        raise SettingsError(f"{out / name}: cannot be made: {error.strerror}") from error


def _write(file: Path, folder: Path, name: str) -> Path:
    inside = str(file.relative_to(TEMPLATE)).removesuffix(SUFFIX).replace(NAME, name)
    target = folder / inside
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(file.read_text(encoding="utf-8").replace(NAME, name), encoding="utf-8")
    return target
