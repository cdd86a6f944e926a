"""Lists of plates: known cars, guests, wanted vehicles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from orchestrator.host.csv_cells import PLAIN, CsvForm
from plate_cameras.store.errors import ChangedMeanwhile, NameTaken, StoreError, UnknownName
from plate_cameras.store.finding.pass_query import MAX_PAGE, Requester
from plate_cameras.store.finding.search import find_list, read_owners
from plate_cameras.store.finding.text_patterns import clean_text
from plate_cameras.store.lists import list_editions
from plate_cameras.store.lists.list_access import find_to_change, scope_of
from plate_cameras.store.lists.list_editions import (
    BATCH,
    count_again,
    entries_of,
    lock_current,
    write_entries,
)
from plate_cameras.store.lists.list_file import parse_csv
from plate_cameras.store.lists.list_lookup import ListEntry, current_entries, read_entries
from plate_cameras.store.lists.list_settings import (
    PlateList,
    check_number,
    to_list_row,
    to_plate_list,
)
from plate_cameras.store.lists.plate_entries import (
    COLUMNS,
    EntryPage,
    EntryQuery,
    check_entries,
    read_page,
    to_row,
)
from plate_cameras.store.people import audit
from plate_cameras.store.scope import Scope
from plate_cameras.store.tables.database import SEARCH_S, Database, insert, new_revision
from plate_cameras.store.tables.schema import list_entries, lists


class PlateLists:
    """The lists of a store. A change by a requester is recorded in the audit: lists open gates.

    Args:
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
            ParameterError: The name or note is empty or too long, or there are too many lists.
        """
        row = to_list_row(name, note, retention_days)
        with self._database.writing() as connection:
            check_number(connection, name)
            statement = insert(connection, lists).values(row)
            statement = statement.on_conflict_do_nothing(index_elements=[lists.c.name])
            if connection.execute(statement.returning(lists.c.id)).first() is None:
                raise StoreError(f"there is a list {name!r} already")

    def delete(self, name: str, requester: Requester | None = None) -> None:
        """Delete a list with its entries and hits; passes stay.

        It is empty at once. Its rows go in short transactions, and then the list itself.
        """
        with self._database.writing() as connection:
            edition = lock_current(connection, find_to_change(connection, name, requester))
            is_list = lists.c.id == edition.list_id
            update = sa.update(lists).where(is_list)
            connection.execute(update.values(last_edition=lists.c.last_edition + 1))
            values = {"edition": lists.c.last_edition, "entries": 0, "revision": new_revision()}
            connection.execute(update.values(values))
            self._record(connection, requester, "delete list", {"list_name": name})
        list_editions.clear(self._database, edition.list_id)
        with self._database.writing() as connection:
            connection.execute(sa.delete(lists).where(is_list))

    def describe(self, scope: Scope) -> list[PlateList]:
        columns = (lists.c.name, lists.c.note, lists.c.retention_days, lists.c.entries)
        statement = sa.select(*columns, lists.c.groups).order_by(lists.c.name)
        with self._database.reading() as connection:
            rows = connection.execute(statement).mappings()
            return [
                to_plate_list(row)
                for row in rows
                if scope.sees_list(row["name"], read_owners(row["name"], row["groups"]))
            ]

    def save(
        self, name: str, note: str, retention_days: float | None, requester: Requester | None = None
    ) -> None:
        """Create a list, or change its note and retention.

        Until a camera uses the list, it belongs to the groups of the requester who creates it.

        Raises:
            ParameterError: The name or note is empty or too long, or there are too many lists.
            NameTaken: Another group has a list of this name, or its cameras use one.
            SharedList: Cameras of other groups use the list, too.
        """
        row = to_list_row(name, note, retention_days)
        with self._database.writing() as connection:
            try:
                number = find_to_change(connection, name, requester)
            except UnknownName:
                check_number(connection, name)
                self._add(connection, row, scope_of(requester))
            else:
                update = sa.update(lists).where(lists.c.id == number)
                connection.execute(update.values(note=note, retention_days=retention_days))
            self._record(connection, requester, "save list", {"list_name": name})

    def _add(self, connection: sa.Connection, row: Mapping[str, Any], scope: Scope) -> None:
        """Add a list that the scope does not have yet."""
        statement = insert(connection, lists).values({**row, "groups": [*scope.groups]})
        statement = statement.on_conflict_do_nothing(index_elements=[lists.c.name])
        is_foreign = row["name"] in scope.foreign_lists
        if is_foreign or connection.execute(statement.returning(lists.c.id)).first() is None:
            raise NameTaken(f"name: wanted one that is free, got {row['name']!r}")

    def names(self) -> list[str]:
        with self._database.reading() as connection:
            return list(connection.execute(sa.select(lists.c.name).order_by("name")).scalars())

    def entries(self, name: str, scope: Scope) -> list[ListEntry]:
        """Return all entries of a list, by text.

        Raises:
            UnknownName: The name does not exist in the scope.
        """
        with self._database.reading(SEARCH_S) as connection:
            number = find_list(connection, name, scope)
            return [*read_entries(connection, current_entries(number))]

    def page(self, name: str, query: EntryQuery, scope: Scope) -> EntryPage:
        """Return some entries of a list, by text. At most `query.limit` of them are in memory.

        Raises:
            UnknownName: The name does not exist in the scope.
        """
        with self._database.reading(SEARCH_S) as connection:
            return read_page(connection, find_list(connection, name, scope), query)

    def put(
        self,
        name: str,
        entries: Iterable[ListEntry],
        requester: Requester | None = None,
        *,
        accepts_doubtful: bool = False,
    ) -> list[ListEntry]:
        """Add entries to a list; an entry with the same text is replaced.

        Args:
            name: Name of the list.
            entries: The entries.
            requester: The person who adds them.
            accepts_doubtful: True if they may have texts that are on no plate.

        Returns:
            The entries as they are stored.

        Raises:
            ParameterError: An entry's text is doubtful, or a field does not fit.
        """
        by_text = check_entries(entries, accepts_doubtful=accepts_doubtful)
        if len(by_text) > BATCH:
            raise ParameterError(f"entries: wanted at most {BATCH} at once, got {len(by_text)}")
        with self._database.writing() as connection:
            self._put(connection, find_to_change(connection, name, requester), by_text)
            for text in by_text:
                query = {"list_name": name, "text": text}
                self._record(connection, requester, "put entry", query)
        return [*by_text.values()]

    def remove(self, name: str, text: str, requester: Requester | None = None) -> bool:
        """Remove an entry. Return whether there was one. Hits of stored passes stay."""
        plain_text = clean_text(text)
        with self._database.writing() as connection:
            edition = lock_current(connection, find_to_change(connection, name, requester))
            is_entry = sa.and_(entries_of(edition), list_entries.c.text == plain_text)
            count = connection.execute(sa.delete(list_entries).where(is_entry)).rowcount
            count_again(connection, edition.list_id, -count)
            query = {"list_name": name, "text": plain_text}
            self._record(connection, requester, "remove entry", query, count)
        return count > 0

    def import_csv(
        self,
        name: str,
        content: str,
        *,
        replacing: bool = False,
        accepts_doubtful: bool = False,
        zone: tzinfo | None = None,
        requester: Requester | None = None,
    ) -> int:
        """Add the entries of a CSV file with the columns `COLUMNS`; only `text` is required.

        Args:
            name: Name of the list.
            content: The file.
            replacing: True if all other entries are removed.
            accepts_doubtful: True if texts that are on no plate are taken.
            zone: The time zone of the file's days; None for that of this machine.
            requester: The person who imports it.

        Returns:
            The number of its entries.

        Raises:
            ParameterError: A row is wrong or doubtful, or there are too many; nothing is changed.
            ChangedMeanwhile: Another import has begun; nothing is changed by this one.
        """
        entries = parse_csv(content, accepts_doubtful=accepts_doubtful, zone=zone)

        def find(connection: sa.Connection) -> int:
            return find_to_change(connection, name, requester)

        def record(connection: sa.Connection) -> None:
            find(connection)  # the requester may have lost the list meanwhile
            query = {"list_name": name}
            self._record(connection, requester, "import list", query, len(entries))

        if len(entries) <= BATCH and not replacing:
            with self._database.writing() as connection:
                self._put(connection, find(connection), entries)
                record(connection)
        else:
            list_editions.write_edition(
                self._database, find, entries, record, keeps_others=not replacing
            )
        return len(entries)

    def export_csv(self, name: str, requester: Requester, form: CsvForm = PLAIN) -> Iterator[str]:
        """Return a list as the parts of a CSV file, and record it in the audit.

        Raises:
            ChangedMeanwhile: An import has replaced the entries before the end.
        """
        with self._database.writing() as connection:
            edition = lock_current(connection, find_list(connection, name, requester.scope))
            count = connection.scalar(
                sa.select(lists.c.entries).where(lists.c.id == edition.list_id)
            )
            self._record(connection, requester, "export list", {"list_name": name}, count or 0)
        yield form.mark + form.to_lines([COLUMNS], "\n")
        query = EntryQuery(limit=MAX_PAGE)
        while True:
            page = self.page(name, query, requester.scope)
            with self._database.reading() as connection:
                in_place = sa.select(lists.c.edition).where(lists.c.id == edition.list_id)
                if connection.scalar(in_place) != edition.number:
                    raise ChangedMeanwhile(f"list {name}: its entries were replaced; try again")
            yield form.to_lines((to_row(entry, form) for entry in page.entries), "\n")
            if not page.cursor:
                return
            query = EntryQuery(limit=MAX_PAGE, cursor=page.cursor)

    def _put(
        self, connection: sa.Connection, number: int, entries: Mapping[str, ListEntry]
    ) -> None:
        """Write some entries into the edition that is in place."""
        edition = lock_current(connection, number)
        is_known = sa.and_(entries_of(edition), list_entries.c.text.in_([*entries]))
        count = connection.scalar(sa.select(sa.func.count()).where(is_known)) or 0
        count_again(connection, edition.list_id, len(entries) - count)
        write_entries(connection, edition, [*entries.values()])

    def _record(
        self,
        connection: sa.Connection,
        requester: Requester | None,
        kind: str,
        query: Mapping[str, str],
        count: int = 1,
    ) -> None:
        """Record a change by a requester in the audit."""
        if requester is not None:
            audit.record(connection, requester, kind, query, count=count, now_s=self._clock())
