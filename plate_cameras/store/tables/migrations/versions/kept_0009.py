"""Times of the store's own clock, and deletions of plates that are remembered for a day."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import NUMBER, TEXT, TIME

revision = "0009"
down_revision = "0008"

FROM = {
    "gate_openings": "requested_s",
    "deliveries": "finished_s",
    "searches": "time_s",
    "pass_changes": "time_s",
    "camera_states": "updated_s",
    "camera_stills": "time_s",
}
"""The time from which the age of rows counted before, by table. Passes have `stored_s` as well."""
STAMPED = "gate_openings", "deliveries", "searches"
"""Large tables in which retention looks for rows without a time."""
NOT_KEPT = {
    "gate_openings": "kept_s IS NULL",
    "deliveries": "kept_s IS NULL AND finished_s IS NOT NULL",
    "searches": "kept_s IS NULL",
}


def upgrade() -> None:
    op.add_column("passes", sa.Column("kept_s", TIME))
    for table, column in FROM.items():
        op.add_column(table, sa.Column("kept_s", TIME))
        op.execute(f"UPDATE {table} SET kept_s = {column}")
    for table in STAMPED:
        condition = sa.text(NOT_KEPT[table])
        op.create_index(
            f"ix_{table}_not_kept",
            table,
            ["number"],
            sqlite_where=condition,
            postgresql_where=condition,
        )
    op.add_column("sessions", sa.Column("kept_until_s", TIME))
    op.execute("UPDATE sessions SET kept_until_s = expires_s")
    op.create_table(
        "store_clock",
        sa.Column("boot", TEXT, primary_key=True),
        sa.Column("value_s", TIME, nullable=False),
        sa.Column("wall_s", TIME, nullable=False),
        sa.Column("steady_s", TIME, nullable=False),
        sa.Column("settled_s", TIME, nullable=False),
        sa.Column("off_value_s", TIME),
        sa.Column("off_wall_s", TIME),
        sa.Column("other_s", TIME),
    )
    op.create_table(
        "erasures",
        sa.Column("number", NUMBER, primary_key=True),
        sa.Column("salt", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("erased_s", TIME, nullable=False),
        sa.Column("kept_s", TIME, nullable=False),
        sa.Column("is_done", sa.Boolean, nullable=False),
    )
    op.create_table(
        "erased_passes",
        sa.Column("id", TEXT, primary_key=True),
        sa.Column("kept_s", TIME, nullable=False),
    )
    op.create_table(
        "picture_rounds",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("number", NUMBER, nullable=False),
    )
