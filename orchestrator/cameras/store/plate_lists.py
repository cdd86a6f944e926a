"""Lists of plates: known cars, guests, wanted vehicles."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import sqlalchemy as sa

from orchestrator.cameras.events import to_rfc3339
from orchestrator.cameras.store import audit
from orchestrator.cameras.store.csv_cells import from_cell, to_cell
from orchestrator.cameras.store.database import Database, insert
from orchestrator.cameras.store.errors import StoreError
from orchestrator.cameras.store.list_lookup import ListEntry, read_entries
from orchestrator.cameras.store.pass_query import Requester
from orchestrator.cameras.store.schema import list_entries, lists
from orchestrator.cameras.store.search import find_list
from orchestrator.cameras.store.text_patterns import check_edits, clean_text
from orchestrator.errors import ParameterError

DAY, DAY_S = re.compile(r"\d{4}-\d{2}-\d{2}"), 86400.0
LAST_S = 253402300799.0
"""Last second of the year 9999. No later time can be shown."""
COLUMNS = ("text", "note", "valid_from", "valid_until", "edits")
"""Columns of a list's CSV file. Times are RFC 3339."""
LONGEST_NOTE = 2000
"""Characters of a note. Each event of a pass that hits the entry has it."""


@dataclass(frozen=True)
class PlateList:
    """A list of plates.

    Attributes:
        name: Its name.
        note: Its purpose.
        retention_days: How long passes that hit it are kept; None for their cameras' time.
        entries: Number of its entries.
    """

    name: str
    note: str
    retention_days: float | None
    entries: int


