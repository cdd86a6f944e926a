"""The settings of a list of plates, without its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.store.lists.plate_entries import MAX_NOTE_LENGTH
from plate_cameras.store.tables.database import new_revision
from plate_cameras.store.tables.json_values import (
    read_columns,
    to_count,
    to_optional_number,
    to_text,
)
from plate_cameras.store.tables.schema import lists

MAX_LISTS = 100
MAX_NAME_LENGTH = 200
"""Largest number of characters of a list's name."""


@dataclass(frozen=True)
class PlateList:
    """A list of plates.

    Attributes:
        retention_days: How long passes that hit it are kept; None for their cameras' time.
    """

    name: str
    note: str
    retention_days: float | None
    entries: int


def to_list_row(name: str, note: str, retention_days: float | None) -> dict[str, Any]:
    """Return the row of a list.

    Raises:
        ParameterError: The name is empty or cannot be printed, or it or the note is too long.
    """
    if not name.strip():
        raise ParameterError("name: wanted a text, got none")
    if not name.isprintable():
        raise ParameterError(f"name: wanted printable characters, got {name!r}")
    for field, text, most in (("name", name, MAX_NAME_LENGTH), ("note", note, MAX_NOTE_LENGTH)):
        if len(text) > most:
            raise ParameterError(f"{field}: wanted at most {most} characters, got {len(text)}")
    row = {"name": name, "note": note, "retention_days": retention_days}
    return {**row, "revision": new_revision()}


COLUMNS = {
    "note": (to_text, ""),
    "retention_days": (to_optional_number, None),
    "entries": (to_count, 0),
}
"""The columns of a list, with the values that stand for damaged ones."""


def to_plate_list(row: Any) -> PlateList:
    """Return a row of the table of lists as a list."""
    return PlateList(name=row["name"], **read_columns(f"list {row['name']}", row, COLUMNS))


def check_number(connection: sa.Connection, name: str) -> None:
    """Check the number of lists before one is saved.

    Raises:
        ParameterError: There are too many.
    """
    names = connection.execute(sa.select(lists.c.name)).scalars().all()
    if name not in names and len(names) >= MAX_LISTS:
        raise ParameterError(f"lists: wanted at most {MAX_LISTS}, got one more")
