"""Numbers that never come again, and the watcher behind each pass.

Somebody outside remembers the numbers of rows: a page's cursor, a gate's list in memory. SQLite
gives the number of a deleted row to the next one, unless the column is AUTOINCREMENT. That changes
no byte of the rows, so the tables are not copied: only their text in the schema changes.

Source: https://sqlite.org/lang_altertable.html, "other kinds of table schema changes".
"""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import NUMBER, TEXT, pass_number

revision = "0010"
down_revision = "0009"

NUMBERED = {
    "passes": "number",
    "lists": "id",
    "deliveries": "number",
    "searches": "number",
    "gate_openings": "number",
    "erasures": "number",
}
AGREED = sa.text("progress = 'agreed'")


def upgrade() -> None:
    _add_owners_of_passes()
    _add_heartbeats()
    op.create_table(
        "change_horizon",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("number", NUMBER, nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        _number_forever()
    else:
        for table in ("lists", "camera_areas"):
            op.alter_column(table, "revision", type_=sa.BigInteger())


def _add_owners_of_passes() -> None:
    op.add_column("passes", sa.Column("epoch", sa.BigInteger()))
    op.add_column("passes", sa.Column("run", TEXT))
    op.create_index(
        "ix_passes_agreed", "passes", ["camera"], sqlite_where=AGREED, postgresql_where=AGREED
    )
    op.create_table(
        "joined_passes",
        sa.Column("id", TEXT, primary_key=True),
        pass_number(nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_joined_passes_pass", "joined_passes", ["pass_number"])


def _add_heartbeats() -> None:
    for table in ("camera_leases", "watchers"):
        beat = sa.Column("beat", sa.BigInteger(), nullable=False, server_default="0")
        op.add_column(table, beat)


def _number_forever() -> None:
    connection = op.get_bind()
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    for table, column in NUMBERED.items():
        key = f"PRIMARY KEY ({column}"
        changed = connection.exec_driver_sql(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)",
            (f"{key})", f"{key} AUTOINCREMENT)", table, f"{key})"),
        )
        assert changed.rowcount == 1, table
    # Other connections, and this one, read the schema again.
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
