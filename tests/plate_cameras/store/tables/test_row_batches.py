"""Many rows are written and read back, in both databases."""

import sqlalchemy as sa

from plate_cameras.store.tables.database import Database
from plate_cameras.store.tables.row_batches import keep_first, replace_by, write_rows
from plate_cameras.store.tables.schema import cameras, picture_removals

ROWS = [
    {"name": "gate", "lists": ["residents", 'a "b" \\ ы'], "retention_days": 0.1 + 0.2},
    {"name": "o'yard", "lists": [], "retention_days": None},
]


def read(database: Database, table: sa.Table) -> list[dict[str, object]]:
    with database.reading() as connection:
        found = connection.execute(sa.select(table).order_by(*table.primary_key))
        return [dict(row) for row in found.mappings()]


def test_no_rows_are_no_statement(database: Database) -> None:
    with database.writing() as connection:
        write_rows(connection, cameras, [])

    assert read(database, cameras) == []


def test_values_are_kept_exactly(database: Database) -> None:
    with database.writing() as connection:
        write_rows(connection, cameras, ROWS)

    assert read(database, cameras) == ROWS


def test_bytes_are_kept_once(database: Database) -> None:
    digests = [{"digest": bytes(32)}, {"digest": bytes(range(200, 232))}]
    with database.writing() as connection:
        write_rows(connection, picture_removals, digests)
        write_rows(connection, picture_removals, digests, keep_first("digest"))

    assert read(database, picture_removals) == digests


def test_a_row_is_replaced_except_for_what_stays(database: Database) -> None:
    newer = {"name": "gate", "lists": ["wanted"], "retention_days": 7.0}
    with database.writing() as connection:
        write_rows(connection, cameras, ROWS)
        write_rows(connection, cameras, [newer], replace_by("name", cameras, "retention_days"))

    assert read(database, cameras)[0] == {**newer, "retention_days": 0.1 + 0.2}