class PlateLists:
    """The lists of a store. A change by a requester is recorded in the audit: lists open gates.

    Args:
        database: The database.
        clock: Returns the Unix time.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def create(self, name: str, note: str = "", retention_days: float | None = None) -> None:
        """Create a list.

        Args:
            name: Its name, as in the configuration of cameras.
            note: The purpose of the list.
            retention_days: How long passes that hit it are kept; None for their cameras' time.

        Raises:
            StoreError: There is one of this name, or the database cannot be used.
            ParameterError: The name is empty.
        """
        if not name.strip():
            raise ParameterError("name: wanted a text, got none")
        row = {"name": name, "note": note, "retention_days": retention_days, "revision": 0}
        with self._database.writing() as connection:
            statement = insert(connection, lists).values(row)
            statement = statement.on_conflict_do_nothing(index_elements=[lists.c.name])
            if connection.execute(statement.returning(lists.c.id)).first() is None:
                raise StoreError(f"there is a list {name!r} already")

    def delete(self, name: str, requester: Requester | None = None) -> None:
        """Delete a list with its entries and hits; passes stay."""
        with self._database.writing() as connection:
            connection.execute(sa.delete(lists).where(lists.c.id == find_list(connection, name)))
            self._record(connection, requester, "delete list", {"list_name": name})

    def describe(self) -> list[PlateList]:
        """Return all lists, by name."""
        entries = sa.func.count(list_entries.c.text).label("entries")
        columns = (lists.c.name, lists.c.note, lists.c.retention_days)
        statement = sa.select(*columns, entries).join_from(lists, list_entries, isouter=True)
        with self._database.reading() as connection:
            rows = connection.execute(statement.group_by(*columns).order_by(lists.c.name))
            return [PlateList(*row) for row in rows]

    def save(
        self, name: str, note: str, retention_days: float | None, requester: Requester | None = None
    ) -> None:
        """Create a list, or change its note and retention.

        Raises:
            ParameterError: The name is empty.
        """
        if not name.strip():
            raise ParameterError("name: wanted a text, got none")
        row = {"name": name, "note": note, "retention_days": retention_days, "revision": 0}
        with self._database.writing() as connection:
            statement = insert(connection, lists).values(row)
            values = {"note": note, "retention_days": retention_days}
            connection.execute(
                statement.on_conflict_do_update(index_elements=[lists.c.name], set_=values)
            )
            self._record(connection, requester, "save list", {"list_name": name})

    def names(self) -> list[str]:
        """Return the names of all lists."""
        with self._database.reading() as connection:
            return list(connection.execute(sa.select(lists.c.name).order_by("name")).scalars())

    def entries(self, name: str) -> list[ListEntry]:
        """Return the entries of a list, by text."""
        with self._database.reading() as connection:
            return read_entries(connection, find_list(connection, name))

    def put(
        self, name: str, entries: Iterable[ListEntry], requester: Requester | None = None
    ) -> list[ListEntry]:
        """Add entries to a list; an entry with the same text is replaced.

        Returns:
            The entries as they are stored.

        Raises:
            ParameterError: An entry's text cannot be on a plate, or another field does not fit.
        """
        checked = [_check(entry) for entry in entries]
        with self._database.writing() as connection:
            _put(connection, find_list(connection, name), checked)
            for entry in checked:
                query = {"list_name": name, "text": entry.text}
                self._record(connection, requester, "put entry", query)
        return checked

    def remove(self, name: str, text: str, requester: Requester | None = None) -> bool:
        """Remove an entry. Return whether there was one. Hits of stored passes stay."""
        cleaned = clean_text(text)
        with self._database.writing() as connection:
            number = find_list(connection, name)
            _touch(connection, number)
            entry = sa.and_(list_entries.c.list_id == number, list_entries.c.text == cleaned)
            removed = connection.execute(sa.delete(list_entries).where(entry)).rowcount
            query = {"list_name": name, "text": cleaned}
            self._record(connection, requester, "remove entry", query, removed)
        return removed > 0

    def import_csv(
        self,
        name: str,
        content: str,
        *,
        replacing: bool = False,
        requester: Requester | None = None,
    ) -> int:
        """Add the entries of a CSV file with the columns `COLUMNS`; only `text` is required.

        Args:
            name: Name of the list.
            content: The file.
            replacing: Whether all other entries are removed.
            requester: Who imports it.

        Returns:
            The number of its entries.

        Raises:
            ParameterError: A row is wrong; then nothing is changed.
        """
        entries = _parse_csv(content)
        with self._database.writing() as connection:
            number = find_list(connection, name)
            if replacing:
                connection.execute(sa.delete(list_entries).where(list_entries.c.list_id == number))
            _put(connection, number, entries)
            self._record(connection, requester, "import list", {"list_name": name}, len(entries))
        return len(entries)

    def export_csv(self, name: str, requester: Requester) -> str:
        """Return a list as a CSV file, and record it in the audit."""
        with self._database.writing() as connection:
            entries = read_entries(connection, find_list(connection, name))
            audit.record(
                connection,
                requester,
                "export list",
                {"list_name": name},
                count=len(entries),
                now_s=self._clock(),
            )
        file = io.StringIO()
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows(map(_to_csv, entries))
        return file.getvalue()

    def _record(
        self,
        connection: sa.Connection,
        requester: Requester | None,
        kind: str,
        query: Mapping[str, str],
        count: int = 1,
    ) -> None:
        """Record a change in the audit, if it is known who made it."""
        if requester is not None:
            audit.record(connection, requester, kind, query, count=count, now_s=self._clock())


def _put(connection: sa.Connection, number: int, entries: Sequence[ListEntry]) -> None:
    _touch(connection, number)
    rows = [vars(entry) | {"list_id": number} for entry in entries]
    if not rows:
        return
    statement = insert(connection, list_entries)
    keys = [list_entries.c.list_id, list_entries.c.text]
    names = [one.name for one in list_entries.c if not one.primary_key]
    values = {name: statement.excluded[name] for name in names}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)


def _touch(connection: sa.Connection, number: int) -> None:
    """Give a list another revision, by which writers see that it has changed."""
    update = sa.update(lists).where(lists.c.id == number)
    connection.execute(update.values(revision=lists.c.revision + 1))


def _check(entry: ListEntry) -> ListEntry:
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


def _parse_csv(content: str) -> list[ListEntry]:
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


def _from_csv(row: dict[str, str]) -> ListEntry:
    return _check(
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
