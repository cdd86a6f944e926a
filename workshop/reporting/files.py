"""Reads and writes reports: dataclasses as JSON, rows as CSV, and the figures of pages."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import DataError, PlateError
from orchestrator.host.toml_files import build

R = TypeVar("R")


@contextmanager
def explain_write_errors(folder: Path) -> Iterator[None]:
    """Turn any OSError of a `with` block into a DataError about the folder.

    Raises:
        DataError: The folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{folder}: cannot write here: {error.strerror}") from error


def prepare_folder(folder: Path) -> None:
    """Create the folder of a report; a new folder gets a .gitignore.

    Raises:
        DataError: The folder cannot be written.
    """
    with explain_write_errors(folder):
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if is_new:
            (folder / ".gitignore").write_text("*\n")


def read_report(kind: type[R], path: Path) -> R:
    """Read a report that `write_report` wrote.

    Raises:
        DataError: The file cannot be read, is not JSON, or is not such a report.
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
    """Write a dataclass as JSON. NaN and infinity are errors, as JSON does not have them."""
    text = json.dumps(asdict(report), indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(kind: type[R], rows: Iterable[R], path: Path) -> None:
    """Write dataclasses as CSV rows under a header of their fields; the header is always there."""
    columns = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    write_rows(columns, map(asdict, rows), path)  # type: ignore[arg-type]  # dataclasses


def write_rows(columns: Sequence[str], rows: Iterable[Mapping[str, object]], path: Path) -> None:
    """Write CSV rows under a header of the columns; values that a row lacks are empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns)
        table.writeheader()
        table.writerows(rows)


PART = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL)


def rewrite(page: str, writers: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with new text in each of its parts.

    Args:
        page: The text of the page.
        writers: By name, the function that returns the text of a part.

    Raises:
        DataError: The page has no part, or a part without a writer.
    """
    names = [name for _, name, _, _ in PART.findall(page)]
    unknown = [name for name in names if name not in writers]
    if not names or unknown:
        got = unknown[0] if unknown else "none"
        raise DataError(f"page: wanted parts {', '.join(writers)}, got {got}")
    return PART.sub(lambda part: f"{part[1]}\n{writers[part[2]]()}\n{part[4]}", page)


def write_part(page: Path, name: str, text: str) -> None:
    """Write one part of a page; its other parts stay as they are.

    Raises:
        DataError: The page has no such part, or cannot be read or written.
    """
    try:
        before = page.read_text(encoding="utf-8")
        names = [part[2] for part in PART.finditer(before)]
        if name not in names:
            raise DataError(f"{page}: wanted the part {name}, got {', '.join(names) or 'none'}")
        after = PART.sub(
            lambda part: f"{part[1]}\n{text}\n{part[4]}" if part[2] == name else part[0], before
        )
        page.write_text(after, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{page}: {error.strerror}") from error
