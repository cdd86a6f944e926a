"""Editions of lists: an import makes a new one, and then puts it in the place of the old one."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import NUMBER, TEXT, TIME

revision = "0012"
down_revision = "0011"

COUNT = """UPDATE lists SET entries =
           (SELECT count(*) FROM list_entries WHERE list_entries.list_id = lists.id)"""
COLUMNS = "text, note, valid_from_s, valid_until_s, edits"
COPY = f"""INSERT INTO list_editions (list_id, edition, {COLUMNS})
           SELECT list_id, 0, {COLUMNS} FROM list_entries"""


def upgrade() -> None:
    for name in ("edition", "last_edition", "entries"):
        op.add_column("lists", sa.Column(name, NUMBER, nullable=False, server_default="0"))
    op.execute(COUNT)
    op.create_table(
        "list_editions",
        sa.Column(
            "list_id", NUMBER, sa.ForeignKey("lists.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("edition", NUMBER, primary_key=True),
        sa.Column("text", TEXT, primary_key=True),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("valid_from_s", TIME),
        sa.Column("valid_until_s", TIME),
        sa.Column("edits", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(COPY)
    op.drop_table("list_entries")
    op.rename_table("list_editions", "list_entries")
