"""Lists, deliveries, the audit of searches, and pictures to remove."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import DIGEST, NUMBER, TEXT, TIME, pass_number

revision = "0002"
down_revision = "0001"
WAITING = sa.text("state = 'waiting'")


def upgrade() -> None:
    _create_lists()
    _create_list_entries()
    _create_list_hits()
    _create_deliveries()
    _create_searches()
    _create_picture_removals()


def _create_lists() -> None:
    op.create_table(
        "lists",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("retention_days", TIME),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_index("ix_lists_name", "lists", ["name"], unique=True)


def _create_list_entries() -> None:
    op.create_table(
        "list_entries",
        sa.Column(
            "list_id", NUMBER, sa.ForeignKey("lists.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("text", TEXT, primary_key=True),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("valid_from_s", TIME),
        sa.Column("valid_until_s", TIME),
        sa.Column("edits", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_list_hits() -> None:
    op.create_table(
        "list_hits",
        pass_number(primary_key=True),
        sa.Column(
            "list_id", NUMBER, sa.ForeignKey("lists.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("entry_text", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.Column("edits", sa.Integer, nullable=False),
        sa.Column("first_seen_s", TIME, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_list_hits_list", "list_hits", ["list_id", "first_seen_s", "pass_number"])


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("number", NUMBER, primary_key=True),
        sa.Column("id", TEXT, nullable=False),
        sa.Column("sink", TEXT, nullable=False),
        pass_number(nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("created_s", TIME, nullable=False),
        sa.Column("due_s", TIME, nullable=False),
        sa.Column("finished_s", TIME),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
    )
    op.create_index("ix_deliveries_id", "deliveries", ["id", "sink"], unique=True)
    op.create_index("ix_deliveries_pass", "deliveries", ["pass_number"])
    op.create_index("ix_deliveries_created", "deliveries", ["sink", "created_s"])
    op.create_index("ix_deliveries_finished", "deliveries", ["finished_s"])
    op.create_index(
        "ix_deliveries_due",
        "deliveries",
        ["sink", "due_s", "number"],
        sqlite_where=WAITING,
        postgresql_where=WAITING,
    )
    op.create_index(
        "ix_deliveries_order",
        "deliveries",
        ["sink", "pass_number", "number"],
        sqlite_where=WAITING,
        postgresql_where=WAITING,
    )


def _create_searches() -> None:
    op.create_table(
        "searches",
        sa.Column("number", NUMBER, primary_key=True),
        sa.Column("time_s", TIME, nullable=False),
        sa.Column("who", TEXT, nullable=False),
        sa.Column("why", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("query", sa.JSON, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_index("ix_searches_time", "searches", ["time_s"])


def _create_picture_removals() -> None:
    op.create_table(
        "picture_removals",
        sa.Column("digest", DIGEST, primary_key=True),
    )


def _list_id() -> sa.Column[int]:
    on_list = sa.ForeignKey("lists.id", ondelete="CASCADE")
    return sa.Column("list_id", NUMBER, on_list, primary_key=True)


def _index_waiting(name: str, columns: list[str]) -> None:
    op.create_index(name, "deliveries", columns, sqlite_where=WAITING, postgresql_where=WAITING)
