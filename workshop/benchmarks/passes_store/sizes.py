"""The sizes of a store's tables and indexes."""

from __future__ import annotations

from plate_cameras.store.tables.database import Database

POSTGRESQL = """
    SELECT relname, pg_table_size(oid) / 1e6, pg_indexes_size(oid) / 1e6
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    ORDER BY pg_total_relation_size(oid) DESC LIMIT 5"""
SQLITE = "SELECT page_count * page_size / 1e6 FROM pragma_page_count, pragma_page_size"


def read_sizes(database: Database) -> list[tuple[str, str, str]]:
    """Return the largest tables with the size of their rows and of their indexes, MB."""
    with database.reading() as connection:
        if database.is_postgresql:
            found = connection.exec_driver_sql(POSTGRESQL).all()
            return [(str(name), f"{rows:.0f}", f"{indexes:.0f}") for name, rows, indexes in found]
        size = connection.exec_driver_sql(SQLITE).scalar_one()
    return [("all", f"{size:.0f}", "")]
