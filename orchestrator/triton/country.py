"""Whose plates a worker reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.contract import FORMATS_FILE
from orchestrator.formats import Formats, read_formats, russian


def formats_beside(args: Mapping[str, str]) -> Formats:
    """Return the plate formats that lie beside a model's code, Russian ones where none do.

    Args:
        args: What Triton gives to `initialize`.
    """
    file = Path(args["model_repository"], args["model_version"], FORMATS_FILE)
    return read_formats(file) if file.is_file() else russian()
