"""Lists of plates: known cars, guests, wanted vehicles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.cameras.store import audit
from orchestrator.cameras.store.database import Database, insert
from orchestrator.cameras.store.errors import NameTaken, SharedList, StoreError, UnknownName
from orchestrator.cameras.store.list_lookup import ListEntry, read_entries
from orchestrator.cameras.store.pass_query import Requester
from orchestrator.cameras.store.plate_entries import check_entry, parse_csv, write_csv
from orchestrator.cameras.store.revisions import new_revision
from orchestrator.cameras.store.schema import list_entries, lists
from orchestrator.cameras.store.scope import EVERYTHING, Scope
from orchestrator.cameras.store.search import find_list
from orchestrator.cameras.store.text_patterns import clean_text
from orchestrator.errors import ParameterError


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
        row = _to_row(name, note, retention_days)
        with self._database.writing() as connection:
            statement = insert(connection, lists).values(row)
            statement = statement.on_conflict_do_nothing(index_elements=[lists.c.name])
            if connection.execute(statement.returning(lists.c.id)).first() is None:
                raise StoreError(f"there is a list {name!r} already")

    def delete(self, name: str, requester: Requester | None = None) -> None:
        """Delete a list with its entries and hits; passes stay."""
        with self._database.writing() as connection:
            number = _find_to_change(connection, name, requester)
            connection.execute(sa.delete(lists).where(lists.c.id == number))
            self._record(connection, requester, "delete list", {"list_name": name})

    def describe(self, scope: Scope) -> list[PlateList]:
        """Return the lists of a scope, by name."""
        entries = sa.func.count(list_entries.c.text).label("entries")
        columns = (lists.c.name, lists.c.note, lists.c.retention_days)
        statement = sa.select(*columns, entries, lists.c.groups)
        statement = statement.join_from(lists, list_entries, isouter=True)
        with self._database.reading() as connection:
            rows = connection.execute(statement.group_by(lists.c.id).order_by(lists.c.name))
            return [PlateList(*row) for *row, owners in rows if scope.sees_list(row[0], owners)]

    def save(
        self, name: str, note: str, retention_days: float | None, requester: Requester | None = None
    ) -> None:
        """Create a list, or change its note and retention.

        Until a camera uses the list, it belongs to the groups of the requester who creates it.

        Raises:
            ParameterError: The name is empty.
            NameTaken: Another group has a list of this name, or its cameras use one.
            SharedList: Cameras of other groups use the list, too.
        """
        if not name.strip():
            raise ParameterError("name: wanted a text, got none")
        with self._database.writing() as connection:
            try:
                number = _find_to_change(connection, name, requester)
            except UnknownName:
                self._add(connection, _to_row(name, note, retention_days), _scope_of(requester))
            else:
                changed = sa.update(lists).where(lists.c.id == number)
                connection.execute(changed.values(note=note, retention_days=retention_days))
            self._record(connection, requester, "save list", {"list_name": name})

    def _add(self, connection: sa.Connection, row: Mapping[str, Any], scope: Scope) -> None:
        """Add a list that the scope does not have yet."""
        added = insert(connection, lists).values({**row, "groups": [*scope.groups]})
        added = added.on_conflict_do_nothing(index_elements=[lists.c.name])
        is_foreign = row["name"] in scope.foreign_lists
        if is_foreign or connection.execute(added.returning(lists.c.id)).first() is None:
            raise NameTaken(f"name: wanted one that is free, got {row['name']!r}")

    def names(self) -> list[str]:
        """Return the names of all lists."""
        with self._database.reading() as connection:
            return list(connection.execute(sa.select(lists.c.name).order_by("name")).scalars())

    def entries(self, name: str, scope: Scope) -> list[ListEntry]:
        """Return the entries of a list, by text.

        Raises:
            UnknownName: There is none of this name in the scope.
        """
        with self._database.reading() as connection:
            return read_entries(connection, find_list(connection, name, scope))

    def put(
        self, name: str, entries: Iterable[ListEntry], requester: Requester | None = None
    ) -> list[ListEntry]:
        """Add entries to a list; an entry with the same text is replaced.

        Returns:
            The entries as they are stored.

        Raises:
            ParameterError: An entry's text cannot be on a plate, or another field does not fit.
        """
        checked = [check_entry(entry) for entry in entries]
        with self._database.writing() as connection:
            number = _find_to_change(connection, name, requester)
            renew_revisions(connection, [number])
            _put(connection, number, checked)
            for entry in checked:
                query = {"list_name": name, "text": entry.text}
                self._record(connection, requester, "put entry", query)
        return checked

    def remove(self, name: str, text: str, requester: Requester | None = None) -> bool:
        """Remove an entry. Return whether there was one. Hits of stored passes stay."""
        cleaned = clean_text(text)
        with self._database.writing() as connection:
            number = _find_to_change(connection, name, requester)
            renew_revisions(connection, [number])
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
            replacing: True if all other entries are removed.
            requester: The person who imports it.

        Returns:
            The number of its entries.

        Raises:
            ParameterError: A row is wrong; then nothing is changed.
        """
        entries = parse_csv(content)
        with self._database.writing() as connection:
            number = _find_to_change(connection, name, requester)
            renew_revisions(connection, [number])  # it also makes other writers of the list wait
            if replacing:
                connection.execute(sa.delete(list_entries).where(list_entries.c.list_id == number))
            _put(connection, number, entries)
            self._record(connection, requester, "import list", {"list_name": name}, len(entries))
        return len(entries)

    def export_csv(self, name: str, requester: Requester) -> str:
        """Return a list as a CSV file, and record it in the audit."""
        with self._database.writing() as connection:
            entries = read_entries(connection, find_list(connection, name, requester.scope))
            audit.record(
                connection,
                requester,
                "export list",
                {"list_name": name},
                count=len(entries),
                now_s=self._clock(),
            )
        return write_csv(entries)

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


def _find_to_change(connection: sa.Connection, name: str, requester: Requester | None) -> int:
    """Return the number of a list that a requester may change.

    Raises:
        SharedList: Cameras of other groups use it, too.
        UnknownName: There is none of this name in the requester's scope.
    """
    scope = _scope_of(requester)
    if scope.uses(name) and name in scope.foreign_lists:
        raise SharedList(f"list {name}: cameras of other groups use it, too")
    return find_list(connection, name, scope)


def _scope_of(requester: Requester | None) -> Scope:
    return requester.scope if requester else EVERYTHING


def renew_revisions(connection: sa.Connection, numbers: Iterable[int]) -> None:
    """Give lists other revisions, by which other processes see that they have changed."""
    for number in sorted(numbers):  # all writers lock the lists in the same order
        update = sa.update(lists).where(lists.c.id == number)
        connection.execute(update.values(revision=new_revision()))


def _to_row(name: str, note: str, retention_days: float | None) -> dict[str, Any]:
    row = {"name": name, "note": note, "retention_days": retention_days}
    return {**row, "revision": new_revision()}


def _put(connection: sa.Connection, number: int, entries: Sequence[ListEntry]) -> None:
    rows = [vars(entry) | {"list_id": number} for entry in entries]
    if not rows:
        return
    statement = insert(connection, list_entries)
    keys = [list_entries.c.list_id, list_entries.c.text]
    names = [one.name for one in list_entries.c if not one.primary_key]
    values = {name: statement.excluded[name] for name in names}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), rows)
