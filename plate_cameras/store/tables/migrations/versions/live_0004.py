"""Changes of passes, and the state, still and drawn areas of each camera, for the control room."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import NUMBER, TEXT, TIME, pass_number

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "pass_changes",
        sa.Column("number", NUMBER, primary_key=True),
        pass_number(nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("time_s", TIME, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_pass_changes_pass", "pass_changes", ["pass_number"])
    op.create_index("ix_pass_changes_time", "pass_changes", ["time_s"])
    op.create_table(
        "camera_states",
        sa.Column("camera", TEXT, primary_key=True),
        sa.Column("watcher", TEXT, nullable=False),
        sa.Column("updated_s", TIME, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
    )
    op.create_table(
        "camera_stills",
        sa.Column("camera", TEXT, primary_key=True),
        sa.Column("time_s", TIME, nullable=False),
        sa.Column("jpeg", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "camera_areas",
        sa.Column("camera", TEXT, primary_key=True),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("changed_s", TIME, nullable=False),
        sa.Column("changed_by", TEXT, nullable=False),
        sa.Column("zones", sa.JSON, nullable=False),
        sa.Column("lines", sa.JSON, nullable=False),
        sa.Column("masks", sa.JSON, nullable=False),
    )
