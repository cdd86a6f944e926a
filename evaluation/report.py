"""Stays until benchmarks takes its files from reporting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.errors import DataError


def read_json(path: Path) -> Any:
    """Read a report of whichever command.

    Raises:
        DataError: The file cannot be read or is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: wanted a readable report, got {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path}: wanted a JSON report, got {error}") from error


def write_report(report: Mapping[str, Any], comparison: str, folder: Path) -> None:
    """Write `report.json` and, where reports were compared, `comparison.md`."""
    text = json.dumps(dict(report), indent=2, allow_nan=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    if comparison:
        (folder / "comparison.md").write_text(comparison, encoding="utf-8")


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Say plainly that a folder cannot be written.

    Raises:
        DataError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{folder}: wanted to write here, got {error.strerror}") from error
