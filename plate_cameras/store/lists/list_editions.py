"""Editions of a list: a large change is made beside the entries that count, and then put in place.

The entries of an edition are written in short transactions, so that nobody waits for the database.
Readers see the whole old edition until one more short transaction names the new one. An import that
fails, or whose process dies, changes nothing for them. Its rows go with the next import.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import ParameterError
from plate_cameras.clocks import steady_s
from plate_cameras.store.errors import ChangedMeanwhile, StoreError
from plate_cameras.store.lists.list_lookup import ListEntry
from plate_cameras.store.tables.database import SEARCH_S, Database, new_revision
from plate_cameras.store.tables.row_batches import replace_by, write_rows
from plate_cameras.store.tables.schema import list_entries, list_hits, lists

MAX_ENTRIES = 100_000
"""Largest number of entries of one list."""
MAX_STORED_ENTRIES = 200_000
"""Largest number of entries of all lists of a store: each watcher has them in memory."""
BATCH = 250
"""Entries of one transaction: it holds SQLite's lock for some 10 ms."""
MAX_TRIES = 3
"""Largest number of attempts of an import; others' changes of the list start it anew."""

ENTRY = list_entries.c
NAMES = ("text", "note", "valid_from_s", "valid_until_s", "edits")
ON_CONFLICT = replace_by("list_id, edition, text", list_entries)


@dataclass(frozen=True)
class Edition:
    """An edition of a list that is not in place yet.

    Attributes:
        replaced_number: Number of the edition that was in place when it began.
    """

    list_id: int
    number: int
    replaced_number: int
    revision: int


def write_edition(
    database: Database,
    find: Callable[[sa.Connection], int],
    entries: Mapping[str, ListEntry],
    record: Callable[[sa.Connection], None],
    *,
    keeps_others: bool,
) -> None:
    """Give a list a new edition.

    Args:
        database: The database.
        find: Finds the number of the list.
        entries: The new entries by text.
        record: Writes the audit in the transaction that puts the edition in place.
        keeps_others: True if the other entries stay.

    Raises:
        ParameterError: The list or the store would have too many entries.
        ChangedMeanwhile: Another import has begun, or the list is changed all the time.
    """
    rows = [*entries.values()]
    for _ in range(MAX_TRIES):
        edition = _begin(database, find, len(rows))
        try:
            if keeps_others:
                _copy(database, edition)
            for start in range(0, len(rows), BATCH):
                with _writing_edition(database, edition) as connection:
                    write_entries(connection, edition, rows[start : start + BATCH])
            is_done = _put_in_place(database, edition, record, keeps_others=keeps_others)
        except BaseException:
            with suppress(StoreError):
                drop_editions(database, edition.list_id, edition.number)
            raise
        drop_editions(database, edition.list_id)
        if is_done:
            return
    raise ChangedMeanwhile("others change this list; nothing was imported, try again later")


def write_entries(
    connection: sa.Connection, edition: Edition, entries: Sequence[ListEntry]
) -> None:
    """Write entries into an edition; an entry with the same text is replaced."""
    key = {"list_id": edition.list_id, "edition": edition.number}
    rows = [key | {name: getattr(entry, name) for name in NAMES} for entry in entries]
    write_rows(connection, list_entries, rows, ON_CONFLICT)


def entries_of(edition: Edition) -> sa.ColumnElement[bool]:
    """Return the condition on the entries of an edition."""
    return sa.and_(ENTRY.list_id == edition.list_id, ENTRY.edition == edition.number)


def lock_current(connection: sa.Connection, number: int) -> Edition:
    """Return the edition of a list that is in place, and lock the list against other writers."""
    statement = sa.select(lists.c.edition, lists.c.revision).where(lists.c.id == number)
    row = connection.execute(statement.with_for_update()).one()
    return Edition(number, row.edition, row.edition, row.revision)


def count_again(connection: sa.Connection, list_id: int, change: int) -> None:
    """Note that a list has so many entries more or less, and give it another revision.

    Raises:
        ParameterError: The list or the store would have too many.
    """
    counts = connection.execute(sa.select(lists.c.id, lists.c.entries)).all()
    entries = {row.id: row.entries for row in counts}
    entries[list_id] += change
    if change > 0:
        check_room(entries[list_id], sum(entries.values()))
    values = {"entries": entries[list_id], "revision": new_revision()}
    connection.execute(sa.update(lists).where(lists.c.id == list_id).values(values))


def check_room(count: int, stored_count: int) -> None:
    """Check the number of entries of a list, and that of all lists.

    Raises:
        ParameterError: There are too many.
    """
    if count > MAX_ENTRIES:
        raise ParameterError(f"entries: wanted at most {MAX_ENTRIES} in a list, got {count}")
    if stored_count > MAX_STORED_ENTRIES:
        raise ParameterError(
            f"entries: wanted at most {MAX_STORED_ENTRIES} in all lists, got {stored_count}"
        )


