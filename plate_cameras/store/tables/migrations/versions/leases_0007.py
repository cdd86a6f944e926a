"""Which watcher follows which camera."""

import sqlalchemy as sa
from alembic import op

from plate_cameras.store.tables.migrations.columns import TEXT, TIME

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "camera_leases",
        sa.Column("camera", TEXT, primary_key=True),
        sa.Column("watcher", TEXT, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("taken_s", TIME, nullable=False),
        sa.Column("expires_s", TIME, nullable=False),
    )
    op.create_index("ix_camera_leases_watcher", "camera_leases", ["watcher"])
    op.create_table(
        "watchers",
        sa.Column("name", TEXT, primary_key=True),
        sa.Column("seen_s", TIME, nullable=False),
    )
