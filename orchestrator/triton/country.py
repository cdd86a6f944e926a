"""The plate formats that lie beside a model's code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.contract import FORMATS_FILE
from orchestrator.formats.plate_formats import Formats, read_formats


def formats_beside(args: Mapping[str, str]) -> Formats:
    """Return the plate formats that lie beside a model's code.

    Args:
        args: The arguments that Triton passes to `initialize`.

    Raises:
        SettingsError: The file is missing, so the country of the reader's texts is unknown.
    """
    return read_formats(folder_of(args) / FORMATS_FILE)


def folder_of(args: Mapping[str, str]) -> Path:
    """Return the folder of a model's code."""
    return Path(args["model_repository"], args["model_version"])
