"""Makes the tables of a new database, and upgrades those of an earlier version."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from plate_cameras.store.errors import StoreError
from plate_cameras.store.tables.database import MIGRATION_S, Database, lock
from plate_cameras.store.tables.schema import METADATA
from plate_cameras.store.tables.text_index import create_text_index

VERSION = sa.table("alembic_version", sa.column("version_num"))
ADVISORY_LOCK = 0x706C6174
"""Number of the lock in PostgreSQL under which one process at a time changes the tables."""


def upgrade(database: Database) -> None:
    """Make the tables, or run the migrations that they lack, in one transaction.

    Raises:
        StoreError: The database cannot be reached, does not allow it, or has tables of a version
            that this one does not know.
    """
    configuration = _configuration()
    script = ScriptDirectory.from_config(configuration)
    with database.reading() as connection:  # within the limit of a short step
        if _read_revision(connection) == script.get_current_head():
            return
    with database.writing(MIGRATION_S, idle_s=MIGRATION_S) as connection:
        lock(connection, ADVISORY_LOCK)
        configuration.attributes["connection"] = connection
        revision = _read_revision(connection)
        if revision is None:
            METADATA.create_all(connection, checkfirst=False)
            create_text_index(connection)
            command.stamp(configuration, "head")
        elif revision in (revisions := [step.revision for step in script.walk_revisions()]):
            command.upgrade(configuration, "head")
        else:
            wanted_revision = " or ".join(revisions)
            raise StoreError(
                f"tables: wanted revision {wanted_revision}, got {revision}; another version of "
                "plates wrote them: docs/upgrade.md says how to go back"
            )


def _read_revision(connection: sa.Connection) -> str | None:
    """Return the revision of the tables; None without any."""
    if not sa.inspect(connection).has_table(VERSION.name):
        return None
    return connection.scalar(sa.select(VERSION.c.version_num))


def _configuration() -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    return configuration
