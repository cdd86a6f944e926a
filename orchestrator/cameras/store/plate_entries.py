"""Entries of plate lists: their checks, and their CSV file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timezone

from orchestrator.cameras.events import to_rfc3339
from orchestrator.cameras.store.list_lookup import ListEntry
from orchestrator.cameras.store.text_patterns import check_edits, clean_text
from orchestrator.errors import ParameterError
from orchestrator.system.csv_cells import from_cell, to_cell

DAY, DAY_S = re.compile(r"\d{4}-\d{2}-\d{2}"), 86400.0
LAST_S = 253402300799.0
"""Last second of the year 9999. No later time can be shown."""
COLUMNS = ("text", "note", "valid_from", "valid_until", "edits")
"""Columns of a list's CSV file. Times are RFC 3339."""
LONGEST_NOTE = 2000
"""Characters of a note. Each event of a pass that hits the entry has it."""


def check_entry(entry: ListEntry) -> ListEntry:
    """Return an entry with its text as plates have it.

    Raises:
        ParameterError: The text cannot be on a plate, or another field is out of range.
    """
    text = clean_text(entry.text)
    if not text:
        raise ParameterError("text: wanted a plate's text, got none")
    check_edits(text, entry.edits)
    if len(entry.note) > LONGEST_NOTE:
        raise ParameterError(f"note: wanted at most {LONGEST_NOTE} characters, got more")
    _check_time("valid_from", entry.valid_from_s)
    _check_time("valid_until", entry.valid_until_s)
    return replace(entry, text=text)


def _check_time(name: str, time_s: float | None) -> None:
    """Check that a time can be shown: near an end of the calendar, its offset leads out of it."""
    try:
        to_rfc3339(time_s or 0.0)
    except (ValueError, OverflowError) as error:
        wanted = "a time of the years 1 to 9999 in UTC"
        raise ParameterError(f"{name}: wanted {wanted}, got {time_s}") from error


def parse_csv(content: str) -> list[ListEntry]:
    """Return the entries of a CSV file with the columns `COLUMNS`.

    Raises:
        ParameterError: A row is wrong; the message names its line.
    """
    rows = csv.DictReader(io.StringIO(content.removeprefix("\ufeff")), strict=True)
    try:
        columns = rows.fieldnames or ()
    except csv.Error as error:
        raise ParameterError(f"line 1: {error}") from error
    if set(columns) - set(COLUMNS) or "text" not in columns:
        raise ParameterError(f"columns: wanted {', '.join(COLUMNS)}, got {rows.fieldnames}")
    entries: list[ListEntry] = []
    try:
        for row in rows:
            entries.append(_from_csv(row))
    except (ValueError, csv.Error, ParameterError) as error:
        raise ParameterError(f"line {rows.line_num}: {error}") from error
    return entries


def write_csv(entries: Iterable[ListEntry]) -> str:
    """Return entries as a CSV file."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows(map(_to_csv, entries))
    return file.getvalue()


def _from_csv(row: dict[str, str]) -> ListEntry:
    return check_entry(
        ListEntry(
            row["text"] or "",
            from_cell(row.get("note") or ""),
            _to_unix("valid_from", row.get("valid_from")),
            _to_unix("valid_until", row.get("valid_until")),
            _to_edits(row.get("edits")),
        )
    )


def _to_csv(entry: ListEntry) -> tuple[str | int, ...]:
    times = (entry.valid_from_s, entry.valid_until_s)
    shown = ("" if one is None else to_rfc3339(one) for one in times)
    return (entry.text, to_cell(entry.note), *shown, entry.edits)


def _to_edits(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError as error:
        raise ParameterError(f"edits: wanted 0, 1 or 2, got {text!r}") from error


def _to_unix(column: str, text: str | None) -> float | None:
    """Return an RFC 3339 time as Unix time; without an offset, it is UTC.

    A date alone is the start of its day, and the end of its day as `valid_until`.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        wanted = "a date such as 2026-12-31 or an RFC 3339 time"
        raise ParameterError(f"{column}: wanted {wanted}, got {text!r}") from error
    at_s = (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp()
    return end_of_day(at_s) if column == "valid_until" and DAY.fullmatch(text) else at_s


def end_of_day(start_s: float) -> float:
    """Return the Unix time at which a day ends that starts at another; the last day has no next."""
    return min(start_s + DAY_S, LAST_S)
