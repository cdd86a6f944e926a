"""Reports as files: frozen dataclasses as JSON and back, rows as CSV, in a folder of their own."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import DataError, PlateError
from orchestrator.toml_files import build

R = TypeVar("R")


@contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
    """Say plainly that a folder cannot be written.

    Raises:
        DataError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{folder}: cannot write here: {error.strerror}") from error


def prepare_folder(folder: Path) -> None:
    """Create a report's folder; a new one is kept out of Git.

    Raises:
        DataError: It cannot be written.
    """
    with explain_write_errors(folder):
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if is_new:
            (folder / ".gitignore").write_text("*\n")


def read_report(kind: type[R], path: Path) -> R:
    """Read a report that `write_report` wrote.

    Args:
        kind: The dataclass that it was.
        path: The file.

    Raises:
        DataError: The file cannot be read, is no JSON, or holds something else.
    """
    try:
        return build(kind, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"{path}: wanted a readable report, got {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path}: wanted a JSON report, got {error}") from error
    except PlateError as error:
        raise DataError(f"{path}: is no such report, or an old one: {error}") from error


def write_report(report: Any, path: Path) -> None:
    """Write a dataclass as JSON; what is no number would not be JSON and is an error."""
    text = json.dumps(asdict(report), indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(kind: type[R], rows: Iterable[R], path: Path) -> None:
    """Write dataclasses as rows under a header of their fields; without rows, the header alone."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [field.name for field in fields(kind)])  # type: ignore[arg-type]  # a dataclass
        table.writeheader()
        table.writerows(map(asdict, rows))  # type: ignore[arg-type]  # dataclasses
