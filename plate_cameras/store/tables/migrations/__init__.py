"""The history of the tables, for both databases."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from plate_cameras.store.tables.database import MIGRATION_S, Database

VERSION = sa.table("alembic_version", sa.column("version_num"))
ADVISORY_LOCK = 0x706C6174
"""Number of the lock in PostgreSQL under which one process at a time changes the tables."""


def upgrade(database: Database, revision: str = "head") -> None:
    """Run the migrations that a database lacks, in one transaction.

    Raises:
        StoreError: The database cannot be reached, or does not allow it.
    """
    if _has(database, revision):
        return
    with database.writing(MIGRATION_S, idle_s=MIGRATION_S) as connection:
        if database.is_postgresql:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))
        configuration = _configuration()
        configuration.attributes["connection"] = connection
        command.upgrade(configuration, revision)


def revisions() -> list[str]:
    """Return the names of all revisions, the oldest first."""
    script = ScriptDirectory.from_config(_configuration())
    return [one.revision for one in script.walk_revisions()][::-1]


def _has(database: Database, revision: str) -> bool:
    """Tell, within the limit of a short step, whether there is nothing to do."""
    newest = ScriptDirectory.from_config(_configuration()).get_current_head()
    wanted = newest if revision == "head" else revision
    with database.reading() as connection:
        if not sa.inspect(connection).has_table(VERSION.name):
            return False
        return connection.execute(sa.select(VERSION.c.version_num)).scalar() == wanted


def _configuration() -> Config:
    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    return configuration
