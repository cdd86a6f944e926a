"""Shared parts of this package's commands: options, and errors in one sentence without the usage.

$ python -m workshop.rendering.specimens --formats atlantis/formats.toml --sheet specimens.png
workshop.rendering.specimens: atlantis/formats.toml: renderer: wanted module:function, got none
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from orchestrator.errors import PlateError, SettingsError
from orchestrator.formats.plate_formats import RUSSIA


class Command(ArgumentParser):
    """A command of this package with `--seed`; it exits with status 2 on errors.

    It has `--formats`, too, unless it draws Russian plates alone.
    """

    def __init__(
        self, name: str, description: str, *, seed: int = 0, has_formats: bool = True
    ) -> None:
        super().__init__(prog=f"workshop.{name}", description=description)
        if has_formats:
            self.add_argument(
                "--formats", metavar="FILE", type=Path, default=RUSSIA,
                help="the country's; Russia's",
            )  # fmt: skip
        self.add_argument("--seed", type=at_least(0), default=seed)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")

    def run(self, act: Callable[[Namespace], None], arguments: Sequence[str] | None) -> None:
        """Parse the arguments and run the command."""
        options = self.parse_args(arguments)
        try:
            act(options)
        except (PlateError, OSError) as error:
            self.error(str(error))


def at_least(least: int) -> Callable[[str], int]:
    """Return a type for `argparse`: whole numbers of at least `least`."""

    def number(text: str) -> int:
        value = int(text) if text.isdecimal() else -1
        if value < least:
            raise ArgumentTypeError(f"wanted a whole number of at least {least}, got {text!r}")
        return value

    return number


def share(text: str) -> float:
    """Type for `argparse`: a share from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"wanted a share from 0 to 1, got {text!r}")
    return value


def check_sheet(path: Path) -> Path:
    """Return the path of a sheet; check before the slow drawing that it can be written.

    Raises:
        SettingsError: The path is a folder, or its parent folder does not exist.
    """
    if path.is_dir():
        raise SettingsError(f"{path}: wanted a PNG file to write, got a folder")
    if not path.parent.is_dir():
        raise SettingsError(f"{path}: wanted a folder that is there, got {path.parent}")
    return path
