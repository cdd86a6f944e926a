"""Files of plates that the command line imports into lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.errors import ParameterError
from plate_cameras.cli.camera_stores import has_store, open_camera_store

if TYPE_CHECKING:
    from plate_cameras.store.lists.list_file import FileRow
    from plate_cameras.store.lists.plate_lists import PlateLists

MAX_SHOWN_ROWS = 20
"""Number of rows of each kind that a preview shows."""


def read_list_file(file: Path) -> str:
    """Return the content of a file of entries as CSV.

    Raises:
        ParameterError: It cannot be read.
    """
    from plate_cameras.store.lists.file_contents import MAX_FILE_BYTES, decode

    try:
        with file.open("rb") as stream:
            return decode(stream.read(MAX_FILE_BYTES + 1))
    except OSError as error:
        raise ParameterError(f"{file}: {error.strerror}") from error


def check_list_file(content: str, *, accepts_doubtful: bool) -> None:
    """Check a file before a store is opened: a failed import makes no database.

    Raises:
        ParameterError: Rows are wrong or doubtful.
    """
    from plate_cameras.store.lists.list_file import parse_csv

    parse_csv(content, accepts_doubtful=accepts_doubtful)


@contextmanager
def creating_list(lists: PlateLists, name: str) -> Iterator[None]:
    """Create a list if there is none of this name. It goes again if the block fails."""
    is_new = name not in lists.names()
    if is_new:
        lists.create(name)
    try:
        yield
    except BaseException:
        if is_new:
            lists.delete(name)
        raise


def show_preview(path: Path, name: str, content: str, *, replacing: bool) -> None:
    """Print what an import would do."""
    from plate_cameras.store.lists.list_preview import preview_import
    from plate_cameras.store.scope import EVERYTHING

    entries = []
    if has_store(path):
        with open_camera_store(path) as store:
            if name in store.lists.names():
                entries = store.lists.entries(name, EVERYTHING)
    preview = preview_import(content, entries, replacing=replacing)
    _show_rows("", [row for row in preview.rows if row.entry and not row.problem])
    _show_rows("doubtful, --accept-doubtful takes them:", preview.doubtful)
    _show_rows("wrong, nothing is imported:", preview.wrong)
    counts = f"new: {preview.added}; changed: {preview.changed}; removed: {preview.removed}"
    typer.echo(f"{name}: {counts}. Nothing was changed", err=True)


def template_of(language: str) -> str:
    """Return an empty file.

    Raises:
        ParameterError: There is none in this language.
    """
    from plate_cameras.store.lists.list_file import TEMPLATES, make_template

    if language not in TEMPLATES:
        raise ParameterError(f"--language: wanted {' or '.join(TEMPLATES)}, got {language!r}")
    return make_template(language)


def _show_rows(title: str, rows: Sequence[FileRow]) -> None:
    if rows and title:
        typer.echo(title)
    for row in rows[:MAX_SHOWN_ROWS]:
        typer.echo(f"line {row.line}: {row.problem or _describe(row)}")
    if len(rows) > MAX_SHOWN_ROWS:
        typer.echo(f"and {len(rows) - MAX_SHOWN_ROWS} more")


def _describe(row: FileRow) -> str:
    entry = row.entry
    if entry is None:
        return ""
    begins, ends = entry.valid_from_s, entry.valid_until_s
    details = [
        "" if begins is None else f"from {_format_time(begins)}",
        "" if ends is None else f"until {_format_time(ends, is_end=True)}",
        f"edits {entry.edits}" if entry.edits else "",
    ]
    return "  ".join(filter(None, (entry.text, entry.note, *details)))


def _format_time(time_s: float, *, is_end: bool = False) -> str:
    """Return a local time. The start or end of a day is the day alone."""
    at = datetime.fromtimestamp(time_s)
    if at.time() != time.min:
        return at.isoformat(" ", timespec="minutes")
    return (at.date() - timedelta(days=is_end)).isoformat()