def clear(database: Database, list_id: int) -> None:
    """Delete the hits of a list, and its entries but for those in place."""
    drop_editions(database, list_id)
    _delete_all(database, list_hits.c.pass_number, list_hits.c.list_id == list_id, -1)


def drop_editions(database: Database, list_id: int, *dropped_numbers: int) -> None:
    """Delete the editions of a list that are neither in place nor written, and some others."""
    of_list = ENTRY.list_id == list_id
    with database.reading(SEARCH_S) as connection:
        statement = sa.select(lists.c.edition, lists.c.last_edition).where(lists.c.id == list_id)
        kept_numbers = {*(connection.execute(statement).first() or ())} - {*dropped_numbers}
        editions = sa.select(ENTRY.edition).where(of_list).distinct()
        numbers = {*connection.execute(editions).scalars()} - kept_numbers
    for number in sorted(numbers):
        _delete_all(database, ENTRY.text, sa.and_(of_list, ENTRY.edition == number), "")


def _begin(database: Database, find: Callable[[sa.Connection], int], count: int) -> Edition:
    check_room(count, count)
    with database.writing() as connection:
        current = lock_current(connection, find(connection))
        statement = sa.update(lists).where(lists.c.id == current.list_id)
        statement = statement.values(last_edition=lists.c.last_edition + 1)
        number = connection.execute(statement.returning(lists.c.last_edition)).scalar_one()
    return Edition(current.list_id, number, current.number, current.revision)


@contextmanager
def _writing_edition(database: Database, edition: Edition) -> Iterator[sa.Connection]:
    """Open a short transaction that writes to an edition.

    Raises:
        ChangedMeanwhile: Another import of the list has begun, or the list is gone.
    """
    with _short_transaction(database) as connection:
        last = sa.select(lists.c.last_edition).where(lists.c.id == edition.list_id)
        if connection.execute(last.with_for_update()).scalar() != edition.number:
            raise ChangedMeanwhile(
                "another import into this list has begun, or the list was deleted; "
                "nothing was imported"
            )
        yield connection


@contextmanager
def _short_transaction(database: Database) -> Iterator[sa.Connection]:
    """Open one of many transactions. In SQLite, others get as much time after it.

    SQLite locks its whole file, and has no queue: a writer that waits looks now and then whether
    the lock is free. Without the pause it may wait until the end of all these transactions.
    """
    started_s = steady_s()
    with database.writing() as connection:
        yield connection
    if not database.is_postgresql:
        time.sleep(steady_s() - started_s)


def _copy(database: Database, edition: Edition) -> None:
    """Copy the entries that are in place into an edition."""
    key = (sa.literal(edition.list_id), sa.literal(edition.number))
    source = sa.and_(ENTRY.list_id == edition.list_id, ENTRY.edition == edition.replaced_number)
    after = ""
    while True:
        page = sa.select(*key, *(ENTRY[name] for name in NAMES)).where(source, ENTRY.text > after)
        page = page.order_by(ENTRY.text).limit(BATCH)
        into = sa.insert(list_entries).from_select(["list_id", "edition", *NAMES], page)
        with _writing_edition(database, edition) as connection:
            copied_texts = connection.execute(into.returning(ENTRY.text)).scalars().all()
        if not copied_texts:
            return
        after = max(copied_texts)


def _put_in_place(
    database: Database,
    edition: Edition,
    record: Callable[[sa.Connection], None],
    *,
    keeps_others: bool,
) -> bool:
    """Let the entries of an edition count. Return False if the list has changed meanwhile."""
    of_edition = entries_of(edition)
    of_list = lists.c.id == edition.list_id
    with database.reading(SEARCH_S) as connection:  # without the lock, as it takes longer
        revision = connection.scalar(sa.select(lists.c.revision).where(of_list))
        count = connection.scalar(sa.select(sa.func.count()).where(of_edition)) or 0
    if keeps_others and revision != edition.revision:
        return False
    with _writing_edition(database, edition) as connection:
        statement = sa.select(lists.c.revision, lists.c.entries).where(of_list)
        row = connection.execute(statement).one()
        if row.revision != revision:
            return False
        connection.execute(sa.update(lists).where(of_list).values(edition=edition.number))
        count_again(connection, edition.list_id, count - row.entries)
        record(connection)
    return True


def _delete_all(
    database: Database, key: sa.Column[Any], is_chosen: sa.ColumnElement[bool], before: Any
) -> None:
    """Delete rows in the order of a key, which begins after a value.

    Each transaction begins after the last deleted key, because PostgreSQL would read the deleted
    rows again.
    """
    place = before
    while True:
        is_left = sa.and_(is_chosen, key > place)
        with _short_transaction(database) as connection:
            page = sa.select(key).where(is_left).order_by(key).limit(BATCH)
            keys = connection.execute(page).scalars().all()
            if not keys:
                return
            place = keys[-1]
            connection.execute(sa.delete(key.table).where(is_left, key <= place))
